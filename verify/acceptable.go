package verify

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// skew is how far two clocks may differ: a time may lie that far ahead of the
// host's clock, and what a statement says of its own time that far ahead of the
// verified time of its signature.
const skew = 5 * time.Minute

// unacceptable says why evidence by someone who may does not count for a
// request, nil if it does.
func (d *Decision) unacceptable(c counted, g *gathered, r *Request, q *requirement) *badEvidence {
	if no := c.elsewhere(r, q); no != nil {
		return no
	}
	if no := d.unusable(c, r); no != nil {
		return no
	}
	if no := c.misdated(r.At); no != nil {
		return no
	}
	if reason, revoked := g.revokedStatement(c, r.Server); revoked {
		return c.no(Revoked, "the statement was revoked%s", because(reason))
	}
	switch c.statement.PredicateType() {
	case attest.PredicateType:
		return c.staleRelease(g, r, q)
	case attest.ApprovalType:
		return c.staleApproval(r, q.approvals)
	}
	return nil
}

// elsewhere says for which other server or deployment a statement is.
func (c counted) elsewhere(r *Request, q *requirement) *badEvidence {
	if rel := c.statement.Release(); rel.Server != "" && rel.Server != r.Server {
		return c.no(WrongServer, "signed for server %s", rel.Server)
	}
	a, ok := c.statement.Approval()
	switch {
	case ok && a.Server != r.Server:
		return c.no(WrongServer, "approved for server %s", a.Server)
	case ok && a.Audience != q.approvals.audience:
		return c.no(WrongServer, "approved for %s, not for %s", lock.Visible(a.Audience), lock.Visible(q.approvals.audience))
	}
	return nil
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + shown(reason)
}

func (c counted) no(reason Reason, format string, args ...any) *badEvidence {
	return &badEvidence{reason, c.signer, fmt.Errorf(format, args...)}
}

// unusable says why evidence of any kind does not count now.
func (d *Decision) unusable(c counted, r *Request) *badEvidence {
	now := r.At.UTC().Format(time.RFC3339)
	for _, t := range c.times {
		if t.After(r.At.Add(skew)) {
			d.distrust(&ClockError{r.At, t})
		}
	}
	if no := d.certificates(c, r); no != nil {
		return no
	}
	switch {
	case len(c.times) == 0 && c.key != nil && !c.key.mayUse(r.At):
		return c.no(Expired, "the key is not valid at %s, and no timestamp says when it signed", now)
	case c.by.log && c.entries == 0:
		return c.no(Unsigned, "the signature is in no transparency log, as one by %s must be", shown(c.by.name))
	case c.by.stamps && c.stamps == 0:
		return c.no(Unsigned, "the signature has no timestamp, as one by %s must have", shown(c.by.name))
	}
	return nil
}

// staleRelease says why a statement about definitions does not count.
func (c counted) staleRelease(g *gathered, r *Request, q *requirement) *badEvidence {
	rel := c.statement.Release()
	floor := max(highest(r, c), g.aheadOf(c.by))
	switch {
	case rel.Sequence < floor:
		return c.no(Rollback, "sequence %d, and sequence %d of the same signer was seen", rel.Sequence, floor)
	case rel.Sequence < q.minSequence:
		return c.no(Rollback, "sequence %d, and the rule wants %d at least", rel.Sequence, q.minSequence)
	case !rel.ExpiresAt.IsZero() && !r.At.Before(rel.ExpiresAt):
		return c.no(Expired, "the statement expired at %s", rel.ExpiresAt.UTC().Format(time.RFC3339))
	case tooOld(c.made(), q.maxAge, r.At):
		return c.no(Expired, "the statement is of %s, older than the rule allows", c.made().UTC().Format(time.RFC3339))
	}
	return nil
}

// staleApproval says why an approval does not count.
func (c counted) staleApproval(r *Request, rule *approvalRule) *badEvidence {
	a, _ := c.statement.Approval()
	switch {
	case !r.At.Before(a.ExpiresAt):
		return c.no(Expired, "the approval expired at %s", a.ExpiresAt.UTC().Format(time.RFC3339))
	case tooOld(c.made(), rule.maxAge, r.At):
		return c.no(Expired, "the approval is of %s, older than the rule allows", c.made().UTC().Format(time.RFC3339))
	}
	return nil
}

// unmet says why an attestation is not the one that a rule asks for.
func (c counted) unmet(a attestationRule, r *Request) *badEvidence {
	p, _ := c.statement.Foreign()
	if a.maxAge > 0 {
		if no := c.agedOut(p, a.maxAge, r.At); no != nil {
			return no
		}
	}
	for _, w := range a.where {
		value, err := p.Value(w.pointer)
		if err != nil || !slices.ContainsFunc(w.values, func(want []byte) bool { return string(want) == string(value) }) {
			return c.no(AttestationMissing, "the predicate does not say what the rule asks for at %s", shown(w.pointer))
		}
	}
	return nil
}

// agedOut says why an attestation is too old: by the earliest of the verified
// times of its signature and the time that it states itself.
func (c counted) agedOut(p *attest.Predicate, most time.Duration, now time.Time) *badEvidence {
	if _, err := p.Time(); err != nil && !errors.Is(err, attest.ErrNoValue) {
		return c.no(Expired, "how old the attestation is can't be read: %w", err)
	}
	made := c.made()
	if made.IsZero() {
		return c.no(Expired, "neither a timestamp nor the attestation says how old it is")
	}
	if tooOld(made, most, now) {
		return c.no(Expired, "the attestation is of %s, older than the rule allows", made.UTC().Format(time.RFC3339))
	}
	return nil
}

func tooOld(t time.Time, most time.Duration, now time.Time) bool {
	return most > 0 && t.Add(most).Before(now)
}

// highest returns the highest sequence known of a principal, 0 if none is.
func highest(r *Request, c counted) uint64 {
	var n uint64
	for _, h := range r.Seen {
		if !h.Lowered && (h.Signer.Same(c.signer) || c.by.knows(h.Signer)) {
			n = max(n, h.Sequence)
		}
	}
	if r.Lock != nil {
		for _, e := range r.Lock.Evidence {
			if e.Signer.Same(c.signer) || c.by.knows(e.Signer) {
				n = max(n, e.Sequence)
			}
		}
	}
	return n
}

// bySeverity lists the reasons of bundles, those first that say most.
var bySeverity = []Reason{
	BadSignature, Revoked, Equivocation, Rollback, Expired, WrongServer, WrongSigner, WrongKind, TrustMissing, Unreadable, Unsigned,
}

// failures returns why there are too few statements: the reasons of the
// bundles that do not count, or that there is none.
func (d *Decision) failures() []Reason {
	var why []Reason
	for _, reason := range bySeverity {
		if slices.ContainsFunc(d.diagnostics, func(x Diagnostic) bool {
			return x.Reason == reason && (x.Type == "" || x.Type == attest.PredicateType || reason == WrongKind)
		}) {
			why = append(why, reason)
		}
	}
	if len(why) == 0 {
		why = []Reason{Unsigned}
	}
	return why
}
