package launch

import (
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
// was started is what npx ran. One that was not, or is not there, counts if there
// was nothing of the user's own that npx could take before it. What a project has
// is in doubt always: what ran in place of the package could touch the folder too.
func (r *Run) npx(l verify.Launch) (lock.Artifact, error) {
	if r.takeover != "" {
		return lock.Artifact{}, &DoubtError{l.Name, r.takeover}
	}
	folder, info, err := r.npmFolder(l)
	if used := err == nil && !info.ModTime().Before(r.started.Truncate(time.Second)); !used && r.other != "" {
		return lock.Artifact{}, &DoubtError{l.Name, r.other}
	}
	if err != nil {
		return lock.Artifact{}, err
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

// npmFolder returns the folder of npm's cache in which npx installs a package,
// and what there is to know of it.
func (c *Command) npmFolder(l verify.Launch) (string, os.FileInfo, error) {
	cache, err := c.npmCache()
	if err != nil {
		return "", nil, err
	}
	sum := sha512.Sum512([]byte(l.Package))
	folder := filepath.Join(cache, "_npx", hex.EncodeToString(sum[:])[:16])
	info, err := os.Stat(folder)
	if err != nil {
		return "", nil, fmt.Errorf("npm has no record of %s for npx: %w", l.Package, cause(err))
	}
	return folder, info, nil
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
		cache = filepath.Join(c.home(), "AppData", "Local", "npm-cache")
	default:
		cache = filepath.Join(c.home(), ".npm")
	}
	if !filepath.IsAbs(cache) {
		return "", errors.New("the place of npm's cache does not follow from HOME or " + variable)
	}
	return cache, nil
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
