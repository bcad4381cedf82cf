package verify

import (
	"crypto/ed25519"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
)

// fixedKey is the same in every run, and so is what it signs.
var fixedKey = ed25519.NewKeyFromSeed([]byte("a key of which everybody knows.."))

// Whatever byte of a bundle is changed: it is refused, or it is the same
// statement by the same signer.
func TestMangle(t *testing.T) {
	st := statement(t, `{"tools":[{"name":"a"}]}`)
	good := byKey(t, fixedKey, st)
	v := verifier(t, trustKeys(fixedKey), "key:"+keyID(t, fixedKey))
	want, err := v.Signer(good)
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	try := func(bundle []byte) {
		c := v.material.verify(bundle, v.material.domain)
		e, bad := c.evidence, c.bad
		if bad != nil {
			return
		}
		accepted++
		if e.signer != want || string(e.statement.Bytes()) != string(st.Bytes()) {
			t.Errorf("%s\nis %s by %s", bundle, e.statement.Bytes(), e.signer)
		}
	}
	for i := range good {
		for _, c := range []byte{good[i] ^ 1, good[i] ^ 0x20, good[i] ^ 0x80, 0, ' ', '"', '\\', 'A', '0', '}', ','} {
			try(slices.Concat(good[:i], []byte{c}, good[i+1:]))
		}
		try(slices.Concat(good[:i], good[i+1:]))
		try(slices.Concat(good[:i], good[i:i+1], good[i:]))
		try(slices.Concat(good[:i], []byte(" "), good[i:]))
		try(good[:i])
	}
	if accepted < 50 {
		t.Errorf("only %d of the mangled bundles verify: white space may be added anywhere", accepted)
	}
}

// A made is a bundle of which the test knows what is in it.
type made struct {
	bundle []byte
	signer lock.Signer // zero for junk
	st     *attest.Statement
}

// Over many requests put together by chance: what is allowed was signed, is
// covered by the newest acceptable statement of its signer, and is pinned.
// Junk, and evidence by others or for others, changes nothing.
func TestChance(t *testing.T) {
	p, second, other := newPublisher(t), newPublisher(t), newPublisher(t)
	listings := []string{
		`{"tools":[{"name":"a"}]}`, ab, abc,
		`{"tools":[{"name":"a","x":1},{"name":"b"}]}`, `{"tools":[{"name":"b"},{"name":"c"},{"name":"d"}]}`,
	}
	var pool, noise []made
	for _, by := range []publisher{p, second, other} {
		for i, text := range listings {
			for _, n := range []uint64{5, 6} {
				st := statement(t, text, sequence(n), variant([]string{"", "v"}[i%2]), func(r *attest.Release) { r.Complete = n == 6 })
				m := made{byKey(t, by.key, st), by.signer(), st}
				if by.id == other.id {
					noise = append(noise, made{bundle: m.bundle})
				} else {
					pool = append(pool, m)
				}
			}
		}
	}
	noise = append(noise, made{bundle: []byte("junk")}, made{bundle: nil},
		made{bundle: p.sign(t, abc, server("elsewhere"))},
		made{bundle: edit(p.sign(t, abc), func(b *protobundle.Bundle) { b.GetDsseEnvelope().Payload[9]++ })})
	verifiers := []*Verifier{ruleFor(t, "", p, second), ruleFor(t, complete1, p, second), ruleFor(t, block, p, second)}
	locks := []*lock.Server{nil, unsigned(t, ab), unsigned(t, abc),
		pin(t, verifiers[0], listing(t, ab), p.sign(t, ab, sequence(5))),
		pin(t, verifiers[0], listing(t, abc), second.sign(t, abc, sequence(6)), p.sign(t, abc, variant("v"), sequence(4)))}
	seen := [][]HighWater{nil, {{Signer: p.signer(), Sequence: 6}}, {{Signer: second.signer(), Sequence: 7}}, {{Signer: p.signer(), Sequence: 5}, {Signer: other.signer(), Sequence: 1000}}}

	allowed := 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 0))
		v := verifiers[rng.IntN(len(verifiers))]
		chosen := rng.Perm(len(pool))[:rng.IntN(4)]
		var have []made
		r := ask(listing(t, listings[rng.IntN(len(listings))]))
		r.Lock, r.Seen = locks[rng.IntN(len(locks))], seen[rng.IntN(len(seen))]
		for _, i := range chosen {
			have = append(have, pool[i])
			r.Bundles = append(r.Bundles, pool[i].bundle)
		}
		d := v.Decide(r)
		for _, x := range r.Listing.Definitions {
			if d.Allows(x) {
				allowed++
				checkAllowed(t, fmt.Sprintf("seed %d: %s", seed, x.ID()), x, r, have)
			}
		}
		with := r
		with.Bundles = slices.Clone(r.Bundles)
		for _, m := range noise[:rng.IntN(len(noise))] {
			with.Bundles = append(with.Bundles, m.bundle)
		}
		noisy := v.Decide(with)
		for i, x := range noisy.Results() {
			// Why a definition is denied may be said otherwise, nothing else.
			was := d.Results()[i]
			if x.Verdict == Deny && was.Verdict == Deny {
				x.Reasons, was.Reasons = nil, nil
			}
			if !reflect.DeepEqual(x, was) {
				t.Errorf("seed %d: %s with noise, %s without", seed, show(x), show(was))
			}
		}
		if !reflect.DeepEqual(noisy.HighWater(), d.HighWater()) {
			t.Errorf("seed %d: %v with noise, %v without", seed, noisy.HighWater(), d.HighWater())
		}
	}
	if allowed < 100 {
		t.Errorf("only %d definitions were allowed", allowed)
	}
}

