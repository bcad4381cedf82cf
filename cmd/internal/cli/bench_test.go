package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/lock"
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
// costs beside the digests of the listing.
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
			b.ReportMetric(float64(each)/float64(digestTime(b, text)), "x-digests")
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

// BenchmarkRefuse reads a listing of 50 MB, which is refused.
func BenchmarkRefuse(b *testing.B) {
	b.Chdir(b.TempDir())
	write(b, ".", map[string]string{"listing.json": benchListing(30_000)})
	u := newUser(b)
	for b.Loop() {
		u.must(ExitServer, "digest", "listing.json")
	}
}
