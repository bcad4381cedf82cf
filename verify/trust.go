package verify

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/mcpsign/mcpsign/lock"
)

// Trust is the material that signatures are checked with. It says nothing
// about who may sign: that is the policy's.
type Trust struct {
	SigstoreRoot []byte              // Sigstore trusted_root.json, for keyless signatures, their logs and timestamps
	Roots        []*x509.Certificate // certificate authorities of own PKI
	TSAs         []*x509.Certificate // roots of RFC 3161 timestamp authorities
	Keys         []TrustedKey
}

// A TrustedKey is a public key and the time in which it may sign; a zero time
// is no bound. Where one key is there several times, all their bounds hold.
type TrustedKey struct {
	Key                 crypto.PublicKey // ECDSA P-256 or P-384, or Ed25519
	NotBefore, NotAfter time.Time
}

// KeyID returns the SHA-256 of a public key's PKIX DER, by which it is named.
// It is an error if the key is of no kind that is verified.
func KeyID(key crypto.PublicKey) (lock.Digest, error) {
	der, err := keyDER(key)
	if err != nil {
		return lock.Digest{}, err
	}
	return sha256.Sum256(der), nil
}

func keyDER(key crypto.PublicKey) ([]byte, error) {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		if k == nil || k.Curve != elliptic.P256() && k.Curve != elliptic.P384() {
			return nil, errors.New("ECDSA key on another curve than P-256 and P-384")
		}
	case ed25519.PublicKey:
		if len(k) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("Ed25519 key of %d bytes: want %d", len(k), ed25519.PublicKeySize)
		}
	default:
		return nil, fmt.Errorf("key of type %T: want ECDSA P-256 or P-384, or Ed25519", key)
	}
	return x509.MarshalPKIXPublicKey(key)
}

// material is Trust made ready.
type material struct {
	sgroot.BaseTrustedMaterial
	sigstore   *sgroot.TrustedRoot // nil if there is none
	rootDigest lock.Digest         // of the trusted root's bytes
	roots      *x509.CertPool      // nil if there are none
	tsas       []sgroot.TimestampingAuthority
	keys       map[string]*trustedKey // by hint
	bytes      map[lock.Digest][]byte // every key, root and trusted root
}

type trustedKey struct {
	signature.Verifier
	id        lock.Digest
	notBefore []time.Time // as many as there are
	notAfter  []time.Time
}

// ValidAtTime implements sigstore-go's TimeConstrainedVerifier. It looks at the
// time before the signature; we look at it after, so that what nobody signed is
// not called expired.
func (k *trustedKey) ValidAtTime(time.Time) bool { return true }

// mayUse reports whether the key may sign at that time.
func (k *trustedKey) mayUse(at time.Time) bool {
	return !slices.ContainsFunc(k.notBefore, at.Before) && !slices.ContainsFunc(k.notAfter, at.After)
}

func newMaterial(t Trust) (*material, error) {
	m := &material{keys: make(map[string]*trustedKey), bytes: make(map[lock.Digest][]byte)}
	if slices.Contains(t.Roots, nil) || slices.Contains(t.TSAs, nil) {
		return nil, &TrustError{errors.New("a root is no certificate")}
	}
	if len(t.SigstoreRoot) > 0 {
		root, err := sgroot.NewTrustedRootFromJSON(t.SigstoreRoot)
		if err != nil {
			return nil, &TrustError{clean("trusted root", err)}
		}
		m.sigstore, m.rootDigest = root, m.keep(t.SigstoreRoot)
		m.tsas = append(m.tsas, root.TimestampingAuthorities()...)
	}
	for _, c := range t.Roots {
		if !c.IsCA {
			return nil, &TrustError{fmt.Errorf("root %s is no certificate authority", lock.Visible(c.Subject.String()))}
		}
		if m.roots == nil {
			m.roots = x509.NewCertPool()
		}
		m.roots.AddCert(c)
		m.keep(c.Raw)
	}
	for _, c := range t.TSAs {
		// The URI tells timestamps of two authorities apart, and is how we
		// know later which one it was.
		m.tsas = append(m.tsas, &sgroot.SigstoreTimestampingAuthority{Root: c, URI: m.keep(c.Raw).String()})
	}
	for _, k := range t.Keys {
		if err := m.addKey(k); err != nil {
			return nil, &TrustError{err}
		}
	}
	return m, nil
}

