package verify

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

// small is the policy that most hosts need.
const small = `version: 1
rules:
  - servers: ["io.github.acme/*"]
    signedBy: ["github:acme/weather-mcp/.github/workflows/release.yml@refs/tags/v*"]
  - servers: ["corp.internal/**"]
    pinnedOnly: "our own monorepo"   # the reason is required
`

// The same policy means the same, however it is written.
func TestPolicy(t *testing.T) {
	for name, text := range map[string]string{
		"YAML":         small,
		"CRLF":         strings.ReplaceAll(small, "\n", "\r\n"),
		"with an end":  small + "...\n",
		"with a start": "---\n" + small,
		"JSON": `{"version": 1, "rules": [
			{"servers": ["io.github.acme/*"], "signedBy": ["github:acme/weather-mcp/.github/workflows/release.yml@refs/tags/v*"]},
			{"servers": ["corp.internal/**"], "pinnedOnly": "our own monorepo"}]}`,
		"flow":   `{version: 1, rules: [{servers: [io.github.acme/*], signedBy: ["github:acme/weather-mcp/.github/workflows/release.yml@refs/tags/v*"]}, {servers: [corp.internal/**], pinnedOnly: our own monorepo}]}`,
		"blocks": "rules:\n- signedBy:\n  - 'github:acme/weather-mcp/.github/workflows/release.yml@refs/tags/v*'\n  servers:\n  # a comment\n  - io.github.acme/*\n- pinnedOnly: |\n    our own\n    monorepo\n  servers:\n  - corp.internal/** # another\nversion: 1\n",
		"with defaults": `version: 1
rules:
  - {servers: ["io.github.acme/*"], signedBy: ["github:acme/weather-mcp/.github/workflows/release.yml@refs/tags/v*"], listing: subset, refuse: withhold}
  - {servers: ["corp.internal/**"], pinnedOnly: "our own monorepo", listing: "subset", refuse: "withhold"}
`,
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(t, text)
			if len(p.rules) != 2 || p.name != "policy.yaml" {
				t.Fatalf("%d rules of %s", len(p.rules), p.name)
			}
			first, second := p.rules[0], p.rules[1]
			if len(first.signedBy) != 1 || first.signedBy[0].text != workflow || first.pinnedOnly != "" {
				t.Errorf("first rule = %+v", first)
			}
			if len(second.signedBy) != 0 || !strings.Contains(second.pinnedOnly, "our own") {
				t.Errorf("second rule = %+v", second)
			}
			for _, r := range p.rules {
				if r.complete || r.block || r.pins {
					t.Errorf("rule = %+v, want the defaults", r)
				}
			}
			for server, want := range map[string]int{
				"io.github.acme/weather": 0, "io.github.acme/x": 0,
				"io.github.acme": -1, "io.github.acme/a/b": -1, "io.github.acme.evil/weather": -1, "IO.github.acme/weather": -1, "evil/io.github.acme/weather": -1,
				"corp.internal/a": 1, "corp.internal/a/b/c": 1, "corp.internal": -1, "corp-internal/a": -1,
			} {
				if got, _ := p.find(server); got != want {
					t.Errorf("the rule for %s is %d", server, got)
				}
			}
		})
	}
	p := policy(t, "version: 1\nrules:\n  - servers: [a]\n    pinnedOnly: x\n    listing: complete\n    refuse: block\n")
	if r := p.rules[0]; !r.complete || !r.block {
		t.Errorf("rule = %+v", r)
	}
}

