package verify

import (
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

// With updates accept a changed definition passes that is of a later release of
// the same publisher, and nothing else does.
func TestUpdates(t *testing.T) {
	p, other := newPublisher(t), newPublisher(t)
	const old = `{"tools":[{"name":"a","description":"x"},{"name":"b","annotations":{"readOnlyHint":true}}],"prompts":[{"name":"p"}],"instructions":"Be kind."}`
	const changed = `{"tools":[{"name":"a","description":"y"},{"name":"b","annotations":{"readOnlyHint":true}}],"prompts":[{"name":"p"}],"instructions":"Be kind."}`
	const rest = "prompt:p allow verified; tool:a A; tool:b allow verified"
	for _, tt := range []struct {
		name    string
		listing string
		bundles [][]byte
		want    string // by accept
		hold    string // empty: as for accept
	}{
		{"nothing changed", old, [][]byte{p.sign(t, old)}, "instructions: allow verified; " + strings.Replace(rest, "A", "allow verified", 1), ""},
		{"nothing changed in the next release", old, [][]byte{p.sign(t, old, sequence(101))}, "instructions: allow verified; " + strings.Replace(rest, "A", "allow verified", 1), ""},
		{"changed", changed, [][]byte{p.sign(t, changed, sequence(101))},
			"instructions: allow verified; " + strings.Replace(rest, "A", "allow verified, updated", 1),
			"instructions: allow verified; " + strings.Replace(rest, "A", "undecided verified, drift", 1)},
		{"changed, the same sequence", changed, [][]byte{p.sign(t, changed)}, "instructions: allow verified; " + strings.Replace(rest, "A", "undecided verified, drift", 1), ""},
		{"changed, a lower sequence", changed, [][]byte{p.sign(t, changed, sequence(99))}, "instructions: deny rollback; prompt:p deny rollback; tool:a deny drift, rollback; tool:b deny rollback", ""},
		{"changed, another variant", changed, [][]byte{p.sign(t, changed, sequence(101), variant("x"))},
			"instructions: allow verified; " + strings.Replace(rest, "A", "undecided verified, drift", 1), ""},
		{"changed, by another who may sign", changed, [][]byte{other.sign(t, changed, sequence(101))},
			"instructions: undecided verified, wrong_signer; prompt:p undecided verified, wrong_signer; tool:a undecided verified, drift; tool:b undecided verified, wrong_signer", ""},
		{"changed, not signed", changed, [][]byte{p.sign(t, old, sequence(101))}, "instructions: allow verified; " + strings.Replace(rest, "A", "deny drift", 1), ""},
		{"new", `{"tools":[{"name":"z"}]}`, [][]byte{p.sign(t, `{"tools":[{"name":"z"}]}`, sequence(101))}, "tool:z undecided verified, not_locked", ""},
		{"instructions changed", `{"tools":[],"instructions":"Be evil."}`, [][]byte{p.sign(t, `{"instructions":"Be evil."}`, sequence(101))}, "instructions: undecided verified, drift", ""},
		{"annotation loosened", `{"tools":[{"name":"b","annotations":{"readOnlyHint":false}}]}`, [][]byte{p.sign(t, `{"tools":[{"name":"b","annotations":{"readOnlyHint":false}}]}`, sequence(101))}, "tool:b undecided verified, drift", ""},
		{"annotation gone", `{"tools":[{"name":"b"}]}`, [][]byte{p.sign(t, `{"tools":[{"name":"b"}]}`, sequence(101))}, "tool:b undecided verified, drift", ""},
		{"annotation gone beside other changes", `{"tools":[{"name":"b","description":"z"}]}`, [][]byte{p.sign(t, `{"tools":[{"name":"b","description":"z"}]}`, sequence(101))}, "tool:b undecided verified, drift", ""},
		{"annotation tightened", `{"tools":[{"name":"b","annotations":{"readOnlyHint":true,"destructiveHint":false}}]}`,
			[][]byte{p.sign(t, `{"tools":[{"name":"b","annotations":{"readOnlyHint":true,"destructiveHint":false}}]}`, sequence(101))}, "tool:b allow verified, updated", "tool:b undecided verified, drift"},
		{"more differences than can be told apart", large(), [][]byte{p.sign(t, large(), sequence(101))}, "tool:a undecided verified, drift", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			accept, hold := ruleFor(t, "    updates: accept\n", p, other), ruleFor(t, "    updates: hold\n", p, other)
			r := ask(listing(t, tt.listing), tt.bundles...)
			r.Lock = formatted(t, pin(t, accept, listing(t, old), p.sign(t, old)))
			d := accept.Decide(r)
			wantVerdicts(t, d, tt.want)
			checkDecision(t, d, r)
			// And again, with what it left behind.
			if r.Seen = d.HighWater(); len(r.Seen) > 0 {
				wantVerdicts(t, accept.Decide(r), tt.want)
			}
			r.Seen = nil
			if tt.hold == "" {
				tt.hold = tt.want
			}
			wantVerdicts(t, hold.Decide(r), tt.hold)
		})
	}
}

