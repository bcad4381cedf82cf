package lint

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// maxRefs is how many different local references of a schema are followed.
const maxRefs = 1000

// reference looks at the value of a $ref.
func (c *checker) reference(ref string) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		c.add(RemoteRef, "to %s", shown(ref))
		return
	}
	// An anchor is not followed, only a pointer.
	if !strings.HasPrefix(fragment, "/") || len(c.refs) == maxRefs {
		return
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil || strings.Count(pointer, "/") > canonical.MaxDepth {
		c.add(UnresolvedRef, "%s leads to nothing in the schema", shown(ref))
		return
	}
	if c.refs == nil {
		c.refs = make(map[string]string)
	}
	c.refs[pointer] = ref
}

// resolve reports the local references that lead nowhere in the schema at the
// start of form. Where an $id changes their base, nothing can be said.
func (c *checker) resolve(form []byte, at func() string) error {
	if len(c.refs) == 0 || c.based {
		return nil
	}
	root := &target{}
	for pointer := range c.refs {
		root.add(pointer)
	}
	if err := root.find(canonical.NewReader(form)); err != nil {
		return err
	}
	missing := root.missing(nil)
	slices.Sort(missing)
	for _, pointer := range missing {
		c.addAt(at, UnresolvedRef, "%s leads to nothing in the schema", shown(c.refs[pointer]))
	}
	return nil
}

// A target is a place that references lead to, or through.
type target struct {
	pointer string // "" if none ends here
	found   bool
	inside  map[string]*target // by reference token
}

// add adds the place that pointer leads to from t.
func (t *target) add(pointer string) {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, token := range strings.Split(pointer[1:], "/") {
		token = unescape.Replace(token)
		if t.inside == nil {
			t.inside = make(map[string]*target)
		}
		if t.inside[token] == nil {
			t.inside[token] = &target{}
		}
		t = t.inside[token]
	}
	t.pointer = pointer
}

// find marks those targets that are in the value to be read. It reads the
// value once, whatever the number of targets.
func (t *target) find(r *canonical.Reader) error {
	if t == nil {
		return r.Skip()
	}
	t.found = true
	switch first := r.Peek(); {
	case first == '{' && t.inside != nil:
		return r.Object(func(name string) error { return t.inside[name].find(r) })
	case first == '[' && t.inside != nil:
		return r.Array(func(i int) error { return t.inside[strconv.Itoa(i)].find(r) })
	}
	return r.Skip()
}

// missing appends the pointers that were not found.
func (t *target) missing(pointers []string) []string {
	if t.pointer != "" && !t.found {
		pointers = append(pointers, t.pointer)
	}
	for _, next := range t.inside {
		pointers = next.missing(pointers)
	}
	return pointers
}
