package cli

import (
	"crypto"
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
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
// how much that costs beside its signatures.
func BenchmarkVerifyAll(b *testing.B) {
	const n = 1000
	b.Chdir(b.TempDir())
	key := sigtest.P256()
	write(b, ".", map[string]string{"acme.key": string(sigtest.KeyPEM(key)), "acme.pub": string(sigtest.PublicPEM(key.Public())), "listing.json": benchListing(1), ".mcpsign/": ""})
	u := newUser(b)
	u.must(ExitYes, "sign", "acme/first", "listing.json", "--key", "acme.key", "--sequence", "1", "--bundle", "first.json")
	u.must(ExitYes, "lock", "acme/first", "listing.json", "--key", "acme.pub", "--bundle", "first.json")
	file, err := lock.Parse([]byte(readText(b, "mcpsign.lock.json")))
	if err != nil {
		b.Fatal(err)
	}
	var bundles [][]byte
	for i := range n - 1 {
		name := fmt.Sprintf("acme/server-%d", i)
		u.must(ExitYes, "sign", name, "listing.json", "--key", "acme.key", "--sequence", "1", "--bundle", "b.json")
		bundle := []byte(readText(b, "b.json"))
		digest := lock.Digest(sha256.Sum256(bundle))
		write(b, ".", map[string]string{blobName(digest): string(bundle)})
		s := file.Servers[0]
		s.Name = name
		s.Evidence = slices.Clone(s.Evidence)
		s.Evidence[0].Bundle = digest
		file.Put(s)
		bundles = append(bundles, bundle)
	}
	data, err := file.Format()
	if err != nil {
		b.Fatal(err)
	}
	write(b, ".", map[string]string{"mcpsign.lock.json": string(data)})
	for b.Loop() {
		u.must(ExitYes, "verify", "--require-signed")
	}
	each := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(float64(each.Nanoseconds())/n, "ns/server")
	b.ReportMetric(float64(each)/float64(signatureTime(b, key.Public(), bundles)), "x-signatures")
}

// signatureTime returns how long it takes to verify bundles, on all processors.
func signatureTime(b *testing.B, key crypto.PublicKey, bundles [][]byte) time.Duration {
	v, err := verify.New(nil, verify.Trust{Keys: []verify.TrustedKey{{Key: key}}})
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
