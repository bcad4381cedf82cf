package cli

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
	"github.com/mcpsign/mcpsign/verify"
)

// benchListing returns a listing of n tools of about 1.7 KB, the usual size.
func benchListing(n int) string {
	var properties strings.Builder
	for i := range 10 {
		fmt.Fprintf(&properties, `,"place_%d":{"type":"string","description":"City or region, as people write it; see the list of the %dth office","minLength":1,"maxLength":100}`, i, i)
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"name":"tool_%d","title":"Weather","description":"Returns the forecast.\nUse it for \"today\" only.","inputSchema":{"type":"object","properties":{%s},"required":["place_0"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}`, i, properties.String()[1:])
	}
	return "[" + b.String()[1:] + "]"
}

// BenchmarkCheck checks a listing against its lockfile and says how much that
// costs beside its digests: those of the listing, and those of the pins, which
// are computed again.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.Chdir(b.TempDir())
			text := benchListing(n)
			write(b, ".", map[string]string{"listing.json": text})
			u := newUser(b)
			u.must(ExitYes, "lock", "bench", "listing.json")
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				u.must(ExitYes, "check", "bench", "listing.json")
			}
			each := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(each.Nanoseconds())/float64(n), "ns/definition")
			b.ReportMetric(float64(each)/float64(2*digestTime(b, text)), "x-digests")
		})
	}
}

// digestTime returns how long it takes to read and hash a listing.
func digestTime(b *testing.B, text string) time.Duration {
	start, rounds := time.Now(), 0
	for time.Since(start) < 200*time.Millisecond {
		if _, err := lock.ParseListing([]byte(text)); err != nil {
			b.Fatal(err)
		}
		rounds++
	}
	return time.Since(start) / time.Duration(rounds)
}

// BenchmarkVerifyAll verifies a lockfile of a thousand signed servers and says
// how much that costs beside its signatures, for each way to sign.
func BenchmarkVerifyAll(b *testing.B) {
	services, key, root := sigtest.New(), sigtest.P256(), sigtest.NewCA("root")
	with := sign.Services{Client: services.Client(), Now: time.Now(), SigningConfig: services.SigningConfig(sigtest.WithFulcio | sigtest.WithRekorV2 | sigtest.WithTSA)}
	tsa := sign.Services{Client: services.Client(), Now: time.Now(), SigningConfig: services.SigningConfig(sigtest.WithTSA)}
	const email, issuer, uri = "release@acme.example", "https://issuer.example", "https://acme.example/release"
	id := sigtest.Email(email, issuer)
	files := map[string]string{
		"acme.pub": string(sigtest.PublicPEM(key.Public())), "root.json": string(services.TrustedRoot()),
		"root.pem": string(sigtest.CertPEM(root.Certificate)), "tsa.pem": string(sigtest.CertPEM(services.TSA.CA.Certificate)),
	}
	for _, bench := range []struct {
		name  string
		sign  func() (*sign.Signer, error)
		flags []string
		trust verify.Trust
	}{
		{"key", func() (*sign.Signer, error) { return sign.Key(key, sign.Services{}) },
			[]string{"--key", "acme.pub"}, verify.Trust{Keys: []verify.TrustedKey{{Key: key.Public()}}}},
		{"PKI", func() (*sign.Signer, error) { return sign.PKI(key, root.Leaf(key, sigtest.URI(uri)).Chain, tsa) },
			[]string{"--signer", "x509:uri:" + uri, "--roots", "root.pem", "--tsa-roots", "tsa.pem"},
			verify.Trust{Roots: []*x509.Certificate{root.Certificate}, TSAs: []*x509.Certificate{services.TSA.CA.Certificate}}},
		{"keyless", func() (*sign.Signer, error) { return sign.Keyless(services.Fulcio.Source(id), with) },
			[]string{"--signer", "email:" + email + "@" + issuer, "--trusted-root", "root.json"}, verify.Trust{SigstoreRoot: services.TrustedRoot()}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			const n = 1000
			b.Chdir(b.TempDir())
			write(b, ".", files)
			u := newUser(b)
			bundles := lockMany(b, u, n, bench.sign, bench.flags)
			for b.Loop() {
				u.must(ExitYes, "verify", "--require-signed")
			}
			each := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(each.Nanoseconds())/n, "ns/server")
			b.ReportMetric(float64(each)/float64(signatureTime(b, bench.trust, bundles)), "x-signatures")
		})
	}
}

// lockMany writes a lockfile of n servers, each with a release of its own, and
// returns their bundles.
func lockMany(b *testing.B, u *user, n int, signer func() (*sign.Signer, error), flags []string) (bundles [][]byte) {
	text := benchListing(1)
	l, err := lock.ParseListing([]byte(text))
	if err != nil {
		b.Fatal(err)
	}
	write(b, ".", map[string]string{"listing.json": text})
	file := &lock.File{}
	for i := range n {
		name := fmt.Sprintf("acme/server-%d", i)
		st, err := attest.Definitions(l, attest.Release{Server: name, Sequence: 1, Kinds: []lock.Kind{lock.Tool}, IssuedAt: time.Now().UTC().Truncate(time.Second)})
		if err != nil {
			b.Fatal(err)
		}
		s, err := signer()
		if err != nil {
			b.Fatal(err)
		}
		bundle, err := s.Sign(b.Context(), st)
		if err != nil {
			b.Fatal(err)
		}
		if i == 0 {
			write(b, ".", map[string]string{"b.json": string(bundle)})
			u.must(ExitYes, append([]string{"lock", name, "listing.json", "--bundle", "b.json"}, flags...)...)
			if file, err = lock.Parse([]byte(readText(b, "mcpsign.lock.json"))); err != nil {
				b.Fatal(err)
			}
		}
		digest := lock.Digest(sha256.Sum256(bundle))
		write(b, ".", map[string]string{blobName(digest): string(bundle)})
		entry := file.Servers[0]
		entry.Name = name
		entry.Evidence = slices.Clone(entry.Evidence)
		entry.Evidence[0].Bundle = digest
		file.Put(entry)
		bundles = append(bundles, bundle)
	}
	data, err := file.Format()
	if err != nil {
		b.Fatal(err)
	}
	write(b, ".", map[string]string{"mcpsign.lock.json": string(data)})
	return bundles
}

// signatureTime returns how long it takes to verify bundles, on all processors.
func signatureTime(b *testing.B, trust verify.Trust, bundles [][]byte) time.Duration {
	v, err := verify.New(nil, trust)
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, bundle := range bundles {
		g.Go(func() error { _, err := v.Signer(bundle); return err })
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// BenchmarkRefuse reads a listing of 50 MB, which is refused.
func BenchmarkRefuse(b *testing.B) {
	b.Chdir(b.TempDir())
	write(b, ".", map[string]string{"listing.json": benchListing(30_000)})
	u := newUser(b)
	for b.Loop() {
		u.must(ExitServer, "digest", "listing.json")
	}
}