func (m *material) addKey(k TrustedKey) error {
	der, err := keyDER(k.Key)
	if err != nil {
		return err
	}
	v, err := signature.LoadDefaultVerifier(k.Key)
	if err != nil {
		return err
	}
	id := m.keep(der)
	hint := base64.StdEncoding.EncodeToString(id[:])
	if m.keys[hint] == nil {
		m.keys[hint] = &trustedKey{Verifier: v, id: id}
	}
	if !k.NotBefore.IsZero() {
		m.keys[hint].notBefore = append(m.keys[hint].notBefore, k.NotBefore)
	}
	if !k.NotAfter.IsZero() {
		m.keys[hint].notAfter = append(m.keys[hint].notAfter, k.NotAfter)
	}
	return nil
}

func (m *material) keep(b []byte) lock.Digest {
	d := lock.Digest(sha256.Sum256(b))
	m.bytes[d] = b
	return d
}

// TimestampingAuthorities implements sigstore-go's TrustedMaterial.
func (m *material) TimestampingAuthorities() []sgroot.TimestampingAuthority { return m.tsas }

// RekorLogs implements sigstore-go's TrustedMaterial.
func (m *material) RekorLogs() map[string]*sgroot.TransparencyLog {
	if m.sigstore == nil {
		return nil
	}
	return m.sigstore.RekorLogs()
}

// PublicKeyVerifier implements sigstore-go's TrustedMaterial.
func (m *material) PublicKeyVerifier(hint string) (sgroot.TimeConstrainedVerifier, error) {
	if k, ok := m.keys[hint]; ok {
		return k, nil
	}
	return nil, fmt.Errorf("no trusted key with that hint")
}

// A TrustError says that trust material is missing or can't be used, so that
// nothing can be said about a signature.
type TrustError struct{ Err error }

func (e *TrustError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *TrustError) Unwrap() error { return e.Err }

// An authority is the own PKI as sigstore-go asks for it. It checks one
// bundle's certificate: more strictly than sigstore-go, which accepts a leaf
// without extended key usage, and it keeps what sigstore-go drops: the root
// found, and the reason of a refusal.
type authority struct {
	roots         *x509.CertPool
	intermediates *x509.CertPool
	root          *x509.Certificate
	err           error
}

// Verify implements sigstore-go's CertificateAuthority.
func (a *authority) Verify(leaf *x509.Certificate, at time.Time) ([][]*x509.Certificate, error) {
	if a.err = checkLeaf(leaf); a.err != nil {
		return nil, a.err
	}
	chains, err := leaf.Verify(x509.VerifyOptions{
		Roots: a.roots, Intermediates: a.intermediates, CurrentTime: at,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	})
	if err != nil {
		a.err = clean(fmt.Sprintf("certificate at the time of signing, %s", at.UTC().Format(time.RFC3339)), err)
		return nil, a.err
	}
	a.root = chains[0][len(chains[0])-1]
	return chains, nil
}

// checkLeaf checks what path validation (RFC 5280 section 6) does not: that
// the certificate is for signing.
func checkLeaf(c *x509.Certificate) error {
	switch {
	case c.IsCA:
		return errors.New("the signing certificate is a certificate authority's")
	case !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageCodeSigning):
		return errors.New("the certificate lacks the extended key usage codeSigning")
	case c.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return errors.New("the certificate lacks the key usage digitalSignature")
	}
	return nil
}

// subject returns the one URI or e-mail address that a certificate names,
// byte for byte: crypto/x509 keeps a URI in parts and writes it anew.
func subject(c *x509.Certificate) (string, error) {
	var names []asn1.RawValue
	for _, e := range c.Extensions {
		if !e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 17}) {
			continue
		}
		if _, err := asn1.Unmarshal(e.Value, &names); err != nil {
			return "", errors.New("the subject alternative names can't be read")
		}
	}
	kinds := map[int]string{1: "email", 6: "uri"} // RFC 5280 section 4.2.1.6
	names = slices.DeleteFunc(names, func(n asn1.RawValue) bool {
		return n.Class != asn1.ClassContextSpecific || kinds[n.Tag] == ""
	})
	if len(names) != 1 {
		return "", fmt.Errorf("the certificate has %d URIs and e-mail addresses as subject alternative names, want one", len(names))
	}
	name := string(names[0].Bytes)
	return name, checkSubject(kinds[names[0].Tag], name)
}
