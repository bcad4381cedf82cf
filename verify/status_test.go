package verify

import (
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

func hour(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }

// A pkiTest is a publisher with a PKI of its own, root, issuing and leaf, and a
// bundle signed with it now.
type pkiTest struct {
	tsa     *sigtest.TSA
	root    *sigtest.CA
	issuing *sigtest.CA
	leaf    *sigtest.Leaf
	bundle  []byte
}

func newPKI(t testing.TB, edits ...sigtest.Edit) *pkiTest {
	p := &pkiTest{tsa: sigtest.NewTSA(sigtest.At(now)), root: sigtest.NewCA("acme root")}
	p.issuing = p.root.Sub("acme issuing")
	p.leaf = p.issuing.Leaf(sigtest.P256(), append(edits, sigtest.URI(release))...)
	p.bundle = sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: p.leaf.Key, Chain: p.leaf.Chain, TSA: p.tsa}.Bundle()
	return p
}

// verifier is by a policy whose publisher has the PKI, and x509 the members
// besides; a.crl is list.
func (p *pkiTest) verifier(t testing.TB, members string, list *x509.RevocationList) *Verifier {
	t.Helper()
	files := map[string][]byte{"r.pem": sigtest.CertPEM(p.root.Certificate), "t.pem": sigtest.CertPEM(p.tsa.CA.Certificate)}
	if list != nil {
		files["a.crl"] = sigtest.CRLPEM(list)
	}
	return newVerifier(t, withFiles(t, `version: 1
publishers: {acme: {x509: {roots: [r.pem], tsaRoots: [t.pem], san: "uri:https://acme.example/release"`+members+`}}}
rules: [{servers: [io.github.acme/*], signedBy: [acme]}]
`, files), Trust{})
}

// answer is a good OCSP response about the leaf, by a responder, as edits leave
// it.
func (p *pkiTest) answer(edits ...func(*sigtest.OCSPAnswer)) []byte {
	a := sigtest.OCSPAnswer{
		Issuer: p.issuing, Responder: p.issuing.Responder(), Serials: serials(p.leaf.Certificate()),
		ThisUpdate: hour(-1), NextUpdate: hour(24),
	}
	for _, edit := range edits {
		edit(&a)
	}
	return a.DER()
}

// rootAnswer is one about the issuing authority, by the root itself.
func (p *pkiTest) rootAnswer() []byte {
	return sigtest.OCSPAnswer{Issuer: p.root, Serials: serials(p.issuing.Certificate), ThisUpdate: hour(-1), NextUpdate: hour(24)}.DER()
}

func serials(cs ...*x509.Certificate) []*big.Int {
	var all []*big.Int
	for _, c := range cs {
		all = append(all, c.SerialNumber)
	}
	return all
}

// wantStatus fails the test unless the status makes of the bundle what is
// wanted: an empty reason is a yes.
func (p *pkiTest) wantStatus(t *testing.T, v *Verifier, at time.Time, reason Reason, text string, status ...[]byte) *Decision {
	t.Helper()
	r := ask(listing(t, abc), p.bundle)
	r.At, r.Status = at, status
	d := v.Decide(r)
	if reason == "" {
		if err := d.SignedErr(); err != nil {
			t.Errorf("%v: %v", err, d.Diagnostics())
		}
		return d
	}
	for _, x := range d.Results() {
		if x.Verdict != Deny || len(x.Reasons) != 1 || x.Reasons[0] != reason {
			t.Errorf("result = %s, want a denial for %s: %v", show(x), reason, d.Diagnostics())
		}
	}
	said := ""
	for _, x := range d.Diagnostics() {
		said += x.Err.Error() + "\n"
	}
	if !strings.Contains(said, text) {
		t.Errorf("diagnostics are\n%swant %q", said, text)
	}
	return d
}

