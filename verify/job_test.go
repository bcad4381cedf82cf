package verify

import (
	"crypto/x509"
	"maps"
	"slices"
	"testing"

	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

// claims returns the claims of acme's release job with changes.
func claims(changes sigtest.Claims) sigtest.Claims {
	c := acme()
	maps.Copy(c, changes)
	return c
}

// What of a job's certificate an identity looks at: each is signed by a Fulcio
// and verified.
func TestJobs(t *testing.T) {
	const (
		own    = "github:acme/weather-mcp/.github/workflows/release.yml@"
		tags   = own + "refs/tags/v*"
		shared = "github:acme/ci/.github/workflows/sign.yml@refs/tags/v*"
		ghes   = "https://ghes.example/_services/token"
	)
	call := func(ref string) sigtest.Claims {
		return sigtest.Claims{"job_workflow_ref": "acme/ci/.github/workflows/sign.yml@" + ref}
	}
	gitlab := func(changes sigtest.Claims) sigtest.Claims {
		c := sigtest.GitLab("acme/weather-mcp", ".gitlab-ci.yml", "refs/tags/v1.4.2")
		maps.Copy(c, changes)
		return c
	}
	const project = "gitlab:acme/weather-mcp//.gitlab-ci.yml@refs/tags/v*"
	for name, tt := range map[string]struct {
		claims  sigtest.Claims
		accepts []string
		refuses []string
	}{
		"push of a tag": {acme(),
			[]string{tags, tags + "?id=1001", tags + "?trigger=push", tags + "?runner=github-hosted", tags + "?caller=acme/weather-mcp@refs/tags/v*", tags + "?issuer=" + github},
			[]string{tags + "?id=7", tags + "?trigger=release", tags + "?runner=self-hosted", tags + "?environment=release", tags + "?caller=acme/other@refs/tags/v*",
				tags + "?issuer=" + github + "/acme", own + "refs/heads/*", own + commit}},
		"release":  {claims(sigtest.Claims{"event_name": "release"}), []string{tags}, nil},
		"by hand":  {claims(sigtest.Claims{"event_name": "workflow_dispatch"}), []string{tags, tags + "?trigger=push,workflow_dispatch"}, []string{tags + "?trigger=push"}},
		"schedule": {claims(sigtest.Claims{"event_name": "schedule"}), []string{tags}, nil},
		"pull_request_target, which runs on the base": {claims(sigtest.Claims{"event_name": "pull_request_target"}),
			[]string{tags + "?trigger=pull_request_target"}, []string{tags, "uri:https://github.com/acme/weather-mcp/.github/workflows/release.yml@refs/tags/v1.4.2@" + github}},
		"workflow_run":           {claims(sigtest.Claims{"event_name": "workflow_run"}), []string{tags + "?trigger=push,workflow_run"}, []string{tags}},
		"an event nobody knows":  {claims(sigtest.Claims{"event_name": "merge_train"}), nil, []string{tags}},
		"an event of GitLab":     {claims(sigtest.Claims{"event_name": "web"}), nil, []string{tags}},
		"no event":               {claims(sigtest.Claims{"event_name": ""}), nil, []string{tags}},
		"an environment":         {claims(sigtest.Claims{"environment": "prod eu"}), []string{tags, tags + "?environment=prod%20eu"}, []string{tags + "?environment=prod", tags + "?environment=Prod%20eu"}},
		"a runner of one's own":  {claims(sigtest.Claims{"runner_environment": "self-hosted"}), []string{tags, tags + "?runner=self-hosted"}, []string{tags + "?runner=github-hosted"}},
		"an enterprise's issuer": {claims(sigtest.Claims{"iss": github + "/acme"}), []string{tags + "?issuer=" + github + "/acme"}, []string{tags, tags + "?issuer=" + github, tags + "?issuer=" + github + "/evil"}},
		"an Enterprise server":   {claims(sigtest.Claims{"iss": ghes, "server_url": "https://ghes.example"}), []string{tags + "?issuer=" + ghes}, []string{tags, tags + "?issuer=https://ghes.example"}},
		"an Enterprise server that says it is another": {claims(sigtest.Claims{"iss": ghes}), nil, []string{tags, tags + "?issuer=" + ghes}},
		"a called workflow": {claims(call("refs/tags/v3")),
			[]string{shared + "?caller=acme/weather-mcp@refs/tags/v*", shared + "?caller=acme/weather-mcp@refs/tags/v1.4.2&id=1001"},
			[]string{shared, tags, shared + "?caller=acme/weather-mcp@refs/heads/*", shared + "?caller=acme/other@refs/**", shared + "?caller=acme/ci@refs/**", shared + "?caller=acme/weather-mcp@refs/tags/v*&id=7"}},
		"a called workflow on a branch": {claims(sigtest.Claims{"job_workflow_ref": "acme/ci/.github/workflows/sign.yml@refs/tags/v3", "ref": "refs/heads/evil"}),
			nil, []string{shared, shared + "?caller=acme/weather-mcp@refs/tags/v*"}},
		"a called workflow at a commit": {claims(call(commit)),
			[]string{"github:acme/ci/.github/workflows/sign.yml@" + commit + "?caller=acme/weather-mcp@refs/tags/v*"},
			[]string{shared + "?caller=acme/weather-mcp@refs/tags/v*", "github:acme/ci/.github/workflows/sign.yml@" + commit}},
		"someone else calls it": {claims(sigtest.Claims{"job_workflow_ref": "acme/ci/.github/workflows/sign.yml@refs/tags/v3", "repository": "evil/weather-mcp"}),
			nil, []string{shared, tags, shared + "?caller=acme/weather-mcp@refs/**"}},
		"its own workflow at a commit": {claims(sigtest.Claims{"job_workflow_ref": "acme/weather-mcp/.github/workflows/release.yml@" + commit}),
			[]string{own + commit, own + commit + "?caller=acme/weather-mcp@refs/tags/v*"}, []string{tags, own + commit + "?caller=acme/weather-mcp@refs/heads/*"}},
		"its own workflow at a tag, called on a branch": {claims(sigtest.Claims{"ref": "refs/heads/evil"}),
			[]string{tags + "?caller=acme/weather-mcp@refs/heads/*"}, []string{tags}},

		"GitLab":                     {gitlab(nil), []string{project, project + "?runner=gitlab-hosted"}, []string{project + "?trigger=web", project + "?issuer=https://gitlab.example"}},
		"GitLab, by hand":            {gitlab(sigtest.Claims{"pipeline_source": "web"}), []string{project}, nil},
		"GitLab, through the API":    {gitlab(sigtest.Claims{"pipeline_source": "api"}), []string{project}, nil},
		"GitLab, merge request":      {gitlab(sigtest.Claims{"pipeline_source": "merge_request_event"}), nil, []string{project}},
		"GitLab, a token":            {gitlab(sigtest.Claims{"pipeline_source": "trigger"}), []string{project + "?trigger=trigger"}, []string{project}},
		"GitLab, a child":            {gitlab(sigtest.Claims{"pipeline_source": "parent_pipeline"}), nil, []string{project}},
		"GitLab, an event of GitHub": {gitlab(sigtest.Claims{"pipeline_source": "workflow_dispatch"}), nil, []string{project}},
		"GitLab of one's own": {gitlab(sigtest.Claims{"iss": "https://gitlab.example", "server_url": "https://gitlab.example", "ci_config_ref_uri": "gitlab.example/acme/weather-mcp//.gitlab-ci.yml@refs/tags/v1.4.2"}),
			[]string{project + "?issuer=https://gitlab.example"}, []string{project}},
		"GitLab, a configuration elsewhere": {gitlab(sigtest.Claims{"ci_config_ref_uri": "gitlab.com/acme/ci//sign.yml@refs/heads/main"}),
			[]string{"gitlab:acme/ci//sign.yml@refs/heads/main?caller=acme/weather-mcp@refs/tags/v*"}, []string{"gitlab:acme/ci//sign.yml@refs/heads/main", project}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServices()
			trust := Trust{SigstoreRoot: s.TrustedRoot()}
			bundle := keyless(t, s, tt.claims, sigtest.WithRekorV2|sigtest.WithTSA, statement(t, abc))
			for _, id := range tt.accepts {
				accepts(t, verifier(t, trust, id), bundle)
			}
			for _, id := range tt.refuses {
				refuses(t, verifier(t, trust, id), bundle, WrongSigner, "signed by")
			}
			// Whoever signed can be named, and with that name it counts.
			v := newVerifier(t, nil, trust)
			signer, err := v.Signer(bundle)
			if err != nil {
				t.Fatal(err)
			}
			id := IdentityOf(signer)
			if id.String() == "" {
				t.Fatalf("%s can't be named", signer)
			}
			accepts(t, verifier(t, trust, id.String()), bundle)
		})
	}
}

