package verify

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// full has every member that a policy can have.
const full = `version: 1
publishers:
  acme:
    servers: ["io.github.acme/*"]
    keyless: ["github:acme/weather-mcp/.github/workflows/release.yml@refs/tags/v*?id=1001", "gitlab:acme/weather//.gitlab-ci.yml@refs/tags/v*"]
    x509: {roots: [pki/acme-root.pem], san: "uri:https://acme.example/release", tsaRoots: [tsa.pem], crls: [acme.crl], status: required, time: now}
    key: {file: acme.pub, notBefore: 2026-01-01T00:00:00Z, notAfter: 2027-06-30T00:00:00Z}
    evidence: [log, timestamp]
  reviewers:
    key: [{file: one.pub}, {file: two.pub, notAfter: 2027-06-30T00:00:00Z}]
  builder:
    keyless: ["uri:https://ci.acme.example/build@https://accounts.example"]
  security:
    keyless: ["email:security@acme.example@https://accounts.example"]
revokers: [security]
rules:
  - servers: ["io.github.acme/*"]
    signedBy: [acme, "email:dev@acme.example@https://accounts.example"]
    need: 2
    maxAge: 90d
    minSequence: 1796040000
    listing: complete
    updates: accept
    refuse: block
    bindSource: true
    approvals: {from: [reviewers], need: 1, maxAge: 720h, audience: production}
    attested:
      - {type: "https://slsa.dev/provenance/v1", by: [builder], maxAge: 30d, where: {pointer: /buildDefinition/buildType, equals: "https://acme.example/build"}}
      - type: https://example.com/scan
        by: [builder, security]
        where:
          - {pointer: /level, oneOf: [1, 2, high, true, 0, -3]}
          - {pointer: "", equals: x}
  - servers: ["corp.internal/**"]
    pinnedOnly: "our own monorepo"
    approvals: {from: [reviewers], audience: production}
`

// The example of a team's policy is read, and nothing in it is doubtful.
func TestExamplePolicy(t *testing.T) {
	text, err := os.ReadFile("../testdata/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := policy(t, string(text))
	if found := p.Lint(now); len(found) > 0 || len(p.rules) != 2 || len(p.Files()) > 0 {
		t.Errorf("%d rules, %v, %v", len(p.rules), p.Files(), found)
	}
}

func TestFullPolicy(t *testing.T) {
	p := policy(t, full)
	if got, want := p.Files(), []string{"acme.crl", "acme.pub", "one.pub", "pki/acme-root.pem", "tsa.pem", "two.pub"}; !slices.Equal(got, want) {
		t.Errorf("files = %v, want %v", got, want)
	}
	acme := p.publishers["acme"]
	if acme == nil || len(acme.keyless) != 2 || !acme.log || !acme.stamps || len(acme.servers) != 1 || len(acme.keys) != 1 ||
		!acme.keys[0].notAfter.Equal(time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)) || acme.x509.san.String() != "x509:uri:https://acme.example/release" || !acme.x509.required || !acme.x509.untimed {
		t.Errorf("acme = %+v", acme)
	}
	r := p.rules[0]
	if r.need != 2 || r.maxAge != 90*24*time.Hour || r.minSequence != 1796040000 || !r.complete || !r.accept || !r.block || !r.bindSource {
		t.Errorf("rule = %+v", r)
	}
	if a := r.approvals; a == nil || a.need != 1 || a.maxAge != 720*time.Hour || a.audience != "production" || len(a.from) != 1 {
		t.Errorf("approvals = %+v", a)
	}
	if len(r.attested) != 2 || len(r.attested[1].where) != 2 || fmt.Sprintf("%s", r.attested[1].where[0].values) != `[1 2 "high" true 0 -3]` {
		t.Errorf("attested = %+v", r.attested)
	}
	if found := p.Lint(now); len(found) != 1 || found[0].Code != CurrentTime || found[0].Line != 6 || found[0].Column != 11 {
		t.Errorf("lint = %v", found)
	}
	if _, err := New(p, Trust{}); err == nil {
		t.Error("New takes a policy without its files")
	} else {
		wantError(t, err, "policy policy.yaml: file pki/acme-root.pem is not at hand")
		if trust := (*TrustError)(nil); !errors.As(err, &trust) {
			t.Errorf("error is %T", err)
		}
	}
}

