package verify

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// skew is how far a verified time may lie ahead of the host's clock.
const skew = 5 * time.Minute

// collect returns the evidence that is acceptable: by a signer who may, for
// this server, neither expired nor older than what was seen. Bundles are looked
// at in the order of their digests: the order in which they came decides only
// which are too many.
func (d *Decision) collect(v *Verifier, r *Request, q *requirement) []*evidence {
	candidates := make(map[lock.Digest][]byte)
	tooMany := false
	for _, data := range slices.Concat(r.Bundles, r.Listing.Bundles) {
		if tooMany = len(candidates) == lock.MaxBundles; tooMany {
			break
		}
		candidates[sha256.Sum256(data)] = data
	}
	var acceptable []*evidence
	for _, id := range slices.SortedFunc(maps.Keys(candidates), lock.Digest.Compare) {
		c := v.check(id, candidates[id])
		switch {
		case c.bad == nil:
			c.bad = d.unacceptable(c.evidence, r, q)
		case c.bad.reason == WrongSigner && q.accepts(c.bad.signer):
			// The right key by its name, and its bytes are not there to check.
			c.bad = &badEvidence{TrustMissing, c.bad.signer, fmt.Errorf("the public key of %s is not at hand", c.bad.signer)}
		}
		if c.bad != nil {
			d.diagnose(id, c.bad)
			continue
		}
		acceptable = append(acceptable, c.evidence)
	}
	if tooMany {
		d.diagnose(lock.Digest{}, bad(Unsigned, "more than %d bundles: the rest was not looked at", lock.MaxBundles))
	}
	return acceptable
}

func (d *Decision) diagnose(bundle lock.Digest, b *badEvidence) {
	d.diagnostics = append(d.diagnostics, Diagnostic{bundle, b.reason, b.signer, b.err})
}

// unacceptable says why verified evidence does not count for a request, nil if
// it does.
func (d *Decision) unacceptable(e *evidence, r *Request, q *requirement) *badEvidence {
	no := func(reason Reason, format string, args ...any) *badEvidence {
		return &badEvidence{reason, e.signer, fmt.Errorf(format, args...)}
	}
	if !q.accepts(e.signer) {
		return no(WrongSigner, "signed by %s", e.signer)
	}
	rel := e.statement.Release()
	if rel.Server != r.Server {
		return no(WrongServer, "signed for server %s", rel.Server)
	}
	for _, t := range e.times {
		if t.After(r.At.Add(skew)) {
			d.err = &TrustError{fmt.Errorf("the clock says %s, and a verified signature is of %s",
				r.At.UTC().Format(time.RFC3339), t.UTC().Format(time.RFC3339))}
		}
	}
	if len(e.times) == 0 && e.key != nil && !e.key.mayUse(r.At) {
		return no(Expired, "the key is not valid at %s, and no timestamp says when it signed", r.At.UTC().Format(time.RFC3339))
	}
	if !rel.ExpiresAt.IsZero() && !r.At.Before(rel.ExpiresAt) {
		return no(Expired, "the statement expired at %s", rel.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if floor := highest(r, e.signer); rel.Sequence < floor {
		return no(Rollback, "sequence %d, and sequence %d of the same signer was seen", rel.Sequence, floor)
	}
	return nil
}

// highest returns the highest sequence known of a signer, 0 if none is.
func highest(r *Request, s lock.Signer) uint64 {
	var n uint64
	for _, h := range r.Seen {
		if h.Signer.Same(s) {
			n = max(n, h.Sequence)
		}
	}
	if r.Lock != nil {
		for _, e := range r.Lock.Evidence {
			if e.Signer.Same(s) {
				n = max(n, e.Sequence)
			}
		}
	}
	return n
}

// choose returns one statement a signer.
func (d *Decision) choose(r *Request, acceptable []*evidence) []*evidence {
	var chosen []*evidence
	for len(acceptable) > 0 {
		signer := acceptable[0].signer
		var same, rest []*evidence
		top := uint64(0)
		for _, e := range acceptable {
			if e.signer.Same(signer) {
				same = append(same, e)
				top = max(top, e.statement.Release().Sequence)
			} else {
				rest = append(rest, e)
			}
		}
		acceptable = rest
		same = slices.DeleteFunc(same, func(e *evidence) bool { return e.statement.Release().Sequence < top })
		if d.equivocates(same) {
			continue
		}
		best := slices.MaxFunc(same, func(a, b *evidence) int {
			return cmp.Or(covered(a, r.Listing)-covered(b, r.Listing),
				strings.Compare(b.statement.Release().Variant, a.statement.Release().Variant),
				b.bundle.Compare(a.bundle))
		})
		chosen = append(chosen, best)
	}
	return chosen
}

// equivocates reports whether statements of one signer and sequence contradict
// each other, and says so of each.
func (d *Decision) equivocates(same []*evidence) bool {
	found := false
	for i, a := range same {
		for _, b := range same[:i] {
			if a.statement.Release().Variant == b.statement.Release().Variant && !a.statement.SameSubjects(b.statement) {
				found = true
			}
		}
	}
	if found {
		for _, e := range same {
			d.diagnose(e.bundle, &badEvidence{Equivocation, e.signer,
				fmt.Errorf("statements of sequence %d contradict each other", e.statement.Release().Sequence)})
		}
	}
	return found
}

func covered(e *evidence, l *lock.Listing) int {
	n := 0
	for _, x := range l.Definitions {
		if s, ok := e.statement.Find(x.Kind(), x.Name()); ok && s.Digest == x.Digest() {
			n++
		}
	}
	return n
}

// bySeverity lists the reasons of bundles, those first that say most.
var bySeverity = []Reason{
	BadSignature, Equivocation, Rollback, Expired, WrongServer, WrongSigner, WrongKind, TrustMissing, Unsigned,
}

// failures returns why no statement counts: the reasons of the bundles that do
// not, or that there is none.
func (d *Decision) failures() []Reason {
	if len(d.used) > 0 {
		return nil
	}
	var why []Reason
	for _, reason := range bySeverity {
		if slices.ContainsFunc(d.diagnostics, func(x Diagnostic) bool { return x.Reason == reason }) {
			why = append(why, reason)
		}
	}
	if len(why) == 0 {
		why = []Reason{Unsigned}
	}
	return why
}
