package lock_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// CASES 23: one byte of a lockfile changed, removed or added, anywhere. Either
// the file is refused, or it is what Format writes for what was read, and every
// digest in it is that of its definition: no damage hides.
//
// What can be changed without being refused is what nothing else in the file
// says: names of servers, sequences, signers, and digests of bundles and _meta.
// None of it is authority.
func TestMangledFile(t *testing.T) {
	good := must[[]byte](t)(fixture(t).Format())
	mangled, refused := 0, 0
	try := func(what string, at int, data []byte) {
		mangled++
		f, err := lock.Parse(data)
		if err != nil {
			refused++
			if f != nil {
				t.Fatalf("byte %d %s: a file came with the error", at, what)
			}
			return
		}
		out, err := f.Format()
		if err != nil || !bytes.Equal(out, data) {
			t.Fatalf("byte %d %s: read, but written otherwise, %v", at, what, err)
		}
		for _, s := range f.Servers {
			for _, p := range s.Pins {
				d := p.Definition
				if form, digest := generally(t, d.Canonical()); digest != d.Digest() || !bytes.Equal(form, d.Canonical()) {
					t.Fatalf("byte %d %s: %s has digest %s, but says %s", at, what, d.ID(), digest, d.Digest())
				}
			}
		}
	}
	for i, c := range good {
		for _, other := range []byte{c ^ 1, c ^ 0x20, c ^ 0x80, '0', '"', ' ', '\n', '}', 0} {
			if other != c {
				data := bytes.Clone(good)
				data[i] = other
				try("replaced", i, data)
			}
		}
		try("removed", i, slices.Delete(bytes.Clone(good), i, i+1))
		for _, other := range []byte{c, ' ', '0'} {
			try("added", i, slices.Insert(bytes.Clone(good), i, other))
		}
		try("cut off", i, good[:i])
	}
	t.Logf("%d bytes, %d mangled files: %d refused, %d are other lockfiles", len(good), mangled, refused, mangled-refused)
	if refused == mangled || refused < mangled*3/4 {
		t.Error("that can't be")
	}
}
