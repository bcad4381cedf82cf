package lock_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// definition returns a tool of about 1.7 KB, shaped like real ones.
func definition(name string, version int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"name":%q,"title":"Weather","description":"Returns the forecast.\nUse it for \"today\" only.","inputSchema":{"type":"object","properties":{`, name)
	for i := range 10 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s_%d":{"type":"string","description":"City or region, as people write it; see the list of the %dth office","minLength":1,"maxLength":%d}`,
			[]string{"place", "near", "from_date", "units", "lang"}[i%5], i, i, 100+version)
	}
	b.WriteString(`},"required":["place_0"],"additionalProperties":false,"$schema":"https://json-schema.org/draft/2020-12/schema"},"annotations":{"readOnlyHint":true}}`)
	return b.String()
}

// pages lists n tools, a thousand a page.
func pages(n, version int) (texts [][]byte) {
	for first := 0; first < n; first += 1000 {
		var b strings.Builder
		for i := first; i < min(n, first+1000); i++ {
			b.WriteString([]string{`{"jsonrpc":"2.0","id":1,"result":{"tools":[`, ","}[min(i-first, 1)] + definition(fmt.Sprintf("tool_%d", i), version))
		}
		texts = append(texts, []byte(b.String()+"]}}"))
	}
	return texts
}

// perDefinition returns the nanoseconds for each of n definitions.
func perDefinition(elapsed time.Duration, rounds, n int) float64 {
	return float64(elapsed.Nanoseconds()) / float64(rounds) / float64(n)
}

// BenchmarkParseListing reports what a listing costs for each definition, and
// how much of that is more than reading and hashing the definition alone.
func BenchmarkParseListing(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			texts := pages(n, 0)
			total := 0
			for _, text := range texts {
				total += len(text)
			}
			b.SetBytes(int64(total))
			b.ReportAllocs()
			for b.Loop() {
				l, err := lock.ParseListing(texts...)
				if err != nil || len(l.Definitions) != n {
					b.Fatal(err)
				}
			}
			ours := perDefinition(b.Elapsed(), b.N, n)
			b.ReportMetric(ours, "ns/definition")
			b.ReportMetric(ours/digestOnly(b, n), "x-digest")
		})
	}
}

// digestOnly returns the nanoseconds for reading and hashing one of n
// definitions, with all buffers there already.
func digestOnly(b *testing.B, n int) float64 {
	texts := make([][]byte, n)
	for i := range texts {
		texts[i] = []byte(definition(fmt.Sprintf("tool_%d", i), 0))
	}
	r := canonical.NewReader(nil)
	start, rounds := time.Now(), 0
	for time.Since(start) < 200*time.Millisecond {
		for _, text := range texts {
			r.Reset(text)
			d, refused, err := r.Definition("name")
			if refused != nil || err != nil {
				b.Fatal(refused, err)
			}
			sha256.Sum256(d.Canonical)
		}
		rounds++
	}
	return perDefinition(time.Since(start), rounds, n)
}

// BenchmarkDiff compares listings with a thousand pins, of which none, one and
// all changed.
func BenchmarkDiff(b *testing.B) {
	const n = 1000
	old, err := lock.ParseListing(pages(n, 0)...)
	if err != nil {
		b.Fatal(err)
	}
	s := pinned(old)
	one := append(pages(n-1, 0), []byte("["+definition(fmt.Sprintf("tool_%d", n-1), 1)+"]"))
	for _, c := range []struct {
		name    string
		texts   [][]byte
		changed int
	}{{"same", pages(n, 0), 0}, {"one", one, 1}, {"all", pages(n, 1), n}} {
		b.Run(c.name, func(b *testing.B) {
			l, err := lock.ParseListing(c.texts...)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if got := len(s.Diff(l)); got != c.changed {
					b.Fatalf("%d changes", got)
				}
			}
			b.ReportMetric(perDefinition(b.Elapsed(), b.N, n), "ns/definition")
		})
	}
}

// BenchmarkFile reads and writes a lockfile with a thousand pins.
func BenchmarkFile(b *testing.B) {
	const n = 1000
	l, err := lock.ParseListing(pages(n, 0)...)
	if err != nil {
		b.Fatal(err)
	}
	f := &lock.File{Servers: []lock.Server{pinned(l)}}
	data, err := f.Format()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := lock.Parse(data); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(perDefinition(b.Elapsed(), b.N, n), "ns/pin")
	})
	b.Run("format", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Format(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(perDefinition(b.Elapsed(), b.N, n), "ns/pin")
	})
}
