package verify

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/internal/certchain"
)

// A Finding is what is doubtful about a policy that can be read.
type Finding struct {
	Line, Column int // from 1
	Code         FindingCode
	Message      string // for people
}

// A FindingCode names a kind of finding. Codes are stable.
type FindingCode string

const (
	Unreachable     FindingCode = "unreachable"      // earlier rules take every server that the rule names
	OutOfScope      FindingCode = "out_of_scope"     // too few of the rule's publishers may sign for one of its servers
	BroadIdentity   FindingCode = "broad_identity"   // admits more than one release workflow of one repository
	LiteralStar     FindingCode = "literal_star"     // a * where no wildcard is allowed: the identity matches nobody
	ExpiredRoot     FindingCode = "expired_root"     // a root certificate of a publisher is not valid now
	AnyRoot         FindingCode = "any_root"         // a certificate under whichever root is trusted: a publisher names its own
	UnusedPublisher FindingCode = "unused_publisher" // no rule asks for it
	CurrentTime     FindingCode = "current_time"     // signatures of a publisher without a timestamp end with its certificate
	Unfinished      FindingCode = "unfinished"       // too many rules to compare each with those before
)

// maxCompared bounds the pairs of patterns that Lint compares.
const maxCompared = 1 << 20

// Lint returns what is doubtful in p at a time, in the order of the file. It
// decides nothing. Certificates are looked at if p has them, see With.
func (p *Policy) Lint(at time.Time) []Finding {
	l := &linter{policy: p, at: at}
	l.reach()
	for i := range p.rules {
		l.scopes(&p.rules[i])
	}
	l.identities()
	used := make(map[string]bool)
	for _, ref := range p.references() {
		used[ref.text] = true
	}
	for _, name := range slices.Sorted(maps.Keys(p.publishers)) {
		if !used[name] {
			l.add(p.publishers[name].place, UnusedPublisher, "no rule asks for publisher %s", name)
		}
	}
	slices.SortStableFunc(l.findings, func(a, b Finding) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return l.findings
}

type linter struct {
	policy   *Policy
	at       time.Time
	findings []Finding
}

func (l *linter) add(at place, code FindingCode, format string, args ...any) {
	l.findings = append(l.findings, Finding{max(at.line, 1), max(at.column, 1), code, fmt.Sprintf(format, args...)})
}

// references lists all principals that p names, in the order of the file.
func (p *Policy) references() []reference {
	refs := slices.Clone(p.revokers)
	for _, r := range p.rules {
		refs = append(refs, r.signedBy...)
		if r.approvals != nil {
			refs = append(refs, r.approvals.from...)
		}
		for _, a := range r.attested {
			refs = append(refs, a.by...)
		}
	}
	return refs
}

// reach looks for rules that can never match.
func (l *linter) reach() {
	compared := 0
	rules := l.policy.rules
	for i := range rules {
		taken := 0
		for _, s := range rules[i].servers {
			for j := range i {
				if compared += len(rules[j].servers); compared > maxCompared {
					l.add(rules[i].place, Unfinished, "there are too many rules to see whether this one and those after it can match")
					return
				}
				if slices.ContainsFunc(rules[j].servers, func(before pattern) bool { return before.covers(s) }) {
					taken++
					break
				}
			}
		}
		if taken == len(rules[i].servers) {
			l.add(rules[i].place, Unreachable, "this rule never decides: rules before it match each of its servers")
		}
	}
}

// scopes looks for servers for which too few of the publishers may sign. Only
// patterns that are disjoint for sure are found.
func (l *linter) scopes(r *rule) {
	check := func(refs []reference, need int, what string) {
		for _, s := range r.servers {
			n := 0
			for _, ref := range refs {
				b := l.policy.publishers[ref.text]
				if b == nil || len(b.servers) == 0 || slices.ContainsFunc(b.servers, s.mayMeet) {
					n++
				}
			}
			if n < need {
				l.add(r.place, OutOfScope, "%s of servers %s: %d needed, and %d publishers have it in their scope", what, s.text, need, n)
			}
		}
	}
	if len(r.signedBy) > 0 {
		check(r.signedBy, r.need, "signers")
	}
	if r.approvals != nil {
		check(r.approvals.from, r.approvals.need, "approvals")
	}
	for _, a := range r.attested {
		check(a.by, 1, "attestations")
	}
}

// identities looks for those that admit more than they seem to.
func (l *linter) identities() {
	check := func(at place, id Identity) {
		if why := id.broad(); why != "" {
			l.add(at, BroadIdentity, "identity %s admits %s", shown(id.text), why)
		}
		if id.subject.expr == nil && strings.Contains(id.text, "*") {
			l.add(at, LiteralStar, "identity %s has a *, which stands for itself here: only the ref of github: and gitlab: has wildcards", shown(id.text))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.policy.publishers)) {
		b := l.policy.publishers[name]
		for _, id := range b.keyless {
			check(b.place, id)
		}
		if b.x509 != nil {
			check(b.x509.place, b.x509.san)
			l.roots(b)
		}
		if b.x509 != nil && b.x509.untimed {
			l.add(b.x509.place, CurrentTime, "signatures of publisher %s without a timestamp end with its certificate, and whoever has the key can sign until then", name)
		}
	}
	for _, ref := range l.policy.references() {
		if check(ref.place, ref.id); ref.id.root {
			l.add(ref.place, AnyRoot, "identity %s counts under any root that is trusted", shown(ref.text))
		}
	}
}

// roots looks for certificates of a publisher that are not valid: nothing that
// is signed now verifies with them.
func (l *linter) roots(b *namedPublisher) {
	if b.x509.material == nil {
		return
	}
	check := func(what string, certificates []*x509.Certificate) {
		roots, _ := certchain.Split(certificates)
		for _, c := range roots {
			if at, valid := validity(c, l.at); !valid {
				l.add(b.x509.place, ExpiredRoot, "%s %s of publisher %s %s", what, shown(c.Subject.String()), b.name, at)
			}
		}
	}
	check("root certificate", b.x509.material.Roots)
	check("timestamp root certificate", b.x509.material.TSAs)
}

// validity reports whether a certificate is valid at a time, and else since or
// until when it is not.
func validity(c *x509.Certificate, at time.Time) (string, bool) {
	switch {
	case at.After(c.NotAfter):
		return "expired at " + c.NotAfter.UTC().Format(time.RFC3339), false
	case at.Before(c.NotBefore):
		return "is not valid before " + c.NotBefore.UTC().Format(time.RFC3339), false
	}
	return "", true
}
