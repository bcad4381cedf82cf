package attest

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// A Predicate is what a statement of a foreign predicate type says (SLSA
// provenance, a VSA, a scan ...). Subjects are definitions if they are named like
// some and have a SHA-256; of the others the digests are kept. The predicate is
// not interpreted. The statement is of version 1 or 0.1.
type Predicate struct {
	typ      string
	subjects []Subject           // sorted
	digests  []map[string]string // of each subject, in the order of the statement
	raw      []byte              // the predicate's object as received, which is strict JSON
}

// Foreign makes a statement about ds of a predicate type that is none of this
// package's, an absolute URI. The predicate is a JSON object with an RFC 8785
// form, in which it is signed; that it means something by its type's
// specification is not checked. It is an error if there are no definitions, or
// two of one name.
func Foreign(ds []lock.Definition, predicateType string, predicate []byte) (*Statement, error) {
	if err := checkURI("predicate type", predicateType); err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	if strings.HasPrefix(predicateType, reserved) {
		return nil, fmt.Errorf("statement: predicate type %s is one of our own formats", shown(predicateType))
	}
	if len(predicate) > MaxPayload {
		return nil, fmt.Errorf("statement: predicate has more than %d bytes", MaxPayload)
	}
	subjects := subjectsOf(ds)
	if err := checkSubjects(subjects); err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	form, err := canonical.Append(nil, predicate)
	if err != nil {
		return nil, fmt.Errorf("predicate: %w", err)
	}
	if form[0] != '{' {
		return nil, errors.New("predicate: not a JSON object")
	}
	payload, err := encode(predicateType, asList(subjects), func(e *encoder) {
		e.out = append(e.out, form[1:len(form)-1]...)
	})
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	return ParseAny(payload)
}

// checkURI reports why s is no absolute URI of visible ASCII characters and at
// most 4,096 bytes.
func checkURI(what, s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || len(s) > maxString || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("%s %.200q is no absolute URI of at most %d bytes", what, s, maxString)
	}
	return nil
}

// Type returns the predicate type, which is the signer's text: show it with
// lock.Visible.
func (p *Predicate) Type() string { return p.typ }

// Subjects returns the subjects that are named like definitions and have a
// SHA-256, sorted by kind and name; there may be none.
func (p *Predicate) Subjects() []Subject { return slices.Clone(p.subjects) }

// Find returns the subject of that kind and name.
func (p *Predicate) Find(k lock.Kind, name string) (Subject, bool) {
	return findSubject(p.subjects, k, name)
}

// Digests returns the digest sets of all subjects, whatever they are named:
// algorithm to digits, as they are written.
func (p *Predicate) Digests() []map[string]string {
	all := make([]map[string]string, len(p.digests))
	for i, set := range p.digests {
		all[i] = maps.Clone(set)
	}
	return all
}

func (p *Predicate) predicateType() string { return p.typ }

// parseForeign reads a statement that peek has read as JSON. Members that
// nobody knows are ignored, as in-toto asks (Statement v1, parsing rules).
func parseForeign(payload []byte) (*Statement, error) {
	p := &Predicate{raw: []byte("{}")}
	subjects := 0
	payload = slices.Clone(payload)
	r := canonical.NewReader(payload)
	err := r.Object(func(name string) (err error) {
		switch name {
		case "predicateType":
			p.typ, err = readText(r)
		case "subject":
			err = r.Array(func(i int) error {
				if i == MaxSubjects {
					return r.Fail(canonical.TooMany, fmt.Sprintf("more than %d subjects", MaxSubjects))
				}
				subjects++
				return p.readSubject(r)
			})
		case "predicate":
			if r.Peek() != '{' {
				return r.Fail(canonical.Syntax, "expected an object")
			}
			p.raw, err = r.Raw()
		default:
			err = r.Skip()
		}
		return err
	})
	switch {
	case err != nil:
	case p.typ == "":
		err = errors.New("there is no predicate type")
	case subjects == 0:
		err = errors.New("there are no subjects")
	}
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	slices.SortFunc(p.subjects, compareSubjects)
	if len(p.subjects) > 0 && !strictlySorted(p.subjects, Subject.ID) {
		return nil, errors.New("statement: the name of a definition is there twice")
	}
	return &Statement{payload, p}, nil
}

// readSubject reads an in-toto ResourceDescriptor. It keeps the digests, and the
// subject if it is named like a definition and has a SHA-256.
func (p *Predicate) readSubject(r *canonical.Reader) error {
	var id string
	digests := make(map[string]string)
	err := r.Object(func(name string) (err error) {
		switch name {
		case "name":
			id, err = r.String()
		case "digest":
			err = r.Object(func(alg string) error {
				var err error
				digests[alg], err = r.String()
				return err
			})
		default:
			err = r.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	p.digests = append(p.digests, digests)
	hex, hashed := digests["sha256"]
	k, name, err := lock.ParseID(id)
	if err != nil || !hashed {
		return nil // something else than a definition
	}
	d, err := lock.ParseHex(hex)
	p.subjects = append(p.subjects, Subject{k, name, d})
	return err
}
