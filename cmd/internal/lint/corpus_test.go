package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
)

// Real servers have few findings, and none that ought to alarm: each of these
// was looked at and is right. A code that is not here would most likely be a
// false finding.
func TestCorpus(t *testing.T) {
	want := map[lint.Code]int{
		lint.InvalidSchema:   1,  // exclusiveMinimum is a boolean, and no $schema says draft 4
		lint.LongDescription: 2,  // more than 4 KB
		lint.NameCharset:     2,  // spaces
		lint.NoDescription:   12, // of two servers
		lint.VolatileValue:   2,  // the time of the start in a default
	}
	listings := corpus(t, "dev")
	got := make(map[lint.Code]int)
	definitions := 0
	for name, l := range listings {
		definitions += len(l.Definitions)
		for _, f := range lint.Check(l, "", nil) {
			got[f.Code]++
			if want[f.Code] == 0 {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	t.Logf("%d listings, %d definitions", len(listings), definitions)
	for code, n := range want {
		if got[code] != n {
			t.Errorf("%s: %d findings, want %d", code, got[code], n)
		}
	}
	if definitions < 1400 {
		t.Errorf("%d definitions", definitions)
	}
}

// The servers of the corpus in one lock: they share names, and none has one
// that only looks like another's.
func TestCorpusNames(t *testing.T) {
	listings := corpus(t, "dev")
	f := &lock.File{}
	for name, l := range listings {
		s := lock.Server{Name: name}
		for _, d := range l.Definitions {
			s.Pins = append(s.Pins, lock.Pin{Definition: d, Unsigned: true})
		}
		s.Sort()
		f.Put(s)
	}
	got := make(map[lint.Code]int)
	for name, l := range listings {
		for _, f := range lint.Check(l, name, f) {
			got[f.Code]++
			if f.Code == lint.LookalikeName {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	t.Logf("%d shared, %d differ in case", got[lint.SharedName], got[lint.CaseCollision])
	if got[lint.SharedName] == 0 {
		t.Error("no names are shared")
	}
}

// Two servers list something else at every start, and the finding is where.
func TestCorpusVolatile(t *testing.T) {
	for dir, want := range map[string]string{
		"nondeterministic__currents-clock-in-default":      "volatile_value /inputSchema/properties/from/default; volatile_value /inputSchema/properties/to/default",
		"nondeterministic__figma-cwd-in-description":       "volatile_value /description",
		"nondeterministic__playwright-caps-flag":           "",
		"nondeterministic__everything-client-capabilities": "",
	} {
		for _, l := range corpus(t, "drift/"+dir) {
			if got := brief(lint.Check(l, "", nil)); got != want {
				t.Errorf("%s: got %q, want %q", dir, got, want)
			}
		}
	}
}

// typical is a tool of about 1.7 KB, shaped like real ones.
func typical(name string) string {
	var properties []string
	for i := range 10 {
		properties = append(properties, fmt.Sprintf(`"%s_%d":{"type":"string","description":"City or region, as people write it; see the list of the %dth office","minLength":1,"maxLength":100}`,
			[]string{"place", "near", "from_date", "units", "lang"}[i%5], i, i))
	}
	return fmt.Sprintf(`{"name":%q,"title":"Weather","description":"Returns the forecast.\nUse it for \"today\" only.","inputSchema":{"type":"object","properties":{%s},
		"required":["place_0"],"additionalProperties":false,"$schema":"https://json-schema.org/draft/2020-12/schema"},"annotations":{"readOnlyHint":true}}`, name, strings.Join(properties, ","))
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var tools []string
			for i := range n {
				tools = append(tools, typical(fmt.Sprintf("tool_%d", i)))
			}
			var texts []string
			for page := range slices.Chunk(tools, 1000) {
				texts = append(texts, "["+strings.Join(page, ",")+"]")
			}
			l := listing(b, texts...)
			b.ReportAllocs()
			for b.Loop() {
				if got := lint.Check(l, "", nil); len(got) > 0 {
					b.Fatal(got)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/definition")
		})
	}
}

func BenchmarkCorpus(b *testing.B) {
	listings := corpus(b, "dev")
	n := 0
	for b.Loop() {
		for _, l := range listings {
			lint.Check(l, "", nil)
			n += len(l.Definitions)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/definition")
}
