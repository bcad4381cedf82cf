package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
)

// A clock that is earlier than a time that verified is wrong, and nothing is
// decided by it. Whoever may not sign can't bring that about.
func TestClock(t *testing.T) {
	s := newServices()
	p, evil := newPublisher(t), newPublisher(t)
	trust := trustKeys(p.key, evil.key)
	trust.SigstoreRoot = s.TrustedRoot()
	v := verifier(t, trust, p.id)
	stamped := func(p publisher, edits ...func(*attest.Release)) []byte {
		return signed(t, statement(t, ab, append(edits, issued(now.AddDate(0, 0, -1)))...))(sign.Key(p.key, services(s, sigtest.WithTSA)))
	}
	good := p.sign(t, ab, issued(now.AddDate(0, 0, -1)))
	r := ask(listing(t, ab), stamped(p), good)
	r.Lock = pin(t, v, r.Listing, good)
	for _, at := range []time.Time{now, now.Add(-skew), now.AddDate(10, 0, 0)} {
		r.At = at
		if err := v.Decide(r).Err(); err != nil {
			t.Errorf("at %v: %v", at, err)
		}
	}
	r.At = now.Add(-skew - time.Second)
	d := v.Decide(r)
	wantVerdicts(t, d, "tool:a deny trust_missing; tool:b deny trust_missing")
	if trust := (*TrustError)(nil); !errors.As(d.Err(), &trust) || !errors.As(d.SignedErr(), &trust) || !strings.Contains(d.Err().Error(), "2026-11-30T11:54:59Z, and a verified signature is of 2026-11-30T12:00:00Z") {
		t.Errorf("Err = %v, SignedErr = %v", d.Err(), d.SignedErr())
	}
	if _, err := d.Pin(r.Listing.Definitions...); err == nil || d.Allows(r.Listing.Definitions[0]) || len(d.HighWater()) != 0 {
		t.Errorf("Pin = %v, HighWater = %v", err, d.HighWater())
	}
	// The time is known as well when the bundle is no longer there.
	r.At, r.Bundles = now, [][]byte{stamped(p)}
	if d = v.Decide(r); !d.Latest().Equal(now) || !v.Decide(ask(r.Listing, good)).Latest().IsZero() {
		t.Errorf("Latest = %v", d.Latest())
	}
	r.Latest, r.Bundles = d.Latest(), [][]byte{good}
	for at, fine := range map[time.Time]bool{now: true, now.Add(-skew): true, now.Add(-skew - time.Second): false} {
		r.At = at
		if d := v.Decide(r); (d.Err() == nil) != fine || !fine && !errors.As(d.Err(), new(*TrustError)) {
			t.Errorf("at %v: %v", at, d.Err())
		}
	}
	r.Latest, r.At = time.Time{}, now.Add(-skew-time.Second)
	r.Bundles = [][]byte{stamped(evil), stamped(p, server("elsewhere")), good}
	d = v.Decide(r)
	wantDiagnostics(t, d, WrongSigner, WrongServer)
	if err := d.Err(); err != nil {
		t.Error(err)
	}
}