// The first rule that matches decides, whatever comes after; none denies.
func TestFirstMatch(t *testing.T) {
	key, other := sigtest.P256(), sigtest.P256()
	st := statement(t, abc)
	by, byOther := byKey(t, key, st), byKey(t, other, st)
	rules := map[string]string{
		"key":    "  - servers: [io.github.acme/weather]\n    signedBy: [\"key:" + keyID(t, key) + "\"]\n",
		"other":  "  - servers: [io.github.acme/*]\n    signedBy: [\"key:" + keyID(t, other) + "\"]\n",
		"pinned": "  - servers: [\"**\"]\n    pinnedOnly: all others\n",
		"else":   "  - servers: [io.github.evil/*, elsewhere]\n    pinnedOnly: x\n",
	}
	for _, tt := range []struct {
		rules string
		rule  string
		key   bool // signed by key is enough
		other bool // signed by other is enough
	}{
		{"key other", "policy.yaml:3", true, false},
		{"other key", "policy.yaml:3", false, true},
		{"else other key pinned", "policy.yaml:5", false, true},
		{"pinned key", "policy.yaml:3", false, false},
		{"else", "no rule of policy policy.yaml", false, false},
	} {
		t.Run(tt.rules, func(t *testing.T) {
			text := "version: 1\nrules:\n"
			for _, r := range strings.Fields(tt.rules) {
				text += rules[r]
			}
			v := newVerifier(t, policy(t, text), trustKeys(key, other))
			for _, b := range []struct {
				bundle []byte
				want   bool
			}{{by, tt.key}, {byOther, tt.other}} {
				d := v.Decide(ask(listing(t, abc), b.bundle))
				if (d.SignedErr() == nil) != b.want || d.Rule() != tt.rule {
					t.Errorf("%s: %v, %s", d.Rule(), d.SignedErr(), verdicts(d))
				}
				if strings.HasPrefix(tt.rule, "no rule") && verdicts(d) != "tool:a deny no_rule; tool:b deny no_rule; tool:c deny no_rule" {
					t.Errorf("results = %s", verdicts(d))
				}
			}
		})
	}
}

