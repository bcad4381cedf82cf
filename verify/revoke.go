package verify

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// A ListMark is the highest number of a signer's revocation lists about a
// server that was seen, and the SHA-256 of the statements with that number: there
// may be several, and each counts. None: it is not known which they were.
type ListMark struct {
	Signer     lock.Signer
	Number     uint64
	Statements []lock.Digest
}

// A list is a revocation list that counts.
type list struct {
	counted
	number  uint64
	all     bool  // it may revoke what others signed
	overdue bool  // the next one should be there
	fault   error // why nothing can be said as long as it is the newest; nil: nothing
}

// addList verifies a revocation list. Of one that the request gives as
// authority a fault is an error of the decision; of a candidate it is a
// diagnostic, since anyone can send an old one. An old one beside its successor
// is no fault. What one revokes stays so when it is out of date; that it is, or
// that it can't be relied on now, is an error of the decision unless the listing
// alone brings it: a list that is left aside would revoke nothing any more.
func (d *Decision) addList(g *gathered, v *Verifier, id lock.Digest, data []byte, r *Request, q *requirement, given bool) {
	fail := func(no *badEvidence) {
		if given {
			d.distrust(fmt.Errorf("revocation list: %w", no.err))
			no = &badEvidence{TrustMissing, no.signer, no.err}
		}
		d.diagnose(id, attest.RevocationType, no)
	}
	own, no := v.by(id, data, slices.Concat(append([][]*principal{q.signers, q.approvers}, q.attesters...)...))
	every, why := v.by(id, data, q.revokers)
	l := list{all: every != nil}
	switch {
	case own != nil:
		l.counted = *own
	case every != nil:
		l.counted = *every
	default:
		d.unlisted(v, id, data, firstBad(no, why), fail)
		return
	}
	rev, ok := l.statement.Revocation()
	if !ok {
		fail(&badEvidence{WrongKind, l.signer, fmt.Errorf("it is not a revocation list, but a statement of predicate type %s", shown(l.statement.PredicateType()))})
		return
	}
	if !slices.Contains(rev.Servers, r.Server) {
		d.diagnose(id, attest.RevocationType, l.no(WrongServer, "the revocation list is not about this server"))
		return
	}
	l.number, l.overdue = rev.Number, r.At.After(rev.NextUpdate)
	alone := !given && d.listed(id)
	switch no = d.unusable(l.counted, r); {
	case no != nil && (alone || no.reason == Revoked): // whoever signed it then
		fail(no)
		return
	case no == nil:
		no = l.misdated(r.At)
	}
	if no != nil {
		d.diagnose(id, attest.RevocationType, no)
		if l.fault = fmt.Errorf("revocation list %d by %s: %w", l.number, l.signer, no.err); alone {
			g.only = append(g.only, l)
			return
		}
	}
	switch seen := seenList(r, l.counted); {
	case rev.Number < seen:
		no = l.no(Rollback, "number %d, and number %d by %s was seen", rev.Number, seen, l.signer)
	case l.overdue && alone:
		d.diagnose(id, attest.RevocationType, l.no(Expired, "the next list by %s was due at %s", l.signer, rev.NextUpdate.UTC().Format(time.RFC3339)))
		l.overdue = false
		fallthrough
	default:
		g.addNewest(l)
		return
	}
	d.diagnose(id, attest.RevocationType, no)
}

// listed reports whether the listing alone brings a bundle.
func (d *Decision) listed(id lock.Digest) bool {
	return !slices.ContainsFunc(slices.Concat(d.request.Kept, d.request.Bundles), func(b []byte) bool { return sha256.Sum256(b) == id })
}

// unlisted says what is wrong with a list that nobody signed who may. One of
// another publisher is no fault of what is given, which is a diagnostic: files of
// all servers lie in one place.
func (d *Decision) unlisted(v *Verifier, id lock.Digest, data []byte, no *badEvidence, fail func(*badEvidence)) {
	switch c := v.anywhere(data); {
	case no == nil && c.bad != nil:
		no = c.bad
	case no == nil, c.bad == nil && !d.need.knows(c.evidence.signer):
		no = &badEvidence{WrongSigner, c.evidence.signer, fmt.Errorf("signed by %s", c.evidence.signer)}
	}
	if no.reason == WrongSigner {
		d.diagnose(id, attest.RevocationType, no)
		return
	}
	fail(no)
}

func firstBad(a, b *badEvidence) *badEvidence {
	if a == nil || b != nil && b.rank() > a.rank() {
		return b
	}
	return a
}

