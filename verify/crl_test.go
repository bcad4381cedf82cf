package verify

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

// A certificate is judged by the revocation lists at the time of signing, and
// the lists by whether they are up to date now.
func TestCRL(t *testing.T) {
	tsa := sigtest.NewTSA(sigtest.At(now))
	root := sigtest.NewCA("acme root")
	issuing, other := root.Sub("acme issuing"), root.Sub("acme other")
	key := sigtest.P256()
	leaf := issuing.Leaf(key, sigtest.URI(release))
	bundle := sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: key, Chain: leaf.Chain, TSA: tsa}.Bundle()
	hour := func(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }
	list := func(ca *sigtest.CA, at time.Time, cs ...*x509.Certificate) *x509.RevocationList {
		return ca.CRL(hour(-1), hour(24), at, cs...)
	}
	stranger := sigtest.NewCA("acme issuing") // of the same name

	for _, tt := range []struct {
		name   string
		lists  []*x509.RevocationList
		at     time.Time
		reason Reason // empty: accepted
		text   string
	}{
		{"no lists", nil, now, "", ""},
		{"nothing revoked", []*x509.RevocationList{list(issuing, now)}, now, "", ""},
		{"another revoked", []*x509.RevocationList{list(issuing, hour(-2), other.Certificate)}, now, "", ""},
		{"revoked before it signed", []*x509.RevocationList{list(issuing, hour(-1), leaf.Certificate())}, now, Revoked, "was revoked from 2026-11-30T11:00:00Z on, before it signed"},
		{"revoked in the second in which it signed", []*x509.RevocationList{list(issuing, now, leaf.Certificate())}, now, Revoked, "was revoked"},
		{"revoked after it signed", []*x509.RevocationList{list(issuing, now.Add(time.Second), leaf.Certificate())}, hour(2), "", ""},
		{"intermediate revoked before", []*x509.RevocationList{list(issuing, now), list(root, hour(-1), issuing.Certificate)}, now, Revoked, "was revoked"},
		{"intermediate revoked after", []*x509.RevocationList{list(issuing, now), list(root, hour(1), issuing.Certificate)}, hour(2), "", ""},
		{"list by another authority", []*x509.RevocationList{list(other, now)}, now, TrustMissing, "there is no revocation list by CN=acme issuing"},
		{"list by the root alone", []*x509.RevocationList{list(root, now)}, now, TrustMissing, "there is no revocation list by CN=acme issuing"},
		{"list by a stranger of the name", []*x509.RevocationList{list(stranger, hour(-1), leaf.Certificate())}, now, TrustMissing, "there is no revocation list"},
		{"stranger's beside the right one", []*x509.RevocationList{list(stranger, hour(-1), leaf.Certificate()), list(issuing, now)}, now, "", ""},
		{"in the last second", []*x509.RevocationList{list(issuing, now)}, hour(24), "", ""},
		{"out of date", []*x509.RevocationList{list(issuing, now)}, hour(24).Add(time.Second), TrustMissing, "is of 2026-11-30T11:00:00Z to 2026-12-01T12:00:00Z, and it is 2026-12-01T12:00:01Z"},
		{"out of date, and a newer one", []*x509.RevocationList{list(issuing, now), issuing.CRL(hour(20), hour(48), now)}, hour(30), "", ""},
		{"a newer one revokes", []*x509.RevocationList{list(issuing, now), issuing.CRL(hour(20), hour(48), hour(-1), leaf.Certificate())}, hour(30), Revoked, "was revoked"},
		{"of the future", []*x509.RevocationList{issuing.CRL(hour(1), hour(48), now)}, now, TrustMissing, "is of 2026-11-30T13:00:00Z"},
		{"the intermediate's out of date", []*x509.RevocationList{list(issuing, now), root.CRL(hour(-48), hour(-24), now)}, now, TrustMissing, "by CN=acme root"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := verifier(t, Trust{Roots: certs(root.Certificate), TSAs: certs(tsa.CA.Certificate), CRLs: tt.lists}, "x509:uri:"+release)
			r := ask(listing(t, abc), bundle)
			r.At = tt.at
			d := v.Decide(r)
			if tt.reason == "" {
				if err := d.SignedErr(); err != nil {
					t.Error(err, d.Diagnostics())
				}
				return
			}
			wantDiagnostics(t, d, tt.reason)
			if !d.Results()[0].Has(tt.reason) || d.Results()[0].Verdict != Deny {
				t.Errorf("results = %s", verdicts(d))
			}
			if len(d.Diagnostics()) == 1 {
				wantError(t, d.Diagnostics()[0].Err, tt.text)
			}
		})
	}

	// What nobody signed is not called revoked.
	broken := sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: sigtest.P256(), Chain: leaf.Chain, TSA: tsa}.Bundle()
	v := verifier(t, Trust{Roots: certs(root.Certificate), TSAs: certs(tsa.CA.Certificate), CRLs: []*x509.RevocationList{list(issuing, hour(-1), leaf.Certificate())}}, "x509:uri:"+release)
	refuses(t, v, broken, BadSignature, "could not verify envelope")

	// A publisher's lists are for its own certificates, named in the policy.
	files := map[string][]byte{"r.pem": sigtest.CertPEM(root.Certificate), "t.pem": sigtest.CertPEM(tsa.CA.Certificate), "a.crl": sigtest.CRLPEM(list(issuing, hour(-1), leaf.Certificate()))}
	with := func(crls string) *Decision {
		p := withFiles(t, `version: 1
publishers: {acme: {x509: {roots: [r.pem], tsaRoots: [t.pem], san: "uri:https://acme.example/release"`+crls+`}}}
rules: [{servers: [io.github.acme/*], signedBy: [acme]}]
`, files)
		return newVerifier(t, p, Trust{}).Decide(ask(listing(t, abc), bundle))
	}
	if d := with(""); d.SignedErr() != nil {
		t.Error(d.SignedErr(), d.Diagnostics())
	}
	wantDiagnostics(t, with(", crls: [a.crl]"), Revoked)
	if s := with(", crls: [a.crl]").Diagnostics()[0].Signer; s != (lock.Signer{Root: s.Root, Subject: release}) {
		t.Errorf("signer = %+v", s)
	}
}

