package cli

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestBaseFolder has where the configuration and the state of a user are, by the
// XDG Base Directory Specification.
func TestBaseFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of Unix")
	}
	known := func() (string, error) { return "/home/database", nil }
	for what, test := range map[string]struct {
		xdg, home string
		database  func() (string, error)
		want      string // empty: an error
	}{
		"absolute":                     {"/cfg", "/home/me", known, "/cfg"},
		"not set":                      {"", "/home/me", known, "/home/me/.config"},
		"relative":                     {"cfg", "/home/me", known, "/home/me/.config"},
		"relative to the folder":       {"./cfg", "/home/me", known, "/home/me/.config"},
		"a tilde, which no shell read": {"~/cfg", "/home/me", known, "/home/me/.config"},
		"without HOME":                 {"", "", known, "/home/database/.config"},
		"relative HOME":                {"", ".", known, "/home/database/.config"},
		"nobody to ask":                {"", "", nil, ""},
		"not in the database":          {"rel", "", func() (string, error) { return "", errors.New("unknown user") }, ""},
		"no home in the database":      {"", "", func() (string, error) { return "", nil }, ""},
		"relative in the database":     {"", "", func() (string, error) { return "x", nil }, ""},
	} {
		env := map[string]string{"XDG": test.xdg, "HOME": test.home}
		p := &Process{LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, UserHome: test.database}
		got, err := p.baseFolder("XDG", "Unused", ".config")
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v, want %q", what, got, err, test.want)
		}
	}
}

// TestAbsent checks that a file which can't be found is called absent only
// where that is certain.
func TestAbsent(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", map[string]string{"folder/": "", "file": "x", "folder/inside/": ""})
	for link, to := range map[string]string{"dangling": "nowhere", "loop": "loop", "good": "folder", "far": filepath.Join("dangling", "x")} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	wd := must(os.Getwd())
	for path, certain := range map[string]bool{
		"none": true, "none/at/all": true, "folder/none": true, "folder/none/x": true, "good/none": true, "good/inside/none": true,
		"file": true, "folder": true, // made since
		"dangling": false, "dangling/x": false, "dangling/x/y": false, "loop": false, "loop/x": false,
		"far": false, "far/y": false, "file/x": false, "file/x/y": false,
	} {
		for _, path := range []string{path, filepath.Join(wd, path)} {
			if err := absent(path); (err == nil) != certain {
				t.Errorf("%s: %v, want certainty: %v", path, err, certain)
			}
		}
	}
}

// TestWithoutHome checks that a user whose home only the database knows has a
// policy, and that one of whom nothing is known has none for certain only where
// a flag says who must have signed.
func TestWithoutHome(t *testing.T) {
	t.Chdir(t.TempDir())
	home := t.TempDir()
	private, public := keyFiles()
	write(t, ".", map[string]string{"listing.json": `[{"name":"echo"}]`, "k": private, "k.pub": public})
	write(t, home, map[string]string{".config/mcpsign/policy.yaml": "version: 1\nrules: [{servers: [elsewhere], pinnedOnly: x}]\n"})
	u := newUser(t)
	u.must(ExitYes, "sign", "weather", "listing.json", "--key", "k", "--sequence", "1", "--bundle", "b.json")
	u.must(ExitYes, "lock", "weather", "listing.json", "--bundle", "b.json", "--key", "k.pub")
	u.must(ExitYes, "verify")
	u.database = func() (string, error) { return home, nil }
	u.must(ExitYes, "verify")
	for _, set := range []string{"", "home"} {
		u.env["HOME"] = set
		u.must(ExitUnsigned, "verify")
		u.must(ExitUnsigned, "check", "weather", "listing.json")
	}
	u.database = nil
	u.must(ExitTrust, "verify")
	u.must(ExitTrust, "check", "weather", "listing.json")
	u.must(ExitTrust, "lock", "other", "listing.json")
	u.must(ExitYes, "verify", "weather", "listing.json", "--bundle", "b.json", "--key", "k.pub")
}
