// Package attest turns definitions into an in-toto statement and back.
//
// # The statement
//
// A publisher vouches for the definitions of one release of a server with one
// in-toto Statement v1 (https://in-toto.io/Statement/v1), signed in a DSSE
// envelope of payload type application/vnd.in-toto+json. Its bytes are the
// RFC 8785 form of the JSON object; bytes in any other form are refused.
//
// Each subject is one definition: name "kind:name" (tool:get_forecast,
// prompt:review, resourceTemplate:demo://{id}, instructions:), digest the
// definition digest under "sha256" as 64 lower-case hexadecimal digits, and
// nothing else. There are 1 to 1,024; a name occurs once.
//
// # The predicate
//
// The predicate type is https://mcpsign.github.io/definitions/v1. Members not
// listed here are refused.
//
//	recipe           required  "mcp-definition/v1": SHA-256 over the RFC 8785 form of
//	                           the definition as received, without its top-level _meta
//	server           required  object:
//	  name           required  the server's identity, which the verifier names byte for byte
//	  version                  the release's version, for people
//	  purls                    package URLs under which the server is released
//	  origins                  HTTPS origins under which it is served
//	sequence         required  integer, 0 < n < 2^53; rises with every release of the name
//	variant          required  string, "" for the only or usual one: one release may list
//	                           other definitions on other machines; each is a statement with
//	                           its own variant and the same sequence
//	complete         required  boolean: the subjects are all definitions of the kinds named
//	kinds            required  sorted array of instructions, prompt, resourceTemplate, tool:
//	                           every subject's kind is among them
//	protocolVersion            of MCP, in which the definitions were listed
//	issuedAt         required  RFC 3339, UTC with Z, whole seconds
//	expiresAt                  likewise, later than issuedAt
//	source                     ResourceDescriptor of the source: {"uri", "digest"}
//	artifacts                  array of ResourceDescriptors of what serves the definitions
//
// A string or array that says nothing is left out rather than empty, but for
// variant; strings of the predicate have at most 4,096 bytes, a statement 1 MiB.
//
// Two statements with the same server name, sequence and variant and other
// subjects contradict each other: a verifier refuses both.
//
// The package does no I/O and reads no clock. What it parses is unverified:
// who signed it, and whether, is package verify's to say.
package attest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/in-toto/in-toto-golang/in_toto"

	"github.com/mcpsign/mcpsign/lock"
)

const (
	// PayloadType is the DSSE payload type of a statement.
	PayloadType = in_toto.PayloadType
	// PredicateType is the type of the predicate about definitions.
	PredicateType = "https://mcpsign.github.io/definitions/v1"
	// Recipe names the way in which the digests were computed.
	Recipe = "mcp-definition/v1"

	// MaxSubjects is how many subjects a statement can have: the limit of the
	// verifiers in use.
	MaxSubjects = 1024
	// MaxPayload is how many bytes a statement can have.
	MaxPayload = 1 << 20
)

// A Subject is a definition that a statement vouches for.
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

// A Resource is an in-toto ResourceDescriptor, of which the URI and the digests
// are used.
type Resource struct {
	URI    string
	Digest map[string]string // algorithm to lower-case hexadecimal digits
}

// A Release is what a publisher says of the definitions it signs; the package
// comment has the meaning of each member.
type Release struct {
	Server          string // name; see lock.CheckName
	Version         string
	PURLs, Origins  []string
	Sequence        uint64 // 0 < n < 2^53
	Variant         string
	Complete        bool
	Kinds           []lock.Kind // sorted
	ProtocolVersion string
	IssuedAt        time.Time // whole seconds
	ExpiresAt       time.Time // the zero time: does not expire
	Source          *Resource
	Artifacts       []Resource
}

// A Statement is an in-toto statement about the definitions of a release. Only
// Definitions and Parse make one.
type Statement struct {
	payload  []byte
	subjects []Subject // sorted
	release  Release
}

// Bytes returns what is signed, exactly; it must not be changed.
func (s *Statement) Bytes() []byte { return s.payload }

// Subjects returns the definitions vouched for, sorted by kind and name.
func (s *Statement) Subjects() []Subject { return slices.Clone(s.subjects) }

// SameSubjects reports whether s and t vouch for the same definitions.
func (s *Statement) SameSubjects(t *Statement) bool { return slices.Equal(s.subjects, t.subjects) }

