package verify

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/sign"
)

// What a statement says of its own time is believed neither if it is still to
// come nor if the signature is older, and the age counts from the earlier one.
func TestStatedTime(t *testing.T) {
	s := newServices()
	p, reviewer := newPublisher(t), newPublisher(t)
	trust := trustKeys(p.key, reviewer.key)
	trust.SigstoreRoot = s.TrustedRoot()
	day := 24 * time.Hour
	rule := func(options string) *Verifier {
		return newVerifier(t, policy(t, "version: 1\nrules: [{servers: ["+weather+"], signedBy: [\""+p.id+"\"]"+options+"}]\n"), trust)
	}
	plain, fresh := rule(""), rule(", maxAge: 2d")
	approved := rule(`, approvals: {from: ["` + reviewer.id + `"], audience: production, maxAge: 2d}`)
	attested := rule(`, attested: [{type: "https://slsa.dev/provenance/v1", by: ["` + reviewer.id + `"]}]`)

	// by signs st with a key, and a timestamp of that time unless it is zero.
	by := func(p publisher, st *attest.Statement, stamp time.Time) []byte {
		if stamp.IsZero() {
			return byKey(t, p.key, st)
		}
		s.Clock.Set(stamp)
		defer s.Clock.Set(now)
		return signed(t, st)(sign.Key(p.key, services(s, sigtest.WithTSA)))
	}
	release := func(stated, stamp time.Time) []byte { return by(p, statement(t, ab, issued(stated)), stamp) }
	approval := func(stated, stamp time.Time) []byte {
		st, err := attest.Approve(listing(t, ab).Definitions, attest.Approval{Server: weather, Audience: "production", IssuedAt: stated, ExpiresAt: now.AddDate(100, 0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		return by(reviewer, st, stamp)
	}
	provenance := func(stated, stamp time.Time) []byte {
		st, err := attest.Foreign(listing(t, ab).Definitions, "https://slsa.dev/provenance/v1", []byte(`{"runDetails":{"metadata":{"finishedOn":"`+stated.Format(time.RFC3339)+`"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return by(reviewer, st, stamp)
	}
	good := release(now, time.Time{})
	for _, kind := range []struct {
		name string
		v    *Verifier
		make func(stated, stamp time.Time) []byte
		aged bool // the rule has a maxAge of 2 days
	}{
		{"release", plain, release, false},
		{"release of some age", fresh, release, true},
		{"approval", approved, approval, true},
		{"attestation", attested, provenance, false},
	} {
		for _, tt := range []struct {
			name          string
			stated, stamp time.Time
			want          string // of the diagnostic; empty: it counts
		}{
			{"now", now, time.Time{}, ""},
			{"ahead of the clock by as much as clocks differ", now.Add(skew), time.Time{}, ""},
			{"ahead of the clock", now.Add(skew + time.Second), time.Time{}, "says that it is of 2026-11-30T12:05:01Z, and the clock says 2026-11-30T12:00:00Z"},
			{"in 2099", time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{}, "says that it is of 2099-01-01T00:00:00Z"},
			{"in 2099, with a timestamp", time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), now, "says that it is of 2099-01-01T00:00:00Z"},
			{"after the signature", now.Add(-time.Hour), now.Add(-time.Hour - skew - time.Second), "says that it is of 2026-11-30T11:00:00Z, and was signed at 2026-11-30T10:54:59Z"},
			{"after the signature by as much as clocks differ", now.Add(-time.Hour), now.Add(-time.Hour - skew), ""},
			{"signed a day later", now.Add(-day), now, ""},
		} {
			d := kind.v.Decide(ask(listing(t, ab), good, kind.make(tt.stated, tt.stamp)))
			if kind.name[0] == 'r' {
				d = kind.v.Decide(ask(listing(t, ab), kind.make(tt.stated, tt.stamp)))
			}
			if (d.SignedErr() == nil) != (tt.want == "") {
				t.Errorf("%s, %s: %v", kind.name, tt.name, d.SignedErr())
			}
			if tt.want != "" && (len(d.Diagnostics()) == 0 || d.Diagnostics()[0].Reason != Expired || !strings.Contains(d.Diagnostics()[0].Err.Error(), tt.want)) {
				t.Errorf("%s, %s: diagnostics = %v", kind.name, tt.name, d.Diagnostics())
			}
		}
		if !kind.aged {
			continue
		}
		for _, old := range [][]byte{kind.make(now.Add(-2*day-time.Second), now), kind.make(now.Add(-2*day), now.Add(-2*day-time.Second)), kind.make(now.Add(-2*day-time.Second), time.Time{})} {
			d := kind.v.Decide(ask(listing(t, ab), good, old))
			if kind.name[0] == 'r' {
				d = kind.v.Decide(ask(listing(t, ab), old))
			}
			wantDiagnostics(t, d, Expired)
			wantError(t, d.Diagnostics()[0].Err, "older than the rule allows")
		}
	}

	// No policy need ask: what was signed before it was written is refused.
	if _, _, err := plain.Statement(release(now, now.Add(-day))); err == nil || !strings.Contains(err.Error(), "was signed at") {
		t.Errorf("Statement = %v", err)
	}
}

// A clock that is set back brings nothing back to life: neither a release that
// another one has followed, nor what a list of a time to come revokes.
func TestClockSetBack(t *testing.T) {
	p := newPublisher(t)
	v := ruleFor(t, "", p)
	before := p.sign(t, ab, issued(now.AddDate(0, 0, -2)), sequence(1))
	next := p.sign(t, `{"tools":[{"name":"a","x":1},{"name":"b","x":1}]}`, issued(now), sequence(2))
	list := p.revokes(t, 1, statements(t, before))
	r := ask(listing(t, ab), before)
	r.Lock = pin(t, v, r.Listing, before)
	wantVerdicts(t, v.Decide(r), "tool:a allow verified; tool:b allow verified")

	for _, at := range []time.Time{now, now.AddDate(0, 0, -1)} {
		r.At = at
		r.Bundles = [][]byte{before, next}
		d := v.Decide(r)
		if !anyHas(d, Rollback) || d.Err() == nil || len(d.HighWater()) == 0 || d.HighWater()[0].Sequence != 2 {
			t.Errorf("at %v: %s, %v", at, verdicts(d), d.HighWater())
		}
		r.Bundles = [][]byte{before, list}
		if d = v.Decide(r); d.Err() == nil || at.Equal(now) == errors.As(d.Err(), new(*TrustError)) {
			t.Errorf("at %v: %s, %v", at, verdicts(d), d.Err())
		}
		r.Bundles, r.Listing.Bundles = [][]byte{before}, [][]byte{list}
		wantVerdicts(t, v.Decide(r), "tool:a deny revoked; tool:b deny revoked")
		r.Listing.Bundles = nil
	}

	// A list that can't be is not relied on, whoever gives it; a newer one is.
	r.At = now.AddDate(0, 0, -1)
	soon := func(r *attest.Revocation) { r.IssuedAt = now.AddDate(0, 0, -2) }
	r.Bundles = [][]byte{before, list, p.revokes(t, 2, nil, soon)}
	wantVerdicts(t, v.Decide(r), "tool:a allow verified; tool:b allow verified")
	r.Bundles, r.Revocations = [][]byte{before}, [][]byte{list}
	wantError(t, v.Decide(r).Err(), "revocation list 1 by "+p.id+": the statement says that it is of 2026-11-30T12:00:00Z")

	// Of a server's own list of a time to come nothing but what it revokes counts.
	r.Revocations, r.Bundles = nil, [][]byte{before, p.revokes(t, 1, statements(t, before), soon)}
	r.Listing.Bundles = [][]byte{p.revokes(t, 2, nil)}
	wantVerdicts(t, v.Decide(r), "tool:a deny revoked; tool:b deny revoked")
	r.Bundles, r.SeenLists = [][]byte{before}, []ListMark{{Signer: p.signer(), Number: 1}}
	wantError(t, v.Decide(r).Err(), "revocation list 1 by")
}

// What a list revokes stays so when its key may no longer sign, unless there is a
// newer list.
func TestListByExpiredKey(t *testing.T) {
	p, next := newPublisher(t), newPublisher(t)
	text := "version: 1\npublishers:\n  acme:\n    key: [{file: a.pub, notAfter: 2026-11-30T12:30:00Z}, {file: b.pub}]\nrules: [{servers: [" + weather + "], signedBy: [acme]}]\n"
	parsed, err := policy(t, text).With(map[string][]byte{"a.pub": sigtest.PublicPEM(p.key.Public()), "b.pub": sigtest.PublicPEM(next.key.Public())})
	if err != nil {
		t.Fatal(err)
	}
	v := newVerifier(t, parsed, Trust{})
	good := next.sign(t, ab)
	list := p.revokes(t, 1, statements(t, good))
	r := ask(listing(t, ab), good, list)
	r.Lock = pin(t, v, r.Listing, good)
	wantVerdicts(t, v.Decide(r), "tool:a deny revoked; tool:b deny revoked")
	r.At = now.Add(time.Hour)
	wantError(t, v.Decide(r).Err(), "the key is not valid at 2026-11-30T13:00:00Z")
	r.Bundles = append(r.Bundles, next.revokes(t, 2, nil))
	wantVerdicts(t, v.Decide(r), "tool:a allow verified; tool:b allow verified")
}

// anyHas reports whether a result has the reason.
func anyHas(d *Decision, reason Reason) bool {
	for _, x := range d.Results() {
		if x.Has(reason) {
			return true
		}
	}
	return false
}
