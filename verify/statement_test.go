package verify

import (
	"errors"
	"testing"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// Who signed a bundle of any kind, and what it says, whoever may.
func TestStatement(t *testing.T) {
	p := newPublisher(t)
	ca, tsa := sigtest.NewCA("acme"), sigtest.NewTSA(sigtest.At(now))
	files := map[string][]byte{"r.pem": sigtest.CertPEM(ca.Certificate), "t.pem": sigtest.CertPEM(tsa.CA.Certificate)}
	v := newVerifier(t, withFiles(t, `version: 1
publishers: {acme: {x509: {roots: [r.pem], tsaRoots: [t.pem], san: "uri:https://acme.example/release"}}}
rules: [{servers: [elsewhere], signedBy: [acme]}]
`, files), trustKeys(p.key))
	foreign, err := attest.Foreign(listing(t, ab).Definitions, "https://example.com/scan", []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		bundle []byte
		kind   string
		signer string
	}{
		"release":     {p.sign(t, ab), attest.PredicateType, p.id},
		"revocation":  {p.revokes(t, 1, nil), attest.RevocationType, p.id},
		"attestation": {byKey(t, p.key, foreign), "https://example.com/scan", p.id},
		"certificate": {pkiBundle(t, ca, release, tsa, ab), attest.PredicateType, "x509:uri:" + release},
	} {
		s, st, err := v.Statement(tt.bundle)
		if err != nil || st.PredicateType() != tt.kind || IdentityOf(s).String() != tt.signer {
			t.Errorf("%s: %v, %v", name, s, err)
			continue
		}
		var kind *attest.ForeignError
		if _, err := v.Signer(tt.bundle); (err == nil) != (tt.kind == attest.PredicateType) || err != nil && !errors.As(err, &kind) {
			t.Errorf("%s: Signer says %v", name, err)
		}
	}
	var trust *TrustError
	if _, st, err := newVerifier(t, nil, Trust{}).Statement(pkiBundle(t, ca, release, tsa, ab)); !errors.As(err, &trust) || st != nil {
		t.Errorf("without a root: %v", err)
	}
	var format *FormatError
	if _, st, err := v.Statement([]byte("x")); st != nil || !errors.As(err, &trust) || !errors.As(err, &format) {
		t.Errorf("junk: %v", err)
	}
	if _, st, err := v.Statement(newPublisher(t).sign(t, ab)); err == nil || st != nil {
		t.Errorf("an unknown key: %v", err)
	}
}
