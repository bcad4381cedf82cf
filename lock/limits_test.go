package lock_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// tools writes n tools, the names of which count from first.
func tools(first, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"name":"t%d"}`, first+i)
	}
	return "[" + strings.TrimPrefix(b.String(), ",") + "]"
}

// refusedTools writes n tools without a name.
func refusedTools(n int) string {
	return "[" + strings.TrimPrefix(strings.Repeat(`,{}`, n), ",") + "]"
}

// CASES 14 and 16: every limit, on both sides of it. A listing beyond one is
// an error; memory is bounded by the limits, not by the input.
func TestListingLimits(t *testing.T) {
	one := func(text string) [][]byte { return [][]byte{[]byte(text)} }
	// One buffer for all pages that are long: white space, a text, another text.
	const text, other = `{"tools":[{"name":"a","v":[true,"\u0041é"]}]}`, "\n\n" + `{"prompts":[{"name":"a"}]}`
	long := bytes.Repeat([]byte{' '}, 50_000_000)
	copy(long[len(long)-len(text+other):], text+other)
	end := len(long) - len(other)
	full := long[end-lock.MaxPage : end]
	files := func(n int) [][]byte { return slices.Repeat(one("[]\n"), n) }
	for _, c := range []struct {
		name  string
		texts [][]byte
		code  lock.Code // empty: accepted
	}{
		{"10,000 definitions", one(tools(0, 10_000)), ""},
		{"10,001 definitions", one(tools(0, 10_001)), lock.TooMany},
		{"10,001 on two pages", raw([]string{tools(0, 5_000), tools(5_000, 5_001)}), lock.TooMany},
		{"10,001 of two kinds", raw([]string{tools(0, 10_000), `{"prompts":[{"name":"a"}]}`}), lock.TooMany},
		{"10,000 of which some are refused", raw([]string{tools(0, 9_000), refusedTools(1_000)}), ""},
		{"10,001 of which some are refused", raw([]string{refusedTools(1_000), tools(0, 9_001)}), lock.TooMany},
		{"10,001 of one name", one("[" + strings.Repeat(`{"name":"a"},`, 10_000) + `{"name":"a"}]`), lock.TooMany},
		{"a million tools", one("[" + strings.Repeat(`{"name":"a"},`, 1_000_000) + `{"name":"a"}]`), lock.TooMany},
		{"1,000 texts in one file", one(strings.Repeat("[]\n", 1_000)), ""},
		{"1,001 texts in one file", one(strings.Repeat("[]\n", 1_001)), lock.TooMany},
		{"1,000 files", files(1_000), ""},
		{"1,001 files", files(1_001), lock.TooMany},
		{"a page of 16 MiB", [][]byte{full}, ""},
		{"white space behind it", [][]byte{long[end-lock.MaxPage : end+2]}, ""},
		{"another text behind it", [][]byte{long[end-lock.MaxPage:]}, ""},
		{"a page of a byte more", [][]byte{long[end-lock.MaxPage-1 : end]}, lock.TooLarge},
		{"a page of 50 MB", [][]byte{long[:end]}, lock.TooLarge},
		{"a definition of 17 MB", one(`[{"name":"` + strings.Repeat("x", 17_000_000) + `"}]`), lock.TooLarge},
		{"a million arrays in a definition", one(`[{"name":"a","v":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `}]`), ""},
		{"a million brackets that never close", one(strings.Repeat("[", 1_000_000)), lock.Syntax},
		{"seventeen million", one(strings.Repeat("[", 17<<20)), lock.TooLarge},
		{"20,000 members in a definition", one(`[{"name":"a"` + strings.Repeat(`,"v":0`, 20_000) + `}]`), ""},
		{"20,000 members in the envelope", one(`{"tools":[]` + members(20_000) + `}`), lock.TooMany},
		{"64 MiB", [][]byte{full, full, full, full}, ""},
		{"more than 64 MiB", [][]byte{full, full, full, full, []byte("[]")}, lock.TooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l *lock.Listing
			var err error
			used := allocated(func() { l, err = lock.ParseListing(c.texts...) })
			if c.code == "" && err != nil {
				t.Error(err)
			}
			if c.code != "" {
				if e := digestError(t, err); e.Code != c.code || l != nil {
					t.Errorf("got %v, want %s", e, c.code)
				}
			}
			// The text itself is read where it is. Of a page at most the canonical
			// form is kept, in a buffer that grows by doubling.
			if limit := uint64(6 * lock.MaxPage); used > limit {
				t.Errorf("allocated %d MiB", used>>20)
			}
		})
	}
}

// A page that is cut at its limit is too large, whatever the cut looks like.
func TestPageCut(t *testing.T) {
	blank := bytes.Repeat([]byte{' '}, lock.MaxPage+100)
	for _, cut := range []string{
		`{"tools"|:[]}`, `{"tools":[{"na|me":"a"}]}`, `{"tools":[{"name":"a","v":tr|ue}]}`, `{"tools":[{"name":"a","v":-|1}]}`,
		`{"tools":[{"name":"\u00|41"}]}`, `{"tools":[{"name":"\ud83d\ude|00"}]}`, "{\"tools\":[{\"name\":\"\xc3|\xa9\"}]}", `{"tools":[]|}`,
	} {
		before, after, _ := strings.Cut(cut, "|")
		page := blank[:lock.MaxPage+len(after)]
		copy(page[lock.MaxPage-len(before):], before+after)
		_, err := lock.ParseListing(page)
		copy(page[lock.MaxPage-len(before):], strings.Repeat(" ", len(before)+len(after)))
		if e := digestError(t, err); e.Code != lock.TooLarge {
			t.Errorf("%s: got %v", cut, e)
		}
	}
}

// members writes n members behind another one.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":0`, i)
	}
	return b.String()
}

// A definition by itself is read only if it is not too large.
func TestDefinitionLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		code lock.Code
	}{
		{"too long", `{"name":"` + strings.Repeat("x", 10_000_000) + `"}`, lock.TooLarge},
		{"too many brackets", strings.Repeat("[", 10_000_000), lock.TooLarge},
		{"a million brackets", strings.Repeat("[", 1_000_000), lock.Syntax},
		{"nested", `{"name":"a","v":` + strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000) + `}`, lock.TooDeep},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := []byte(c.text)
			var err error
			used := allocated(func() { _, err = lock.ParseDefinition(lock.Tool, text) })
			if e := digestError(t, err); e.Code != c.code {
				t.Errorf("got %v, want %s", e, c.code)
			}
			if used > 8<<20 { // a few times the limit
				t.Errorf("allocated %d MiB", used>>20)
			}
		})
	}
}