// What an OCSP response says counts if it is by the issuer or a responder of
// its, and about exactly that certificate.
func TestOCSP(t *testing.T) {
	p := newPKI(t)
	other := p.root.Sub("acme other")
	stranger := sigtest.NewCA("acme issuing") // of the same name
	type edit = func(*sigtest.OCSPAnswer)
	by := func(l *sigtest.Leaf) edit { return func(a *sigtest.OCSPAnswer) { a.Responder = l } }
	revoked := func(at time.Time) edit { return func(a *sigtest.OCSPAnswer) { a.Revoked = at } }
	window := func(from, till time.Time) edit {
		return func(a *sigtest.OCSPAnswer) { a.ThisUpdate, a.NextUpdate = from, till }
	}
	otherLeaf := p.issuing.Leaf(sigtest.P256(), sigtest.URI(release)).Certificate()
	garbage := []byte("0\x03\x0a\x01\x01")
	const none = "there is no revocation list and no OCSP response by CN=acme issuing"

	for _, tt := range []struct {
		name   string
		edits  []edit
		at     time.Time
		reason Reason // empty: it satisfies the demand
		text   string
		says   Reason // of the diagnostic about the response; empty: there is none
	}{
		{"good", nil, now, "", "", ""},
		{"good, by the issuer itself", []edit{by(nil)}, now, "", "", ""},
		{"good, named by its key", []edit{func(a *sigtest.OCSPAnswer) { a.ByKey = true }}, now, "", "", ""},
		{"good, with a nonce", []edit{func(a *sigtest.OCSPAnswer) { a.Nonce = []byte("nonce") }}, now, "", "", ""},
		{"good, with the issuer's own certificate", []edit{by(&sigtest.Leaf{Key: p.issuing.Key(), Chain: certs(p.issuing.Certificate)})}, now, "", "", ""},
		{"good, after an answer about another", []edit{func(a *sigtest.OCSPAnswer) { a.Serials = serials(otherLeaf, p.leaf.Certificate()) }}, now, "", "", ""},
		{"good, before an answer about another", []edit{func(a *sigtest.OCSPAnswer) { a.Serials = serials(p.leaf.Certificate(), otherLeaf) }}, now, "", "", ""},
		{"good, named by SHA-256", []edit{func(a *sigtest.OCSPAnswer) { a.SHA256 = true }}, now, "", "", ""},
		{"good, with an extension that is not critical", []edit{func(a *sigtest.OCSPAnswer) { a.Extension = true }}, now, "", "", ""},
		{"in the last second", nil, hour(24), "", "", ""},
		{"of a clock that is 5 minutes fast", []edit{window(now.Add(skew), hour(2))}, now, "", "", ""},
		{"of a clock that is faster", []edit{window(now.Add(skew+time.Second), hour(2))}, now, TrustMissing, "is of 2026-11-30T12:05:01Z", Expired},
		{"expired", nil, hour(24).Add(time.Second), TrustMissing, "the OCSP response by CN=acme issuing,O=sigtest is of 2026-11-30T11:00:00Z to 2026-12-01T12:00:00Z, and it is 2026-12-01T12:00:01Z", Expired},
		{"of the future", []edit{window(hour(1), hour(2))}, now, TrustMissing, "is of 2026-11-30T13:00:00Z", Expired},
		{"no nextUpdate", []edit{window(hour(-1), time.Time{})}, now, TrustMissing, "does not say until when it is good", BadSignature},
		{"nextUpdate with thisUpdate", []edit{window(now, now)}, now, TrustMissing, "does not say until when it is good", BadSignature},
		{"nextUpdate before thisUpdate", []edit{window(hour(1), hour(-1))}, now, TrustMissing, "does not say until when it is good", BadSignature},

		{"revoked before it signed", []edit{revoked(hour(-1))}, now, Revoked, "was revoked from 2026-11-30T11:00:00Z on, before it signed", ""},
		{"revoked in the second in which it signed", []edit{revoked(now)}, now, Revoked, "was revoked", ""},
		{"revoked after it signed", []edit{revoked(now.Add(time.Second))}, hour(2), "", "", ""},
		{"revoked before, long ago", []edit{revoked(hour(-1))}, hour(1000), Revoked, "was revoked", ""},
		{"revoked after, long ago", []edit{revoked(now.Add(time.Second))}, hour(1000), TrustMissing, "is of 2026-11-30T11:00:00Z", ""},
		{"revoked after, not safe before", []edit{revoked(hour(1)), func(a *sigtest.OCSPAnswer) { a.Invalid = hour(-1) }}, hour(2), Revoked, "was revoked from 2026-11-30T11:00:00Z on", ""},
		{"revoked before, invalid after", []edit{revoked(hour(-1)), func(a *sigtest.OCSPAnswer) { a.Invalid = hour(1) }}, hour(2), Revoked, "was revoked from 2026-11-30T11:00:00Z on", ""},
		{"unknown", []edit{func(a *sigtest.OCSPAnswer) { a.Unknown = true }}, now, TrustMissing, "the OCSP responder of CN=acme issuing,O=sigtest does not know certificate " + p.leaf.Certificate().SerialNumber.Text(16), TrustMissing},

		{"other serial number", []edit{func(a *sigtest.OCSPAnswer) { a.Serials = serials(otherLeaf) }}, now, TrustMissing, none + ",O=sigtest about certificate " + p.leaf.Certificate().SerialNumber.Text(16), TrustMissing},
		{"no answer", []edit{func(a *sigtest.OCSPAnswer) { a.Serials = nil }}, now, TrustMissing, none, TrustMissing},
		{"two answers", []edit{func(a *sigtest.OCSPAnswer) { a.Serials = append(a.Serials, a.Serials...) }}, now, TrustMissing, none, BadSignature},
		{"other issuer, named by SHA-256", []edit{func(a *sigtest.OCSPAnswer) { a.Issuer, a.Responder, a.SHA256 = other, nil, true }}, now, TrustMissing, none, TrustMissing},
		{"other issuer", []edit{func(a *sigtest.OCSPAnswer) { a.Issuer, a.Responder = other, other.Responder() }}, now, TrustMissing, none, TrustMissing},
		{"stranger of the name", []edit{func(a *sigtest.OCSPAnswer) { a.Issuer, a.Responder = stranger, nil }}, now, TrustMissing, none, TrustMissing},
		{"responder of another issuer", []edit{by(other.Responder())}, now, TrustMissing, "by a responder of another issuer", BadSignature},
		{"responder of the root", []edit{by(p.root.Responder())}, now, TrustMissing, "by a responder of another issuer", BadSignature},
		{"responder of the stranger", []edit{by(stranger.Responder())}, now, TrustMissing, "by a responder of another issuer", BadSignature},
		{"responder without the usage", []edit{by(p.issuing.Responder(sigtest.EKU()))}, now, TrustMissing, "lacks the extended key usage OCSPSigning", BadSignature},
		{"responder for anything", []edit{by(p.issuing.Responder(sigtest.EKU(x509.ExtKeyUsageAny)))}, now, TrustMissing, "lacks the extended key usage OCSPSigning", BadSignature},
		{"responder that signs code", []edit{by(p.leaf)}, now, TrustMissing, "lacks the extended key usage OCSPSigning", BadSignature},
		{"responder for encryption", []edit{by(p.issuing.Responder(sigtest.Usage(x509.KeyUsageKeyEncipherment)))}, now, TrustMissing, "is not for that", BadSignature},
		{"responder with another key", []edit{by(&sigtest.Leaf{Key: sigtest.P256(), Chain: p.issuing.Responder().Chain})}, now, TrustMissing, none, BadSignature},
		{"responder with an unknown critical extension", []edit{by(p.issuing.Responder(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}}}
		}))}, now, TrustMissing, "is not for that", BadSignature},
		{"responder that is not valid then", []edit{by(p.issuing.Responder(sigtest.Valid(hour(-9), hour(-8))))}, now, TrustMissing, "was not valid then", BadSignature},
		{"responder that has ended since", []edit{by(p.issuing.Responder(sigtest.Valid(hour(-9), hour(1))))}, hour(2), TrustMissing, "is of 2026-11-30T11:00:00Z to 2026-11-30T13:00:00Z", Expired},
		{"responder that is not sent along", []edit{func(a *sigtest.OCSPAnswer) { a.Bare = true }}, now, TrustMissing, none, BadSignature},
		{"responder in the name of another", []edit{func(a *sigtest.OCSPAnswer) { a.As = other }}, now, TrustMissing, "by someone else than who signed it", BadSignature},
		{"signed over a SHA-1", []edit{func(a *sigtest.OCSPAnswer) { a.SHA1 = true }}, now, TrustMissing, "an algorithm that is not safe", BadSignature},
		{"unknown critical extension", []edit{func(a *sigtest.OCSPAnswer) { a.Critical = true }}, now, TrustMissing, "critical extension 1.2.3", BadSignature},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status := p.answer(tt.edits...)
			v := p.verifier(t, ", status: required", nil)
			d := p.wantStatus(t, v, tt.at, tt.reason, tt.text, status, p.rootAnswerAt(tt.at))
			says := Reason("")
			for _, x := range d.Diagnostics() {
				if x.Type == StatusType {
					says = x.Reason
					if x.Bundle != sha256.Sum256(status) {
						t.Errorf("it is said of %s", x.Bundle)
					}
				}
			}
			if says != tt.says {
				t.Errorf("it is %q, want %q: %v", says, tt.says, d.Diagnostics())
			}
			// Where nobody asks for a status, only a revocation makes a difference.
			reason := tt.reason
			if reason != Revoked {
				reason = ""
			}
			p.wantStatus(t, p.verifier(t, "", nil), tt.at, reason, "", status, garbage)
		})
	}
	for name, tt := range map[string]struct {
		der  []byte
		text string
	}{
		"nothing":      {nil, "is neither a revocation list nor an OCSP response"},
		"text":         {[]byte("garbage"), "is neither a revocation list nor an OCSP response"},
		"try later":    {[]byte("0\x03\x0a\x01\x03"), "is an OCSP response without an answer: try later"},
		"empty answer": {[]byte("0\x03\x0a\x01\x00"), "is no OCSP response of the basic type"},
		"trailing":     {append(p.answer(), 0), "is neither a revocation list nor an OCSP response"},
		"cut off":      {p.answer()[:100], "is neither a revocation list nor an OCSP response"},
		"too large":    {make([]byte, MaxStatus+1), "has more than 1048576 bytes"},
		"certificate":  {p.leaf.Certificate().Raw, "revocation list: "},
		"long key":     {p.answer(by(&sigtest.Leaf{Key: p.issuing.Key(), Chain: certs(longKey(p.issuing))})), "RSA key of more than 8192 bits"},
	} {
		t.Run(name, func(t *testing.T) {
			d := p.wantStatus(t, p.verifier(t, "", nil), now, "", "", tt.der)
			wantDiagnostics(t, d, BadSignature)
			wantError(t, d.Diagnostics()[0].Err, tt.text)
		})
	}
}

