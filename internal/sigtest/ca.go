package sigtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"time"
)

// Certificates are valid from 2020 to 2060, so that a test may set any clock
// between, unless [Valid] says otherwise.
var (
	notBefore = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	notAfter  = time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC)
)

// A CA is a root or an intermediate certificate authority.
type CA struct {
	Certificate *x509.Certificate
	key         crypto.Signer
	parent      *CA // nil for a root
}

// A Leaf is an end-entity certificate with its key.
type Leaf struct {
	Key   crypto.Signer
	Chain []*x509.Certificate // leaf first, then intermediates, without the root
}

// Certificate returns the leaf certificate itself.
func (l *Leaf) Certificate() *x509.Certificate { return l.Chain[0] }

// An Edit changes a certificate before it is signed.
type Edit func(*x509.Certificate)

// URI adds a URI to the subject alternative names.
func URI(uri string) Edit {
	u := must(url.Parse(uri))
	return func(c *x509.Certificate) { c.URIs = append(c.URIs, u) }
}

// Mail adds an e-mail address to the subject alternative names.
func Mail(addr string) Edit {
	return func(c *x509.Certificate) { c.EmailAddresses = append(c.EmailAddresses, addr) }
}

// DNS adds a DNS name to the subject alternative names.
func DNS(name string) Edit {
	return func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, name) }
}

// EKU replaces the extended key usages; without arguments there are none.
func EKU(usages ...x509.ExtKeyUsage) Edit {
	return func(c *x509.Certificate) { c.ExtKeyUsage = usages }
}

// Usage replaces the key usage.
func Usage(u x509.KeyUsage) Edit { return func(c *x509.Certificate) { c.KeyUsage = u } }

// Valid replaces the validity.
func Valid(from, to time.Time) Edit {
	return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = from, to }
}

// NoCA makes an intermediate that may not issue certificates, but does.
func NoCA(c *x509.Certificate) { c.IsCA = false }

// NewCA returns a root with a P-256 key.
func NewCA(name string, edits ...Edit) *CA {
	key := P256()
	cert := issue(nil, key, authority(name), edits)
	return &CA{Certificate: cert, key: key}
}

// Sub returns an intermediate under c.
func (c *CA) Sub(name string, edits ...Edit) *CA {
	key := P256()
	return &CA{Certificate: issue(c, key, authority(name), edits), key: key, parent: c}
}

// Again returns c with another certificate, of the same name and key.
func (c *CA) Again(parent *CA, edits ...Edit) *CA {
	return &CA{Certificate: issue(parent, c.key, authority(c.Certificate.Subject.CommonName), edits), key: c.key, parent: parent}
}

// Leaf returns a certificate under c for key, good for code signing but for
// its name: add [URI] or [Mail].
func (c *CA) Leaf(key crypto.Signer, edits ...Edit) *Leaf {
	l := &Leaf{Key: key, Chain: []*x509.Certificate{issue(c, key, endEntity(), edits)}}
	for ; c.parent != nil; c = c.parent {
		l.Chain = append(l.Chain, c.Certificate)
	}
	return l
}

// Key returns the key of c.
func (c *CA) Key() crypto.Signer { return c.key }

// Root returns the root that c is under.
func (c *CA) Root() *x509.Certificate {
	for c.parent != nil {
		c = c.parent
	}
	return c.Certificate
}

// SelfSigned returns a leaf certificate signed by its own key.
func SelfSigned(key crypto.Signer, edits ...Edit) *Leaf {
	return &Leaf{Key: key, Chain: []*x509.Certificate{issue(nil, key, endEntity(), edits)}}
}

// CRL returns a revocation list of c that names certs, all revoked at the
// time at.
func (c *CA) CRL(thisUpdate, nextUpdate, at time.Time, certs ...*x509.Certificate) *x509.RevocationList {
	return c.EditedCRL(func(t *x509.RevocationList) {
		t.ThisUpdate, t.NextUpdate = thisUpdate, nextUpdate
		for _, cert := range certs {
			t.RevokedCertificateEntries = append(t.RevokedCertificateEntries,
				x509.RevocationListEntry{SerialNumber: cert.SerialNumber, RevocationTime: at})
		}
	})
}

// EditedCRL returns a revocation list of c as edit leaves it.
func (c *CA) EditedCRL(edit func(*x509.RevocationList)) *x509.RevocationList {
	t := &x509.RevocationList{Number: big.NewInt(1)}
	edit(t)
	return must(x509.ParseRevocationList(must(x509.CreateRevocationList(rand.Reader, t, c.Certificate, c.key))))
}

func authority(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject:               pkix.Name{CommonName: name, Organization: []string{"sigtest"}},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
}

func endEntity() *x509.Certificate {
	return &x509.Certificate{
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}
}

// issue signs the edited template with the key of parent; nil is self-signed.
func issue(parent *CA, key crypto.Signer, t *x509.Certificate, edits []Edit) *x509.Certificate {
	t.SerialNumber = must(rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126)))
	t.NotBefore, t.NotAfter = notBefore, notAfter
	for _, edit := range edits {
		edit(t)
	}
	above, signer := t, key
	if parent != nil {
		above, signer = parent.Certificate, parent.key
	}
	return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, t, above, key.Public(), signer))))
}

// P256 returns a new ECDSA key.
func P256() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

// P384 returns a new ECDSA key.
func P384() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) }

// P521 returns a new ECDSA key.
func P521() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) }

// Ed25519 returns a new key.
func Ed25519() ed25519.PrivateKey {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return must(key, err)
}

// RSA returns a new key of 2,048 bits.
func RSA() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) }

// CertPEM encodes certificates.
func CertPEM(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

// KeyPEM encodes a private key in PKCS #8.
func KeyPEM(key crypto.Signer) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(key))})
}

// PublicPEM encodes a public key in PKIX.
func PublicPEM(pub crypto.PublicKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(pub))})
}

// CRLPEM encodes a revocation list.
func CRLPEM(l *x509.RevocationList) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: l.Raw})
}
