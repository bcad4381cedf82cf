package verify

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"io"
	"math/big"
	"os"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

// rawName makes a subject alternative name byte for byte, which crypto/x509
// would write in its own way: tag 1 is an e-mail address, 6 a URI.
func rawName(names ...asn1.RawValue) sigtest.Edit {
	value, err := asn1.Marshal(names)
	if err != nil {
		panic(err)
	}
	return func(c *x509.Certificate) {
		c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: value})
	}
}

func name(tag int, text string) asn1.RawValue {
	return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: tag, Bytes: []byte(text)}
}

// A certificate of one's own PKI must be fit for signing when it signed, under
// a root that is trusted, and name who may.
func TestPKI(t *testing.T) {
	s := newServices()
	root := sigtest.NewCA("acme root")
	issuing := root.Sub("acme issuing")
	key := sigtest.P256()
	payload := statement(t, abc).Bytes()
	uri := sigtest.URI(release)
	leaf := func(edits ...sigtest.Edit) *sigtest.Leaf {
		return issuing.Leaf(key, append([]sigtest.Edit{uri}, edits...)...)
	}
	within := sigtest.Valid(now.Add(-time.Hour), now.Add(time.Hour))
	stranger := newServices()
	stray := newServices()
	stray.TSA.Stray = true
	late := sigtest.NewTSA(sigtest.At(now.Add(2 * time.Hour)))

	for _, tt := range []struct {
		name   string
		chain  []*x509.Certificate
		tsa    *sigtest.TSA
		tsas   []*x509.Certificate
		reason Reason // empty: accepted
		text   string
	}{
		{"good", leaf().Chain, s.TSA, nil, "", ""},
		{"right under the root", root.Leaf(key, uri).Chain, s.TSA, nil, "", ""},
		{"with a DNS name beside", leaf(sigtest.DNS("acme.example")).Chain, s.TSA, nil, "", ""},
		{"with another usage beside", leaf(sigtest.EKU(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageCodeSigning)).Chain, s.TSA, nil, "", ""},

		{"self-signed", sigtest.SelfSigned(key, uri).Chain, s.TSA, nil, TrustMissing, "certificate signed by unknown authority"},
		{"unknown root", sigtest.NewCA("acme root").Sub("acme issuing").Leaf(key, uri).Chain, s.TSA, nil, TrustMissing, "certificate signed by unknown authority"},
		{"intermediate missing", leaf().Chain[:1], s.TSA, nil, TrustMissing, "certificate signed by unknown authority"},
		{"intermediate of another", append(leaf().Chain[:1:1], root.Sub("acme issuing").Certificate), s.TSA, nil, TrustMissing, "certificate signed by unknown authority"},
		{"intermediate is no CA", root.Sub("no ca", sigtest.NoCA).Leaf(key, uri).Chain, s.TSA, nil, BadSignature, "non-CA certificate found in certificate chain"},
		{"intermediate for web servers only", root.Sub("web", sigtest.EKU(x509.ExtKeyUsageServerAuth)).Leaf(key, uri).Chain, s.TSA, nil, BadSignature, "incompatible key usage"},
		{"intermediate expired", root.Sub("old", sigtest.Valid(now.Add(-2*time.Hour), now.Add(-time.Hour))).Leaf(key, uri).Chain, s.TSA, nil, BadSignature, "expired"},
		{"root in the chain", append(leaf().Chain[:2:2], root.Certificate), s.TSA, nil, BadSignature, "self-signed certificate found in certificate chain"},
		{"another root in the chain", append(leaf().Chain[:2:2], sigtest.NewCA("evil").Certificate), s.TSA, nil, BadSignature, "self-signed certificate found in certificate chain"},
		{"chain of eleven", append(leaf().Chain[:1:1], tenOf(issuing.Certificate)...), s.TSA, nil, BadSignature, "more than 10 certificates"},
		{"certificate of another key", issuing.Leaf(sigtest.P256(), uri).Chain, s.TSA, nil, BadSignature, "could not verify envelope"},

		{"for web servers", leaf(sigtest.EKU(x509.ExtKeyUsageServerAuth)).Chain, s.TSA, nil, BadSignature, "lacks the extended key usage codeSigning"},
		{"for anything", leaf(sigtest.EKU(x509.ExtKeyUsageAny)).Chain, s.TSA, nil, BadSignature, "lacks the extended key usage codeSigning"},
		{"no extended key usage", leaf(sigtest.EKU()).Chain, s.TSA, nil, BadSignature, "lacks the extended key usage codeSigning"},
		{"no key usage", leaf(sigtest.Usage(0)).Chain, s.TSA, nil, BadSignature, "lacks the key usage digitalSignature"},
		{"for encryption", leaf(sigtest.Usage(x509.KeyUsageKeyEncipherment)).Chain, s.TSA, nil, BadSignature, "lacks the key usage digitalSignature"},
		{"leaf is a CA", leaf(func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }).Chain, s.TSA, nil, BadSignature, "is a certificate authority's"},
		{"unknown critical extension", leaf(func(c *x509.Certificate) {
			c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}})
		}).Chain, s.TSA, nil, BadSignature, "unhandled critical extension"},

		{"two URIs", leaf(sigtest.URI("https://evil.example")).Chain, s.TSA, nil, BadSignature, "has 2 URIs and e-mail addresses"},
		{"the URI twice", leaf(uri).Chain, s.TSA, nil, BadSignature, "has 2 URIs and e-mail addresses"},
		{"URI and e-mail address", leaf(sigtest.Mail("dev@acme.example")).Chain, s.TSA, nil, BadSignature, "has 2 URIs and e-mail addresses"},
		{"DNS name only", issuing.Leaf(key, sigtest.DNS("acme.example")).Chain, s.TSA, nil, BadSignature, "has 0 URIs and e-mail addresses"},
		{"no name", issuing.Leaf(key).Chain, s.TSA, nil, BadSignature, "has 0 URIs and e-mail addresses"},
		{"other URI", issuing.Leaf(key, sigtest.URI(release+"/x")).Chain, s.TSA, nil, WrongSigner, "signed by x509:" + release + "/x"},
		{"e-mail address", issuing.Leaf(key, sigtest.Mail("dev@acme.example")).Chain, s.TSA, nil, WrongSigner, "signed by x509:dev@acme.example"},
		{"URI that crypto/x509 writes in another way", issuing.Leaf(key, rawName(name(6, release+"#"))).Chain, s.TSA, nil, WrongSigner, "signed by x509:" + release + "#"},
		{"URI with a scheme in upper case", issuing.Leaf(key, rawName(name(6, "HTTPS"+release[5:]))).Chain, s.TSA, nil, WrongSigner, "signed by x509:HTTPS"},
		{"URI that is an e-mail address", issuing.Leaf(key, rawName(name(6, "dev@acme.example"))).Chain, s.TSA, nil, BadSignature, "is no absolute URI"},
		{"e-mail address that is a URI", issuing.Leaf(key, rawName(name(1, release))).Chain, s.TSA, nil, BadSignature, "is no e-mail address"},
		{"e-mail address with an escape sequence", issuing.Leaf(key, rawName(name(1, "\x1b[31m@acme.example"))).Chain, s.TSA, nil, WrongSigner, `signed by x509:\u{1b}[31m@acme.example`},

		{"valid when it signed, by a timestamp", leaf(within).Chain, s.TSA, nil, "", ""},
		{"no timestamp", leaf().Chain, nil, nil, Unsigned, "neither an RFC 3161 timestamp nor a log entry"},
		{"expired when it signed", leaf(within).Chain, late, certs(late.CA.Certificate), BadSignature, "certificate at the time of signing, 2026-11-30T14:00:00Z: x509: certificate has expired"},
		{"not valid yet when it signed", leaf(sigtest.Valid(now.Add(time.Hour), now.Add(2*time.Hour))).Chain, s.TSA, nil, BadSignature, "not yet valid"},
		{"unknown TSA", leaf().Chain, stranger.TSA, nil, TrustMissing, "certificate signed by unknown authority"},
		{"no TSA trusted", leaf().Chain, s.TSA, []*x509.Certificate{}, TrustMissing, "no timestamp authority is trusted"},
		{"timestamp of another signature", leaf().Chain, stray.TSA, certs(stray.TSA.CA.Certificate), BadSignature, "hashed messages don't match"},
		{"root is the TSA's", leaf().Chain, s.TSA, certs(root.Certificate), TrustMissing, "unknown authority"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.tsas == nil {
				tt.tsas = certs(s.TSA.CA.Certificate)
			}
			v := verifier(t, Trust{Roots: certs(root.Certificate), TSAs: tt.tsas}, "x509:uri:"+release)
			bundle := sigtest.Unchecked{Payload: payload, Key: key, Chain: tt.chain, TSA: tt.tsa}.Bundle()
			if tt.reason != "" {
				refuses(t, v, bundle, tt.reason, tt.text)
				return
			}
			accepts(t, v, bundle)
			// Years later it is as good: the timestamp says when it signed.
			r := ask(listing(t, abc), bundle)
			r.At = now.AddDate(20, 0, 0)
			if err := v.Decide(r).SignedErr(); err != nil {
				t.Errorf("20 years later: %v", err)
			}
		})
	}
}

