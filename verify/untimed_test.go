package verify

import (
	"crypto"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// Where the policy says so, a signature without a timestamp counts while its
// certificates are valid, and were not revoked.
func TestUntimed(t *testing.T) {
	p := newPKI(t)
	key := p.leaf.Key
	valid := sigtest.Valid(hour(-1), hour(10))
	sub := func(from, till int) *sigtest.CA {
		return p.root.Sub("acme issuing", sigtest.Valid(hour(from), hour(till)))
	}
	leaf := func(edits ...sigtest.Edit) []*x509.Certificate {
		return p.issuing.Leaf(key, append(edits, sigtest.URI(release))...).Chain
	}
	under := func(ca *sigtest.CA, edits ...sigtest.Edit) []*x509.Certificate {
		return ca.Leaf(key, append(edits, sigtest.URI(release))...).Chain
	}
	for _, tt := range []struct {
		name   string
		chain  []*x509.Certificate
		at     time.Time
		reason Reason // empty: accepted
		text   string
	}{
		{"good", leaf(), now, "", ""},
		{"right under the root", under(p.root), now, "", ""},
		{"in the first second", leaf(valid), hour(-1), "", ""},
		{"in the last second", leaf(valid), hour(10), "", ""},
		{"too early", leaf(valid), hour(-1).Add(-time.Second), Expired, "no timestamp says when it signed, and the certificates are not all valid at 2026-11-30T10:59:59Z"},
		{"too late", leaf(valid), hour(10).Add(time.Second), Expired, "are not all valid at 2026-11-30T22:00:01Z"},
		{"intermediate not yet valid", under(sub(1, 9), valid), now, Expired, "are not all valid"},
		{"intermediate valid later", under(sub(1, 9), valid), hour(2), "", ""},
		{"intermediate ended", under(sub(1, 9), valid), hour(10), Expired, "are not all valid"},
		{"intermediate that was never valid with it", under(sub(-9, -8), valid), now, BadSignature, "certificate has expired or is not yet valid"},

		{"self-signed", sigtest.SelfSigned(key, sigtest.URI(release)).Chain, now, TrustMissing, "certificate signed by unknown authority"},
		{"unknown root", under(sigtest.NewCA("acme root")), now, TrustMissing, "certificate signed by unknown authority"},
		{"intermediate missing", leaf()[:1], now, TrustMissing, "certificate signed by unknown authority"},
		{"root in the chain", append(leaf(), p.root.Certificate), now, BadSignature, "self-signed certificate found in certificate chain"},
		{"for web servers", leaf(sigtest.EKU(x509.ExtKeyUsageServerAuth)), now, BadSignature, "lacks the extended key usage codeSigning"},
		{"no key usage", leaf(sigtest.Usage(0)), now, BadSignature, "lacks the key usage digitalSignature"},
		{"intermediate for web servers", under(p.root.Sub("web", sigtest.EKU(x509.ExtKeyUsageServerAuth))), now, BadSignature, "incompatible key usage"},
		{"certificate of another key", p.issuing.Leaf(sigtest.P256(), sigtest.URI(release)).Chain, now, BadSignature, "could not verify envelope"},
		{"other name", p.issuing.Leaf(key, sigtest.URI(release+"/x")).Chain, now, WrongSigner, "signed by x509:" + release + "/x"},
		{"two names", leaf(sigtest.Mail("dev@acme.example")), now, BadSignature, "has 2 URIs and e-mail addresses"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := *p
			q.bundle = sigtest.Unchecked{Payload: statement(t, abc, issued(hour(-24))).Bytes(), Key: key, Chain: tt.chain}.Bundle()
			q.wantStatus(t, q.verifier(t, ", time: now", nil), tt.at, tt.reason, tt.text)
			// Without the word of the policy nothing like that counts.
			if tt.reason == "" {
				const text = "neither an RFC 3161 timestamp nor a log entry with a signed time"
				q.wantStatus(t, q.verifier(t, "", nil), tt.at, Unsigned, text)
				q.wantStatus(t, q.verifier(t, ", time: timestamp", nil), tt.at, Unsigned, text)
				trust := Trust{Roots: certs(p.root.Certificate), TSAs: certs(p.tsa.CA.Certificate)}
				refuses(t, verifier(t, trust, "x509:uri:"+release), q.bundle, Unsigned, text)
			}
		})
	}
	for name, key := range map[string]crypto.Signer{"P-384": sigtest.P384(), "Ed25519": sigtest.Ed25519(), "RSA": sigtest.RSA()} {
		q := *p
		q.bundle = sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: key, Chain: p.issuing.Leaf(key, sigtest.URI(release)).Chain}.Bundle()
		v := q.verifier(t, ", time: now", nil)
		if d := q.wantStatus(t, v, now, "", ""); len(d.HighWater()) != 1 {
			t.Errorf("%s: %v", name, d.Results())
		}
		q.bundle = edit(q.bundle, func(b *protobundle.Bundle) { b.GetDsseEnvelope().Payload[0]++ })
		q.wantStatus(t, v, now, BadSignature, "could not verify envelope")
	}
}

