package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// write writes a file and the folders above it.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	return path
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("error = %v, want one with %q", err, part)
		return
	}
	if strings.ContainsFunc(err.Error(), lock.Hidden) {
		t.Errorf("not fit for a terminal: %q", err)
	}
}

// Of a program and of a script the file is read that the command names, in its
// working directory.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	server := write(t, filepath.Join(dir, "bin", "weather"+exe), "program")
	write(t, filepath.Join(dir, "dist", "index.js"), "script")
	if err := os.Mkdir(filepath.Join(dir, "folder.js"), 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.js")
	if err := os.Symlink(filepath.Join("dist", "index.js"), link); err != nil {
		t.Log("without a symbolic link:", err)
		write(t, link, "script")
	}
	big := write(t, filepath.Join(dir, "big.js"), "")
	if err := os.Truncate(big, MaxFile+1); err != nil {
		t.Fatal(err)
	}
	relative := "." + string(filepath.Separator) + filepath.Join("bin", "weather"+exe)
	for _, tt := range []struct {
		argv []string
		name string // of the file, empty: none
		want string // its content, or a part of the error
	}{
		{[]string{server}, server, "program"},
		{[]string{relative, "--port", "1"}, relative, "program"},
		{[]string{"node", "dist/index.js", "x"}, "dist/index.js", "script"},
		{[]string{"python3", filepath.Join(dir, "dist", "index.js")}, filepath.Join(dir, "dist", "index.js"), "script"},
		{[]string{"node", "link.js"}, "link.js", "script"},
		{[]string{"node", "folder.js"}, "", `"folder.js": is no regular file`},
		{[]string{"node", "big.js"}, "", `"big.js": has more than 1073741824 bytes`},
		{[]string{"node", "gone\u202e.js"}, "", `"gone\u202e.js": no such file`},
		{[]string{relative + "x"}, "", "no such file"},
		{[]string{"weather-that-is-nowhere"}, "", `"weather-that-is-nowhere" is not found`},
		{[]string{"node", "-e", "dist/index.js"}, "", "does not say what it launches"},
		{[]string{"uvx", "weather"}, "", "keeps no digest"},
		{[]string{"docker", "run", "weather"}, "", "keeps no digest"},
		{nil, "", "does not say what it launches"},
	} {
		a, err := Read(context.Background(), Command{Argv: tt.argv, Dir: dir, Env: []string{}})
		if tt.name == "" {
			if wantError(t, err, tt.want); a.File != "" || a.Digest != nil {
				t.Errorf("%q: %v with an error", tt.argv, a)
			}
			continue
		}
		if err != nil || a.File != tt.name || len(a.Digest) != 1 || a.Digest["sha256"] != sumOf(tt.want) || a.Check() != nil {
			t.Errorf("%q: %v, %v", tt.argv, a, err)
		}
	}
}

// A program without a path is the one that is started: that of the PATH.
func TestReadPath(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "weather"+exe), "program")
	t.Setenv("PATH", dir)
	t.Chdir(t.TempDir())
	write(t, "weather"+exe, "not this one")
	a, err := Read(context.Background(), Command{Argv: []string{"weather"}})
	if err != nil || a.File != "weather" || a.Digest["sha256"] != sumOf("program") {
		t.Errorf("%v, %v", a, err)
	}
}

var exe = map[bool]string{true: ".exe"}[onWindows]

// A context that ends is the cause that is returned.
func TestReadEnds(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.js"), "script")
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	cancel(cause)
	_, err := Read(ctx, Command{Argv: []string{"node", "a.js"}, Dir: dir})
	if !errors.Is(err, cause) {
		t.Errorf("error = %v", err)
	}
}

func TestSum(t *testing.T) {
	name := write(t, filepath.Join(t.TempDir(), "a"), "a")
	digest, err := Sum(context.Background(), name)
	if err != nil || len(digest) != 2 || digest["sha256"] != sumOf("a") || !strings.HasPrefix(digest["sha512"], "1f40fc92da241694") {
		t.Errorf("%v, %v", digest, err)
	}
	if _, err := Sum(context.Background(), name+"b"); err == nil || strings.Contains(err.Error(), name) {
		t.Errorf("error = %v", err)
	}
}

