package canonical_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gowebpki/jcs"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// definition returns a tool definition of about size bytes, shaped like real
// ones: members in no order, properties with a sentence each, an object of
// fifteen properties nested in another where there is that much.
func definition(name string, size int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"name":%q,"title":"Weather","description":"Returns the forecast.\nUse it for \"today\" only.","inputSchema":{"type":"object","properties":{`, name)
	closing := ""
	for i := 0; ; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		if i%15 == 14 {
			fmt.Fprintf(&b, `"group_%d":{"type":"object","properties":{`, i)
			closing += "}}"
		}
		fmt.Fprintf(&b, `"%s_%d":{"type":"string","description":"City or region, as people write it; see the list of the %dth office","minLength":1,"maxLength":%d}`,
			[]string{"place", "near", "from_date", "units", "lang"}[i%5], i, i, 100+i)
		if b.Len()+150 > size {
			break
		}
	}
	b.WriteString(closing + `},"required":["place_0"],"additionalProperties":false,"$schema":"https://json-schema.org/draft/2020-12/schema"},"annotations":{"readOnlyHint":true}}`)
	return []byte(b.String())
}

func BenchmarkDigest(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"small", 300}, {"typical", 1700}, {"large", 24000}} {
		for _, n := range []int{1, 100, 10_000} {
			if n*size.bytes > 64<<20 {
				continue // a listing is limited to 64 MiB
			}
			b.Run(fmt.Sprintf("%s/%d", size.name, n), func(b *testing.B) {
				defs := make([][]byte, n)
				total := 0
				for i := range defs {
					defs[i] = definition(fmt.Sprintf("tool_%d", i), size.bytes)
					total += len(defs[i])
				}
				b.SetBytes(int64(total))
				b.ReportAllocs()
				r := canonical.NewReader(nil)
				var sink byte
				for b.Loop() {
					for _, d := range defs {
						r.Reset(d)
						def, refused, err := r.Definition("name")
						if refused != nil || err != nil {
							b.Fatal(refused, err)
						}
						sum := sha256.Sum256(def.Canonical)
						sink ^= sum[0]
					}
				}
				ours := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(n)
				raw := perDefinition(defs, func(d []byte) { s := sha256.Sum256(d); sink ^= s[0] })
				general := perDefinition(defs, func(d []byte) {
					out, err := jcs.Transform(d)
					if err != nil {
						b.Fatal(err)
					}
					s := sha256.Sum256(out)
					sink ^= s[0]
				})
				b.ReportMetric(ours/raw, "x-sha256")
				b.ReportMetric(general/ours, "jcs-x")
				b.ReportMetric(ours, "ns/definition")
			})
		}
	}
}

// perDefinition measures f on the definitions for long enough to compare with,
// and returns nanoseconds a call.
func perDefinition(defs [][]byte, f func([]byte)) float64 {
	start, calls := time.Now(), 0
	for time.Since(start) < 200*time.Millisecond {
		for i := 0; i < len(defs) && i < 1000; i++ {
			f(defs[i])
			calls++
		}
	}
	return float64(time.Since(start).Nanoseconds()) / float64(calls)
}
