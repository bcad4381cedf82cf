package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpsign/mcpsign/lock"
)

// A principal is one party that may sign: an identity, a publisher, or a
// signer that the lock remembers.
type principal struct {
	name      string // as the policy has it
	ids       []Identity
	recorded  []lock.Signer // instead of ids, or besides those of a publisher
	publisher bool          // a publisher that the policy names: all its identities, certificates and keys are one party
	servers   []pattern     // none: any
	domain    *domain       // a publisher's private PKI, nil for that of Trust
	material  *material     // with a publisher's own trusted roots, nil for those of Trust
	log       bool          // what a signature must have besides
	stamps    bool
}

// accepts reports whether the principal may sign as s, whose evidence was
// verified.
func (p *principal) accepts(s lock.Signer) bool {
	return p.knows(s) && (slices.ContainsFunc(p.ids, func(id Identity) bool { return id.Matches(s) }) ||
		slices.ContainsFunc(p.recorded, func(r lock.Signer) bool {
			return s.Same(r) && (s.Trigger == r.Trigger || isUsual(s.Trigger))
		}))
}

// knows reports whether s, which is remembered, is the principal. What started a
// job, and what it built, does not count: it may not have been recorded.
func (p *principal) knows(s lock.Signer) bool {
	if s.Root != "" && p.domain != nil && !p.domain.ids[s.Root] {
		return false
	}
	return slices.ContainsFunc(p.ids, func(id Identity) bool { return id.names(s) }) ||
		slices.ContainsFunc(p.recorded, s.Same)
}

// same reports whether two signers are one party: by what they are themselves,
// or because both belong to the publisher. A repository that was created again
// under its old name has another ID and is another party, even for the same publisher.
func (p *principal) same(a, b lock.Signer) bool {
	if a.Same(b) {
		return true
	}
	created := a.Issuer == b.Issuer && a.Repository == b.Repository && a.RepositoryID != b.RepositoryID
	recreated := created && a.RepositoryID != "" && b.RepositoryID != ""
	return p.publisher && !recreated && p.knows(a) && p.knows(b)
}

// pki reports whether p may sign with a certificate that is not of Sigstore.
func (p *principal) pki() bool {
	return slices.ContainsFunc(p.ids, func(id Identity) bool { return id.root }) ||
		slices.ContainsFunc(p.recorded, func(s lock.Signer) bool { return s.Root != "" })
}

// expected names the identities of ps.
func expected(ps []*principal) []string {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, p := range ps {
		for _, id := range p.ids {
			add(id.String())
		}
		for _, s := range p.recorded {
			add(s.String())
		}
	}
	return names
}

// A ruleset is a policy made ready.
type ruleset struct {
	*Policy
	byName map[string]*principal // publishers
}

// newRuleset makes a policy ready: its publishers' keys are added to m, and
// their certificates are checked with a PKI of their own.
func newRuleset(p *Policy, m *material) (*ruleset, error) {
	if f := p.missing(); f != "" {
		return nil, &TrustError{fmt.Errorf("policy %s: file %s is not at hand", lock.Visible(p.name), lock.Visible(f))}
	}
	set := &ruleset{p, make(map[string]*principal)}
	for name, b := range p.publishers {
		one := &principal{name: name, publisher: true, ids: b.identities(), servers: b.servers, log: b.log, stamps: b.stamps}
		for _, k := range b.keys {
			if err := m.addKey(*k.key); err != nil {
				return nil, &TrustError{err}
			}
		}
		if b.x509 != nil {
			var err error
			if one.domain, err = m.newPublisherDomain(b.x509); err != nil {
				return nil, err
			}
		}
		if b.rootData != nil {
			var err error
			if one.material, err = m.newPublisherMaterial(b); err != nil {
				return nil, err
			}
			if one.domain != nil {
				one.domain = one.domain.under(one.material)
			}
		}
		set.byName[name] = one
	}
	return set, nil
}

