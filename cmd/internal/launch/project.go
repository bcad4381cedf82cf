package launch

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/verify"
)

// A DoubtError says that something else may have been launched than the command
// names: what is read of that says nothing of it then.
type DoubtError struct {
	Name string // what the command names
	File string // the file or folder by which it may be something else; absolute
}

func (e *DoubtError) Error() string {
	return fmt.Sprintf("something else than %q may have been launched: see %q", e.Name, e.File)
}

// lookAround finds what npx would run, or be told by, in the place of what it
// has in its cache. It goes by the folder that the working directory is in truth,
// as npm does; one that is not known may have anything in it.
func (r *Run) lookAround(l verify.Launch) {
	named, err := filepath.Abs(r.Dir)
	dir, notThere := filepath.EvalSymlinks(named)
	if err != nil || notThere != nil {
		r.takeover = cmp.Or(named, ".")
		return
	}
	own, _ := os.Stat(r.home()) // none if it is not known: then no folder is the user's own
	var mine string
	for dir := range upwards(dir) {
		if isFolder(dir, own) {
			mine = projectCopy(dir)
		} else {
			r.takeover = cmp.Or(r.takeover, configuration(dir), projectCopy(dir))
		}
	}
	r.other = cmp.Or(mine, globalCopy(r.env("PATH"), l))
}

// home returns the user's home as npm sees it, empty if it is not known.
func (c *Command) home() string {
	if onWindows {
		return c.env("USERPROFILE")
	}
	return c.env("HOME")
}

// configuration returns npm's in dir, which names the cache, the shell, and options
// of Node.js; empty if there is none.
func configuration(dir string) string {
	if config := filepath.Join(dir, ".npmrc"); exists(config) {
		return config
	}
	return ""
}

func isFolder(dir string, info os.FileInfo) bool {
	have, _ := os.Stat(dir)
	return os.SameFile(have, info) // false of none
}

// projectCopy returns a file or folder in dir in which npx may find what it runs,
// or the interpreter or shell of that; empty if there is none. In node_modules it
// may be at any depth, behind links and under other names: it is not searched.
// What runs from there could make all look as if it ran out of the cache.
func projectCopy(dir string) string {
	if modules := filepath.Join(dir, "node_modules"); exists(modules) {
		return modules
	}
	if manifest := filepath.Join(dir, "package.json"); hasPrograms(manifest) {
		return manifest
	}
	return ""
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

// upwards returns dir, which is absolute, and the folders it lies in.
func upwards(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(dir) {
			parent := filepath.Dir(dir)
			if parent == dir {
				return
			}
			dir = parent
		}
	}
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
