package attest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// members reads an object that must have certain members.
type members struct {
	r        *canonical.Reader
	required []string
}

func (m *members) read(member func(name string) error) error {
	var there uint // the bit of each required member that is
	err := m.r.Object(func(name string) error {
		if i := slices.Index(m.required, name); i >= 0 {
			there |= 1 << i
		}
		return member(name)
	})
	for i, name := range m.required {
		if err == nil && there&(1<<i) == 0 {
			err = m.r.Fail(canonical.Syntax, "missing member "+strconv.QuoteToASCII(name))
		}
	}
	return err
}

// readDigest reads {"sha256": HEX}.
func readDigest(r *canonical.Reader) (d lock.Digest, err error) {
	m := members{r, []string{"sha256"}}
	err = m.read(func(name string) error {
		if name != "sha256" {
			return r.Unknown(name)
		}
		hex, err := r.String()
		if err == nil {
			d, err = lock.ParseHex(hex)
		}
		return err
	})
	return d, err
}

func readRecipe(r *canonical.Reader) error {
	recipe, err := r.String()
	if err == nil && recipe != Recipe {
		err = fmt.Errorf("recipe is %s, not %s", shown(recipe), Recipe)
	}
	return err
}

// readInteger reads an integer below 2^53; what says which one it is.
func readInteger(r *canonical.Reader, what string) (uint64, error) {
	text, err := r.Number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil {
		return 0, r.Fail(canonical.Syntax, what+" is no integer between 1 and 2^53-1")
	}
	return n, nil
}

// readText reads a string that is left out rather than empty.
func readText(r *canonical.Reader) (string, error) {
	s, err := r.String()
	if err == nil && s == "" {
		err = r.Fail(canonical.Syntax, "expected text or no member at all")
	}
	return s, err
}

func readStrings(r *canonical.Reader) (ss []string, err error) {
	err = nonEmpty(r, func() error {
		s, err := r.String()
		ss = append(ss, s)
		return err
	})
	return ss, err
}

// nonEmpty reads an array that is left out rather than empty.
func nonEmpty(r *canonical.Reader, element func() error) error {
	n := 0
	err := r.Array(func(int) error { n++; return element() })
	if err == nil && n == 0 {
		err = r.Fail(canonical.Syntax, "expected elements or no member at all")
	}
	return err
}

// readTime reads an RFC 3339 time in UTC, of whole seconds. The zero time, which
// stands for none, is none of those.
func readTime(r *canonical.Reader) (time.Time, error) {
	s, err := r.String()
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || !wholeSecond(t) || t.UTC().Format(time.RFC3339) != s {
		return time.Time{}, r.Fail(canonical.Syntax, "not a time of the form 2006-01-02T15:04:05Z since 1970")
	}
	return t, nil
}

func wholeSecond(t time.Time) bool {
	t = t.UTC()
	return t.Year() >= 1970 && t.Year() <= 9999 && t.Nanosecond() == 0
}

func checkIssued(t time.Time) error {
	if !wholeSecond(t) {
		return errors.New("issuedAt is missing or not a whole second of the years 1970 to 9999")
	}
	return nil
}

// checkEnd checks the time, called name, at which what was issued ends.
func checkEnd(name string, issued, end time.Time) error {
	if !wholeSecond(end) || !end.After(issued) {
		return fmt.Errorf("%s is not after issuedAt, or no whole second", name)
	}
	return nil
}