// A certificate whose environment can't be read is not taken for one without.
func TestBadEnvironment(t *testing.T) {
	s := newServices()
	s.Fulcio.Edit = func(c *x509.Certificate) {
		for i := range c.ExtraExtensions {
			if c.ExtraExtensions[i].Id.Equal(oidEnvironment) {
				c.ExtraExtensions[i].Value = []byte("release")
			}
		}
	}
	bundle := keyless(t, s, claims(sigtest.Claims{"environment": "release"}), sigtest.WithRekorV2|sigtest.WithTSA, statement(t, abc))
	refuses(t, verifier(t, Trust{SigstoreRoot: s.TrustedRoot()}, workflow), bundle, BadSignature, "deployment environment")
}

// Under the built-in rule a job counts by what started it as well, and what is
// remembered of an earlier version, which did not record that, is still known.
func TestTriggerBuiltin(t *testing.T) {
	s := newServices()
	v := newVerifier(t, nil, Trust{SigstoreRoot: s.TrustedRoot()})
	sign := func(c sigtest.Claims) []byte {
		return keyless(t, s, c, sigtest.WithRekorV2|sigtest.WithTSA, statement(t, abc))
	}
	entry := func(bundle []byte, edit func(*lock.Signer)) *lock.Server {
		signer, err := v.Signer(bundle)
		if err != nil {
			t.Fatal(err)
		}
		edit(&signer)
		e := &lock.Server{Name: weather, Evidence: []lock.Evidence{{Sequence: 100, Signer: signer, Bundle: lock.Digest{1}}}}
		for _, d := range listing(t, abc).Definitions {
			e.Pins = append(e.Pins, lock.Pin{Definition: d})
		}
		return e
	}
	same := func(*lock.Signer) {}
	push, target := sign(acme()), sign(claims(sigtest.Claims{"event_name": "pull_request_target"}))
	release := sign(claims(sigtest.Claims{"event_name": "release"}))
	called := sign(claims(sigtest.Claims{"job_workflow_ref": "acme/ci/.github/workflows/sign.yml@refs/tags/v3"}))
	evil := sign(claims(sigtest.Claims{"job_workflow_ref": "acme/ci/.github/workflows/sign.yml@refs/tags/v3", "repository": "evil/x", "repository_id": "9"}))
	for name, tt := range map[string]struct {
		entry  *lock.Server
		bundle []byte
		yes    bool
	}{
		"the same":            {entry(push, same), push, true},
		"another usual event": {entry(push, same), release, true},
		"another event":       {entry(push, same), target, false},
		"the recorded event":  {entry(target, same), target, true},
		"recorded by an earlier version": {entry(push, func(s *lock.Signer) {
			s.Ref, s.Trigger, s.Runner = "", "", ""
		}), push, true},
		"recorded by an earlier version, another event": {entry(push, func(s *lock.Signer) {
			s.Ref, s.Trigger, s.Runner = "", "", ""
		}), target, false},
		"a called workflow":      {entry(called, same), called, true},
		"called by someone else": {entry(called, same), evil, false},
	} {
		r := ask(listing(t, abc), tt.bundle)
		r.Lock = tt.entry
		d := v.Decide(r)
		if (d.Err() == nil) != tt.yes {
			t.Errorf("%s: %v; %v", name, d.Err(), d.Diagnostics())
		}
		if !tt.yes && !slices.ContainsFunc(d.Results(), func(r Result) bool { return r.Has(WrongSigner) }) {
			t.Errorf("%s: %s", name, verdicts(d))
		}
	}
}

