package launch

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

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
	r.takeover = takeover(dir, r.home(), l)
	r.other = cmp.Or(projectCopy(dir), globalCopy(r.env("PATH"), l))
}

// home returns the user's home as npm sees it, empty if it is not known.
func (c *Command) home() string {
	if onWindows {
		return c.env("USERPROFILE")
	}
	return c.env("HOME")
}

// takeover returns a file, in dir or a folder it lies in, by which npx runs
// something else even out of its cache; empty if there is none. One is a
// configuration of npm that is not the user's own: it names the cache, the shell,
// and options of Node.js. The others are programs of a project, which stand
// before those of the PATH when npx starts a shell, that the command, and that
// its interpreter.
func takeover(dir, home string, l verify.Launch) string {
	own, _ := os.Stat(home) // none if it is not known: then no file is the user's own
	for dir := range upwards(dir) {
		if config := filepath.Join(dir, ".npmrc"); exists(config) && !isFolder(dir, own) {
			return config
		}
		for _, name := range []string{"sh", "cmd", "node", l.Name[strings.LastIndexByte(l.Name, '/')+1:], l.Package} {
			for _, suffix := range programSuffixes() {
				if program := filepath.Join(dir, "node_modules", ".bin", name+suffix); exists(program) {
					return program
				}
			}
		}
	}
	return ""
}

// programSuffixes returns what the name of a program's file may end in.
func programSuffixes() []string {
	if onWindows {
		return []string{"", ".com", ".exe", ".bat", ".cmd"}
	}
	return []string{""}
}

func isFolder(dir string, info os.FileInfo) bool {
	have, err := os.Stat(dir)
	return err == nil && info != nil && os.SameFile(have, info)
}

// projectCopy returns a file or folder, in dir or one it lies in, in which npx
// may find what it runs; empty if there is none. In node_modules that may be at
// any depth, behind links and under other names: it is not searched.
func projectCopy(dir string) string {
	for dir := range upwards(dir) {
		if modules := filepath.Join(dir, "node_modules"); exists(modules) {
			return modules
		}
		if manifest := filepath.Join(dir, "package.json"); hasPrograms(manifest) {
			return manifest
		}
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
