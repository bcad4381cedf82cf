package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A revocation list that is added is the newest that was seen of its signer, and
// its successor is out in time. It takes the place of older ones, and is missed
// when it is gone.
func TestAddLists(t *testing.T) {
	t.Chdir(t.TempDir())
	private, public := keyFiles()
	write(t, ".", map[string]string{"listing.json": `[{"name":"echo"}]`, "a.key": private, "a.pub": public})
	u := newUser(t)
	u.must(ExitYes, "sign", "weather", "listing.json", "--key", "a.key", "--sequence", "1", "--bundle", "r1.json")
	u.must(ExitYes, "lock", "weather", "listing.json", "--key", "a.pub", "--bundle", "r1.json")
	list := func(file, number, next string, items ...string) {
		t.Helper()
		args := []string{"revoke", "weather", "--number", number, "--next-update", next, "--key", "a.key", "--bundle", file}
		u.must(ExitYes, append(args, items...)...)
	}
	list("one.json", "1", "30d", "r1.json")
	list("two.json", "2", "30d")
	list("again.json", "2", "30d", "statement:sha256:"+strings.Repeat("1", 64))
	list("short.json", "3", "1h")
	kept := func() (n int) {
		t.Helper()
		files, err := filepath.Glob(".mcpsign/for-*/sha256-*")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	for _, tt := range []struct {
		file  string
		clock time.Duration
		want  ExitCode
		text  string
		kept  int
		check ExitCode
	}{
		{"one.json", 0, ExitYes, "added", 1, ExitOutdated},
		{"one.json", 0, ExitYes, "added", 1, ExitOutdated},
		{"two.json", 0, ExitYes, "added", 1, ExitYes},
		{"one.json", 0, ExitOutdated, "one.json: the list has number 1, and number 2 by key:sha256:", 1, ExitYes},
		{"again.json", 0, ExitYes, "added", 2, ExitYes},
		{"short.json", 2 * time.Hour, ExitTrust, "short.json: the next list was due at ", 2, ExitYes},
		{"short.json", 0, ExitYes, "added", 1, ExitYes},
	} {
		u.clock = tt.clock
		r := u.must(tt.want, "add", "weather", tt.file)
		if !strings.Contains(r.stdout+r.stderr, tt.text) || kept() != tt.kept {
			t.Errorf("add %s: %d are kept, want %d, with %q:\n%s%s", tt.file, kept(), tt.kept, tt.text, r.stdout, r.stderr)
		}
		u.clock = 0
		u.must(tt.check, "check", "weather", "listing.json")
	}
	// Of one call the newest counts, and none of it is kept if one is out of date.
	u.must(ExitOutdated, "add", "weather", "short.json", "two.json")
	folders, err := filepath.Glob(".mcpsign/for-*")
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	if err := os.RemoveAll(folders[0]); err != nil {
		t.Fatal(err)
	}
	if r := u.must(ExitTrust, "check", "weather", "listing.json"); !strings.Contains(r.stderr, "revocation list 3 by ") || !strings.Contains(r.stderr, "mcpsign add weather FILE") {
		t.Errorf("nothing is missed, or what to do is not said:\n%s%s", r.stdout, r.stderr)
	}
}
