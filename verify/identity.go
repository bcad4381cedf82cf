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
//	gitlab:PROJECT//FILE@REF              pipeline of a GitLab project, by its CI configuration file
//	x509:uri:URI, x509:email:ADDRESS      certificate under one of the roots that are trusted
//
// REF is a Git ref, as in refs/tags/v*, or the hash of a commit. After it the
// two CI systems may have members, as in "?id=1001&environment=release", each
// once:
//
//	id=N                    number that the system gave the repository that was built: a new repository of the same name has another
//	issuer=URL              issuer of an Enterprise or self-managed server; the workflow lies on its host, or for
//	                        https://token.actions.githubusercontent.com/SLUG on github.com
//	caller=OWNER/REPO@REF   repository that calls a reusable workflow, and the ref of it that was built
//	trigger=EVENT           event that started the job; several with commas between them
//	environment=NAME        deployment environment of the job, percent-encoded
//	runner=KIND             github-hosted, gitlab-hosted or self-hosted
//
// Without trigger a job counts if it was started by push, release, schedule or
// workflow_dispatch (GitHub), or by push, schedule, web or api (GitLab): others,
// such as pull_request_target and workflow_run, may run for people who can't write to
// the repository. That holds for uri: as well.
//
// Without caller a workflow counts for the repository it lies in, and REF is
// the ref that was built as well. A workflow that builds another repository is
// nobody: it runs for any caller. A called workflow at a commit counts
// for any ref of its own repository, unless caller says which.
type Identity struct {
	text    string
	want    lock.Signer // members that must be equal
	subject pattern     // for CI systems: the subject, with the ref's globs
	job     *jobRule    // for CI systems: the run of the job
	root    bool        // the signer has a root, whichever
}

// String returns the identity as it was parsed.
func (id Identity) String() string { return id.text }

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
		return githubSystem.parse(rest)
	case "gitlab":
		return gitlabSystem.parse(rest)
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

// Matches reports whether s is the identity. Nobody matches nothing.
func (id Identity) Matches(s lock.Signer) bool {
	if id.job == nil {
		return id.names(s) && (s.Trigger == "" || isUsual(s.Trigger))
	}
	return id.names(s) && id.job.matches(s)
}

// names is Matches but for the run of a job: what was built, and what started
// it. An earlier version recorded neither.
func (id Identity) names(s lock.Signer) bool {
	w := id.want
	switch {
	case w == (lock.Signer{}) || w.Key != s.Key || w.Issuer != s.Issuer || id.root != (s.Root != ""):
		return false
	case w.RepositoryID != "" && w.RepositoryID != s.RepositoryID:
		return false
	case id.job != nil:
		return w.Repository == s.Repository && id.subject.matches(s.Subject)
	}
	return w.Subject == s.Subject && !s.Called()
}

// party returns the signer that an identity comes down to, without what does
// not tell parties apart: the ref, and the repository beside its workflow. One
// called workflow is one party, whoever calls it.
func (id Identity) party() lock.Signer {
	p := lock.Signer{Key: id.want.Key, Issuer: id.want.Issuer, Subject: id.want.Subject}
	if id.job != nil {
		p.Subject = id.subject.text
	}
	p.Subject, _ = splitRef(p.Subject)
	if strings.HasPrefix(p.Issuer, githubIssuer+"/") {
		p.Issuer = githubIssuer // the same workflows, with an enterprise's name
	}
	if id.root {
		p.Root = "any" // one subject under two roots is taken for one party
	}
	return p
}
