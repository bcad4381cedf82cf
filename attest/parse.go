package attest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/in-toto/in-toto-golang/in_toto"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// A ForeignError says that a payload is an in-toto statement of a predicate
// type that is not about the definitions of a release.
type ForeignError struct{ PredicateType string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("statement of predicate type %s, not %s", shown(e.PredicateType), PredicateType)
}

// Parse reads a statement about the definitions of a release, of at most 1 MiB.
// Its bytes must be what Definitions would have made of it, but for the order
// of the subjects. A statement of another predicate type, approvals and
// revocations included, is a *ForeignError; of such a one only the two types
// are looked at, and that it is JSON.
func Parse(payload []byte) (*Statement, error) {
	typ, err := peek(payload, PredicateType)
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	if typ != PredicateType {
		return nil, &ForeignError{typ}
	}
	return parseOwn(payload, &definitions{})
}

// ParseAny reads a statement of any kind, of at most 1 MiB, which PredicateType
// tells. One in a format of this package must be, byte for byte, what this
// package would have made of it, but for the order of the subjects of a
// release. One of a foreign predicate type is read strictly as JSON and as a
// statement, and its predicate not at all: see Predicate. A *ForeignError says
// that it is of a reserved type that this version does not know.
func ParseAny(payload []byte) (*Statement, error) {
	typ, err := peek(payload, PredicateType, ApprovalType, RevocationType)
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	switch typ {
	case PredicateType:
		return parseOwn(payload, &definitions{})
	case ApprovalType:
		return parseOwn(payload, &approval{})
	case RevocationType:
		return parseOwn(payload, &revocation{})
	}
	if strings.HasPrefix(typ, reserved) {
		return nil, &ForeignError{typ}
	}
	return parseForeign(payload)
}

// errOwn ends the walk of peek early.
var errOwn = errors.New("a statement in a format of our own")

// peek returns the predicate type of a statement. If it is none of own the rest
// was read as JSON: a foreign predicate need not have an RFC 8785 form.
func peek(payload []byte, own ...string) (string, error) {
	if len(payload) > MaxPayload {
		return "", fmt.Errorf("has more than %d bytes", MaxPayload)
	}
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
		if err == nil && typ == in_toto.StatementInTotoV1 && slices.Contains(own, predicate) {
			err = errOwn
		}
		return err
	})
	if err == nil {
		err = r.End()
	}
	switch {
	case err == errOwn:
		return predicate, nil
	case err != nil:
		return "", err
	case typ == in_toto.StatementInTotoV01 && !strings.HasPrefix(predicate, reserved):
		return predicate, nil // as cosign still writes it; in form and meaning the same
	case typ != in_toto.StatementInTotoV1:
		return "", fmt.Errorf("_type is %s, not %s", shown(typ), in_toto.StatementInTotoV1)
	}
	return predicate, nil
}

// own is what a statement in a format of this package says.
type own interface {
	content
	list() []subject                // the subjects, in the order in which they are written
	set([]subject) error            // takes what list returned
	read(r *canonical.Reader) error // reads the predicate
	write(e *encoder)               // writes the predicate's members
	check() error                   // the rules that makers and parsers share
}

// A subject is one as it is written.
type subject struct {
	name   string
	digest lock.Digest
	reason string // annotation, of a revocation alone
}

func parseOwn(payload []byte, c own) (*Statement, error) {
	err := readOwn(payload, c)
	if err == nil {
		err = c.check()
	}
	if err == nil {
		err = inCanonicalForm(payload)
	}
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	return &Statement{slices.Clone(payload), c}, nil
}

func readOwn(payload []byte, c own) error {
	_, annotated := c.(*revocation)
	var subjects []subject
	r := canonical.NewReader(payload)
	m := members{r, []string{"_type", "predicate", "predicateType", "subject"}}
	err := m.read(func(name string) (err error) {
		switch name {
		case "_type", "predicateType":
			_, err = r.String()
		case "subject":
			err = r.Array(func(i int) error {
				if i == MaxSubjects {
					return r.Fail(canonical.TooMany, fmt.Sprintf("more than %d subjects", MaxSubjects))
				}
				s, err := readSubject(r, annotated)
				subjects = append(subjects, s)
				return err
			})
		case "predicate":
			err = c.read(r)
		default:
			err = r.Unknown(name)
		}
		return err
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return err
	}
	return c.set(subjects)
}

func readSubject(r *canonical.Reader, annotated bool) (s subject, err error) {
	m := members{r, []string{"digest", "name"}}
	err = m.read(func(name string) (err error) {
		switch {
		case name == "name":
			s.name, err = r.String()
		case name == "digest":
			s.digest, err = readDigest(r)
		case name == "annotations" && annotated:
			m := members{r, []string{"reason"}}
			err = m.read(func(name string) (err error) {
				if name != "reason" {
					return r.Unknown(name)
				}
				s.reason, err = readText(r)
				return err
			})
		default:
			err = r.Unknown(name)
		}
		return err
	})
	return s, err
}

func asList(subjects []Subject) []subject {
	list := make([]subject, len(subjects))
	for i, s := range subjects {
		list[i] = subject{name: s.ID(), digest: s.Digest}
	}
	return list
}

// asDefinitions undoes asList.
func asDefinitions(list []subject) ([]Subject, error) {
	subjects := make([]Subject, len(list))
	for i, s := range list {
		k, name, err := lock.ParseID(s.name)
		if err != nil {
			return nil, err
		}
		subjects[i] = Subject{k, name, s.digest}
	}
	return subjects, nil
}