// Everything that is wrong with the members of a policy, and where.
func TestRefuseFullPolicy(t *testing.T) {
	key := `"key:` + hexKey + `"`
	const rule = "rules: [{servers: [a/*], signedBy: [p]}]\n"
	pub := func(members string) string { return "version: 1\n" + rule + "publishers:\n  p: {" + members + "}\n" }
	signed := func(members string) string {
		return "version: 1\nrules:\n  - servers: [a/b]\n    signedBy: [" + key + "]\n    " + members + "\n"
	}
	const by = `by: ["key:` + hexKey + `"]`
	const keyless = `keyless: ["email:a@b.example@https://i.example"]`
	for _, tt := range []struct{ text, want string }{
		{pub(""), "4:6: publisher p has none of keyless, x509 and key"},
		{pub("servers: [a/*]"), "4:6: publisher p has none of"},
		{pub(keyless + ", servers: []"), "there are no servers"},
		{pub(keyless + `, servers: ["*/a"]`), "server pattern */a of a publisher must start with a literal segment"},
		{pub(keyless + ", servers: [a//b]"), "server name a//b has a segment"},
		{pub(keyless + ", evidence: []"), "want 1 to 100 elements"},
		{pub(keyless + ", evidence: [log, log]"), "want log and timestamp, each once"},
		{pub(keyless + ", evidence: [sct]"), "want log and timestamp, each once"},
		{pub(keyless + ", evidence: log"), "want a list"},
		{pub(keyless + ", name: x"), "unknown member name"},
		{pub("keyless: []"), "there are no identities"},
		{pub(`keyless: ["key:` + hexKey + `"]`), "is not keyless"},
		{pub(`keyless: ["x509:uri:https://acme.example"]`), "is not keyless"},
		{pub(`keyless: [acme]`), "identity acme: want key:"},
		{pub(`keyless: ["email:a@b.example@https://i.example", "email:a@b.example@https://i.example"]`), "is there twice"},
		{pub("x509: {roots: [r.pem]}"), "x509 needs roots and san"},
		{pub(`x509: {san: "uri:https://acme.example"}`), "x509 needs roots and san"},
		{pub(`x509: {roots: [], san: "uri:https://acme.example"}`), "want 1 to 100 elements"},
		{pub(`x509: {roots: [r.pem], san: "dns:acme.example"}`), "want uri: or email:"},
		{pub(`x509: {roots: r.pem, san: "uri:https://acme.example"}`), "want a list"},
		{pub(`x509: {roots: [/r.pem], san: "uri:https://acme.example"}`), "/r.pem is no path below the policy's folder"},
		{pub(`x509: {roots: [../r.pem], san: "uri:https://acme.example"}`), "../r.pem is no path below"},
		{pub(`x509: {roots: [a/../r.pem], san: "uri:https://acme.example"}`), "is no path below"},
		{pub(`x509: {roots: ["C:r.pem"], san: "uri:https://acme.example"}`), "is no path below"},
		{pub(`x509: {roots: ["a\\r.pem"], san: "uri:https://acme.example"}`), "is no path below"},
		{pub(`x509: {roots: ["."], san: "uri:https://acme.example"}`), ". is no path below"},
		{pub(`x509: {roots: [""], san: "uri:https://acme.example"}`), "is no path below"},
		{pub(`x509: {roots: [r.pem], san: "uri:https://acme.example", ocsp: true}`), "unknown member ocsp"},
		{pub("key: {}"), "the key has no file"},
		{pub("key: []"), "want 1 to 100 elements"},
		{pub("key: k.pub"), "want a mapping"},
		{pub("key: {file: k.pub, notAfter: 2027-06-30}"), "want a time of the form"},
		{pub("key: {file: k.pub, notAfter: 2027-06-30T00:00:00+01:00}"), "want a time of the form"},
		{pub("key: {file: k.pub, notAfter: 2027-06-30T00:00:00.5Z}"), "want a time of the form"},
		{pub("key: {file: k.pub, notBefore: 2027-06-30T00:00:00Z, notAfter: 2027-06-30T00:00:00Z}"), "notAfter is not after notBefore"},
		{"version: 1\n" + rule, "2:37: identity p: want key:"},
		{"version: 1\n" + rule + "publishers: []\n", "3:13: want a mapping"},
		{"version: 1\n" + rule + "publishers:\n  p:q: {" + keyless + "}\n", "publisher p:q: want a name"},
		{"version: 1\n" + rule + "publishers:\n  p: {" + keyless + "}\nrevokers: [q]\n", "and there is no publisher q"},
		{"version: 1\n" + rule + "publishers:\n  p: {" + keyless + "}\nrevokers: q\n", "5:11: want a list"},

		{signed("need: 2"), "3:5: the rule needs 2 principals and has 1"},
		{signed("need: 0"), "5:11: want an integer from 1"},
		{signed("need: 1.0"), "5:11: want an integer from 1"},
		{signed("need: 0x1"), "5:11: want an integer from 1"},
		{signed("need: \"1\""), "5:11: want an integer from 1"},
		{signed("need: 101"), "5:11: more than 100 principals"},
		{signed("maxAge: 90"), "5:13: want a string"},
		{signed("maxAge: 0d"), "5:13: want whole days or hours"},
		{signed("maxAge: 1.5d"), "5:13: want whole days or hours"},
		{signed("maxAge: -1d"), "5:13: want whole days or hours"},
		{signed("maxAge: 100000d"), "5:13: want whole days or hours"},
		{signed("maxAge: 36501d"), "5:13: want whole days or hours, as in 90d or 12h, at most 36500 days"},
		{signed("maxAge: 876001h"), "5:13: want whole days or hours"},
		{signed("maxAge: 200000d"), "5:13: want whole days or hours"},
		{signed("maxAge: 18446744073709551617h"), "5:13: want whole days or hours"},
		{signed("maxAge: 90 days"), "5:13: want whole days or hours"},
		{signed("maxAge: d"), "5:13: want whole days or hours"},
		{signed("minSequence: 9007199254740992"), "5:18: want an integer from 1 to 2^53-1"},
		{signed("minSequence: -1"), "5:18: want an integer"},
		{signed("bindSource: yes"), "5:17: want true or false"},
		{signed("bindSource: True"), "5:17: want true or false"},
		{signed("bindSource: 1"), "5:17: want true or false"},
		{signed("updates: auto"), "5:14: want hold or accept"},
		{signed("approvals: {}"), "the approvals are from nobody"},
		{signed("approvals: {from: [" + key + "]}"), "the approvals name no audience"},
		{signed("approvals: {from: [" + key + "], audience: \"a b\"}"), "audience a b has a space"},
		{signed("approvals: {from: [" + key + "], audience: \"\"}"), "audience has 0 bytes"},
		{signed("approvals: {from: [" + key + "], need: 2, audience: x}"), "the approvals need 2 principals and have 1"},
		{signed("approvals: {from: [q], audience: x}"), "there is no publisher q"},
		{signed("approvals: {from: [" + key + ", " + key + "], audience: x}"), "is there twice"},
		{signed("approvals: {from: [" + key + "], audience: on}"), "want a string: on is a boolean in YAML 1.1, write a text in quotes"},
		{signed("approvals: {from: [" + key + "], maxAge: 36501d, audience: x}"), "want whole days or hours"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: /a, equals: no}}]"), "no is a boolean in YAML 1.1"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: /a, oneOf: [a, Yes]}}]"), "Yes is a boolean in YAML 1.1"},
		{signed("attested: []"), "want 1 to 100 elements"},
		{signed("attested: [{" + by + "}]"), "the attestation has no type"},
		{signed("attested: [{type: \"\", " + by + "}]"), "want a predicate type"},
		{signed("attested: [{type: x}]"), "the attestation is by nobody"},
		{signed("attested: [{type: x, by: []}]"), "the attestation is by nobody"},
		{signed("attested: [{type: x, " + by + ", where: {}}]"), "a condition has a pointer"},
		{signed("attested: [{type: x, " + by + ", where: []}]"), "want 1 to 100 elements"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: /a}}]"), "either equals or oneOf"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: /a, equals: 1, oneOf: [1]}}]"), "either equals or oneOf"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: a, equals: 1}}]"), "a is no JSON pointer"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: /~2, equals: 1}}]"), "/~2 is no JSON pointer"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: /a, equals: 1.5}}]"), "want a string, an integer or a boolean"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: /a, equals: null}}]"), "want a string, an integer or a boolean"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: /a, oneOf: []}}]"), "want 1 to 100 elements"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: /a, equals: -9007199254740992}}]"), "want an integer between -2^53 and 2^53"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: /a, equals: 9007199254740992}}]"), "want an integer between -2^53 and 2^53"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: /a, equals: -0}}]"), "want an integer between -2^53 and 2^53"},
		{signed("attested: [{type: x, " + by + ", where: {pointer: /a, equals: 007}}]"), "want an integer between -2^53 and 2^53"},
		{signed("signedby: []"), "unknown member signedby"},

		{"version: 1\nrules:\n  - servers: [a]\n    pinnedOnly: x\n    need: 1\n", "3:5: the rule has need, which goes with signedBy alone"},
		{"version: 1\nrules:\n  - servers: [a]\n    pinnedOnly: x\n    bindSource: true\n", "the rule has bindSource, which goes with signedBy alone"},
		{"version: 1\nrules:\n  - servers: [a]\n    signedBy: [" + key + ", " + key + "]\n", "is there twice"},
	} {
		t.Run(tt.want+" "+fmt.Sprint(len(tt.text)), func(t *testing.T) {
			p, err := ParsePolicy("policy.yaml", []byte(tt.text))
			wantError(t, err, tt.want)
			if p != nil {
				t.Errorf("a policy came with the error, or instead of one:\n%s", tt.text)
				return
			}
			checkPolicyError(t, []byte(tt.text), err)
		})
	}
}

