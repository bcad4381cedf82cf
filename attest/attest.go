package attest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/in-toto/in-toto-golang/in_toto"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

const (
	// PayloadType is the DSSE payload type of a statement.
	PayloadType = in_toto.PayloadType
	// Recipe names the way in which the digests were computed.
	Recipe = "mcp-definition/v1"

	// MaxSubjects is how many subjects a statement can have: the limit of the
	// verifiers in use.
	MaxSubjects = 1024
	// MaxPayload is how many bytes a statement can have.
	MaxPayload = 1 << 20

	maxString = 4096 // bytes of a string of a predicate
)

// The predicate types of this package's own formats.
const (
	PredicateType  = "https://mcpsign.github.io/definitions/v1" // definitions of a release
	ApprovalType   = "https://mcpsign.github.io/approval/v1"    // a reviewer's approval
	RevocationType = "https://mcpsign.github.io/revocation/v1"  // a list of what no longer counts

	// reserved begins every predicate type of ours, those to come included.
	reserved = "https://mcpsign.github.io/"
)

// A Subject is a definition that a statement is about.
type Subject struct {
	Kind   lock.Kind
	Name   string
	Digest lock.Digest
}

// ID returns "kind:name".
func (s Subject) ID() string { return lock.ID(s.Kind, s.Name) }

func compareSubjects(a, b Subject) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
}

func findSubject(subjects []Subject, k lock.Kind, name string) (Subject, bool) {
	i, ok := slices.BinarySearchFunc(subjects, Subject{Kind: k, Name: name}, compareSubjects)
	if !ok {
		return Subject{}, false
	}
	return subjects[i], true
}

// A Statement is an in-toto statement of one of four kinds, which
// PredicateType tells apart:
//
//	PredicateType         Release, Subjects, Find, Surface
//	ApprovalType          Approval, Approved, Approves
//	RevocationType        Revocation, Revokes, RevokesStatement
//	any other             Foreign
//
// What belongs to another kind returns nothing: an approval has no subjects
// that a release vouches for, and a release approves nothing. Only this package
// makes statements.
type Statement struct {
	payload []byte
	content content
}

// content is what a statement of one kind says: *definitions, *approval,
// *revocation or *Predicate.
type content interface{ predicateType() string }

// Bytes returns what is signed, exactly; it must not be changed.
func (s *Statement) Bytes() []byte { return s.payload }

// Digest returns the SHA-256 of Bytes, by which a revocation names s.
func (s *Statement) Digest() lock.Digest { return sha256.Sum256(s.payload) }

// PredicateType returns what kind of statement s is.
func (s *Statement) PredicateType() string { return s.content.predicateType() }

// Foreign returns what a statement of a predicate type that is none of this
// package's says.
func (s *Statement) Foreign() (*Predicate, bool) {
	p, ok := s.content.(*Predicate)
	return p, ok
}

// makeOwn writes the statement that says c. What is signed is what a verifier
// will read, so that it is read back.
func makeOwn(c own) (*Statement, error) {
	err := c.check()
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	payload, err := encode(c.predicateType(), c.list(), c.write)
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	return ParseAny(payload)
}

// subjectsOf returns the subjects for definitions, sorted by kind and name.
func subjectsOf(ds []lock.Definition) []Subject {
	subjects := make([]Subject, 0, len(ds))
	for _, d := range ds {
		subjects = append(subjects, Subject{d.Kind(), d.Name(), d.Digest()})
	}
	slices.SortFunc(subjects, compareSubjects)
	return subjects
}

// checkSubjects reports what makes sorted subjects none of a statement.
func checkSubjects(subjects []Subject) error {
	switch {
	case len(subjects) == 0:
		return errors.New("there are no subjects")
	case len(subjects) > MaxSubjects:
		return fmt.Errorf("there are %d subjects, at most %d can be signed in one statement", len(subjects), MaxSubjects)
	case !strictlySorted(subjects, Subject.ID):
		return errors.New("a subject's name is there twice")
	}
	for _, s := range subjects {
		if !s.Kind.Valid() || s.Digest.IsZero() {
			return fmt.Errorf("subject %s has no digest", shown(s.ID()))
		}
	}
	return nil
}

// strictlySorted reports whether s is not empty, sorted by key and without a
// repetition.
func strictlySorted[T any](s []T, key func(T) string) bool {
	for i := 1; i < len(s); i++ {
		if key(s[i-1]) >= key(s[i]) {
			return false
		}
	}
	return len(s) > 0
}

// checkText reports that a string of those, which what names, is too long or
// not Unicode.
func checkText(what string, texts ...string) error {
	for _, t := range texts {
		if len(t) > maxString || strings.ToValidUTF8(t, "") != t {
			return fmt.Errorf("%s has more than %d bytes or is not UTF-8", what, maxString)
		}
	}
	return nil
}

// shown returns the start of text that came from elsewhere, fit for a terminal.
func shown(text string) string {
	const limit = 400
	if len(text) > limit {
		return lock.Visible(strings.ToValidUTF8(text[:limit], "")) + "..."
	}
	return lock.Visible(text)
}

// inCanonicalForm reports an error if payload is not in RFC 8785 form.
func inCanonicalForm(payload []byte) error {
	form, err := canonical.Append(make([]byte, 0, len(payload)), payload)
	if err == nil && !bytes.Equal(form, payload) {
		err = errors.New("not in RFC 8785 form")
	}
	return err
}
