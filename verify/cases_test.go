package verify

import (
	"crypto"
	"reflect"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

// A publisher signs with a key.
type publisher struct {
	key crypto.Signer
	id  string
}

func newPublisher(t testing.TB) publisher {
	key := sigtest.P256()
	return publisher{key, "key:" + keyID(t, key)}
}

func (p publisher) signer() lock.Signer { return lock.Signer{Key: strings.TrimPrefix(p.id, "key:")} }

// sign signs a statement about the listing.
func (p publisher) sign(t testing.TB, text string, edits ...func(*attest.Release)) []byte {
	t.Helper()
	return byKey(t, p.key, statement(t, text, edits...))
}

// ruleFor makes a policy of one rule under which the publishers may sign.
func ruleFor(t testing.TB, options string, ps ...publisher) *Verifier {
	t.Helper()
	text := "version: 1\nrules:\n  - servers: [" + weather + "]\n    signedBy:\n"
	trust := Trust{}
	for _, p := range ps {
		text += "      - " + p.id + "\n"
		trust.Keys = append(trust.Keys, TrustedKey{Key: p.key.Public()})
	}
	return newVerifier(t, policy(t, text+options), trust)
}

// wantVerdicts compares all verdicts.
func wantVerdicts(t *testing.T, d *Decision, want string) {
	t.Helper()
	if got := verdicts(d); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// wantDiagnostics compares the reasons of the diagnostics, in any order.
func wantDiagnostics(t *testing.T, d *Decision, want ...Reason) {
	t.Helper()
	count := make(map[Reason]int)
	for _, x := range d.Diagnostics() {
		count[x.Reason]++
		checkShown(t, x.Err.Error())
	}
	for _, r := range want {
		count[r]--
	}
	for r, n := range count {
		if n != 0 {
			t.Errorf("%+d diagnostics of %s: %v", n, r, d.Diagnostics())
		}
	}
}

const (
	complete1 = "    listing: complete\n"
	block     = "    refuse: block\n"
	ab        = `{"tools":[{"name":"a"},{"name":"b"}]}`
)

// A definition of a complete statement is not listed.
func TestMissing(t *testing.T) {
	p := newPublisher(t)
	const fine = "tool:a undecided verified, first_contact, not_locked; tool:b undecided verified, first_contact, not_locked"
	for _, tt := range []struct {
		name    string
		options string
		edits   []func(*attest.Release)
		want    string
	}{
		{"subset", "", []func(*attest.Release){complete}, fine},
		{"complete", complete1, []func(*attest.Release){complete}, fine + "; tool:c deny missing"},
		{"complete, and the statement is not", complete1, nil, fine},
		{"complete, blocking", complete1 + block, []func(*attest.Release){complete},
			"tool:a deny verified, first_contact, not_locked, blocked; tool:b deny verified, first_contact, not_locked, blocked; tool:c deny missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := ruleFor(t, tt.options, p).Decide(ask(listing(t, ab), p.sign(t, abc, tt.edits...)))
			wantVerdicts(t, d, tt.want)
			if strings.Contains(tt.want, "missing") {
				if c := d.Results()[2]; c.Signed != listing(t, abc).Definitions[2].Digest() || !c.Digest.IsZero() || d.Allows(listing(t, abc).Definitions[2]) {
					t.Errorf("missing: %+v", c)
				}
				wantError(t, d.SignedErr(), "is not allowed")
			}
		})
	}
}

// Where the operator names the signers, and without a policy, what is pinned
// must be listed; what is only signed need not be.
func TestMissingPin(t *testing.T) {
	p := newPublisher(t)
	bundle := p.sign(t, abc, complete)
	named := verifier(t, trustKeys(p.key), p.id)
	for name, v := range map[string]*Verifier{"named": named, "built-in": newVerifier(t, nil, trustKeys(p.key))} {
		t.Run(name, func(t *testing.T) {
			r := ask(listing(t, ab), bundle)
			r.Lock = pin(t, named, listing(t, ab), bundle)
			wantVerdicts(t, v.Decide(r), "tool:a allow verified; tool:b allow verified")
			r.Lock = pin(t, named, listing(t, abc), bundle)
			wantVerdicts(t, v.Decide(r), "tool:a allow verified; tool:b allow verified; tool:c deny missing")
		})
	}
}

// A definition that nobody signed beside signed ones: withheld, or all are.
func TestExtraDefinition(t *testing.T) {
	p := newPublisher(t)
	bundle := p.sign(t, ab)
	r := ask(listing(t, abc), bundle)
	r.Lock = pin(t, ruleFor(t, "", p), listing(t, ab), bundle)
	withhold := ruleFor(t, "", p).Decide(r)
	wantVerdicts(t, withhold, "tool:a allow verified; tool:b allow verified; tool:c deny not_locked")
	wantError(t, withhold.Err(), weather+": tool:c is not allowed: not_locked")
	blocked := ruleFor(t, block, p).Decide(r)
	wantVerdicts(t, blocked, "tool:a deny verified, blocked; tool:b deny verified, blocked; tool:c deny not_locked")
	wantError(t, blocked.SignedErr(), "tool:a is not allowed: blocked (and 2 more)")
	if entry, err := blocked.Pin(r.Listing.Definitions[0]); err == nil {
		t.Errorf("pinned while blocked: %v", entry)
	}

	// One that can't have a digest blocks as well, an unapproved one does not.
	r.Listing = listing(t, `{"tools":[{"name":"a"},{"name":"b","n":1e400}]}`)
	wantVerdicts(t, ruleFor(t, block, p).Decide(r), "tool:a deny verified, blocked; tool:b deny no_digest")
	r.Listing, r.Bundles = listing(t, abc), [][]byte{p.sign(t, abc, sequence(101))}
	wantVerdicts(t, ruleFor(t, block, p).Decide(r), "tool:a allow verified; tool:b allow verified; tool:c undecided verified, not_locked")
}

// A renamed tool is another one, though the text is the same.
func TestRename(t *testing.T) {
	r := ask(listing(t, `{"tools":[{"name":"a2","description":"x"}]}`))
	r.Lock = unsigned(t, `{"tools":[{"name":"a","description":"x"}]}`)
	wantVerdicts(t, newVerifier(t, nil, Trust{}).Decide(r), "tool:a deny missing; tool:a2 undecided not_locked")

	p := newPublisher(t)
	r.Bundles = [][]byte{p.sign(t, `{"tools":[{"name":"a","description":"x"}]}`)}
	wantVerdicts(t, ruleFor(t, "", p).Decide(r), "tool:a2 deny not_locked")
}

// Valid evidence that is not for this.
func TestNotForThis(t *testing.T) {
	p, other := newPublisher(t), newPublisher(t)
	past, future := expires(now.Add(time.Second)), expires(now.AddDate(1, 0, 0))
	early := func(r *attest.Release) { r.IssuedAt = now.AddDate(-1, 0, 0); past(r) }
	for _, tt := range []struct {
		name   string
		bundle []byte
		at     time.Time
		seen   []HighWater
		locked uint64
		reason Reason // empty: accepted
		text   string
	}{
		{"good", p.sign(t, abc), now, nil, 0, "", ""},
		{"other server", p.sign(t, abc, server("io.github.acme/other")), now, nil, 0, WrongServer, "signed for server io.github.acme/other"},
		{"server in another case", p.sign(t, abc, server("io.github.Acme/weather")), now, nil, 0, WrongServer, "io.github.Acme/weather"},
		{"longer server", p.sign(t, abc, server(weather+"/x")), now, nil, 0, WrongServer, weather + "/x"},
		{"other signer", other.sign(t, abc), now, nil, 0, WrongSigner, "which is not trusted"},

		{"not expired", p.sign(t, abc, future), now, nil, 0, "", ""},
		{"a second before it expires", p.sign(t, abc, past), now, nil, 0, "", ""},
		{"the second it expires", p.sign(t, abc, past), now.Add(time.Second), nil, 0, Expired, "the statement expired at 2026-11-30T12:00:01Z"},
		{"expired", p.sign(t, abc, early), now.AddDate(1, 0, 0), nil, 0, Expired, "expired"},
		{"expired, other time zone", p.sign(t, abc, early), now.AddDate(1, 0, 0).In(time.FixedZone("", -12*3600)), nil, 0, Expired, "expired"},

		{"as old as what was seen", p.sign(t, abc), now, []HighWater{{Signer: p.signer(), Sequence: 100}}, 0, "", ""},
		{"older than what was seen", p.sign(t, abc), now, []HighWater{{Signer: p.signer(), Sequence: 101}}, 0, Rollback, "sequence 100, and sequence 101 of the same signer was seen"},
		{"older than the highest seen", p.sign(t, abc), now, []HighWater{{Signer: p.signer(), Sequence: 7}, {Signer: p.signer(), Sequence: 102}, {Signer: p.signer(), Sequence: 8}}, 0, Rollback, "sequence 102"},
		{"older than what another signed", p.sign(t, abc), now, []HighWater{{Signer: other.signer(), Sequence: lock.MaxSequence}}, 0, "", ""},
		{"older than what nobody signed", p.sign(t, abc), now, []HighWater{{Sequence: lock.MaxSequence}}, 0, "", ""},
		{"older than the lock", p.sign(t, abc), now, nil, 101, Rollback, "sequence 101"},
		{"lock lower than what was seen", p.sign(t, abc), now, []HighWater{{Signer: p.signer(), Sequence: 101}}, 5, Rollback, "sequence 101"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, abc), tt.bundle)
			r.At, r.Seen = tt.at, tt.seen
			if tt.locked != 0 {
				r.Lock = pin(t, ruleFor(t, "", p), listing(t, abc), p.sign(t, abc, sequence(tt.locked)))
			}
			d := ruleFor(t, "", p).Decide(r)
			if tt.reason == "" {
				if err := d.SignedErr(); err != nil {
					t.Error(err, d.Diagnostics())
				}
				return
			}
			wantDiagnostics(t, d, tt.reason)
			if len(d.HighWater()) != 0 || d.SignedErr() == nil {
				t.Errorf("HighWater = %v, SignedErr = %v", d.HighWater(), d.SignedErr())
			}
			for _, x := range d.Results() {
				if x.Verdict != Deny || x.Reasons[0] != tt.reason {
					t.Errorf("%s: %s", x.Name, show(x))
				}
			}
			wantError(t, d.Diagnostics()[0].Err, tt.text)
		})
	}

	// What expires is part of what was signed.
	bundle := edit(p.sign(t, abc, early), func(b *protobundle.Bundle) {
		b.GetDsseEnvelope().Payload = statement(t, abc).Bytes()
	})
	refuses(t, ruleFor(t, "", p), bundle, BadSignature, "could not verify envelope")
}

