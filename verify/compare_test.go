package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// Which part of a signer is another than the identity's.
func TestCompare(t *testing.T) {
	job := lock.Signer{Issuer: github, Subject: file + "@refs/tags/v1", Repository: repo, RepositoryID: "1001", Ref: "refs/tags/v1", Trigger: "push"}
	with := func(edit func(*lock.Signer)) lock.Signer {
		s := job
		edit(&s)
		return s
	}
	for _, tt := range []struct {
		id     string
		signer lock.Signer
		differ string
	}{
		{"github:" + shortFile + "@refs/tags/v*", job, ""},
		{"github:" + shortFile + "@refs/tags/v*?id=1001", job, ""},
		{"github:" + shortFile + "@refs/tags/v*?id=7", job, "repository number: 7, 1001"},
		{"github:" + shortFile + "@refs/heads/*", job, "ref: refs/heads/*, refs/tags/v1"},
		{"github:acme/weather/other.yml@refs/tags/v*", job, "workflow: " + repo + "/other.yml, " + file},
		{"github:acme/other/.github/workflows/release.yml@refs/tags/v*", job,
			"repository: https://github.com/acme/other, " + repo + "; workflow: https://github.com/acme/other/.github/workflows/release.yml, " + file},
		{"github:" + shortFile + "@refs/tags/v*", with(func(s *lock.Signer) { s.Issuer = accounts }), "issuer: " + github + ", " + accounts},
		{"github:" + shortFile + "@refs/tags/v*", with(func(s *lock.Signer) { s.Ref = "refs/heads/x" }), "built ref: refs/tags/v*, refs/heads/x"},
		{"github:" + shortFile + "@refs/tags/v*", with(func(s *lock.Signer) { s.Trigger = "pull_request_target" }), "trigger: push,release,schedule,workflow_dispatch, pull_request_target"},
		{"github:" + shortFile + "@refs/tags/v*?environment=release&runner=self-hosted", job, "environment: release, ; runner: self-hosted, "},
		{"github:" + shortFile + "@refs/tags/v*?caller=acme/weather@refs/heads/*", job, "built ref: refs/heads/*, refs/tags/v1"},
		{"email:dev@acme.example@" + accounts, lock.Signer{Issuer: accounts, Subject: "dev@acme.example"}, ""},
		{"email:dev@acme.example@" + accounts, lock.Signer{Issuer: accounts, Subject: "eve@acme.example"}, "subject: dev@acme.example, eve@acme.example"},
		{"email:dev@acme.example@" + accounts, lock.Signer{Root: hexKey, Subject: "dev@acme.example"}, "issuer: " + accounts + ", ; root: , " + hexKey},
		{"x509:email:dev@acme.example", lock.Signer{Root: hexKey, Subject: "dev@acme.example"}, ""},
		{"key:" + hexKey, lock.Signer{Key: hexKey}, ""},
		{"key:" + hexKey, lock.Signer{Key: hexOther}, "key: " + hexKey + ", " + hexOther},
		{"key:" + hexKey, lock.Signer{}, "key: " + hexKey + ", "},
	} {
		id := identities(t, tt.id)[0]
		var differ []string
		for _, c := range id.Compare(tt.signer) {
			if !c.Equal {
				differ = append(differ, fmt.Sprintf("%s: %s, %s", c.Part, c.Want, c.Got))
			}
		}
		if got := strings.Join(differ, "; "); got != tt.differ {
			t.Errorf("%s: differs in %s, want %s", tt.id, got, tt.differ)
		}
		if id.Matches(tt.signer) != (tt.differ == "") {
			t.Errorf("%s matches: %v", tt.id, id.Matches(tt.signer))
		}
	}
}