// Find returns the subject of that kind and name.
func (s *Statement) Find(k lock.Kind, name string) (Subject, bool) {
	i, ok := slices.BinarySearchFunc(s.subjects, Subject{Kind: k, Name: name}, compareSubjects)
	if !ok {
		return Subject{}, false
	}
	return s.subjects[i], true
}

// Release returns what the publisher says of the release.
func (s *Statement) Release() Release { return s.release }

// Definitions makes the statement that vouches for the definitions of l as
// release r. Every definition must have a digest: a listing with refused
// definitions, and one without any, is an error.
func Definitions(l *lock.Listing, r Release) (*Statement, error) {
	if l == nil {
		return nil, errors.New("there is no listing to vouch for")
	}
	if n := len(l.Refused); n > 0 {
		return nil, fmt.Errorf("%d definitions have no digest; the first is %s: %w",
			n, lock.Visible(lock.ID(l.Refused[0].Kind, l.Refused[0].Name)), l.Refused[0].Err)
	}
	s := &Statement{release: r}
	for _, d := range l.Definitions {
		s.subjects = append(s.subjects, Subject{d.Kind(), d.Name(), d.Digest()})
	}
	slices.SortFunc(s.subjects, compareSubjects)
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	payload, err := s.encode()
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	// What is signed is what a verifier will read.
	return Parse(payload)
}

// check reports what makes s no statement: the rules that Definitions and
// Parse share.
func (s *Statement) check() error {
	r := &s.release
	if err := lock.CheckName(r.Server); err != nil {
		return err
	}
	switch {
	case len(s.subjects) == 0:
		return fmt.Errorf("there are no subjects")
	case len(s.subjects) > MaxSubjects:
		return fmt.Errorf("there are %d subjects, at most %d can be signed in one statement", len(s.subjects), MaxSubjects)
	case r.Sequence == 0 || r.Sequence > lock.MaxSequence:
		return fmt.Errorf("sequence %d is not between 1 and 2^53-1", r.Sequence)
	case !wholeSecond(r.IssuedAt):
		return fmt.Errorf("issuedAt is missing or not a whole second of the years 1970 to 9999")
	case !r.ExpiresAt.IsZero() && (!wholeSecond(r.ExpiresAt) || !r.ExpiresAt.After(r.IssuedAt)):
		return fmt.Errorf("expiresAt is not after issuedAt")
	case !strictlySorted(r.Kinds, func(k lock.Kind) string { return string(k) }):
		return fmt.Errorf("kinds are missing, not sorted, or there twice")
	case !strictlySorted(s.subjects, Subject.ID):
		return fmt.Errorf("a subject's name is there twice")
	}
	for _, k := range r.Kinds {
		if !k.Valid() {
			return fmt.Errorf("kind %s is not known", lock.Visible(string(k)))
		}
	}
	for _, subject := range s.subjects {
		if subject.Digest.IsZero() || !slices.Contains(r.Kinds, subject.Kind) {
			return fmt.Errorf("subject %s has no digest, or its kind is not among the kinds", lock.Visible(subject.ID()))
		}
	}
	return r.checkText()
}

// checkText reports strings that are too long or not Unicode.
func (r *Release) checkText() error {
	texts := append([]string{r.Version, r.Variant, r.ProtocolVersion}, slices.Concat(r.PURLs, r.Origins)...)
	for _, res := range r.resources() {
		texts = append(texts, res.URI)
		if res.URI == "" && len(res.Digest) == 0 {
			return fmt.Errorf("a source or artifact has neither uri nor digest")
		}
		for alg, hex := range res.Digest {
			if alg == "" || hex == "" || strings.Trim(hex, "0123456789abcdef") != "" {
				return fmt.Errorf("digest %s of a source or artifact is not lower-case hexadecimal", lock.Visible(alg))
			}
			texts = append(texts, alg, hex)
		}
	}
	for _, t := range texts {
		if len(t) > 4096 || strings.ToValidUTF8(t, "") != t {
			return fmt.Errorf("a string of the release has more than 4096 bytes or is not UTF-8")
		}
	}
	if slices.Contains(slices.Concat(r.PURLs, r.Origins), "") {
		return fmt.Errorf("a purl or origin is empty")
	}
	return nil
}

func (r *Release) resources() []Resource {
	if r.Source == nil {
		return r.Artifacts
	}
	return append([]Resource{*r.Source}, r.Artifacts...)
}

func wholeSecond(t time.Time) bool {
	t = t.UTC()
	return t.Year() >= 1970 && t.Year() <= 9999 && t.Nanosecond() == 0
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
