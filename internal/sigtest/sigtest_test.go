package sigtest

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	merkleproof "github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

func TestNoNetwork(t *testing.T) {
	for _, url := range []string{"https://example.com/", "http://127.0.0.1:1/", "https://fulcio.test:8443/"} {
		resp, err := New().Client().Get(url)
		if err == nil {
			resp.Body.Close()
			t.Errorf("%s answered %s", url, resp.Status)
		} else if !strings.Contains(err.Error(), "no network") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestFail(t *testing.T) {
	s := New()
	s.TSA.Fail(1, Answer(500, "one"))
	s.TSA.Fail(1, Drop)
	s.TSA.Fail(0, Hang)
	var got []string
	for range 3 {
		resp, err := s.Client().Post(s.TSAURL(), "application/timestamp-query", http.NoBody)
		if err != nil {
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
			got = append(got, "broken")
			continue
		}
		got = append(got, resp.Status)
		resp.Body.Close()
	}
	want := "[500 Internal Server Error broken 400 Bad Request]"
	if fmt.Sprint(got) != want || s.Calls() != 3 {
		t.Errorf("answers = %v after %d calls, want %s", got, s.Calls(), want)
	}
}

// A service that hangs on loopback does not keep a test from ending.
func TestListenHang(t *testing.T) {
	s := New()
	stop := s.Listen()
	defer stop()
	s.TSA.Fail(1, Hang)
	c := &http.Client{Timeout: 20 * time.Millisecond}
	if resp, err := c.Post(s.TSAURL(), "application/timestamp-query", strings.NewReader("query")); err == nil {
		resp.Body.Close()
		t.Errorf("answered %s", resp.Status)
	}
}

// Fulcio takes its own tokens only, and only in time.
func TestToken(t *testing.T) {
	f := NewFulcio(At(notBefore))
	token := f.Token(Email("a@acme.example", "https://accounts.example"))
	if _, err := f.parseToken(token); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFulcio(f.Clock).parseToken(token); err == nil {
		t.Error("the token of another Fulcio was taken")
	}
	f.Clock.Set(notBefore.Add(time.Hour))
	if _, err := f.parseToken(token); err == nil {
		t.Error("an expired token was taken")
	}
}

// The proofs of a tree are those of RFC 6962, for every leaf of every small size.
func TestTree(t *testing.T) {
	for size := 1; size <= 17; size++ {
		var tr tree
		for i := range size {
			tr.add(fmt.Append(nil, i))
		}
		for i := range size {
			p := tr.at(i)
			leaf := rfc6962.DefaultHasher.HashLeaf(fmt.Append(nil, i))
			if err := merkleproof.VerifyInclusion(rfc6962.DefaultHasher, uint64(i), uint64(size), leaf, p.path, p.root); err != nil {
				t.Errorf("leaf %d of %d: %v", i, size, err)
			}
		}
	}
}

func TestCRL(t *testing.T) {
	ca := NewCA("root")
	good, bad := ca.Leaf(P256(), URI("https://a.example")), ca.Leaf(P256(), URI("https://b.example"))
	l := ca.CRL(notBefore, notAfter, notBefore, bad.Certificate())
	if err := l.CheckSignatureFrom(ca.Certificate); err != nil {
		t.Error(err)
	}
	if n := len(l.RevokedCertificateEntries); n != 1 {
		t.Fatalf("%d entries", n)
	}
	if got := l.RevokedCertificateEntries[0].SerialNumber; got.Cmp(bad.Certificate().SerialNumber) != 0 || got.Cmp(good.Certificate().SerialNumber) == 0 {
		t.Errorf("serial number = %v", got)
	}
}

// What is unchecked verifies all the same, if it happens to be right.
func TestUnchecked(t *testing.T) {
	payload := []byte(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"a","digest":{"sha256":"00"}}],"predicateType":"x:y","predicate":{}}`)
	ca := NewCA("root")
	tsa := NewTSA(At(notBefore.Add(time.Hour)))
	trust, err := sgroot.NewTrustedRoot(sgroot.TrustedRootMediaType01,
		[]sgroot.CertificateAuthority{&sgroot.FulcioCertificateAuthority{Root: ca.Root()}}, nil,
		[]sgroot.TimestampingAuthority{&sgroot.SigstoreTimestampingAuthority{Root: tsa.CA.Root()}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := sgverify.NewVerifier(trust, sgverify.WithSignedTimestamps(1))
	if err != nil {
		t.Fatal(err)
	}
	verifies := func(data []byte) error {
		b := new(sgbundle.Bundle)
		sgbundle.AllowCertificateChain()(b)
		if err := b.UnmarshalJSON(data); err != nil {
			return err
		}
		_, err := v.Verify(b, sgverify.NewPolicy(sgverify.WithoutArtifactUnsafe(), sgverify.WithoutIdentitiesUnsafe()))
		return err
	}
	for name, key := range map[string]crypto.Signer{"P-256": P256(), "P-384": P384(), "P-521": P521(), "Ed25519": Ed25519(), "RSA": RSA()} {
		leaf := ca.Sub("issuing").Leaf(key, URI("https://acme.example"))
		good := Unchecked{Payload: payload, Key: key, Chain: leaf.Chain, TSA: tsa}.Bundle()
		if err := verifies(good); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		bad := EditBundle(good, func(b *protobundle.Bundle) { b.GetDsseEnvelope().PayloadType = "text/plain" })
		if err := verifies(bad); err == nil {
			t.Errorf("%s: a changed bundle verifies", name)
		}
	}
	unfit := ca.Leaf(P256(), URI("https://acme.example"), EKU(x509.ExtKeyUsageServerAuth))
	if err := verifies(Unchecked{Payload: payload, Key: unfit.Key, Chain: unfit.Chain, TSA: tsa}.Bundle()); err == nil {
		t.Error("a server's certificate verifies")
	}
}