// What was signed with a timestamp is judged by it under time: now as well.
func TestUntimedBesideTimed(t *testing.T) {
	p := newPKI(t, sigtest.Valid(hour(-1), hour(1)))
	v := p.verifier(t, ", time: now", nil)
	untimed := *p
	untimed.bundle = sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: p.leaf.Key, Chain: p.leaf.Chain}.Bundle()
	p.wantStatus(t, v, hour(9), "", "")
	untimed.wantStatus(t, v, hour(9), Expired, "are not all valid")
	stray := *p
	stray.bundle = sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: p.leaf.Key, Chain: p.leaf.Chain, TSA: sigtest.NewTSA(sigtest.At(now))}.Bundle()
	stray.wantStatus(t, v, now, TrustMissing, "certificate signed by unknown authority")
	logged := *p
	logged.bundle = edit(untimed.bundle, func(b *protobundle.Bundle) {
		b.VerificationMaterial.TlogEntries = []*protorekor.TransparencyLogEntry{{}}
	})
	d := v.Decide(ask(listing(t, abc), logged.bundle))
	if d.SignedErr() == nil {
		t.Error("an entry of a log that does not verify is ignored")
	}

	// Revoked by then it is refused, whenever it signed.
	revoked := func(at time.Time) []byte { return p.issuing.CRL(hour(-1), hour(24), at, p.leaf.Certificate()).Raw }
	untimed.wantStatus(t, v, now, Revoked, "and no timestamp says that it signed before", revoked(now))
	untimed.wantStatus(t, v, now, "", "", revoked(now.Add(time.Second)))
	untimed.wantStatus(t, v, now.Add(time.Second), Revoked, "was revoked", revoked(now.Add(time.Second)))
	p.wantStatus(t, v, hour(1), "", "", revoked(now.Add(time.Second)))

	// What it is at one time is not kept for another.
	for _, at := range []time.Time{now, hour(9), now, hour(-2), now} {
		reason := Reason("")
		if !at.Equal(now) {
			reason = Expired
		}
		untimed.wantStatus(t, v, at, reason, "")
	}

	if s, _, err := v.Statement(untimed.bundle); err != nil || s.Subject != release {
		t.Errorf("Statement = %v, %v", s, err)
	}
	// Where no time is known at all, revoked is revoked.
	listed := p.verifier(t, ", time: now, crls: [a.crl]", p.issuing.CRL(hour(-1), hour(24), hour(1000), p.leaf.Certificate()))
	if _, _, err := listed.Statement(untimed.bundle); err == nil || !strings.Contains(err.Error(), "was revoked") {
		t.Errorf("Statement = %v", err)
	}
	if _, _, err := listed.Statement(p.bundle); err != nil {
		t.Errorf("Statement = %v", err)
	}
}

// The root has to be valid as well.
func TestUntimedRoot(t *testing.T) {
	p := newPKI(t)
	p.root = sigtest.NewCA("acme root", sigtest.Valid(hour(-5), hour(5)))
	leaf := p.root.Sub("acme issuing").Leaf(sigtest.P256(), sigtest.URI(release))
	p.bundle = sigtest.Unchecked{Payload: statement(t, abc, issued(hour(-24))).Bytes(), Key: leaf.Key, Chain: leaf.Chain}.Bundle()
	v := p.verifier(t, ", time: now", nil)
	for at, reason := range map[int]Reason{-6: Expired, -5: "", 0: "", 5: "", 6: Expired} {
		p.wantStatus(t, v, hour(at), reason, "")
	}
}

// Of several chains one that is valid now will do.
func TestUntimedPaths(t *testing.T) {
	p := newPKI(t)
	early := p.root.Sub("acme issuing", sigtest.Valid(hour(-10), hour(1)))
	late := early.Again(p.root, sigtest.Valid(hour(0), hour(10)))
	leaf := early.Leaf(sigtest.P256(), sigtest.URI(release), sigtest.Valid(hour(-9), hour(20)))
	q := *p
	q.bundle = sigtest.Unchecked{Payload: statement(t, abc, issued(hour(-24))).Bytes(), Key: leaf.Key, Chain: append(leaf.Chain, late.Certificate)}.Bundle()
	v := q.verifier(t, ", time: now", nil)
	for at, reason := range map[int]Reason{-10: Expired, -9: "", 0: "", 1: "", 2: "", 10: "", 11: Expired} {
		q.wantStatus(t, v, hour(at), reason, "")
	}
}
