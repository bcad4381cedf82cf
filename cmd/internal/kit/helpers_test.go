package kit_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/cmd/internal/kit"
	"github.com/mcpsign/mcpsign/lock"
)

const (
	bundle = `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}`
	key    = "the key in PKIX DER"
	policy = "version: 1\n"
)

// hex returns the SHA-256 of a text.
func hex(text string) string { return lock.Digest(sha256.Sum256([]byte(text))).Hex() }

func digest(text string) lock.Digest { return sha256.Sum256([]byte(text)) }

// weather returns a lockfile with one server, signed with the evidence.
func weather(t testing.TB) *lock.File {
	t.Helper()
	d, err := lock.ParseDefinition(lock.Tool, []byte(`{"name":"get_forecast"}`))
	if err != nil {
		t.Fatal(err)
	}
	return &lock.File{Servers: []lock.Server{{
		Name:     "weather",
		Evidence: []lock.Evidence{{Sequence: 1, Signer: lock.Signer{Key: digest(key).String()}, Bundle: digest(bundle), Trust: []lock.Digest{digest(key)}}},
		Pins:     []lock.Pin{{Definition: d}},
	}}}
}

// whole returns a kit with one of everything.
func whole(t testing.TB) *kit.Kit {
	return &kit.Kit{
		Lock:      weather(t),
		Evidence:  [][]byte{[]byte(key), []byte(bundle)},
		Authority: []kit.File{{Name: "policy.yaml", Data: []byte(policy)}},
	}
}

func format(t testing.TB, k *kit.Kit) []byte {
	t.Helper()
	data, err := k.Format()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A member is one of an archive that something else wrote.
type member struct {
	tar.Header
	content string
}

func file(name, content string) member { return member{tar.Header{Name: name}, content} }

// special is a member that is no file.
func special(typeflag byte, name, link string) member {
	return member{tar.Header{Typeflag: typeflag, Name: name, Linkname: link}, ""}
}

// archive returns an archive of any members, as a kit has them but for what
// they say.
func archive(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := m.Header
		if h.Typeflag == 0 {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(m.content))
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if h.ModTime.IsZero() {
			h.ModTime = time.Unix(0, 0)
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// members are those of whole, in order.
func members(t testing.TB) []member {
	text, err := weather(t).Format()
	if err != nil {
		t.Fatal(err)
	}
	a, b := file(".mcpsign/sha256-"+hex(bundle), bundle), file(".mcpsign/sha256-"+hex(key), key)
	if b.Name < a.Name {
		a, b = b, a
	}
	return []member{a, b, file("authority/policy.yaml", policy), file("mcpsign.lock.json", string(text))}
}