func TestRefusePolicy(t *testing.T) {
	const head = "version: 1\nrules:\n"
	const good = head + "  - servers: [a]\n    pinnedOnly: x\n"
	const marks = "a policy has no anchors, aliases, merge keys and tags"
	key := "key:" + hexKey
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "1:1: want one document"},
		{"white space", " \n\n", "1:1: want one document"},
		{"comment", "# a comment\n", "1:1: want one document"},
		{"null", "null", "1:1: want a mapping"},
		{"text", "a policy", "1:1: want a mapping"},
		{"list", "- version: 1\n", "1:1: want a mapping"},
		{"empty mapping", "{}", "1:1: version is missing"},
		{"second document", good + "---\n" + good, "5:1: want one document"},
		{"empty second document", good + "---\n", "5:1: want one document"},
		{"directive", "%YAML 1.2\n---\n" + good, "want one document"},

		{"version missing", "rules:\n  - servers: [a]\n    pinnedOnly: x\n", "1:1: version is missing"},
		{"version 2", "version: 2\nrules: []\n", "1:10: version is not 1"},
		{"version is a string", "version: \"1\"\n", "1:10: version is not 1"},
		{"version 1.0", "version: 1.0\n", "1:10: version is not 1"},
		{"version 0x1", "version: 0x1\n", "1:10: version is not 1"},
		{"version 01", "version: 01\n", "1:10: version is not 1"},
		{"version empty", "version:\nrules: []\n", "1:9: version is not 1"},
		{"rules missing", "version: 1\n", "1:1: there are no rules"},
		{"no rules", "version: 1\nrules: []\n", "1:1: there are no rules"},
		{"rules is a mapping", "version: 1\nrules:\n  servers: [a]\n", "3:3: want a list"},
		{"rules is empty", "version: 1\nrules:\n", "2:7: want a list"},
		{"rule is a string", head + "  - acme\n", "3:5: want a mapping"},
		{"rule is empty", head + "  -\n", "3:4: want a mapping"},
		{"unknown member", "version: 1\npublisher: {}\n", "2:1: unknown member publisher"},
		{"unknown member of a rule", head + "  - servers: [a]\n    pinnedOnly: x\n    update: accept\n", "5:5: unknown member update"},
		{"unknown member of the second rule", good + "  - servers: [b]\n    pinned-only: x\n", "6:5: unknown member pinned-only"},
		{"unknown member in JSON", `{"version": 1, "x": 2}`, "1:16: unknown member x"},
		{"unknown member with an escape sequence", "version: 1\n\"\\e[31m\": 1\n", `2:1: unknown member \u{1b}[31m`},
		{"unknown member with a long name", strings.Repeat("x", 1000) + ": 1\n", "1:1: unknown member xxx"},
		{"identity of a long name", head + "  - servers: [a]\n    signedBy: [\"uri:" + strings.Repeat("x", 5000) + "\"]\n", "4:16: identity uri:xxx"},
		{"member of another case", "Version: 1\n", "1:1: unknown member Version"},
		{"member twice", "version: 1\nversion: 1\n", "2:1: member version is there twice"},
		{"member twice in two spellings", "version: 1\n\"v\\u0065rsion\": 1\n", "2:1: member version is there twice"},
		{"member of a rule twice", good + "    \"pinnedOnly\": y\n", "5:5: member pinnedOnly is there twice"},
		{"member twice in a flow", "version: 1\nrules: [{servers: [a], servers: [b], pinnedOnly: x}]\n", "2:24: member servers is there twice"},
		{"member twice in JSON", `{"version": 1, "version": 1}`, "1:16: member version is there twice"},
		{"number as a member", "version: 1\n1: x\n", "2:1: want a plain member name"},
		{"boolean as a member", "version: 1\ntrue: x\n", "2:1: want a plain member name"},
		{"null as a member", "version: 1\n~: x\n", "2:1: want a plain member name"},
		{"member with a question mark", "version: 1\n? rules\n: []\n", "2:1: want a key without a question mark"},

		{"anchor", "version: 1\nrules: &r\n  - servers: [a]\n    pinnedOnly: x\n", "2:8: want a list: " + marks},
		{"anchor of a rule", head + "  - &r\n    servers: [a]\n    pinnedOnly: x\n", "3:5: want a mapping: " + marks},
		{"anchor of a string", head + "  - servers: [&s a]\n    pinnedOnly: x\n", "3:15: want a string: " + marks},
		{"alias", head + "  - servers: [a]\n    pinnedOnly: *r\n", "4:17: want a string: " + marks},
		{"alias of a list", head + "  - servers: *r\n    pinnedOnly: x\n", "3:14: want a list: " + marks},
		{"merge key", "version: 1\n<<: {rules: []}\n", "2:1: want a plain member name: " + marks},
		{"merge key in a rule", good + "    <<: {refuse: block}\n", "5:5: want a plain member name: " + marks},
		{"tag", head + "  - servers: [!!str a]\n    pinnedOnly: x\n", "3:15: want a string: " + marks},
		{"tag of one's own", head + "  - servers: [a]\n    pinnedOnly: !x y\n", "4:17: want a string: " + marks},
		{"tag of a number", "version: !!int 1\n", "1:10: version is not 1"},
		{"tag of a rule", head + "  - !rule\n    servers: [a]\n    pinnedOnly: x\n", "3:5: want a mapping: " + marks},

		{"servers missing", head + "  - pinnedOnly: x\n", "3:5: the rule names no servers"},
		{"servers empty", head + "  - servers: []\n    pinnedOnly: x\n", "3:5: the rule names no servers"},
		{"servers is a string", head + "  - servers: a\n    pinnedOnly: x\n", "3:14: want a list"},
		{"server is a number", head + "  - servers: [a, 1]\n    pinnedOnly: x\n", "3:18: want a string"},
		{"server is null", head + "  - servers: [~]\n    pinnedOnly: x\n", "3:15: want a string"},
		{"server is a list", head + "  - servers: [[a]]\n    pinnedOnly: x\n", "3:15: want a string"},
		{"server with a space", head + "  - servers: [\"a b\"]\n    pinnedOnly: x\n", "3:15: server name a b has the character ' '"},
		{"server with an escape sequence", head + "  - servers: [\"a\\e[31m\"]\n    pinnedOnly: x\n", `3:15: server name a\u{1b}[31m has the character '\x1b'`},
		{"server with a question mark", head + "  - servers: [\"a?\"]\n    pinnedOnly: x\n", "3:15: server name a? has the character '?'"},
		{"empty server", head + "  - servers: [\"\"]\n    pinnedOnly: x\n", "3:15: server name has 0 bytes"},
		{"server with an empty segment", head + "  - servers: [a//b]\n    pinnedOnly: x\n", "3:15: server name a//b has a segment"},

		{"neither signedBy nor pinnedOnly", head + "  - servers: [a]\n", "3:5: the rule needs either signedBy or pinnedOnly"},
		{"signedBy and pinnedOnly", head + "  - servers: [a]\n    pinnedOnly: x\n    signedBy: [\"" + key + "\"]\n", "3:5: the rule needs either signedBy or pinnedOnly"},
		{"signedBy empty", head + "  - servers: [a]\n    signedBy: []\n", "3:5: the rule needs either signedBy or pinnedOnly"},
		{"signedBy empty and pinnedOnly", head + "  - servers: [a]\n    signedBy:\n    pinnedOnly: x\n", "4:14: want a list"},
		{"signedBy is a string", head + "  - servers: [a]\n    signedBy: " + key + "\n", "4:15: want a list"},
		{"identity is none", head + "  - servers: [a]\n    signedBy: [\"" + key + "\", \":acme\"]\n", "4:95: identity :acme: want key:"},
		{"identity with an escape sequence", head + "  - servers: [a]\n    signedBy: [\"email:\\e[31m\"]\n", `4:16: identity email:\u{1b}[31m: want at most 1024 printable ASCII`},
		{"identity with a wildcard", head + "  - servers: [a]\n    signedBy: [\"github:*/x/y@refs/tags/v1\"]\n", "4:16: identity github:*/x/y@refs/tags/v1: only the ref may have wildcards"},
		{"wildcard first, signed", head + "  - servers: [b, \"*/a\"]\n    signedBy: [\"" + key + "\"]\n", "3:5: server pattern */a of a rule with signedBy must start with a literal segment"},
		{"wildcard in the first segment, signed", head + "  - servers: [\"acme*/a\"]\n    signedBy: [\"" + key + "\"]\n", "3:5: server pattern acme*/a"},
		{"wildcard alone, signed", head + "  - servers: [\"**\"]\n    signedBy: [\"" + key + "\"]\n", "3:5: server pattern **"},
		{"pinnedOnly empty", head + "  - servers: [a]\n    pinnedOnly: \"\"\n", "4:17: pinnedOnly needs the reason"},
		{"pinnedOnly blank", head + "  - servers: [a]\n    pinnedOnly: \"  \"\n", "4:17: pinnedOnly needs the reason"},
		{"pinnedOnly null", head + "  - servers: [a]\n    pinnedOnly:\n", "4:16: want a string"},
		{"pinnedOnly true", head + "  - servers: [a]\n    pinnedOnly: true\n", "4:17: want a string"},
		{"pinnedOnly in capitals", head + "  - servers: [a]\n    pinnedOnly: NULL\n", "4:17: want a string"},
		{"pinnedOnly tilde", head + "  - servers: [a]\n    pinnedOnly: ~\n", "4:17: want a string"},
		{"pinnedOnly no over lines", head + "  - servers: [a]\n    pinnedOnly: |\n      no\n", "4:17: pinnedOnly needs the reason"},
		{"pinnedOnly is a list", head + "  - servers: [a]\n    pinnedOnly: [x]\n", "4:17: want a string"},
		{"listing", good + "    listing: all\n", "5:14: want subset or complete"},
		{"listing of another case", good + "    listing: Complete\n", "5:14: want subset or complete"},
		{"listing is a boolean", good + "    listing: true\n", "5:14: want a string"},
		{"refuse", good + "    refuse: warn\n", "5:13: want withhold or block"},

		{"tab as indentation", "version: 1\nrules:\n\t- servers: [a]\n", "3:1: found character"},
		{"bad indentation", "version: 1\n rules: []\n", "1:10: mapping value is not allowed"},
		{"open list", head + "  - servers: [a\n    pinnedOnly: x\n", "4:5: ',' or ']' must be specified"},
		{"open string", head + "  - servers: [\"a]\n    pinnedOnly: x\n", "could not find end character"},
		{"two in one line", "version: 1 rules: []\n", "1:10: mapping value is not allowed"},
		{"JSON and more", `{"version": 1, "rules": [{"servers": ["a"], "pinnedOnly": "x"}]} x`, "1:66: value is not allowed"},
		{"not UTF-8", head + "  - servers: [a]\n    pinnedOnly: é\xff\n", "4:18: not UTF-8"},
		{"a surrogate", head + "  - servers: [a] # \xed\xa0\x80\n    pinnedOnly: x\n", "3:20: not UTF-8"},
		{"UTF-16", "v\x00e\x00r\x00", "1:2: character U+0000"},
		{"byte order mark", "\ufeff" + good, "1:1: character U+FEFF"},
		{"escape sequence", head + "  - servers: [a] # \x1b[31m\n    pinnedOnly: x\n", "3:20: character U+001B"},
		{"next line", head + "  - servers: [a] # \u0085\n    pinnedOnly: x\n", "3:20: character U+0085"},
		{"explicit key", "version: 1\nrules:\n? a\n", "3:1: want a key without a question mark"},
		{"crowded flow", "version: 1\nrules: [" + strings.Repeat("{a},", maxIndicators/2), "2:200004: more than 150000 characters that separate elements"},
		{"crowded lines", "version: 1\nrules:\n" + strings.Repeat("- -\n", maxIndicators/2), "50001:4: more than 150000"},
		{"crowded tags", "version: 1\nrules: [" + strings.Repeat("!!a ", maxIndicators), "more than 150000"},
		{"too large", good + strings.Repeat("#", MaxPolicy), "1:1: more than 1048576 bytes"},
		{"nested flows", strings.Repeat("[", 100000), "1:9: nested too deeply"},
		{"nested flows after their ends", strings.Repeat("]", 1000) + strings.Repeat("[", 100000), "1:1009: nested too deeply"},
		{"nested mappings", strings.Repeat("{a: ", 40000), "1:33: nested too deeply"},
		{"many members", strings.Repeat("a: 1\n", 40000), "2001:2: more than 2000 members"},
		{"many members of a flow", "{" + strings.Repeat("a: 1, ", 40000) + "}", "more than 2000 members"},
		{"many members of many lengths", "x:\n" + strings.Repeat(" a: 1\n bc:\n  - d: 1\n", 10000), "more than 2000 members"},
		{"many documents", strings.Repeat("---\n", 40000), "2:1: want one document"},
		{"nested entries", strings.Repeat("- ", 100000), "1:17: nested too deeply"},
		{"many rules", head + strings.Repeat("- servers: [a]\n  pinnedOnly: x\n", 10_001), "3:1: more than 10000 elements"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ParsePolicy("p\x1b.yaml", []byte(tt.text))
			wantError(t, err, tt.want)
			if p != nil {
				t.Error("a policy came with the error")
			}
			checkPolicyError(t, []byte(tt.text), err)
		})
	}
}

