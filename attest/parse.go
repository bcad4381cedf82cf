package attest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/in-toto/in-toto-golang/in_toto"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// A ForeignError says that a payload is an in-toto statement of a predicate
// type that is not about definitions.
type ForeignError struct{ PredicateType string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("statement of predicate type %s, not %s", lock.Visible(e.PredicateType), PredicateType)
}

// Parse reads a statement of at most 1 MiB. Its bytes must be what Definitions
// would have made of it, but for the order of the subjects. A statement of
// another predicate type is a *ForeignError.
func Parse(payload []byte) (*Statement, error) {
	if len(payload) > MaxPayload {
		return nil, fmt.Errorf("statement: has more than %d bytes", MaxPayload)
	}
	// What it is comes first: a foreign predicate need not have an RFC 8785 form.
	if err := checkTypes(payload); err != nil {
		var foreign *ForeignError
		if errors.As(err, &foreign) {
			return nil, foreign
		}
		return nil, fmt.Errorf("statement: %w", err)
	}
	form, err := canonical.Append(make([]byte, 0, len(payload)), payload)
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	s, err := parse(payload)
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	if !bytes.Equal(form, payload) {
		return nil, errors.New("statement: not in RFC 8785 form")
	}
	s.payload = bytes.Clone(payload)
	return s, nil
}

func parse(payload []byte) (*Statement, error) {
	s := &Statement{}
	r := canonical.NewReader(payload)
	m := members{r: r, required: []string{"_type", "predicate", "predicateType", "subject"}}
	err := m.read(func(name string) (err error) {
		switch name {
		case "_type", "predicateType":
			_, err = r.String()
		case "subject":
			err = r.Array(func(int) error { return s.readSubject(r) })
		case "predicate":
			err = s.release.read(r)
		default:
			err = r.Unknown(name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(s.subjects, compareSubjects)
	return s, s.check()
}

// errOwn ends the walk of checkTypes early.
var errOwn = errors.New("a statement about definitions")

// checkTypes reads the types of a statement, and of one of another kind the
// rest as well.
func checkTypes(payload []byte) error {
	var typ, predicate string
	r := canonical.NewReader(payload)
	err := r.Object(func(name string) (err error) {
		switch name {
		case "_type":
			typ, err = r.String()
		case "predicateType":
			predicate, err = r.String()
		default:
			err = r.Skip()
		}
		if err == nil && typ == in_toto.StatementInTotoV1 && predicate == PredicateType {
			err = errOwn
		}
		return err
	})
	if err == nil {
		err = r.End()
	}
	switch {
	case err == errOwn:
		return nil
	case err != nil:
		return err
	case typ != in_toto.StatementInTotoV1:
		return fmt.Errorf("_type is %s, not %s", lock.Visible(typ), in_toto.StatementInTotoV1)
	case predicate != PredicateType:
		return &ForeignError{predicate}
	}
	return nil
}

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

func (s *Statement) readSubject(r *canonical.Reader) error {
	if len(s.subjects) == MaxSubjects {
		return r.Fail(canonical.TooMany, fmt.Sprintf("more than %d subjects", MaxSubjects))
	}
	var subject Subject
	m := members{r, []string{"digest", "name"}}
	err := m.read(func(name string) (err error) {
		switch name {
		case "name":
			var id string
			if id, err = r.String(); err == nil {
				subject.Kind, subject.Name, err = lock.ParseID(id)
			}
		case "digest":
			subject.Digest, err = readDigest(r)
		default:
			err = r.Unknown(name)
		}
		return err
	})
	s.subjects = append(s.subjects, subject)
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

func (rel *Release) read(r *canonical.Reader) error {
	m := members{r, []string{"complete", "issuedAt", "kinds", "recipe", "sequence", "server", "variant"}}
	return m.read(func(name string) (err error) {
		switch name {
		case "recipe":
			var recipe string
			if recipe, err = r.String(); err == nil && recipe != Recipe {
				err = fmt.Errorf("recipe is %s, not %s", lock.Visible(recipe), Recipe)
			}
		case "server":
			err = rel.readServer(r)
		case "sequence":
			var n string
			if n, err = r.Number(); err == nil {
				if rel.Sequence, err = strconv.ParseUint(n, 10, 53); err != nil {
					err = r.Fail(canonical.Syntax, "sequence is no integer between 1 and 2^53-1")
				}
			}
		case "variant":
			rel.Variant, err = r.String()
		case "complete":
			rel.Complete, err = r.Bool()
		case "kinds":
			var kinds []string
			kinds, err = readStrings(r)
			for _, k := range kinds {
				rel.Kinds = append(rel.Kinds, lock.Kind(k))
			}
		case "protocolVersion":
			rel.ProtocolVersion, err = readText(r)
		case "issuedAt":
			rel.IssuedAt, err = readTime(r)
		case "expiresAt":
			rel.ExpiresAt, err = readTime(r)
		case "source":
			rel.Source = new(Resource)
			err = rel.Source.read(r)
		case "artifacts":
			err = nonEmpty(r, func() error {
				rel.Artifacts = append(rel.Artifacts, Resource{})
				return rel.Artifacts[len(rel.Artifacts)-1].read(r)
			})
		default:
			err = r.Unknown(name)
		}
		return err
	})
}

func (rel *Release) readServer(r *canonical.Reader) error {
	m := members{r, []string{"name"}}
	return m.read(func(name string) (err error) {
		switch name {
		case "name":
			rel.Server, err = r.String()
		case "version":
			rel.Version, err = readText(r)
		case "purls":
			rel.PURLs, err = readStrings(r)
		case "origins":
			rel.Origins, err = readStrings(r)
		default:
			err = r.Unknown(name)
		}
		return err
	})
}

func (res *Resource) read(r *canonical.Reader) error {
	return r.Object(func(name string) (err error) {
		switch name {
		case "uri":
			res.URI, err = readText(r)
		case "digest":
			res.Digest = make(map[string]string)
			err = r.Object(func(alg string) (err error) {
				res.Digest[alg], err = r.String()
				return err
			})
			if err == nil && len(res.Digest) == 0 {
				err = r.Fail(canonical.Syntax, "a digest set is empty")
			}
		default:
			err = r.Unknown(name)
		}
		return err
	})
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
