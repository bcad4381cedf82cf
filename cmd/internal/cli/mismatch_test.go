package cli

import (
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

func TestMismatch(t *testing.T) {
	const actions, pki = "https://token.actions.githubusercontent.com", "sha256:0000000000000000000000000000000000000000000000000000000000000001"
	ci := func(repository, workflow, ref string) lock.Signer {
		return lock.Signer{Issuer: actions, Subject: "https://github.com/" + repository + "/" + workflow + "@" + ref, Repository: "https://github.com/" + repository, Ref: ref, Trigger: "push"}
	}
	const workflow = ".github/workflows/release.yml"
	for _, test := range []struct {
		expected string
		found    lock.Signer
		want     string // fields that are marked; empty for no table
	}{
		{"github:acme/weather/" + workflow + "@refs/tags/v*", ci("acme/weather", ".github/workflows/ci.yml", "refs/heads/main"), "workflow ref"},
		{"github:acme/weather/" + workflow + "@refs/tags/v*", ci("evil/weather", workflow, "refs/tags/v1"), "repository workflow"},
		{"email:a@acme.example@https://accounts.example", lock.Signer{Issuer: "https://accounts.example", Subject: "b@acme.example"}, "subject"},
		{"email:a@acme.example@https://accounts.example", lock.Signer{Issuer: "https://evil.example", Subject: "a@acme.example"}, "issuer"},
		{"x509:uri:https://acme.example/release", lock.Signer{Root: pki, Subject: "https://evil.example/release"}, "subject"},
		{"key:" + pki, lock.Signer{Key: strings.Replace(pki, "1", "2", 1)}, ""},
		{"email:a@acme.example@https://accounts.example", lock.Signer{Key: pki}, ""},
		{"email:a@acme.example@https://accounts.example", lock.Signer{}, ""},
		{"github:Acme/weather/" + workflow + "@refs/tags/v*", ci("acme/weather", workflow, "refs/tags/v1"), "repository workflow"},
		{"publisher acme", ci("acme/weather", workflow, "refs/tags/v1"), ""},
	} {
		var b strings.Builder
		mismatchText(&b, test.expected, test.found)
		var marked []string
		for line := range strings.Lines(b.String()) {
			if words := strings.Fields(line); words[0] == "!" {
				marked = append(marked, words[1])
			}
		}
		if strings.Join(marked, " ") != test.want || (b.Len() == 0) != (test.want == "") {
			t.Errorf("%s and %+v: %v marked, want %s\n%s", test.expected, test.found, marked, test.want, b.String())
		}
		if got := strings.Contains(b.String(), "upper and lower case"); got != strings.Contains(test.expected, "Acme") {
			t.Errorf("%s: says that the case differs: %v\n%s", test.expected, got, b.String())
		}
	}
}