func tenOf(c *x509.Certificate) []*x509.Certificate {
	all := make([]*x509.Certificate, 10)
	for i := range all {
		all[i] = c
	}
	return all
}

// Of several roots any will do, and the signer is the one under that root.
func TestRoots(t *testing.T) {
	s := newServices()
	a, b := sigtest.NewCA("a"), sigtest.NewCA("b")
	key := sigtest.P256()
	v := verifier(t, Trust{Roots: certs(a.Certificate, b.Certificate), TSAs: certs(s.TSA.CA.Certificate)}, "x509:uri:"+release)
	for _, ca := range []*sigtest.CA{a, b} {
		bundle := sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: key, Chain: ca.Leaf(key, sigtest.URI(release)).Chain, TSA: s.TSA}.Bundle()
		accepts(t, v, bundle)
		signer, err := v.Signer(bundle)
		if want := (lock.Signer{Root: lock.Digest(sha256.Sum256(ca.Certificate.Raw)).String(), Subject: release}); err != nil || signer != want {
			t.Errorf("signer = %v, %v, want %v", signer, err, want)
		}
	}
}

// Kinds of keys that certificates may have.
func TestPKIKeys(t *testing.T) {
	s := newServices()
	ca := sigtest.NewCA("acme root")
	v := verifier(t, Trust{Roots: certs(ca.Certificate), TSAs: certs(s.TSA.CA.Certificate)}, "x509:uri:"+release)
	payload := statement(t, abc).Bytes()
	for name, key := range map[string]crypto.Signer{"P-256": sigtest.P256(), "P-384": sigtest.P384(), "P-521": sigtest.P521(), "Ed25519": sigtest.Ed25519(), "RSA": sigtest.RSA()} {
		t.Run(name, func(t *testing.T) {
			bundle := sigtest.Unchecked{Payload: payload, Key: key, Chain: ca.Leaf(key, sigtest.URI(release)).Chain, TSA: s.TSA}.Bundle()
			accepts(t, v, bundle)
			bundle = edit(bundle, func(b *protobundle.Bundle) { b.GetDsseEnvelope().Payload = []byte("{}") })
			refuses(t, v, bundle, BadSignature, "could not verify envelope")
		})
	}

	// sigstore-go by itself takes P-384 with SHA-256 too, and complains on
	// standard error of every other signature.
	key := sigtest.P384()
	bundle := sigtest.Unchecked{Payload: payload, Key: key, Chain: ca.Leaf(key, sigtest.URI(release)).Chain, TSA: s.TSA}.Bundle()
	pae := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(attest.PayloadType), attest.PayloadType, len(payload), payload))
	sig, err := ecdsa.SignASN1(rand.Reader, key, pae[:])
	if err != nil {
		t.Fatal(err)
	}
	bundle = edit(bundle, func(b *protobundle.Bundle) {
		b.GetDsseEnvelope().Signatures[0].Sig = sig
		b.GetVerificationMaterial().GetTimestampVerificationData().Rfc3161Timestamps[0].SignedTimestamp = s.TSA.Stamp(sig)
	})
	said := standardError(t, func() { refuses(t, v, bundle, BadSignature, "could not verify envelope") })
	if said != "" {
		t.Errorf("standard error has %q", said)
	}
}

