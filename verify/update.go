package verify

import (
	"slices"

	"github.com/mcpsign/mcpsign/lock"
)

// recorded reports whether a pin was approved with as many of those who vouch
// as are needed, or without any.
func recorded(entry *lock.Server, p lock.Pin, vouching []counted, need int) bool {
	if p.Unsigned {
		return true
	}
	n := 0
	for _, c := range vouching {
		if slices.ContainsFunc(entry.Evidence, func(e lock.Evidence) bool { return e.Variant == p.Variant && c.by.same(c.signer, e.Signer) }) {
			n++
		}
	}
	return n >= need
}

// updates reports whether a definition that differs from its pins is a genuine
// update that the rule accepts: of the same publishers, in the same variant,
// with a higher sequence, not of instructions and with no annotation loosened.
func (d *Decision) updates(def lock.Definition, pins []lock.Pin, vouching []counted) bool {
	if !d.need.accept || def.Kind() == lock.Instructions {
		return false
	}
	return slices.ContainsFunc(pins, func(p lock.Pin) bool { return d.later(p, vouching) && !loosened(p.Definition, def) })
}

// later reports whether as many as the rule asks for vouch with a later release
// than the one with which a pin was approved.
func (d *Decision) later(p lock.Pin, vouching []counted) bool {
	n := 0
	for _, c := range vouching {
		if d.succeeds(c, p) {
			n++
		}
	}
	return n >= d.need.need
}

// succeeds reports whether a statement is of a later release than the one with
// which a pin was approved.
func (d *Decision) succeeds(c counted, p lock.Pin) bool {
	rel := c.statement.Release()
	return !p.Unsigned && rel.Variant == p.Variant && slices.ContainsFunc(d.request.Lock.Evidence, func(e lock.Evidence) bool {
		return e.Variant == p.Variant && e.Sequence < rel.Sequence && c.by.same(c.signer, e.Signer)
	})
}

// dropped reports whether a pinned definition is gone with an update that the
// rule accepts: the later release is complete, and does not have it.
func (d *Decision) dropped(p lock.Pin) bool {
	x, n := p.Definition, 0
	for _, c := range d.used {
		rel := c.statement.Release()
		if _, there := c.statement.Find(x.Kind(), x.Name()); there {
			return false
		}
		if rel.Complete && slices.Contains(rel.Kinds, x.Kind()) && d.succeeds(c, p) {
			n++
		}
	}
	return d.need.accept && n >= d.need.need
}

// loosened reports whether an annotation promises less than it did, or there
// are more differences than could be told apart.
func loosened(old, new lock.Definition) bool {
	for _, f := range lock.Compare(old, new) {
		for _, e := range f.Effects {
			if e.Code == lock.AnnotationLoosened || e.Code == lock.MoreEffects {
				return true
			}
		}
	}
	return false
}
