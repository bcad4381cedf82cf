package verify

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// explained writes explanations in short.
func explained(xs []Explanation) string {
	var b strings.Builder
	for _, x := range xs {
		fmt.Fprintf(&b, "%s %d: %s\n", x.Policy, x.Line, show(x.Result))
		for _, n := range x.Needs {
			fmt.Fprintf(&b, "  %s %v: %s\n", n.Code, n.Met, n.Want)
			for _, f := range n.Found {
				fmt.Fprintf(&b, "    %v: %s\n", f.Counts, f.Text)
			}
		}
	}
	return b.String()
}

// What a rule asks for, what there is of it, and what is missing.
func TestExplain(t *testing.T) {
	p, second, reviewer, builder, security := newPublisher(t), newPublisher(t), newPublisher(t), newPublisher(t), newPublisher(t)
	names := strings.NewReplacer(p.id, "P", second.id, "SECOND", reviewer.id, "REVIEWER", builder.id, "BUILDER", security.id, "SECURITY")
	text := "version: 1\nrevokers: [\"" + security.id + `"]
rules:
  - servers: [elsewhere]
    pinnedOnly: x
  - servers: [io.github.acme/*]
    signedBy: ["` + p.id + `", "` + second.id + `"]
    need: 2
    bindSource: true
    updates: accept
    approvals: {from: ["` + reviewer.id + `"], audience: production}
    attested: [{type: "https://example.com/scan", by: ["` + builder.id + `"], maxAge: 2d, where: {pointer: /result, oneOf: [good, 1]}}]
`
	trust := trustKeys(p.key, second.key, reviewer.key, builder.key, security.key)
	v := newVerifier(t, policy(t, text), trust)
	named := func(r *attest.Release) { r.PURLs = []string{"pkg:npm/weather"} }
	approval, err := attest.Approve(listing(t, `{"tools":[{"name":"a"}]}`).Definitions, attest.Approval{Server: weather, Audience: "production", IssuedAt: now, ExpiresAt: now.AddDate(1, 0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	scan, err := attest.Foreign(listing(t, ab).Definitions, "https://example.com/scan", []byte(`{"result":"good"}`))
	if err != nil {
		t.Fatal(err)
	}
	expired := second.sign(t, abc, expires(now.Add(time.Second)))
	attested := byKey(t, builder.key, scan)
	r := ask(listing(t, abc), p.sign(t, ab, named), second.sign(t, ab, sequence(7), variant("linux")), byKey(t, reviewer.key, approval), attested, expired)
	r.At = now.Add(time.Minute)
	r.Source = lock.Source{Command: []string{"npx", "weather"}}
	r.Lock = pin(t, ruleFor(t, "", p, second), listing(t, `{"tools":[{"name":"a"}]}`), p.sign(t, `{"tools":[{"name":"a"}]}`))
	r.Lock.Source = lock.Source{Command: []string{"npx", "other"}}
	r.Revocations = [][]byte{security.revokes(t, 1, definitions(t, `{"tools":[{"name":"b"}]}`))}
	d := v.Decide(r)
	id := func(b []byte) string { return lock.Digest(sha256.Sum256(b)).String() }

	check := func(name, want string) {
		t.Helper()
		got := names.Replace(explained(d.Explain(lock.Tool, name)))
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		checkShown(t, strings.ReplaceAll(got, "\n", " "))
	}
	check("a", `policy.yaml 6: deny attestation_missing
  unrevoked true: not revoked by SECURITY
  signatures true: 2 of P, SECOND
    true: P, sequence 100 of 2026-11-30T12:00:00Z
    true: SECOND, sequence 7 of 2026-11-30T12:00:00Z, variant linux
    false: bundle `+id(expired)+`: expired: the statement expired at 2026-11-30T12:00:01Z
  attestation false: https://example.com/scan by BUILDER, at most 48 hours old, where /result is "good" or 1
    false: bundle `+id(attested)+`: expired: neither a timestamp nor the attestation says how old it is
  approvals true: 1 of REVIEWER for production
    true: REVIEWER
  source false: a launch that the release names, and the launch that was approved: npx other
    true: the release names pkg:npm/weather
    false: launched as npx weather
  pin true: pinned as it is, or changed by a later release of those who signed the pin
    true: pinned with `+listing(t, ab).Definitions[0].Digest().String()+`
`)
	check("b", `policy.yaml 6: deny revoked
  unrevoked false: not revoked by SECURITY
    false: revoked: sends what it reads
  signatures false: 2 of P, SECOND
    false: P, sequence 100 of 2026-11-30T12:00:00Z: the definition is revoked: sends what it reads
    false: SECOND, sequence 7 of 2026-11-30T12:00:00Z, variant linux: the definition is revoked: sends what it reads
    false: bundle `+id(expired)+`: expired: the statement expired at 2026-11-30T12:00:01Z
  attestation false: https://example.com/scan by BUILDER, at most 48 hours old, where /result is "good" or 1
    false: bundle `+id(attested)+`: expired: neither a timestamp nor the attestation says how old it is
  approvals false: 1 of REVIEWER for production
    false: REVIEWER: not about it
  source false: a launch that the release names, and the launch that was approved: npx other
    false: launched as npx weather
  pin false: pinned as it is, or changed by a later release of those who signed the pin
`)
	if got := names.Replace(explained(d.Explain(lock.Tool, "c"))); !strings.Contains(got, "signatures false: 2 of P, SECOND\n    false: P, sequence 100 of 2026-11-30T12:00:00Z: does not name it\n") {
		t.Errorf("c:\n%s", got)
	}
	if got := d.Explain(lock.Tool, "z"); got != nil {
		t.Errorf("z: %+v", got)
	}
	if got := (&Decision{}).Explain(lock.Tool, "a"); got != nil {
		t.Errorf("of nothing: %+v", got)
	}

	// Without a rule, without a digest, by the built-in rule, by two policies.
	r.Server, r.Lock = "nowhere", nil
	d = v.Decide(r)
	check("a", " 0: deny no_rule\n")
	bad := ask(listing(t, `{"tools":[{"name":"a","n":1e400}]}`))
	d = newVerifier(t, nil, Trust{}).Decide(bad)
	check("a", " 0: deny no_digest\n")
	d = newVerifier(t, nil, Trust{}).Decide(ask(listing(t, ab)))
	check("a", " 0: undecided not_locked\n  pin false: pinned as it is\n")
	pinned := policy(t, "version: 1\nrules:\n  - {servers: [\"**\"], pinnedOnly: x}\n")
	d = newVerifier(t, pinned, Trust{}, pinned).Decide(ask(listing(t, ab)))
	check("a", strings.Repeat("policy.yaml 3: undecided not_locked\n  pin false: pinned as it is\n", 2))
}

// A launch that differs in its surroundings alone is explained by these.
func TestExplainSurroundings(t *testing.T) {
	r := ask(listing(t, ab))
	r.Lock = unsigned(t, ab)
	r.Lock.Source = lock.Source{Client: "cursor/weather", Command: []string{"npx", "weather"}}
	r.Source = lock.Source{Client: "cursor/weather", Command: []string{"npx", "weather"}, Dir: "s\u202eub", Env: []string{"ACME_KEY", "TZ"}}
	got := explained(newVerifier(t, nil, Trust{}).Decide(r).Explain(lock.Tool, "a"))
	for _, want := range []string{
		"source false: the launch that was approved: npx weather\n",
		"launched as npx weather, in s\\u{202e}ub, with the environment ACME_KEY, TZ\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	r.Lock.Source, r.Source = lock.Source{URL: "https://a.example/one"}, lock.Source{URL: "https://a.example/two"}
	if got := explained(newVerifier(t, nil, Trust{}).Decide(r).Explain(lock.Tool, "a")); !strings.Contains(got, "approved: https://a.example/one\n") || !strings.Contains(got, "as https://a.example/two\n") {
		t.Errorf("got %s", got)
	}
}

// A need that is not met keeps a definition from being allowed, and one that is
// denied or undecided has such a need.
func TestExplainAgrees(t *testing.T) {
	g := newGenerator(t)
	explained := 0
	for seed := range uint64(600) {
		v, r := g.request(t, rand.New(rand.NewPCG(seed, 3)))
		d := v.Decide(r)
		if len(d.parts) > 0 || d.Err() != nil && len(d.Explain(lock.Tool, "a")) > 0 && d.Results()[0].Has(TrustMissing) {
			continue
		}
		for _, x := range d.Results() {
			for _, e := range d.Explain(x.Kind, x.Name) {
				met := true
				for _, n := range e.Needs {
					met = met && n.Met
				}
				if len(e.Needs) > 0 && !x.Has(Blocked) && met != (x.Verdict == Allow) {
					t.Errorf("seed %d: %s %s, and needs %+v", seed, x.Name, show(x), e.Needs)
				}
				explained++
			}
		}
	}
	if explained < 500 {
		t.Errorf("only %d explanations", explained)
	}
}

// By the rule of the lockfile a definition that was approved unsigned, beside one
// that is signed, needs no signature, and the explanation asks for none.
func TestExplainUnsignedPin(t *testing.T) {
	const one = `{"tools":[{"name":"a"}]}`
	p := newPublisher(t)
	bundle := p.sign(t, one)
	entry, err := ruleFor(t, "", p).Decide(ask(listing(t, one), bundle)).Pin(listing(t, one).Definitions...)
	if err != nil {
		t.Fatal(err)
	}
	both := listing(t, ab)
	for _, x := range both.Definitions {
		if x.Name() == "b" {
			entry.Pins = append(entry.Pins, lock.Pin{Definition: x, Unsigned: true})
		}
	}
	r := ask(both, bundle)
	r.Lock = formatted(t, entry)
	d := newVerifier(t, nil, trustKeys(p.key)).Decide(r)
	wantVerdicts(t, d, "tool:a allow verified; tool:b allow pinned")
	checkDecision(t, d, r)
}
