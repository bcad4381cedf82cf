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
//	x509:uri:URI, x509:email:ADDRESS      certificate under one of the roots that are trusted
//
// A workflow counts for the repository it lies in. One that builds another
// repository, as reusable workflows do, is nobody: it runs for whoever calls it.
type Identity struct {
	text    string
	want    lock.Signer // members that must be equal
	subject pattern     // for github: the subject, with the ref's globs
	root    bool        // the signer has a root, whichever
}

// String returns the identity as it was parsed.
func (id Identity) String() string { return id.text }

const githubIssuer = "https://token.actions.githubusercontent.com"

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
	case "x509":
		kind, san, _ := strings.Cut(rest, ":")
		if err := checkSubject(kind, san); err != nil {
			return Identity{}, err
		}
		return Identity{want: lock.Signer{Subject: san}, root: true}, nil
	}
	return Identity{}, fmt.Errorf("want key:, email:, uri:, github: or x509: at the start")
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
	path, ref, ok := strings.Cut(rest, "@")
	parts := strings.SplitN(path, "/", 3)
	if !ok || ref == "" || len(parts) < 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return Identity{}, fmt.Errorf("want github:OWNER/REPO/WORKFLOW@REF, as in github:acme/weather/.github/workflows/release.yml@refs/tags/v*")
	}
	if strings.ContainsAny(path, "*?[]{} \\") {
		return Identity{}, fmt.Errorf("only the ref may have wildcards")
	}
	if !strings.HasPrefix(ref, "refs/") || ref == "refs/" {
		return Identity{}, fmt.Errorf("the ref must start with refs/, as in refs/tags/v*")
	}
	base := "https://github.com/"
	return Identity{
		want:    lock.Signer{Issuer: githubIssuer, Repository: base + parts[0] + "/" + parts[1]},
		subject: newPattern(base + path + "@" + ref),
	}, nil
}

// Matches reports whether s is the identity. Nobody matches nothing.
func (id Identity) Matches(s lock.Signer) bool {
	w := id.want
	if w == (lock.Signer{}) || w.Key != s.Key || w.Issuer != s.Issuer || id.root != (s.Root != "") {
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
		forms = []string{"github:" + strings.TrimPrefix(s.Subject, "https://github.com/")}
		fallthrough
	default:
		forms = append(forms, kind+s.Subject+"@"+s.Issuer)
	}
	for _, f := range forms {
		if id, err := ParseSigner(f); err == nil && id.Matches(s) {
			return id
		}
	}
	return Identity{}
}