// An older statement that is good does not help one that is not: after a
// rollback nothing is verified.
func TestRollbackStays(t *testing.T) {
	p := newPublisher(t)
	v := ruleFor(t, "", p)
	r := ask(listing(t, ab), p.sign(t, ab, sequence(17)))
	d := v.Decide(r)
	r.Lock, r.Seen = pin(t, v, listing(t, ab), r.Bundles...), d.HighWater()
	if len(r.Seen) != 1 || r.Seen[0].Signer != p.signer() || r.Seen[0].Sequence != 17 {
		t.Fatalf("HighWater = %v", r.Seen)
	}
	r.Listing, r.Bundles = listing(t, abc), [][]byte{p.sign(t, abc, sequence(12))}
	wantVerdicts(t, v.Decide(r), "tool:a deny rollback; tool:b deny rollback; tool:c deny not_locked, rollback")
}

// One statement covers the listing: A signed by release 17 and B by release 12
// are not both signed.
func TestOneStatement(t *testing.T) {
	p := newPublisher(t)
	old, recent := p.sign(t, ab, sequence(12)), p.sign(t, `{"tools":[{"name":"a"}]}`, sequence(17))
	for _, bundles := range [][][]byte{{old, recent}, {recent, old}} {
		d := ruleFor(t, "", p).Decide(ask(listing(t, ab), bundles...))
		wantVerdicts(t, d, "tool:a undecided verified, first_contact, not_locked; tool:b deny rollback")
		wantDiagnostics(t, d)
		if h := d.HighWater(); len(h) != 1 || h[0].Sequence != 17 {
			t.Errorf("HighWater = %v", h)
		}
	}
}