// large is a tool with more changes than are told apart.
func large() string {
	var b strings.Builder
	b.WriteString(`{"tools":[{"name":"a","description":"x","inputSchema":{"type":"object","properties":{`)
	for i := range 1200 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"p` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676)) + `":{"type":"string","description":"d"}`)
	}
	b.WriteString(`}}}]}`)
	return b.String()
}

// A definition that an accepted release leaves out is no longer missed.
func TestDropped(t *testing.T) {
	p := newPublisher(t)
	for _, tt := range []struct {
		name    string
		updates string
		edits   []func(*attest.Release)
		want    string
	}{
		{"hold", "hold", []func(*attest.Release){sequence(101), complete}, "tool:a allow verified; tool:b allow verified; tool:c deny missing"},
		{"accept", "accept", []func(*attest.Release){sequence(101), complete}, "tool:a allow verified; tool:b allow verified"},
		{"accept, not complete", "accept", []func(*attest.Release){sequence(101)}, "tool:a allow verified; tool:b allow verified; tool:c deny missing"},
		{"accept, the same sequence", "accept", []func(*attest.Release){complete}, "tool:a allow verified; tool:b allow verified; tool:c deny missing"},
		{"accept, of other kinds", "accept", []func(*attest.Release){sequence(101), complete, func(r *attest.Release) { r.Kinds = []lock.Kind{lock.Prompt, lock.Tool} }}, "tool:a allow verified; tool:b allow verified"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := ruleFor(t, complete1+"    updates: "+tt.updates+"\n", p)
			r := ask(listing(t, ab), p.sign(t, ab, tt.edits...))
			r.Lock = pin(t, v, listing(t, abc), p.sign(t, abc))
			wantVerdicts(t, v.Decide(r), tt.want)
		})
	}
	// What is in the release, and not listed, is missed all the same.
	v := ruleFor(t, complete1+"    updates: accept\n", p)
	r := ask(listing(t, ab), p.sign(t, abc, sequence(101), complete))
	r.Lock = pin(t, v, listing(t, abc), p.sign(t, abc))
	wantVerdicts(t, v.Decide(r), "tool:a allow verified; tool:b allow verified; tool:c deny missing")
}

// As many publishers as are needed must have moved on.
func TestUpdateOfSeveral(t *testing.T) {
	a, b := newPublisher(t), newPublisher(t)
	v := ruleFor(t, "    need: 2\n    updates: accept\n", a, b)
	one, two := `{"tools":[{"name":"a"}]}`, `{"tools":[{"name":"a","x":1}]}`
	r := ask(listing(t, two), a.sign(t, two, sequence(101)), b.sign(t, two, sequence(101)))
	r.Lock = pin(t, v, listing(t, one), a.sign(t, one), b.sign(t, one))
	wantVerdicts(t, v.Decide(r), "tool:a allow verified, updated")
	r.Bundles[1] = b.sign(t, two)
	wantVerdicts(t, v.Decide(r), "tool:a undecided verified, drift")
	r.Bundles = r.Bundles[:1]
	wantVerdicts(t, v.Decide(r), "tool:a deny drift, unsigned")
}

// What differs from a signed variant in spelling alone is refused, and said to
// be that.
func TestVariantUnsigned(t *testing.T) {
	p := newPublisher(t)
	tool := func(schema string) string {
		return `{"tools":[{"name":"a","description":"x","inputSchema":` + schema + `}]}`
	}
	old := tool(`{"type":"object"}`)
	v := ruleFor(t, "", p)
	for _, tt := range []struct{ name, text, want string }{
		{"dialect", tool(`{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema"}`), "tool:a deny drift, variant_unsigned"},
		{"closed", tool(`{"type":"object","additionalProperties":false}`), "tool:a deny drift, variant_unsigned"},
		{"another type", tool(`{"type":"array"}`), "tool:a deny drift"},
		{"a property", tool(`{"type":"object","properties":{"x":{}}}`), "tool:a deny drift"},
		{"other text", strings.Replace(old, `"x"`, `"y"`, 1), "tool:a deny drift"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, tt.text), p.sign(t, old))
			r.Lock = pin(t, v, listing(t, old), r.Bundles...)
			d := v.Decide(r)
			wantVerdicts(t, d, tt.want)
			if _, err := d.Pin(r.Listing.Definitions...); err == nil {
				t.Error("it can be pinned")
			}
			// Of what is pinned and not signed nothing is said.
			r.Lock = unsigned(t, old)
			r.Bundles = [][]byte{p.sign(t, `{"tools":[{"name":"z"}]}`)}
			wantVerdicts(t, v.Decide(r), "tool:a deny drift")
		})
	}
}

