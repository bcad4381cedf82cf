package kit_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/cmd/internal/kit"
	"github.com/mcpsign/mcpsign/lock"
)

// TestFormat checks that a kit is the same bytes whatever the order of its
// parts, that they do not change from release to release, and that any tar
// program reads them.
func TestFormat(t *testing.T) {
	data := format(t, whole(t))
	k := whole(t)
	slices.Reverse(k.Evidence)
	if !bytes.Equal(format(t, k), data) {
		t.Error("another order of the evidence gives another kit")
	}
	if !bytes.Equal(archive(t, members(t)...), data) {
		t.Error("the kit is not the archive of its members")
	}
	const want = "2fb56822c064e4c58463f15e510f4f0bf031c33e06ec3087d903c7f294a6e366"
	if got := hex(string(data)); got != want {
		t.Errorf("the kit has SHA-256 %s, want %s", got, want)
	}
	var names []string
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.Mode != 0o644 || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || !h.ModTime.Equal(time.Unix(0, 0)) || h.Format != tar.FormatUSTAR {
			t.Errorf("%s has header %+v", h.Name, h)
		}
	}
	if len(names) != 4 || !slices.IsSorted(names) {
		t.Errorf("members %q", names)
	}
}

func TestParse(t *testing.T) {
	for what, k := range map[string]*kit.Kit{
		"all":          whole(t),
		"no authority": {Lock: weather(t), Evidence: whole(t).Evidence},
		"no evidence":  {Lock: unsigned(t), Authority: whole(t).Authority},
		"lockfile":     {Lock: unsigned(t)},
		"two policies": {Lock: unsigned(t), Authority: []kit.File{{Name: "b", Data: []byte(policy)}, {Name: "a", Data: []byte(policy)}}},
	} {
		data := format(t, k)
		got, err := kit.Parse(data)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		slices.SortFunc(k.Evidence, func(a, b []byte) int { return strings.Compare(hex(string(a)), hex(string(b))) })
		slices.SortFunc(k.Authority, func(a, b kit.File) int { return strings.Compare(a.Name, b.Name) })
		if !reflect.DeepEqual(got.Evidence, k.Evidence) || !reflect.DeepEqual(got.Authority, k.Authority) || !bytes.Equal(format(t, got), data) {
			t.Errorf("%s: read back as %q", what, format(t, got))
		}
	}
}

// unsigned returns a lockfile that names no evidence.
func unsigned(t testing.TB) *lock.File {
	f := weather(t)
	f.Servers[0].Evidence, f.Servers[0].Pins[0].Unsigned = nil, true
	return f
}

func TestFormatRefuses(t *testing.T) {
	many := make([]kit.File, kit.MaxAuthority+1)
	for i := range many {
		many[i] = kit.File{Name: fmt.Sprintf("key%d", i), Data: []byte(key)}
	}
	authority := func(name, data string) *kit.Kit {
		return &kit.Kit{Lock: unsigned(t), Authority: []kit.File{{Name: name, Data: []byte(data)}}}
	}
	for _, test := range []struct {
		what string
		kit  *kit.Kit
		want string
	}{
		{"nothing", &kit.Kit{}, "there is no lockfile"},
		{"no server", &kit.Kit{Lock: &lock.File{}}, "has no servers"},
		{"no evidence", &kit.Kit{Lock: weather(t)}, "is missing, which the lockfile names"},
		{"no key", &kit.Kit{Lock: weather(t), Evidence: [][]byte{[]byte(bundle)}}, digest(key).String() + " is missing"},
		{"other evidence", &kit.Kit{Lock: unsigned(t), Evidence: [][]byte{[]byte(key)}}, digest(key).String() + " is not what the lockfile names"},
		{"twice", &kit.Kit{Lock: weather(t), Evidence: [][]byte{[]byte(bundle), []byte(key), []byte(bundle)}}, digest(bundle).String() + " is there twice"},
		{"too many", &kit.Kit{Lock: unsigned(t), Authority: many}, "65 files of authority, at most 64"},
		{"one name", &kit.Kit{Lock: unsigned(t), Authority: []kit.File{{Name: "a.pem", Data: []byte(key)}, {Name: "A.pem", Data: []byte(key)}}}, "but for the case"},
		{"empty", authority("policy.yaml", ""), "0 bytes"},
		{"too large", authority("policy.yaml", strings.Repeat("x", kit.MaxFile+1)), "it has 4194305 bytes, want 1 to 4194304"},
		{"no name", authority("", policy), `name ""`},
		{"folder", authority("a/policy.yaml", policy), `name "a/policy.yaml"`},
		{"above", authority("..", policy), `name ".."`},
		{"hidden", authority(".policy", policy), `name ".policy"`},
		{"dot at the end", authority("policy.", policy), `name "policy."`},
		{"backslash", authority(`a\b`, policy), `name "a\\b"`},
		{"stream", authority("a:b", policy), `name "a:b"`},
		{"not ASCII", authority("polіcy", policy), "of ASCII"},
		{"long", authority(strings.Repeat("x", 65), policy), "1 to 64 letters"},
	} {
		data, err := test.kit.Format()
		if err == nil || data != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.what, err, test.want)
		}
	}
}

// TestTooLarge checks the limit of the whole, which no single file has.
func TestTooLarge(t *testing.T) {
	k := &kit.Kit{Lock: unsigned(t)}
	big := bytes.Repeat([]byte("x"), kit.MaxFile)
	for i := range kit.MaxAuthority {
		k.Authority = append(k.Authority, kit.File{Name: fmt.Sprintf("f%d", i), Data: big})
	}
	if _, err := k.Format(); err == nil || !strings.Contains(err.Error(), "more than 104857600 bytes") {
		t.Errorf("a kit that is too large: %v", err)
	}
	if _, err := kit.Parse(make([]byte, kit.MaxSize+1)); err == nil || !strings.Contains(err.Error(), "more than 104857600 bytes") {
		t.Errorf("an archive that is too large: %v", err)
	}
}