// rootAnswerAt is rootAnswer at any time.
func (p *pkiTest) rootAnswerAt(at time.Time) []byte {
	return sigtest.OCSPAnswer{Issuer: p.root, Serials: serials(p.issuing.Certificate), ThisUpdate: at, NextUpdate: at.Add(time.Hour)}.DER()
}

// Whatever byte of a response is changed: it says the same, or nothing.
func TestMangleOCSP(t *testing.T) {
	p := newPKI(t)
	l := newLink(p.leaf.Certificate(), p.issuing.Certificate)
	good := p.answer()
	about := func(der []byte) *standing {
		s, err := parseStatus(der)
		if err != nil {
			checkShown(t, err.Error())
			return nil
		}
		x, err := s.about(l)
		if err != nil {
			checkShown(t, err.Error())
			return nil
		}
		return x
	}
	want := about(good)
	if want == nil || want.revoked || want.unknown {
		t.Fatalf("standing = %v", want)
	}
	refused := 0
	for i := range good {
		for _, bit := range []byte{1, 2, 0x80} {
			changed := append([]byte(nil), good...)
			changed[i] ^= bit
			x := about(changed)
			if x == nil {
				refused++
				continue
			}
			if x.responder.id != want.responder.id {
				t.Errorf("byte %d: by another responder", i)
			}
			if x.responder = want.responder; *x != *want {
				t.Errorf("byte %d: %v, want %v", i, x, want)
			}
		}
	}
	if refused < len(good)*2 {
		t.Errorf("only %d of %d changed responses are refused", refused, 3*len(good))
	}
}

