package launch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What npx may run, or be told by, in the place of what it has in its cache puts
// the launch in doubt: some of it always, some unless the cache was used, and
// whether there is a record or not.
func TestDoubt(t *testing.T) {
	inPath := func(m *machine, dirs ...string) {
		m.command.Env = append(m.command.Env, "PATH="+strings.Join(dirs, string(filepath.ListSeparator)))
	}
	for _, tt := range []struct {
		name         string
		edit         func(t *testing.T, m *machine) string // returns the file that is named
		used, unused bool                                  // whether there is a doubt
	}{
		{"nothing", func(t *testing.T, m *machine) string { return "" }, false, false},
		{"project and programs without it", func(t *testing.T, m *machine) string {
			inPath(m, filepath.Join(m.home, "bin"), m.home)
			m.own(t, "package.json", `{"name":"a","dependencies":{"x":"1e400"}}`)
			return ""
		}, false, false},

		{"configuration of the project", func(t *testing.T, m *machine) string {
			m.own(t, ".npmrc", "node-options=--require=./evil.js")
			return filepath.Join(m.dir, ".npmrc")
		}, true, true},
		{"configuration of a folder above", func(t *testing.T, m *machine) string {
			m.own(t, ".npmrc", "cache=./c")
			m.own(t, "deep/down/x", "")
			m.command.Dir = filepath.Join(m.dir, "deep", "down")
			return filepath.Join(m.dir, ".npmrc")
		}, true, true},
		{"configuration that is a broken link", func(t *testing.T, m *machine) string {
			if err := os.Symlink("nowhere", filepath.Join(m.dir, ".npmrc")); err != nil {
				m.own(t, ".npmrc", "")
			}
			return filepath.Join(m.dir, ".npmrc")
		}, true, true},
		{"configuration of the folder behind a link", func(t *testing.T, m *machine) string {
			m.own(t, "deep/.npmrc", "script-shell=./sh")
			m.own(t, "deep/down/x", "")
			link := filepath.Join(m.home, "link")
			if err := os.Symlink(filepath.Join(m.dir, "deep", "down"), link); err != nil {
				link = filepath.Join(m.dir, "deep", "down")
			}
			m.command.Dir = link
			return filepath.Join(m.dir, "deep", ".npmrc")
		}, true, true},
		{"the user's own configuration", func(t *testing.T, m *machine) string {
			write(t, filepath.Join(m.home, ".npmrc"), "color=false")
			write(t, filepath.Join(m.home, "src", "a", "x"), "")
			m.command.Dir = filepath.Join(m.home, "src", "a")
			return ""
		}, false, false},
		{"configuration without a home", func(t *testing.T, m *machine) string {
			m.own(t, ".npmrc", "")
			m.command.Env = append(m.command.Env, "HOME=", "USERPROFILE=")
			return filepath.Join(m.dir, ".npmrc")
		}, true, true},
		{"no working directory", func(t *testing.T, m *machine) string {
			m.command.Dir = filepath.Join(m.dir, "gone")
			return m.command.Dir
		}, true, true},
		{"a working directory that was removed", func(t *testing.T, m *machine) string {
			m.command.Dir = ""
			t.Chdir(m.dir)
			if err := os.Remove(m.dir); err != nil {
				return "" // not on Windows
			}
			return "."
		}, true, true},

		{"interpreter of the project", func(t *testing.T, m *machine) string {
			m.own(t, "node_modules/.bin/node"+exe, "")
			return filepath.Join(m.dir, "node_modules")
		}, true, true},
		{"package of the user's own folder", func(t *testing.T, m *machine) string {
			write(t, filepath.Join(m.home, "node_modules", "x", "package.json"), "{}")
			write(t, filepath.Join(m.home, "src", "a", "x"), "")
			m.command.Dir = filepath.Join(m.home, "src", "a")
			return filepath.Join(m.home, "node_modules")
		}, false, true},
		{"package of the project", func(t *testing.T, m *machine) string {
			m.own(t, "node_modules/@acme/weather-mcp/package.json", "{}")
			return filepath.Join(m.dir, "node_modules")
		}, true, true},
		{"package of the project, anywhere", func(t *testing.T, m *machine) string {
			m.own(t, "node_modules/other/node_modules/@acme/weather-mcp/package.json", "{}")
			return filepath.Join(m.dir, "node_modules")
		}, true, true},
		{"package of a folder above", func(t *testing.T, m *machine) string {
			m.own(t, "node_modules/@acme/weather-mcp/package.json", "{}")
			m.own(t, "deep/down/x", "")
			m.command.Dir = filepath.Join(m.dir, "deep", "down")
			return filepath.Join(m.dir, "node_modules")
		}, true, true},
		{"programs of the project", func(t *testing.T, m *machine) string {
			m.own(t, "package.json", `{"bin":{"`+word+`":"evil.js"}}`)
			return filepath.Join(m.dir, "package.json")
		}, true, true},
		{"workspaces of the project", func(t *testing.T, m *machine) string {
			m.own(t, "package.json", `{"workspaces":["a"]}`)
			return filepath.Join(m.dir, "package.json")
		}, true, true},
		{"project that can't be read", func(t *testing.T, m *machine) string {
			m.own(t, "package.json", `{"bin":1,"bin":2`)
			return filepath.Join(m.dir, "package.json")
		}, true, true},
		{"installed beside a program", func(t *testing.T, m *machine) string {
			write(t, filepath.Join(m.home, "lib", "node_modules", "@acme", "weather-mcp", "package.json"), "{}")
			inPath(m, filepath.Join(m.home, "bin"))
			return filepath.Join(m.home, "lib", "node_modules", "@acme", "weather-mcp")
		}, false, true},
		{"installed beside a program of Windows", func(t *testing.T, m *machine) string {
			write(t, filepath.Join(m.home, "node_modules", "@acme", "weather-mcp", "package.json"), "{}")
			inPath(m, m.home)
			return filepath.Join(m.home, "node_modules", "@acme", "weather-mcp")
		}, false, true},
		{"program of that name", func(t *testing.T, m *machine) string {
			write(t, filepath.Join(m.home, "bin", filepath.FromSlash(word)), "")
			inPath(m, filepath.Join(m.home, "bin"))
			return filepath.Join(m.home, "bin", filepath.FromSlash(word))
		}, false, true},
	} {
		for _, unused := range []bool{false, true} {
			for _, record := range []string{good, "", "{"} {
				t.Run(tt.name, func(t *testing.T) {
					m := newMachine(t, record)
					m.unused = unused
					file := tt.edit(t, &m)
					// Whoever was started can put it right.
					a, err := m.run(t, func() {
						if file != "" {
							_ = os.RemoveAll(file)
						}
					})
					want := ""
					if tt.used || tt.unused && (unused || record == "") {
						want = file
					}
					wantDoubt(t, err, want)
					if read := want == "" && record == good; read != (err == nil) || read != (a.PURL != "") {
						t.Errorf("used: %v, record %.10q: %v, %v", !unused, record, a, err)
					}
				})
			}
		}
	}
}

