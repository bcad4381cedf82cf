package attest

import (
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// wantKind checks that s has what its kind has, and nothing of another kind.
func wantKind(t *testing.T, s *Statement, typ string) {
	t.Helper()
	_, approval := s.Approval()
	_, revocation := s.Revocation()
	foreign, isForeign := s.Foreign()
	release := s.Release().Server != "" && s.Release().Sequence != 0
	for _, k := range []struct {
		name      string
		got, want bool
	}{
		{"release", release, typ == PredicateType},
		{"subjects", len(s.Subjects()) > 0, typ == PredicateType},
		{"surface", !s.Surface().IsZero(), typ == PredicateType},
		{"approval", approval, typ == ApprovalType},
		{"approved", len(s.Approved()) > 0, typ == ApprovalType},
		{"revocation", revocation, typ == RevocationType},
		{"foreign", isForeign, typ != PredicateType && typ != ApprovalType && typ != RevocationType},
	} {
		if k.got != k.want {
			t.Errorf("%s of a statement of type %q: %v", k.name, typ, k.got)
		}
	}
	if s.PredicateType() != typ || isForeign && foreign.Type() != typ {
		t.Errorf("predicate type %q, want %q", s.PredicateType(), typ)
	}
}

// Each kind is told by its type alone, and says nothing that is another kind's,
// be the subjects the same.
func TestKinds(t *testing.T) {
	l := listing(t, weather)
	x := subjectsOf(l.Definitions)[0]
	revoked := revocationOf(t)
	for _, s := range subjectsOf(l.Definitions) {
		revoked.Entries = append(revoked.Entries, Revoked{Definition: s})
	}
	statements := map[string]*Statement{
		PredicateType:  define(t, l, full()),
		ApprovalType:   made(t)(Approve(l.Definitions, approvalOf(t))),
		RevocationType: made(t)(Revoke(revoked)),
		VSAType:        made(t)(Summarize(l.Definitions, summary())),
		"https://slsa.dev/provenance/v1": made(t)(Foreign(l.Definitions, "https://slsa.dev/provenance/v1",
			[]byte(`{"buildDefinition":{}}`))),
	}
	for typ, s := range statements {
		t.Run(typ, func(t *testing.T) {
			wantKind(t, s, typ)
			if _, ok := s.Find(x.Kind, x.Name); ok != (typ == PredicateType) {
				t.Errorf("Find = %v", ok)
			}
			if ok := s.Approves(x); ok != (typ == ApprovalType) {
				t.Errorf("Approves = %v", ok)
			}
			if _, ok := s.Revokes("io.github.acme/weather", x); ok != (typ == RevocationType) {
				t.Errorf("Revokes = %v", ok)
			}
			if _, ok := s.RevokesStatement("io.github.acme/weather", digest(t, "c")); ok != (typ == RevocationType) {
				t.Errorf("RevokesStatement = %v", ok)
			}
			if s.Digest() != lock.Digest(sha256.Sum256(s.Bytes())) {
				t.Error("the digest is not that of the bytes")
			}
			if want, err := l.Digest(); err != nil || typ == PredicateType && s.Surface() != want {
				t.Errorf("Surface = %s, want %s, %v", s.Surface(), want, err)
			}

			// A caller that wants a release gets no other statement.
			release, err := Parse(s.Bytes())
			var foreign *ForeignError
			if typ == PredicateType {
				if err != nil || !sameMeaning(release, s) {
					t.Errorf("Parse = %v, %v", release, err)
				}
			} else if !errors.As(err, &foreign) || foreign.PredicateType != typ || release != nil {
				t.Errorf("Parse = %v, %v, want a *ForeignError", release, err)
			}
			again, err := ParseAny(s.Bytes())
			if err != nil || !sameMeaning(again, s) {
				t.Errorf("ParseAny = %v, %v", again, err)
			}
		})
	}
}

// The predicate of one kind under the type of another is refused.
func TestSwappedTypes(t *testing.T) {
	texts := map[string]string{PredicateType: good, ApprovalType: goodApproval, RevocationType: goodRevocation}
	for typ, text := range texts {
		for other := range texts {
			if other == typ {
				continue
			}
			if s, err := ParseAny([]byte(replaced(t, text, typ, other))); err == nil {
				t.Errorf("a statement of type %s is taken as one of type %s: %v", typ, other, s)
			}
		}
	}
}

// A type of ours that is not known is neither guessed at nor foreign.
func TestReservedTypes(t *testing.T) {
	for _, typ := range []string{
		"https://mcpsign.github.io/definitions/v2", "https://mcpsign.github.io/approval/v1.1", "https://mcpsign.github.io/",
		"https://mcpsign.github.io/Approval/v1",
	} {
		var foreign *ForeignError
		s, err := ParseAny([]byte(replaced(t, goodApproval, ApprovalType, typ)))
		if !errors.As(err, &foreign) || foreign.PredicateType != typ || s != nil {
			t.Errorf("ParseAny of type %s = %v, %v, want a *ForeignError", typ, s, err)
		}
		s, err = Foreign(listing(t, weather).Definitions, typ, []byte(`{}`))
		wantError(t, err, "is one of our own formats")
		if s != nil {
			t.Error("a statement came with the error")
		}
	}
}