// checkPolicyError checks that an error is a *PolicyError at a place of the
// text, fit for a terminal.
func checkPolicyError(t *testing.T, text []byte, err error) {
	t.Helper()
	var e *PolicyError
	if !errors.As(err, &e) {
		t.Fatalf("error is %T: %v", err, err)
	}
	if want := fmt.Sprintf("policy %s:%d:%d: ", lock.Visible(e.Name), e.Line, e.Column); !strings.HasPrefix(e.Error(), want) || errors.Unwrap(e) == nil {
		t.Errorf("error = %v", e)
	}
	checkShown(t, e.Error())
	lines := bytes.Split(text, []byte("\n"))
	if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > len([]rune(string(lines[e.Line-1])))+1 {
		t.Errorf("%d:%d is outside of the text: %v", e.Line, e.Column, e)
	}
}

func TestRequire(t *testing.T) {
	id := identities(t, "key:"+hexKey)
	for _, tt := range []struct {
		server string
		ids    []Identity
		want   string
	}{
		{"", id, "server name has 0 bytes"},
		{"io.github.acme/*", id, "has the character '*'"},
		{weather, nil, "nobody may sign"},
		{weather, []Identity{{}}, "an identity is nobody"},
		{weather, append(id, IdentityOf(lock.Signer{})), "an identity is nobody"},
	} {
		p, err := Require(tt.server, tt.ids...)
		wantError(t, err, tt.want)
		if p != nil {
			t.Error("a policy came with the error")
		}
	}
	v := verifier(t, Trust{}, "key:"+hexKey, "key:"+hexOther)
	d := v.Decide(ask(listing(t, abc)))
	if d.Rule() != "the signers named" || strings.Join(d.Expected(), " ") != "key:"+hexKey+" key:"+hexOther {
		t.Errorf("rule %q expects %v", d.Rule(), d.Expected())
	}
	r := ask(listing(t, abc))
	r.Server = "io.github.acme/weather2"
	if d := v.Decide(r); verdicts(d) != "tool:a deny no_rule; tool:b deny no_rule; tool:c deny no_rule" || !strings.Contains(d.Rule(), "another server's") {
		t.Errorf("%s: %s", d.Rule(), verdicts(d))
	}
}

