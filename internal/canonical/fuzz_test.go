package canonical_test

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// Seeds are committed, in testdata/fuzz. Without them a fuzz target run as a
// test would test nothing.
func TestFuzzSeeds(t *testing.T) {
	for _, target := range []string{"FuzzJCS", "FuzzJSONText"} {
		seeds, err := filepath.Glob(filepath.Join("testdata", "fuzz", target, "*"))
		if err != nil || len(seeds) < 20 {
			t.Errorf("%s has %d seeds, %v", target, len(seeds), err)
		}
	}
}

// FuzzJCS holds Append to github.com/gowebpki/jcs v1.0.2. That library is
// laxer in three points and no others: it writes numbers whose magnitude is
// 2^53 or more as long as they are finite, it reads 10,000 levels, and it sets
// no limit to the members of an object. Apart from these the two accept the
// same texts, and what both accept they write alike.
func FuzzJCS(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		compare(t, text, "jcs", func() ([]byte, error) {
			return jcs.Transform(append([]byte{}, text...)) // nil is an error of its own
		})
	})
}

// FuzzJSONText holds Append to the canonicaliser of jsontext. It is laxer in
// the points in which jcs is, and in that it takes a number which is not finite
// for the largest double.
func FuzzJSONText(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		compare(t, text, "jsontext", func() ([]byte, error) {
			v := jsontext.Value(bytes.Clone(text))
			err := v.Canonicalize()
			return v, err
		})
	})
}

// compare checks Append against another implementation, and what holds
// whatever the text.
func compare(t *testing.T, text []byte, name string, other func() ([]byte, error)) {
	got, err := canonical.Append(nil, text)
	want, otherErr := other()
	if err != nil {
		e := checkError(t, text, err)
		if len(got) != 0 {
			t.Errorf("output %q with an error", got)
		}
		if otherErr == nil && !stricter(text, e.Code) {
			t.Errorf("refused with %v, but %s writes %q", e, name, want)
		}
		return
	}
	if otherErr != nil {
		t.Fatalf("accepted as %q, but %s says %v", got, name, otherErr)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("got %q, %s has %q", got, name, want)
	}
	again, err := canonical.Append(nil, got)
	if err != nil || !bytes.Equal(again, got) {
		t.Fatalf("the canonical form %q has the canonical form %q, %v", got, again, err)
	}
}

// checkError checks what holds for every error.
func checkError(t *testing.T, text []byte, err error) *canonical.Error {
	t.Helper()
	var e *canonical.Error
	if !errors.As(err, &e) {
		t.Fatalf("error of type %T: %v", err, err)
	}
	if e.Code == "" || e.Offset < 0 || e.Offset > len(text) {
		t.Errorf("code %q, offset %d in a text of %d bytes", e.Code, e.Offset, len(text))
	}
	if !utf8.ValidString(e.Pointer) || e.Pointer != "" && e.Pointer[0] != '/' {
		t.Errorf("pointer %q", e.Pointer)
	}
	return e
}

// stricter reports whether a text that others accept breaks a rule of ours,
// and the one that code names.
func stricter(text []byte, code canonical.Code) bool {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	broken := make(map[canonical.Code]bool)
	for {
		token, err := d.ReadToken()
		if err != nil {
			return broken[code]
		}
		switch token.Kind() {
		case '0':
			f, _ := strconv.ParseFloat(token.String(), 64)
			broken[canonical.NumberOutOfRange] = broken[canonical.NumberOutOfRange] || math.Abs(f) >= 1<<53
		case '{', '[':
			broken[canonical.TooDeep] = broken[canonical.TooDeep] || d.StackDepth() > canonical.MaxDepth
		}
		if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n > 2*canonical.MaxMembers {
			broken[canonical.TooMany] = true
		}
	}
}
