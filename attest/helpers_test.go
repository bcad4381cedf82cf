package attest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

var issued = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// weather is a listing with a definition of every kind.
const weather = `{"tools":[{"name":"get_forecast","inputSchema":{"type":"object"}},{"name":"get_alerts"}],
	"prompts":[{"name":"review"}],"resourceTemplates":[{"uriTemplate":"demo://{id}"}],"instructions":"Be kind."}`

func listing(t testing.TB, text string) *lock.Listing {
	t.Helper()
	l, err := lock.ParseListing([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// tools is a listing of n tools.
func tools(t testing.TB, n int) *lock.Listing {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"name":"tool_%04d","inputSchema":{"type":"object"}}`, i)
	}
	return listing(t, `{"tools":[`+strings.TrimPrefix(b.String(), ",")+`]}`)
}

// release is a release with the required members only, as edits leave it.
func release(edits ...func(*Release)) Release {
	r := Release{Server: "io.github.acme/weather", Sequence: 1796040000, Kinds: lock.Kinds(), IssuedAt: issued}
	for _, edit := range edits {
		edit(&r)
	}
	return r
}

// full is a release with every member.
func full() Release {
	return Release{
		Server: "io.github.acme/weather", Version: "1.4.2",
		PURLs:   []string{"pkg:npm/%40acme/weather-mcp@1.4.2", "pkg:pypi/weather@1.4.2"},
		Origins: []string{"https://weather.acme.example"},

		Sequence: 1796040000, Variant: "linux/amd64", Complete: true, Kinds: lock.Kinds(), ProtocolVersion: "2025-11-25",
		IssuedAt: issued, ExpiresAt: issued.AddDate(1, 0, 0),
		Source: &Resource{URI: "git+https://github.com/acme/weather-mcp", Digest: map[string]string{"gitCommit": "3f9c2e1d"}},
		Artifacts: []Resource{
			{URI: "pkg:npm/%40acme/weather-mcp@1.4.2", Digest: map[string]string{"sha512": "aa", "sha256": "bb"}},
			{Digest: map[string]string{"sha256": "cc"}},
			{URI: "oci://registry.example/weather"},
		},
	}
}

func define(t testing.TB, l *lock.Listing, r Release) *Statement {
	t.Helper()
	s, err := Definitions(l, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sameMeaning reports whether two statements say the same.
func sameMeaning(a, b *Statement) bool {
	return reflect.DeepEqual(a.content, b.content)
}

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("error = %v, want one with %q", err, part)
	}
}

// replaced returns text with one replacement, which must be one.
func replaced(t testing.TB, text, old, new string) string {
	t.Helper()
	if strings.Count(text, old) != 1 || old == new {
		t.Fatalf("%q is in the statement %d times, or nothing changes", old, strings.Count(text, old))
	}
	return strings.Replace(text, old, new, 1)
}

// between returns the part of text from start to before end.
func between(text, start, end string) string {
	i := strings.Index(text, start)
	return text[i : i+strings.Index(text[i:], end)]
}

// A refusal is a statement with one fault.
type refusal struct{ name, old, new, want string }

// wantRefused checks that ParseAny refuses what each refusal makes of text,
// which it takes as it is.
func wantRefused(t *testing.T, text string, refusals []refusal) {
	t.Helper()
	if _, err := ParseAny([]byte(text)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ParseAny([]byte(replaced(t, text, tt.old, tt.new)))
			wantError(t, err, tt.want)
			if s != nil {
				t.Error("a statement came with the error")
			}
		})
	}
}

// made returns the statement, and fails the test on an error.
func made(t testing.TB) func(*Statement, error) *Statement {
	return func(s *Statement, err error) *Statement {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// digest returns the digest of 64 times the same digit.
func digest(t testing.TB, digit string) lock.Digest {
	t.Helper()
	d, err := lock.ParseHex(strings.Repeat(digit, 64))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// approvalOf is an approval of definitions of weather with every member.
func approvalOf(t testing.TB) Approval {
	return Approval{
		Server: "io.github.acme/weather", Audience: "prod.corp.example", Notes: "read in full",
		IssuedAt: issued, ExpiresAt: issued.AddDate(0, 6, 0),
		Replaces: map[string]lock.Digest{"tool:get_forecast": digest(t, "b"), "instructions:": digest(t, "c")},
	}
}

// revocationOf is a list with an entry of every kind.
func revocationOf(t testing.TB) Revocation {
	return Revocation{
		Servers: []string{"io.github.acme/mail", "io.github.acme/weather"}, Number: 7,
		IssuedAt: issued, NextUpdate: issued.AddDate(0, 0, 7),
		Entries: []Revoked{
			{Definition: Subject{lock.Tool, "send", digest(t, "b")}, Reason: "sends to everyone"},
			{Definition: Subject{lock.Tool, "send", digest(t, "a")}},
			{Statement: digest(t, "c"), Reason: "built from a stolen token"},
			{Definition: Subject{lock.Instructions, "", digest(t, "d")}},
			{Statement: digest(t, "b")},
		},
	}
}

// summary is a VSA with every member.
func summary() VSA {
	return VSA{
		Verifier: "https://corp.example/mcpsign", TimeVerified: issued, ResourceURI: "mcp:io.github.acme/weather",
		Policy: Resource{URI: "https://corp.example/policy.yaml", Digest: map[string]string{"sha256": hexA}},
		Inputs: []Resource{{Digest: map[string]string{"sha256": hexB}}, {URI: "https://corp.example/b", Digest: map[string]string{"sha256": hexA}}},
		Passed: true, Levels: []string{"SLSA_BUILD_LEVEL_3", "CORP_REVIEWED"}, SLSAVersion: "1.1",
	}
}
