package verify

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

const workflow = "github:acme/weather-mcp/.github/workflows/release.yml@refs/tags/v*"

func acme() sigtest.Claims {
	return sigtest.GitHub("acme/weather-mcp", ".github/workflows/release.yml", "refs/tags/v1.4.2")
}

// What makes a keyless signature: a certificate that was valid when it signed,
// an entry of this signature in a log that is known, and a time that someone
// vouches for.
func TestKeyless(t *testing.T) {
	const v1, v2, tsa = sigtest.WithRekorV1, sigtest.WithRekorV2, sigtest.WithTSA
	material := func(f func(*protobundle.VerificationMaterial)) func([]byte) []byte {
		return func(bundle []byte) []byte {
			return edit(bundle, func(b *protobundle.Bundle) { f(b.VerificationMaterial) })
		}
	}
	noEntry := material(func(m *protobundle.VerificationMaterial) { m.TlogEntries = nil })
	noStamp := material(func(m *protobundle.VerificationMaterial) { m.TimestampVerificationData = nil })
	noSET := material(func(m *protobundle.VerificationMaterial) {
		m.TlogEntries[0].InclusionPromise = nil
		m.TlogEntries[0].IntegratedTime = 0
	})
	noProof := material(func(m *protobundle.VerificationMaterial) { m.TlogEntries[0].InclusionProof = nil })
	version1 := func(bundle []byte) []byte {
		return edit(bundle, func(b *protobundle.Bundle) {
			b.MediaType = "application/vnd.dev.sigstore.bundle+json;version=0.1"
			m := b.VerificationMaterial
			m.Content = &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{
				Certificates: []*protocommon.X509Certificate{m.GetCertificate()}}}
		})
	}
	clockOf := func(d time.Duration) *sigtest.Clock { return sigtest.At(now.Add(d)) }

	for _, tt := range []struct {
		name   string
		parts  sigtest.Parts
		before func(*sigtest.Sigstore) // after the root is known, before it signs
		after  func([]byte) []byte
		reason Reason // empty: accepted
		text   string
	}{
		{"v1", v1, nil, nil, "", ""},
		{"v1 with a timestamp", v1 | tsa, nil, nil, "", ""},
		{"v2", v2 | tsa, nil, nil, "", ""},
		{"v1, bundle of version 0.1", v1, nil, version1, "", ""},

		{"v1, no log entry", v1, nil, noEntry, Unsigned, "neither an RFC 3161 timestamp nor a log entry with a signed time"},
		{"v1, no log entry, a timestamp", v1 | tsa, nil, noEntry, Unsigned, "no entry in a transparency log"},
		{"v2, no log entry", v2 | tsa, nil, noEntry, Unsigned, "no entry in a transparency log"},
		{"v1, entry of another artifact", v1, func(s *sigtest.Sigstore) { s.RekorV1.Replay = true }, nil, BadSignature, "transparency log"},
		{"v2, entry of another artifact", v2 | tsa, func(s *sigtest.Sigstore) { s.RekorV2.Replay = true }, nil, BadSignature, "log"},
		{"v1, no signed time", v1, nil, noSET, Unsigned, "neither an RFC 3161 timestamp nor a log entry with a signed time"},
		{"v1, no signed time, a timestamp", v1 | tsa, nil, noSET, "", ""},
		{"v2, no timestamp", v2 | tsa, nil, noStamp, Unsigned, "neither an RFC 3161 timestamp nor a log entry with a signed time"},
		{"v1, no proof", v1, nil, noProof, BadSignature, "inclusion proof missing"},
		{"v2, no proof", v2 | tsa, nil, noProof, BadSignature, "inclusion proof missing"},
		{"v1, unknown log", v1, func(s *sigtest.Sigstore) { s.RekorV1 = sigtest.NewRekorV1(s.Clock) }, nil, TrustMissing, "which no trusted root has"},
		{"v2, unknown log", v2 | tsa, func(s *sigtest.Sigstore) { s.RekorV2 = sigtest.NewRekorV2(s.RekorV2.Origin) }, nil, TrustMissing, "which no trusted root has"},
		{"v2, log of another name", v2 | tsa, func(s *sigtest.Sigstore) { s.RekorV2.Origin = "rekor.evil.example" }, nil, TrustMissing, "which no trusted root has"},

		{"no SCT", v2 | tsa, func(s *sigtest.Sigstore) { s.Fulcio.CTLog = nil }, nil, BadSignature, "SCT"},
		{"SCT by another CT log", v2 | tsa, func(s *sigtest.Sigstore) { s.Fulcio.CTLog = sigtest.NewCTLog(s.Clock) }, nil, TrustMissing, "SCT of certificate transparency log"},
		{"another Fulcio", v2 | tsa, func(s *sigtest.Sigstore) { s.Fulcio = sigtest.NewFulcio(s.Clock) }, nil, TrustMissing, "does not have the issuer CN=fulcio intermediate"},
		{"another TSA", v2 | tsa, func(s *sigtest.Sigstore) { s.TSA = sigtest.NewTSA(s.Clock) }, nil, TrustMissing, "timestamp: certificate signed by unknown authority"},
		{"v1, another TSA", v1 | tsa, func(s *sigtest.Sigstore) { s.TSA = sigtest.NewTSA(s.Clock) }, nil, TrustMissing, "timestamp: certificate signed by unknown authority"},

		{"v1, logged in the last second", v1, func(s *sigtest.Sigstore) { s.Fulcio.Clock = clockOf(-10 * time.Minute) }, nil, "", ""},
		{"v1, logged too late", v1, func(s *sigtest.Sigstore) { s.Fulcio.Clock = clockOf(-10*time.Minute - time.Second) }, nil, BadSignature, "integrated time outside certificate validity"},
		{"v1, logged too early", v1, func(s *sigtest.Sigstore) { s.RekorV1.Clock = clockOf(-time.Second) }, nil, BadSignature, "integrated time outside certificate validity"},
		{"v1, logged too late, stamped in time", v1 | tsa, func(s *sigtest.Sigstore) { s.RekorV1.Clock = clockOf(time.Hour) }, nil, BadSignature, "integrated time outside certificate validity"},
		{"v1, stamped too late, logged in time", v1 | tsa, func(s *sigtest.Sigstore) { s.TSA.Clock = clockOf(time.Hour) }, nil, BadSignature, "leaf certificate verification failed"},
		{"v2, stamped too late", v2 | tsa, func(s *sigtest.Sigstore) { s.Fulcio.Clock = clockOf(-10*time.Minute - time.Second) }, nil, BadSignature, "leaf certificate verification failed"},
		{"v2, stamped too early", v2 | tsa, func(s *sigtest.Sigstore) { s.TSA.Clock = clockOf(-time.Second) }, nil, BadSignature, "leaf certificate verification failed"},

		{"for web servers", v2 | tsa, certified(sigtest.EKU(x509.ExtKeyUsageServerAuth)), nil, BadSignature, "leaf certificate verification failed"},
		{"two names", v2 | tsa, certified(sigtest.Mail("dev@acme.example")), nil, BadSignature, "has 2 URIs and e-mail addresses"},
		{"no issuer", v2 | tsa, certified(func(c *x509.Certificate) { c.ExtraExtensions = nil }), nil, TrustMissing, "no root is trusted"},
		{"empty issuer", v2 | tsa, certified(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}}}
		}), nil, BadSignature, "names no issuer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServices()
			v := verifier(t, Trust{SigstoreRoot: s.TrustedRoot()}, workflow)
			accepts(t, v, keyless(t, s, acme(), tt.parts, statement(t, abc, variant("other")))) // and fills the logs
			if tt.before != nil {
				tt.before(s)
			}
			bundle := keyless(t, s, acme(), tt.parts, statement(t, abc))
			if tt.after != nil {
				bundle = tt.after(bundle)
			}
			if tt.reason == "" {
				accepts(t, v, bundle)
				return
			}
			refuses(t, v, bundle, tt.reason, tt.text)
		})
	}
}

