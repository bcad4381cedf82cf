package verify

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// Inspect shows what is in a bundle, of every way of signing.
func TestInspect(t *testing.T) {
	st := statement(t, abc)
	for _, m := range modes(t) {
		t.Run(m.name, func(t *testing.T) {
			u, err := Inspect(m.bundle)
			if err != nil {
				t.Fatal(err)
			}
			if u.MediaType != "application/vnd.dev.sigstore.bundle.v0.3+json" || u.PayloadType != "application/vnd.in-toto+json" ||
				string(u.Payload) != string(st.Bytes()) || u.Problem != nil || string(u.Statement.Bytes()) != string(st.Bytes()) {
				t.Errorf("got %+v", u)
			}
			if u.Key != m.signer.Key {
				t.Errorf("key = %s, want %s", u.Key, m.signer.Key)
			}
			stamps, logs := 0, 0
			if strings.Contains(m.name, "TSA") || strings.HasPrefix(m.name, "PKI P") || strings.HasPrefix(m.name, "PKI Ed") {
				stamps = 1
			}
			if strings.Contains(m.name, "v1") || strings.Contains(m.name, "v2") {
				logs = 1
			}
			if len(u.Timestamps) != stamps || stamps > 0 && u.Timestamps[0] != now {
				t.Errorf("timestamps = %v, want %d", u.Timestamps, stamps)
			}
			if len(u.LogEntries) != logs {
				t.Fatalf("log entries = %v, want %d", u.LogEntries, logs)
			}
			for _, e := range u.LogEntries {
				if want := map[bool]time.Time{true: now}[strings.Contains(m.name, "v1")]; e.Log == "" || e.Index < 0 || e.Time != want {
					t.Errorf("log entry = %+v", e)
				}
			}
			if m.signer.Key != "" {
				if len(u.Certificates) != 0 {
					t.Errorf("certificates = %v", u.Certificates)
				}
				return
			}
			if len(u.Certificates) == 0 {
				t.Fatal("no certificate")
			}
			leaf := u.Certificates[0]
			if len(leaf.Names) != 1 || leaf.Names[0] != m.signer.Subject || leaf.OIDCIssuer != m.signer.Issuer || leaf.Issuer == "" || !leaf.NotBefore.Before(leaf.NotAfter) {
				t.Errorf("leaf = %+v", leaf)
			}
			if chain := map[bool]int{true: 3, false: 1}[strings.HasPrefix(m.name, "PKI ") && stamps == 1 && logs == 0]; len(u.Certificates) != chain {
				t.Errorf("%d certificates, want %d", len(u.Certificates), chain)
			}
		})
	}
}

// Nothing is verified: a broken bundle is shown as well, and what is no
// statement as what it is.
func TestInspectBroken(t *testing.T) {
	key := sigtest.P256()
	bundle := byKey(t, key, statement(t, abc))
	u, err := Inspect(edit(bundle, func(b *protobundle.Bundle) {
		b.GetDsseEnvelope().Payload = []byte("{}")
		b.GetVerificationMaterial().GetPublicKey().Hint = "\x1b[31m"
	}))
	if err != nil {
		t.Fatal(err)
	}
	if u.Statement != nil || u.Problem == nil || string(u.Payload) != "{}" || u.Key != `\u{1b}[31m` {
		t.Errorf("got %+v", u)
	}
	for _, broken := range []string{"", "{}", "hello", string(bundle[1:])} {
		if u, err := Inspect([]byte(broken)); err == nil || u != nil {
			t.Errorf("Inspect(%q) = %v, %v", broken, u, err)
		}
		if tops, err := TimestampAuthorities([]byte(broken)); err == nil || tops != nil {
			t.Errorf("TimestampAuthorities(%q) = %v, %v", broken, tops, err)
		}
	}
}

// What a timestamp brings along is enough to verify it, if one trusts it.
func TestTimestampAuthorities(t *testing.T) {
	s := newServices()
	ca := sigtest.NewCA("acme root")
	key := sigtest.P256()
	unchecked := sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: key, Chain: ca.Leaf(key, sigtest.URI(release)).Chain, TSA: s.TSA}
	bundle := unchecked.Bundle()
	tops, err := TimestampAuthorities(bundle)
	if err != nil || len(tops) != 1 {
		t.Fatalf("TimestampAuthorities = %v, %v", tops, err)
	}
	if want := s.TSA.Chain()[1]; !tops[0].Equal(want) {
		t.Errorf("the topmost certificate is %s, want %s", tops[0].Subject, want.Subject)
	}
	accepts(t, verifier(t, Trust{Roots: certs(ca.Certificate), TSAs: tops}, "x509:uri:"+release), bundle)

	if tops, err := TimestampAuthorities(byKey(t, key, statement(t, abc))); err != nil || len(tops) != 0 {
		t.Errorf("without a timestamp: %v, %v", tops, err)
	}
	s.TSA.NoCertificate = true
	bare := unchecked.Bundle()
	_, err = TimestampAuthorities(bare)
	wantError(t, err, "a timestamp brings no certificates")
	// Who has the authority's certificate verifies it all the same.
	accepts(t, verifier(t, Trust{Roots: certs(ca.Certificate), SigstoreRoot: s.TrustedRoot()}, "x509:uri:"+release), bare)
	refuses(t, verifier(t, Trust{Roots: certs(ca.Certificate), TSAs: certs(s.TSA.CA.Certificate)}, "x509:uri:"+release), bare, TrustMissing, "does not carry the certificate that signed it")

	broken := edit(bundle, func(b *protobundle.Bundle) {
		ts := b.GetVerificationMaterial().GetTimestampVerificationData().Rfc3161Timestamps[0].SignedTimestamp
		ts[len(ts)-1] ^= 1
	})
	_, err = TimestampAuthorities(broken)
	wantError(t, err, "timestamp")
	if u, err := Inspect(broken); err != nil || len(u.Timestamps) != 0 {
		t.Errorf("Inspect = %+v, %v", u, err)
	}
}

func TestTopmost(t *testing.T) {
	root := sigtest.NewCA("root")
	sub := root.Sub("sub")
	leaf := sub.Leaf(sigtest.P256(), sigtest.URI(release)).Certificate()
	stranger := sigtest.NewCA("other").Leaf(sigtest.P256(), sigtest.URI(release)).Certificate()
	for _, tt := range []struct {
		certs []*x509.Certificate
		want  *x509.Certificate
	}{
		{certs(leaf), leaf},
		{certs(leaf, sub.Certificate), sub.Certificate},
		{certs(sub.Certificate, leaf), sub.Certificate},
		{certs(stranger, leaf, sub.Certificate), sub.Certificate},
		{certs(root.Certificate, sub.Certificate, leaf), root.Certificate},
		{certs(leaf, sub.Certificate, root.Certificate), root.Certificate},
	} {
		if got := topmost(tt.certs); got != tt.want {
			t.Errorf("topmost = %s, want %s", got.Subject, tt.want.Subject)
		}
	}
}