// Where several must sign, nobody is two of them.
func TestOnePrincipalTwice(t *testing.T) {
	const workflow = "github:acme/weather-mcp/.github/workflows/release.yml@refs/"
	uri := "uri:https://github.com/acme/weather-mcp/.github/workflows/release.yml@refs/tags/v1@https://token.actions.githubusercontent.com"
	text := func(a, b, need string) string {
		return "version: 1\npublishers:\n  p: {keyless: [\"email:a@b.example@https://i.example\", \"" + workflow + "tags/v*\"]}\n" +
			"  q: {keyless: [\"email:a@b.example@https://i.example\"]}\nrules:\n  - servers: [a/b]\n    signedBy: [" + a + ", " + b + "]\n    need: " + need + "\n"
	}
	quote := func(s string) string { return `"` + s + `"` }
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"p", "q", true},
		{"p", quote(workflow + "heads/main"), true},
		{"p", quote(workflow + "tags/v*?id=7"), true},
		{"p", quote(uri), true},
		{quote(workflow + "heads/a"), quote(workflow + "heads/b"), true},
		{quote("x509:uri:https://acme.example"), quote("x509:uri:https://acme.example/b"), false},
		{"q", quote(workflow + "heads/main"), false},
		{quote("key:" + hexKey), quote("key:" + hexOther), false},
		{quote("email:a@b.example@https://j.example"), "q", false},
	} {
		if _, err := ParsePolicy("policy.yaml", []byte(text(tt.a, tt.b, "1"))); err != nil {
			t.Errorf("%s and %s, of which one is needed: %v", tt.a, tt.b, err)
		}
		_, err := ParsePolicy("policy.yaml", []byte(text(tt.a, tt.b, "2")))
		if tt.same {
			wantError(t, err, "have the same signer")
			checkPolicyError(t, []byte(text(tt.a, tt.b, "2")), err)
		} else if err != nil {
			t.Errorf("%s and %s: %v", tt.a, tt.b, err)
		}
	}

	// Keys are known when their files are.
	key := sigtest.P256()
	files := map[string][]byte{"a.pub": sigtest.PublicPEM(key.Public()), "b.pub": sigtest.PublicPEM(key.Public())}
	for _, signers := range []string{"a, b", `a, "key:` + keyID(t, key) + `"`} {
		p := policy(t, "version: 1\npublishers: {a: {key: {file: a.pub}}, b: {key: {file: b.pub}}}\nrules: [{servers: [a/b], signedBy: ["+signers+"], need: 2}]\n")
		_, err := p.With(files)
		wantError(t, err, "have the same signer: key:"+keyID(t, key))
	}
}