// Of several variants the one that covers most of the listing counts, alone.
func TestVariants(t *testing.T) {
	p := newPublisher(t)
	v := ruleFor(t, complete1, p)
	linux := `{"tools":[{"name":"a","os":"linux"},{"name":"b"}]}`
	mac := `{"tools":[{"name":"a","os":"mac"},{"name":"b"},{"name":"c"}]}`
	bundles := [][]byte{p.sign(t, linux, variant("linux"), complete), p.sign(t, mac, variant("mac"), complete)}
	const fresh = " undecided verified, first_contact, not_locked"
	for _, tt := range []struct{ name, listing, want string }{
		{"linux", linux, "tool:a" + fresh + "; tool:b" + fresh},
		{"mac", mac, "tool:a" + fresh + "; tool:b" + fresh + "; tool:c" + fresh},
		{"part of mac", `{"tools":[{"name":"c"}]}`, "tool:a deny missing; tool:b deny missing; tool:c" + fresh},
		{"mixed", `{"tools":[{"name":"a","os":"linux"},{"name":"b"},{"name":"c"}]}`, "tool:a" + fresh + "; tool:b" + fresh + "; tool:c deny unsigned"},
		{"in both", `{"tools":[{"name":"b"}]}`, "tool:a deny missing; tool:b" + fresh},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := v.Decide(ask(listing(t, tt.listing), bundles...))
			wantVerdicts(t, d, tt.want)
			wantDiagnostics(t, d)
		})
	}

	// A lock may hold both, and a machine lists one.
	entry := pin(t, v, listing(t, linux), bundles...)
	second := pin(t, v, listing(t, mac), bundles...)
	entry.Pins, entry.Evidence = append(entry.Pins, second.Pins...), append(entry.Evidence, second.Evidence...)
	entry.Sort()
	for _, text := range []string{linux, mac} {
		r := ask(listing(t, text), bundles...)
		r.Lock = formatted(t, entry)
		if err := v.Decide(r).Err(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := newVerifier(t, nil, trustKeys(p.key)).Decide(r).Err(); err != nil {
			t.Errorf("%s by the built-in rule: %v", text, err)
		}
	}
	// What both variants pin may be signed by either, what one pins by its own.
	entry.Evidence[0].Signer = newPublisher(t).signer() // linux
	r := ask(listing(t, mac), bundles...)
	r.Lock = formatted(t, entry)
	wantVerdicts(t, v.Decide(r), "tool:a allow verified; tool:b allow verified; tool:c allow verified")
	r.Listing = listing(t, linux)
	wantVerdicts(t, v.Decide(r), "tool:a undecided verified, wrong_signer; tool:b allow verified")
}

