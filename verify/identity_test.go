package verify

import (
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

const (
	hexKey    = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	hexOther  = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	github    = "https://token.actions.githubusercontent.com"
	accounts  = "https://accounts.example"
	repo      = "https://github.com/acme/weather"
	file      = repo + "/.github/workflows/release.yml"
	shortFile = "acme/weather/.github/workflows/release.yml"

	sharedFile = "https://github.com/acme/ci/.github/workflows/sign.yml"
	commit     = "3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d"
)

func TestParseSigner(t *testing.T) {
	for _, id := range []string{
		"key:" + hexKey,
		"email:dev@acme.example@https://accounts.example",
		"email:dev+release@acme.example@http://127.0.0.1:8080/realm",
		"uri:https://ci.acme.example/release@https://accounts.example",
		"uri:spiffe://acme.example/ci@https://accounts.example",
		"uri:https://user@ci.acme.example@https://accounts.example/a@b",
		"github:acme/weather/.github/workflows/release.yml@refs/tags/v*",
		"github:acme/weather/.github/workflows/release.yml@refs/heads/**",
		"github:a/b/c@refs/x@y",
		"github:a/b/c@refs/tags/v*?id=1001",
		"github:a/b/c@" + commit,
		"github:a/b/c@" + commit + commit[:24] + "?id=1",
		"github:a/b/c@refs/tags/v*?issuer=https://ghes.example/_services/token&id=1",
		"github:a/b/c@refs/tags/v*?caller=d/e@refs/heads/main",
		"github:a/b/c@refs/tags/v*?trigger=push,repository_dispatch&environment=release&runner=self-hosted",
		"gitlab:acme/group/weather//f@refs/tags/v*?caller=a/b/c@refs/tags/v*&runner=gitlab-hosted&environment=a%20b",
		"gitlab:acme/weather//.gitlab-ci.yml@refs/tags/v*",
		"gitlab:acme/group/weather//ci/release.yml@refs/heads/main?id=7",
		"x509:uri:https://acme.example/release",
		"x509:uri:urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66",
		"x509:email:dev@acme.example",
	} {
		got, err := ParseSigner(id)
		if err != nil || got.String() != id {
			t.Errorf("ParseSigner(%s) = %s, %v", id, got, err)
		}
	}
	const wantForm = "want key:, email:, uri:, github:, gitlab: or x509:"
	for _, tt := range []struct{ id, want string }{
		{"", wantForm},
		{"acme", wantForm},
		{":", wantForm},
		{"Key:" + hexKey, wantForm},
		{"https://acme.example", wantForm},
		{"*", wantForm},

		{"key:", "is not of the form sha256:HEX"},
		{"key:sha256:", "64 lower-case hexadecimal digits"},
		{"key:" + hexKey[7:], "is not of the form sha256:HEX"},
		{"key:" + strings.ToUpper(hexKey), "is not of the form sha256:HEX"},
		{"key:sha256:" + strings.ToUpper(hexKey[7:]), "64 lower-case hexadecimal digits"},
		{"key:" + hexKey + "0", "64 lower-case hexadecimal digits"},
		{"key:sha256:" + strings.Repeat("0", 64), "hexadecimal"},
		{"key:sha512:" + hexKey[7:], "is not of the form sha256:HEX"},
		{"key:" + hexKey + "\n", "printable ASCII characters"},

		{"email:", "SUBJECT@ISSUER"},
		{"email:dev@acme.example", "SUBJECT@ISSUER"},
		{"email:dev@acme.example@accounts.example", "SUBJECT@ISSUER"},
		{"email:@https://accounts.example", "no e-mail address"},
		{"email:dev@https://accounts.example", "no e-mail address"},
		{"email:@acme.example@https://accounts.example", "no e-mail address"},
		{"email:dev@@https://accounts.example", "no e-mail address"},
		{"email:dev@a@b@https://accounts.example", "no e-mail address"},
		{"email:mailto:dev@acme.example@https://accounts.example", "no e-mail address"},
		{"email:https://dev@acme.example@https://accounts.example", "no e-mail address"},
		{"email:dev@acme.example/x@https://accounts.example", "no e-mail address"},
		{"email:dev@acme.example@https://", "is no URL"},
		{"email:dev@acme.example@https://:bad port/", "printable ASCII characters"},
		{"email:dev@acme.example@https://[::1", "is no URL"},
		{"email:d\u0435v@acme.example@https://accounts.example", "printable ASCII characters"},
		{"email:dev@acme.example @https://accounts.example", "printable ASCII characters"},

		{"uri:", "SUBJECT@ISSUER"},
		{"uri:https://ci.acme.example/release", "SUBJECT@ISSUER"},
		{"uri:release@https://accounts.example", "no absolute URI"},
		{"uri:/release@https://accounts.example", "no absolute URI"},
		{"uri:dev@acme.example@https://accounts.example", "no absolute URI"},
		{"uri:https:@https://accounts.example", "no absolute URI"},
		{"uri:%zz@https://accounts.example", "no absolute URI"},
		{"uri:https://ci.acme.example/\x1b[31m@https://accounts.example", "printable ASCII characters"},

		{"github:", "want github:OWNER/REPO/WORKFLOW@REF"},
		{"github:acme", "want github:OWNER/REPO/WORKFLOW@REF"},
		{"github:acme/weather", "want github:OWNER/REPO/WORKFLOW@REF"},
		{"github:acme/weather@refs/tags/v1", "want github:OWNER/REPO/WORKFLOW@REF"},
		{"github:acme/weather/@refs/tags/v1", "want github:OWNER/REPO/WORKFLOW@REF"},
		{"github://x@refs/tags/v1", "want github:OWNER/REPO/WORKFLOW@REF"},
		{"github:acme//x@refs/tags/v1", "want github:OWNER/REPO/WORKFLOW@REF"},
		{"github:" + shortFile, "want github:OWNER/REPO/WORKFLOW@REF"},
		{"github:" + shortFile + "@", "want github:OWNER/REPO/WORKFLOW@REF"},
		{"github:" + shortFile + "@v1", "the ref must start with refs/"},
		{"github:" + shortFile + "@*", "the ref must start with refs/"},
		{"github:" + shortFile + "@refs/", "the ref must start with refs/"},
		{"github:*/weather/x@refs/tags/v1", "only the ref may have wildcards"},
		{"github:acme/*/x@refs/tags/v1", "only the ref may have wildcards"},
		{"github:acme/weather/*@refs/tags/v1", "only the ref may have wildcards"},
		{"github:acme/weather/x?@refs/tags/v1", "only the ref may have wildcards"},
		{"github:acme/weather/x y@refs/tags/v1", "printable ASCII characters"},

		{"github:" + shortFile + "@refs/tags/v*?id=", "the number of the repository"},
		{"github:" + shortFile + "@refs/tags/v*?id=x1", "the number of the repository"},
		{"github:" + shortFile + "@refs/tags/v*?id=1?id=2", "the number of the repository"},
		{"github:" + shortFile + "@refs/tags/v*?id=" + strings.Repeat("1", 21), "the number of the repository"},
		{"github:" + shortFile + "@?id=1", "the ref must start with refs/"},
		{"github:" + shortFile + "@" + commit[1:], "or be the hash of a commit"},
		{"github:" + shortFile + "@" + strings.ToUpper(commit), "or be the hash of a commit"},
		{"github:" + shortFile + "@refs/tags/v*?", "it is unknown"},
		{"github:" + shortFile + "@refs/tags/v*?id=1&", "it is unknown"},
		{"github:" + shortFile + "@refs/tags/v*?tag=v1", "member tag: it is unknown: want id, issuer, caller"},
		{"github:" + shortFile + "@refs/tags/v*?Trigger=push", "member Trigger: write it in lower case, trigger"},
		{"github:" + shortFile + "@refs/tags/v*?id=1&id=1", "member id: it is there twice"},
		{"github:" + shortFile + "@refs/tags/v*?trigger=push&runner=self-hosted&trigger=push", "member trigger: it is there twice"},
		{"github:" + shortFile + "@refs/tags/v*?trigger", "the name of an event"},
		{"github:" + shortFile + "@refs/tags/v*?trigger=push,", "the name of an event"},
		{"github:" + shortFile + "@refs/tags/v*?trigger=Push", "events are in lower case: write push"},
		{"github:" + shortFile + "@refs/tags/v*?trigger=push,push", "push is there twice"},
		{"github:" + shortFile + "@refs/tags/v*?trigger=*", "the name of an event"},
		{"github:" + shortFile + "@refs/tags/v*?environment=", "the name of a deployment environment"},
		{"github:" + shortFile + "@refs/tags/v*?environment=%2", "invalid URL escape"},
		{"github:" + shortFile + "@refs/tags/v*?runner=gitlab-hosted", "want github-hosted or self-hosted"},
		{"github:" + shortFile + "@refs/tags/v*?runner=", "want github-hosted or self-hosted"},
		{"github:" + shortFile + "@refs/tags/v*?issuer=", "is not an https URL"},
		{"github:" + shortFile + "@refs/tags/v*?issuer=http://ghes.example", "is not an https URL"},
		{"github:" + shortFile + "@refs/tags/v*?issuer=https://github.com@evil.example", "is not an https URL"},
		{"github:" + shortFile + "@refs/tags/v*?issuer=https://GHES.example", "write the host in lower case, ghes.example"},
		{"github:" + shortFile + "@refs/tags/v*?caller=acme/weather", "name the ref that may be built, as in acme/weather@refs/tags/v*"},
		{"github:" + shortFile + "@refs/tags/v*?caller=acme/weather@", "name the ref that may be built"},
		{"github:" + shortFile + "@refs/tags/v*?caller=acme/weather@v1", "the ref must start with refs/"},
		{"github:" + shortFile + "@refs/tags/v*?caller=acme/weather@" + commit, "the ref must start with refs/"},
		{"github:" + shortFile + "@refs/tags/v*?caller=acme@refs/tags/v1", "want OWNER/REPO@REF"},
		{"github:" + shortFile + "@refs/tags/v*?caller=acme/*@refs/tags/v1", "want OWNER/REPO@REF"},
		{"github:" + shortFile + "@refs/tags/v*?caller=a/b/c@refs/tags/v1", "want OWNER/REPO@REF"},

		{"gitlab:", "want gitlab:GROUP/PROJECT//FILE@REF"},
		{"gitlab:acme//f@refs/tags/v1", "want gitlab:GROUP/PROJECT//FILE@REF"},
		{"gitlab:acme/weather/f@refs/tags/v1", "want gitlab:GROUP/PROJECT//FILE@REF"},
		{"gitlab:acme/weather//@refs/tags/v1", "want gitlab:GROUP/PROJECT//FILE@REF"},
		{"gitlab:/acme/weather//f@refs/tags/v1", "want gitlab:GROUP/PROJECT//FILE@REF"},
		{"gitlab:acme/weather//f", "want gitlab:GROUP/PROJECT//FILE@REF"},
		{"gitlab:acme/weather//f@v1", "the ref must start with refs/"},
		{"gitlab:acme/*//f@refs/tags/v1", "only the ref may have wildcards"},
		{"gitlab:acme/weather//*@refs/tags/v1", "only the ref may have wildcards"},

		{"x509:", "want uri: or email:"},
		{"x509:acme", "want uri: or email:"},
		{"x509:dns:acme.example", "want uri: or email:"},
		{"x509:uri:", "no absolute URI"},
		{"x509:uri:acme", "no absolute URI"},
		{"x509:uri:dev@acme.example", "no absolute URI"},
		{"x509:email:", "no e-mail address"},
		{"x509:email:https://acme.example", "no e-mail address"},
		{"x509:email:acme", "no e-mail address"},
	} {
		got, err := ParseSigner(tt.id)
		wantError(t, err, tt.want)
		if got.String() != "" || got.want != (lock.Signer{}) || got.Matches(lock.Signer{}) {
			t.Errorf("ParseSigner(%s) = %+v beside the error", tt.id, got)
		}
		if err != nil {
			checkShown(t, err.Error())
		}
	}
}

// signers has one of each kind.
var signers = map[string]lock.Signer{
	"key:" + hexKey:                                {Key: hexKey},
	"x509:uri:https://acme.example/release":        {Root: hexKey, Subject: "https://acme.example/release"},
	"x509:email:dev@acme.example":                  {Root: hexKey, Subject: "dev@acme.example"},
	"email:dev@acme.example@" + accounts:           {Issuer: accounts, Subject: "dev@acme.example"},
	"uri:https://acme.example/release@" + accounts: {Issuer: accounts, Subject: "https://acme.example/release"},
	"uri:https://dev@acme.example@" + accounts:     {Issuer: accounts, Subject: "https://dev@acme.example"},
	"github:" + shortFile + "@refs/tags/v1.4.2":    {Issuer: github, Subject: file + "@refs/tags/v1.4.2", Repository: repo, RepositoryID: "1001", Ref: "refs/tags/v1.4.2", Trigger: "push", Runner: "github-hosted"},
	"gitlab:acme/weather//.gitlab-ci.yml@refs/heads/main?issuer=https://gitlab.example": {
		Issuer: "https://gitlab.example", Subject: "https://gitlab.example/acme/weather//.gitlab-ci.yml@refs/heads/main", Repository: "https://gitlab.example/acme/weather", Ref: "refs/heads/main", Trigger: "web"},
	"github:" + shortFile + "@refs/tags/v1?issuer=https://ghes.example/_services/token": {
		Issuer: "https://ghes.example/_services/token", Subject: "https://ghes.example/" + shortFile + "@refs/tags/v1", Repository: "https://ghes.example/acme/weather", Ref: "refs/tags/v1", Trigger: "push"},
	"github:" + shortFile + "@refs/tags/v1?issuer=" + github + "/acme-corp": {
		Issuer: github + "/acme-corp", Subject: file + "@refs/tags/v1", Repository: repo, Ref: "refs/tags/v1", Trigger: "push"},
	"github:" + shortFile + "@refs/tags/v1?issuer=https://token.actions.acme.ghe.com": {
		Issuer: "https://token.actions.acme.ghe.com", Subject: "https://acme.ghe.com/" + shortFile + "@refs/tags/v1", Repository: "https://acme.ghe.com/acme/weather", Ref: "refs/tags/v1", Trigger: "push"},
	"github:acme/ci/.github/workflows/sign.yml@refs/tags/v3?caller=acme/weather@refs/tags/v1": {
		Issuer: github, Subject: sharedFile + "@refs/tags/v3", Repository: repo, Ref: "refs/tags/v1", Trigger: "push"},
	"github:acme/ci/.github/workflows/sign.yml@" + commit + "?caller=acme/weather@refs/tags/v1": {
		Issuer: github, Subject: sharedFile + "@" + commit, Repository: repo, Ref: "refs/tags/v1", Trigger: "push"},
	"github:" + shortFile + "@refs/tags/v1?caller=acme/weather@refs/heads/x": {
		Issuer: github, Subject: file + "@refs/tags/v1", Repository: repo, Ref: "refs/heads/x", Trigger: "push"},
	"github:" + shortFile + "@refs/heads/main?trigger=workflow_run&environment=pr%26od%20eu": {
		Issuer: github, Subject: file + "@refs/heads/main", Repository: repo, Ref: "refs/heads/main", Trigger: "workflow_run", Environment: "pr&od eu"},
	"gitlab:acme/ci//sign.yml@refs/heads/main?caller=acme/group/weather@refs/tags/v1": {
		Issuer: "https://gitlab.com", Subject: "https://gitlab.com/acme/ci//sign.yml@refs/heads/main", Repository: "https://gitlab.com/acme/group/weather", Ref: "refs/tags/v1", Trigger: "push"},
	"gitlab:acme/group/weather//.gitlab-ci.yml@refs/tags/v1": {
		Issuer: "https://gitlab.com", Subject: "https://gitlab.com/acme/group/weather//.gitlab-ci.yml@refs/tags/v1", Repository: "https://gitlab.com/acme/group/weather", RepositoryID: "7", Ref: "refs/tags/v1", Trigger: "push"},
	"email:robot@acme.example@" + github: {Issuer: github, Subject: "robot@acme.example"},
	// Shapes that github: can't say.
	"uri:" + repo + "/a@b.yml@refs/tags/v1@" + github: {Issuer: github, Subject: repo + "/a@b.yml@refs/tags/v1", Repository: repo},
	"uri:" + file + "@3f9c2e1d@" + github:             {Issuer: github, Subject: file + "@3f9c2e1d", Repository: repo},
	"uri:" + file + "@refs/tags/*@" + github:          {Issuer: github, Subject: file + "@refs/tags/*", Repository: repo},
	"uri:https://github.com/acme/weather@" + github:   {Issuer: github, Subject: "https://github.com/acme/weather", Repository: repo},
}

// IdentityOf names exactly the signer, and can be written and read again.
func TestIdentityOf(t *testing.T) {
	for want, s := range signers {
		id := IdentityOf(s)
		if id.String() != want || !id.Matches(s) {
			t.Errorf("IdentityOf(%v) = %s, want %s", s, id, want)
		}
		again, err := ParseSigner(id.String())
		if err != nil || !again.Matches(s) {
			t.Errorf("ParseSigner(%s) = %v", id, err)
		}
		for _, other := range signers {
			if other != s && (id.Matches(other) || again.Matches(other)) {
				t.Errorf("%s matches %v", id, other)
			}
		}
	}
	for _, s := range []lock.Signer{
		{},
		{Subject: "dev@acme.example"},
		{Issuer: accounts},
		{Issuer: "accounts", Subject: "dev@acme.example"},
		{Root: hexKey},
		{Root: hexKey, Subject: "acme.example"},
		{Issuer: accounts, Subject: "\x1b[31m@acme.example"},
		{Issuer: accounts, Subject: "nobody"},
		// A workflow that anyone can call: by whom it was is not known.
		{Issuer: github, Subject: file + "@refs/tags/v1", Repository: "https://github.com/evil/x"},
		// A job of another host than the issuer's.
		{Issuer: "https://ghes.example/_services/token", Subject: file + "@refs/tags/v1", Repository: "https://github.com/acme/other", Ref: "refs/tags/v1", Trigger: "push"},
		{Issuer: github, Subject: file + "@refs/tags/v1", Repository: repo + "-fork"},
		{Issuer: "https://gitlab.example", Subject: "https://gitlab.example/ci/x//.gitlab-ci.yml@refs/heads/main", Repository: "https://gitlab.example/acme/x"},
	} {
		if id := IdentityOf(s); id.String() != "" || id.Matches(s) || id.Matches(lock.Signer{}) {
			t.Errorf("IdentityOf(%v) = %s, want nobody", s, id)
		}
	}
}

// Each member of a signer counts, and nothing around it.
func TestMatches(t *testing.T) {
	changes := map[string]func(*lock.Signer){
		"issuer":            func(s *lock.Signer) { s.Issuer += "/" },
		"other issuer":      func(s *lock.Signer) { s.Issuer = "https://evil.example" },
		"no issuer":         func(s *lock.Signer) { s.Issuer = map[bool]string{true: accounts}[s.Issuer == ""] },
		"subject longer":    func(s *lock.Signer) { s.Subject += "x" },
		"subject prefixed":  func(s *lock.Signer) { s.Subject = "x" + s.Subject },
		"subject on a line": func(s *lock.Signer) { s.Subject += "\n" },
		"subject after one": func(s *lock.Signer) { s.Subject = "evil\n" + s.Subject },
		"other key":         func(s *lock.Signer) { s.Key = hexOther },
		"no key, no root":   func(s *lock.Signer) { s.Key, s.Root, s.Issuer = "", "", "" },
		"root as well":      func(s *lock.Signer) { s.Root = map[bool]string{true: hexOther}[s.Root == ""] },
	}
	for text, s := range signers {
		id, err := ParseSigner(text)
		if err != nil {
			t.Fatal(err)
		}
		for name, change := range changes {
			other := s
			change(&other)
			if other == s {
				t.Fatalf("%s of %s changes nothing", name, text)
			}
			if id.Matches(other) {
				t.Errorf("%s, %s: %+v matches", text, name, other)
			}
		}
		if (Identity{}).Matches(s) {
			t.Errorf("nobody matches %v", s)
		}
	}
	x509 := signers["x509:email:dev@acme.example"]
	x509.Root = hexOther
	if id := IdentityOf(x509); !id.Matches(x509) || id.String() != "x509:email:dev@acme.example" {
		t.Error("an x509 identity is under any root that is trusted")
	}
}

// The ref alone has wildcards, and they stay in it.
func TestGitHub(t *testing.T) {
	for _, tt := range []struct {
		ref   string
		yes   string // refs that match, by spaces
		never string
	}{
		{"refs/tags/v1", "refs/tags/v1", "refs/tags/v11 refs/tags/v refs/tags/V1 refs/tags/v1/ xrefs/tags/v1 refs/heads/v1 refs/tags/v1@refs/tags/v1"},
		{"refs/tags/v*", "refs/tags/v refs/tags/v1 refs/tags/v1.2-rc.1 refs/tags/v@x", "refs/tags/v1/x refs/tags/xv1 refs/heads/v1 refs/tags/ refs/tags/v1@refs/heads/x"},
		{"refs/tags/*/v*", "refs/tags/a/v1 refs/tags//v1", "refs/tags/v1 refs/tags/a/b/v1"},
		{"refs/tags/**", "refs/tags/ refs/tags/a refs/tags/a/b/c", "refs/tag/a refs/heads/a"},
		{"refs/**/v1", "refs/tags/v1 refs/a/b/v1", "refs/v1 refs/tags/v12"},
		{"refs/*/v1", "refs/tags/v1 refs/heads/v1", "refs/a/b/v1 refs/v1"},
		{"refs/tags/v1.*", "refs/tags/v1. refs/tags/v1.2", "refs/tags/v1x refs/tags/v12"},
		{"refs/tags/v[0-9]", "refs/tags/v[0-9]", "refs/tags/v1"},
		{"refs/tags/v+(1|2)$", "refs/tags/v+(1|2)$", "refs/tags/v1 refs/tags/vv1"},
		{"refs/tags/***", "refs/tags/a refs/tags/a/b", "refs/heads/a"},
	} {
		id, err := ParseSigner("github:" + shortFile + "@" + tt.ref)
		if err != nil {
			t.Fatal(err)
		}
		matches := func(ref string) bool {
			return id.Matches(lock.Signer{Issuer: github, Subject: file + "@" + ref, Repository: repo, Ref: ref, Trigger: "push"})
		}
		for _, ref := range strings.Fields(tt.yes) {
			if !matches(ref) {
				t.Errorf("%s does not match %s", tt.ref, ref)
			}
		}
		for _, ref := range strings.Fields(tt.never) {
			if matches(ref) {
				t.Errorf("%s matches %s", tt.ref, ref)
			}
		}
	}

	id, err := ParseSigner("github:" + shortFile + "@refs/**")
	if err != nil {
		t.Fatal(err)
	}
	good := lock.Signer{Issuer: github, Subject: file + "@refs/tags/v1", Repository: repo, Ref: "refs/tags/v1", Trigger: "push"}
	if !id.Matches(good) {
		t.Fatal("the workflow does not match")
	}
	for _, subject := range []string{
		"https://github.com/evil/acme/weather/.github/workflows/release.yml@refs/tags/v1",
		"https://github.com/acme/weather/.github/workflows/release.yml",
		"https://github.com/acme/weather/.github/workflows/release.yml@v1",
		"https://github.com/acme/weather/.github/workflows/release.yml.evil@refs/tags/v1",
		"https://github.com/acme/weather/.github/workflows/release_yml@refs/tags/v1",
		"https://github.com/acme/weather/.github/workflows/../release.yml@refs/tags/v1",
		"https://github.com/acme/weather-evil/.github/workflows/release.yml@refs/tags/v1",
		"https://github.com/acme%2Fweather/.github/workflows/release.yml@refs/tags/v1",
		"https://github.com/acme/weather/.github%2Fworkflows/release.yml@refs/tags/v1",
		"https://github.com/acme/Weather/.github/workflows/release.yml@refs/tags/v1",
		"HTTPS://github.com/acme/weather/.github/workflows/release.yml@refs/tags/v1",
		"http://github.com/acme/weather/.github/workflows/release.yml@refs/tags/v1",
		"https://github.com.evil.example/acme/weather/.github/workflows/release.yml@refs/tags/v1",
		"https://evil.example/https://github.com/acme/weather/.github/workflows/release.yml@refs/tags/v1",
		"https://github.com/acme/weather/.github/workflows/release.yml@refs",
		"",
	} {
		other := good
		other.Subject = subject
		if id.Matches(other) {
			t.Errorf("matches subject %s", subject)
		}
	}
	for _, repository := range []string{"", "https://github.com/acme/weather/", "https://github.com/acme", "https://github.com/Acme/weather", "https://github.com/evil/weather", "acme/weather"} {
		other := good
		other.Repository = repository
		if id.Matches(other) {
			t.Errorf("matches repository %q", repository)
		}
	}
}

// A number that is pinned tells a repository from another of its name.
func TestPinnedRepository(t *testing.T) {
	for _, tt := range []struct {
		id      string
		signer  lock.Signer
		matches map[string]bool // by the number in the certificate
	}{
		{"github:" + shortFile + "@refs/tags/v*?id=1001", lock.Signer{Issuer: github, Subject: file + "@refs/tags/v1", Repository: repo, Ref: "refs/tags/v1", Trigger: "push"},
			map[string]bool{"1001": true, "1002": false, "": false, "10011": false}},
		{"github:" + shortFile + "@refs/tags/v*", lock.Signer{Issuer: github, Subject: file + "@refs/tags/v1", Repository: repo, Ref: "refs/tags/v1", Trigger: "push"},
			map[string]bool{"1001": true, "1002": true, "": true}},
		{"gitlab:acme/weather//.gitlab-ci.yml@refs/tags/v*?id=7", lock.Signer{Issuer: "https://gitlab.com",
			Subject: "https://gitlab.com/acme/weather//.gitlab-ci.yml@refs/tags/v1", Repository: "https://gitlab.com/acme/weather", Ref: "refs/tags/v1", Trigger: "push"},
			map[string]bool{"7": true, "8": false, "": false}},
	} {
		id := identities(t, tt.id)[0]
		for number, want := range tt.matches {
			s := tt.signer
			if s.RepositoryID = number; id.Matches(s) != want {
				t.Errorf("%s matches number %q: %v", tt.id, number, !want)
			}
			// A rename gives the repository another name, and another identity.
			s.Repository += "-renamed"
			s.Subject = strings.Replace(s.Subject, "weather/", "weather-renamed/", 1)
			if id.Matches(s) {
				t.Errorf("%s matches a renamed repository", tt.id)
			}
		}
	}
}
