package canonical_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/gowebpki/jcs"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// byUTF16 orders as RFC 8785 section 3.2.3 says, word by word.
func byUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// names returns names that are easily put in the wrong order: short ones with
// common beginnings, of characters on both sides of every border.
func names(random *rand.Rand, n int) []string {
	alphabet := []rune("\x00\n\x1f !\"#a[\\]~\x7f\u0080é\ud7ff\ue000\uf8ff\ufffd\uffff\U00010000\U0001f600\U0010ffff")
	seen := make(map[string]bool)
	var out []string
	for len(out) < n {
		name := []string{"", "a", "aaaaaaa", "aaaaaaaa", "aaaaaaaaa"}[random.IntN(5)]
		for range random.IntN(4) {
			name += string(alphabet[random.IntN(len(alphabet))])
		}
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

func TestLess(t *testing.T) {
	all := names(rand.New(rand.NewPCG(3, 4)), 600)
	for _, a := range all {
		for _, b := range all {
			if got, want := canonical.Less(a, b), byUTF16(a, b) < 0; got != want {
				t.Fatalf("Less(%q, %q) is %v", a, b, got)
			}
		}
	}
}

// quote spells name as a JSON string in one of several ways.
func quote(random *rand.Rand, name string) string {
	if random.IntN(2) == 0 {
		return string(canonical.AppendString(nil, name))
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, u := range utf16.Encode([]rune(name)) {
		fmt.Fprintf(&b, `\u%04x`, u)
	}
	b.WriteByte('"')
	return b.String()
}

// Objects of all sizes that the sort tells apart, in random order and random
// spelling.
func TestMemberOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	n := 0
	for size := 1; size <= 60; size++ {
		for range 20 {
			all := names(random, size)
			var in, want strings.Builder
			for i, name := range all {
				fmt.Fprintf(&in, `,%s:%d`, quote(random, name), i)
			}
			sorted := slices.SortedFunc(slices.Values(all), byUTF16)
			for _, name := range sorted {
				fmt.Fprintf(&want, `,%s:%d`, canonical.AppendString(nil, name), slices.Index(all, name))
			}
			text := "{" + in.String()[1:] + "}"
			got, err := canonical.Append(nil, []byte(text))
			if err != nil || string(got) != "{"+want.String()[1:]+"}" {
				t.Fatalf("%s:\ngot  %s, %v\nwant {%s}", text, got, err, want.String()[1:])
			}
			general, err := jcs.Transform([]byte(text))
			if err != nil || !bytes.Equal(got, general) {
				t.Fatalf("%s:\ngot     %s\njcs has %s, %v", text, got, general, err)
			}
			n++
		}
	}
	t.Logf("%d objects", n)
}

// A repeated name is found wherever its copies stand, and the place is that of
// the second copy which comes first, whatever the sort does with equal names.
func TestDuplicateOffset(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	n := 0
	for size := 2; size <= 60; size++ {
		for range 20 {
			all := names(random, size)
			for range 1 + random.IntN(3) { // up to four copies of one, or of several
				all[random.IntN(size)] = all[random.IntN(size)]
			}
			var b strings.Builder
			seen := make(map[string]bool)
			offset, pointer := -1, ""
			for i, name := range all {
				b.WriteString([]string{"{", ","}[min(i, 1)])
				if seen[name] && offset < 0 {
					offset, pointer = b.Len(), canonical.Child("", name)
				}
				seen[name] = true
				b.WriteString(quote(random, name) + ":" + strconv.Itoa(i))
			}
			_, err := canonical.Append(nil, []byte(b.String()+"}"))
			if offset < 0 {
				if err != nil {
					t.Errorf("%s}: %v", b.String(), err)
				}
				continue
			}
			wantFault(t, err, canonical.DuplicateKey, pointer, offset)
			if t.Failed() {
				t.Fatalf("%s}", b.String())
			}
			n++
		}
	}
	t.Logf("%d objects with a repeated name", n)
}
