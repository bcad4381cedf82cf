package baseline

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// members are those of one JSON object, each value in canonical form.
type members map[string][]byte

// readMembers splits an object in canonical form.
func readMembers(form []byte) (members, error) {
	ms := members{}
	r := canonical.NewReader(form)
	err := r.Object(func(name string) (err error) {
		ms[name], err = r.Value()
		return err
	})
	if err == nil {
		err = r.End()
	}
	return ms, err
}

// present reports whether a member is there and not null.
func (ms members) present(name string) bool {
	v, ok := ms[name]
	return ok && string(v) != "null"
}

// text returns a string, "" if it is absent or null.
func (ms members) text(name string) (string, error) {
	if !ms.present(name) {
		return "", nil
	}
	if ms[name][0] != '"' {
		return "", fmt.Errorf("%s is no string", name)
	}
	return canonical.Unquote(ms[name]), nil
}

// object returns an object, {} if it is absent or null.
func (ms members) object(name string) ([]byte, error) {
	if !ms.present(name) {
		return []byte("{}"), nil
	}
	if ms[name][0] != '{' {
		return nil, fmt.Errorf("%s is no object", name)
	}
	return ms[name], nil
}

// unfolded returns an error if a member is called like one of names but for the case of its letters: encoding/json
// would read it as that one.
func (ms members) unfolded(names ...string) error {
	for _, got := range slices.Sorted(maps.Keys(ms)) {
		for _, name := range names {
			if got != name && strings.EqualFold(got, name) {
				return fmt.Errorf("member %s would be read as %s", lock.Visible(got), name)
			}
		}
	}
	return nil
}

// same reports whether two canonical forms are one.
func same(a, b []byte) bool { return bytes.Equal(a, b) }

// null passes over a null and reports whether there was one.
func null(r *canonical.Reader) (bool, error) {
	if r.Peek() != 'n' {
		return false, nil
	}
	return true, r.Skip()
}

// required returns an error about the first of names that is not in seen.
func required(seen map[string]bool, names ...string) error {
	for _, name := range names {
		if !seen[name] {
			return fmt.Errorf("has no %s", name)
		}
	}
	return nil
}

func tooMany() error { return fmt.Errorf("more than %d pins", lock.MaxDefinitions) }
