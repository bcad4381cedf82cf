package lock_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"

	"github.com/mcpsign/mcpsign/lock"
)

// must fails the test on an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// tool parses a tool.
func tool(t testing.TB, text string) lock.Definition {
	t.Helper()
	return must[lock.Definition](t)(lock.ParseDefinition(lock.Tool, []byte(text)))
}

// listing parses a listing of texts.
func listing(t testing.TB, texts ...string) *lock.Listing {
	t.Helper()
	return must[*lock.Listing](t)(lock.ParseListing(raw(texts)...))
}

func raw(texts []string) [][]byte {
	var out [][]byte
	for _, s := range texts {
		out = append(out, []byte(s))
	}
	return out
}

// summary says what is in a listing: "tool:a tool:b | duplicate_key tool:c#2",
// the number being the refused definition's index.
func summary(l *lock.Listing) string {
	var good, bad []string
	for _, d := range l.Definitions {
		good = append(good, d.ID())
	}
	for _, r := range l.Refused {
		bad = append(bad, fmt.Sprintf("%s %s#%d", r.Err.Code, lock.ID(r.Kind, r.Name), r.Index))
	}
	if len(bad) == 0 {
		return strings.Join(good, " ")
	}
	return strings.Join(append(append(good, "|"), bad...), " ")
}

func digestOf(text string) lock.Digest { return sha256.Sum256([]byte(text)) }

// digestError returns the *lock.DigestError that err is, and fails if it is
// none.
func digestError(t *testing.T, err error) *lock.DigestError {
	t.Helper()
	var e *lock.DigestError
	if !errors.As(err, &e) {
		t.Fatalf("got error %v of type %T, want a *lock.DigestError", err, err)
	}
	return e
}

// wantDigestError checks all that can be relied on in an error.
func wantDigestError(t *testing.T, err error, code lock.Code, pointer string, offset int) {
	t.Helper()
	e := digestError(t, err)
	if e.Code != code || e.Pointer != pointer || e.Offset != offset {
		t.Errorf("got %s at %q, byte %d; want %s at %q, byte %d", e.Code, e.Pointer, e.Offset, code, pointer, offset)
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// generally computes canonical form and digest of a definition without any
// code of ours: jsontext splits the object, jcs writes it.
func generally(t testing.TB, definition []byte) (form []byte, digest lock.Digest) {
	t.Helper()
	d := jsontext.NewDecoder(bytes.NewReader(definition))
	d.ReadToken()
	rest := []byte{'{'}
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		name = slices.Clone(name) // the decoder's until it reads on
		value, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		if s, err := jsontext.AppendUnquote(nil, name); err != nil || string(s) == "_meta" {
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, name...), ':'), value...)
	}
	form, err := jcs.Transform(append(rest, '}'))
	if err != nil {
		t.Fatal(err)
	}
	return form, sha256.Sum256(form)
}