// Two statements of one release that contradict each other: neither counts,
// and no older one in their place.
func TestEquivocation(t *testing.T) {
	p, other := newPublisher(t), newPublisher(t)
	good, older := p.sign(t, abc), p.sign(t, abc, sequence(7))
	extra := p.sign(t, `{"tools":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"evil"}]}`)
	changed := p.sign(t, `{"tools":[{"name":"a","x":1},{"name":"b"},{"name":"c"}]}`)
	for _, tt := range []struct {
		name    string
		bundles [][]byte
		want    []Reason // diagnostics; empty: accepted
	}{
		{"signed twice", [][]byte{good, p.sign(t, abc)}, nil},
		{"said twice, otherwise", [][]byte{good, p.sign(t, abc, complete)}, nil},
		{"variants", [][]byte{good, p.sign(t, `{"tools":[{"name":"z"}]}`, variant("x"))}, nil},
		{"releases", [][]byte{older, p.sign(t, `{"tools":[{"name":"z"}]}`, sequence(6)), good}, nil},
		{"publishers", [][]byte{good, other.sign(t, ab)}, nil},
		{"contradiction of an older release", [][]byte{good, older, p.sign(t, ab, sequence(7))}, nil},
		{"one more definition", [][]byte{good, extra}, []Reason{Equivocation, Equivocation}},
		{"one definition changed", [][]byte{changed, good}, []Reason{Equivocation, Equivocation}},
		{"three", [][]byte{good, changed, extra}, []Reason{Equivocation, Equivocation, Equivocation}},
		{"beside an older one", [][]byte{older, good, changed}, []Reason{Equivocation, Equivocation}},
		{"in one variant of two", [][]byte{good, p.sign(t, ab, variant("x")), p.sign(t, abc, variant("x"))}, []Reason{Equivocation, Equivocation, Equivocation}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := ruleFor(t, "", p, other).Decide(ask(listing(t, abc), tt.bundles...))
			wantDiagnostics(t, d, tt.want...)
			if len(tt.want) == 0 {
				if err := d.SignedErr(); err != nil {
					t.Error(err)
				}
				return
			}
			wantVerdicts(t, d, "tool:a deny equivocation; tool:b deny equivocation; tool:c deny equivocation")
			if len(d.Evidence()) != 0 {
				t.Errorf("Evidence = %v", d.Evidence())
			}
			// Whoever has seen them all takes none of them alone, and nothing
			// older, but what is newer.
			for _, b := range append(tt.bundles, older) {
				r := ask(listing(t, abc), b)
				r.Seen = d.HighWater()
				if again := ruleFor(t, "", p, other).Decide(r); again.SignedErr() == nil {
					t.Errorf("one alone: %s", verdicts(again))
				}
			}
			r := ask(listing(t, abc), p.sign(t, abc, sequence(101)))
			r.Seen = d.HighWater()
			if err := ruleFor(t, "", p, other).Decide(r).SignedErr(); err != nil {
				t.Error(err)
			}
		})
	}
	// Another publisher's statement is as good as ever.
	d := ruleFor(t, "", p, other).Decide(ask(listing(t, abc), good, changed, other.sign(t, abc)))
	if err := d.SignedErr(); err != nil || len(d.Evidence()) != 1 {
		t.Error(err, d.Evidence())
	}
}

