package kit_test

import (
	"archive/tar"
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/cmd/internal/kit"
)

// A mangler changes a good kit.
type mangler func(t *testing.T, good []byte) []byte

// with returns a mangler that changes the members.
func with(change func(ms []member) []member) mangler {
	return func(t *testing.T, _ []byte) []byte { return archive(t, change(members(t))...) }
}

// put returns a mangler that overwrites bytes of the first header, whose check
// sum is made good.
func put(at int, text string) mangler {
	return func(_ *testing.T, good []byte) []byte {
		data := bytes.Clone(good)
		copy(data[at:], text)
		sum := 0
		copy(data[148:156], "        ")
		for _, c := range data[:512] {
			sum += int(c)
		}
		copy(data[148:156], []byte{'0' + byte(sum>>15&7), '0' + byte(sum>>12&7), '0' + byte(sum>>9&7), '0' + byte(sum>>6&7), '0' + byte(sum>>3&7), '0' + byte(sum&7), 0, ' '})
		return data
	}
}

func TestParseRefuses(t *testing.T) {
	add := func(m member) mangler {
		return with(func(ms []member) []member {
			ms = append(ms, m)
			slices.SortStableFunc(ms, func(a, b member) int { return strings.Compare(a.Name, b.Name) })
			return ms
		})
	}
	header := func(change func(h *tar.Header)) mangler {
		return with(func(ms []member) []member { change(&ms[0].Header); return ms })
	}
	content := func(i int, text string) mangler {
		return with(func(ms []member) []member { ms[i].content = text; return ms })
	}
	for _, test := range []struct {
		what   string
		mangle mangler
		want   string
	}{
		{"symbolic link", add(special(tar.TypeSymlink, ".mcpsign", "/etc")), "member .mcpsign at byte 0: it is a symbolic link"},
		{"symbolic link for a file", add(special(tar.TypeSymlink, "authority/a", "/etc/passwd")), "it is a symbolic link"},
		{"hard link", add(special(tar.TypeLink, "authority/a", "mcpsign.lock.json")), "it is a hard link"},
		{"device", add(special(tar.TypeChar, "authority/a", "")), "it is a device"},
		{"block device", add(special(tar.TypeBlock, "authority/a", "")), "it is a device"},
		{"pipe", add(special(tar.TypeFifo, "authority/a", "")), "it is a device"},
		{"folder", add(special(tar.TypeDir, ".mcpsign/", "")), "it is a folder"},
		{"type of old", put(156, "\x00"), `it is of type '\x00'`},
		{"type of nobody", put(156, "9"), `it is of type '9'`},
		{"sparse", put(156, "S"), "it is a sparse file"},
		{"GNU long name", put(156, "L"), "it is a GNU header"},
		{"PAX", header(func(h *tar.Header) { h.PAXRecords = map[string]string{"comment": "x"}; h.Format = tar.FormatPAX }), "it is a PAX header"},
		{"PAX for all", put(156, "g"), "it is a PAX header"},
		{"PAX for a size", header(func(h *tar.Header) { h.ModTime = time.Unix(1, 500); h.Format = tar.FormatPAX }), "it is a PAX header"},
		{"GNU format", header(func(h *tar.Header) { h.Format = tar.FormatGNU }), "of its header is"},

		{"above", add(file("../evil", "x")), "member ../evil at byte 0: no file of a kit has this name"},
		{"above, from a folder", add(file("authority/../../evil", "x")), `name "../../evil"`},
		{"above, from the evidence", add(file(".mcpsign/sha256-/../../evil", "x")), "no file of a kit has this name"},
		{"absolute", add(file("/etc/mcpsign/policy.yaml", "x")), "no file of a kit has this name"},
		{"of Windows", add(file(`authority/C:\evil`, "x")), "has not 1 to 64 letters"},
		{"no name", add(file("", "x")), "no file of a kit has this name"},
		{"only a folder", with(func(ms []member) []member { ms[2].Name = "authority"; return ms }), "no file of a kit has this name"},
		{"extra", add(file("README", "x")), "no file of a kit has this name"},
		{"extra hidden name", add(file("a\x1bb", "x")), `member a\u{1b}b at byte`},
		{"writer.lock", add(file(".mcpsign/writer.lock", "x")), "no file of a kit has this name"},
		{"dot", add(file("./mcpsign.lock.json", "x")), "no file of a kit has this name"},
		{"upper case", with(func(ms []member) []member { ms[0].Name = strings.ToUpper(ms[0].Name); return ms }), "no file of a kit has this name"},
		{"name in the prefix", put(345, "etc"), "byte 345 of its header is 0x65"},
		{"what follows the name", put(99, "x"), "byte 99 of its header is 0x78"},

		{"twice", add(file("authority/policy.yaml", policy)), "it is there twice"},
		{"twice, another", add(file("authority/policy.yaml", "other")), "it is there twice"},
		{"lockfile twice", with(func(ms []member) []member { return append(ms, ms[3]) }), "it is there twice"},
		{"out of order", with(func(ms []member) []member { ms[0], ms[1] = ms[1], ms[0]; return ms }), "it is out of order"},
		{"lockfile first", with(func(ms []member) []member { return append(ms[3:], ms[:3]...) }), "it is out of order: it follows mcpsign.lock.json"},
		{"but for the case", add(file("authority/POLICY.yaml", "x")), "but for the case"},
		{"no lockfile", with(func(ms []member) []member { return ms[:3] }), "there is no mcpsign.lock.json"},
		{"missing evidence", with(func(ms []member) []member { return ms[1:] }), "is missing, which the lockfile names"},
		{"other evidence", add(file(".mcpsign/sha256-"+hex("x"), "x")), "is not what the lockfile names"},
		{"changed evidence", content(0, "x"), "its SHA-256 is " + hex("x")},
		{"lockfile of nothing", content(3, "{}"), "lockfile: "},
		{"lockfile in another form", content(3, members(t)[3].content+"\n"), "lockfile: "},
		{"empty lockfile", content(3, ""), "it has 0 bytes"},
		{"empty authority", content(2, ""), "it has 0 bytes"},

		{"huge", put(124, "17777777777\x00"), "it has 2147483647 bytes, want 1 to 4194304"},
		{"huger", put(124, "77777777777\x00"), "no octal number below 2^31"},
		{"binary size", put(124, "\x80\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"), "no octal number below 2^31"},
		{"negative size", put(124, "-0000000001\x00"), "no octal number below 2^31"},
		{"size with a blank", put(124, "0000000075 \x00"), "no octal number below 2^31"},
		{"no size", put(124, strings.Repeat("\x00", 12)), "no octal number below 2^31"},
		{"size above what is there", put(124, "00017777777\x00"), "cut off: "},
		{"mode", header(func(h *tar.Header) { h.Mode = 0o4755 }), "byte 103 of its header"},
		{"owner", header(func(h *tar.Header) { h.Uid = 1000 }), "of its header is"},
		{"name of the owner", header(func(h *tar.Header) { h.Uname = "root" }), "byte 265 of its header"},
		{"time", header(func(h *tar.Header) { h.ModTime = time.Unix(1, 0) }), "byte 146 of its header"},
		{"check sum", func(_ *testing.T, good []byte) []byte { good[150]++; return good }, "byte 150 of its header"},

		{"nothing", func(*testing.T, []byte) []byte { return nil }, "cut off at byte 0"},
		{"no archive", func(*testing.T, []byte) []byte { return []byte(strings.Repeat("kit ", 400)) }, "no member of a tar archive begins at byte 0"},
		{"of a tar before ustar", put(257, strings.Repeat("\x00", 8)), "no member of a tar archive begins at byte 0"},
		{"compressed", func(*testing.T, []byte) []byte { return []byte("\x1f\x8b\x08") }, "cut off at byte 3"},
		{"empty archive", func(*testing.T, []byte) []byte { return make([]byte, 1024) }, "there is no mcpsign.lock.json"},
		{"one block of zeros at the end", func(_ *testing.T, good []byte) []byte { return good[:len(good)-512] }, "before its end"},
		{"trailing zeros", func(_ *testing.T, good []byte) []byte { return append(good, make([]byte, 8192)...) }, "8192 bytes follow its end"},
		{"trailing byte", func(_ *testing.T, good []byte) []byte { return append(good, 0) }, "1 bytes follow its end"},
		{"another archive behind", func(_ *testing.T, good []byte) []byte { return append(good, good...) }, "bytes follow its end"},
		{"a member behind a block of zeros", func(_ *testing.T, good []byte) []byte {
			return append(good[:len(good)-512:len(good)-512], good...)
		}, "one block of zeros"},
		{"padding", func(_ *testing.T, good []byte) []byte { good[1023] = 1; return good }, "what follows its content is not zero"},
	} {
		t.Run(test.what, func(t *testing.T) {
			k, err := kit.Parse(test.mangle(t, format(t, whole(t))))
			if k != nil || err == nil || !strings.HasPrefix(err.Error(), "kit: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestCutOff cuts a kit at every byte.
func TestCutOff(t *testing.T) {
	good := format(t, whole(t))
	for n := range good {
		if _, err := kit.Parse(good[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are a kit", n, len(good))
		}
	}
}

// TestMangle changes every byte of a kit. What is a kit all the same is another
// one, in a lockfile or a file of authority: that a signature or a digest
// vouches for.
func TestMangle(t *testing.T) {
	good := format(t, whole(t))
	others := 0
	for i := range good {
		for _, c := range []byte{good[i] ^ 1, good[i] ^ 0x80, 0, '0', ' '} {
			if c == good[i] {
				continue
			}
			data := bytes.Clone(good)
			data[i] = c
			k, err := kit.Parse(data)
			if err != nil {
				continue
			}
			others++
			if !bytes.Equal(format(t, k), data) {
				t.Errorf("byte %d as %#02x: another spelling of a kit", i, c)
			}
			if !inContent(data, i) {
				t.Errorf("byte %d as %#02x is of no effect", i, c)
			}
		}
	}
	if others == 0 {
		t.Error("no byte of the policy can be changed")
	}
}

// inContent reports whether a byte is in the policy or the lockfile.
func inContent(data []byte, i int) bool {
	policyAt, lockAt := bytes.Index(data, []byte("authority/")), bytes.Index(data, []byte("mcpsign.lock.json"))
	return i >= policyAt+512 && i < policyAt+512+len(policy) || i >= lockAt+512
}