// principals returns those that refs name and that may sign for the server.
func (set *ruleset) principals(refs []reference, server string) []*principal {
	var ps []*principal
	for _, ref := range refs {
		p := set.byName[ref.text]
		if p == nil {
			p = &principal{name: ref.text, ids: []Identity{ref.id}}
		}
		if len(p.servers) == 0 || matchesAny(p.servers, server) {
			ps = append(ps, p)
		}
	}
	return ps
}

// publishersFor returns the publishers that may sign for the server, in order.
func (set *ruleset) publishersFor(server string) []*principal {
	var ps []*principal
	for _, name := range slices.Sorted(maps.Keys(set.byName)) {
		if p := set.byName[name]; len(p.servers) == 0 || matchesAny(p.servers, server) {
			ps = append(ps, p)
		}
	}
	return ps
}

// A requirement is what the rule for a server comes down to.
type requirement struct {
	*rule
	name       string
	signatures bool // one is asked for
	recorded   bool // from the signers that the lock remembers, and of no pin that was approved unsigned
	signers    []*principal
	approvers  []*principal
	attesters  [][]*principal // for each of rule.attested
	revokers   []*principal   // who may revoke what others signed
	listers    []*principal   // who must have a recent revocation list, see freshRule
}

// require returns the requirement for a request, nil if no rule matches.
func (set *ruleset) require(r *Request) *requirement {
	i, name := set.find(r.Server)
	if i < 0 {
		return nil
	}
	q := &requirement{rule: &set.rules[i], name: name, signatures: len(set.rules[i].signedBy) > 0}
	q.signers = set.principals(q.signedBy, r.Server)
	if !q.signatures {
		q.remember(r.Lock, set.publishersFor(r.Server))
	}
	if q.approvals != nil {
		q.approvers = set.principals(q.approvals.from, r.Server)
	}
	for _, a := range q.attested {
		q.attesters = append(q.attesters, set.principals(a.by, r.Server))
	}
	q.revokers = set.principals(set.revokers, r.Server)
	if q.fresh != nil {
		refs := q.fresh.by
		if len(refs) == 0 {
			refs = q.signedBy
		}
		q.listers = set.principals(refs, r.Server)
	}
	return q
}

// remember asks for the signers that the lock has: what was signed once is not
// taken unsigned. One that belongs to a publisher stands for that publisher.
func (q *requirement) remember(entry *lock.Server, publishers []*principal) {
	if entry == nil || len(entry.Evidence) == 0 {
		return
	}
	q.signatures, q.recorded = true, true
	for _, e := range entry.Evidence {
		if i := slices.IndexFunc(q.signers, func(p *principal) bool { return p.knows(e.Signer) }); i >= 0 {
			p := q.signers[i]
			if !slices.Contains(p.recorded, e.Signer) {
				p.recorded = append(p.recorded, e.Signer)
			}
			continue
		}
		p := &principal{name: e.Signer.String()}
		if i := slices.IndexFunc(publishers, func(p *principal) bool { return p.knows(e.Signer) }); i >= 0 {
			*p = *publishers[i]
		}
		p.recorded = []lock.Signer{e.Signer}
		q.signers = append(q.signers, p)
	}
}

// builtin is the requirement without a policy: what was approved, by the
// signer recorded then.
func builtin(entry *lock.Server) *requirement {
	q := &requirement{rule: &rule{need: 1, pins: true}, name: "the built-in rule"}
	q.remember(entry, nil)
	return q
}

// everyone lists all principals that a request asks about.
func (q *requirement) everyone() []*principal {
	return slices.Concat(append([][]*principal{q.signers, q.approvers, q.revokers}, q.attesters...)...)
}

// knows reports whether a request asks about s.
func (q *requirement) knows(s lock.Signer) bool {
	return slices.ContainsFunc(q.everyone(), func(p *principal) bool { return p.knows(s) })
}