// standardError returns what f writes to it.
func standardError(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	saved := os.Stderr
	os.Stderr = w
	f()
	os.Stderr = saved
	w.Close()
	said, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

// An RSA key so long that it takes minutes to verify with is refused before it
// is used, wherever it stands. Anyone can make such a bundle.
func TestLongKeys(t *testing.T) {
	s := newServices()
	ca := sigtest.NewCA("acme root")
	key := sigtest.P256()
	trust := trustKeys(key)
	trust.Roots, trust.TSAs = certs(ca.Certificate), certs(s.TSA.CA.Certificate)
	v := verifier(t, trust, "x509:uri:"+release)
	payload := statement(t, abc).Bytes()

	long := newHugeKey(key)
	evil := ca.Leaf(long, func(c *x509.Certificate) { c.Subject.CommonName, c.IsCA, c.BasicConstraintsValid = "evil", true, true })

	chain := append(ca.Leaf(key, sigtest.URI(release)).Chain, evil.Certificate())
	bundle := sigtest.Unchecked{Payload: payload, Key: key, Chain: chain, TSA: s.TSA}.Bundle()
	refuses(t, v, bundle, BadSignature, "RSA key of more than 8192 bits")

	stamp := func(der []byte) []byte {
		return edit(byKey(t, key, statement(t, abc)), func(b *protobundle.Bundle) {
			b.VerificationMaterial.TimestampVerificationData = &protobundle.TimestampVerificationData{
				Rfc3161Timestamps: stampsOf(der),
			}
		})
	}
	good := s.TSA.Stamp([]byte("x"))
	refuses(t, v, stamp(append(good, make([]byte, maxStamp)...)), BadSignature, "more than 16384 bytes")

	// In a timestamp's certificates.
	var r stampResponse
	if _, err := asn1.Unmarshal(good, &r); err != nil {
		t.Fatal(err)
	}
	if err := checkCertificates(r.Token.Data.Certificates.Bytes); err != nil {
		t.Error(err)
	}
	wantError(t, checkCertificates(append(r.Token.Data.Certificates.Bytes, evil.Certificate().Raw...)), "RSA key of more than 8192 bits")
	var many []byte
	for range maxCertificates + 1 {
		many = append(many, ca.Certificate.Raw...)
	}
	wantError(t, checkCertificates(many), "more than 10 certificates")

	// Two signatures in one timestamp.
	twice := r
	twice.Token.Data.Signers = append(twice.Token.Data.Signers, twice.Token.Data.Signers[0])
	der, err := asn1.Marshal(twice)
	if err != nil {
		t.Fatal(err)
	}
	refuses(t, v, stamp(der), BadSignature, "timestamp: has 2 signatures, want one")
}

// A hugeKey shows an RSA key that it does not have.
type hugeKey struct {
	crypto.Signer
	public *rsa.PublicKey
}

// newHugeKey shows one of 16 KiB.
func newHugeKey(key crypto.Signer) *hugeKey {
	return &hugeKey{key, &rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 1<<17, 1), E: 1<<31 - 1}}
}

func (k *hugeKey) Public() crypto.PublicKey { return k.public }