func FuzzParsePolicy(f *testing.F) {
	wantSeeds(f, "FuzzParsePolicy")
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParsePolicy("policy.yaml", text)
		if (err == nil) == (p == nil) {
			t.Fatalf("ParsePolicy = %v, %v", p, err)
		}
		if err != nil {
			checkPolicyError(t, text, err)
			return
		}
		if len(p.rules) == 0 {
			t.Error("a policy without rules")
		}
		for _, f := range p.Lint(now) {
			if checkShown(t, f.Message); f.Line > bytes.Count(text, []byte("\n"))+1 || f.Line < 1 || f.Column < 1 {
				t.Errorf("finding at %d:%d", f.Line, f.Column)
			}
		}
		for _, path := range p.Files() {
			if !filepath.IsLocal(path) || path != filepath.ToSlash(filepath.Clean(path)) {
				t.Errorf("file %q", path)
			}
		}
		if _, err := New(p, Trust{}); (err == nil) != (len(p.Files()) == 0) {
			t.Errorf("New with %d files missing: %v", len(p.Files()), err)
		}
		for _, r := range p.rules {
			if len(r.servers) == 0 || (len(r.signedBy) == 0) == (r.pinnedOnly == "") || r.line < 1 {
				t.Errorf("rule = %+v", r)
			}
			if len(r.signedBy) > 0 && (r.need < 1 || r.need > len(r.signedBy)) {
				t.Errorf("%d of %d are needed", r.need, len(r.signedBy))
			}
			for _, ref := range r.signedBy {
				if p.publishers[ref.text] != nil {
					continue
				}
				if again, err := ParseSigner(ref.text); err != nil || again.want != ref.id.want || ref.id.Matches(lock.Signer{}) {
					t.Errorf("identity %s", ref.text)
				}
			}
		}
	})
}