// What someone signed is compared with what they were seen to sign with the
// same sequence, if that statement is gone too.
func TestSeenSurface(t *testing.T) {
	p, other := newPublisher(t), newPublisher(t)
	v := ruleFor(t, "", p, other)
	seen := v.Decide(ask(listing(t, abc), p.sign(t, abc), p.sign(t, ab, variant("linux")))).HighWater()
	if len(seen) != 1 || len(seen[0].Surfaces) != 2 {
		t.Fatalf("HighWater = %v", seen)
	}
	const other1 = `{"tools":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}]}`
	for _, tt := range []struct {
		name   string
		bundle []byte
		want   Reason // empty: accepted
	}{
		{"the same", p.sign(t, abc), ""},
		{"the same, signed anew and said otherwise", p.sign(t, abc, complete), ""},
		{"something else", p.sign(t, other1), Equivocation},
		{"less", p.sign(t, ab), Equivocation},
		{"less in a variant that was seen to have it", p.sign(t, ab, variant("linux")), ""},
		{"more in a variant that was seen to have less", p.sign(t, abc, variant("linux")), Equivocation},
		{"a variant that was not seen", p.sign(t, other1, variant("mac")), ""},
		{"a later release", p.sign(t, other1, sequence(101)), ""},
		{"an older release", p.sign(t, other1, sequence(99)), Rollback},
		{"by someone else", other.sign(t, other1), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, abc), tt.bundle)
			r.Seen = seen
			d := v.Decide(r)
			if tt.want == "" {
				wantDiagnostics(t, d)
				if len(d.Evidence()) != 1 {
					t.Errorf("Evidence = %v", d.Evidence())
				}
				return
			}
			wantDiagnostics(t, d, tt.want)
		})
	}
}

