package verify

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/mcpsign/mcpsign/internal/certchain"
	"github.com/mcpsign/mcpsign/lock"
)

// Trust is the material that signatures are checked with. It says nothing
// about who may sign: that is the policy's.
type Trust struct {
	// SigstoreRoot is a Sigstore trusted_root.json, for keyless signatures, their
	// logs and timestamps, or several as JSON lines; SigstoreRoots are more of
	// them. A bundle verifies wholly under one of them, never under a union.
	SigstoreRoot  []byte
	SigstoreRoots [][]byte

	Keys []TrustedKey

	// Roots are the certificate authorities of private PKI, and TSAs those of RFC
	// 3161 timestamps. What another one of the same list has issued is not trusted by
	// itself: it helps to build a chain where a bundle or timestamp lacks it, as the
	// intermediate and the leaf that a timestamp server serves with its root.
	Roots, TSAs []*x509.Certificate

	// CRLs are revocation lists of own PKI. If there are any, a certificate
	// counts only if one of them, or of what Request.Status has, is by its issuer,
	// is up to date, and says that it was not revoked when it signed. Delta,
	// indirect and partial lists are refused.
	//
	// A certificate that was revoked before it signed, or in the same second, is
	// refused, and so is one under a certificate authority that was; one that was
	// revoked later is as good as before. The revocation time counts, or the
	// invalidity date (RFC 5280 section 5.3.2) if that is earlier: it is how an
	// issuer says since when a key was not safe. The reason code is not looked at:
	// of a compromised key without an invalidity date nothing else is known, and a
	// hold is a revocation. Issuers may leave out certificates that have ended
	// (RFC 5280 section 3.3), so lists that revoke one are to be kept.
	CRLs []*x509.RevocationList
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
	others     []*material         // the same with another trusted root each
	withoutLog bool                // a keyless signature counts with a timestamp alone
	domain     *domain             // own PKI
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
	if slices.Contains(t.TSAs, nil) {
		return nil, &TrustError{errors.New("a root is no certificate")}
	}
	m.addTSAs(t.TSAs)
	err := m.addRoots(append([][]byte{t.SigstoreRoot}, t.SigstoreRoots...)...)
	if err != nil {
		return nil, err
	}
	if m.domain, err = m.newDomain(t); err != nil {
		return nil, err
	}
	for _, k := range t.Keys {
		if err := m.addKey(k); err != nil {
			return nil, &TrustError{err}
		}
	}
	return m, nil
}

func (m *material) addTSAs(certs []*x509.Certificate) {
	for _, c := range certs {
		m.keep(c.Raw)
	}
	roots, below := certchain.Split(certs)
	for _, c := range roots {
		m.tsas = append(m.tsas, newStampAuthority(c, below))
	}
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

// A ClockError is the cause of a TrustError: the time of a request is earlier
// than one of a verified signature, more than the 5 minutes by which clocks may
// differ.
type ClockError struct{ At, Signed time.Time }

func (e *ClockError) Error() string {
	return fmt.Sprintf("the clock says %s, and a verified signature is of %s", e.At.UTC().Format(time.RFC3339), e.Signed.UTC().Format(time.RFC3339))
}

// A ListError is the cause of a TrustError: a revocation list is out of date, or
// was seen and neither it nor a later one is available.
type ListError struct {
	Signer lock.Signer
	Number uint64
	Due    time.Time // when the next one was; zero if the list is missing
}

func (e *ListError) Error() string {
	if e.Due.IsZero() {
		return fmt.Sprintf("revocation list %d by %s was seen, and neither it nor a newer one is available", e.Number, e.Signer)
	}
	return fmt.Sprintf("revocation list %d by %s: the next one was due at %s", e.Number, e.Signer, e.Due.UTC().Format(time.RFC3339))
}

// A StaleListError is the cause of a TrustError: the rule asks for a revocation
// list that is younger than what there is.
type StaleListError struct {
	By     string // the publisher or identity, as the policy names it
	MaxAge time.Duration
	Number uint64    // of the newest list; 0 if there is none
	Made   time.Time // the earlier of its stated and its verified time; zero if there is none
}

func (e *StaleListError) Error() string {
	if e.Number == 0 {
		return fmt.Sprintf("no revocation list by %s is known, and the rule asks for one of the last %s", shown(e.By), inHours(e.MaxAge))
	}
	return fmt.Sprintf("revocation list %d by %s is of %s, and the rule asks for one of the last %s", e.Number, shown(e.By), e.Made.UTC().Format(time.RFC3339), inHours(e.MaxAge))
}

// inHours returns a time span of a policy, which is in whole hours.
func inHours(d time.Duration) string {
	if h := int(d / time.Hour); h%24 != 0 {
		return fmt.Sprintf("%dh", h)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}
