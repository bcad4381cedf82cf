package verify

import (
	"slices"

	"github.com/mcpsign/mcpsign/lock"
)

// A requirement is what the rule for a server comes down to.
type requirement struct {
	name     string
	expected []string
	accepts  func(lock.Signer) bool // nil: no signature is asked for
	builtin  bool                   // a pin that someone approved unsigned stays good
	pins     bool                   // what is pinned must be listed
	complete bool                   // so must what a complete statement names
	block    bool
}

// require returns the requirement for a request, nil if no rule matches.
func (v *Verifier) require(r *Request) *requirement {
	if v.policy == nil {
		return builtin(r.Lock)
	}
	found, name := v.policy.find(r.Server)
	if found == nil {
		return nil
	}
	q := &requirement{name: name, pins: found.pins || found.complete, complete: found.complete, block: found.block}
	if found.pinnedOnly != "" {
		return q
	}
	for _, id := range found.signedBy {
		q.expected = append(q.expected, id.String())
	}
	q.accepts = func(s lock.Signer) bool {
		return slices.ContainsFunc(found.signedBy, func(id Identity) bool { return id.Matches(s) })
	}
	return q
}

// builtin is the rule without a policy: what was approved, by the signer
// recorded then.
func builtin(entry *lock.Server) *requirement {
	q := &requirement{name: "the built-in rule", builtin: true, pins: true}
	if entry == nil || len(entry.Evidence) == 0 {
		return q
	}
	for _, e := range entry.Evidence {
		if s := e.Signer.String(); !slices.Contains(q.expected, s) {
			q.expected = append(q.expected, s)
		}
	}
	q.accepts = func(s lock.Signer) bool {
		return slices.ContainsFunc(entry.Evidence, func(e lock.Evidence) bool { return e.Signer.Same(s) })
	}
	return q
}