// The sequence of one publisher is nothing to another.
func TestHighWater(t *testing.T) {
	p, other := newPublisher(t), newPublisher(t)
	v := ruleFor(t, "", p, other)
	d := v.Decide(ask(listing(t, abc), p.sign(t, abc), other.sign(t, `{"tools":[{"name":"z"}]}`, sequence(lock.MaxSequence))))
	if err := d.SignedErr(); err != nil {
		t.Error(err)
	}
	high := make(map[string]uint64)
	for _, h := range d.HighWater() {
		high[h.Signer.Key] = h.Sequence
	}
	if len(high) != 2 || high[p.signer().Key] != 100 || high[other.signer().Key] != lock.MaxSequence {
		t.Errorf("HighWater = %v", d.HighWater())
	}
	r := ask(listing(t, abc), p.sign(t, abc, sequence(101)), other.sign(t, abc, sequence(lock.MaxSequence-1)))
	r.Seen = d.HighWater()
	d = v.Decide(r)
	wantDiagnostics(t, d, Rollback)
	for _, x := range d.Results() {
		if len(x.Signers) != 1 || x.Signers[0] != p.signer() {
			t.Errorf("%s is signed by %v", x.Name, x.Signers)
		}
	}
	// The operator may forget it.
	r.Seen = nil
	wantDiagnostics(t, v.Decide(r))
}

// A listing that is good and evidence that is not: nothing can be pinned, and
// nothing is remembered.
func TestInvalidFirstContact(t *testing.T) {
	p := newPublisher(t)
	broken := edit(p.sign(t, abc), func(b *protobundle.Bundle) { b.GetDsseEnvelope().Signatures[0].Sig[9] ^= 1 })
	refuses(t, ruleFor(t, "", p), broken, BadSignature, "could not verify envelope")
	d := ruleFor(t, "", p).Decide(ask(listing(t, abc), broken))
	if d.Bundle(d.Diagnostics()[0].Bundle) != nil {
		t.Error("the bundle can be stored")
	}
}

// Where trust is missing it is not called unsigned, and it is no yes.
func TestTrustMissingIsNoYes(t *testing.T) {
	s := newServices()
	v := verifier(t, Trust{}, workflow)
	r := ask(listing(t, abc), keyless(t, s, acme(), sigtest.WithRekorV1, statement(t, abc)))
	r.Lock = unsigned(t, abc)
	wantVerdicts(t, v.Decide(r), "tool:a deny trust_missing; tool:b deny trust_missing; tool:c deny trust_missing")
}

