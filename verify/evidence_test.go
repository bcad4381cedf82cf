package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// A generator puts requests together by chance, from evidence of every kind.
type generator struct {
	verifiers []*Verifier
	locks     []*lock.Server
	listings  []string
	sources   []lock.Source
	pool      [][]byte // releases, approvals, attestations by those who may
	lists     [][]byte // revocation lists by those who may
	junk      [][]byte
}

func newGenerator(t *testing.T) *generator {
	p, second, reviewer, builder, security, evil := newPublisher(t), newPublisher(t), newPublisher(t), newPublisher(t), newPublisher(t), newPublisher(t)
	const x = `{"tools":[{"name":"a","x":1},{"name":"b"}]}`
	g := &generator{
		listings: []string{`{"tools":[{"name":"a"}]}`, ab, abc, x},
		sources:  []lock.Source{{}, {Command: []string{"npx", "weather"}}, {Command: []string{"npx", "evil"}}},
	}
	named := func(r *attest.Release) { r.PURLs = []string{"pkg:npm/weather"} }
	approve := func(by publisher, text, audience string) []byte {
		st, err := attest.Approve(listing(t, text).Definitions, attest.Approval{Server: weather, Audience: audience, IssuedAt: now, ExpiresAt: now.AddDate(1, 0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		return byKey(t, by.key, st)
	}
	provenance := func(by publisher, text, predicate string) []byte {
		st, err := attest.Foreign(listing(t, text).Definitions, "https://slsa.dev/provenance/v1", []byte(predicate))
		if err != nil {
			t.Fatal(err)
		}
		return byKey(t, by.key, st)
	}
	for k, text := range g.listings {
		for i, by := range []publisher{p, second} {
			for _, n := range []uint64{uint64(2*k + 5), uint64(2*k + 6)} {
				g.pool = append(g.pool, by.sign(t, text, sequence(n), named, variant([]string{"", "v"}[i])))
			}
		}
		g.pool = append(g.pool, approve(reviewer, text, "production"), provenance(builder, text, `{"good":true}`))
		g.junk = append(g.junk, evil.sign(t, text, sequence(9)), p.sign(t, text, sequence(9), server("elsewhere")),
			approve(reviewer, text, "test"), approve(p, text, "production"), provenance(builder, text, `{"good":false}`), provenance(evil, text, `{"good":true}`))
		g.lists = append(g.lists, p.revokes(t, uint64(len(g.lists)+1), statements(t, g.pool[len(g.pool)-6])), security.revokes(t, uint64(len(g.lists)+1), definitions(t, text)[:1]))
	}
	g.pool = append(g.pool, p.sign(t, `{"tools":[{"name":"z"}]}`, sequence(8), named)) // contradicts another
	g.junk = append(g.junk, []byte("junk"), nil, evil.revokes(t, 9, definitions(t, abc)), second.revokes(t, 9, definitions(t, abc), func(r *attest.Revocation) { r.Servers = []string{"elsewhere"} }))

	trust := trustKeys(p.key, second.key, reviewer.key, builder.key, security.key, evil.key)
	both := `signedBy: ["` + p.id + `", "` + second.id + `"]`
	approvals := `, approvals: {from: ["` + reviewer.id + `"], audience: production}`
	attested := `, attested: [{type: "https://slsa.dev/provenance/v1", by: ["` + builder.id + `"], where: {pointer: /good, equals: true}}]`
	for _, rule := range []string{
		both, both + ", need: 2", both + ", updates: accept", both + ", refuse: block", both + ", bindSource: true", both + approvals, both + attested,
		both + ", need: 2, updates: accept, listing: complete" + approvals + attested, "pinnedOnly: x", "pinnedOnly: x" + approvals,
	} {
		text := "version: 1\nrevokers: [\"" + security.id + "\"]\nrules: [{servers: [" + weather + "], " + rule + "}]\n"
		g.verifiers = append(g.verifiers, newVerifier(t, policy(t, text), trust))
	}
	g.verifiers = append(g.verifiers, newVerifier(t, nil, trust),
		newVerifier(t, policy(t, "version: 1\nrules: [{servers: [\"**\"], pinnedOnly: x}]\n"), trust, policy(t, "version: 1\nrules: [{servers: ["+weather+"], "+both+"}]\n")))
	first := g.verifiers[0]
	g.locks = []*lock.Server{nil, unsigned(t, ab), pin(t, first, listing(t, ab), p.sign(t, ab, sequence(4))),
		pin(t, first, listing(t, ab), p.sign(t, ab, sequence(4)), second.sign(t, ab, sequence(4), variant("v"))),
		pin(t, first, listing(t, abc), p.sign(t, abc, sequence(4)))}
	g.locks[2].Source = g.sources[1]
	return g
}

func (g *generator) request(t *testing.T, rng *rand.Rand) (*Verifier, Request) {
	r := ask(listing(t, g.listings[rng.IntN(len(g.listings))]))
	r.Lock, r.Source = g.locks[rng.IntN(len(g.locks))], g.sources[rng.IntN(len(g.sources))]
	for _, i := range rng.Perm(len(g.pool))[:rng.IntN(13)] {
		r.Bundles = append(r.Bundles, g.pool[i])
	}
	if rng.IntN(3) == 0 {
		l := g.lists[rng.IntN(len(g.lists))]
		if rng.IntN(2) == 0 {
			r.Revocations = [][]byte{l}
		} else {
			r.Bundles = append(r.Bundles, l)
		}
	}
	return g.verifiers[rng.IntN(len(g.verifiers))], r
}

// allowed returns what a decision allows.
func allowed(d *Decision, l *lock.Listing) []string {
	var ids []string
	for _, x := range l.Definitions {
		if d.Allows(x) {
			ids = append(ids, x.ID())
		}
	}
	return ids
}

// moreThan returns what is in a and not in b.
func moreThan(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(id string) bool { return slices.Contains(b, id) })
}

// remember adds to a request what its decision left behind.
func remember(r Request, d *Decision) Request {
	r.Seen = append(slices.Clone(r.Seen), d.HighWater()...)
	r.SeenLists = append(slices.Clone(r.SeenLists), d.Lists()...)
	if t := d.Latest(); t.After(r.Latest) {
		r.Latest = t
	}
	return r
}

// Junk takes no yes away and brings none. Evidence that is taken away, or of
// which any byte is changed, brings no yes either, if what was seen with it is
// known.
func TestMonotone(t *testing.T) {
	g := newGenerator(t)
	yes, lost, mangled, withLists, contradicting := 0, 0, 0, 0, 0
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		v, r := g.request(t, rng)
		d := v.Decide(r)
		have := allowed(d, r.Listing)
		if yes += len(have); len(have) > 0 {
			checkDecision(t, d, r)
		}
		if len(d.Lists()) > 0 {
			withLists++
		}
		if slices.ContainsFunc(d.Diagnostics(), func(x Diagnostic) bool { return x.Reason == Equivocation }) {
			contradicting++
		}
		say := func(what string, d2 *Decision) string {
			return fmt.Sprintf("seed %d, %s: %s\nwas %s", seed, what, verdicts(d2), verdicts(d))
		}

		noisy := r
		noisy.Bundles = append(slices.Clone(r.Bundles), g.junk[:rng.IntN(len(g.junk)+1)]...)
		rng.Shuffle(len(noisy.Bundles), func(i, j int) {
			noisy.Bundles[i], noisy.Bundles[j] = noisy.Bundles[j], noisy.Bundles[i]
		})
		if with := v.Decide(noisy); !slices.Equal(allowed(with, r.Listing), have) || (with.Err() == nil) != (d.Err() == nil) {
			t.Error(say("with junk", with))
		}
		for i := range r.Bundles {
			less := remember(r, d)
			less.Bundles = slices.Delete(slices.Clone(r.Bundles), i, i+1)
			without := v.Decide(less)
			if more := moreThan(allowed(without, r.Listing), have); len(more) > 0 || d.Err() != nil && without.Err() == nil {
				t.Error(say(fmt.Sprintf("without bundle %d", i), without))
			}
			if len(allowed(without, r.Listing)) < len(have) {
				lost++
			}
		}
		if len(r.Revocations) > 0 {
			less := remember(r, d)
			less.Revocations = nil
			if without := v.Decide(less); len(moreThan(allowed(without, r.Listing), have)) > 0 {
				t.Error(say("without the revocation list", without))
			}
		}
		if len(r.Bundles) == 0 || seed%5 != 0 {
			continue
		}
		i := rng.IntN(len(r.Bundles))
		at := rng.IntN(len(r.Bundles[i]))
		less := remember(r, d)
		less.Bundles = slices.Clone(r.Bundles)
		less.Bundles[i] = slices.Clone(r.Bundles[i])
		less.Bundles[i][at] ^= byte(1 << rng.IntN(8))
		without := v.Decide(less)
		if more := moreThan(allowed(without, r.Listing), have); len(more) > 0 {
			t.Error(say(fmt.Sprintf("byte %d of bundle %d changed", at, i), without))
		}
		if len(allowed(without, r.Listing)) < len(have) {
			mangled++
		}
	}
	if yes < 1000 || lost < 300 || mangled < 20 || withLists < 300 || contradicting < 20 {
		t.Errorf("%d were allowed, %d lost, %d mangled, %d with lists, %d contradicting: too few to say anything", yes, lost, mangled, withLists, contradicting)
	}
	t.Logf("%d allowed, %d lost, %d mangled, %d with lists, %d contradicting", yes, lost, mangled, withLists, contradicting)
}

// The lock can only forbid under a rule that asks for signatures: whatever is
// taken out of it brings no yes.
func TestMonotoneLock(t *testing.T) {
	g := newGenerator(t)
	tried := 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 2))
		v, r := g.request(t, rng)
		d := v.Decide(r)
		if r.Lock == nil || !strings.Contains(strings.Join(d.Expected(), ""), "key:") {
			continue
		}
		have := allowed(d, r.Listing)
		for i := range r.Lock.Pins {
			less, entry := remember(r, d), *r.Lock
			entry.Pins = slices.Delete(slices.Clone(entry.Pins), i, i+1)
			less.Lock = &entry
			if more := moreThan(allowed(v.Decide(less), r.Listing), have); len(more) > 0 {
				t.Errorf("seed %d: %v without pin %d", seed, more, i)
			}
			tried++
		}
		for i := range r.Lock.Evidence {
			less, entry := remember(r, d), *r.Lock
			entry.Evidence = slices.Delete(slices.Clone(entry.Evidence), i, i+1)
			less.Lock = &entry
			without := v.Decide(less)
			if more := moreThan(allowed(without, r.Listing), have); len(more) > 0 {
				t.Errorf("seed %d: %v without evidence %d: %s, was %s", seed, more, i, verdicts(without), verdicts(d))
			}
			tried++
		}
	}
	if tried < 500 {
		t.Errorf("only %d were tried", tried)
	}
}