// checkAllowed checks that there is a reason to allow x.
func checkAllowed(t *testing.T, what string, x lock.Definition, r Request, have []made) {
	t.Helper()
	if r.Lock == nil || !slices.ContainsFunc(r.Lock.Pin(x.Kind(), x.Name()), func(p lock.Pin) bool { return p.Definition.Digest() == x.Digest() }) {
		t.Errorf("%s is not pinned", what)
	}
	floor := func(s lock.Signer) (n uint64) {
		for _, h := range r.Seen {
			if h.Signer == s {
				n = max(n, h.Sequence)
			}
		}
		for _, e := range r.Lock.Evidence {
			if e.Signer == s {
				n = max(n, e.Sequence)
			}
		}
		return n
	}
	covers := func(m made) bool {
		s, ok := m.st.Find(x.Kind(), x.Name())
		if !ok || s.Digest != x.Digest() || m.st.Release().Sequence < floor(m.signer) {
			return false
		}
		for _, n := range have {
			if n.signer == m.signer && n.st.Release().Sequence > m.st.Release().Sequence {
				return false
			}
		}
		return true
	}
	if !slices.ContainsFunc(have, covers) {
		t.Errorf("%s is not covered by the newest statement of anyone", what)
	}
}

// From a decision that says yes, removing any bundle says yes to nothing more,
// and junk takes no yes away.
func TestRemove(t *testing.T) {
	s := newServices()
	p, second := newPublisher(t), newPublisher(t)
	trust := trustKeys(p.key, second.key)
	trust.SigstoreRoot = s.TrustedRoot()
	v := verifier(t, trust, p.id, second.id, workflow)
	bundles := [][]byte{
		p.sign(t, ab), second.sign(t, abc, variant("x")),
		keyless(t, s, acme(), sigtest.WithRekorV1, statement(t, `{"tools":[{"name":"c"}]}`)),
		signed(t, statement(t, ab))(sign.Key(p.key, services(s, sigtest.WithTSA))),
		[]byte("junk"),
	}
	r := ask(listing(t, abc), bundles...)
	r.Lock = pin(t, v, r.Listing, bundles...)
	all := v.Decide(r)
	if err := all.Err(); err != nil {
		t.Fatal(err)
	}
	lost := 0
	for drop := range 1 << len(bundles) {
		r.Bundles = nil
		for i, b := range bundles {
			if drop>>i&1 == 0 {
				r.Bundles = append(r.Bundles, b)
			}
		}
		d := v.Decide(r)
		for i, x := range d.Results() {
			before := all.Results()[i]
			if x.Verdict > before.Verdict || len(x.Signers) > len(before.Signers) {
				t.Errorf("without %b: %s, and with all: %s", drop, show(x), show(before))
			}
			if x.Verdict != Allow {
				lost++
			}
		}
	}
	if lost == 0 {
		t.Error("no bundle was needed")
	}
}
