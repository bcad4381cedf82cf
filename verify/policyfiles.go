package verify

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpsign/mcpsign/lock"
)

// MaxPolicyFile is how many bytes a file that a policy names can have.
const MaxPolicyFile = 8 << 20

// Files returns the paths of the files that p names, sorted: relative to the
// policy's folder, below it, with slashes. They are certificates and public
// keys in PEM, and revocation lists in PEM or DER.
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
	return nil
}

// A fileLoader reads the files of the policy called name.
type fileLoader struct {
	name  string
	files map[string][]byte
}

func (l fileLoader) fail(f fileReference, err error) error {
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

// blocks returns the contents of the PEM blocks of a file, which are all of
// one type. Text between them is a comment (RFC 7468 section 2).
func (l fileLoader) blocks(f fileReference, kind string) ([][]byte, error) {
	data, err := l.data(f)
	if err != nil {
		return nil, err
	}
	var blocks [][]byte
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != kind {
			return nil, l.fail(f, fmt.Errorf("has a PEM block %s, want %s", shown(block.Type), kind))
		}
		if len(blocks) == maxPrincipals {
			return nil, l.fail(f, fmt.Errorf("has more than %d PEM blocks", maxPrincipals))
		}
		blocks = append(blocks, block.Bytes)
	}
	if len(blocks) == 0 || bytes.Contains(data, []byte("-----BEGIN")) {
		return nil, l.fail(f, fmt.Errorf("is no PEM of type %s", kind))
	}
	return blocks, nil
}

func (l fileLoader) certificates(refs []fileReference) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for _, f := range refs {
		blocks, err := l.blocks(f, "CERTIFICATE")
		if err != nil {
			return nil, err
		}
		for _, der := range blocks {
			c, err := x509.ParseCertificate(der)
			if err == nil {
				err = checkCertificates(der)
			}
			if err == nil && !c.IsCA {
				err = errors.New("is no certificate authority's certificate")
			}
			if err != nil {
				return nil, l.fail(f, clean("certificate", err))
			}
			all = append(all, c)
		}
	}
	return all, nil
}

func (l fileLoader) key(k *keyForm) error {
	blocks, err := l.blocks(k.fileReference, "PUBLIC KEY")
	if err != nil {
		return err
	}
	if len(blocks) > 1 {
		return l.fail(k.fileReference, errors.New("has more than one key"))
	}
	pub, err := x509.ParsePKIXPublicKey(blocks[0])
	if err != nil {
		return l.fail(k.fileReference, clean("key", err))
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
	if bytes.HasPrefix(bytes.TrimSpace(der), []byte("-----BEGIN")) {
		blocks, err := l.blocks(f, "X509 CRL")
		if err != nil {
			return nil, err
		}
		if len(blocks) > 1 {
			return nil, l.fail(f, errors.New("has more than one revocation list"))
		}
		der = blocks[0]
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
