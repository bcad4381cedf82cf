package verify

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// A counted is evidence that counts for a request, and whose it is.
type counted struct {
	*evidence
	raw   []byte // as the request has it
	by    *principal
	bound bool // of the statement that was chosen: it names what is launched
}

// A gathered is all evidence of a request by those who may, told apart by
// what it says.
type gathered struct {
	releases  []counted
	older     []counted // releases that are too old to count
	approvals []counted
	attested  [][]counted // for each of the rule's
	lists     []list
	only      []list    // what they revoke is revoked, and they are relied on for nothing else
	ahead     []counted // releases that are of a time to come
}

// gather verifies the bundles of a request and keeps those that count. Bundles
// are looked at in the order of their digests: the order in which they came
// decides only which are too many.
func (d *Decision) gather(v *Verifier, r *Request, q *requirement) gathered {
	g := gathered{attested: make([][]counted, len(q.attested))}
	d.statuses = newStatuses(v, r.Status)
	given, tooMany := candidates(r.Revocations)
	if tooMany {
		d.distrust(fmt.Errorf("more than %d revocation lists", lock.MaxBundles))
	}
	for _, id := range inOrder(given) {
		d.addList(&g, v, id, given[id], r, q, true)
	}
	found, tooMany := candidates(slices.Concat(r.Kept, r.Bundles, r.Listing.Bundles))
	for _, id := range inOrder(found) {
		if given[id] == nil {
			d.add(&g, v, id, found[id], r, q)
		}
	}
	if tooMany {
		d.diagnose(lock.Digest{}, "", bad(Unsigned, "more than %d bundles: the rest was not looked at", lock.MaxBundles))
	}
	d.keptLists(&g, v, r, q)
	d.upToDate(&g, r, q)
	d.fresh(&g, r, q)
	d.lookAhead(&g, r)
	g.releases = d.keep(g.releases, func(c counted) *badEvidence {
		no := d.unacceptable(c, &g, r, q)
		if no != nil && no.reason == Rollback {
			g.older = append(g.older, c)
		}
		return no
	})
	d.keptReleases(&g, v, r, q)
	g.approvals = d.keep(g.approvals, func(c counted) *badEvidence { return d.unacceptable(c, &g, r, q) })
	for i, a := range q.attested {
		g.attested[i] = d.keep(g.attested[i], func(c counted) *badEvidence {
			if no := d.unacceptable(c, &g, r, q); no != nil {
				return no
			}
			return c.unmet(a, r)
		})
	}
	d.statuses.diagnose(d, r.At)
	return g
}

// candidates returns the first bundles, by their digests, and whether there
// are more than a decision looks at.
func candidates(bundles [][]byte) (found map[lock.Digest][]byte, tooMany bool) {
	found = make(map[lock.Digest][]byte)
	for _, data := range bundles {
		if len(found) == lock.MaxBundles {
			return found, true
		}
		if data == nil {
			data = []byte{} // nil stands for none in the map
		}
		found[sha256.Sum256(data)] = data
	}
	return found, false
}

func inOrder(m map[lock.Digest][]byte) []lock.Digest {
	return slices.SortedFunc(maps.Keys(m), lock.Digest.Compare)
}

// keep returns those of cs that nothing speaks against.
func (d *Decision) keep(cs []counted, against func(counted) *badEvidence) []counted {
	return slices.DeleteFunc(cs, func(c counted) bool {
		no := against(c)
		if no != nil {
			d.diagnose(c.bundle, c.statement.PredicateType(), no)
		}
		return no != nil
	})
}

func (d *Decision) diagnose(bundle lock.Digest, kind string, b *badEvidence) {
	d.diagnostics = append(d.diagnostics, Diagnostic{bundle, b.reason, b.signer, b.err, kind})
}

// distrust says that nothing can be decided.
func (d *Decision) distrust(cause error) {
	if d.err == nil {
		d.err = &TrustError{cause}
	}
}

// add verifies a candidate and puts it where it belongs.
func (d *Decision) add(g *gathered, v *Verifier, id lock.Digest, data []byte, r *Request, q *requirement) {
	e, no := v.signed(id, data, q.everyone())
	if e == nil {
		d.diagnose(id, "", no)
		return
	}
	kind, used, asked := e.statement.PredicateType(), false, false
	take := func(ps []*principal, into *[]counted) {
		asked = true
		if c, _ := v.by(id, data, ps); c != nil {
			used, *into = true, append(*into, *c)
		}
	}
	switch kind {
	case attest.RevocationType:
		d.addList(g, v, id, data, r, q, false)
		return
	case attest.PredicateType:
		if !q.signatures {
			return
		}
		take(q.signers, &g.releases)
	case attest.ApprovalType:
		if q.approvals != nil {
			take(q.approvers, &g.approvals)
		}
	default:
		for i, a := range q.attested {
			if a.predicate == kind {
				take(q.attesters[i], &g.attested[i])
			}
		}
	}
	switch {
	case used:
	case !asked:
		d.diagnose(id, kind, &badEvidence{WrongKind, e.signer, &attest.ForeignError{PredicateType: kind}})
	default:
		d.diagnose(id, kind, &badEvidence{WrongSigner, e.signer, fmt.Errorf("signed by %s", e.signer)})
	}
}

// signed returns the evidence that a bundle is to any of ps, or to whoever
// trusts the same, and else why it is none.
func (v *Verifier) signed(id lock.Digest, data []byte, ps []*principal) (*evidence, *badEvidence) {
	if _, no := v.by(id, data, ps); no != nil && no.reason != WrongSigner {
		return nil, no
	}
	for _, p := range ps {
		if c := v.outcome(id, data, p); c.bad == nil {
			return c.evidence, nil
		}
	}
	c := v.check(id, data, v.material.domain)
	return c.evidence, c.bad
}

// outcome returns what a bundle is to a principal.
func (v *Verifier) outcome(id lock.Digest, data []byte, p *principal) checked {
	m, d := v.material, v.material.domain
	if p.domain != nil {
		d = p.domain
	}
	if p.material != nil {
		m = p.material
	}
	return v.checkWith(id, data, m, d)
}

// by returns the evidence that one of ps gave with a bundle, or why it is none
// of theirs.
func (v *Verifier) by(id lock.Digest, data []byte, ps []*principal) (*counted, *badEvidence) {
	var no *badEvidence
	for _, p := range ps {
		c := v.outcome(id, data, p)
		if c.pki && !p.pki() {
			continue
		}
		switch {
		case c.bad == nil && p.accepts(c.evidence.signer):
			return &counted{evidence: c.evidence, raw: data, by: p}, nil
		case c.bad == nil:
			c.bad = &badEvidence{WrongSigner, c.evidence.signer, fmt.Errorf("signed by %s", c.evidence.signer)}
		case c.bad.reason == WrongSigner && p.accepts(c.bad.signer):
			// The right key by its name, and its bytes are not there to check.
			c.bad = &badEvidence{TrustMissing, c.bad.signer, &MissingError{KeyFile, fmt.Errorf("the public key of %s is not available", c.bad.signer)}}
		}
		if no == nil || c.bad.rank() > no.rank() {
			no = c.bad
		}
	}
	return nil, no
}

// rank orders what several say of one bundle: that of the one who is concerned
// counts.
func (b *badEvidence) rank() int {
	switch {
	case b.reason == TrustMissing && !b.signer.IsZero():
		return 2
	case !b.signer.IsZero():
		return 1
	}
	return 0
}
