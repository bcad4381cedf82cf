package sign

import (
	"context"
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// edited returns the signing config with old replaced by new, which must occur.
func edited(t *testing.T, config []byte, old, new string) []byte {
	t.Helper()
	if !strings.Contains(string(config), old) {
		t.Fatalf("%s is not in %s", old, config)
	}
	return []byte(strings.Replace(string(config), old, new, 1))
}

// Every constructor refuses what can't lead to a bundle that verifies, before
// any request.
func TestRefuse(t *testing.T) {
	s := newServices()
	all := withConfig(s, sigtest.WithFulcio|sigtest.WithRekorV2|sigtest.WithTSA)
	change := func(f func(*Services)) Services {
		sv := all
		f(&sv)
		return sv
	}
	config := func(data []byte) Services { return change(func(sv *Services) { sv.SigningConfig = data }) }
	swap := func(old, new string) Services { return config(edited(t, all.SigningConfig, old, new)) }
	keyless := func(sv Services) error {
		_, err := Keyless(s.Fulcio.Source(sigtest.Email("a@acme.example", "https://accounts.example")), sv)
		return err
	}
	key := func(k crypto.Signer, sv Services) error { _, err := Key(k, sv); return err }
	p256 := sigtest.P256()

	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"keyless: no token source", func() error { _, err := Keyless(nil, all); return err }(), "token"},
		{"keyless: no config", keyless(services(s)), "needs a signing config"},
		{"keyless: TSA but no config", keyless(withTSA(s)), "needs a signing config"},
		{"keyless: nil client", keyless(change(func(sv *Services) { sv.Client = nil })), "no HTTP client"},
		{"keyless: no time", keyless(change(func(sv *Services) { sv.Now = time.Time{} })), "needs the time"},
		{"keyless: no Fulcio", keyless(withConfig(s, sigtest.WithRekorV2|sigtest.WithTSA)), "no Fulcio"},
		{"keyless: no log", keyless(withConfig(s, sigtest.WithFulcio|sigtest.WithTSA)), "no Rekor"},
		{"keyless: Rekor v2 without TSA", keyless(withConfig(s, sigtest.WithFulcio|sigtest.WithRekorV2)), "tells no time"},
		{"keyless: Rekor v2, no timestamp wanted", keyless(change(func(sv *Services) { sv.NoTimestamp = true })), "tells no time"},
		{"keyless: garbage root", keyless(change(func(sv *Services) { sv.TrustedRoot = []byte("{}") })), "trusted root"},

		{"config: empty object", keyless(config([]byte("{}"))), "media type"},
		{"config: not JSON", keyless(config([]byte("hello"))), "signing config"},
		{"config: unknown member", keyless(swap(`"caUrls"`, `"extra":1,"caUrls"`)), "signing config"},
		{"config: other version", keyless(swap("signingconfig.v0.2", "signingconfig.v0.1")), "media type"},
		{"config: no service", keyless(config(s.SigningConfig(0))), "names no"},
		{"config: no rekorTlogConfig", keyless(swap(`"rekorTlogConfig":{"selector":"ANY"},`, ``)), "rekorTlogConfig"},
		{"config: no tsaConfig", keyless(swap(`,"tsaConfig":{"selector":"ANY"}`, ``)), "tsaConfig"},
		{"config: no selector", keyless(swap(`"rekorTlogConfig":{"selector":"ANY"}`, `"rekorTlogConfig":{}`)), "selector"},
		{"config: more logs wanted than there are", keyless(swap(`"rekorTlogConfig":{"selector":"ANY"}`, `"rekorTlogConfig":{"selector":"EXACT","count":2}`)), "count"},
		{"config: service not valid yet", keyless(change(func(sv *Services) { sv.Now = time.Unix(0, 0) })), "caUrls"},
		{"config: log of an unknown version", keyless(swap(`"majorApiVersion":2`, `"majorApiVersion":3`)), "rekorTlogUrls"},
		{"config: plain http Fulcio", keyless(swap("https://fulcio.test", "http://fulcio.test")), "not an https URL"},
		{"config: plain http log", keyless(swap("https://rekor2.test", "http://rekor2.test")), "not an https URL"},
		{"config: password in a URL", keyless(swap("https://fulcio.test", "https://me:secret@fulcio.test")), "password"},
		{"config: TSA of another scheme", keyless(swap("https://tsa.test", "file://tsa.test")), "not an https URL"},

		{"key: none", key(nil, Services{}), "no signing key"},
		{"key: RSA", key(sigtest.RSA(), Services{}), "RSA keys are not supported"},
		{"key: P-521", key(sigtest.P521(), Services{}), "P-521"},
		{"key: unknown type", key(oddKey{}, Services{}), "not supported"},
		{"key: nil client", key(p256, Services{TSA: s.TSAURL()}), "no HTTP client"},
		{"key: TSA without a URL", key(p256, Services{TSA: "tsa.test", Client: s.Client()}), "not an https URL"},
		{"key: TSA and no timestamp", key(p256, Services{TSA: s.TSAURL(), NoTimestamp: true, Client: s.Client()}), "no timestamp"},
		{"key: config with Fulcio only", key(p256, withConfig(s, sigtest.WithFulcio)), "no log and no timestamp"},
		{"key: Ed25519 and Rekor v1", key(sigtest.Ed25519(), withConfig(s, sigtest.WithRekorV1)), "can't be logged"},
		{"key: Ed25519 and Rekor v2", key(sigtest.Ed25519(), all), "can't be logged"},
		{"key: P-384 and Rekor v1", key(sigtest.P384(), withConfig(s, sigtest.WithRekorV1)), "P-384"},
	} {
		t.Run(tt.name, func(t *testing.T) { wantError(t, tt.err, tt.want) })
	}
	if n := s.Calls(); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestRefuseChain(t *testing.T) {
	s := newServices()
	root := sigtest.NewCA("acme root")
	sub := root.Sub("acme issuing")
	k := sigtest.P256()
	leaf := func(edits ...sigtest.Edit) []*x509.Certificate {
		return sub.Leaf(k, append([]sigtest.Edit{sigtest.URI(acme)}, edits...)...).Chain
	}
	good := leaf()
	critical := func(c *x509.Certificate) {
		c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}})
	}
	noCA := root.Sub("no ca", sigtest.NoCA).Leaf(k, sigtest.URI(acme)).Chain

	for _, tt := range []struct {
		name  string
		chain []*x509.Certificate
		want  string
	}{
		{"empty", nil, "no certificate"},
		{"nil certificate", []*x509.Certificate{nil}, "no certificate"},
		{"for another key", sub.Leaf(sigtest.P256(), sigtest.URI(acme)).Chain, "not for the signing key"},
		{"for a key of another type", sub.Leaf(sigtest.Ed25519(), sigtest.URI(acme)).Chain, "not for the signing key"},
		{"wrong order", []*x509.Certificate{good[1], good[0]}, "not for the signing key"},
		{"with the root", append(good[:2:2], root.Certificate), "is a root"},
		{"with a stranger", append(good[:2:2], sigtest.NewCA("other").Sub("stranger").Certificate), "did not issue"},
		{"a gap", []*x509.Certificate{root.Sub("a").Sub("b").Sub("c").Leaf(k, sigtest.URI(acme)).Chain[0], sub.Certificate}, "did not issue"},
		{"too long", append(good[:1:1], eightOf(sub.Certificate)...), "at most 8"},
		{"intermediate is no CA", noCA, "did not issue"},
		{"self-signed", sigtest.SelfSigned(k, sigtest.URI(acme)).Chain, "self-signed"},
		{"leaf is a CA", leaf(func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }), "that of a CA"},
		{"no name", sub.Leaf(k).Chain, "no URI or e-mail"},
		{"DNS name only", sub.Leaf(k, sigtest.DNS("acme.example")).Chain, "no URI or e-mail"},
		{"two names", leaf(sigtest.Mail("dev@acme.example")), "one is needed"},
		{"serverAuth", leaf(sigtest.EKU(x509.ExtKeyUsageServerAuth)), "codeSigning"},
		{"no EKU", leaf(sigtest.EKU()), "codeSigning"},
		{"no key usage", leaf(sigtest.Usage(0)), "digitalSignature"},
		{"other key usage", leaf(sigtest.Usage(x509.KeyUsageKeyEncipherment)), "digitalSignature"},
		{"unknown critical extension", leaf(critical), "critical extension"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := PKI(k, tt.chain, withTSA(s))
			wantError(t, err, tt.want)
		})
	}
	t.Run("RSA", func(t *testing.T) {
		k := sigtest.RSA()
		_, err := PKI(k, sub.Leaf(k, sigtest.URI(acme)).Chain, withTSA(s))
		wantError(t, err, "RSA keys are not supported")
	})
	t.Run("no TSA", func(t *testing.T) {
		_, err := PKI(k, good, services(s))
		wantError(t, err, "needs a timestamp authority")
		_, err = PKI(k, good, withConfig(s, sigtest.WithRekorV1))
		wantError(t, err, "needs a timestamp authority")
	})
	if n := s.Calls(); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

