package lock_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// A vector is one case of testdata/vectors/definitions.json, whose README says
// what the members mean.
type vector struct {
	ID              string       `json:"id"`
	Note            string       `json:"note"`
	Kind            lock.Kind    `json:"kind"`
	HostLimit       bool         `json:"hostLimit"`
	Input           *string      `json:"input"`
	InputHex        string       `json:"inputHex"`
	Repeat          *repeat      `json:"repeat"`
	Canonical       string       `json:"canonical"`
	CanonicalRepeat *repeat      `json:"canonicalRepeat"`
	Digest          string       `json:"digest"`
	Error           *vectorError `json:"error"`
}

type vectorError struct {
	Code    lock.Code `json:"code"`
	Pointer string    `json:"pointer"`
	Offset  int       `json:"offset"`
}

// A repeat generates a long text.
type repeat struct {
	Prefix  string `json:"prefix"`
	Unit    string `json:"unit"`
	Times   int    `json:"times"`
	Middle  string `json:"middle"`
	Closing string `json:"closing"`
	Suffix  string `json:"suffix"`
}

func (r *repeat) expand() string {
	var b strings.Builder
	b.WriteString(r.Prefix)
	if strings.Contains(r.Unit, "#") {
		for i := range r.Times {
			b.WriteString(strings.ReplaceAll(r.Unit, "#", fmt.Sprintf("%05d", i)))
		}
	} else {
		b.WriteString(strings.Repeat(r.Unit, r.Times))
	}
	b.WriteString(r.Middle + strings.Repeat(r.Closing, r.Times) + r.Suffix)
	return b.String()
}

// input returns the bytes of the definition.
func (v *vector) input(t testing.TB) []byte {
	t.Helper()
	switch {
	case v.Input != nil && v.InputHex == "" && v.Repeat == nil:
		return []byte(*v.Input)
	case v.Input == nil && v.InputHex != "" && v.Repeat == nil:
		b, err := hex.DecodeString(v.InputHex)
		if err != nil {
			t.Fatalf("vector %s: %v", v.ID, err)
		}
		return b
	case v.Input == nil && v.InputHex == "" && v.Repeat != nil:
		return []byte(v.Repeat.expand())
	}
	t.Fatalf("vector %s has not exactly one input", v.ID)
	return nil
}

// canonical returns the text that is hashed.
func (v *vector) canonical() string {
	if v.CanonicalRepeat != nil {
		return v.CanonicalRepeat.expand()
	}
	return v.Canonical
}

// vectors reads all vectors. A member nobody knows fails the test.
func vectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "vectors", "definitions.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range data {
		if c >= 0x7F || c < 0x20 && c != '\n' {
			t.Fatalf("the vectors are to be plain ASCII: byte %d is %#x", i, c)
		}
	}
	var vs []vector
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&vs); err != nil {
		t.Fatal(err)
	}
	return vs
}

func TestVectors(t *testing.T) {
	ids := make(map[string]bool)
	codes := make(map[lock.Code]int)
	digests := 0
	for _, v := range vectors(t) {
		if ids[v.ID] || v.ID == "" || v.Note == "" || !v.Kind.Valid() {
			t.Errorf("vector %q has an id that is not its own, no note, or no kind", v.ID)
		}
		ids[v.ID] = true
		if v.Error != nil {
			codes[v.Error.Code]++
		} else {
			digests++
		}
		t.Run(v.ID, func(t *testing.T) { v.run(t) })
	}
	for _, code := range definitionCodes {
		if codes[code] == 0 {
			t.Errorf("no vector for code %s", code)
		}
	}
	if len(ids) < 120 {
		t.Errorf("only %d vectors", len(ids))
	}
	t.Logf("%d vectors: %d digests, %d errors of %d codes", len(ids), digests, len(ids)-digests, len(codes))
}

// definitionCodes are all codes but duplicate_name, which concerns a listing.
var definitionCodes = []lock.Code{
	lock.NumberOutOfRange, lock.DuplicateKey, lock.InvalidUTF8, lock.LoneSurrogate, lock.BOM, lock.Syntax,
	lock.TrailingData, lock.NotAnObject, lock.MissingName, lock.TooDeep, lock.TooLarge, lock.TooMany,
}

func (v *vector) run(t *testing.T) {
	input := v.input(t)
	d, err := lock.ParseDefinition(v.Kind, input)
	if v.Error != nil {
		if v.canonical() != "" || v.Digest != "" {
			t.Fatal("the vector has an error and a digest")
		}
		wantDigestError(t, err, v.Error.Code, v.Error.Pointer, v.Error.Offset)
		if !d.Digest().IsZero() || d.Canonical() != nil || d.Name() != "" {
			t.Error("a definition came with the error")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := v.canonical()
	if got := string(d.Canonical()); got != want {
		t.Errorf("canonical form\ngot  %.300q\nwant %.300q", got, want)
	}
	// The vector's own digest, so that the file is right for others as well.
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(want))); v.Digest != sum {
		t.Errorf("the vector's digest is %s, that of its canonical form %s", v.Digest, sum)
	}
	if got := d.Digest().String(); got != v.Digest {
		t.Errorf("got digest %s, want %s", got, v.Digest)
	}
	if d.Kind() != v.Kind {
		t.Errorf("got kind %s, want %s", d.Kind(), v.Kind)
	}
	if err := d.CrossCheck(); err != nil {
		t.Error(err)
	}
}
