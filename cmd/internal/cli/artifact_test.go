package cli

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadArtifacts(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.tgz")
	if err := os.WriteFile(name, []byte("a"), 0o666); err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512([]byte("a"))
	npm, hexA := "sha512-"+base64.StdEncoding.EncodeToString(sum[:]), hex.EncodeToString(sum[:])
	for _, tt := range []struct {
		value string
		uri   string
		algs  int    // digests, of which sha512 is that of "a"; 0: an error
		err   string // part of it
	}{
		{name, "", 2, ""},
		{"pkg:npm/a@1=" + name, "pkg:npm/a@1", 2, ""},
		{"pkg:docker/a@1?repository_url=ghcr.io=" + name, "pkg:docker/a@1?repository_url=ghcr.io", 2, ""},
		{"pkg:npm/a@1=" + npm, "pkg:npm/a@1", 1, ""},
		{"pkg:npm/a@1?x=y=" + npm, "pkg:npm/a@1?x=y", 1, ""},
		{"pkg:npm/a@1=sha512:" + hexA, "pkg:npm/a@1", 1, ""},
		{"pkg:npm/a@1", "", 0, "no file and no digest"},
		{"pkg:npm/a@1=", "", 0, "no file and no digest"},
		{"pkg:npm/a@1=" + name + "b", "", 0, "no such file"},
		{"pkg:npm/a@1=" + dir, "", 0, "is no regular file"},
		{"pkg:npm/a@1=sha512-AAAA", "", 0, "is no digest in base64"},
		{"pkg:npm/a@1=sha256:" + hexA, "", 0, "not of its length"},
		{"pkg:npm/a@1=sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "", 0, "no file and no digest"}, // weak: no digest
		{"pkg:npm=" + name, "", 0, "is no package URL"},
		{"pkg:/a=" + npm, "", 0, "is no package URL"},
		{npm, "", 0, "no such file"},
		{"a\u202e", "", 0, `a\u{202e}: no such file`},
	} {
		list, err := readArtifacts(context.Background(), []string{tt.value})
		if tt.algs == 0 {
			if codeOf(err) != ExitUsage || !strings.Contains(err.Error(), tt.err) || list != nil {
				t.Errorf("%q: %v, %v", tt.value, list, err)
			}
			continue
		}
		if err != nil || list[0].URI != tt.uri || len(list[0].Digest) != tt.algs || list[0].Digest["sha512"] != hexA {
			t.Errorf("%q: %v, %v", tt.value, list, err)
		}
	}
	if list, err := readArtifacts(context.Background(), []string{"pkg:npm/b=" + npm, name, "pkg:npm/a=" + npm}); err != nil || list[0].URI != "" || list[1].URI != "pkg:npm/a" {
		t.Errorf("not sorted: %v, %v", list, err)
	}
}
