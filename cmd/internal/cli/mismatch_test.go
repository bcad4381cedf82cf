package cli

import (
	"strings"
	"testing"
)

func TestMismatch(t *testing.T) {
	for _, test := range []struct {
		expected, found string
		want            []string // fields that are marked; nil for no table
	}{
		{"github:acme/weather/.github/workflows/release.yml@refs/tags/v*", "github:acme/weather/.github/workflows/ci.yml@refs/heads/main", []string{"workflow", "ref"}},
		{"github:acme/weather/.github/workflows/release.yml@refs/tags/v*", "github:evil/weather/.github/workflows/release.yml@refs/tags/v*", []string{"repository"}},
		{"email:a@acme.example@https://accounts.example", "email:b@acme.example@https://accounts.example", []string{"subject"}},
		{"email:a@acme.example@https://accounts.example", "email:a@acme.example@https://evil.example", []string{"issuer"}},
		{"uri:https://a.example/@x@https://i.example", "uri:https://a.example/@y@https://i.example", []string{"subject"}},
		{"gitlab:acme/weather//.gitlab-ci.yml@refs/tags/v1", "gitlab:acme/weather//.gitlab-ci.yml@refs/heads/main", []string{"ref"}},
		{"x509:uri:https://acme.example/release", "x509:email:a@acme.example", []string{"subject"}},
		{"key:sha256:00", "key:sha256:01", nil},
		{"email:a@acme.example@https://accounts.example", "key:sha256:01", nil},
		{"email:a", "", nil},
	} {
		var b strings.Builder
		mismatchText(&b, test.expected, test.found)
		var marked []string
		for line := range strings.Lines(b.String()) {
			if words := strings.Fields(line); words[0] == "!" {
				marked = append(marked, words[1])
			}
		}
		if strings.Join(marked, " ") != strings.Join(test.want, " ") || (b.Len() == 0) != (test.want == nil) {
			t.Errorf("%s and %s: %v marked, want %v\n%s", test.expected, test.found, marked, test.want, b.String())
		}
	}
}
