package verify

import (
	"crypto/x509"
	"errors"
	"testing"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// What supersedes a status is newer and says all that it says.
func TestSupersedes(t *testing.T) {
	one := func(edit func(*CertificateStatus, *CertificateStanding)) *CertificateStatus {
		s := &CertificateStatus{Kind: OCSPResponse, Issuer: "CN=acme", From: hour(0), Till: hour(9)}
		c := CertificateStanding{Serial: "7"}
		edit(s, &c)
		s.Certificates = append(s.Certificates, c)
		return s
	}
	type edit = func(*CertificateStatus, *CertificateStanding)
	same := func(*CertificateStatus, *CertificateStanding) {}
	unknown := func(_ *CertificateStatus, c *CertificateStanding) { c.Unknown = true }
	revoked := func(at int) edit {
		return func(_ *CertificateStatus, c *CertificateStanding) { c.Revoked, c.Since = true, hour(at) }
	}
	for name, tt := range map[string]struct {
		old, newer edit
		want       bool
	}{
		"good":                   {same, same, true},
		"good, then revoked":     {same, revoked(-1), true},
		"good, then unknown":     {same, unknown, false},
		"unknown, then good":     {unknown, same, true},
		"unknown twice":          {unknown, unknown, true},
		"revoked, then good":     {revoked(-1), same, false},
		"revoked twice":          {revoked(-1), revoked(-1), true},
		"revoked, then earlier":  {revoked(-1), revoked(-2), true},
		"revoked, then later":    {revoked(-2), revoked(-1), false},
		"of another certificate": {same, func(_ *CertificateStatus, c *CertificateStanding) { c.Serial = "8" }, false},
		"of another issuer":      {same, func(s *CertificateStatus, _ *CertificateStanding) { s.Issuer = "CN=other" }, false},
		"of another kind":        {same, func(s *CertificateStatus, _ *CertificateStanding) { s.Kind = RevocationList }, false},
		"of the same time":       {same, func(s *CertificateStatus, _ *CertificateStanding) { s.From = hour(-1) }, false},
		"about two, then about one": {func(s *CertificateStatus, _ *CertificateStanding) {
			s.Certificates = []CertificateStanding{{Serial: "9"}}
		}, same, false},
	} {
		old := one(func(s *CertificateStatus, c *CertificateStanding) { s.From = hour(-1); tt.old(s, c) })
		if got := one(tt.newer).Supersedes(old); got != tt.want {
			t.Errorf("%s: Supersedes is %v", name, got)
		}
	}
	s := one(same)
	if !s.Current(hour(1)) || s.Current(hour(10)) || s.Current(hour(-1)) {
		t.Error("Current does not follow From and Till")
	}
}

// Status of a list says something about every certificate of its issuer, and a
// list that leaves out what an older one revokes does not supersede it, even of a
// certificate that signed nothing here.
func TestStatusOfList(t *testing.T) {
	p := newPKI(t)
	second := p.issuing.Leaf(sigtest.P256(), sigtest.URI(release))
	also := sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: second.Key, Chain: second.Chain, TSA: p.tsa}.Bundle()
	gone := p.issuing.Leaf(sigtest.P256()).Certificate()
	v := p.verifier(t, "", nil)
	status := func(l *x509.RevocationList) *CertificateStatus {
		s, err := v.Status(l.Raw, p.bundle, also)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Certificates) != 2 || s.Certificates[0].Serial == s.Certificates[1].Serial {
			t.Errorf("the list says something about %+v", s.Certificates)
		}
		return s
	}
	old := status(p.issuing.CRL(hour(-2), hour(24), hour(-3), gone))
	if status(p.issuing.CRL(hour(-1), hour(24), hour(-3))).Supersedes(old) {
		t.Error("a list that leaves an entry out supersedes the one that has it")
	}
	if !status(p.issuing.CRL(hour(-1), hour(24), hour(-3), gone)).Supersedes(old) {
		t.Error("a list with the same entry does not supersede the older one")
	}

	_, err := v.Status([]byte("junk"), p.bundle)
	if errors.Unwrap(err) == nil {
		t.Errorf("%v has no cause", err)
	}
}

// Every URL that can be asked is asked once for each certificate.
func TestStatusQueriesURLs(t *testing.T) {
	const crl, responder = "http://crl.acme.example/a.crl", "https://ocsp.acme.example/"
	p := newPKI(t, sigtest.CRLAt(crl, crl, "ftp://acme.example/a", "http:///a", "http://acme.example/#a", "http://u@acme.example/", "http://%zz/"), sigtest.OCSPAt(responder, responder))
	second := p.issuing.Leaf(sigtest.P256(), sigtest.URI(release), sigtest.OCSPAt(responder))
	also := sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: second.Key, Chain: second.Chain, TSA: p.tsa}.Bundle()
	queries, err := p.verifier(t, "", nil).StatusQueries(nil, p.bundle, also, p.bundle)
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, q := range queries {
		urls = append(urls, q.URL)
	}
	if want := []string{responder, crl, responder}; len(urls) != 3 || urls[0] != want[0] || urls[1] != want[1] || urls[2] != want[2] {
		t.Errorf("the URLs are %q, want %q", urls, want)
	}
	if len(queries) == 3 && (queries[0].Serial == queries[2].Serial || string(queries[0].Request) == string(queries[2].Request)) {
		t.Error("two certificates of one responder are not asked about each")
	}
}

// Messages name the kind of a status, and the earliest revocation.
func TestStatusTexts(t *testing.T) {
	if RevocationList.String() != "revocation list" || OCSPResponse.String() != "OCSP response" {
		t.Errorf("kinds are called %s and %s", RevocationList, OCSPResponse)
	}
	p := newPKI(t)
	leaf := p.leaf.Certificate()
	early, late := p.issuing.CRL(hour(-1), hour(24), hour(-3), leaf), p.issuing.CRL(hour(-2), hour(24), hour(-2), leaf)
	for _, status := range [][][]byte{{early.Raw, late.Raw}, {late.Raw, early.Raw}} {
		p.wantStatus(t, p.verifier(t, "", nil), now, Revoked, "was revoked from 2026-11-30T09:00:00Z on", status...)
	}
	// The signing certificate is named before the authority above it.
	both := [][]byte{late.Raw, p.root.CRL(hour(-1), hour(24), hour(-5), p.issuing.Certificate).Raw}
	p.wantStatus(t, p.verifier(t, "", nil), now, Revoked, "certificate "+leaf.SerialNumber.Text(16)+" was revoked", both...)
}

// Chains to another root than the first are left out.
func TestPathsOfOneRoot(t *testing.T) {
	a, b := sigtest.NewCA("a"), sigtest.NewCA("b")
	leaf := a.Leaf(sigtest.P256()).Certificate()
	chains := [][]*x509.Certificate{{leaf, a.Certificate}, {leaf, b.Certificate}}
	paths := (&domain{}).pathsOf(chains)
	if len(paths) != 1 || !paths[0].links[0].issuer.Equal(a.Certificate) {
		t.Errorf("%d paths, want the one to the first root", len(paths))
	}
}
