package canonical_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// spellings returns JSON numbers whose double is f.
func spellings(f float64) []string {
	shortest := strconv.FormatFloat(f, 'g', -1, 64)
	exact := strconv.FormatFloat(f, 'f', 1100, 64) // every digit of the double
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', 17, 64), "e")
	n, _ := strconv.Atoi(exponent)
	return []string{
		shortest,
		strings.ToUpper(shortest),
		strconv.FormatFloat(f, 'f', -1, 64),
		exact,
		exact + "e0",
		strconv.FormatFloat(f, 'e', 17, 64),
		strconv.FormatFloat(f, 'e', 40, 64),
		fmt.Sprintf("%s000e%+04d", mantissa, n),
		fmt.Sprintf("%sE%d", mantissa, n),
	}
}

// checkNumber compares what is written for f, however it is spelled, with
// jcs, which follows the same algorithm through another path of strconv.
func checkNumber(t *testing.T, f float64) (n int) {
	t.Helper()
	want, err := jcs.NumberToJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spellings(f) {
		got, err := canonical.Append(nil, []byte(s))
		if math.Abs(f) >= 1<<53 {
			if e := fault(t, err); e.Code != canonical.NumberOutOfRange || e.Offset != 0 {
				t.Errorf("%s: got %v", s, e)
			}
		} else if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v; want %s", s, got, err, want)
		}
		n++
	}
	return n
}

func TestNumbers(t *testing.T) {
	n := 0
	// Where the spelling changes, with the doubles on both sides.
	for _, f := range []float64{
		0, 1, 10, 1 << 52, 1<<53 - 2, 1 << 53, 1 << 54, 1e15, 1e16, 1e20, 1e21, 1e22,
		0.1, 1e-5, 1e-6, 1e-7, 1e-9, 1e-10, 1e-11, 1e-99, 1e-100, 1e-101,
		math.SmallestNonzeroFloat64, 0x1p-1022, 1e-307, 1e-308, math.MaxFloat64,
	} {
		for _, g := range []float64{math.Nextafter(f, math.Inf(-1)), f, math.Nextafter(f, math.Inf(1))} {
			if math.IsInf(g, 0) {
				continue
			}
			n += checkNumber(t, g) + checkNumber(t, -g)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		f := math.Float64frombits(random.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		n += checkNumber(t, f)
		// Those are mostly far out of range: the same digits in the range of common numbers.
		n += checkNumber(t, math.Ldexp(1+random.Float64(), random.IntN(90)-36))
		n += checkNumber(t, float64(random.Int64N(1<<53)>>random.IntN(53)))
	}
	t.Logf("%d numbers", n)
}

// Integers are taken over as they stand as long as that is certain to be right.
func TestIntegers(t *testing.T) {
	for digits := 1; digits <= 17; digits++ {
		for _, text := range []string{
			strings.Repeat("9", digits), "1" + strings.Repeat("0", digits-1), "1" + strings.Repeat("2", digits-1),
		} {
			for _, s := range []string{text, "-" + text} {
				i, err := strconv.ParseInt(s, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				got, err := canonical.Append(nil, []byte(s))
				if i >= 1<<53 || i <= -1<<53 {
					wantFault(t, err, canonical.NumberOutOfRange, "", 0)
				} else if err != nil || string(got) != s {
					t.Errorf("%s: got %q, %v", s, got, err)
				}
			}
		}
	}
}
