package verify

import (
	"slices"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// Decide judges every definition of the listing. It is a pure function of the
// request, the policies and the trust material: no I/O, no clock.
//
// For each principal one statement counts, the one with the highest sequence
// that is acceptable, and of several variants of it the one that covers most of
// the listing; statements are never mixed. Valid sufficient evidence wins, bad
// evidence beside it is a diagnostic. By several policies a definition has the
// worst of their verdicts.
func (v *Verifier) Decide(r Request) *Decision {
	if err := r.check(); err != nil {
		return &Decision{server: r.Server, err: err}
	}
	if len(v.sets) == 0 {
		return v.decide(builtin(r.Lock), "", &r)
	}
	var parts []*Decision
	for _, set := range v.sets {
		none := "no rule of policy " + set.name
		if set.name == "" {
			none = "no rule: the signers named are another server's"
		}
		parts = append(parts, v.decide(set.require(&r), none, &r))
	}
	return merge(parts)
}

// decide judges by one requirement, nil if there is no rule.
func (v *Verifier) decide(q *requirement, none string, r *Request) *Decision {
	d := &Decision{server: r.Server, info: r.Listing.Info(), request: r, need: q}
	if q == nil {
		d.rule = none
		d.each(func(lock.Definition, *Result) []Reason { return []Reason{NoRule} })
		d.sort()
		return d
	}
	d.rule, d.expected, d.signatures = q.name, expected(q.signers), q.signatures
	if q.signatures || q.approvals != nil || len(q.revokers) > 0 {
		d.found = d.gather(v, r, q)
		if d.err == nil {
			d.used = d.choose(r, q, d.found.releases)
		}
	}
	if d.err != nil {
		d.each(func(lock.Definition, *Result) []Reason { return []Reason{TrustMissing} })
		d.sort()
		return d
	}
	d.each(d.judge)
	d.missing()
	d.sort()
	if q.block && slices.ContainsFunc(d.results, func(x Result) bool { return x.Verdict == Deny }) {
		for i := range d.results {
			if x := &d.results[i]; x.Verdict != Deny {
				x.Verdict, x.Reasons = Deny, append(x.Reasons, Blocked)
			}
		}
	}
	return d
}

// sort puts the results in order. What the listing has twice is denied:
// ParseListing sees to that, who puts a listing together perhaps not.
func (d *Decision) sort() {
	slices.SortStableFunc(d.results, compareResults)
	for i := 1; i < len(d.results); i++ {
		a, b := &d.results[i-1], &d.results[i]
		if compareResults(*a, *b) != 0 {
			continue
		}
		for _, x := range []*Result{a, b} {
			if x.Refused == nil {
				x.Verdict, x.Reasons = Deny, []Reason{DuplicateName}
			}
		}
	}
}

// each adds a result for every definition of the listing; judge, which returns
// the reasons, is not asked about those without a digest.
func (d *Decision) each(judge func(lock.Definition, *Result) []Reason) {
	for _, x := range d.request.Listing.Definitions {
		res := Result{Kind: x.Kind(), Name: x.Name(), Digest: x.Digest()}
		res.Reasons = judge(x, &res)
		d.results = append(d.results, res)
	}
	for _, x := range d.request.Listing.Refused {
		reason := NoDigest
		if x.Err.Code == lock.DuplicateName {
			reason = DuplicateName
		}
		d.results = append(d.results, Result{Kind: x.Kind, Name: x.Name, Reasons: []Reason{reason}, Refused: x.Err})
	}
}

// missing adds a result for what should be listed and is not, where the rule
// wants the listing to be complete.
func (d *Decision) missing() {
	q, entry := d.need, d.request.Lock
	if !q.pins && !q.complete {
		return
	}
	listed := make(map[string]bool, len(d.results))
	for _, x := range d.results {
		listed[lock.ID(x.Kind, x.Name)] = true
	}
	older := d.olderListings()
	add := func(k lock.Kind, name string, pinned, signed lock.Digest) {
		if id := lock.ID(k, name); !listed[id] {
			listed[id] = true
			reasons := []Reason{Missing}
			if slices.ContainsFunc(older, func(c counted) bool { return c.lacks(k, name) }) {
				reasons = append(reasons, Rollback)
			}
			d.results = append(d.results, Result{Kind: k, Name: name, Reasons: reasons, Pinned: pinned, Signed: signed})
		}
	}
	variants := make(map[string]bool)
	for _, c := range d.used {
		rel := c.statement.Release()
		variants[rel.Variant] = true
		if rel.Complete && q.complete {
			for _, s := range c.statement.Subjects() {
				add(s.Kind, s.Name, lock.Digest{}, s.Digest)
			}
		}
	}
	if entry == nil {
		return
	}
	for _, p := range entry.Pins {
		if x := p.Definition; (p.Unsigned || len(variants) == 0 || variants[p.Variant]) && !d.dropped(p) {
			add(x.Kind(), x.Name(), x.Digest(), lock.Digest{})
		}
	}
}

// vouching returns the evidence of the principals who vouch for x, at most one statement of
// each.
func (d *Decision) vouching(x attest.Subject) []counted {
	var cs []counted
	for _, c := range d.used {
		if !c.covers(x) {
			continue
		}
		if _, revoked := d.found.revokedDefinition(c.by, d.server, x); !revoked {
			cs = append(cs, c)
		}
	}
	return cs
}