// A revocation list that a request brings along counts as one of the policy,
// but that nothing is wrong if it is no good.
func TestCandidateCRL(t *testing.T) {
	const point = "http://crl.acme.example/1.crl"
	p := newPKI(t, sigtest.CRLAt(point))
	other, stranger := p.root.Sub("acme other"), sigtest.NewCA("acme issuing")
	list := func(ca *sigtest.CA, at time.Time, cs ...*x509.Certificate) []byte {
		return ca.CRL(hour(-1), hour(24), at, cs...).Raw
	}
	extended := func(id asn1.ObjectIdentifier, value any, cs ...*x509.Certificate) []byte {
		der, err := asn1.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return p.issuing.EditedCRL(func(l *x509.RevocationList) {
			l.ThisUpdate, l.NextUpdate = hour(-1), hour(24)
			l.ExtraExtensions = []pkix.Extension{{Id: id, Critical: true, Value: der}}
			for _, c := range cs {
				l.RevokedCertificateEntries = append(l.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: c.SerialNumber, RevocationTime: hour(-1)})
			}
		}).Raw
	}
	at := func(uri string) distributionPoint {
		name := asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 6, Bytes: []byte(uri)}
		full := asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: mustMarshal(t, name)}
		return distributionPoint{Point: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: mustMarshal(t, full)}}
	}
	const none = "there is no revocation list by CN=acme issuing"
	for _, tt := range []struct {
		name   string
		lists  [][]byte
		at     time.Time
		reason Reason // beside a list of the policy that is out of date; empty: accepted
		text   string
		says   []Reason // of the candidates
	}{
		{"nothing", nil, now, TrustMissing, "is of 2026-11-29T12:00:00Z to 2026-11-30T00:00:00Z", nil},
		{"nothing revoked", [][]byte{list(p.issuing, now)}, now, "", "", nil},
		{"another revoked", [][]byte{list(p.issuing, hour(-2), other.Certificate)}, now, "", "", nil},
		{"revoked before it signed", [][]byte{list(p.issuing, hour(-1), p.leaf.Certificate())}, now, Revoked, "was revoked from 2026-11-30T11:00:00Z on, before it signed", nil},
		{"revoked before, long ago", [][]byte{list(p.issuing, hour(-1), p.leaf.Certificate())}, hour(1000), Revoked, "was revoked", nil},
		{"revoked after it signed", [][]byte{list(p.issuing, now.Add(time.Second), p.leaf.Certificate())}, hour(2), "", "", nil},
		{"revoked before, with a reason", [][]byte{p.edited(func(l *x509.RevocationList) {
			l.RevokedCertificateEntries = []x509.RevocationListEntry{{SerialNumber: p.leaf.Certificate().SerialNumber, RevocationTime: hour(-1), ReasonCode: 1}}
		}).Raw}, now, Revoked, "was revoked from 2026-11-30T11:00:00Z on", nil},
		{"intermediate revoked before", [][]byte{list(p.issuing, now), list(p.root, hour(-1), p.issuing.Certificate)}, now, Revoked, "was revoked", nil},
		{"out of date", [][]byte{list(p.issuing, now)}, hour(25), TrustMissing, "is of 2026-11-30T11:00:00Z", []Reason{Expired}},
		{"out of date, of the intermediate alone", [][]byte{list(p.issuing, now), p.root.CRL(hour(-48), hour(-24), now).Raw}, now, "", "", []Reason{Expired}},
		{"by another authority", [][]byte{list(other, now)}, now, TrustMissing, "is of 2026-11-29", []Reason{TrustMissing}},
		{"by a stranger of the name", [][]byte{list(stranger, hour(-1), p.leaf.Certificate())}, now, TrustMissing, "is of 2026-11-29", []Reason{BadSignature}},
		{"delta", [][]byte{extended(oidDelta, 1, p.leaf.Certificate())}, now, TrustMissing, "it is a delta", []Reason{BadSignature}},
		{"indirect", [][]byte{extended(oidDistribution, distributionPoint{Indirect: true}, p.leaf.Certificate())}, now, TrustMissing, "want the complete list", []Reason{BadSignature}},
		{"of its distribution point", [][]byte{extended(oidDistribution, at(point))}, now, "", "", nil},
		{"of another distribution point", [][]byte{extended(oidDistribution, at("http://crl.acme.example/2.crl"))}, now, TrustMissing, "is of 2026-11-29", []Reason{TrustMissing}},
		{"of another distribution point, and revokes", [][]byte{extended(oidDistribution, at("http://crl.acme.example/2.crl"), p.leaf.Certificate())}, now, Revoked, "was revoked", nil},
		{"of authorities only", [][]byte{extended(oidDistribution, distributionPoint{CAsOnly: true})}, now, TrustMissing, "want the complete list", []Reason{BadSignature}},
		{"of users only", [][]byte{extended(oidDistribution, distributionPoint{UsersOnly: true})}, now, "", "", nil},
		{"signed over a SHA-1", [][]byte{p.issuing.EditedCRL(func(l *x509.RevocationList) {
			l.ThisUpdate, l.NextUpdate, l.SignatureAlgorithm = hour(-1), hour(24), x509.ECDSAWithSHA1
		}).Raw}, now, TrustMissing, "an algorithm that is not safe", []Reason{BadSignature}},
		{"OCSP in its place", [][]byte{p.answer()}, now, "", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stale := p.issuing.CRL(hour(-24), hour(-12), hour(-24))
			d := p.wantStatus(t, p.verifier(t, ", crls: [a.crl]", stale), tt.at, tt.reason, tt.text, tt.lists...)
			var says []Reason
			for _, x := range d.Diagnostics() {
				if x.Type == StatusType {
					says = append(says, x.Reason)
				}
			}
			if len(says) != len(tt.says) || len(says) == 1 && says[0] != tt.says[0] {
				t.Errorf("the lists are %v, want %v: %v", says, tt.says, d.Diagnostics())
			}
		})
	}
	p.wantStatus(t, p.verifier(t, ", crls: [a.crl]", other.CRL(hour(-1), hour(1), now)), now, TrustMissing, none)
	p.wantStatus(t, p.verifier(t, ", crls: [a.crl]", other.CRL(hour(-1), hour(1), now)), now, "", "", list(p.issuing, now))
	// The status of each certificate is asked for, not of the root.
	required := p.verifier(t, ", status: required", nil)
	p.wantStatus(t, required, now, TrustMissing, "by CN=acme root,O=sigtest about certificate", p.answer())
	usersOnly := p.root.EditedCRL(func(l *x509.RevocationList) {
		l.ThisUpdate, l.NextUpdate = hour(-1), hour(24)
		l.ExtraExtensions = []pkix.Extension{{Id: oidDistribution, Critical: true, Value: mustMarshal(t, distributionPoint{UsersOnly: true})}}
	}).Raw
	p.wantStatus(t, required, now, TrustMissing, "by CN=acme root,O=sigtest about certificate", p.answer(), usersOnly)
	p.wantStatus(t, required, now, TrustMissing, "by CN=acme issuing,O=sigtest about certificate", p.rootAnswer())
	p.wantStatus(t, required, now, "", "", list(p.root, now), list(p.issuing, now))
	// Those of the policy do as well.
	p.wantStatus(t, p.verifier(t, ", status: required, crls: [a.crl]", p.issuing.CRL(hour(-1), hour(1), now)), now, "", "", list(p.root, now))
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	der, err := asn1.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// longKey is a certificate with an RSA key of 16 KiB.
func longKey(ca *sigtest.CA) *x509.Certificate {
	return ca.Leaf(newHugeKey(sigtest.P256()), sigtest.EKU(x509.ExtKeyUsageOCSPSigning)).Certificate()
}

