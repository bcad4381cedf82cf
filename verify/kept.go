package verify

import (
	"fmt"
	"slices"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// A KeptError is the cause of a TrustError: a bundle of Request.Kept can't be
// judged with the trust material, and what it says could forbid.
type KeptError struct {
	Bundle lock.Digest // SHA-256 of its bytes
	What   string      // what it claims to be, for people: "revocation list 3"
	Err    error       // why it can't be judged
}

func (e *KeptError) Error() string {
	return fmt.Sprintf("%s, which was kept as %s, can't be judged: %v", e.What, e.Bundle, e.Err)
}

// Unwrap returns why the bundle can't be judged.
func (e *KeptError) Unwrap() error { return e.Err }

// A claim is what a bundle of Request.Kept says that could forbid something, verified or
// not.
type claim struct {
	id        lock.Digest
	data      []byte
	statement *attest.Statement
	key       bool // it is signed with a bare key
}

// claims returns the kept bundles that say something of a kind about the server.
// What can't be read claims nothing.
func (r *Request) claims(about func(*attest.Statement) bool) []claim {
	var all []claim
	kept, _ := candidates(r.Kept)
	for _, id := range inOrder(kept) {
		if u, err := Inspect(kept[id]); err == nil && u.Statement != nil && about(u.Statement) {
			all = append(all, claim{id, kept[id], u.Statement, len(u.Certificates) == 0})
		}
	}
	return all
}

// keptLists stops the decision where a kept revocation list can't be judged. By
// the rule of the lockfile the trust material that was kept with it says what it
// revokes; it is relied on for nothing else, as anyone may have put both there.
func (d *Decision) keptLists(g *gathered, v *Verifier, r *Request, q *requirement) {
	about := func(st *attest.Statement) bool {
		rev, ok := st.Revocation()
		return ok && slices.Contains(rev.Servers, r.Server)
	}
	for _, x := range r.claims(about) {
		p, no := v.unsure(x, r, q.everyone())
		if no == nil {
			continue
		}
		rev, _ := x.statement.Revocation()
		if len(v.sets) > 0 || !d.byKept(g, x, r, p) {
			d.distrust(&KeptError{x.id, fmt.Sprintf("revocation list %d", rev.Number), no.err})
		}
	}
}

// byKept judges a list with the trust material that was kept, and reports whether
// that could be done.
func (d *Decision) byKept(g *gathered, x claim, r *Request, p *principal) bool {
	e := x.verified(r, p)
	if e == nil {
		return false
	}
	c := counted{evidence: e, by: p}
	rev, _ := x.statement.Revocation()
	no := d.unusable(c, r)
	if no == nil {
		no = c.misdated(r.At)
	}
	switch {
	case no != nil:
		d.distrust(fmt.Errorf("revocation list %d by %s: %w", rev.Number, e.signer, no.err))
	case r.At.After(rev.NextUpdate):
		d.distrust(&ListError{e.signer, rev.Number, rev.NextUpdate})
	}
	g.only = append(g.only, list{counted: c, number: rev.Number})
	d.diagnostics = slices.DeleteFunc(d.diagnostics, func(have Diagnostic) bool { return have.Bundle == x.id })
	return true
}

// keptReleases stops the decision where a kept release can't be judged that is
// not older than what counts.
func (d *Decision) keptReleases(g *gathered, v *Verifier, r *Request, q *requirement) {
	if !q.signatures {
		return
	}
	about := func(st *attest.Statement) bool {
		return st.PredicateType() == attest.PredicateType && st.Release().Server == r.Server
	}
	for _, x := range r.claims(about) {
		rel := x.statement.Release()
		for _, p := range q.signers {
			if g.has(x.statement.Digest()) {
				break
			}
			if by, no := v.unsure(x, r, []*principal{p}); no != nil && rel.Sequence >= g.newest(r, by) {
				d.distrust(&KeptError{x.id, fmt.Sprintf("the release of sequence %d", rel.Sequence), no.err})
			}
		}
	}
}

// has reports whether a release counts, or is too old to.
func (g *gathered) has(statement lock.Digest) bool {
	return slices.ContainsFunc(slices.Concat(g.releases, g.older), func(c counted) bool { return c.statement.Digest() == statement })
}

// newest returns the highest sequence that is known of a principal, 0 if none is.
func (g *gathered) newest(r *Request, p *principal) uint64 {
	n := highest(r, counted{evidence: &evidence{}, by: p})
	for _, c := range slices.Concat(g.releases, g.older, g.ahead) {
		if c.by == p {
			n = max(n, c.statement.Release().Sequence)
		}
	}
	return n
}

// unsure returns the first of ps who may have signed x and why that can't be
// said; nil if it can, be it that nobody of them has.
func (v *Verifier) unsure(x claim, r *Request, ps []*principal) (by *principal, why *badEvidence) {
	if c, _ := v.by(x.id, x.data, ps); c != nil {
		return nil, nil
	}
	for _, p := range ps {
		_, no := v.by(x.id, x.data, []*principal{p})
		switch {
		case no == nil || why != nil || !x.key && !p.certified():
		case no.reason == TrustMissing, no.reason == BadSignature && x.verified(r, p) != nil:
			by, why = p, no
		}
	}
	return by, why
}

// certified reports whether p may sign with a certificate.
func (p *principal) certified() bool {
	return slices.ContainsFunc(p.ids, func(id Identity) bool { return id.want.Key == "" }) ||
		slices.ContainsFunc(p.recorded, func(s lock.Signer) bool { return s.Key == "" })
}

// verified returns x as evidence of p, verified with trust material that was
// kept; nil if none of it will do.
func (x claim) verified(r *Request, p *principal) *evidence {
	for _, t := range r.KeptTrust {
		m, err := newMaterial(t)
		if err != nil {
			continue
		}
		if c := m.verify(x.data, m.domain); c.bad == nil && p.accepts(c.evidence.signer) {
			return c.evidence
		}
	}
	return nil
}

// Needed returns the SHA-256 of the keys, certificates and trusted roots that a
// bundle was verified with, sorted, of which [Verifier.Material] has the bytes;
// nil if it does not verify.
func (v *Verifier) Needed(bundle []byte) []lock.Digest {
	c := v.anywhere(bundle)
	if c.bad != nil {
		return nil
	}
	return slices.Clone(c.evidence.trust)
}