// wantDoubt checks that err is about a doubt by a file, or none if that is
// empty.
func wantDoubt(t *testing.T, err error, file string) {
	t.Helper()
	var doubt *DoubtError
	switch there := errors.As(err, &doubt); {
	case there != (file != ""), there && doubt.File != file:
		t.Errorf("error = %v, want a doubt by %q", err, file)
	case there:
		wantError(t, err, `something else than "@acme/weather-mcp" may have been launched: see "`)
	}
}

// Of what is not started through npx, nothing in the project is in the way.
func TestNoDoubt(t *testing.T) {
	m := newMachine(t, good)
	m.own(t, ".npmrc", "")
	m.own(t, "server.js", "script")
	m.command.Argv = []string{"node", "server.js"}
	if a, err := m.run(t, func() {}); err != nil || a.Digest["sha256"] != sumOf("script") {
		t.Errorf("%v, %v", a, err)
	}
	// By a path it is no npx.
	m.command.Argv = []string{"./npx", "-y", word}
	if a, err := m.run(t, func() {}); err == nil || errors.As(err, new(*DoubtError)) || a.PURL != "" {
		t.Errorf("%v, %v", a, err)
	}
}

// Programs may be named by any of three members, wherever they stand, and by a
// file that can't be read to its end.
func TestHasPrograms(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`:                                     false,
		`{"name":"a","main":"bin"}`:              false,
		`{"scripts":{"bin":1,"workspaces":[]}}`:  false,
		`{"bin":{},"name":"a"}`:                  true,
		`{"name":"a","bin":"b.js"}`:              true,
		`{"directories":{"bin":"b"},"name":"a"}`: true,
		`{"workspaces":[],"name":"a"}`:           true,
		`{"name":`:                               true,
		`{"name":"a"`:                            true,
		`{"name":tru}`:                           true,
		``:                                       true,
		`[]`:                                     true,
	} {
		path := filepath.Join(t.TempDir(), "package.json")
		write(t, path, text)
		if got := hasPrograms(path); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	if hasPrograms(filepath.Join(t.TempDir(), "package.json")) {
		t.Error("a file that is not there has programs")
	}
}
