package launch

import (
	"cmp"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

const onWindows = runtime.GOOS == "windows"

// maxRecord is how many bytes a record of npm and a package.json may have: 16
// MiB.
const maxRecord = 16 << 20

// npx returns what npm recorded of the package that npx ran.
//
// npx takes what the project has, then what is installed globally, and else
// installs the package in a folder of its cache that is called by the first 16
// hexadecimal digits of the SHA-512 of the words that name the packages. npm from
// version 11.6.1 touches that folder whenever npx runs something out of it, any
// version does when it installs. So a folder that was touched since the command
// was started is what npx ran. One that was not counts if there is nothing that
// npx could take before it.
func (c *Command) npx(l verify.Launch) (lock.Artifact, error) {
	cache, err := c.npmCache()
	if err != nil {
		return lock.Artifact{}, err
	}
	sum := sha512.Sum512([]byte(l.Package))
	folder := filepath.Join(cache, "_npx", hex.EncodeToString(sum[:])[:16])
	info, err := os.Stat(folder)
	if err != nil {
		return lock.Artifact{}, fmt.Errorf("npm has no record of %s for npx: %w", l.Package, cause(err))
	}
	if info.ModTime().Before(c.Started.Truncate(time.Second)) {
		if other := cmp.Or(projectCopy(c.Dir), globalCopy(c.env("PATH"), l)); other != "" {
			return lock.Artifact{}, fmt.Errorf("npx may have run another %s than that of its cache: see %q", l.Name, other)
		}
	}
	data, err := readFile(filepath.Join(folder, "node_modules", ".package-lock.json"))
	if err != nil {
		return lock.Artifact{}, fmt.Errorf("npm's record of %s for npx: %w", l.Package, err)
	}
	a, err := parseRecord(data, l.Name)
	if err != nil {
		return lock.Artifact{}, fmt.Errorf("npm's record of %s for npx: %w", l.Package, err)
	}
	return a, nil
}

// npmCache returns npm's cache as its documentation of the cache setting says;
// files that configure npm are not read.
func (c *Command) npmCache() (string, error) {
	const variable = "npm_config_cache"
	cache := ""
	for _, kv := range c.Env {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.EqualFold(name, variable) || value == "" {
			continue
		}
		if name != variable && cache != "" && cache != value {
			return "", fmt.Errorf("the environment has %s in two spellings", variable)
		}
		cache = value
	}
	switch {
	case cache != "":
	case onWindows && c.env("LocalAppData") != "":
		cache = filepath.Join(c.env("LocalAppData"), "npm-cache")
	case onWindows:
		cache = filepath.Join(c.env("USERPROFILE"), "AppData", "Local", "npm-cache")
	default:
		cache = filepath.Join(c.env("HOME"), ".npm")
	}
	if !filepath.IsAbs(cache) {
		return "", errors.New("the place of npm's cache does not follow from HOME or " + variable)
	}
	return cache, nil
}

// projectCopy returns a file or folder, in dir or one it lies in, in which npx
// may find what it runs; empty if there is none. In node_modules that may be at
// any depth, behind links and under other names: it is not searched.
func projectCopy(dir string) string {
	for {
		if modules := filepath.Join(dir, "node_modules"); exists(modules) {
			return modules
		}
		if manifest := filepath.Join(dir, "package.json"); hasPrograms(manifest) {
			return manifest
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// globalCopy returns a file or folder by which the package is installed beside
// the programs in the PATH; empty if there is none.
func globalCopy(path string, l verify.Launch) string {
	for _, dir := range filepath.SplitList(path) {
		for _, name := range []string{
			filepath.Join(dir, l.Package),
			filepath.Join(dir, "node_modules", l.Name), // on Windows
			filepath.Join(dir, "..", "lib", "node_modules", l.Name),
		} {
			if exists(name) {
				return name
			}
		}
	}
	return ""
}

// exists reports whether there may be something called path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// hasPrograms reports whether a package.json may name programs, of its own or
// of workspaces; one that can't be read may.
func hasPrograms(path string) bool {
	data, err := readFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	found := err != nil
	r := canonical.NewReader(data)
	err = r.Object(func(name string) error {
		found = found || name == "bin" || name == "directories" || name == "workspaces"
		return r.Skip()
	})
	return found || err != nil
}

// readFile reads a regular file of at most maxRecord bytes.
func readFile(path string) ([]byte, error) {
	f, err := openRegular(path, maxRecord)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil && len(data) > maxRecord {
		err = fmt.Errorf("has more than %d bytes", maxRecord)
	}
	return data, cause(err)
}