// Where several must sign, one called workflow is one party, and one workflow is
// whatever its refs, its issuer's enterprise and its runs.
func TestOneWorkflow(t *testing.T) {
	const shared, own = "github:acme/ci/.github/workflows/sign.yml@", "github:acme/weather/.github/workflows/release.yml@"
	for _, pair := range [][2]string{
		{shared + "refs/tags/v*?caller=acme/a@refs/tags/v*", shared + "refs/tags/v*?caller=acme/b@refs/tags/v*"},
		{shared + "refs/tags/v*?caller=acme/a@refs/tags/v*", shared + commit + "?caller=acme/b@refs/tags/v*"},
		{own + "refs/tags/v*", own + "refs/heads/main"},
		{own + "refs/tags/v*", own + commit},
		{own + "refs/tags/v*", own + "refs/tags/v*?issuer=" + github + "/acme"},
		{own + "refs/tags/v*?trigger=push", own + "refs/tags/v*?trigger=release"},
		{own + "refs/tags/v*?environment=a", own + "refs/tags/v*?runner=self-hosted"},
		{own + "refs/tags/v*", "uri:" + repo + "/.github/workflows/release.yml@" + commit + "@" + github},
	} {
		_, err := ParsePolicy("p", []byte("version: 1\nrules:\n  - servers: [a/b]\n    need: 2\n    signedBy: [\""+pair[0]+"\", \""+pair[1]+"\"]\n"))
		wantError(t, err, "have the same signer")
	}
}
