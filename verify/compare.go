package verify

import (
	"strings"

	"github.com/mcpsign/mcpsign/lock"
)

// A Comparison is one part of an identity beside that of a signer. Texts are
// the signer's: show them with lock.Visible.
type Comparison struct {
	Part  string // "key", "issuer", "subject", "repository", "repository number", "workflow", "ref" or "root"
	Want  string // empty: anything
	Got   string // empty: nothing
	Equal bool
}

// Compare lists the parts of id beside those of s, for people who look for the
// difference. Whether s is the identity is for Matches to say: it looks at the
// whole as well.
func (id Identity) Compare(s lock.Signer) []Comparison {
	var parts []Comparison
	add := func(part, want, got string, equal bool) {
		parts = append(parts, Comparison{part, want, got, equal})
	}
	exact := func(part, want, got string) { add(part, want, got, want == got) }
	w := id.want
	if w.Key != "" || s.Key != "" {
		exact("key", w.Key, s.Key)
	}
	if w.Issuer != "" || s.Issuer != "" {
		exact("issuer", w.Issuer, s.Issuer)
	}
	if id.root || s.Root != "" {
		add("root", "", s.Root, id.root && s.Root != "")
	}
	if id.subject.expr == nil {
		if w.Subject != "" || s.Subject != "" {
			exact("subject", w.Subject, s.Subject)
		}
		return parts
	}
	exact("repository", w.Repository, s.Repository)
	if w.RepositoryID != "" {
		exact("repository number", w.RepositoryID, s.RepositoryID)
	}
	wantFile, wantRef := splitRef(id.subject.text)
	file, ref := splitRef(s.Subject)
	exact("workflow", wantFile, file)
	add("ref", wantRef, ref, newPattern(wantRef).matches(ref))
	return parts
}

// splitRef splits the subject of a CI job at its ref.
func splitRef(subject string) (file, ref string) {
	at := strings.Index(subject, "@refs/")
	if at < 0 {
		return subject, ""
	}
	return subject[:at], subject[at+1:]
}
