package verify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
)

// many is a listing of n tools of the usual size.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"name":"tool_%04d","description":%q,"inputSchema":{"type":"object"}}`, i, strings.Repeat("What it does. ", 80))
	}
	return `{"tools":[` + strings.TrimPrefix(b.String(), ",") + `]}`
}

// BenchmarkVerify verifies a bundle with 50 subjects that was not seen before,
// and as often with sigstore-go alone. The ratio of the two is to be at most
// 1.3.
func BenchmarkVerify(b *testing.B) {
	s := newServices()
	st := statement(b, many(50))
	key, ca := sigtest.P256(), sigtest.NewCA("acme root")
	leaf := ca.Sub("acme issuing").Leaf(key, sigtest.URI(release))
	digest := st.Subjects()[0].Digest
	artifact := sgverify.WithArtifactDigest("sha256", digest[:])
	root, err := sgroot.NewTrustedRootFromJSON(s.TrustedRoot())
	if err != nil {
		b.Fatal(err)
	}
	loaded, err := signature.LoadDefaultVerifier(key.Public())
	if err != nil {
		b.Fatal(err)
	}
	keys := sgroot.NewTrustedPublicKeyMaterial(func(string) (sgroot.TimeConstrainedVerifier, error) {
		return sgroot.NewExpiringKey(loaded, time.Time{}, time.Time{}), nil
	})
	pki, err := sgroot.NewTrustedRoot(sgroot.TrustedRootMediaType01, []sgroot.CertificateAuthority{&sgroot.FulcioCertificateAuthority{Root: ca.Certificate}}, nil,
		[]sgroot.TimestampingAuthority{&sgroot.SigstoreTimestampingAuthority{Root: s.TSA.CA.Certificate}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	identity := func(issuer, issuerExpr, san string) sgverify.PolicyOption {
		id, err := sgverify.NewShortCertificateIdentity(issuer, issuerExpr, san, "")
		if err != nil {
			b.Fatal(err)
		}
		return sgverify.WithCertificateIdentity(id)
	}
	github := identity(sigtest.GitHubIssuer, "", "https://github.com/acme/weather-mcp/.github/workflows/release.yml@refs/tags/v1.4.2")

	for _, bench := range []struct {
		name    string
		bundle  []byte
		trust   Trust
		theirs  sgroot.TrustedMaterial
		who     sgverify.PolicyOption
		options []sgverify.VerifierOption
	}{
		{"key", byKey(b, key, st), trustKeys(key), keys, sgverify.WithKey(), []sgverify.VerifierOption{sgverify.WithNoObserverTimestamps()}},
		{"PKI", signed(b, st)(sign.PKI(key, leaf.Chain, services(s, sigtest.WithTSA))), Trust{Roots: certs(ca.Certificate), TSAs: certs(s.TSA.CA.Certificate)},
			pki, identity("", "^$", release), []sgverify.VerifierOption{sgverify.WithSignedTimestamps(1)}},
		{"keyless v1", keyless(b, s, acme(), sigtest.WithRekorV1, st), Trust{SigstoreRoot: s.TrustedRoot()}, root, github,
			[]sgverify.VerifierOption{sgverify.WithTransparencyLog(1), sgverify.WithIntegratedTimestamps(1), sgverify.WithSignedCertificateTimestamps(1)}},
		{"keyless v2", keyless(b, s, acme(), sigtest.WithRekorV2|sigtest.WithTSA, st), Trust{SigstoreRoot: s.TrustedRoot()}, root, github,
			[]sgverify.VerifierOption{sgverify.WithTransparencyLog(1), sgverify.WithSignedTimestamps(1), sgverify.WithSignedCertificateTimestamps(1)}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			v := newVerifier(b, nil, bench.trust)
			theirs, err := sgverify.NewVerifier(bench.theirs, bench.options...)
			if err != nil {
				b.Fatal(err)
			}
			var ours, alone time.Duration
			for b.Loop() {
				start := time.Now()
				if bad := v.material.verify(bench.bundle, v.material.domain).bad; bad != nil {
					b.Fatal(bad)
				}
				middle := time.Now()
				bundle := new(sgbundle.Bundle)
				sgbundle.AllowCertificateChain()(bundle)
				if err := bundle.UnmarshalJSON(bench.bundle); err != nil {
					b.Fatal(err)
				}
				if _, err := theirs.Verify(bundle, sgverify.NewPolicy(artifact, bench.who)); err != nil {
					b.Fatal(err)
				}
				ours += middle.Sub(start)
				alone += time.Since(middle)
			}
			b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "µs/ours")
			b.ReportMetric(float64(alone.Microseconds())/float64(b.N), "µs/sigstore-go")
			b.ReportMetric(float64(ours)/float64(alone), "ratio")
		})
	}
}

// BenchmarkDecide decides again on a listing whose bundle is known.
func BenchmarkDecide(b *testing.B) {
	p := newPublisher(b)
	v := ruleFor(b, "", p)
	for _, n := range []int{50, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := listing(b, many(n))
			r := ask(l, p.sign(b, many(n)))
			r.Lock = pin(b, v, l, r.Bundles...)
			b.ReportAllocs()
			for b.Loop() {
				if err := v.Decide(r).Err(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/definition")
		})
	}
}

// BenchmarkPin pins the largest listing that a host takes.
func BenchmarkPin(b *testing.B) {
	for _, n := range []int{1000, lock.MaxDefinitions} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var tools strings.Builder
			for i := range n {
				fmt.Fprintf(&tools, `,{"name":"tool_%05d"}`, i)
			}
			l := listing(b, `{"tools":[`+tools.String()[1:]+`]}`)
			d := newVerifier(b, nil, Trust{}).Decide(ask(l))
			for b.Loop() {
				if _, err := d.Pin(l.Definitions...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/definition")
		})
	}
}
