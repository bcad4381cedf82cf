package verify

import (
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// An x509Form is a publisher's own PKI.
type x509Form struct {
	place
	san                   Identity
	roots, tsaRoots, crls []fileReference
	required              bool   // status: required
	untimed               bool   // time: now
	material              *Trust // roots, TSAs and CRLs; nil until With
}

// A keyForm is a key of a publisher.
type keyForm struct {
	fileReference
	notBefore, notAfter time.Time   // zero: no bound
	key                 *TrustedKey // nil until With
	id                  Identity
}

// A fileReference names a file beside the policy.
type fileReference struct {
	place
	path string
}

func (p *policyParser) publishers(node ast.Node) (map[string]*namedPublisher, error) {
	all := make(map[string]*namedPublisher)
	err := p.mapping(node, func(name string, value ast.Node) error {
		if name == "" || len(name) > 100 || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
			return p.fail(value, "publisher %s: want a name of ASCII letters, digits and ._-", shown(name))
		}
		if len(all) == maxPublishers {
			return p.fail(value, "more than %d publishers", maxPublishers)
		}
		one, err := p.publisher(name, value)
		all[name] = one
		return err
	})
	return all, err
}

const maxPublishers = 1000

func (p *policyParser) publisher(name string, node ast.Node) (*namedPublisher, error) {
	b := &namedPublisher{name: name, place: p.place(node)}
	err := p.mapping(node, func(key string, value ast.Node) (err error) {
		switch key {
		case "servers":
			if b.servers, err = p.patterns(value); err == nil && len(b.servers) == 0 {
				err = p.fail(value, "there are no servers")
			}
			for _, s := range b.servers {
				if err == nil && !s.literalStart() {
					err = p.fail(value, "server pattern %s of a publisher must start with a literal segment", s.text)
				}
			}
		case "keyless":
			b.keyless, err = p.keyless(value)
		case "x509":
			b.x509, err = p.x509(value)
		case "key":
			err = p.oneOrMore(value, func(n ast.Node) error {
				k, err := p.key(n)
				b.keys = append(b.keys, k)
				return err
			})
		case "trustedRoot":
			b.root, err = p.file(value)
		case "withoutLog":
			if b.withoutLog, err = p.string(value); err == nil && strings.TrimSpace(b.withoutLog) == "" {
				err = p.fail(value, "withoutLog needs the reason why no transparency log is asked for")
			}
		case "evidence":
			err = p.evidence(value, b)
		default:
			err = memberNames{"servers", "keyless", "x509", "key", "trustedRoot", "withoutLog", "evidence"}
		}
		return err
	})
	if err == nil && len(b.keyless) == 0 && b.x509 == nil && len(b.keys) == 0 {
		err = p.fail(node, "publisher %s has none of keyless, x509 and key", name)
	}
	switch {
	case err != nil:
	case b.root.path != "" && len(b.keyless) == 0:
		err = p.fail(node, "publisher %s has trustedRoot, which goes with keyless", name)
	case b.withoutLog != "" && b.root.path == "":
		err = p.fail(node, "publisher %s has withoutLog, which goes with a trustedRoot of its own", name)
	}
	return b, err
}

// keyless reads identities that certificates of Sigstore have.
func (p *policyParser) keyless(node ast.Node) (ids []Identity, err error) {
	err = p.strings(node, func(n ast.Node, s string) error {
		id, err := ParseSigner(s)
		switch {
		case err != nil:
			return p.fail(n, "%w", err)
		case id.want.Issuer == "":
			return p.fail(n, "identity %s is not keyless", shown(s))
		case slices.ContainsFunc(ids, func(have Identity) bool { return have.text == s }):
			return p.fail(n, "%s is there twice", shown(s))
		case len(ids) == maxPrincipals:
			return p.fail(n, "more than %d identities", maxPrincipals)
		}
		ids = append(ids, id)
		return nil
	})
	if err == nil && len(ids) == 0 {
		err = p.fail(node, "there are no identities")
	}
	return ids, err
}

func (p *policyParser) evidence(node ast.Node, b *namedPublisher) error {
	return p.few(node, func(n ast.Node) error {
		s, err := p.string(n)
		switch {
		case err != nil:
			return err
		case s == "log" && !b.log:
			b.log = true
		case s == "timestamp" && !b.stamps:
			b.stamps = true
		default:
			return p.fail(n, "want log and timestamp, each once")
		}
		return nil
	})
}

func (p *policyParser) x509(node ast.Node) (*x509Form, error) {
	x := &x509Form{place: p.place(node)}
	err := p.mapping(node, func(key string, value ast.Node) (err error) {
		switch key {
		case "san":
			var san string
			if san, err = p.string(value); err == nil {
				if x.san, err = ParseSigner("x509:" + san); err != nil {
					err = p.fail(value, "%w", err)
				}
			}
		case "roots":
			x.roots, err = p.files(value)
		case "tsaRoots":
			x.tsaRoots, err = p.files(value)
		case "crls":
			x.crls, err = p.files(value)
		case "status":
			var word string
			if word, err = p.string(value); err == nil && word != "required" {
				err = p.fail(value, "want required")
			}
			x.required = true
		case "time":
			x.untimed, err = p.choice(value, "timestamp", "now")
		default:
			err = memberNames{"san", "roots", "tsaRoots", "crls", "status", "time"}
		}
		return err
	})
	if err == nil && (x.san.text == "" || len(x.roots) == 0) {
		err = p.fail(node, "x509 needs roots and san")
	}
	return x, err
}

func (p *policyParser) key(node ast.Node) (keyForm, error) {
	var k keyForm
	err := p.mapping(node, func(key string, value ast.Node) (err error) {
		switch key {
		case "file":
			k.fileReference, err = p.file(value)
		case "notBefore":
			k.notBefore, err = p.time(value)
		case "notAfter":
			k.notAfter, err = p.time(value)
		default:
			err = memberNames{"file", "notBefore", "notAfter"}
		}
		return err
	})
	switch {
	case err != nil:
	case k.path == "":
		err = p.fail(node, "the key has no file")
	case !k.notBefore.IsZero() && !k.notAfter.IsZero() && !k.notAfter.After(k.notBefore):
		err = p.fail(node, "notAfter is not after notBefore")
	}
	return k, err
}

func (p *policyParser) files(node ast.Node) (refs []fileReference, err error) {
	err = p.few(node, func(n ast.Node) error {
		f, err := p.file(n)
		refs = append(refs, f)
		return err
	})
	return refs, err
}

// file reads a path below the policy's folder, with slashes, that means the
// same on every system.
func (p *policyParser) file(node ast.Node) (fileReference, error) {
	s, err := p.string(node)
	if err == nil && (s == "." || len(s) > 1024 || !fs.ValidPath(s) || strings.ContainsAny(s, `\:`)) {
		err = p.fail(node, "%s is no path below the policy's folder", shown(s))
	}
	return fileReference{p.place(node), s}, err
}
