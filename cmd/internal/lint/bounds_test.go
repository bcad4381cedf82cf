package lint_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
)

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// repeated returns n copies of s between commas.
func repeated(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }

// A definition has at most so many findings of a code, and one that counts
// the rest.
func TestMaxEach(t *testing.T) {
	got := check(t, "["+schema(`"examples":[`+repeated(`"\u200b"`, lint.MaxEach)+`]`)+"]")
	if len(got) != lint.MaxEach {
		t.Errorf("got %v", got)
	}
	got = check(t, "["+schema(`"examples":[`+repeated(`"\u200b"`, 1000)+`],"minLength":-1`)+"]")
	want := "zero_width; zero_width /inputSchema/examples/0; zero_width /inputSchema/examples/1; zero_width /inputSchema/examples/2; zero_width /inputSchema/examples/3; " +
		"zero_width /inputSchema/examples/4; invalid_schema /inputSchema/minLength"
	if brief(got) != want || got[0].Detail != "in 995 more places" {
		t.Errorf("got %v", got)
	}
}

// After so many findings definitions have only counts.
func TestMaxFull(t *testing.T) {
	const n = 3000
	var tools []string
	for i := range n {
		tools = append(tools, tool(fmt.Sprintf("t%04d", i), `"x":[`+repeated(`"\u200b"`, 4)+`]`))
	}
	got := check(t, "["+strings.Join(tools, ",")+"]")
	if len(got) != lint.MaxFull+n-lint.MaxFull/4 {
		t.Errorf("%d findings", len(got))
	}
	last := got[len(got)-1]
	if last.Code != lint.ZeroWidth || last.Name != "t2999" || last.Pointer != "" || last.Detail != "in 4 places" {
		t.Errorf("got %v", last)
	}
}

