package verify

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
)

// An Identity says who may sign. The zero Identity is nobody.
//
// An identity is written in one of these forms, in at most 1,024 printable ASCII
// characters without spaces; all is compared exactly but for REF, in which * matches within a
// segment and ** across segments:
//
//	key:sha256:HEX                        SHA-256 of the public key's PKIX DER
//	email:ADDRESS@ISSUER                  e-mail address, as an OpenID Connect issuer vouches
//	uri:URI@ISSUER                        URI, likewise
//	github:OWNER/REPO/WORKFLOW@REF        workflow file of a GitHub repository
//	gitlab:PROJECT//FILE@REF              pipeline of a project on gitlab.com, by its CI configuration file
//	x509:uri:URI, x509:email:ADDRESS      certificate under one of the roots that are trusted
//
// After REF of the two CI systems "?id=N" may pin the number that the system
// gave to the repository: then one that was made anew under the name is another.
//
// A workflow counts for the repository it lies in. One that builds another
// repository, as reusable workflows do, is nobody: it runs for whoever calls it.
type Identity struct {
	text    string
	want    lock.Signer // members that must be equal
	subject pattern     // for CI systems: the subject, with the ref's globs
	root    bool        // the signer has a root, whichever
}

// String returns the identity as it was parsed.
func (id Identity) String() string { return id.text }

// The issuers of the identities of CI jobs, as Fulcio knows them.
const (
	githubIssuer = "https://token.actions.githubusercontent.com"
	gitlabIssuer = "https://gitlab.com"
)

// ParseSigner parses an identity.
func ParseSigner(id string) (Identity, error) {
	var parsed Identity
	err := checkIdentity(id)
	if err == nil {
		form, rest, _ := strings.Cut(id, ":")
		parsed, err = parseIdentity(form, rest)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("identity %s: %w", shown(id), err)
	}
	parsed.text = id
	return parsed, nil
}

// checkIdentity checks the characters of an identity.
func checkIdentity(id string) error {
	const limit = 1024
	if len(id) > limit || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7F }) {
		return fmt.Errorf("want at most %d printable ASCII characters without spaces", limit)
	}
	return nil
}

func parseIdentity(form, rest string) (Identity, error) {
	switch form {
	case "key":
		d, err := lock.ParseDigest(rest)
		return Identity{want: lock.Signer{Key: d.String()}}, err
	case "email", "uri":
		return parseOpenID(form, rest)
	case "github":
		return parseGitHub(rest)
	case "gitlab":
		return parseGitLab(rest)
	case "x509":
		kind, san, _ := strings.Cut(rest, ":")
		if err := checkSubject(kind, san); err != nil {
			return Identity{}, err
		}
		return Identity{want: lock.Signer{Subject: san}, root: true}, nil
	}
	return Identity{}, fmt.Errorf("want key:, email:, uri:, github:, gitlab: or x509: at the start")
}

// checkSubject checks a subject alternative name of that kind. A URI has a
// colon and an e-mail address has none, so that neither passes for the other.
func checkSubject(kind, san string) error {
	switch kind {
	case "email":
		local, domain, ok := strings.Cut(san, "@")
		if !ok || local == "" || domain == "" || strings.ContainsAny(domain, "@/") || strings.Contains(san, ":") {
			return fmt.Errorf("%s is no e-mail address", shown(san))
		}
	case "uri":
		if u, err := url.Parse(san); err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" && u.Path == "" {
			return fmt.Errorf("%s is no absolute URI", shown(san))
		}
	default:
		return fmt.Errorf("want uri: or email: before the subject")
	}
	return nil
}

// parseOpenID parses SUBJECT@ISSUER. The issuer starts at the last "@" that a
// URL follows.
func parseOpenID(kind, rest string) (Identity, error) {
	at := max(strings.LastIndex(rest, "@https://"), strings.LastIndex(rest, "@http://"))
	if at < 0 {
		return Identity{}, fmt.Errorf("want %s:SUBJECT@ISSUER with an issuer that is a URL", kind)
	}
	subject, issuer := rest[:at], rest[at+1:]
	if u, err := url.Parse(issuer); err != nil || u.Host == "" {
		return Identity{}, fmt.Errorf("issuer %s is no URL", shown(issuer))
	}
	if err := checkSubject(kind, subject); err != nil {
		return Identity{}, err
	}
	return Identity{want: lock.Signer{Issuer: issuer, Subject: subject}}, nil
}

func parseGitHub(rest string) (Identity, error) {
	path, ref, _ := strings.Cut(rest, "@")
	parts := strings.SplitN(path, "/", 3)
	if ref == "" || len(parts) < 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return Identity{}, fmt.Errorf("want github:OWNER/REPO/WORKFLOW@REF, as in github:acme/weather/.github/workflows/release.yml@refs/tags/v*")
	}
	return parseJob(githubIssuer, "https://github.com/", parts[0]+"/"+parts[1], path, ref)
}

