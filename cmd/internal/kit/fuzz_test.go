package kit_test

import (
	"bytes"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/kit"
)

// FuzzParse checks that what is a kit has one spelling, and holds what its
// lockfile names.
func FuzzParse(f *testing.F) {
	ms := members(f)
	f.Add(format(f, whole(f)))
	f.Add(format(f, &kit.Kit{Lock: unsigned(f)}))
	f.Add(archive(f, ms[:3]...))
	f.Add(archive(f, append(ms, file("../evil", "x"))...))
	f.Add(archive(f, special('2', "mcpsign.lock.json", "/etc/passwd")))
	f.Add(make([]byte, 1024))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := kit.Parse(data)
		if err != nil {
			if k != nil {
				t.Error("a kit came with an error")
			}
			return
		}
		if got := format(t, k); !bytes.Equal(got, data) {
			t.Errorf("read %q, written as %q", data, got)
		}
		if len(k.Evidence) != len(kit.Named(k.Lock)) {
			t.Errorf("%d files of evidence, %d are named", len(k.Evidence), len(kit.Named(k.Lock)))
		}
	})
}
