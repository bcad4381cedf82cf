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

// read reads what a command launches, as if it was started.
func read(c Command) (lock.Artifact, error) {
	r := Before(context.Background(), c)
	return r.Read()
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
		a, err := read(Command{Argv: tt.argv, Dir: dir, Env: []string{}})
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

// A file may have as many bytes as the limit, and one more of those that are read
// whole is too many.
func TestReadLimits(t *testing.T) {
	name := write(t, filepath.Join(t.TempDir(), "a"), "1234")
	for limit, want := range map[int64]string{3: "has more than 3 bytes", 4: "", 5: ""} {
		f, err := openRegular(name, limit)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("limit %d: error = %v", limit, err)
		}
		f.Close()
	}
	if err := os.Truncate(name, maxRecord); err != nil {
		t.Fatal(err)
	}
	if data, err := readFile(name); err != nil || len(data) != maxRecord {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := os.Stat("/proc/self/mem"); err == nil { // its first bytes can't be read
		if _, err := readFile("/proc/self/mem"); err == nil {
			t.Error("no error of reading")
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
	a, err := read(Command{Argv: []string{"weather"}})
	if err != nil || a.File != "weather" || a.Digest["sha256"] != sumOf("program") {
		t.Errorf("%v, %v", a, err)
	}
}

var exe = map[bool]string{true: ".exe"}[onWindows]

// What was started can't put right what it was: the file is read before.
func TestReadBefore(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.js"), "evil")
	r := Before(context.Background(), Command{Argv: []string{"node", "a.js"}, Dir: dir})
	write(t, filepath.Join(dir, "a.js"), "signed")
	if a, err := r.Read(); err != nil || a.Digest["sha256"] != sumOf("evil") {
		t.Errorf("%v, %v", a, err)
	}
}

// A context that ends is the cause that is returned.
func TestReadEnds(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.js"), "script")
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	cancel(cause)
	r := Before(ctx, Command{Argv: []string{"node", "a.js"}, Dir: dir})
	_, err := r.Read()
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
	unused            bool // the cache, by what was started
}

func newMachine(t *testing.T, record string) machine {
	m := machine{home: physical(t, t.TempDir()), dir: physical(t, t.TempDir())}
	m.folder = filepath.Join(m.home, ".npm", "_npx", hash)
	env := []string{"HOME=nowhere", "HOME=" + m.home, "home=nowhere", "LocalAppData=" + m.dir}
	if onWindows {
		m.folder = filepath.Join(m.home, "npm-cache", "_npx", hash)
		env = []string{"localappdata=" + m.home, "USERPROFILE=" + m.home}
	}
	m.command = Command{Argv: []string{"npx", "-y", word, "--port", "1"}, Dir: m.dir, Env: env}
	if record != "" {
		write(t, filepath.Join(m.folder, "node_modules", ".package-lock.json"), record)
	}
	return m
}

// physical returns a folder's path without symbolic links.
func physical(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// run starts the command, which does what it does, and reads what it launched.
func (m *machine) run(t *testing.T, does func()) (lock.Artifact, error) {
	t.Helper()
	long := time.Now().Add(-time.Hour)
	_, err := os.Stat(m.folder)
	if err == nil {
		err = os.Chtimes(m.folder, long, long)
	}
	r := Before(context.Background(), m.command)
	if does(); !m.unused && err == nil { // where times are of whole seconds
		err = os.Chtimes(m.folder, time.Time{}, r.started.Truncate(time.Second))
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return r.Read()
}

// own gives the project a file.
func (m *machine) own(t *testing.T, name, text string) {
	t.Helper()
	write(t, filepath.Join(m.dir, filepath.FromSlash(name)), text)
}

// What npm recorded of the package is read, or it is said why not.
func TestReadNPX(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(t *testing.T, m *machine)
		want string // part of the error, empty: it is read
	}{
		{"used", func(*testing.T, *machine) {}, ""},
		{"not used", func(t *testing.T, m *machine) { m.unused = true }, ""},
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
		{"of the environment of this process", func(t *testing.T, m *machine) {
			for _, kv := range m.command.Env {
				name, value, _ := strings.Cut(kv, "=")
				t.Setenv(name, value)
			}
			m.command.Env = nil
		}, ""},
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
			a, err := m.run(t, func() {})
			switch {
			case tt.want != "":
				if wantError(t, err, tt.want); a.PURL != "" || a.Digest != nil || errors.As(err, new(*DoubtError)) {
					t.Errorf("%v with the error %T", a, err)
				}
			case err != nil || a.PURL != "pkg:npm/%40acme/weather-mcp@1.4.2" || a.Digest["sha512"] != goodHex || a.Check() != nil:
				t.Errorf("%v, %v", a, err)
			}
		})
	}
}

// The environment names npm's cache in one spelling; of one spelling the last
// value counts, and two spellings may say the same.
func TestNPMCache(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, tt := range []struct {
		name string
		env  []string
		want string
	}{
		{"home", []string{"HOME=" + a, "USERPROFILE=" + a, "LocalAppData="}, ""},
		{"one", []string{"npm_config_cache=" + a}, a},
		{"twice", []string{"npm_config_cache=" + a, "npm_config_cache=" + b}, b},
		{"empty", []string{"npm_config_cache=" + a, "NPM_CONFIG_CACHE="}, a},
		{"other spelling alone", []string{"NPM_CONFIG_CACHE=" + a}, a},
		{"two spellings of one", []string{"npm_config_cache=" + a, "NPM_CONFIG_CACHE=" + a}, a},
		{"two spellings", []string{"npm_config_cache=" + a, "NPM_CONFIG_CACHE=" + b}, "error"},
	} {
		c := Command{Env: tt.env}
		got, err := c.npmCache()
		switch {
		case tt.want == "error" && err == nil, tt.want != "error" && err != nil, tt.want != "error" && tt.want != "" && got != tt.want, tt.want == "" && !strings.HasPrefix(got, a):
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}