func parseGitLab(rest string) (Identity, error) {
	path, ref, _ := strings.Cut(rest, "@")
	project, file, _ := strings.Cut(path, "//")
	if ref == "" || !strings.Contains(strings.Trim(project, "/"), "/") || strings.Trim(project, "/") != project || file == "" {
		return Identity{}, fmt.Errorf("want gitlab:GROUP/PROJECT//FILE@REF, as in gitlab:acme/weather//.gitlab-ci.yml@refs/tags/v*")
	}
	return parseJob(gitlabIssuer, "https://gitlab.com/", project, path, ref)
}

// parseJob makes the identity of a CI job: path is its configuration file's,
// with the repository at the start.
func parseJob(issuer, base, repository, path, ref string) (Identity, error) {
	ref, id, pinned := strings.Cut(ref, "?id=")
	switch {
	case strings.ContainsAny(path, "*?[]{} \\"):
		return Identity{}, fmt.Errorf("only the ref may have wildcards")
	case !strings.HasPrefix(ref, "refs/") || ref == "refs/":
		return Identity{}, fmt.Errorf("the ref must start with refs/, as in refs/tags/v*")
	case pinned && (id == "" || len(id) > 20 || strings.Trim(id, "0123456789") != ""):
		return Identity{}, fmt.Errorf("want the number of the repository after ?id=")
	}
	return Identity{
		want:    lock.Signer{Issuer: issuer, Repository: base + repository, RepositoryID: id},
		subject: newPattern(base + path + "@" + ref),
	}, nil
}

// Matches reports whether s is the identity. Nobody matches nothing.
func (id Identity) Matches(s lock.Signer) bool {
	w := id.want
	if w == (lock.Signer{}) || w.Key != s.Key || w.Issuer != s.Issuer || id.root != (s.Root != "") {
		return false
	}
	if w.RepositoryID != "" && w.RepositoryID != s.RepositoryID {
		return false
	}
	if s.Repository != "" && strings.Contains(s.Subject, "@") && !strings.HasPrefix(s.Subject, s.Repository+"/") {
		return false // a workflow of another repository
	}
	if id.subject.expr != nil {
		return w.Repository == s.Repository && id.subject.matches(s.Subject)
	}
	return w.Subject == s.Subject
}

// IdentityOf returns the identity that matches s and nobody else: for a
// workflow, with its ref as it is. A signer that no identity matches has the
// zero Identity.
func IdentityOf(s lock.Signer) Identity {
	kind := "uri:"
	if checkSubject("email", s.Subject) == nil {
		kind = "email:"
	}
	var forms []string
	switch {
	case s.Key != "":
		forms = []string{"key:" + s.Key}
	case s.Root != "":
		forms = []string{"x509:" + kind + s.Subject}
	case s.Issuer == githubIssuer && !strings.Contains(s.Subject, "*"):
		forms = []string{"github:" + strings.TrimPrefix(s.Subject, "https://github.com/"), kind + s.Subject + "@" + s.Issuer}
	case s.Issuer == gitlabIssuer && !strings.Contains(s.Subject, "*"):
		forms = []string{"gitlab:" + strings.TrimPrefix(s.Subject, "https://gitlab.com/"), kind + s.Subject + "@" + s.Issuer}
	default:
		forms = []string{kind + s.Subject + "@" + s.Issuer}
	}
	for _, f := range forms {
		if id, err := ParseSigner(f); err == nil && id.Matches(s) {
			return id
		}
	}
	return Identity{}
}

// party returns the signer that an identity comes down to, without what does
// not tell parties apart: the ref, and the repository beside its workflow.
func (id Identity) party() lock.Signer {
	p := lock.Signer{Key: id.want.Key, Issuer: id.want.Issuer, Subject: id.want.Subject}
	if id.subject.expr != nil {
		p.Subject = id.subject.text
	}
	if at := strings.Index(p.Subject, "@refs/"); at >= 0 {
		p.Subject = p.Subject[:at]
	}
	if id.root {
		p.Root = "any" // one subject under two roots is taken for one party
	}
	return p
}

// broad returns what an identity admits that one would not expect of it, empty
// if there is nothing.
func (id Identity) broad() string {
	_, ref, _ := strings.Cut(id.subject.text, "@refs/")
	first, rest, _ := strings.Cut(ref, "/")
	switch {
	case id.subject.expr == nil:
		return ""
	case strings.Contains(first, "*"):
		return "any ref: whoever may push a branch can sign"
	case first == "heads" && strings.HasPrefix(rest, "*"):
		return "any branch: whoever may push one can sign"
	case first == "pull" || first == "merge-requests":
		return "proposed changes: whoever may propose one can sign"
	}
	return ""
}
