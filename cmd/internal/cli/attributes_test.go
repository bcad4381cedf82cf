package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// The answers are those of git check-attr.
func TestLineEnds(t *testing.T) {
	for _, tt := range []struct {
		above, beside string
		kept          bool
	}{
		{"", "", false},
		{"*.lock.json -text\n", "", true},
		{"*.lock.json -text\r\n", "", true},
		{"* -text", "", true},
		{"* text=auto\n", "", false},
		{"* text=auto eol=lf\n", "", true},
		{"*.json text eol=crlf\n", "", false},
		{"mcpsign.lock.json binary\n", "", true},
		{"/mcpsign.lock.json -text\n", "", false},
		{"/sub/mcpsign.lock.json -text\n", "", true},
		{"**/mcpsign.lock.json -text\n", "", true},
		{`"mcpsign.lock.json" -text`, "", true},
		{"# *.lock.json -text\n*.go -text\n", "", false},
		{"*.lock.json -text\n* text=auto\n", "", false},
		{"* text=auto\n*.lock.json -text\n", "", true},
		{"*.lock.json -text\n", "* text\n", false},
		{"* text\n", "*.lock.json -text\n", true},
	} {
		dir := t.TempDir()
		sub := filepath.Join(dir, "sub")
		for _, d := range []string{sub, filepath.Join(dir, ".git")} {
			if err := os.Mkdir(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for d, text := range map[string]string{dir: tt.above, sub: tt.beside} {
			if err := os.WriteFile(filepath.Join(d, attributesName), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if ends, tree := lineEndsOf(filepath.Join(sub, defaultLock)); !tree || ends.kept() != tt.kept {
			t.Errorf("%q, %q: kept %t, in a work tree %t; want %t", tt.above, tt.beside, ends.kept(), tree, tt.kept)
		}
	}
}