// Thousands of candidates cost a bounded amount of work; the first count.
func TestManyStatuses(t *testing.T) {
	p := newPKI(t)
	var junk [][]byte
	for i := range 1000 {
		junk = append(junk, big.NewInt(int64(i+1)).Bytes())
	}
	v := p.verifier(t, ", status: required", nil)
	good := [][]byte{p.answer(), p.rootAnswer()}
	d := p.wantStatus(t, v, now, "", "", append(good, junk...)...)
	last := d.Diagnostics()[len(d.Diagnostics())-1]
	if last.Reason != Unsigned || last.Type != StatusType || len(d.Diagnostics()) != MaxStatusCount-2+1 {
		t.Errorf("%d diagnostics, the last %+v", len(d.Diagnostics()), last)
	}
	p.wantStatus(t, v, now, TrustMissing, "more than 64", append(junk, good...)...)
	p.wantStatus(t, v, now, "", "", append(append(good, good...), good...)...)
	if len(v.stood) <= MaxStatusCount {
		t.Errorf("%d outcomes are kept", len(v.stood))
	}
	for i := range maxCached {
		v.stood[statusOf{link: sha256.Sum256([]byte(strconv.Itoa(i)))}] = stood{}
	}
	p.wantStatus(t, v, now, "", "", append(good, []byte("new"))...)
	if len(v.stood) > maxCached {
		t.Errorf("%d outcomes are kept", len(v.stood))
	}
}