// addNewest keeps l if no list by the same principal has a higher number. Of
// two with the same number both count.
func (g *gathered) addNewest(l list) {
	same := func(x list) bool { return x.by == l.by || x.signer.Same(l.signer) }
	if slices.ContainsFunc(g.lists, func(x list) bool { return same(x) && x.number > l.number }) {
		return
	}
	g.lists = slices.DeleteFunc(g.lists, func(x list) bool { return same(x) && x.number < l.number })
	g.lists = append(g.lists, l)
}

// seenList returns the highest number known of a principal's lists.
func seenList(r *Request, c counted) uint64 {
	var n uint64
	for _, m := range r.SeenLists {
		if m.Signer.Same(c.signer) || c.by.knows(m.Signer) {
			n = max(n, m.Number)
		}
	}
	return n
}

// upToDate wants lists that are not overdue, and those that were seen before or
// newer ones: one that is kept back would revoke nothing any more.
func (d *Decision) upToDate(g *gathered, r *Request, q *requirement) {
	for _, l := range g.lists {
		if l.fault != nil {
			d.distrust(l.fault)
		}
		if rev, _ := l.statement.Revocation(); l.overdue {
			d.distrust(&ListError{l.signer, l.number, rev.NextUpdate})
		}
	}
	for _, m := range r.SeenLists {
		if q.knows(m.Signer) && !g.meets(m) {
			d.distrust(&ListError{Signer: m.Signer, Number: m.Number})
		}
	}
}

// fresh wants a recent revocation list of each of whom the rule asks for one.
func (d *Decision) fresh(g *gathered, r *Request, q *requirement) {
	if q.rule.fresh == nil {
		return
	}
	if len(q.listers) == 0 || len(q.listers) < len(q.rule.fresh.by) {
		d.distrust(errors.New("the rule asks for revocation lists of publishers who may not sign for this server"))
	}
	for _, p := range q.listers {
		if l := g.newestOf(p); l == nil || tooOld(l.made(), q.rule.fresh.maxAge, r.At) {
			no := &StaleListError{By: p.name, MaxAge: q.rule.fresh.maxAge}
			if l != nil {
				no.Number, no.Made = l.number, l.made()
			}
			d.distrust(no)
		}
	}
}

// listsNeed explains the revocation lists that the rule asks for. Without one that
// is recent nothing is decided, and nothing explained.
func (d *Decision) listsNeed() Need {
	n := Need{Code: NeedLists, Want: fmt.Sprintf("a revocation list by each of %s, at most %s old", nameAll(d.need.listers), inHours(d.need.rule.fresh.maxAge)), Met: d.err == nil}
	for _, p := range d.need.listers {
		if l := d.found.newestOf(p); l != nil {
			n.Found = append(n.Found, Found{fmt.Sprintf("list %d by %s of %s", l.number, l.signer, l.made().UTC().Format(time.RFC3339)), true})
		}
	}
	return n
}

// newestOf returns the revocation list of p that was made last, nil if there is
// none.
func (g *gathered) newestOf(p *principal) *list {
	var newest *list
	for i, l := range g.lists {
		if p.accepts(l.signer) && (newest == nil || l.made().After(newest.made())) {
			newest = &g.lists[i]
		}
	}
	return newest
}

// meets reports whether there is a list that is newer than those that were seen,
// or each of those; if it is not known which they were, one of their number.
func (g *gathered) meets(m ListMark) bool {
	by := func(l list) bool { return l.signer.Same(m.Signer) || l.by.knows(m.Signer) }
	if slices.ContainsFunc(g.lists, func(l list) bool {
		return by(l) && (l.number > m.Number || l.number == m.Number && len(m.Statements) == 0)
	}) {
		return true
	}
	lacks := func(statement lock.Digest) bool {
		return !slices.ContainsFunc(slices.Concat(g.lists, g.only), func(l list) bool { return l.statement.Digest() == statement })
	}
	return len(m.Statements) > 0 && !slices.ContainsFunc(m.Statements, lacks)
}

// revokedStatement reports whether a statement was revoked by its signer or by
// someone who may revoke what others signed.
func (g *gathered) revokedStatement(c counted, server string) (reason string, revoked bool) {
	return g.revoked(c.by, func(st *attest.Statement) (string, bool) {
		return st.RevokesStatement(server, c.statement.Digest())
	})
}

// revokedDefinition reports the same of a definition that a principal vouches
// for; a nil principal stands for nobody.
func (g *gathered) revokedDefinition(by *principal, server string, x attest.Subject) (reason string, revoked bool) {
	return g.revoked(by, func(st *attest.Statement) (string, bool) { return st.Revokes(server, x) })
}

func (g *gathered) revoked(by *principal, in func(*attest.Statement) (string, bool)) (reason string, revoked bool) {
	for _, l := range slices.Concat(g.lists, g.only) {
		if l.all || by != nil && by.accepts(l.signer) {
			if reason, revoked = in(l.statement); revoked {
				return reason, true
			}
		}
	}
	return "", false
}
