package sign

import (
	"crypto"
	"crypto/x509"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

var keys = []struct {
	name string
	key  crypto.Signer
	logs sigtest.Parts // that take its signatures
}{
	{"P-256", sigtest.P256(), sigtest.WithRekorV1 | sigtest.WithRekorV2},
	{"P-384", sigtest.P384(), sigtest.WithRekorV2},
	{"Ed25519", sigtest.Ed25519(), 0},
}

func TestKey(t *testing.T) {
	for _, tt := range keys {
		trust := trustKey(t, tt.key.Public())
		t.Run(tt.name+"/bare", func(t *testing.T) {
			signer, err := Key(tt.key, Services{})
			b := signed(t, signer, err)
			check(t, b, trust, sgverify.WithKey(), sgverify.WithNoObserverTimestamps())
			if got, want := b.GetVerificationMaterial().GetPublicKey().GetHint(), keyHint(t, tt.key.Public()); got != want {
				t.Errorf("hint = %q, want %q", got, want)
			}
		})
		t.Run(tt.name+"/tsa", func(t *testing.T) {
			s := newServices()
			signer, err := Key(tt.key, withTSA(s))
			b := signed(t, signer, err)
			result := check(t, b, sgroot.TrustedMaterialCollection{trust, trustRoot(t, s)}, sgverify.WithKey(), sgverify.WithSignedTimestamps(1))
			if n := len(result.VerifiedTimestamps); n != 1 || !result.VerifiedTimestamps[0].Timestamp.Equal(now) {
				t.Errorf("timestamps = %v, want one of %v", result.VerifiedTimestamps, now)
			}
		})
		for _, log := range []sigtest.Parts{sigtest.WithRekorV1, sigtest.WithRekorV2} {
			name := map[sigtest.Parts]string{sigtest.WithRekorV1: "/rekor v1", sigtest.WithRekorV2: "/rekor v2"}[log]
			t.Run(tt.name+name, func(t *testing.T) {
				s := newServices()
				signer, err := Key(tt.key, withConfig(s, log|sigtest.WithTSA))
				if tt.logs&log == 0 {
					if err == nil || s.Calls() != 0 {
						t.Errorf("Key = %v after %d calls, want an error after none", err, s.Calls())
					}
					return
				}
				b := signed(t, signer, err)
				both := sgroot.TrustedMaterialCollection{trust, trustRoot(t, s)}
				check(t, b, both, sgverify.WithKey(), sgverify.WithTransparencyLog(1), sgverify.WithSignedTimestamps(1))

				signer, err = Key(tt.key, withConfig(s, log))
				b = signed(t, signer, err)
				check(t, b, both, sgverify.WithKey(), sgverify.WithTransparencyLog(1), sgverify.WithNoObserverTimestamps())
				if log == sigtest.WithRekorV1 {
					check(t, b, both, sgverify.WithKey(), sgverify.WithTransparencyLog(1), sgverify.WithIntegratedTimestamps(1))
				}
			})
		}
	}
}

const acme = "https://acme.example/release"

func TestPKI(t *testing.T) {
	ca := sigtest.NewCA("acme root")
	sub := ca.Sub("acme intermediate").Sub("acme issuing")
	for _, tt := range keys {
		for _, pki := range []struct {
			name string
			leaf *sigtest.Leaf
		}{
			{"under a root", ca.Leaf(tt.key, sigtest.URI(acme))},
			{"under intermediates", sub.Leaf(tt.key, sigtest.URI(acme))},
		} {
			t.Run(tt.name+"/"+pki.name, func(t *testing.T) {
				s := newServices()
				signer, err := PKI(tt.key, pki.leaf.Chain, withTSA(s))
				b := signed(t, signer, err)
				check(t, b, pkiTrust(t, ca.Certificate, s.TSA.CA.Certificate), identity(t, "", "^$", acme), sgverify.WithSignedTimestamps(1))
				checkChainIn(t, b.GetVerificationMaterial(), pki.leaf.Chain)
			})
			if tt.logs&sigtest.WithRekorV2 == 0 {
				continue // refused: TestKey
			}
			t.Run(tt.name+"/"+pki.name+"/rekor v2", func(t *testing.T) {
				s := newServices()
				signer, err := PKI(tt.key, pki.leaf.Chain, withConfig(s, sigtest.WithRekorV2|sigtest.WithTSA))
				b := signed(t, signer, err)
				trust := sgroot.TrustedMaterialCollection{trustRoot(t, s), pkiTrust(t, ca.Certificate, s.TSA.CA.Certificate)}
				check(t, b, trust, identity(t, "", "^$", acme), sgverify.WithSignedTimestamps(1), sgverify.WithTransparencyLog(1))
				checkChainIn(t, b.GetVerificationMaterial(), pki.leaf.Chain)
			})
		}
	}
}

func checkChainIn(t *testing.T, m *protobundle.VerificationMaterial, want []*x509.Certificate) {
	t.Helper()
	got := m.GetX509CertificateChain().GetCertificates()
	if len(want) == 1 {
		got = []*protocommon.X509Certificate{m.GetCertificate()}
	}
	if len(got) != len(want) {
		t.Fatalf("the bundle has %d certificates, want %d", len(got), len(want))
	}
	for i, c := range want {
		if string(got[i].GetRawBytes()) != string(c.Raw) {
			t.Errorf("certificate %d is not %s", i, c.Subject)
		}
	}
}

func TestKeyless(t *testing.T) {
	const san = "https://github.com/acme/weather-mcp/.github/workflows/release.yml@refs/tags/v1.4.2"
	for _, id := range []struct {
		name, issuer, san string
		claims            sigtest.Claims
	}{
		{"email", "https://accounts.example", "dev@acme.example", sigtest.Email("dev@acme.example", "https://accounts.example")},
		{"uri", "https://issuer.example", acme, sigtest.SubjectURI(acme, "https://issuer.example")},
		{"github", sigtest.GitHubIssuer, san, sigtest.GitHub("acme/weather-mcp", ".github/workflows/release.yml", "refs/tags/v1.4.2")},
		{"gitlab", sigtest.GitLabIssuer, "https://gitlab.com/acme/weather-mcp//.gitlab-ci.yml@refs/tags/v1.4.2",
			sigtest.GitLab("acme/weather-mcp", ".gitlab-ci.yml", "refs/tags/v1.4.2")},
	} {
		for _, log := range []struct {
			name    string
			with    sigtest.Parts
			options []sgverify.VerifierOption
		}{
			{"rekor v1", sigtest.WithRekorV1, []sgverify.VerifierOption{sgverify.WithIntegratedTimestamps(1)}},
			{"rekor v1 and tsa", sigtest.WithRekorV1 | sigtest.WithTSA, []sgverify.VerifierOption{sgverify.WithIntegratedTimestamps(1), sgverify.WithSignedTimestamps(1)}},
			{"rekor v2 and tsa", sigtest.WithRekorV2 | sigtest.WithTSA, []sgverify.VerifierOption{sgverify.WithSignedTimestamps(1)}},
			{"the newer of both", sigtest.WithRekorV1 | sigtest.WithRekorV2 | sigtest.WithTSA, []sgverify.VerifierOption{sgverify.WithSignedTimestamps(1)}},
		} {
			t.Run(id.name+"/"+log.name, func(t *testing.T) {
				s := newServices()
				sv := withConfig(s, sigtest.WithFulcio|log.with)
				sv.TrustedRoot = s.TrustedRoot()
				signer, err := Keyless(s.Fulcio.Source(id.claims), sv)
				signed(t, signer, err) // so that the proof has a path
				b := signed(t, signer, err)
				options := append(log.options, sgverify.WithTransparencyLog(1), sgverify.WithSignedCertificateTimestamps(1))
				result := check(t, b, trustRoot(t, s), identity(t, id.issuer, "", id.san), options...)
				if id.name == "github" {
					c := result.Signature.Certificate
					if c.SourceRepositoryURI != "https://github.com/acme/weather-mcp" || c.SourceRepositoryIdentifier != "1001" ||
						c.BuildSignerURI != san || c.BuildConfigURI != san || c.SourceRepositoryRef != "refs/tags/v1.4.2" {
						t.Errorf("certificate = %+v", c.Extensions)
					}
				}
			})
		}
	}
}
