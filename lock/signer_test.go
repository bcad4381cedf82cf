package lock_test

import (
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

const (
	github   = "https://token.actions.githubusercontent.com"
	repo     = "https://github.com/acme/weather"
	workflow = repo + "/.github/workflows/release.yml"
)

// ci is the identity of a workflow at a ref.
func ci(ref string) lock.Signer {
	return lock.Signer{Issuer: github, Subject: workflow + "@" + ref, Repository: repo, RepositoryID: "1234"}
}

func with(s lock.Signer, change func(*lock.Signer)) lock.Signer {
	change(&s)
	return s
}

func TestSignerSame(t *testing.T) {
	tag := ci("refs/tags/v1.4.2")
	key := lock.Signer{Key: "sha256:" + hexits}
	x509 := lock.Signer{Root: "sha256:" + hexits, Subject: "https://acme.example/release"}
	mail := lock.Signer{Issuer: "https://accounts.example", Subject: "ann@acme.example"}
	for _, c := range []struct {
		name string
		a, b lock.Signer
		same bool
	}{
		{"a workflow and itself", tag, tag, true},
		{"another tag", tag, ci("refs/tags/v1.5.0"), true},
		{"a branch", tag, ci("refs/heads/main"), true},
		{"a tag with an @ in it", tag, ci("refs/tags/@acme/weather@2.0.0"), true},
		{"a ref that looks like two", tag, ci("refs/heads/x@refs/tags/v1"), true},
		{"a commit", tag, ci("3f9c2e1b7a5d4c6e8f90a1b2c3d4e5f60718293a"), true},
		{"no ref", tag, with(tag, func(s *lock.Signer) { s.Subject = workflow }), true},
		{"another workflow", tag, with(tag, func(s *lock.Signer) { s.Subject = repo + "/.github/workflows/test.yml@refs/tags/v1.4.2" }), false},
		{"a workflow whose name goes on behind an @", tag, with(tag, func(s *lock.Signer) { s.Subject = workflow + "@evil.yml@refs/tags/v1.4.2" }), false},
		{"two workflows with an @ in the name", with(tag, func(s *lock.Signer) { s.Subject = repo + "/a@1.yml@refs/heads/x" }),
			with(tag, func(s *lock.Signer) { s.Subject = repo + "/a@2.yml@refs/heads/x" }), false},
		{"the same at a commit", with(tag, func(s *lock.Signer) { s.Subject = repo + "/a@1.yml@" + hexits[:40] }),
			with(tag, func(s *lock.Signer) { s.Subject = repo + "/a@2.yml@" + hexits[:40] }), false},
		{"one of them at two commits", with(tag, func(s *lock.Signer) { s.Subject = repo + "/a@1.yml@" + hexits[:40] }),
			with(tag, func(s *lock.Signer) { s.Subject = repo + "/a@1.yml@" + hexits[1:41] }), true},
		{"another repository", tag, with(tag, func(s *lock.Signer) { s.Repository = "https://github.com/acme/other" }), false},
		{"a reusable workflow called from elsewhere", tag, with(tag, func(s *lock.Signer) { s.Repository, s.RepositoryID = "https://github.com/evil/x", "" }), false},
		{"the name reused after a rename", tag, with(tag, func(s *lock.Signer) { s.RepositoryID = "9999" }), false},
		{"the repository's number is not known", tag, with(tag, func(s *lock.Signer) { s.RepositoryID = "" }), true},
		{"no repository", tag, with(tag, func(s *lock.Signer) { s.Repository, s.RepositoryID = "", "" }), false},
		{"another issuer", tag, with(tag, func(s *lock.Signer) { s.Issuer = "https://gitlab.com" }), false},
		{"capitals", tag, with(tag, func(s *lock.Signer) { s.Repository = "https://github.com/Acme/weather" }), false},
		{"a person and itself", mail, mail, true},
		{"another person", mail, with(mail, func(s *lock.Signer) { s.Subject = "bob@acme.example" }), false},
		{"a person of the same name elsewhere", mail, with(mail, func(s *lock.Signer) { s.Subject = "ann@evil.example" }), false},
		{"a person at another issuer", mail, with(mail, func(s *lock.Signer) { s.Issuer = "https://evil.example" }), false},
		{"a key and itself", key, key, true},
		{"another key", key, lock.Signer{Key: "sha256:" + strings.Repeat("1", 64)}, false},
		{"a certificate and itself", x509, x509, true},
		{"a ref counts outside of CI", with(x509, func(s *lock.Signer) { s.Subject += "@v1" }), with(x509, func(s *lock.Signer) { s.Subject += "@v2" }), false},
		{"another root", x509, with(x509, func(s *lock.Signer) { s.Root = "sha256:" + strings.Repeat("1", 64) }), false},
		{"a key and a certificate", key, x509, false},
		{"a certificate and a workflow", x509, tag, false},
		{"nobody and a key", lock.Signer{}, key, false},
		{"nobody and nobody", lock.Signer{}, lock.Signer{}, false},
	} {
		if got := c.a.Same(c.b); got != c.same {
			t.Errorf("%s: got %t", c.name, got)
		}
		if got := c.b.Same(c.a); got != c.same {
			t.Errorf("%s, the other way round: got %t", c.name, got)
		}
	}
}

func TestSignerString(t *testing.T) {
	for want, s := range map[string]lock.Signer{
		"nobody":               {},
		"key:sha256:" + hexits: {Key: "sha256:" + hexits},
		"x509:https://acme.example/release under root sha256:" + hexits: {Root: "sha256:" + hexits, Subject: "https://acme.example/release"},
		`a\u{202e}@x by https://accounts.example\u{1b}`:                 {Issuer: "https://accounts.example\x1b", Subject: "a\u202e@x"},
	} {
		if got := s.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
