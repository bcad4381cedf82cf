package verify

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// What the files hold that a policy names.
func TestPolicyFiles(t *testing.T) {
	ca := sigtest.NewCA("acme root")
	key := sigtest.P256()
	leaf := ca.Leaf(key, sigtest.URI(release))
	crl := ca.CRL(now, now.Add(time.Hour), now)
	good := map[string][]byte{
		"root.pem": sigtest.CertPEM(ca.Certificate), "tsa.pem": append([]byte("# two\n"), sigtest.CertPEM(ca.Certificate, sigtest.NewCA("b").Certificate)...),
		"a.crl": sigtest.CRLPEM(crl), "k.pub": sigtest.PublicPEM(key.Public()),
	}
	p := policy(t, `version: 1
publishers:
  acme:
    x509: {roots: [root.pem], san: "uri:https://acme.example/release", tsaRoots: [tsa.pem], crls: [a.crl]}
    key: {file: k.pub}
rules: [{servers: [a/b], signedBy: [acme]}]
`)
	with, err := p.With(good)
	if err != nil {
		t.Fatal(err)
	}
	if p.missing() == "" || with.missing() != "" {
		t.Errorf("missing: %q, %q", p.missing(), with.missing())
	}
	if m := with.publishers["acme"].x509.material; len(m.Roots) != 1 || len(m.TSAs) != 2 || len(m.CRLs) != 1 {
		t.Errorf("material = %+v", m)
	}
	if got := with.publishers["acme"].keys[0].id.String(); got != "key:"+keyID(t, key) {
		t.Errorf("key = %s", got)
	}
	for _, tt := range []struct {
		file string
		data []byte
		want string
	}{
		{"root.pem", nil, "4:20: file root.pem: is not at hand"},
		{"root.pem", []byte{}, "file root.pem: is empty"},
		{"root.pem", []byte("x"), "file root.pem: has no PEM block, want a certificate in PEM"},
		{"root.pem", ca.Certificate.Raw, "is a certificate in DER, want a certificate in PEM"},
		{"root.pem", sigtest.PublicPEM(key.Public()), "line 1: a public key (PEM block PUBLIC KEY), want a certificate"},
		{"root.pem", sigtest.CertPEM(leaf.Certificate()), "is not the certificate of a certificate authority"},
		{"root.pem", append(sigtest.CertPEM(ca.Certificate), "-----BEGIN CERTIFICATE-----\nx"...), "block CERTIFICATE has no END line"},
		{"root.pem", bytes.Repeat(sigtest.CertPEM(ca.Certificate), 101), "has more than 100 PEM blocks"},
		{"root.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), "file root.pem: line 1: the certificate can't be parsed: x509"},
		{"root.pem", make([]byte, MaxPolicyFile+1), "has more than"},
		{"k.pub", sigtest.PublicPEM(sigtest.RSA().Public()), "want ECDSA P-256 or P-384, or Ed25519"},
		{"k.pub", append(sigtest.PublicPEM(key.Public()), sigtest.PublicPEM(key.Public())...), "line 5: has more than one public key"},
		{"k.pub", sigtest.KeyPEM(key), "a private key (PEM block PRIVATE KEY), want a public key"},
		{"a.crl", sigtest.CertPEM(ca.Certificate), "line 1: a certificate (PEM block CERTIFICATE), want a revocation list"},
		{"a.crl", append([]byte("  -----BEGIN X509 CRL-----\n  MIHo\n  -----END X509 CRL-----\n"), sigtest.CRLPEM(crl)...), "file a.crl: line 1: a BEGIN or END line must be alone"},
		{"a.crl", append([]byte("-----BEGIN X509 CRL-----\nM!Ho\n-----END X509 CRL-----\n"), sigtest.CRLPEM(crl)...), "file a.crl: line 1: block X509 CRL can't be decoded"},
		{"a.crl", append([]byte("\x30"), sigtest.CRLPEM(crl)...), "file a.crl: revocation list: "},
		{"root.pem", append([]byte("-----BEGIN CERTIFICATE-----\nM!Ho\n-----END CERTIFICATE-----\n"), sigtest.CertPEM(ca.Certificate)...), "file root.pem: line 1: block CERTIFICATE can't be decoded"},
		{"a.crl", []byte("x"), "file a.crl: has no PEM block, want a revocation list"},
		{"a.crl", append(sigtest.CRLPEM(crl), sigtest.CRLPEM(crl)...), "has more than one revocation list"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			files := make(map[string][]byte)
			for name, data := range good {
				if files[name] = data; name == tt.file {
					if files[name] = tt.data; tt.data == nil {
						delete(files, name)
					}
				}
			}
			q, err := p.With(files)
			wantError(t, err, tt.want)
			var e *PolicyError
			if q != nil || !errors.As(err, &e) || e.Line < 4 {
				t.Errorf("With = %v, %#v", q, err)
			}
			if err != nil {
				checkShown(t, err.Error())
			}
		})
	}
	good["a.crl"] = crl.Raw // DER does as well
	if _, err := p.With(good); err != nil {
		t.Error(err)
	}
}

// Revocation lists that say too little.
func TestRefuseLists(t *testing.T) {
	good := func() *x509.RevocationList {
		return sigtest.NewCA("a").CRL(now, now.Add(time.Hour), now, sigtest.NewCA("x").Certificate)
	}
	ext := func(id asn1.ObjectIdentifier, critical bool, value any) func(*x509.RevocationList) {
		der, err := asn1.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return func(l *x509.RevocationList) {
			l.Extensions = append(l.Extensions, pkix.Extension{Id: id, Critical: critical, Value: der})
		}
	}
	for _, tt := range []struct {
		name string
		edit func(*x509.RevocationList)
		want string // empty: good
	}{
		{"good", func(*x509.RevocationList) {}, ""},
		{"for everything", ext(oidDistribution, true, distributionPoint{}), ""},
		{"not critical", ext(asn1.ObjectIdentifier{1, 2, 3}, false, 1), ""},
		{"no end", func(l *x509.RevocationList) { l.NextUpdate = time.Time{} }, "until when it is good"},
		{"end before it starts", func(l *x509.RevocationList) { l.NextUpdate = now.Add(-time.Hour) }, "until when it is good"},
		{"delta", ext(oidDelta, true, 1), "it is a delta"},
		{"delta, not critical", ext(oidDelta, false, 1), "it is a delta"},
		{"indirect", ext(oidDistribution, true, distributionPoint{Indirect: true}), "indirect, or about some"},
		{"authorities only", ext(oidDistribution, true, distributionPoint{CAsOnly: true}), "indirect, or about some"},
		{"users only", ext(oidDistribution, true, distributionPoint{UsersOnly: true}), ""},
		{"broken point", ext(oidDistribution, true, 1), "distribution point can't be read"},
		{"unknown critical extension", ext(asn1.ObjectIdentifier{1, 2, 3}, true, 1), "critical extension 1.2.3"},
		{"entry with a critical extension", func(l *x509.RevocationList) {
			l.RevokedCertificateEntries[0].Extensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 29}, Critical: true}}
		}, "an entry has the critical extension 2.5.29.29"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := good()
			tt.edit(l)
			_, err := New(nil, Trust{CRLs: []*x509.RevocationList{l}})
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, tt.want)
		})
	}
}