// What is not a status is reported as that, with or without a certificate that
// signed, and whether or not the verifier has seen it before.
func TestNoStatus(t *testing.T) {
	p := newPublisher(t)
	v := ruleFor(t, "", p)
	for range 2 {
		r := ask(listing(t, ab), p.sign(t, ab))
		r.Status = [][]byte{[]byte("junk")}
		d := v.Decide(r)
		wantDiagnostics(t, d, BadSignature)
		if d.SignedErr() != nil {
			t.Error(d.SignedErr())
		}
	}
	// A response of several answers is good for what one of them says.
	s := &statuses{all: []*candidateStatus{{says: []*standing{{unknown: true}, {from: hour(-1), till: hour(1)}}}}}
	d := &Decision{}
	if s.diagnose(d, now); len(d.diagnostics) != 0 {
		t.Errorf("the diagnostics are %v", d.diagnostics)
	}
}

// Status says what is at hand about certificates, to whoever keeps it.
func TestStatus(t *testing.T) {
	const crl, responder = "http://crl.acme.example/a.crl", "http://ocsp.acme.example"
	const subject = "CN=acme release"
	named := func(c *x509.Certificate) { c.Subject.CommonName = "acme release" }
	p := newPKI(t, named, sigtest.CRLAt(crl, "ldap://acme.example/a"), sigtest.OCSPAt(responder, "http://user:x@ocsp.acme.example/", responder+"/2"))
	v := p.verifier(t, "", nil)
	s, err := v.Status(p.answer(func(a *sigtest.OCSPAnswer) { a.Revoked, a.Nonce = hour(-1), []byte("n") }), []byte("junk"), p.bundle)
	if err != nil {
		t.Fatal(err)
	}
	if s.Kind != OCSPResponse || s.Issuer != "CN=acme issuing,O=sigtest" || string(s.Nonce) != "n" || !s.From.Equal(hour(-1)) || !s.Till.Equal(hour(24)) ||
		len(s.Certificates) != 1 || s.Certificates[0].Subject != subject || !s.Certificates[0].Revoked || !s.Certificates[0].Since.Equal(hour(-1)) || s.Certificates[0].Serial != p.leaf.Certificate().SerialNumber.Text(16) {
		t.Errorf("status = %+v", s)
	}
	if s, err = v.Status(p.answer(func(a *sigtest.OCSPAnswer) { a.Unknown = true }), p.bundle, p.bundle); err != nil || len(s.Certificates) != 1 || !s.Certificates[0].Unknown {
		t.Errorf("status of a certificate that is not known = %+v, %v", s, err)
	}
	stranger := newPKI(t)
	const none = "no bundle at hand whose certificate verifies"
	for _, tt := range []struct {
		der     []byte
		bundles [][]byte
		reason  Reason
		text    string
	}{
		{[]byte("junk"), [][]byte{p.bundle}, BadSignature, "is neither"},
		{p.answer(func(a *sigtest.OCSPAnswer) { a.NextUpdate = time.Time{} }), [][]byte{p.bundle}, BadSignature, "does not say until when"},
		{stranger.answer(), [][]byte{p.bundle}, WrongSigner, "about none of the certificates"},
		{stranger.answer(), [][]byte{stranger.bundle}, TrustMissing, none},
		{p.answer(), nil, TrustMissing, none},
		{p.answer(), [][]byte{byKey(t, sigtest.P256(), statement(t, abc))}, TrustMissing, none},
	} {
		s, err := v.Status(tt.der, tt.bundles...)
		var no *StatusError
		if s != nil || !errors.As(err, &no) || no.Reason != tt.reason {
			t.Errorf("Status = %v, %v, want %s", s, err, tt.reason)
			continue
		}
		wantError(t, err, tt.text)
	}
	// A list is about the certificates of its issuer, and not of another of the name.
	both := verifier(t, Trust{Roots: certs(p.root.Certificate, stranger.root.Certificate), TSAs: certs(p.tsa.CA.Certificate, stranger.tsa.CA.Certificate)}, "x509:uri:"+release)
	s, err = both.Status(p.issuing.CRL(hour(-1), hour(24), now).Raw, stranger.bundle, p.bundle, stranger.bundle)
	if err != nil || len(s.Certificates) != 1 || s.Certificates[0].Serial != p.leaf.Certificate().SerialNumber.Text(16) {
		t.Errorf("Status = %+v, %v", s, err)
	}

	// Only certificates that verify have a say in what is asked.
	q, err := v.StatusQueries(nil, stranger.bundle)
	if wantError(t, err, none); q != nil {
		t.Errorf("StatusQueries = %v", q)
	}
	queries, err := v.StatusQueries([]byte("a nonce"), stranger.bundle, p.bundle, p.bundle)
	if err != nil || len(queries) != 3 {
		t.Fatalf("StatusQueries = %v, %v", queries, err)
	}
	for _, q := range queries {
		if q.Subject != subject {
			t.Errorf("query = %+v", q)
		}
	}
	if q := queries[1]; q.URL != responder+"/2" || string(q.Request) != string(queries[0].Request) {
		t.Errorf("query = %+v", q)
	}
	if q := queries[0]; q.URL != responder || q.Kind() != OCSPResponse || q.Serial != p.leaf.Certificate().SerialNumber.Text(16) {
		t.Errorf("query = %+v", q)
	}
	if q := queries[2]; q.URL != crl || q.Kind() != RevocationList || q.Request != nil {
		t.Errorf("query = %+v", q)
	}
	o := sigtest.NewOCSP(sigtest.At(now), p.issuing)
	der, err := o.Answer(queries[0].Request)
	if err != nil {
		t.Fatal(err)
	}
	s, err = v.Status(der, p.bundle)
	if err != nil || string(s.Nonce) != "a nonce" || s.Certificates[0].Revoked {
		t.Errorf("Status = %+v, %v", s, err)
	}
}

