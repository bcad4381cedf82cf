package canonical_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"
)

// A generator writes JSON texts in all the ways in which one can spell them.
type generator struct {
	*rand.Rand
	out []byte
}

func (g *generator) space() {
	for g.IntN(4) == 0 {
		g.out = append(g.out, " \t\r\n"[g.IntN(4)])
	}
}

func (g *generator) value(depth int) {
	g.space()
	defer g.space()
	kind := g.IntN(8)
	if depth == 0 {
		kind = g.IntN(5)
	}
	switch kind {
	case 0:
		g.out = append(g.out, []string{"null", "true", "false"}[g.IntN(3)]...)
	case 1, 2:
		g.number()
	case 3, 4:
		g.out = append(g.out, quote(g.Rand, names(g.Rand, 1)[0])...)
	case 5:
		g.list('[', ']', func(int) { g.value(depth - 1) }, g.IntN(4))
	default:
		all := names(g.Rand, g.IntN(24))
		g.list('{', '}', func(i int) {
			g.space()
			g.out = append(g.out, quote(g.Rand, all[i])...)
			g.space()
			g.out = append(g.out, ':')
			g.value(depth - 1)
		}, len(all))
	}
}

func (g *generator) list(open, end byte, element func(i int), n int) {
	g.out = append(g.out, open)
	g.space()
	for i := range n {
		if i > 0 {
			g.out = append(g.out, ',')
		}
		element(i)
	}
	g.out = append(g.out, end)
}

func (g *generator) number() {
	digits := func() string { return strconv.FormatUint(g.Uint64N(1<<g.IntN(64)+1), 10) }
	s := []string{"", "-"}[g.IntN(2)] + digits()
	if g.IntN(2) == 0 {
		s += "." + strings.Repeat("0", g.IntN(9)) + digits()
	}
	if g.IntN(3) == 0 {
		s += []string{"e", "E", "e+", "E-", "e-"}[g.IntN(5)] + strconv.Itoa(g.IntN([]int{10, 400}[g.IntN(2)]))
	}
	g.out = append(g.out, s...)
}

// Texts of all shapes, whole and with a byte replaced, removed or added, agree
// with both other implementations: what the fuzz targets check, on texts that
// they would take long to find.
func TestRandomTexts(t *testing.T) {
	g := generator{Rand: rand.New(rand.NewPCG(9, 10))}
	n := 0
	check := func(text []byte) {
		n++
		compare(t, text, "jcs", func() ([]byte, error) { return jcs.Transform(text) })
		compare(t, text, "jsontext", func() ([]byte, error) {
			v := jsontext.Value(bytes.Clone(text))
			err := v.Canonicalize()
			return v, err
		})
	}
	const odd = "{}[]:,\"\\u0019.eE+- \n/tfnd8\x00\x1f\x7f\x80\xc3\xed\xff"
	for range 800 {
		g.out = g.out[:0]
		g.value(3)
		check(g.out)
		for range 4 {
			at, c := g.IntN(len(g.out)), odd[g.IntN(len(odd))]
			mangled := bytes.Clone(g.out)
			switch g.IntN(3) {
			case 0:
				mangled[at] = c
			case 1:
				mangled = slices.Delete(mangled, at, at+1)
			case 2:
				mangled = slices.Insert(mangled, at, c)
			}
			check(mangled)
		}
		if t.Failed() {
			t.Fatalf("%q", g.out)
		}
	}
	t.Logf("%d texts", n)
}