// A trusted root without CT logs asks for no SCT: there is none to ask.
func TestNoCTLog(t *testing.T) {
	s := newServices()
	withLog := s.TrustedRoot()
	s.Fulcio.CTLog = nil
	bundle := keyless(t, s, acme(), sigtest.WithRekorV1, statement(t, abc))
	accepts(t, verifier(t, Trust{SigstoreRoot: s.TrustedRoot()}, workflow), bundle)
	refuses(t, verifier(t, Trust{SigstoreRoot: withLog}, workflow), bundle, BadSignature, "SCT")
}

// Timestamp authorities of one's own count beside those of the trusted root.
func TestKeylessOwnTSA(t *testing.T) {
	s := newServices()
	root := s.TrustedRoot()
	s.TSA = sigtest.NewTSA(s.Clock)
	bundle := keyless(t, s, acme(), sigtest.WithRekorV2|sigtest.WithTSA, statement(t, abc))
	refuses(t, verifier(t, Trust{SigstoreRoot: root}, workflow), bundle, TrustMissing, "timestamp: certificate signed by unknown authority")
	own := Trust{SigstoreRoot: root, TSAs: certs(s.TSA.CA.Certificate)}
	v := verifier(t, own, workflow)
	accepts(t, v, bundle)
	entry := pin(t, v, listing(t, abc), bundle)
	if n := len(entry.Evidence[0].Trust); n != 2 {
		t.Errorf("verified with %d pieces of material, want the root and the authority", n)
	}
}

