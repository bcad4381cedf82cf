package verify

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// A candidate is one of a pool, and what the test knows of it.
type candidate struct {
	der     []byte
	revokes bool
}

// candidates are of every kind: good, out of date, revoking before the
// signature and after, unknown, of others, broken.
func (p *pkiTest) candidates(t *testing.T) (pool []candidate, junk [][]byte) {
	leaf, issuing := p.leaf.Certificate(), p.issuing.Certificate
	for _, window := range [][2]int{{-1, 24}, {-48, -24}, {20, 48}} {
		from, till := hour(window[0]), hour(window[1])
		times := func(a *sigtest.OCSPAnswer) { a.ThisUpdate, a.NextUpdate = from, till }
		pool = append(pool,
			candidate{p.issuing.CRL(from, till, now).Raw, false}, candidate{p.root.CRL(from, till, now).Raw, false},
			candidate{p.answer(times), false},
			candidate{sigtest.OCSPAnswer{Issuer: p.root, Serials: serials(issuing), ThisUpdate: from, NextUpdate: till}.DER(), false},
			candidate{p.answer(times, func(a *sigtest.OCSPAnswer) { a.Unknown = true }), false},
			candidate{p.answer(times, func(a *sigtest.OCSPAnswer) { a.Revoked = hour(-1) }), true},
			candidate{p.issuing.CRL(from, till, hour(-1), leaf).Raw, true}, candidate{p.root.CRL(from, till, hour(-1), issuing).Raw, true},
			candidate{p.issuing.CRL(from, till, hour(1000), leaf).Raw, false},
		)
	}
	stranger := sigtest.NewCA("acme issuing")
	junk = append(junk, nil, []byte("junk"), leaf.Raw, stranger.CRL(hour(-1), hour(24), hour(-1), leaf).Raw,
		p.answer(func(a *sigtest.OCSPAnswer) { a.Issuer, a.Responder, a.Revoked = stranger, nil, hour(-1) }),
		p.answer(func(a *sigtest.OCSPAnswer) { a.Responder, a.Revoked = p.issuing.Responder(sigtest.EKU()), hour(-1) }),
		p.answer(func(a *sigtest.OCSPAnswer) { a.NextUpdate, a.Revoked = time.Time{}, hour(-1) }),
		p.answer(func(a *sigtest.OCSPAnswer) { a.Serials, a.Revoked = []*big.Int{big.NewInt(7)}, hour(-1) }))
	for _, c := range pool {
		broken := slices.Clone(c.der)
		broken[len(broken)-1] ^= 1
		junk = append(junk, broken)
	}
	return pool, junk
}

// Over many requests put together by chance: junk changes no verdict and no
// reason; what is added takes a yes away only if it revokes; what is taken away
// brings a yes only if it revoked.
func TestStatusChance(t *testing.T) {
	p := newPKI(t)
	pool, junk := p.candidates(t)
	verifiers := []*Verifier{
		p.verifier(t, "", nil), p.verifier(t, ", status: required", nil),
		p.verifier(t, ", crls: [a.crl]", p.issuing.CRL(hour(-1), hour(24), now)),
		p.verifier(t, ", crls: [a.crl]", p.issuing.CRL(hour(-48), hour(-24), now)),
		p.verifier(t, ", time: now, status: required", nil),
	}
	timed := p.bundle
	untimed := sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: p.leaf.Key, Chain: p.leaf.Chain}.Bundle()
	l := listing(t, abc)
	said := map[bool]int{}
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 0))
		v := verifiers[rng.IntN(len(verifiers))]
		r := ask(l, timed)
		if rng.IntN(3) == 0 {
			r.Bundles = [][]byte{untimed}
		}
		r.At = hour([]int{0, 0, 10, 22, 30}[rng.IntN(5)])
		revokes := false
		for _, i := range rng.Perm(len(pool))[:rng.IntN(5)] {
			r.Status = append(r.Status, pool[i].der)
			revokes = revokes || pool[i].revokes
		}
		yes := func(r Request) bool { return v.Decide(r).SignedErr() == nil }
		was := yes(r)
		said[was]++
		if was && revokes {
			t.Errorf("seed %d: a revoked certificate counts", seed)
		}
		noisy := r
		noisy.Status = slices.Clone(r.Status)
		for range rng.IntN(10) {
			noisy.Status = append(noisy.Status, junk[rng.IntN(len(junk))])
		}
		rng.Shuffle(len(noisy.Status), func(i, j int) { noisy.Status[i], noisy.Status[j] = noisy.Status[j], noisy.Status[i] })
		if a, b := verdicts(v.Decide(r)), verdicts(v.Decide(noisy)); a != b {
			t.Errorf("seed %d: %s with junk, %s without", seed, b, a)
		}
		more := r
		added := pool[rng.IntN(len(pool))]
		more.Status = append(slices.Clone(r.Status), added.der)
		if was && !yes(more) && !added.revokes {
			t.Errorf("seed %d: what does not revoke takes a yes away", seed)
		}
		for i := range r.Status {
			less := r
			less.Status = slices.Delete(slices.Clone(r.Status), i, i+1)
			gone := slices.IndexFunc(pool, func(c candidate) bool { return string(c.der) == string(r.Status[i]) })
			if !was && yes(less) && !pool[gone].revokes {
				t.Errorf("seed %d: without one that does not revoke it is a yes", seed)
			}
		}
	}
	if said[true] < 100 || said[false] < 100 {
		t.Error(fmt.Sprint("decisions are ", said))
	}
}

