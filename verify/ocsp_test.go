package verify

import (
	"crypto/x509"
	"slices"
	"testing"

	"golang.org/x/crypto/ocsp"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// A response that is malformed, or by someone who is close to the responder that
// is wanted, says nothing.
func TestOCSPRefused(t *testing.T) {
	p := newPKI(t)
	other := p.root.Sub("acme other")
	type edit = func(*sigtest.OCSPAnswer)
	by := func(l *sigtest.Leaf) edit { return func(a *sigtest.OCSPAnswer) { a.Responder = l } }
	// The key of the issuing authority signs in the name of another.
	renamed := *p.issuing
	named := *p.issuing.Certificate
	named.RawSubject = other.Certificate.RawSubject
	renamed.Certificate = &named
	produced := func(hours int) edit { return func(a *sigtest.OCSPAnswer) { a.ProducedAt = hour(hours) } }

	for _, tt := range []struct {
		name  string
		edits []edit
		at    int
		text  string // of the diagnostics; empty: it satisfies the demand
		says  Reason
	}{
		{"version 2", []edit{func(a *sigtest.OCSPAnswer) { a.Version = 1 }}, 0, "version 2", BadSignature},
		{"nonce that is not an octet string", []edit{func(a *sigtest.OCSPAnswer) { a.RawNonce = []byte{2, 1, 1} }}, 0, "nonce", BadSignature},
		{"no status", []edit{func(a *sigtest.OCSPAnswer) { a.NoStatus = true }}, 0, "does not say when the certificate was revoked", BadSignature},
		{"key of the issuer, another name", []edit{func(a *sigtest.OCSPAnswer) { a.NameOf = other }}, 0, "about no certificate that signed here", TrustMissing},
		{"responder certified in another name", []edit{by(renamed.Responder())}, 0, "by a responder of another issuer", BadSignature},
		{"responder with any key usage", []edit{by(p.issuing.Responder(sigtest.Usage(0)))}, 0, "", ""},
		{"responder that was not valid yet", []edit{by(p.issuing.Responder(sigtest.Valid(hour(1), hour(9))))}, 2, "was not valid then", BadSignature},
		{"responder valid from now on", []edit{by(p.issuing.Responder(sigtest.Valid(hour(1), hour(9)))), produced(2)}, 0, "is of 2026-11-30T13:00:00Z", Expired},
		{"responder valid from that second on", []edit{by(p.issuing.Responder(sigtest.Valid(hour(1), hour(9)))), produced(1)}, 1, "", ""},
		{"responder that ends in that second", []edit{by(p.issuing.Responder(sigtest.Valid(hour(-9), now))), produced(0)}, 0, "", ""},
		{"responder valid since", []edit{by(p.issuing.Responder(sigtest.Valid(hour(1), hour(9)))), produced(2)}, 1, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := p.verifier(t, ", status: required", nil)
			reason := TrustMissing
			if tt.text == "" {
				reason = ""
			}
			at := hour(tt.at)
			d := p.wantStatus(t, v, at, reason, tt.text, p.answer(tt.edits...), p.rootAnswerAt(at))
			says := Reason("")
			for _, x := range d.Diagnostics() {
				if x.Type == StatusType {
					says = x.Reason
				}
			}
			if says != tt.says {
				t.Errorf("the diagnostic is %q, want %q: %v", says, tt.says, d.Diagnostics())
			}
		})
	}

	// A signature that does not verify is called that, also when the verifier
	// knows the response already.
	broken := p.answer(func(a *sigtest.OCSPAnswer) { a.Responder = nil })
	broken[len(broken)-1] ^= 1
	v := p.verifier(t, "", nil)
	for range 2 {
		d := p.wantStatus(t, v, now, "", "", broken, []byte("junk"))
		wantDiagnostics(t, d, BadSignature, BadSignature)
	}
}

// A request carries a nonce if there is one.
func TestOCSPRequest(t *testing.T) {
	p := newPKI(t)
	l := newLink(p.leaf.Certificate(), p.issuing.Certificate)
	plain, err := ocspRequest(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ocsp.CreateRequest(l.cert, l.issuer, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(plain, want) {
		t.Errorf("the request without a nonce is %x, want %x", plain, want)
	}
	with, err := ocspRequest(l, []byte("n"))
	if err != nil || slices.Equal(with, plain) {
		t.Errorf("the request with a nonce is %x, %v", with, err)
	}
}

// The candidates of a request are the same in every order, and one that is
// given often counts once.
func TestStatusOrder(t *testing.T) {
	p := newPKI(t)
	v := p.verifier(t, ", status: required", nil)
	good := slices.Repeat([][]byte{p.answer()}, MaxStatusCount+6)
	p.wantStatus(t, v, now, "", "", append(good, p.rootAnswer())...)

	stale := func(from, till int) []byte { return p.issuing.CRL(hour(from), hour(till), now).Raw }
	all := [][]byte{stale(-48, -24), stale(-72, -50), []byte("junk"), p.rootAnswer()}
	said := func(order ...int) string {
		var status [][]byte
		for _, i := range order {
			status = append(status, all[i])
		}
		var text string
		for _, x := range p.wantStatus(t, v, now, TrustMissing, "the revocation list by CN=acme issuing,O=sigtest is of 2026-11-28T12:00:00Z", status...).Diagnostics() {
			text += string(x.Reason) + " " + x.Err.Error() + "\n"
		}
		return text
	}
	if a, b := said(0, 1, 2, 3), said(3, 2, 1, 0); a != b {
		t.Errorf("in another order the diagnostics are\n%swant\n%s", b, a)
	}
	exact := make([]byte, MaxStatus)
	d := p.wantStatus(t, p.verifier(t, "", nil), now, "", "", exact)
	wantError(t, d.Diagnostics()[0].Err, "is neither a revocation list nor an OCSP response")
}

// A responder counts unless a list of the policy revokes it; the lists of others
// and those that do not name it say nothing against it.
func TestResponderNotRevoked(t *testing.T) {
	p := newPKI(t)
	for name, list := range map[string]*x509.RevocationList{
		"list of another authority":  p.root.CRL(hour(-1), hour(24), now),
		"list without the responder": p.issuing.CRL(hour(-48), hour(-24), now),
	} {
		t.Run(name, func(t *testing.T) {
			v := p.verifier(t, ", crls: [a.crl], status: required", list)
			p.wantStatus(t, v, now, "", "", p.answer(), p.rootAnswer())
		})
	}
}

// One release whose certificate lacks a status is enough to say so, whether it is
// looked at before one that has it or after it.
func TestStatusMissingOfOne(t *testing.T) {
	for range 16 { // which is first is chance
		p := newPKI(t)
		v := p.verifier(t, ", status: required", nil)
		other := p.issuing.Leaf(sigtest.P256(), sigtest.URI(release))
		lacking := sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: other.Key, Chain: other.Chain, TSA: p.tsa}.Bundle()
		r := ask(listing(t, abc), p.bundle, lacking)
		r.Status = [][]byte{p.answer(), p.rootAnswer()}
		if d := v.Decide(r); !d.StatusMissing() || d.SignedErr() != nil {
			t.Errorf("StatusMissing is %v: %v", d.StatusMissing(), d.SignedErr())
		}
	}
}