// Explain says what there is of the status that a policy asks for.
func TestExplainStatus(t *testing.T) {
	p := newPKI(t)
	again := sigtest.Unchecked{Payload: statement(t, abc, sequence(99)).Bytes(), Key: p.leaf.Key, Chain: p.leaf.Chain, TSA: p.tsa}.Bundle()
	junk := edit(p.bundle, func(b *protobundle.Bundle) { b.GetDsseEnvelope().Signatures[0].Sig[9] ^= 1 })
	own := Trust{Roots: certs(p.root.Certificate), TSAs: certs(p.tsa.CA.Certificate)}
	listed := own
	listed.CRLs = []*x509.RevocationList{p.issuing.CRL(hour(-1), hour(24), now)}
	key := newPublisher(t)
	byKey := listed
	byKey.Keys = trustKeys(key.key).Keys
	required := p.verifier(t, ", status: required", nil)
	stale := p.issuing.CRL(hour(-48), hour(-24), now).Raw
	many := slices.Repeat([][]byte{p.answer(), p.rootAnswer()}, 2)
	for i := range MaxStatusCount {
		many = append(many, []byte{byte(i)})
	}
	const good = " by CN=acme issuing,O=sigtest is of 2026-11-30T11:00:00Z to 2026-12-01T12:00:00Z"
	for _, tt := range []struct {
		name   string
		v      *Verifier
		status [][]byte
		asked  bool
		met    bool
		counts int    // of what is found
		others int    // found besides
		text   string // the end of one of them
	}{
		{"nothing is asked for", p.verifier(t, "", nil), [][]byte{p.answer()}, false, false, 0, 0, ""},
		{"nothing is asked of the PKI of all", verifier(t, own, "x509:uri:"+release), [][]byte{p.answer()}, false, false, 0, 0, ""},
		{"nothing is asked of a key", verifier(t, byKey, key.id), nil, false, false, 0, 0, ""},
		{"nothing is there", required, nil, true, false, 0, 0, ""},
		{"good", required, [][]byte{p.answer(), p.rootAnswer()}, true, true, 2, 0, "the OCSP response" + good},
		{"good beside junk", required, [][]byte{p.answer(), p.rootAnswer(), []byte("junk")}, true, true, 2, 1, ": bad_signature: certificate status: is neither a revocation list nor an OCSP response in DER"},
		{"good beside too many", required, many, true, true, 2, MaxStatusCount - 1, ": unsigned: more than 64 revocation lists and OCSP responses: the rest was not looked at"},
		{"good beside one that is out of date", required, [][]byte{p.answer(), p.rootAnswer(), stale}, true, true, 2, 1, "is of 2026-11-28T12:00:00Z to 2026-11-29T12:00:00Z"},
		{"out of date", required, [][]byte{stale, p.rootAnswer()}, true, false, 1, 1, "is of 2026-11-28T12:00:00Z to 2026-11-29T12:00:00Z"},
		{"revoked", required, [][]byte{p.answer(func(a *sigtest.OCSPAnswer) { a.Revoked = hour(-1) }), p.rootAnswer()}, true, false, 1, 1, good + ", and revokes it from 2026-11-30T11:00:00Z on"},
		{"not known", required, [][]byte{p.answer(func(a *sigtest.OCSPAnswer) { a.Unknown = true }), p.rootAnswer()}, true, false, 1, 1, good + ", and does not know it"},
		{"listed", p.verifier(t, ", crls: [a.crl]", listed.CRLs[0]), nil, true, true, 1, 0, "the revocation list" + good},
		{"listed for all", verifier(t, listed, "x509:uri:"+release), nil, true, true, 1, 0, "the revocation list" + good},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, abc), p.bundle, again, junk)
			r.Status = tt.status
			d := tt.v.Decide(r)
			if d.StatusMissing() != d.Results()[0].Has(TrustMissing) {
				t.Errorf("StatusMissing = %v, %s", d.StatusMissing(), verdicts(d))
			}
			needs := d.Explain(lock.Tool, "a")[0].Needs
			i := slices.IndexFunc(needs, func(n Need) bool { return n.Code == NeedStatus })
			if i < 0 || !tt.asked {
				if i >= 0 != tt.asked {
					t.Errorf("needs = %+v", needs)
				}
				return
			}
			counts, said := 0, tt.text == ""
			for _, f := range needs[i].Found {
				checkShown(t, f.Text)
				if f.Counts {
					counts++
				}
				said = said || strings.HasSuffix(f.Text, tt.text)
			}
			if n := needs[i]; n.Met != tt.met || counts != tt.counts || len(n.Found)-counts != tt.others || !said {
				t.Errorf("need = %+v", n)
			}
		})
	}
}

