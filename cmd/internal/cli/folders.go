package cli

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/mcpsign/mcpsign/lock"
)

// maxLockfiles is how many lockfiles one run verifies at most.
const maxLockfiles = 10_000

// verifyFolders verifies every lockfile in folders and below them. What cannot
// be read is a no of its own: no lockfile is passed over.
func (a *app) verifyFolders(cmd *cobra.Command, folders []string, flags *trustFlags, how verifyFlags) (*report, error) {
	if len(folders) == 0 || cmd.ArgsLenAtDash() >= 0 {
		return nil, usage("usage: mcpsign verify --all FOLDER...", "--all needs the folders to look in")
	}
	paths, err := lockfiles(folders, filepath.Base(a.lock))
	if err != nil {
		return nil, fail(ExitInternal, err, "")
	}
	if len(paths) == 0 {
		return nil, usage("pin a server with: "+nextFor(filepath.Base(a.lock), "lock", "NAME", "SOURCE"), fmt.Sprintf("no lockfile %s in %s", lock.Visible(filepath.Base(a.lock)), quoteWords(folders)))
	}
	if _, _, err := flags.load(""); err != nil && flags.policy != "" {
		return nil, err
	}
	all := make([][]entry, len(paths))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, path := range paths {
		g.Go(func() error {
			all[i] = a.verifyFile(cmd.Context(), path, flags, how)
			return nil
		})
	}
	_ = g.Wait() // no function returns an error: each is in all
	return &report{entries: slices.Concat(all...), many: true}, nil
}

// lockfiles finds the files of a name in folders and below them. Symbolic links
// are not followed.
func lockfiles(folders []string, name string) ([]string, error) {
	var paths []string
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() != name || d.IsDir() {
				return err
			}
			if paths = append(paths, path); len(paths) > maxLockfiles {
				return fmt.Errorf("%s: more than %d lockfiles", lock.Visible(folder), maxLockfiles)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// verifyFile verifies the servers of one lockfile.
func (a *app) verifyFile(ctx context.Context, path string, flags *trustFlags, how verifyFlags) []entry {
	st, err := openStore(path)
	if err != nil {
		return []entry{{server: path, path: path, err: err}}
	}
	defer st.close()
	if err := st.verifiable(flags); err != nil {
		return []entry{{server: path, path: path, err: err}}
	}
	var entries []entry
	for i := range st.file.Servers {
		entries = append(entries, a.verifyPinned(ctx, st, &st.file.Servers[i], flags, how)...)
	}
	for i := range entries {
		entries[i].file, entries[i].path = st.file, path
	}
	return entries
}