func eightOf(c *x509.Certificate) []*x509.Certificate {
	return []*x509.Certificate{c, c, c, c, c, c, c, c}
}

// Without a timestamp the certificate must be valid when it is verified, and
// that is not looked at here: there is no clock.
func TestPKIWithoutTimestamp(t *testing.T) {
	k := sigtest.P256()
	ca := sigtest.NewCA("acme root")
	for name, edit := range map[string]sigtest.Edit{
		"valid":   func(*x509.Certificate) {},
		"expired": sigtest.Valid(time.Unix(0, 0), time.Unix(1, 0)),
	} {
		t.Run(name, func(t *testing.T) {
			signer, err := PKI(k, ca.Leaf(k, sigtest.Mail("dev@acme.example"), edit).Chain, Services{NoTimestamp: true})
			b := signed(t, signer, err)
			if n := len(b.GetVerificationMaterial().GetTimestampVerificationData().GetRfc3161Timestamps()); n != 0 {
				t.Errorf("%d timestamps", n)
			}
			if name == "valid" {
				check(t, b, pkiTrust(t, ca.Certificate, ca.Certificate), identity(t, "", "^$", "dev@acme.example"), sgverify.WithCurrentTime())
			}
		})
	}
}

func TestRefusePayload(t *testing.T) {
	signer, err := Key(sigtest.P256(), Services{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		payload []byte
		want    string
	}{
		{nil, "nothing to sign"},
		{make([]byte, maxPayload+1), "do not fit"},
	} {
		_, err := signer.signPayload(t.Context(), tt.payload)
		wantError(t, err, tt.want)
	}
	if data, err := signer.signPayload(t.Context(), make([]byte, maxPayload)); err != nil || len(data) > maxBundle {
		t.Errorf("the largest payload: %d bytes, %v", len(data), err)
	}
}

func TestRefuseKey(t *testing.T) {
	for _, tt := range []struct {
		name string
		key  crypto.Signer
		want string
	}{
		{"signs with another key", liar{sigtest.P256(), sigtest.P256()}, "does not verify"},
		{"fails", failing{sigtest.P256()}, "device removed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServices()
			signer, err := Key(tt.key, withTSA(s))
			if err != nil {
				t.Fatal(err)
			}
			_, err = signer.signPayload(t.Context(), payload)
			wantError(t, err, tt.want)
			if s.Calls() != 0 {
				t.Error("a service was asked")
			}
		})
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	signer, err := Key(sigtest.P256(), Services{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = signer.signPayload(ctx, payload)
	wantError(t, err, context.Canceled.Error())
}

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("error = %v, want one with %q", err, part)
	}
}

// oddKey has a public key of no known type.
type oddKey struct{ crypto.Signer }

func (oddKey) Public() crypto.PublicKey { return "odd" }

// liar has the public key of the first and signs with the second.
type liar struct{ shown, used crypto.Signer }

func (l liar) Public() crypto.PublicKey { return l.shown.Public() }

func (l liar) Sign(r io.Reader, digest []byte, o crypto.SignerOpts) ([]byte, error) {
	return l.used.Sign(r, digest, o)
}

type failing struct{ crypto.Signer }

func (failing) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errDevice
}

var errDevice = errors.New("device removed")
