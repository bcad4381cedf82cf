package verify

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

func TestLint(t *testing.T) {
	const id = "github:acme/weather/.github/workflows/release.yml@refs/"
	key := `"key:` + hexKey + `"`
	signed := func(servers, by string) string { return "  - {servers: [" + servers + "], signedBy: [" + by + "]}\n" }
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", signed("a/*", key), ""},
		{"taken by the one before", signed("a/*", key) + signed("a/b", key), "3:5 unreachable"},
		{"the same", signed("a/**", key) + signed("a/**", key), "3:5 unreachable"},
		{"taken by two", signed("a/*", key) + signed("b/*", key) + signed(`a/x, b/y`, key), "4:5 unreachable"},
		{"partly", signed("a/*", key) + signed(`a/x, b/y`, key), ""},
		{"deeper", signed("a/*", key) + signed(`a/**`, key), ""},
		{"two segments", signed("a/**", key) + signed(`a/*/b`, key), "3:5 unreachable"},
		{"two wildcards are not covered by more", signed(`"a/**/**"`, key) + signed(`"a/**"`, key), ""},
		{"what a wildcard stands for may be nothing", signed(`"a/**x**"`, key) + signed(`"a/**"`, key), ""},
		{"a segment within any", signed(`"a/**/**"`, key) + signed(`"a/**/b/**"`, key), "3:5 unreachable"},
		{"any is not a segment", signed(`"a/*/*"`, key) + signed(`"a/**"`, key), ""},
		{"prefix", signed("a/x*", key) + signed(`a/x*y`, key) + signed("a/*x", key), "3:5 unreachable"},
		{"all", "  - {servers: [\"**\"], pinnedOnly: x}\n" + signed("a", key), "3:5 unreachable"},

		{"tags", signed("a/*", `"`+id+`tags/v*"`), ""},
		{"any tag", signed("a/*", `"`+id+`tags/*"`), ""},
		{"one branch", signed("a/*", `"`+id+`heads/main"`), ""},
		{"release branches", signed("a/*", `"`+id+`heads/release/*"`), ""},
		{"any branch", signed("a/*", `"`+id+`heads/*"`), "2:33 broad_identity"},
		{"any ref", signed("a/*", `"`+id+`**"`), "2:33 broad_identity"},
		{"proposed changes", signed("a/*", `"`+id+`pull/7/merge"`), "2:33 broad_identity"},
		{"a called workflow", signed("a/*", `"`+id+`tags/v3?caller=acme/weather@refs/tags/v*"`), ""},
		{"called on any branch", signed("a/*", `"`+id+`tags/v3?caller=acme/weather@refs/heads/*"`), "2:33 broad_identity"},
		{"a commit", signed("a/*", `"`+strings.TrimSuffix(id, "refs/")+commit+`"`), "2:33 broad_identity"},
		{"a commit, called on a tag", signed("a/*", `"`+strings.TrimSuffix(id, "refs/")+commit+`?caller=acme/weather@refs/tags/v*"`), ""},
		{"an event that anyone causes", signed("a/*", `"`+id+`heads/main?trigger=push,pull_request_target"`), "2:33 broad_identity"},
		{"any root", signed("a/*", `"x509:uri:https://acme.example"`), "2:33 any_root"},

		{"star in an e-mail address", signed("a/*", `"email:*@acme.example@https://i.example"`), "2:33 literal_star"},
		{"star in a URI", signed("a/*", `"uri:https://acme.example/*@https://i.example"`), "2:33 literal_star"},
		{"star in an issuer", signed("a/*", `"uri:https://acme.example/a@https://*.example"`), "2:33 literal_star"},
		{"star in a certificate's subject", signed("a/*", `"x509:uri:https://acme.example/*"`), "2:33 literal_star, 2:33 any_root"},
		{"star of a revoker", signed("a/*", key) + "revokers: [\"email:*@acme.example@https://i.example\"]\n", "3:12 literal_star"},
		{"star of a publisher", signed("a/*", "p") + "publishers: {p: {keyless: [\"email:*@acme.example@https://i.example\"]}}\n", "3:17 literal_star"},
		{"star of a publisher's private PKI", signed("a/*", "p") + "publishers: {p: {x509: {roots: [r.pem], san: \"uri:https://acme.example/**\"}}}\n", "3:24 literal_star"},

		{"unused publisher", signed("a/*", key) + "publishers: {p: {keyless: [\"" + id + "tags/v*\"]}}\n", "3:17 unused_publisher"},
		{"broad publisher", signed("a/*", "p") + "publishers: {p: {keyless: [\"" + id + "heads/**\"]}}\n", "3:17 broad_identity"},
		{"signatures that end", signed("a/*", "p") + "publishers: {p: {x509: {roots: [r.pem], san: \"uri:https://acme.example\", time: now}}}\n", "3:24 current_time"},
		{"signatures that stay", signed("a/*", "p") + "publishers: {p: {x509: {roots: [r.pem], san: \"uri:https://acme.example\", time: timestamp}}}\n", ""},
		{"used to revoke", signed("a/*", key) + "revokers: [p]\npublishers: {p: {keyless: [\"" + id + "tags/v*\"]}}\n", ""},
		{"out of scope", signed("a/*", "p") + "publishers: {p: {servers: [b/*], keyless: [\"" + id + "tags/v*\"]}}\n", "2:5 out_of_scope"},
		{"partly in scope", signed("a/*, b/c", "p") + "publishers: {p: {servers: [b/*], keyless: [\"" + id + "tags/v*\"]}}\n", "2:5 out_of_scope"},
		{"in scope", signed("a/b*", "p") + "publishers: {p: {servers: [a/**], keyless: [\"" + id + "tags/v*\"]}}\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := "rules:\n" + tt.text + "version: 1\n"
			var got []string
			for _, f := range policy(t, text).Lint(now) {
				got = append(got, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Code))
				checkShown(t, f.Message)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("findings = %v, want %s", got, tt.want)
			}
		})
	}
	// Work is bounded, and it is said where it ended.
	many := "version: 1\nrules:\n" + strings.Repeat(signed("a/x", key), 5000)
	start := time.Now()
	if found := policy(t, many).Lint(now); len(found) == 0 || found[len(found)-1].Code != Unreachable && found[len(found)-1].Code != Unfinished {
		t.Errorf("%d findings", len(found))
	}
	t.Logf("5,000 rules in %v", time.Since(start))
}

// TestCovers checks with texts that a pattern which covers another one matches
// whatever that matches.
func TestCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string, most int) string {
		var b strings.Builder
		for range 1 + random.IntN(most) {
			b.WriteString(from[random.IntN(len(from))])
		}
		return b.String()
	}
	covering := 0
	for range 20_000 {
		p, q := newPattern(pick([]string{"a", "b", "/", "*", "**"}, 5)), newPattern(pick([]string{"a", "b", "/", "*", "**"}, 5))
		if !p.covers(q) {
			continue
		}
		covering++
		for range 20 {
			text := pick([]string{"a", "b", "/"}, 6)
			if !q.matches(text) {
				text = strings.NewReplacer("**", []string{"", "a", "/", "b/a", "/a/"}[random.IntN(5)], "*", []string{"", "a", "b"}[random.IntN(3)]).Replace(q.text)
			}
			if q.matches(text) && !p.matches(text) {
				t.Fatalf("%s covers %s, which alone matches %q", p.text, q.text, text)
			}
		}
	}
	if covering < 500 {
		t.Errorf("only %d pairs cover", covering)
	}
}

// TestLintRoots checks the validity of root certificates at the time that Lint
// is told.
func TestLintRoots(t *testing.T) {
	p := policy(t, "version: 1\nrules: [{servers: [a/b], signedBy: [p]}]\n"+
		"publishers:\n  p:\n    x509: {roots: [r.pem], tsaRoots: [t.pem], san: \"uri:https://acme.example\"}\n")
	if found := p.Lint(now); len(found) > 0 {
		t.Errorf("without the files: %v", found)
	}
	year := 365 * 24 * time.Hour
	p, err := p.With(map[string][]byte{
		"r.pem": sigtest.CertPEM(sigtest.NewCA("acme root", sigtest.Valid(now.Add(-year), now)).Certificate),
		"t.pem": sigtest.CertPEM(sigtest.NewCA("stamps", sigtest.Valid(now, now.Add(year))).Certificate),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{now, ""},
		{now.Add(time.Second), "root certificate CN=acme root,O=sigtest of publisher p expired at 2026-11-30T12:00:00Z"},
		{now.Add(-time.Second), "timestamp root certificate CN=stamps,O=sigtest of publisher p is not valid before 2026-11-30T12:00:00Z"},
	} {
		var got []string
		for _, f := range p.Lint(tt.at) {
			if f.Code != ExpiredRoot || f.Line != 5 {
				t.Errorf("finding %v", f)
			}
			got = append(got, f.Message)
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("at %v: %q, want %q", tt.at, got, tt.want)
		}
	}
}