// Requests with the same candidates at the same time are decided alike.
func TestStatusTogether(t *testing.T) {
	p := newPKI(t)
	v := p.verifier(t, ", status: required", nil)
	r := ask(listing(t, abc), p.bundle)
	r.Status = [][]byte{p.answer(), p.rootAnswer(), []byte("junk")}
	want := verdicts(p.verifier(t, ", status: required", nil).Decide(r))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := verdicts(v.Decide(r)); got != want {
				t.Errorf("verdicts are %s, want %s", got, want)
			}
		})
	}
	all.Wait()
}

// What is out of date is told of what is newest, in whatever order it is known;
// a responder that does not know the certificate says less than any.
func TestOutdated(t *testing.T) {
	p := newPKI(t)
	l := newLink(p.leaf.Certificate(), p.issuing.Certificate)
	at := func(from int) *standing {
		return &standing{issuer: p.issuing.Certificate, from: hour(from), till: hour(from + 1)}
	}
	unknown := at(-1)
	unknown.unknown = true
	old, newer := at(-30), at(-20)
	for _, tt := range []struct {
		name     string
		required bool
		known    []*standing
		text     string // empty: something is up to date
	}{
		{"nothing", false, nil, "there is no revocation list by CN=acme issuing"},
		{"nothing, and it is required", true, nil, "there is no revocation list and no OCSP response by CN=acme issuing"},
		{"the newer last", false, []*standing{old, newer}, newer.String()},
		{"the newer first", false, []*standing{newer, old}, newer.String()},
		{"an unknown one", true, []*standing{unknown}, "does not know certificate"},
		{"an unknown one first", false, []*standing{unknown, old}, old.String()},
		{"an unknown one last", false, []*standing{old, unknown}, old.String()},
		{"an unknown one between", false, []*standing{old, unknown, newer}, newer.String()},
		{"one that is up to date", true, []*standing{unknown, old, at(0)}, ""},
	} {
		no := counted{evidence: &evidence{domain: &domain{required: tt.required}}}.outdated(l, tt.known, now)
		switch {
		case tt.text == "" && no != nil:
			t.Errorf("%s: %v", tt.name, no.err)
		case tt.text != "" && (no == nil || no.reason != TrustMissing || !strings.Contains(no.err.Error(), tt.text)):
			t.Errorf("%s: %v, want %q", tt.name, no, tt.text)
		}
	}
}

// Of several that revoke a certificate the one of the longest time is named, in
// whatever order they are known.
func TestRevokedBefore(t *testing.T) {
	long, short, after, good := &standing{revoked: true, since: hour(-3)}, &standing{revoked: true, since: hour(-1)}, &standing{revoked: true, since: hour(1)}, &standing{since: hour(-9)}
	signed := []time.Time{hour(0)}
	for _, tt := range []struct {
		name  string
		known []*standing
		times []time.Time
		want  *standing
	}{
		{"nothing", nil, signed, nil},
		{"the longer last", []*standing{good, after, short, long}, signed, long},
		{"the longer first", []*standing{long, short, after, good}, signed, long},
		{"after it signed alone", []*standing{good, after}, signed, nil},
		{"one of two times", []*standing{short}, []time.Time{hour(-2), hour(0)}, short},
		{"at a time that is not known", []*standing{good, after}, nil, after},
	} {
		if got := revokedBefore(tt.known, tt.times); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
