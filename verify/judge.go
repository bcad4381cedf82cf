package verify

import (
	"slices"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// judge decides one definition that has a digest and returns the reasons.
func (d *Decision) judge(def lock.Definition, x *Result) []Reason {
	q, entry, subject := d.need, d.request.Lock, subjectOf(def)
	for _, c := range d.used {
		if s, ok := c.statement.Find(x.Kind, x.Name); ok && x.Signed.IsZero() {
			x.Signed = s.Digest
		}
	}
	var pins []lock.Pin
	if entry != nil {
		pins = entry.Pin(x.Kind, x.Name)
	}
	equal := equalPins(pins, x.Digest)
	if len(equal) > 0 {
		x.Pinned = x.Digest
	} else if len(pins) > 0 {
		x.Pinned = pins[0].Definition.Digest()
	}
	if _, revoked := d.found.revokedDefinition(nil, d.server, subject); revoked {
		return []Reason{Revoked}
	}

	vouching := d.vouching(subject)
	if q.asksSignature(equal) && len(vouching) < q.need {
		return d.unproven(def, pins, len(equal) > 0)
	}
	if why := d.lacking(subject, vouching); len(why) > 0 {
		return why
	}
	var reasons []Reason
	if len(vouching) >= q.need {
		for _, c := range vouching {
			x.Signers = append(x.Signers, c.signer)
		}
		reasons = append(reasons, Verified)
		if len(d.request.Seen) == 0 && (entry == nil || len(entry.Evidence) == 0) {
			reasons = append(reasons, FirstContact)
		}
		if !d.request.Source.IsZero() && !d.isBound(vouching) {
			reasons = append(reasons, SourceUnbound)
		}
	}
	x.Verdict, reasons = d.compare(def, pins, equal, vouching, reasons)
	if x.Verdict != Allow {
		return reasons
	}
	if d.relaunched() {
		x.Verdict, reasons = Undecided, append(reasons, SourceChanged)
	}
	if d.otherServer(pins, vouching) {
		x.Verdict, reasons = Undecided, append(reasons, ServerChanged)
	}
	return reasons
}

// equalPins returns the pins with that digest. One release may be pinned in
// several variants.
func equalPins(pins []lock.Pin, digest lock.Digest) []lock.Pin {
	return slices.DeleteFunc(slices.Clone(pins), func(p lock.Pin) bool { return p.Definition.Digest() != digest })
}

// asksSignature reports whether a definition with those equal pins must be signed:
// the rule says so, but of the pins that were approved unsigned only a policy does;
// or it was pinned as signed.
func (q *requirement) asksSignature(equal []lock.Pin) bool {
	unsigned := slices.ContainsFunc(equal, func(p lock.Pin) bool { return p.Unsigned })
	if q.signatures {
		return !q.recorded || !unsigned
	}
	return len(equal) > 0 && !unsigned
}

// compare judges a definition that is signed as the rule asks by its pins, of
// which some are equal.
func (d *Decision) compare(def lock.Definition, pins, equal []lock.Pin, vouching []counted, reasons []Reason) (Verdict, []Reason) {
	q, entry := d.need, d.request.Lock
	proven := len(vouching) >= q.need && q.signatures
	switch {
	case len(equal) == 0 && len(pins) > 0 && d.updates(def, pins, vouching):
		return Allow, append(reasons, Updated)
	case len(equal) == 0 && len(pins) > 0:
		return Undecided, append(reasons, Drift)
	case len(equal) == 0:
		return Undecided, append(reasons, NotLocked)
	case !proven || q.recorded && slices.ContainsFunc(equal, func(p lock.Pin) bool { return p.Unsigned }):
		return Allow, append(reasons, Pinned)
	case !slices.ContainsFunc(equal, func(p lock.Pin) bool { return recorded(entry, p, vouching, q.need) }):
		return Undecided, append(reasons, WrongSigner)
	}
	return Allow, reasons
}

// unproven returns why a definition is refused that too few vouch for.
func (d *Decision) unproven(def lock.Definition, pins []lock.Pin, equal bool) []Reason {
	var reasons []Reason
	switch {
	case d.request.Lock == nil || equal:
	case len(pins) > 0:
		reasons = append(reasons, Drift)
	default:
		reasons = append(reasons, NotLocked)
	}
	vouched := slices.ContainsFunc(d.used, func(c counted) bool { return c.covers(subjectOf(def)) })
	if !vouched && d.variantOf(def, pins) {
		reasons = append(reasons, VariantUnsigned)
	}
	if slices.ContainsFunc(d.used, func(c counted) bool {
		_, revoked := d.found.revokedDefinition(c.by, d.server, subjectOf(def))
		return revoked
	}) {
		reasons = append(reasons, Revoked)
	}
	if slices.ContainsFunc(d.olderReleases(), func(c counted) bool { return c.covers(subjectOf(def)) && !d.repeats(c, subjectOf(def)) }) {
		reasons = append(reasons, Rollback)
	}
	if len(d.used) < d.need.need {
		reasons = appendNew(reasons, d.failures()...)
	}
	if !slices.ContainsFunc(reasons, func(r Reason) bool { return r != NotLocked && r != Drift }) && (vouched || len(reasons) == 0) {
		reasons = append(reasons, d.otherwise(subjectOf(def))) // by too few
	}
	return reasons
}

// otherwise returns WrongKind if what counts has the name of a definition, of
// another kind alone, and Unsigned if not.
func (d *Decision) otherwise(x attest.Subject) Reason {
	names := func(k lock.Kind) bool {
		return slices.ContainsFunc(d.used, func(c counted) bool { _, ok := c.statement.Find(k, x.Name); return ok })
	}
	if x.Name != "" && !names(x.Kind) && slices.ContainsFunc([]lock.Kind{lock.Tool, lock.Prompt, lock.ResourceTemplate}, names) {
		return WrongKind
	}
	return Unsigned
}

// olderReleases returns the releases by those who may sign that do not count
// since there was a newer one.
func (d *Decision) olderReleases() []counted {
	older := slices.Clone(d.found.older)
	for _, c := range d.found.releases {
		if slices.ContainsFunc(d.used, func(newer counted) bool {
			return c.by == newer.by && c.statement.Release().Sequence < newer.statement.Release().Sequence
		}) {
			older = append(older, c)
		}
	}
	return older
}

// repeats reports whether a newer release by the same principal, which counts,
// vouches for a definition as well.
func (d *Decision) repeats(older counted, x attest.Subject) bool {
	return slices.ContainsFunc(d.used, func(newer counted) bool { return newer.by == older.by && newer.covers(x) })
}

// olderListings returns the older releases that have all that is listed.
func (d *Decision) olderListings() []counted {
	listed := d.request.Listing.Definitions
	return slices.DeleteFunc(d.olderReleases(), func(c counted) bool {
		return len(listed) == 0 || slices.ContainsFunc(listed, func(x lock.Definition) bool { return !c.covers(subjectOf(x)) })
	})
}

// lacks reports whether a release says that the server has no such definition.
func (c counted) lacks(k lock.Kind, name string) bool {
	_, named := c.statement.Find(k, name)
	rel := c.statement.Release()
	return !named && rel.Complete && slices.Contains(rel.Kinds, k)
}

// variantOf reports whether a definition differs from one that is pinned and
// signed in spelling only. The text of what is signed is known from the pins
// alone.
func (d *Decision) variantOf(def lock.Definition, pins []lock.Pin) bool {
	return slices.ContainsFunc(pins, func(p lock.Pin) bool {
		return slices.ContainsFunc(d.found.releases, func(c counted) bool { return c.covers(subjectOf(p.Definition)) }) &&
			lock.VariesInSpelling(p.Definition, def)
	})
}

// lacking returns what a definition lacks that the rule asks for besides
// signatures.
func (d *Decision) lacking(x attest.Subject, vouching []counted) []Reason {
	q := d.need
	var why []Reason
	for i := range q.attested {
		if len(d.attestations(i, x)) == 0 {
			why = []Reason{AttestationMissing}
		}
	}
	if q.approvals != nil && len(d.approving(x)) < q.approvals.need {
		why = append(why, ApprovalMissing)
	}
	if q.bindSource && !d.isBound(vouching) {
		why = append(why, SourceUnbound)
	}
	return why
}

// isBound reports whether one who vouches for a definition names what is
// launched.
func (d *Decision) isBound(vouching []counted) bool {
	return slices.ContainsFunc(vouching, func(c counted) bool { return c.bound })
}

// relaunched reports whether the server is launched otherwise than when it was
// approved, as far as both are known.
func (d *Decision) relaunched() bool {
	entry, now := d.request.Lock, d.request.Source
	return entry != nil && !entry.Source.IsZero() && !now.IsZero() && !entry.Source.Same(now)
}

// otherServer reports whether the server calls itself otherwise than when it
// was approved: another one may serve the definitions that are pinned. A name
// that was, or is, not given says nothing. A later release that the rule accepts
// as an update may bring another name.
func (d *Decision) otherServer(pins []lock.Pin, vouching []counted) bool {
	entry := d.request.Lock
	if entry == nil || !entry.Info.Contradicts(d.info) {
		return false
	}
	return !d.need.accept || !slices.ContainsFunc(pins, func(p lock.Pin) bool { return d.later(p, vouching) })
}

// approving returns the approvals of x, one of each principal.
func (d *Decision) approving(x attest.Subject) []counted {
	var cs []counted
	for _, c := range d.found.approvals {
		same := func(have counted) bool { return have.by == c.by }
		if _, revoked := d.found.revokedDefinition(c.by, d.server, x); !revoked && c.statement.Approves(x) && d.reviewed(c, x) && !slices.ContainsFunc(cs, same) {
			cs = append(cs, c)
		}
	}
	return cs
}

// reviewed reports whether the change that an approval is about is the one at
// hand: where it says what x replaces, that is pinned, or x is already.
func (d *Decision) reviewed(c counted, x attest.Subject) bool {
	a, _ := c.statement.Approval()
	old, says := a.Replaces[x.ID()]
	if !says || d.request.Lock == nil {
		return true
	}
	pins := d.request.Lock.Pin(x.Kind, x.Name)
	return len(pins) == 0 || slices.ContainsFunc(pins, func(p lock.Pin) bool {
		return p.Definition.Digest() == old || p.Definition.Digest() == x.Digest
	})
}

// attestations returns the evidence for x that the rule's attestation i asks
// for.
func (d *Decision) attestations(i int, x attest.Subject) []counted {
	var cs []counted
	for _, c := range d.found.attested[i] {
		p, ok := c.statement.Foreign()
		if !ok {
			continue
		}
		s, named := p.Find(x.Kind, x.Name)
		about := named && s.Digest == x.Digest
		if d.need.attested[i].artifact {
			about = slices.ContainsFunc(d.vouching(x), func(rel counted) bool { return rel.releases(p.Digests()) })
		}
		if about {
			cs = append(cs, c)
		}
	}
	return cs
}

// releases reports whether a release names an artifact with one of the digest
// sets.
func (c counted) releases(digests []map[string]string) bool {
	return slices.ContainsFunc(c.statement.Release().Artifacts, func(a attest.Resource) bool {
		return slices.ContainsFunc(digests, func(set map[string]string) bool { return equals(a.Digest, set) })
	})
}
