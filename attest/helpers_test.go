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
	return a.SameSubjects(b) && reflect.DeepEqual(a.release, b.release)
}

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("error = %v, want one with %q", err, part)
	}
}