// What a list says of since when a key was not safe counts, if it is earlier
// (RFC 5280 section 5.3.2).
func TestInvalidityDate(t *testing.T) {
	c := &x509.Certificate{SerialNumber: big.NewInt(7)}
	revokes := func(id asn1.ObjectIdentifier, value []byte) *x509.RevocationList {
		return &x509.RevocationList{RevokedCertificateEntries: []x509.RevocationListEntry{
			{SerialNumber: big.NewInt(6), RevocationTime: now.Add(-time.Hour)},
			{SerialNumber: big.NewInt(7), RevocationTime: now.Add(time.Hour), Extensions: []pkix.Extension{{Id: id, Value: value}}},
		}}
	}
	since := func(at time.Time) []byte {
		der, err := asn1.MarshalWithParams(at.UTC(), "generalized")
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	for name, tt := range map[string]struct {
		list    *x509.RevocationList
		revoked bool
	}{
		"earlier":          {revokes(oidInvalidityDate, since(now.Add(-time.Hour))), true},
		"later":            {revokes(oidInvalidityDate, since(now.Add(time.Minute))), false},
		"after it":         {revokes(oidInvalidityDate, since(now.Add(9*time.Hour))), false},
		"unreadable":       {revokes(oidInvalidityDate, []byte{1}), true},
		"another":          {revokes(asn1.ObjectIdentifier{2, 5, 29, 21}, []byte{10, 1, 1}), false},
		"nothing about it": {&x509.RevocationList{}, false},
	} {
		if since, revoked := revokedIn(tt.list, c.SerialNumber); (revoked && !now.Before(since)) != tt.revoked {
			t.Errorf("%s: revoked %v since %v", name, revoked, since)
		}
	}
}
