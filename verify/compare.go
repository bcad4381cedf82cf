package verify

import (
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
)

// A Comparison is one part of an identity beside that of a signer. Texts are
// the signer's: show them with lock.Visible.
type Comparison struct {
	Part  string // "key", "issuer", "subject", "repository", "repository number", "workflow", "ref", "built ref", "trigger", "environment", "runner" or "root"
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
	return append(parts, id.job.compare(s, ref)...)
}

// compare lists what an identity asks of the run of a job, as far as it has to
// be said: ref is that of the workflow.
func (r *jobRule) compare(s lock.Signer, ref string) []Comparison {
	var parts []Comparison
	if met := r.ref.expr == nil || r.ref.matches(s.Ref); r.caller || !met && s.Ref != ref {
		parts = append(parts, Comparison{"built ref", r.ref.text, s.Ref, met})
	}
	if met := slices.Contains(r.triggers, s.Trigger); !met {
		parts = append(parts, Comparison{"trigger", strings.Join(r.triggers, ","), s.Trigger, met})
	}
	if r.environment != "" {
		parts = append(parts, Comparison{"environment", r.environment, s.Environment, r.environment == s.Environment})
	}
	if r.runner != "" {
		parts = append(parts, Comparison{"runner", r.runner, s.Runner, r.runner == s.Runner})
	}
	return parts
}
