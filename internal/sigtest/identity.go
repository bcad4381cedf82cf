package sigtest

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"net/url"
	"strings"
)

// Claims are what an identity token says. Fulcio puts them into the
// certificate. Add or change members for other identities.
type Claims map[string]any

// Issuers of the identities of CI jobs.
const (
	GitHubIssuer = "https://token.actions.githubusercontent.com"
	GitLabIssuer = "https://gitlab.com"
)

// Email is the identity of a person.
func Email(addr, issuer string) Claims {
	return Claims{"iss": issuer, "sub": "person-1", "email": addr, "email_verified": true}
}

// SubjectURI is the identity of a machine, of an issuer of one's own. The
// subject alternative name is uri.
func SubjectURI(uri, issuer string) Claims { return Claims{"iss": issuer, "sub": uri} }

// GitHub is the identity of a workflow run: repo is OWNER/NAME, workflow the
// path of its file in repo, ref a full reference. The repository has the ID
// 1001 and its owner 2001.
func GitHub(repo, workflow, ref string) Claims {
	owner, _, _ := strings.Cut(repo, "/")
	file := repo + "/" + workflow + "@" + ref
	return Claims{
		"iss": GitHubIssuer, "sub": "repo:" + repo + ":ref:" + ref,
		"repository": repo, "repository_id": "1001", "repository_owner": owner, "repository_owner_id": "2001",
		"repository_visibility": "public", "ref": ref, "sha": sha, "event_name": "push", "workflow": "release",
		"job_workflow_ref": file, "job_workflow_sha": sha, "workflow_ref": file, "workflow_sha": sha,
		"runner_environment": "github-hosted", "run_id": "1", "run_attempt": "1",
	}
}

// GitLab is the identity of a pipeline job: project is its path, file that of
// its configuration, ref a full reference. The project has the ID 1001 and its
// namespace 2001.
func GitLab(project, file, ref string) Claims {
	namespace, _, _ := strings.Cut(project, "/")
	return Claims{
		"iss": GitLabIssuer, "sub": "project_path:" + project + ":ref:" + ref,
		"project_path": project, "project_id": "1001", "namespace_path": namespace, "namespace_id": "2001",
		"project_visibility": "public", "ref_path": ref, "sha": sha, "pipeline_source": "push",
		"ci_config_ref_uri": "gitlab.com/" + project + "//" + file + "@" + ref, "ci_config_sha": sha,
		"runner_environment": "gitlab-hosted", "job_id": "1",
	}
}

const sha = "3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d"

func (c Claims) str(name string) string { s, _ := c[name].(string); return s }

// subject is what the holder of the token signs to prove that it has the key.
func (c Claims) subject() string {
	if e := c.str("email"); e != "" {
		return e
	}
	return c.str("sub")
}

// certify writes the identity into a certificate, as Fulcio does
// (github.com/sigstore/fulcio/blob/main/docs/oid-info.md).
func (c Claims) certify(t *x509.Certificate) error {
	ext := extensions{t}
	ext.raw(1, c.str("iss"))
	ext.der(8, c.str("iss"))
	uri := c.str("sub")
	switch {
	case c.str("email") != "":
		t.EmailAddresses = []string{c.str("email")}
		return nil
	case c.str("job_workflow_ref") != "":
		uri = c.server("https://github.com") + c.str("job_workflow_ref")
		c.github(ext, uri)
	case c.str("ci_config_ref_uri") != "":
		uri = "https://" + c.str("ci_config_ref_uri")
		c.gitlab(ext, uri)
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme == "" {
		return fmt.Errorf("%q is not a URI", uri)
	}
	t.URIs = []*url.URL{u}
	return nil
}

// server is where the repositories of a CI system are: the claim server_url, of
// an Enterprise or self-managed one.
func (c Claims) server(public string) string {
	if s := c.str("server_url"); s != "" {
		public = s
	}
	return public + "/"
}

func (c Claims) github(ext extensions, uri string) {
	base := c.server("https://github.com")
	ext.raw(2, c.str("event_name"))
	ext.raw(3, c.str("sha"))
	ext.raw(4, c.str("workflow"))
	ext.raw(5, c.str("repository"))
	ext.raw(6, c.str("ref"))
	ext.der(9, uri)
	ext.der(10, c.str("job_workflow_sha"))
	ext.der(11, c.str("runner_environment"))
	ext.der(12, base+c.str("repository"))
	ext.der(13, c.str("sha"))
	ext.der(14, c.str("ref"))
	ext.der(15, c.str("repository_id"))
	ext.der(16, base+c.str("repository_owner"))
	ext.der(17, c.str("repository_owner_id"))
	ext.der(18, base+c.str("workflow_ref"))
	ext.der(19, c.str("workflow_sha"))
	ext.der(20, c.str("event_name"))
	ext.der(21, base+c.str("repository")+"/actions/runs/"+c.str("run_id")+"/attempts/"+c.str("run_attempt"))
	ext.der(22, c.str("repository_visibility"))
	ext.der(23, c.str("environment"))
}

func (c Claims) gitlab(ext extensions, uri string) {
	base := c.server("https://gitlab.com")
	ext.der(9, uri)
	ext.der(10, c.str("ci_config_sha"))
	ext.der(11, c.str("runner_environment"))
	ext.der(12, base+c.str("project_path"))
	ext.der(13, c.str("sha"))
	ext.der(14, c.str("ref_path"))
	ext.der(15, c.str("project_id"))
	ext.der(16, base+c.str("namespace_path"))
	ext.der(17, c.str("namespace_id"))
	ext.der(18, uri)
	ext.der(19, c.str("ci_config_sha"))
	ext.der(20, c.str("pipeline_source"))
	ext.der(21, base+c.str("project_path")+"/-/jobs/"+c.str("job_id"))
	ext.der(22, c.str("project_visibility"))
	ext.der(23, c.str("environment"))
}

// extensions adds Fulcio's, 1.3.6.1.4.1.57264.1.N, to a certificate.
type extensions struct{ t *x509.Certificate }

func (e extensions) add(n int, value []byte) {
	e.t.ExtraExtensions = append(e.t.ExtraExtensions,
		pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, n}, Value: value})
}

// raw adds one of the first six, which have no encoding.
func (e extensions) raw(n int, s string) {
	if s != "" {
		e.add(n, []byte(s))
	}
}

func (e extensions) der(n int, s string) {
	if s != "" {
		e.add(n, must(asn1.MarshalWithParams(s, "utf8")))
	}
}
