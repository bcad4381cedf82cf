package lock

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// A Signer is who signed, as a verified bundle says, or as one that was
// verified once is remembered. Three forms exist: a key (Key), an X.509
// certificate under an own root (Root and Subject), and a certificate for an
// OpenID Connect identity (Issuer and Subject, and for jobs of CI systems the
// members from Repository to Runner). The zero Signer is nobody.
type Signer struct {
	Issuer       string `json:"issuer,omitempty"`       // URL of the OpenID Connect issuer
	Subject      string `json:"subject,omitempty"`      // subject alternative name: an e-mail address or a URI
	Repository   string `json:"repository,omitempty"`   // URI of the source repository that was built
	RepositoryID string `json:"repositoryID,omitempty"` // the issuer's number for it, which a rename does not change
	Ref          string `json:"ref,omitempty"`          // Git ref of the source repository, as in refs/tags/v1
	Trigger      string `json:"trigger,omitempty"`      // event that started the job, as in push
	Environment  string `json:"environment,omitempty"`  // deployment environment of the job
	Runner       string `json:"runner,omitempty"`       // kind of machine the job ran on, as in github-hosted
	Root         string `json:"root,omitempty"`         // "sha256:" and the SHA-256 of the root certificate's DER
	Key          string `json:"key,omitempty"`          // "sha256:" and the SHA-256 of the key's PKIX DER
}

// IsZero reports whether s is nobody.
func (s Signer) IsZero() bool { return s == Signer{} }

// Same reports whether s and t are one party: one key; one subject under one
// root; or one issuer with the same subject but for the Git ref after "@", the
// same repository and, where both know it, the same repository ID. What a run
// was built from and how it was started (Ref, Trigger, Environment, Runner)
// does not count. Nobody is the same as nobody else.
func (s Signer) Same(t Signer) bool {
	switch {
	case s.IsZero() || s.Key != t.Key || s.Root != t.Root || s.Issuer != t.Issuer:
		return false
	case s.Key != "":
		return true
	case s.Root != "" || s.Repository == "" && t.Repository == "":
		return s.Subject == t.Subject
	}
	return s.Repository == t.Repository && s.workflow() == t.workflow() &&
		(s.RepositoryID == "" || t.RepositoryID == "" || s.RepositoryID == t.RepositoryID)
}

// workflow returns the subject without the Git ref, a tag or branch, or the
// hash of a commit. Both a file's name and a ref may hold an "@".
func (s Signer) workflow() string {
	at := strings.Index(s.Subject, "@refs/")
	if at < 0 {
		at = strings.LastIndex(s.Subject, "@")
	}
	if at < 0 {
		return s.Subject
	}
	return s.Subject[:at]
}

// String returns s for people, fit for a terminal.
func (s Signer) String() string {
	switch {
	case s.Key != "":
		return "key:" + s.Key
	case s.Root != "":
		return fmt.Sprintf("x509:%s under root %s", Visible(s.Subject), s.Root)
	case s.IsZero():
		return "nobody"
	}
	text := Visible(s.Subject) + " by " + Visible(s.Issuer)
	if s.Called() {
		text += ", called by " + Visible(s.Repository)
		if s.Ref != "" {
			text += "@" + Visible(s.Ref)
		}
	}
	return text
}

// Called reports whether s is a job whose workflow lies in another repository
// than the one that was built: a reusable workflow, which runs for any caller.
func (s Signer) Called() bool {
	return s.Repository != "" && strings.Contains(s.Subject, "@") && !strings.HasPrefix(s.Subject, s.Repository+"/")
}

// check reports what makes s no signer that a lockfile can hold.
func (s Signer) check() error {
	forms := 0
	for _, f := range []bool{s.Key != "", s.Root != "", s.Issuer != ""} {
		if f {
			forms++
		}
	}
	if forms != 1 {
		return fmt.Errorf("a signer has one of key, root and issuer")
	}
	if s.Key != "" && s != (Signer{Key: s.Key}) || s.Key == "" && s.Subject == "" {
		return fmt.Errorf("a signer has a key or a subject")
	}
	for _, f := range s.fields() {
		if !utf8.ValidString(*f.value) {
			return fmt.Errorf("the %s of a signer is no UTF-8", f.name)
		}
	}
	for _, d := range []string{s.Key, s.Root} {
		if d == "" {
			continue
		}
		if _, err := ParseDigest(d); err != nil {
			return err
		}
	}
	return nil
}

// fields lists the members of s in the order in which they are written.
func (s *Signer) fields() []signerField {
	return []signerField{
		{"key", &s.Key}, {"root", &s.Root}, {"issuer", &s.Issuer}, {"subject", &s.Subject},
		{"repository", &s.Repository}, {"repositoryID", &s.RepositoryID}, {"ref", &s.Ref},
		{"trigger", &s.Trigger}, {"environment", &s.Environment}, {"runner", &s.Runner},
	}
}

type signerField struct {
	name  string
	value *string
}

func readSigner(r *canonical.Reader) (Signer, error) {
	var s Signer
	err := r.Object(func(name string) (err error) {
		for _, f := range s.fields() {
			if f.name == name {
				*f.value, err = r.String()
				return err
			}
		}
		return r.Unknown(name)
	})
	if err == nil {
		if cause := s.check(); cause != nil {
			err = r.Fail(canonical.Syntax, cause.Error())
		}
	}
	return s, err
}

func compareSigners(a, b Signer) int {
	for i, f := range a.fields() {
		if c := strings.Compare(*f.value, *b.fields()[i].value); c != 0 {
			return c
		}
	}
	return 0
}