// certified has Fulcio edit the certificates that it issues.
func certified(edit sigtest.Edit) func(*sigtest.Sigstore) {
	return func(s *sigtest.Sigstore) { s.Fulcio.Edit = edit }
}

// Only the identity that is named may sign, and each member of it counts.
func TestWrongSigner(t *testing.T) {
	with := func(id sigtest.Claims, edits ...string) sigtest.Claims {
		for i := 0; i < len(edits); i += 2 {
			id[edits[i]] = edits[i+1]
		}
		return id
	}
	const file, tag, accounts = ".github/workflows/release.yml", "refs/tags/v1.4.2", "https://accounts.example"
	const email, uri = "email:dev@acme.example@" + accounts, "uri:https://ci.acme.example/release@" + accounts
	for _, tt := range []struct {
		name     string
		identity string
		id       sigtest.Claims
		text     string // empty: accepted
	}{
		{"GitHub", workflow, acme(), ""},
		{"other tag of the pattern", workflow, sigtest.GitHub("acme/weather-mcp", file, "refs/tags/v2"), ""},
		{"repository of another number", workflow, with(acme(), "repository_id", "1002"), ""},
		{"other repository", workflow, sigtest.GitHub("acme/other", file, tag), "acme/other"},
		{"repository of another owner", workflow, sigtest.GitHub("evil/weather-mcp", file, tag), "evil/weather-mcp"},
		{"owner in another case", workflow, sigtest.GitHub("Acme/weather-mcp", file, tag), "Acme/weather-mcp"},
		{"other workflow", workflow, sigtest.GitHub("acme/weather-mcp", ".github/workflows/test.yml", tag), "test.yml"},
		{"branch", workflow, sigtest.GitHub("acme/weather-mcp", file, "refs/heads/v1.4.2"), "refs/heads/v1.4.2"},
		{"other tag", workflow, sigtest.GitHub("acme/weather-mcp", file, "refs/tags/w1"), "refs/tags/w1"},
		{"tag with a slash", workflow, sigtest.GitHub("acme/weather-mcp", file, "refs/tags/v1/evil"), "refs/tags/v1/evil"},
		{"its workflow, called by another repository", workflow, with(acme(), "repository", "evil/weather-mcp", "repository_id", "666"), "acme/weather-mcp"},
		{"workflow of another, called by it", workflow, with(acme(), "job_workflow_ref", "evil/ci/"+file+"@"+tag), "evil/ci"},
		{"its workflow by its URI, called by another repository", "uri:https://github.com/acme/ci/" + file + "@" + tag + "@" + sigtest.GitHubIssuer,
			with(sigtest.GitHub("evil/x", file, tag), "job_workflow_ref", "acme/ci/"+file+"@"+tag), "acme/ci"},
		{"other issuer", workflow, with(acme(), "iss", sigtest.GitHubIssuer+".evil.example"), "evil.example"},
		{"issuer with a slash", workflow, with(acme(), "iss", sigtest.GitHubIssuer+"/"), "githubusercontent.com/"},
		{"person", workflow, sigtest.Email("dev@acme.example", sigtest.GitHubIssuer), "dev@acme.example"},

		{"e-mail", email, sigtest.Email("dev@acme.example", accounts), ""},
		{"other e-mail address", email, sigtest.Email("eve@acme.example", accounts), "eve@acme.example"},
		{"e-mail address in another case", email, sigtest.Email("Dev@acme.example", accounts), "Dev@acme.example"},
		{"longer e-mail address", email, sigtest.Email("dev@acme.example.evil.example", accounts), "evil.example"},
		{"e-mail address by another issuer", email, sigtest.Email("dev@acme.example", "https://accounts.evil.example"), "accounts.evil.example"},

		{"URI", uri, sigtest.SubjectURI("https://ci.acme.example/release", accounts), ""},
		{"longer URI", uri, sigtest.SubjectURI("https://ci.acme.example/release/x", accounts), "release/x"},
		{"URI with an escape", uri, sigtest.SubjectURI("https://ci.acme.example/%72elease", accounts), "%72elease"},
		{"URI by another issuer", uri, sigtest.SubjectURI("https://ci.acme.example/release", accounts+"/x"), "/x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServices()
			v := verifier(t, Trust{SigstoreRoot: s.TrustedRoot()}, tt.identity)
			bundle := keyless(t, s, tt.id, sigtest.WithRekorV1, statement(t, abc))
			if tt.text == "" {
				accepts(t, v, bundle)
				return
			}
			refuses(t, v, bundle, WrongSigner, tt.text)
		})
	}
}

