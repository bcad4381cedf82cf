package verify

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
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
		{"any root", signed("a/*", `"x509:uri:https://acme.example"`), "2:33 any_root"},

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
			for _, f := range policy(t, text).Lint() {
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
	if found := policy(t, many).Lint(); len(found) == 0 || found[len(found)-1].Code != Unreachable && found[len(found)-1].Code != Unfinished {
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