// A pointer is one of an enclosing value where the value's own would be long.
func TestLongPointer(t *testing.T) {
	long := strings.Repeat("m", 300)
	for _, c := range []struct{ text, want string }{
		{`"x":{"` + long + `":"\u200b"}`, "/x"},
		{`"` + long + `":"\u200b"`, ""},
		{`"x":{"y":{"` + long + `":{"a":"\u200b"}}}`, "/x/y"},
		{`"x":{"` + long[:254-3] + `":["\u200b"]}`, "/x/" + long[:254-3] + "/0"},
		{`"x":{"` + long[:255-3] + `":["\u200b"]}`, "/x/" + long[:255-3]},
		{`"x":{"` + long[:256-3] + `":["\u200b"]}`, "/x/" + long[:256-3]},
		{`"x":{"` + long[:257-3] + `":["\u200b"]}`, "/x"},
	} {
		got := check(t, "["+tool("t", c.text)+"]")
		if len(got) != 1 || got[0].Pointer != c.want {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
}

// Regular expressions are looked at up to a length of 1 KiB, and 256 KiB of a
// listing.
func TestMaxPatterns(t *testing.T) {
	pattern := func(n int) string { return `{"pattern":"(` + strings.Repeat("a", n-1) + `"}` }
	if got := brief(check(t, "["+schema(`"allOf":[`+pattern(1024)+","+pattern(1025)+`]`)+"]")); got != "invalid_schema /inputSchema/allOf/0/pattern" {
		t.Errorf("got %s", got)
	}
	got := check(t, "["+schema(`"allOf":[`+repeated(pattern(1024), 300)+`]`)+"]")
	if want := fmt.Sprintf("in %d more places", 256-lint.MaxEach); len(got) != lint.MaxEach+1 || got[0].Detail != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// hostile are members of a definition that are made to cost more than their
// size: n is about how many bytes they have.
var hostile = map[string]func(n int) string{
	"findings below a long name": func(n int) string {
		return `"` + strings.Repeat("x", n/2) + `":[` + repeated(`"\u200b"`, n/20) + `]`
	},
	"schemas below a long name": func(n int) string {
		return `"inputSchema":{"type":"object","properties":{"` + strings.Repeat("x", n/2) + `":{"allOf":[` + repeated("{}", n/6) + `]}}}`
	},
	"references": func(n int) string {
		var refs []string
		for i := range n / 30 {
			refs = append(refs, fmt.Sprintf(`{"$ref":"#/allOf/x%07d"}`, i))
		}
		return `"inputSchema":{"type":"object","allOf":[` + strings.Join(refs, ",") + `]}`
	},
	"one long reference": func(n int) string {
		return `"inputSchema":{"type":"object","$ref":"#` + strings.Repeat("/", n) + `"}`
	},
	"required": func(n int) string {
		var names []string
		for i := range n / 12 {
			names = append(names, fmt.Sprintf(`"x%07d"`, i))
		}
		return `"inputSchema":{"type":"object","properties":{},"required":[` + strings.Join(names, ",") + `]}`
	},
	"depth": func(n int) string {
		deep := strings.Repeat(`{"not":`, 50) + "7" + strings.Repeat("}", 50)
		return `"inputSchema":{"type":"object","allOf":[` + repeated(deep, n/len(deep)) + `]}`
	},
	"defs before the dialect": func(n int) string {
		return `"inputSchema":{"$defs":{"a":{"enum":[` + repeated("1", n/2) + `]}},"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`
	},
	"patterns": func(n int) string {
		return `"inputSchema":{"type":"object","allOf":[` + repeated(`{"pattern":"`+strings.Repeat(`((a{1,9}){1,9}[^\\pL])`, 20)+`"}`, n/480) + `]}`
	},
	"tags":      func(n int) string { return `"x":"` + strings.Repeat("\U000e0041", n/4) + `"` },
	"selectors": func(n int) string { return `"title":"` + strings.Repeat("a\ufe00", n/4) + `"` },
	"flags":     func(n int) string { return `"title":"` + strings.Repeat("\U0001F3F4", n/4) + `"` },
	"times":     func(n int) string { return `"title":"` + strings.Repeat("e.g. 2026-01-01T10:10:10 ", n/25) + `"` },
	"paths":     func(n int) string { return `"title":"` + strings.Repeat("/home/", n/6) + `"` },
	"slashes":   func(n int) string { return `"title":"e.g. /tmp/` + strings.Repeat("a", n) + `"` },
	"one icon":  func(n int) string { return `"icons":[{"src":"` + strings.Repeat("x:", n/2) + `"}]` },
	"icons":     func(n int) string { return `"icons":[` + repeated(`{"src":"http:x"}`, n/17) + `]` },
}

// What a listing costs grows with its size and not faster: memory, as a test
// can rely on it and not on time. BenchmarkHostile shows the time.
func TestLinear(t *testing.T) {
	for name, members := range hostile {
		var costs [2]float64
		for i, n := range []int{60_000, 480_000} {
			l := listing(t, "["+tool("t", members(n))+"]")
			if len(l.Definitions) != 1 || len(l.Definitions[0].Canonical()) < n/2 {
				t.Fatalf("%s: %d definitions", name, len(l.Definitions))
			}
			costs[i] = float64(allocated(func() { lint.Check(l, "", nil) })) / float64(n)
		}
		if costs[1] > 2*costs[0]+10 || costs[1] > 1000 {
			t.Errorf("%s: %.0f bytes allocated for each byte, then %.0f", name, costs[0], costs[1])
		}
	}
}

// So it is with the number of definitions, however alike their names are.
func TestLinearNames(t *testing.T) {
	var costs [2]float64
	for i, n := range []int{500, 4000} {
		var tools []string
		for j := range n {
			name := []byte("aaaaaaaaaaaa")
			for bit := range name {
				if j>>bit&1 == 1 {
					name[bit] = 'A'
				}
			}
			tools = append(tools, tool(string(name), ""))
		}
		l := listing(t, "["+strings.Join(tools, ",")+"]")
		f := pinned(t, "other: "+strings.Join(names(l), " "))
		var got []lint.Finding
		costs[i] = float64(allocated(func() { got = lint.Check(l, "me", f) })) / float64(n)
		if len(got) != 2*n {
			t.Errorf("%d findings for %d tools", len(got), n)
		}
	}
	if costs[1] > 1.5*costs[0] {
		t.Errorf("%.0f bytes allocated for each tool, then %.0f", costs[0], costs[1])
	}
}

func names(l *lock.Listing) (names []string) {
	for _, d := range l.Definitions {
		names = append(names, d.Name())
	}
	return names
}

// BenchmarkHostile shows the time for what is made to cost much, in a
// definition of half a megabyte, and how many times that of an eighth of it
// takes: about 8 where the cost is linear.
func BenchmarkHostile(b *testing.B) {
	for name, members := range hostile {
		b.Run(name, func(b *testing.B) {
			small, large := listing(b, "["+tool("t", members(60_000))+"]"), listing(b, "["+tool("t", members(480_000))+"]")
			b.SetBytes(int64(len(large.Definitions[0].Canonical())))
			for b.Loop() {
				lint.Check(large, "", nil)
			}
			once := b.Elapsed() / time.Duration(b.N)
			start, rounds := time.Now(), 0
			for ; time.Since(start) < 20*time.Millisecond || rounds < 3; rounds++ {
				lint.Check(small, "", nil)
			}
			b.ReportMetric(float64(once)/(float64(time.Since(start))/float64(rounds)), "x-eighth")
		})
	}
}