// Once signed, a server is not taken unsigned, whoever asks for no signature.
func TestRatchet(t *testing.T) {
	p, other := newPublisher(t), newPublisher(t)
	signed := pin(t, ruleFor(t, "", p), listing(t, ab), p.sign(t, ab))
	mixed := pin(t, ruleFor(t, "", p), listing(t, ab), p.sign(t, ab))
	mixed.Pins = append(mixed.Pins, unsigned(t, `{"tools":[{"name":"c"}]}`).Pins...)
	pinnedOnly := newVerifier(t, policy(t, "version: 1\nrules: [{servers: [\"**\"], pinnedOnly: x}]\n"), trustKeys(p.key, other.key))
	builtin := newVerifier(t, nil, trustKeys(p.key, other.key))
	for name, v := range map[string]*Verifier{"pinned only": pinnedOnly, "built-in": builtin} {
		for _, tt := range []struct {
			entry  *lock.Server
			bundle []byte
			want   string
		}{
			{signed, nil, "tool:a deny unsigned; tool:b deny unsigned"},
			{signed, other.sign(t, ab), "tool:a deny wrong_signer; tool:b deny wrong_signer"},
			{signed, p.sign(t, ab, sequence(99)), "tool:a deny rollback; tool:b deny rollback"},
			{signed, p.sign(t, ab), "tool:a allow verified; tool:b allow verified"},
			{unsigned(t, ab), nil, "tool:a allow pinned; tool:b allow pinned"},
		} {
			r := ask(listing(t, ab), tt.bundle)
			if tt.bundle == nil {
				r.Bundles = nil
			}
			r.Lock = tt.entry
			if d := v.Decide(r); verdicts(d) != tt.want {
				t.Errorf("%s: %s, want %s", name, verdicts(d), tt.want)
			}
		}
		r := ask(listing(t, abc))
		r.Lock = formatted(t, mixed)
		wantVerdicts(t, v.Decide(r), "tool:a deny unsigned; tool:b deny unsigned; tool:c allow pinned")
	}
}

// A repository under a new name is another signer, and one made anew under the
// old name as well, if its number was pinned or is on record.
func TestRepositoryRenamed(t *testing.T) {
	s := newServices()
	release := func(repo, id string) []byte {
		claims := sigtest.GitHub(repo, ".github/workflows/release.yml", "refs/tags/v1.4.2")
		claims["repository_id"] = id
		return keyless(t, s, claims, sigtest.WithRekorV1, statement(t, ab, sequence(101)))
	}
	trust := Trust{SigstoreRoot: s.TrustedRoot()}
	const renamed = "github:acme/forecast/.github/workflows/release.yml@refs/tags/v*"
	for _, tt := range []struct {
		name, repo, id string
		unpinned       string
		pinned         string // by an identity with the number 1001
		both           string // by identities of both names, without numbers
	}{
		{"the same", "acme/weather-mcp", "1001", "allow verified", "allow verified", "allow verified"},
		{"renamed", "acme/forecast", "1001", "deny wrong_signer", "deny wrong_signer", "undecided verified, wrong_signer"},
		{"made anew", "acme/weather-mcp", "1002", "undecided verified, wrong_signer", "deny wrong_signer", "undecided verified, wrong_signer"},
	} {
		r := ask(listing(t, ab), release(tt.repo, tt.id))
		r.Lock = pin(t, verifier(t, trust, workflow), listing(t, ab), keyless(t, s, acme(), sigtest.WithRekorV1, statement(t, ab)))
		for _, by := range []struct {
			ids  []string
			want string
		}{{[]string{workflow}, tt.unpinned}, {[]string{workflow + "?id=1001"}, tt.pinned}, {[]string{workflow, renamed}, tt.both}} {
			if got := show(verifier(t, trust, by.ids...).Decide(r).Results()[0]); got != by.want {
				t.Errorf("%s, by %v: %s, want %s", tt.name, by.ids, got, by.want)
			}
		}
	}
}