// Under a rule that asks for signatures the lock can only forbid, whatever is
// written into it.
func TestEditedLock(t *testing.T) {
	p, evil := newPublisher(t), newPublisher(t)
	v := ruleFor(t, "", p)
	bundle := p.sign(t, ab)
	forged := `{"tools":[{"name":"a","description":"evil"},{"name":"b"}]}`
	honest := pin(t, v, listing(t, ab), bundle)
	for name, change := range map[string]func(*lock.Server){
		"definition and digest":       func(s *lock.Server) { s.Pins[0].Definition = listing(t, forged).Definitions[0] },
		"unsigned":                    func(s *lock.Server) { *s = *unsigned(t, forged) },
		"definition and other signer": func(s *lock.Server) { *s = *pin(t, ruleFor(t, "", evil), listing(t, forged), evil.sign(t, forged)) },
		"definition and its own evidence": func(s *lock.Server) {
			s.Pins[0].Definition = listing(t, forged).Definitions[0]
			s.Evidence[0].Sequence = 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			edited := *honest
			edited.Pins, edited.Evidence = append([]lock.Pin(nil), honest.Pins...), append([]lock.Evidence(nil), honest.Evidence...)
			change(&edited)
			for _, bundles := range [][][]byte{{bundle}, {bundle, evil.sign(t, forged)}, {evil.sign(t, forged)}, nil} {
				r := ask(listing(t, forged), bundles...)
				r.Lock = formatted(t, &edited)
				d := v.Decide(r)
				if a := d.Results()[0]; a.Verdict != Deny {
					t.Errorf("the forged definition: %s", show(a))
				}
				if d.Allows(r.Listing.Definitions[0]) {
					t.Error("the forged definition is allowed")
				}
			}
		})
	}
	// A lower sequence in it opens no way back, if what was seen is known.
	lower := *honest
	lower.Evidence = []lock.Evidence{honest.Evidence[0]}
	lower.Evidence[0].Sequence = 1
	r := ask(listing(t, ab), p.sign(t, ab, sequence(50)))
	r.Lock, r.Seen = &lower, []HighWater{{Signer: p.signer(), Sequence: 100}}
	wantDiagnostics(t, v.Decide(r), Rollback)
	// Without a lock nothing is allowed either: someone must have approved it.
	if d := v.Decide(ask(listing(t, ab), bundle)); d.Err() == nil {
		t.Error("allowed without a lock")
	}
}

// A change of signer is for someone to approve, though the digest is the same
// and both may sign.
func TestChangeOfSigner(t *testing.T) {
	p, other := newPublisher(t), newPublisher(t)
	v := ruleFor(t, "", p, other)
	r := ask(listing(t, ab), other.sign(t, ab))
	r.Lock = pin(t, v, listing(t, ab), p.sign(t, ab))
	d := v.Decide(r)
	wantVerdicts(t, d, "tool:a undecided verified, wrong_signer; tool:b undecided verified, wrong_signer")
	if d.Err() == nil || d.SignedErr() != nil {
		t.Errorf("Err = %v, SignedErr = %v", d.Err(), d.SignedErr())
	}
	// It can be approved, and is allowed then.
	entry, err := d.Pin(r.Listing.Definitions...)
	if err != nil {
		t.Fatal(err)
	}
	r.Lock = formatted(t, entry)
	wantVerdicts(t, v.Decide(r), "tool:a allow verified; tool:b allow verified")
	// The signer who was recorded beside the other is enough.
	r.Lock = pin(t, v, listing(t, ab), p.sign(t, ab))
	r.Bundles = append(r.Bundles, p.sign(t, ab))
	wantVerdicts(t, v.Decide(r), "tool:a allow verified; tool:b allow verified")
	// By the built-in rule nobody but the signer recorded may sign.
	r.Bundles = [][]byte{other.sign(t, ab)}
	d = newVerifier(t, nil, trustKeys(p.key, other.key)).Decide(r)
	wantVerdicts(t, d, "tool:a deny wrong_signer; tool:b deny wrong_signer")
	if got, want := strings.Join(d.Expected(), ""), p.id; got != want {
		t.Errorf("expected %s, want %s", got, want)
	}
	if _, err := d.Pin(r.Listing.Definitions...); err == nil {
		t.Error("the new signer can be pinned by the built-in rule")
	}
}

