package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
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
	AnyRoot         FindingCode = "any_root"         // a certificate under whichever root is trusted: a publisher names its own
	UnusedPublisher FindingCode = "unused_publisher" // no rule asks for it
	CurrentTime     FindingCode = "current_time"     // signatures of a publisher without a timestamp end with its certificate
	Unfinished      FindingCode = "unfinished"       // too many rules to compare each with those before
)

// maxCompared bounds the pairs of patterns that Lint compares.
const maxCompared = 1 << 20

// Lint returns what is doubtful in p, in the order of the file. It decides
// nothing.
func (p *Policy) Lint() []Finding {
	l := &linter{policy: p}
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
	}
	for _, name := range slices.Sorted(maps.Keys(l.policy.publishers)) {
		b := l.policy.publishers[name]
		for _, id := range b.keyless {
			check(b.place, id)
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
