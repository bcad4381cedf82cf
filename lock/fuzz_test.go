package lock_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpsign/mcpsign/lock"
)

// Seeds are committed, in testdata/fuzz. Without them a fuzz target run as a
// test would test little.
func TestFuzzSeeds(t *testing.T) {
	for _, target := range []string{"FuzzParseDefinition", "FuzzParseListing", "FuzzParse", "FuzzFormat"} {
		seeds, err := filepath.Glob(filepath.Join("testdata", "fuzz", target, "*"))
		if err != nil || len(seeds) < 5 {
			t.Errorf("%s has %d seeds, %v", target, len(seeds), err)
		}
	}
}

// FuzzParseDefinition checks that a definition has the digest that other
// libraries compute, that it is the same for its canonical form, and that an
// error says where the fault is.
func FuzzParseDefinition(f *testing.F) {
	for _, v := range vectors(f) {
		if v.Repeat == nil {
			f.Add(uint8(slices.Index(lock.Kinds(), v.Kind)), v.input(f))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		k := lock.Kinds()[int(kind)%len(lock.Kinds())]
		d, err := lock.ParseDefinition(k, text)
		if err != nil {
			checkRefused(t, k, text, err)
			if !d.Digest().IsZero() || d.Name() != "" || d.Canonical() != nil || d.Kind() != "" {
				t.Errorf("definition %q came with error %v", d.Canonical(), err)
			}
			return
		}
		if d.Kind() != k || (d.Name() == "") != (k == lock.Instructions) {
			t.Errorf("kind %q, name %q", d.Kind(), d.Name())
		}
		if form, digest := generally(t, text); digest != d.Digest() || !bytes.Equal(form, d.Canonical()) {
			t.Errorf("got  %q\nwant %q", d.Canonical(), form)
		}
		again, err := lock.ParseDefinition(k, d.Canonical())
		if err != nil || !bytes.Equal(again.Canonical(), d.Canonical()) || again.Digest() != d.Digest() || again.ID() != d.ID() {
			t.Errorf("the canonical form %q is read as %q, %v", d.Canonical(), again.Canonical(), err)
		}
		if !again.MetaDigest().IsZero() {
			t.Errorf("the canonical form %q has a _meta", d.Canonical())
		}
	})
}

// checkRefused checks what an error of ParseDefinition says.
func checkRefused(t *testing.T, k lock.Kind, text []byte, err error) {
	t.Helper()
	e := digestError(t, err)
	if !slices.Contains(definitionCodes, e.Code) || e.Offset < 0 || e.Offset > len(text) {
		t.Fatalf("%v in a text of %d bytes", e, len(text))
	}
	naming := map[lock.Kind]string{lock.ResourceTemplate: "/uriTemplate", lock.Instructions: "/instructions"}[k]
	if naming == "" {
		naming = "/name"
	}
	parent := ""
	if i := strings.LastIndexByte(e.Pointer, '/'); i >= 0 {
		parent = e.Pointer[:i]
	}
	seen, whole := places(text)
	switch e.Code {
	case lock.BOM, lock.NotAnObject, lock.TooLarge, lock.TrailingData:
		if e.Pointer != "" {
			t.Errorf("%v is not about the whole text", e)
		}
	case lock.MissingName:
		if e.Pointer != naming {
			t.Errorf("%v is not about %s", e, naming)
		}
	case lock.Syntax, lock.InvalidUTF8: // perhaps of a value that nobody can read
		if _, ok := seen[jsontext.Pointer(parent)]; !ok && parent != "" {
			t.Errorf("%v: there is no %s", e, parent)
		}
	default:
		// Of a text that breaks off later nobody can say where its values end.
		place, ok := seen[jsontext.Pointer(e.Pointer)]
		if !ok || whole && (int64(e.Offset) < place.start || int64(e.Offset) >= place.end) {
			t.Errorf("%v is not where the pointer leads: %v", e, place)
		}
	}
}

// A place is where values of one pointer stand: from behind what comes before
// the first to the end of the last.
type place struct{ start, end int64 }

// places reads text as far as it goes with a reader that is not strict about
// names and Unicode, and returns where its values are and whether that was all.
func places(text []byte) (seen map[jsontext.Pointer]place, whole bool) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	seen = make(map[jsontext.Pointer]place)
	for {
		start := d.InputOffset()
		if _, err := d.ReadToken(); err != nil {
			return seen, err == io.EOF
		}
		at, ok := seen[d.StackPointer()]
		if !ok {
			at.start = start
		}
		at.end = d.InputOffset()
		seen[d.StackPointer()] = at
	}
}

// FuzzParseListing checks the invariants of a listing, that reading the
// canonical forms gives the same one, and that Filter agrees with it.
func FuzzParseListing(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := lock.ParseListing(text)
		if err != nil {
			checkListingError(t, text, err)
			lock.Filter(text, all) // no panic; what it may write of an error is not of interest
			return
		}
		listed := make(map[string]lock.Digest)
		for i, d := range l.Definitions {
			if i > 0 && (l.Definitions[i-1].Kind() > d.Kind() || l.Definitions[i-1].Kind() == d.Kind() && l.Definitions[i-1].Name() >= d.Name()) {
				t.Errorf("%q is not in order, or there twice", d.ID())
			}
			if d.Digest() != sha256.Sum256(d.Canonical()) || d.Digest().IsZero() {
				t.Errorf("%q has digest %s", d.Canonical(), d.Digest())
			}
			listed[d.ID()] = d.Digest()
		}
		for _, r := range l.Refused {
			if _, ok := listed[lock.ID(r.Kind, r.Name)]; ok && (r.Name != "" || r.Kind == lock.Instructions) {
				t.Errorf("%s %q is listed and refused", r.Kind, r.Name)
			}
			if r.Err == nil || r.Err.Code == "" || r.Err.Offset < 0 || r.Err.Offset > len(text) || !r.Kind.Valid() {
				t.Errorf("refused %+v", r)
			}
		}
		if len(l.Definitions) > 0 {
			again := listing(t, canonicalListing(l)...)
			if len(again.Refused) > 0 || !slices.EqualFunc(again.Definitions, l.Definitions, func(a, b lock.Definition) bool { return a.Digest() == b.Digest() && a.ID() == b.ID() }) {
				t.Errorf("got %q from the canonical forms of %q", summary(again), summary(l))
			}
		}
		_, err = l.Digest()
		if whole := len(l.Refused) == 0 && len(l.Definitions) > 0; (err == nil) != whole {
			t.Errorf("listing digest: %v", err)
		}
		checkFilter(t, text, l)
	})
}