const (
	word = "@acme/weather-mcp@1.4.2"
	hash = "56261faebc426525" // the first digits of its SHA-512
)

// A machine has a home with npm's cache, and a project in which npx runs.
type machine struct {
	home, dir, folder string
	command           Command
}

func newMachine(t *testing.T, record string) machine {
	m := machine{home: t.TempDir(), dir: t.TempDir()}
	m.folder = filepath.Join(m.home, ".npm", "_npx", hash)
	env := []string{"HOME=nowhere", "HOME=" + m.home}
	if onWindows {
		m.folder = filepath.Join(m.home, "npm-cache", "_npx", hash)
		env = []string{"localappdata=" + m.home}
	}
	m.command = Command{Argv: []string{"npx", "-y", word, "--port", "1"}, Dir: m.dir, Env: env, Started: time.Now()}
	if record != "" {
		write(t, filepath.Join(m.folder, "node_modules", ".package-lock.json"), record)
	}
	return m
}

// The record counts if npx used it, or the project has nothing else that npx
// would take.
func TestReadNPX(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	for _, tt := range []struct {
		name string
		edit func(t *testing.T, m *machine)
		want string // part of the error, empty: it is read
	}{
		{"used", func(*testing.T, *machine) {}, ""},
		{"used in a project that has its own", func(t *testing.T, m *machine) { m.own(t, "node_modules/@acme/weather-mcp/package.json") }, ""},
		{"not used, no project", func(t *testing.T, m *machine) { m.age(t, long) }, ""},
		{"not used, project and programs without it", func(t *testing.T, m *machine) {
			m.age(t, long)
			m.command.Env = append(m.command.Env, "PATH="+strings.Join([]string{filepath.Join(m.home, "bin"), m.home}, string(filepath.ListSeparator)))
			write(t, filepath.Join(m.dir, "package.json"), `{"name":"a","dependencies":{"x":"1e400"}}`)
		}, ""},
		{"not used, project with its own", func(t *testing.T, m *machine) {
			m.age(t, long)
			m.own(t, "node_modules/@acme/weather-mcp/package.json")
		}, "npx may have run another @acme/weather-mcp than that of its cache"},
		{"not used, project with anything", func(t *testing.T, m *machine) {
			m.age(t, long)
			m.own(t, "node_modules/other/node_modules/@acme/weather-mcp/package.json")
		}, "npx may have run"},
		{"not used, installed beside a program", func(t *testing.T, m *machine) {
			m.age(t, long)
			write(t, filepath.Join(m.home, "lib", "node_modules", "@acme", "weather-mcp", "package.json"), "{}")
			m.command.Env = append(m.command.Env, "PATH="+filepath.Join(m.home, "bin"))
		}, "npx may have run"},
		{"not used, installed beside a program of Windows", func(t *testing.T, m *machine) {
			m.age(t, long)
			write(t, filepath.Join(m.home, "node_modules", "@acme", "weather-mcp", "package.json"), "{}")
			m.command.Env = append(m.command.Env, "PATH="+m.home)
		}, "npx may have run"},
		{"used, installed beside a program", func(t *testing.T, m *machine) {
			write(t, filepath.Join(m.home, "lib", "node_modules", "@acme", "weather-mcp", "package.json"), "{}")
			m.command.Env = append(m.command.Env, "PATH="+filepath.Join(m.home, "bin"))
		}, ""},
		{"not used, project above with its own", func(t *testing.T, m *machine) {
			m.age(t, long)
			m.own(t, "node_modules/@acme/weather-mcp/package.json")
			m.command.Dir = filepath.Join(m.dir, "deep", "down")
		}, "npx may have run"},
		{"not used, program of that name", func(t *testing.T, m *machine) {
			m.age(t, long)
			write(t, filepath.Join(m.home, "bin", word), "")
			m.command.Env = append(m.command.Env, "PATH="+filepath.Join(m.home, "bin"))
		}, "npx may have run"},
		{"not used, project with programs", func(t *testing.T, m *machine) {
			m.age(t, long)
			write(t, filepath.Join(m.dir, "package.json"), `{"bin":{"`+word+`":"evil.js"}}`)
		}, "npx may have run"},
		{"not used, project with workspaces", func(t *testing.T, m *machine) {
			m.age(t, long)
			write(t, filepath.Join(m.dir, "package.json"), `{"workspaces":["a"]}`)
		}, "npx may have run"},
		{"not used, project that can't be read", func(t *testing.T, m *machine) {
			m.age(t, long)
			write(t, filepath.Join(m.dir, "package.json"), `{"bin":1,"bin":2`)
		}, "npx may have run"},
		{"none", func(t *testing.T, m *machine) { m.command.Argv = []string{"npx", "other"} }, "npm has no record of other for npx: no such file"},
		{"of another word", func(t *testing.T, m *machine) { m.command.Argv = []string{"npx", "@acme/weather-mcp"} }, "no record"},
		{"no packages", func(t *testing.T, m *machine) {
			if err := os.RemoveAll(filepath.Join(m.folder, "node_modules")); err != nil {
				t.Fatal(err)
			}
		}, "npm's record of @acme/weather-mcp@1.4.2 for npx: no such file"},
		{"a folder", func(t *testing.T, m *machine) {
			write(t, filepath.Join(m.folder, "node_modules", "x"), "")
			name := filepath.Join(m.folder, "node_modules", ".package-lock.json")
			if err := errors.Join(os.Remove(name), os.Mkdir(name, 0o777)); err != nil {
				t.Fatal(err)
			}
		}, "is no regular file"},
		{"huge", func(t *testing.T, m *machine) {
			if err := os.Truncate(filepath.Join(m.folder, "node_modules", ".package-lock.json"), maxRecord+1); err != nil {
				t.Fatal(err)
			}
		}, "has more than 16777216 bytes"},
		{"broken", func(t *testing.T, m *machine) {
			write(t, filepath.Join(m.folder, "node_modules", ".package-lock.json"), good+"{")
		}, "npm's record of @acme/weather-mcp@1.4.2 for npx: "},
		{"cache elsewhere", func(t *testing.T, m *machine) {
			m.command.Env = append(m.command.Env, "NPM_CONFIG_CACHE="+t.TempDir())
		}, "no record"},
		{"cache named", func(t *testing.T, m *machine) {
			m.command.Env = []string{"npm_config_cache=" + filepath.Dir(filepath.Dir(m.folder)), "npm_config_cache="}
		}, ""},
		{"cache in two spellings", func(t *testing.T, m *machine) {
			m.command.Env = append(m.command.Env, "npm_config_cache="+m.home, "NPM_CONFIG_CACHE="+m.dir)
		}, "two spellings"},
		{"cache relative", func(t *testing.T, m *machine) { m.command.Env = append(m.command.Env, "npm_config_cache=cache") }, "does not follow"},
		{"no home", func(t *testing.T, m *machine) { m.command.Env = []string{} }, "does not follow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, good)
			tt.edit(t, &m)
			a, err := Read(context.Background(), m.command)
			switch {
			case tt.want != "":
				if wantError(t, err, tt.want); a.PURL != "" || a.Digest != nil {
					t.Errorf("%v with an error", a)
				}
			case err != nil || a.PURL != "pkg:npm/%40acme/weather-mcp@1.4.2" || a.Digest["sha512"] != goodHex || a.Check() != nil:
				t.Errorf("%v, %v", a, err)
			}
		})
	}
}

// age makes npm's folder one that was not touched since then.
func (m *machine) age(t *testing.T, then time.Time) {
	t.Helper()
	if err := os.Chtimes(m.folder, then, then); err != nil {
		t.Fatal(err)
	}
}

// own gives the project a file.
func (m *machine) own(t *testing.T, name string) {
	t.Helper()
	write(t, filepath.Join(m.dir, filepath.FromSlash(name)), "{}")
}
