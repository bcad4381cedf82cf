package sign

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"testing"
	"time"

	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// payload is a statement whose bytes a JSON library would not write: the order
// of members, the numbers and the escapes must come through.
var payload = []byte(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"tool:get_forecast","digest":{"sha256":"` +
	`e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}],"predicateType":"https://example.test/v1","predicate":{"b":1.50,"a":"\u003c/&"}}`)

// now is the time in every test.
var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func newServices() *sigtest.Sigstore {
	s := sigtest.New()
	s.Clock.Set(now)
	return s
}

// services is what the signers of the tests are given. Attempts follow each
// other at once.
func services(s *sigtest.Sigstore) Services {
	return Services{Client: s.Client(), Now: now, Backoff: time.Nanosecond}
}

func withConfig(s *sigtest.Sigstore, with sigtest.Parts) Services {
	sv := services(s)
	sv.SigningConfig = s.SigningConfig(with)
	return sv
}

func withTSA(s *sigtest.Sigstore) Services {
	sv := services(s)
	sv.TSA = s.TSAURL()
	return sv
}

// signed signs the payload and loads the bundle.
func signed(t *testing.T, s *Signer, err error) *sgbundle.Bundle {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.signPayload(t.Context(), payload)
	if err != nil {
		t.Fatal(err)
	}
	return load(t, data)
}

func load(t *testing.T, data []byte) *sgbundle.Bundle {
	t.Helper()
	b := new(sgbundle.Bundle)
	sgbundle.AllowCertificateChain()(b)
	if err := b.UnmarshalJSON(data); err != nil {
		t.Fatalf("loading the bundle: %v\n%s", err, data)
	}
	return b
}

// check verifies b with sigstore-go and compares the payload.
func check(t *testing.T, b *sgbundle.Bundle, trust sgroot.TrustedMaterial, who sgverify.PolicyOption, options ...sgverify.VerifierOption) *sgverify.VerificationResult {
	t.Helper()
	v, err := sgverify.NewVerifier(trust, options...)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(nil) // that of the payload's only subject
	result, err := v.Verify(b, sgverify.NewPolicy(sgverify.WithArtifactDigest("sha256", digest[:]), who))
	if err != nil {
		t.Fatalf("verifying: %v", err)
	}
	env := b.GetDsseEnvelope()
	if got := env.GetPayload(); string(got) != string(payload) {
		t.Errorf("payload = %s\nwant      %s", got, payload)
	}
	if env.GetPayloadType() != "application/vnd.in-toto+json" {
		t.Errorf("payload type = %q", env.GetPayloadType())
	}
	if b.GetMediaType() != "application/vnd.dev.sigstore.bundle.v0.3+json" {
		t.Errorf("media type = %q", b.GetMediaType())
	}
	return result
}

// trustKey trusts one public key, for all time.
func trustKey(t *testing.T, pub crypto.PublicKey) sgroot.TrustedMaterial {
	t.Helper()
	v, err := signature.LoadDefaultVerifier(pub)
	if err != nil {
		t.Fatal(err)
	}
	return sgroot.NewTrustedPublicKeyMaterialFromMapping(map[string]*sgroot.ExpiringKey{
		keyHint(t, pub): sgroot.NewExpiringKey(v, time.Time{}, time.Time{}),
	})
}

func keyHint(t *testing.T, pub crypto.PublicKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// trustRoot trusts the services of s.
func trustRoot(t *testing.T, s *sigtest.Sigstore) *sgroot.TrustedRoot {
	t.Helper()
	r, err := sgroot.NewTrustedRootFromJSON(s.TrustedRoot())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pkiTrust trusts the roots of a PKI and of a timestamp authority, and knows
// nothing below them.
func pkiTrust(t *testing.T, root, tsaRoot *x509.Certificate) sgroot.TrustedMaterial {
	t.Helper()
	r, err := sgroot.NewTrustedRoot(sgroot.TrustedRootMediaType01,
		[]sgroot.CertificateAuthority{&sgroot.FulcioCertificateAuthority{Root: root}}, nil,
		[]sgroot.TimestampingAuthority{&sgroot.SigstoreTimestampingAuthority{Root: tsaRoot}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func identity(t *testing.T, issuer, issuerRegexp, san string) sgverify.PolicyOption {
	t.Helper()
	id, err := sgverify.NewShortCertificateIdentity(issuer, issuerRegexp, san, "")
	if err != nil {
		t.Fatal(err)
	}
	return sgverify.WithCertificateIdentity(id)
}
