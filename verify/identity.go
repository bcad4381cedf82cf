package verify

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
)

// An Identity says who may sign. The zero Identity is nobody.
//
// An identity is written in one of these forms; all is compared exactly but
// for REF, in which * matches within a segment and ** across segments:
//
//	key:sha256:HEX                        SHA-256 of the public key's PKIX DER
//	email:ADDRESS@ISSUER                  e-mail address, as an OpenID Connect issuer vouches
//	uri:URI@ISSUER                        URI, likewise
//	github:OWNER/REPO/WORKFLOW@REF        workflow file of a GitHub repository
//	x509:uri:URI, x509:email:ADDRESS      certificate under one of the roots that are trusted
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
	form, rest, _ := strings.Cut(id, ":")
	parsed, err := parseIdentity(form, rest)
	if err != nil {
		return Identity{}, fmt.Errorf("identity %s: %w", lock.Visible(id), err)
	}
	parsed.text = id
	return parsed, nil
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
	return Identity{}, fmt.Errorf("want key:, email:, uri:, github: or x509:")
}

// checkSubject checks a subject alternative name of that kind.
func checkSubject(kind, san string) error {
	switch kind {
	case "email":
		if local, domain, ok := strings.Cut(san, "@"); !ok || local == "" || domain == "" || strings.ContainsAny(domain, "@/:") {
			return fmt.Errorf("%s is no e-mail address", lock.Visible(san))
		}
	case "uri":
		if u, err := url.Parse(san); err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" && u.Path == "" {
			return fmt.Errorf("%s is no absolute URI", lock.Visible(san))
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
		return Identity{}, fmt.Errorf("issuer %s is no URL", lock.Visible(issuer))
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
	if !strings.HasPrefix(ref, "refs/") {
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
	if id.subject.expr != nil {
		return w.Repository == s.Repository && id.subject.matches(s.Subject)
	}
	return w.Subject == s.Subject
}

// IdentityOf returns the identity that matches s: for a workflow, with its ref
// as it is. Nobody has the zero Identity.
func IdentityOf(s lock.Signer) Identity {
	id := Identity{want: lock.Signer{Key: s.Key, Issuer: s.Issuer, Subject: s.Subject}, root: s.Root != ""}
	kind := "uri:"
	if checkSubject("email", s.Subject) == nil {
		kind = "email:"
	}
	switch {
	case s.Key != "":
		id.text = "key:" + s.Key
	case s.Root != "":
		id.text = "x509:" + kind + s.Subject
	case s.Issuer == "":
		return Identity{}
	case s.Issuer == githubIssuer:
		if gh, err := ParseSigner("github:" + strings.TrimPrefix(s.Subject, "https://github.com/")); err == nil && gh.Matches(s) {
			return gh
		}
		fallthrough
	default:
		id.text = kind + s.Subject + "@" + s.Issuer
	}
	return id
}