// wantSeeds fails if the seeds of a fuzz test are not there.
func wantSeeds(f *testing.F, test string) {
	f.Helper()
	seeds, err := filepath.Glob(filepath.Join("testdata", "fuzz", test, "*"))
	if err != nil || len(seeds) < 10 {
		f.Fatalf("%d seeds are there, want at least 10: %v", len(seeds), err)
	}
}

// TestPinnedOnlyWords checks that no word that answers yes or no passes for a
// reason, in whatever case and quotes, and that a text which has one does.
func TestPinnedOnlyWords(t *testing.T) {
	const rule = "version: 1\nrules:\n  - servers: [a]\n    pinnedOnly: "
	for _, word := range []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"} {
		for _, w := range []string{word, strings.ToUpper(word), strings.ToUpper(word[:1]) + word[1:]} {
			for _, value := range []string{w, `"` + w + `"`, "'" + w + "'", `" ` + w + ` "`} {
				_, err := ParsePolicy("policy.yaml", []byte(rule+value+"\n"))
				if wrong := (*PolicyError)(nil); !errors.As(err, &wrong) || wrong.Line != 4 {
					t.Errorf("pinnedOnly: %s: %v", value, err)
				}
			}
		}
	}
	for _, text := range []string{"no signature yet", "on purpose", "x", "nothing else is released"} {
		if _, err := ParsePolicy("policy.yaml", []byte(rule+text+"\n")); err != nil {
			t.Errorf("pinnedOnly: %s: %v", text, err)
		}
	}
}