// Of two ways to sign with one name, neither passes for the other.
func TestOneNameTwoWays(t *testing.T) {
	s := newServices()
	ca := sigtest.NewCA("acme root")
	key := sigtest.P256()
	trust := trustKeys(key)
	trust.SigstoreRoot, trust.Roots = s.TrustedRoot(), certs(ca.Certificate)
	const accounts = "https://accounts.example"
	bundles := map[string][]byte{
		"uri:" + release + "@" + accounts: keyless(t, s, sigtest.SubjectURI(release, accounts), sigtest.WithRekorV1, statement(t, abc)),
		"x509:uri:" + release:             sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: key, Chain: ca.Leaf(key, sigtest.URI(release)).Chain, TSA: s.TSA}.Bundle(),
		"key:" + keyID(t, key):            byKey(t, key, statement(t, abc)),
	}
	for id, bundle := range bundles {
		for other := range bundles {
			v := verifier(t, trust, other)
			if id == other {
				accepts(t, v, bundle)
			} else {
				refuses(t, v, bundle, WrongSigner, "signed by")
			}
		}
	}
	// A certificate of one's own PKI that claims an issuer is Fulcio's to vouch
	// for, which it does not.
	claim := func(c *x509.Certificate) {
		c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}, Value: []byte(accounts)})
	}
	bundle := sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: key, Chain: ca.Leaf(key, sigtest.URI(release), claim).Chain, TSA: s.TSA}.Bundle()
	for id := range bundles {
		refuses(t, verifier(t, trust, id), bundle, Unsigned, "log")
	}
}