// The same workflow at another tag is the same signer, another workflow or
// repository is not.
func TestSameSigner(t *testing.T) {
	s := newServices()
	release := func(repo, file, ref, id string) []byte {
		claims := sigtest.GitHub(repo, ".github/workflows/"+file, ref)
		claims["repository_id"] = id
		return keyless(t, s, claims, sigtest.WithRekorV1, statement(t, ab, sequence(101)))
	}
	policy := func(v *Verifier, bundle []byte) string {
		r := ask(listing(t, ab), bundle)
		r.Lock = pin(t, verifier(t, Trust{SigstoreRoot: s.TrustedRoot()}, workflow), listing(t, ab), keyless(t, s, acme(), sigtest.WithRekorV1, statement(t, ab)))
		return show(v.Decide(r).Results()[0])
	}
	builtin := newVerifier(t, nil, Trust{SigstoreRoot: s.TrustedRoot()})
	wide := verifier(t, Trust{SigstoreRoot: s.TrustedRoot()}, workflow,
		"github:acme/weather-mcp/.github/workflows/other.yml@refs/tags/v*", "github:acme/other/.github/workflows/release.yml@refs/tags/v*")
	for _, tt := range []struct{ name, repo, file, ref, id, wide, builtin string }{
		{"same tag", "acme/weather-mcp", "release.yml", "refs/tags/v1.4.2", "1001", "allow verified", "allow verified"},
		{"next tag", "acme/weather-mcp", "release.yml", "refs/tags/v2.0.0", "1001", "allow verified", "allow verified"},
		{"branch", "acme/weather-mcp", "release.yml", "refs/heads/main", "1001", "deny wrong_signer", "allow verified"},
		{"other workflow", "acme/weather-mcp", "other.yml", "refs/tags/v1.4.2", "1001", "undecided verified, wrong_signer", "deny wrong_signer"},
		{"other repository", "acme/other", "release.yml", "refs/tags/v1.4.2", "1001", "undecided verified, wrong_signer", "deny wrong_signer"},
		{"repository made anew", "acme/weather-mcp", "release.yml", "refs/tags/v1.4.2", "9999", "undecided verified, wrong_signer", "deny wrong_signer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bundle := release(tt.repo, tt.file, tt.ref, tt.id)
			if got := policy(wide, bundle); got != tt.wide {
				t.Errorf("by the policy: %s, want %s", got, tt.wide)
			}
			if got := policy(builtin, bundle); got != tt.builtin {
				t.Errorf("by the built-in rule: %s, want %s", got, tt.builtin)
			}
		})
	}
}

// By the built-in rule what was approved unsigned stays good beside what was
// signed, and nothing else does.
func TestMixedPins(t *testing.T) {
	p := newPublisher(t)
	bundle := p.sign(t, ab)
	entry := pin(t, ruleFor(t, "", p), listing(t, ab), bundle)
	entry.Pins = append(entry.Pins, unsigned(t, `{"tools":[{"name":"c"}]}`).Pins...)
	entry = formatted(t, entry)
	v := newVerifier(t, nil, trustKeys(p.key))
	r := ask(listing(t, abc), bundle)
	r.Lock = entry
	d := v.Decide(r)
	wantVerdicts(t, d, "tool:a allow verified; tool:b allow verified; tool:c allow pinned")
	if again, err := d.Pin(r.Listing.Definitions...); err != nil || !reflect.DeepEqual(formatted(t, again), entry) {
		t.Errorf("pinned again: %+v, %v", again, err)
	}
	r.Bundles = nil
	wantVerdicts(t, v.Decide(r), "tool:a deny unsigned; tool:b deny unsigned; tool:c allow pinned")
	r.Listing = listing(t, `{"tools":[{"name":"a"},{"name":"b"},{"name":"c","x":1}]}`)
	wantVerdicts(t, v.Decide(r), "tool:a deny unsigned; tool:b deny unsigned; tool:c deny drift, unsigned")
	wantVerdicts(t, ruleFor(t, "", p).Decide(r), "tool:a deny unsigned; tool:b deny unsigned; tool:c deny drift, unsigned")
}