// FuzzStatus reads what is said of the status of certificates. Only what the
// issuer or its responder signed says anything.
func FuzzStatus(f *testing.F) {
	wantSeeds(f, "FuzzStatus")
	l := newLink(fixedCertificate(f, "leaf.pem"), fixedCertificate(f, "issuer.pem"))
	f.Fuzz(func(t *testing.T, der []byte) {
		s, err := parseStatus(der)
		if (s == nil) != (err != nil) {
			t.Fatalf("parseStatus = %v, %v", s, err)
		}
		if err != nil {
			checkShown(t, err.Error())
			return
		}
		x, err := s.about(l)
		if err != nil {
			checkShown(t, err.Error())
		} else if x != nil && (!x.from.Equal(hour(-1)) || !x.till.Equal(hour(24)) || x.revoked && !x.since.Equal(hour(-2))) {
			t.Errorf("it says %+v", x) // the seeds that verify have these times
		}
	})
}

// fixedCertificate reads one that is the same in every run.
func fixedCertificate(t testing.TB, name string) *x509.Certificate {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "status", name))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		t.Fatalf("%s is no PEM", name)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A responder whose certificate was revoked says nothing good any more, whoever
// says so and whenever that was; what it revokes stays revoked.
func TestRevokedResponder(t *testing.T) {
	p := newPKI(t)
	responder := p.issuing.Responder()
	by := func(a *sigtest.OCSPAnswer) { a.Responder = responder }
	outOfDate := p.issuing.CRL(hour(-48), hour(-1), hour(-50), responder.Certificate())
	other := p.issuing.CRL(hour(-48), hour(-1), hour(-50))
	revokes := func(a *sigtest.OCSPAnswer) { a.Revoked = hour(-60) }
	for _, tt := range []struct {
		name   string
		status [][]byte
		want   Reason // empty: a yes
	}{
		{"good", [][]byte{p.answer(by), other.Raw}, ""},
		{"revoked", [][]byte{p.answer(by), outOfDate.Raw}, TrustMissing},
		{"revoked, and the issuer's own word", [][]byte{p.answer(by), outOfDate.Raw, p.issuing.CRL(hour(-1), hour(1), hour(-2)).Raw}, ""},
		{"revoked, and it revokes", [][]byte{p.answer(by, revokes), outOfDate.Raw}, Revoked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, abc), p.bundle)
			r.Status = append(tt.status, p.rootAnswer())
			d := p.verifier(t, ", status: required", nil).Decide(r)
			if tt.want == "" && d.SignedErr() != nil || tt.want != "" && !d.Results()[0].Has(tt.want) {
				t.Errorf("%s: %v, %v", verdicts(d), d.SignedErr(), d.Diagnostics())
			}
		})
	}
	// A list of the policy deposes it as well.
	r := ask(listing(t, abc), p.bundle)
	r.Status = [][]byte{p.answer(by), p.rootAnswer()}
	if d := p.verifier(t, ", crls: [a.crl], status: required", outOfDate).Decide(r); d.SignedErr() == nil {
		t.Error("the policy's list does not count:", verdicts(d))
	}
}
