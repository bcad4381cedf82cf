package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// choose returns one statement a principal: the one with the highest sequence,
// and of several, as variants are, the one that covers most of the listing; of
// those the one that misses least of it, names what is launched, and is of the
// variant that is pinned.
func (d *Decision) choose(r *Request, q *requirement, acceptable []counted) []counted {
	var chosen []counted
	for _, c := range d.found.ahead {
		d.high = raise(d.high, c)
	}
	for _, p := range q.signers {
		var own []counted
		top := uint64(0)
		for _, c := range acceptable {
			if c.by == p {
				c.bound = r.isBound(c.statement.Release())
				own = append(own, c)
				top = max(top, c.statement.Release().Sequence)
			}
		}
		own = slices.DeleteFunc(own, func(c counted) bool { return c.statement.Release().Sequence < top })
		for _, c := range own {
			d.high = raise(d.high, c)
		}
		if len(own) == 0 || d.equivocates(own, r.Seen) {
			continue
		}
		best := slices.MaxFunc(own, func(a, b counted) int {
			x, y := a.statement.Release(), b.statement.Release()
			return cmp.Or(covered(a, r.Listing)-covered(b, r.Listing),
				missed(b, r.Listing, q)-missed(a, r.Listing, q),
				yes(a.bound)-yes(b.bound),
				yes(pinnedVariant(r.Lock, a))-yes(pinnedVariant(r.Lock, b)),
				strings.Compare(y.Variant, x.Variant),
				b.bundle.Compare(a.bundle))
		})
		chosen, d.twins = append(chosen, best), append(d.twins, twins(best, own)...)
	}
	return chosen
}

// twins returns the statements that say the same as the one that was chosen,
// signed by others of the same party: one for each signer. A release that is
// signed with an old and a new key outlives the old one.
func twins(chosen counted, own []counted) []counted {
	found := []counted{chosen}
	for _, c := range own {
		if c.surface() == chosen.surface() && c.by.same(c.signer, chosen.signer) &&
			!slices.ContainsFunc(found, func(have counted) bool { return have.signer.Same(c.signer) }) {
			found = append(found, c)
		}
	}
	return found[1:]
}

// raise adds a statement to what is to be remembered.
func raise(high []HighWater, c counted) []HighWater {
	sequence := c.statement.Release().Sequence
	i := slices.IndexFunc(high, func(h HighWater) bool { return h.Signer.Same(c.signer) && h.Sequence == sequence })
	if i < 0 {
		return append(high, HighWater{Signer: c.signer, Sequence: sequence, Surfaces: []Surface{c.surface()}})
	}
	high[i].Surfaces = appendNew(high[i].Surfaces, c.surface())
	return high
}

// equivocates reports whether statements of one principal and sequence
// contradict each other, or what was seen with that sequence, and says so of
// each.
func (d *Decision) equivocates(same []counted, seen []HighWater) bool {
	all := HighWater{Sequence: same[0].statement.Release().Sequence}
	for _, c := range same {
		all.Surfaces = append(all.Surfaces, c.surface())
	}
	for _, h := range seen {
		if h.Sequence == all.Sequence && slices.ContainsFunc(same, func(c counted) bool { return h.Signer.Same(c.signer) || c.by.knows(h.Signer) }) {
			all.Surfaces = append(all.Surfaces, h.Surfaces...)
		}
	}
	if !all.Contradictory() {
		return false
	}
	for _, c := range same {
		d.diagnose(c.bundle, attest.PredicateType, &badEvidence{Equivocation, c.signer,
			fmt.Errorf("statements of sequence %d contradict each other", all.Sequence)})
	}
	return true
}

func (c counted) surface() Surface {
	return Surface{c.statement.Release().Variant, c.evidence.surface}
}

func covered(c counted, l *lock.Listing) int {
	n := 0
	for _, x := range l.Definitions {
		if c.covers(subjectOf(x)) {
			n++
		}
	}
	return n
}

// missed returns how many definitions of a complete statement are not listed,
// where the rule asks for them.
func missed(c counted, l *lock.Listing, q *requirement) int {
	if !q.complete || !c.statement.Release().Complete {
		return 0
	}
	listed := make(map[string]bool, len(l.Definitions))
	for _, x := range l.Definitions {
		listed[x.ID()] = true
	}
	n := 0
	for _, s := range c.statement.Subjects() {
		if !listed[s.ID()] {
			n++
		}
	}
	return n
}

// pinnedVariant reports whether the lock has the variant of a statement, by the
// same signer.
func pinnedVariant(entry *lock.Server, c counted) bool {
	return entry != nil && slices.ContainsFunc(entry.Evidence, func(e lock.Evidence) bool {
		return e.Variant == c.statement.Release().Variant && c.by.same(c.signer, e.Signer)
	})
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}

// covers reports whether a statement about definitions vouches for x.
func (c counted) covers(x attest.Subject) bool {
	s, ok := c.statement.Find(x.Kind, x.Name)
	return ok && s.Digest == x.Digest
}

func subjectOf(x lock.Definition) attest.Subject {
	return attest.Subject{Kind: x.Kind(), Name: x.Name(), Digest: x.Digest()}
}