// Junk beside a good bundle costs a bounded amount of work, and changes
// nothing.
func TestJunk(t *testing.T) {
	p := newPublisher(t)
	v := ruleFor(t, "", p)
	good := p.sign(t, abc)
	broken := edit(good, func(b *protobundle.Bundle) { b.GetDsseEnvelope().Payload[0]++ })
	var junk [][]byte
	for i := range 10_000 {
		junk = append(junk, fmt.Append(nil, i))
	}
	l := listing(t, abc)
	for _, tt := range []struct {
		name    string
		bundles [][]byte
		listed  [][]byte
		junk    int // diagnostics for junk
		signed  bool
		tooMany bool
	}{
		{"first", append([][]byte{good}, junk...), nil, lock.MaxBundles - 1, true, true},
		{"last that counts", append(junk[:lock.MaxBundles-1:lock.MaxBundles-1], good), nil, lock.MaxBundles - 1, true, false},
		{"one too late", append(junk[:lock.MaxBundles:lock.MaxBundles], good), nil, lock.MaxBundles, false, true},
		{"after thousands", append(junk[:len(junk):len(junk)], good), nil, lock.MaxBundles, false, true},
		{"before those that the server sends", [][]byte{good}, junk, lock.MaxBundles - 1, true, true},
		{"sent by the server", nil, [][]byte{good, junk[0]}, 1, true, false},
		{"ten thousand times the same", append(slices.Repeat(junk[:1], 10_000), good), nil, 1, true, false},
		{"broken beside it", [][]byte{broken, good}, nil, 1, true, false},
		{"broken after it", [][]byte{good, broken}, nil, 1, true, false},
		{"the good one twice", [][]byte{good, good}, nil, 0, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(l, tt.bundles...)
			l.Bundles = tt.listed
			defer func() { l.Bundles = nil }()
			d := v.Decide(r)
			if err := d.SignedErr(); (err == nil) != tt.signed {
				t.Errorf("SignedErr = %v", err)
			}
			want := make([]Reason, tt.junk)
			for i := range want {
				want[i] = Unreadable
				if strings.HasPrefix(tt.name, "broken") {
					want[i] = BadSignature
				}
			}
			if tt.tooMany {
				want = append(want, Unsigned)
				last := d.Diagnostics()[len(d.Diagnostics())-1]
				wantError(t, last.Err, "more than 64 bundles: the rest was not looked at")
			}
			wantDiagnostics(t, d, want...)
		})
	}
}

// Outcomes are kept for the next decision, within bounds.
func TestCache(t *testing.T) {
	p := newPublisher(t)
	v := ruleFor(t, "", p)
	good := p.sign(t, abc)
	for i := range 300 {
		var junk [][]byte
		for j := range lock.MaxBundles - 1 {
			junk = append(junk, fmt.Append(nil, i, j))
		}
		if err := v.Decide(ask(listing(t, abc), append(junk, good)...)).SignedErr(); err != nil {
			t.Fatal(err)
		}
		if len(v.verified) > maxCached {
			t.Fatalf("%d outcomes are kept", len(v.verified))
		}
	}
	// One long statement in many spellings of its bundle.
	var long []string
	for i := range 1000 {
		long = append(long, fmt.Sprintf(`{"name":"%d%s"}`, i, strings.Repeat("x", 500)))
	}
	text := `{"tools":[` + strings.Join(long, ",") + `]}`
	good, full := p.sign(t, text), false
	for i := range 120 {
		before := v.kept
		if err := v.Decide(ask(listing(t, text), append([]byte(strings.Repeat(" ", i)), good...))).SignedErr(); err != nil {
			t.Fatal(err)
		}
		if v.kept > maxKept+lock.MaxBundle {
			t.Fatalf("%d bytes are kept", v.kept)
		}
		full = full || v.kept < before
	}
	if !full {
		t.Errorf("%d bytes are kept, and the limit was never met", v.kept)
	}
}

// A listing that someone put together holds nothing twice.
func TestListedTwice(t *testing.T) {
	p := newPublisher(t)
	v := ruleFor(t, "", p)
	one, two := `{"tools":[{"name":"a","os":"linux"}]}`, `{"tools":[{"name":"a","os":"mac"}]}`
	bundles := [][]byte{p.sign(t, one, variant("linux")), p.sign(t, two, variant("mac"))}
	l := listing(t, one)
	l.Definitions = append(l.Definitions, listing(t, two).Definitions...)
	entry := pin(t, v, listing(t, one), bundles...)
	second := pin(t, v, listing(t, two), bundles...)
	entry.Pins, entry.Evidence = append(entry.Pins, second.Pins...), append(entry.Evidence, second.Evidence...)
	entry.Sort()
	r := ask(l, bundles...)
	r.Lock = formatted(t, entry)
	for _, v := range []*Verifier{v, newVerifier(t, nil, trustKeys(p.key))} {
		d := v.Decide(r)
		wantVerdicts(t, d, "tool:a deny duplicate_name; tool:a deny duplicate_name")
		if d.Allows(l.Definitions[0]) || d.Allows(l.Definitions[1]) || d.SignedErr() == nil {
			t.Error("allowed")
		}
	}
}