func checkListingError(t *testing.T, text []byte, err error) {
	t.Helper()
	var digest *lock.DigestError
	var response *lock.ResponseError
	switch {
	case errors.As(err, &digest):
		if digest.Code == "" || digest.Offset < 0 || digest.Offset > len(text) {
			t.Errorf("%v in a text of %d bytes", err, len(text))
		}
	case !errors.As(err, &response) && !strings.HasPrefix(err.Error(), "no tools"):
		t.Errorf("error of type %T: %v", err, err)
	}
	if strings.ContainsFunc(err.Error(), lock.Hidden) {
		t.Errorf("the message %q holds what does not show", err)
	}
}

// checkFilter filters text for every second definition of l, its listing.
func checkFilter(t *testing.T, text []byte, l *lock.Listing) {
	t.Helper()
	kept := make(map[string]lock.Digest)
	for i := 0; i < len(l.Definitions); i += 2 {
		kept[l.Definitions[i].ID()] = l.Definitions[i].Digest()
	}
	out, err := lock.Filter(text, func(d lock.Definition) bool { return kept[d.ID()] == d.Digest() })
	if err != nil {
		// It takes one response, where a listing is an array as well, or many texts.
		if e := digestError(t, err); e.Code != lock.TrailingData && bytes.TrimLeft(text, " \t\r\n")[0] != '[' {
			t.Errorf("Filter says %v, ParseListing nothing", err)
		}
		return
	}
	filtered, err := lock.ParseListing(out)
	if err != nil {
		if len(kept) > 0 || !strings.HasPrefix(err.Error(), "no tools") {
			t.Errorf("Filter wrote %q: %v", out, err)
		}
		return
	}
	if len(filtered.Refused) > 0 || len(filtered.Definitions) != len(kept) {
		t.Errorf("kept %q of %q", summary(filtered), summary(l))
	}
	for _, d := range filtered.Definitions {
		if kept[d.ID()] != d.Digest() {
			t.Errorf("%s was not to be kept", d.ID())
		}
		if !d.MetaDigest().IsZero() {
			t.Errorf("%s has a _meta still", d.ID())
		}
	}
}

// FuzzParse checks that Parse accepts only what Format writes.
func FuzzParse(f *testing.F) {
	f.Add(must[[]byte](f)(fixture(f).Format()))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := lock.Parse(data)
		if err != nil {
			var e *lock.ParseError
			if file != nil || !errors.As(err, &e) || e.Line < 0 || e.Line > bytes.Count(data, []byte("\n"))+1 {
				t.Errorf("got %v, error %v", file, err)
			}
			return
		}
		checkFile(t, file, data)
	})
}

// checkFile checks a lockfile that was read from data.
func checkFile(t *testing.T, file *lock.File, data []byte) {
	t.Helper()
	out, err := file.Format()
	if err != nil || !bytes.Equal(out, data) {
		t.Errorf("read from %q, written as %q, %v", data, out, err)
	}
	for _, s := range file.Servers {
		if file.Find(s.Name) == nil || len(s.Pins) == 0 {
			t.Errorf("server %q has %d pins", s.Name, len(s.Pins))
		}
		for _, p := range s.Pins {
			if p.Definition.Digest() != sha256.Sum256(p.Definition.Canonical()) || len(s.Pin(p.Definition.Kind(), p.Definition.Name())) == 0 {
				t.Errorf("pin %s", p.Definition.ID())
			}
		}
	}
}

// FuzzFormat checks the other direction: what Format writes, Parse reads.
func FuzzFormat(f *testing.F) {
	f.Fuzz(func(t *testing.T, server, variant, subject, issuer string, sequence uint64, kind uint8, text []byte) {
		d, err := lock.ParseDefinition(lock.Kinds()[int(kind)%len(lock.Kinds())], text)
		if err != nil {
			return
		}
		file := &lock.File{Servers: []lock.Server{{
			Name:     server,
			Evidence: []lock.Evidence{{Variant: variant, Sequence: sequence, Signer: lock.Signer{Issuer: issuer, Subject: subject}, Bundle: number(1)}},
			Pins:     []lock.Pin{{Definition: d, Variant: variant}},
		}}}
		out, err := file.Format()
		if err != nil {
			if lock.CheckName(server) == nil && variant == "" && subject == "x" && issuer == "y" && sequence == 1 {
				t.Errorf("nothing is wrong, but Format says %v", err)
			}
			return
		}
		again, err := lock.Parse(out)
		if err != nil {
			t.Fatalf("wrote %q, which is refused: %v", out, err)
		}
		checkFile(t, again, out)
		if got := again.Servers[0].Pins[0]; got.Definition.Digest() != d.Digest() || got.Definition.MetaDigest() != d.MetaDigest() || got.Variant != variant {
			t.Errorf("wrote %q, read %+v", out, got)
		}
	})
}
