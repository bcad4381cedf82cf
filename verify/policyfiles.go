package verify

import (
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpsign/mcpsign/internal/certchain"
	"github.com/mcpsign/mcpsign/internal/pemfile"
	"github.com/mcpsign/mcpsign/lock"
)

// MaxPolicyFile is how many bytes a file that a policy names can have.
const MaxPolicyFile = 8 << 20

// Files returns the paths of the files that p names, sorted: relative to the
// policy's folder, below it, with slashes. They are certificates and public
// keys in PEM, revocation lists in PEM or DER, and Sigstore trusted roots.
func (p *Policy) Files() []string {
	paths := make(map[string]bool)
	for _, b := range p.publishers {
		for _, f := range b.files() {
			paths[f.path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

func (b *namedPublisher) files() []fileReference {
	var refs []fileReference
	if b.x509 != nil {
		refs = slices.Concat(b.x509.roots, b.x509.tsaRoots, b.x509.crls)
	}
	for _, k := range b.keys {
		refs = append(refs, k.fileReference)
	}
	if b.root.path != "" {
		refs = append(refs, b.root)
	}
	return refs
}

// With returns p with the contents of the files that it names, by their paths;
// other contents are not looked at. New wants them. The error is a *PolicyError
// at the place where the file is named, or where it turns out that one key is
// two principals.
func (p *Policy) With(files map[string][]byte) (*Policy, error) {
	q := *p
	q.publishers = make(map[string]*namedPublisher, len(p.publishers))
	for _, name := range slices.Sorted(maps.Keys(p.publishers)) {
		b := *p.publishers[name]
		if err := b.load(fileLoader{p.name, files}); err != nil {
			return nil, err
		}
		q.publishers[name] = &b
	}
	if err := q.distinct(); err != nil {
		return nil, err
	}
	return &q, nil
}

// missing returns a file that With was not given, empty if there is none.
func (p *Policy) missing() string {
	for _, name := range slices.Sorted(maps.Keys(p.publishers)) {
		b := p.publishers[name]
		if b.x509 != nil && b.x509.material == nil {
			return b.x509.roots[0].path
		}
		for _, k := range b.keys {
			if k.key == nil {
				return k.path
			}
		}
		if b.root.path != "" && b.rootData == nil {
			return b.root.path
		}
	}
	return ""
}

// load replaces what b has by copies with the contents of their files.
func (b *namedPublisher) load(l fileLoader) error {
	if b.x509 != nil {
		x := *b.x509
		x.material = &Trust{}
		var err error
		if x.material.Roots, err = l.certificates(x.roots); err != nil {
			return err
		}
		if x.material.TSAs, err = l.certificates(x.tsaRoots); err != nil {
			return err
		}
		for _, f := range x.crls {
			list, err := l.list(f)
			if err != nil {
				return err
			}
			x.material.CRLs = append(x.material.CRLs, list)
		}
		b.x509 = &x
	}
	b.keys = slices.Clone(b.keys)
	for i := range b.keys {
		if err := l.key(&b.keys[i]); err != nil {
			return err
		}
	}
	if b.root.path == "" {
		return nil
	}
	data, err := l.data(b.root)
	if err != nil {
		return err
	}
	for _, one := range splitRoots(data) {
		if _, err := parseRoot(one); err != nil {
			return l.fail(b.root, err)
		}
	}
	b.rootData = data
	return nil
}

// A fileLoader reads the files of the policy called name.
type fileLoader struct {
	name  string
	files map[string][]byte
}

func (l fileLoader) fail(f fileReference, err error) error {
	if e := (*pemfile.Error)(nil); errors.As(err, &e) {
		e.Name = f.path
	}
	return &PolicyError{l.name, max(f.line, 1), max(f.column, 1), fmt.Errorf("file %s: %w", lock.Visible(f.path), err)}
}

// data returns the bytes of a file.
func (l fileLoader) data(f fileReference) ([]byte, error) {
	data, ok := l.files[f.path]
	switch {
	case !ok:
		return nil, l.fail(f, errors.New("is not at hand"))
	case len(data) == 0:
		return nil, l.fail(f, errors.New("is empty"))
	case len(data) > MaxPolicyFile:
		return nil, l.fail(f, fmt.Errorf("has more than %d bytes", MaxPolicyFile))
	}
	return data, nil
}

func (l fileLoader) certificates(refs []fileReference) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	at := make(map[*x509.Certificate]func(error) error) // names the place of each
	for _, f := range refs {
		data, err := l.data(f)
		if err != nil {
			return nil, err
		}
		blocks, err := pemfile.Read(data, pemfile.Certificate)
		if err != nil {
			return nil, l.fail(f, err)
		}
		for _, b := range blocks {
			c, err := b.Certificate()
			if err == nil {
				err = checkCertificates(c.Raw)
			}
			if err != nil {
				return nil, l.fail(f, errors.New(shown(err.Error())))
			}
			all, at[c] = append(all, c), func(err error) error { return l.fail(f, errors.New(shown(b.Fail(err).Error()))) }
		}
	}
	roots, _ := certchain.Split(all)
	for _, c := range roots {
		if !c.IsCA {
			return nil, at[c](errors.New("is not the certificate of a certificate authority, and none of the others has issued it"))
		}
	}
	return all, nil
}

func (l fileLoader) key(k *keyForm) error {
	data, err := l.data(k.fileReference)
	if err != nil {
		return err
	}
	b, err := pemfile.One(data, pemfile.PublicKey)
	if err != nil {
		return l.fail(k.fileReference, err)
	}
	pub, err := b.PublicKey()
	if err != nil {
		return l.fail(k.fileReference, errors.New(shown(err.Error())))
	}
	id, err := KeyID(pub)
	if err != nil {
		return l.fail(k.fileReference, err)
	}
	k.key = &TrustedKey{Key: pub, NotBefore: k.notBefore, NotAfter: k.notAfter}
	k.id, err = ParseSigner("key:" + id.String())
	return err
}

func (l fileLoader) list(f fileReference) (*x509.RevocationList, error) {
	der, err := l.data(f)
	if err != nil {
		return nil, err
	}
	if der[0] != 0x30 { // DER starts like that, PEM does not
		b, err := pemfile.One(der, pemfile.List)
		if err != nil {
			return nil, l.fail(f, err)
		}
		der = b.Bytes
	}
	list, err := x509.ParseRevocationList(der)
	if err == nil {
		_, err = newCRL(list)
	}
	if err != nil {
		return nil, l.fail(f, clean("revocation list", err))
	}
	return list, nil
}
