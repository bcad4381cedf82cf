package cli

import (
	"crypto/sha256"
	"slices"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// news returns what is to be remembered of a release that is pinned.
func (j *judgement) news() news {
	d := j.decision
	n := news{high: d.HighWater(), lists: d.Lists(), latest: d.Latest(), lower: j.downgrade}
	if j.downgrade { // the other keys of the publisher are set back with the one that signed
		for _, h := range d.HighWater() {
			for _, seen := range j.request.Seen {
				if seen.Sequence > h.Sequence && !seen.Signer.Same(h.Signer) && d.SameParty(seen.Signer, h.Signer) {
					n.high = append(n.high, verify.HighWater{Signer: seen.Signer, Sequence: h.Sequence})
				}
			}
		}
	}
	return n
}

// remember stores what a check saw that the lockfile will not say: the sequence
// of an update that was accepted or of a release that was added, contradictions,
// revocation lists, and a verified time that is ahead of the clock. The error matters where the decision
// is a yes: without what was seen, a later one might be a yes by mistake.
func (a *app) remember(j *judgement) error {
	n := j.news()
	if !slices.ContainsFunc(j.decision.Results(), func(r verify.Result) bool { return r.Has(verify.Updated) && r.Verdict == verify.Allow }) {
		n.high = slices.DeleteFunc(n.high, func(h verify.HighWater) bool { return !contradictory(j.request.Seen, h) && !j.added(h) })
	}
	if !n.latest.After(j.request.At) {
		n.latest = j.request.Latest
	}
	s, err := a.state()
	if err != nil {
		return err
	}
	return s.record(j.sighted, n)
}

// added reports whether evidence of a sequence was added, and not just sent by the
// server.
func (j *judgement) added(h verify.HighWater) bool {
	return slices.ContainsFunc(j.decision.Evidence(), func(e lock.Evidence) bool {
		return e.Sequence == h.Sequence && e.Signer.Same(h.Signer) && slices.ContainsFunc(j.request.Kept, func(b []byte) bool { return e.Bundle == sha256.Sum256(b) })
	})
}

// contradictory reports whether two surfaces of one variant are known of what
// was signed with a sequence.
func contradictory(seen []verify.HighWater, h verify.HighWater) bool {
	all := h.Surfaces
	for _, s := range seen {
		if s.Sequence == h.Sequence && s.Signer.Same(h.Signer) {
			all = append(slices.Clone(all), s.Surfaces...)
		}
	}
	return verify.HighWater{Surfaces: all}.Contradictory()
}
