package verify

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpsign/mcpsign/attest"
)

// CheckDate returns an error if a statement says that it was made more than 5
// minutes after at, which is now: its age can't be told. Signatures and other
// times are not looked at.
func CheckDate(st *attest.Statement, at time.Time) error {
	if stated := statedTime(st); stated.After(at.Add(skew)) {
		return fmt.Errorf("the statement says that it is of %s, and the clock says %s", stated.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339))
	}
	return nil
}

// statedTime returns when a statement says that it was made, or of an
// attestation when what it says was found out; the zero time if it does not say.
func statedTime(st *attest.Statement) time.Time {
	if a, ok := st.Approval(); ok {
		return a.IssuedAt
	}
	if l, ok := st.Revocation(); ok {
		return l.IssuedAt
	}
	if p, ok := st.Foreign(); ok {
		if t, err := p.Time(); err == nil {
			return t
		}
		return time.Time{}
	}
	return st.Release().IssuedAt
}

// misdated says why the stated time of evidence can't be: it is still to come,
// or later than the signature.
func (c counted) misdated(now time.Time) *badEvidence {
	if err := CheckDate(c.statement, now); err != nil {
		return &badEvidence{Expired, c.signer, err}
	}
	return c.postdated()
}

// postdated says that a statement claims to be of a later time than its
// signature verifiably is.
func (e *evidence) postdated() *badEvidence {
	if len(e.times) == 0 {
		return nil
	}
	stated, signed := statedTime(e.statement), slices.MinFunc(e.times, time.Time.Compare)
	if !stated.After(signed.Add(skew)) {
		return nil
	}
	return &badEvidence{Expired, e.signer, fmt.Errorf("the statement says that it is of %s, and was signed at %s", stated.UTC().Format(time.RFC3339), signed.UTC().Format(time.RFC3339))}
}

// made returns the earliest of the stated time of evidence and the verified
// times of its signature; the zero time if there is none.
func (e *evidence) made() time.Time {
	times := slices.Clone(e.times)
	if stated := statedTime(e.statement); !stated.IsZero() {
		times = append(times, stated)
	}
	if len(times) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(times, time.Time.Compare)
}

// lookAhead finds the releases that are of a time to come. They do not count, and
// those before them are older all the same: a clock that was set back must not
// bring these back. What the listing alone brings is not asked.
func (d *Decision) lookAhead(g *gathered, r *Request) {
	for _, c := range g.releases {
		if c.statement.Release().Server == r.Server && !d.listed(c.bundle) && CheckDate(c.statement, r.At) != nil {
			g.ahead = append(g.ahead, c)
		}
	}
}

// aheadOf returns the highest sequence of a principal's releases that are of a
// time to come, 0 if there are none.
func (g *gathered) aheadOf(p *principal) uint64 {
	var n uint64
	for _, c := range g.ahead {
		if c.by == p {
			n = max(n, c.statement.Release().Sequence)
		}
	}
	return n
}