// Decide judges every definition of the listing. It is a pure function of the
// request, the policy and the trust material: no I/O, no clock.
//
// For each signer one statement counts, the one with the highest sequence that
// is acceptable, and of several variants of it the one that covers most of the
// listing; statements are never mixed. Valid sufficient evidence wins, bad
// evidence beside it is a diagnostic.
func (v *Verifier) Decide(r Request) *Decision {
	d := &Decision{server: r.Server}
	if d.err = r.check(); d.err != nil {
		return d
	}
	d.info = r.Listing.Info()
	q := v.require(&r)
	if q == nil {
		d.rule = "no rule of policy " + v.policy.name
		if v.policy.name == "" {
			d.rule = "no rule: the signers named are another server's"
		}
		d.each(&r, func(x *Result) { x.Reasons = []Reason{NoRule} })
		d.sort()
		return d
	}
	d.rule, d.expected, d.signatures = q.name, q.expected, q.accepts != nil
	if q.accepts != nil {
		acceptable := d.collect(v, &r, q)
		if d.err != nil {
			d.each(&r, func(x *Result) { x.Reasons = []Reason{TrustMissing} })
			d.sort()
			return d
		}
		d.used = d.choose(&r, acceptable)
	}
	why := d.failures()
	d.each(&r, func(x *Result) { d.judge(x, &r, q, why) })
	d.missing(&r, q)
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

// each adds a result for every definition of the listing; judge is not asked
// about those without a digest.
func (d *Decision) each(r *Request, judge func(*Result)) {
	for _, x := range r.Listing.Definitions {
		res := Result{Kind: x.Kind(), Name: x.Name(), Digest: x.Digest()}
		judge(&res)
		d.results = append(d.results, res)
	}
	for _, x := range r.Listing.Refused {
		reason := NoDigest
		if x.Err.Code == lock.DuplicateName {
			reason = DuplicateName
		}
		d.results = append(d.results, Result{Kind: x.Kind, Name: x.Name, Reasons: []Reason{reason}, Refused: x.Err})
	}
}

// judge decides one definition that has a digest. Why says why no statement
// counts, nil if one does.
func (d *Decision) judge(x *Result, r *Request, q *requirement, why []Reason) {
	for _, e := range d.used {
		s, ok := e.statement.Find(x.Kind, x.Name)
		if ok && s.Digest == x.Digest {
			x.Signers = append(x.Signers, e.signer)
		}
		if ok && x.Signed.IsZero() {
			x.Signed = s.Digest
		}
	}
	var pins []lock.Pin
	if r.Lock != nil {
		pins = r.Lock.Pin(x.Kind, x.Name)
	}
	// One release may be pinned in several variants.
	pinned := func(cond func(lock.Pin) bool) bool {
		return slices.ContainsFunc(pins, func(p lock.Pin) bool { return p.Definition.Digest() == x.Digest && cond(p) })
	}
	equal := pinned(func(lock.Pin) bool { return true })
	if equal {
		x.Pinned = x.Digest
	} else if len(pins) > 0 {
		x.Pinned = pins[0].Definition.Digest()
	}

	signed := q.accepts != nil && !(q.builtin && pinned(func(p lock.Pin) bool { return p.Unsigned }))
	proven := len(x.Signers) > 0
	if proven {
		x.Reasons = append(x.Reasons, Verified)
		if len(r.Seen) == 0 && (r.Lock == nil || len(r.Lock.Evidence) == 0) {
			x.Reasons = append(x.Reasons, FirstContact)
		}
	}
	switch {
	case signed && !proven:
		x.Reasons = append(unpinned(r.Lock, len(pins), equal), why...)
		if len(x.Reasons) == 0 {
			x.Reasons = []Reason{Unsigned}
		}
	case !equal && len(pins) > 0:
		x.Verdict, x.Reasons = Undecided, append(x.Reasons, Drift)
	case !equal:
		x.Verdict, x.Reasons = Undecided, append(x.Reasons, NotLocked)
	case !signed:
		x.Verdict, x.Reasons = Allow, append(x.Reasons, Pinned)
	case !pinned(func(p lock.Pin) bool { return recorded(r.Lock, p, x.Signers) }):
		x.Verdict, x.Reasons = Undecided, append(x.Reasons, WrongSigner)
	default:
		x.Verdict = Allow
	}
}

// unpinned returns the reason that a comparison with the lock alone gives, if
// there is a lock entry.
func unpinned(entry *lock.Server, pins int, equal bool) []Reason {
	switch {
	case entry == nil || equal:
		return nil
	case pins > 0:
		return []Reason{Drift}
	}
	return []Reason{NotLocked}
}

// recorded reports whether a pin was approved with one of the signers, or
// without any.
func recorded(entry *lock.Server, p lock.Pin, signers []lock.Signer) bool {
	if p.Unsigned {
		return true
	}
	return slices.ContainsFunc(entry.Evidence, func(e lock.Evidence) bool {
		return e.Variant == p.Variant && slices.ContainsFunc(signers, e.Signer.Same)
	})
}

// missing adds a result for what should be listed and is not, where the rule
// wants the listing to be complete.
func (d *Decision) missing(r *Request, q *requirement) {
	if !q.pins {
		return
	}
	listed := make(map[string]bool, len(d.results))
	for _, x := range d.results {
		listed[lock.ID(x.Kind, x.Name)] = true
	}
	add := func(k lock.Kind, name string, pinned, signed lock.Digest) {
		if id := lock.ID(k, name); !listed[id] {
			listed[id] = true
			d.results = append(d.results, Result{Kind: k, Name: name, Reasons: []Reason{Missing}, Pinned: pinned, Signed: signed})
		}
	}
	variants := make(map[string]bool)
	for _, e := range d.used {
		rel := e.statement.Release()
		variants[rel.Variant] = true
		if rel.Complete && q.complete {
			for _, s := range e.statement.Subjects() {
				add(s.Kind, s.Name, lock.Digest{}, s.Digest)
			}
		}
	}
	if r.Lock == nil {
		return
	}
	for _, p := range r.Lock.Pins {
		if p.Unsigned || len(variants) == 0 || variants[p.Variant] {
			add(p.Definition.Kind(), p.Definition.Name(), p.Definition.Digest(), lock.Digest{})
		}
	}
}
