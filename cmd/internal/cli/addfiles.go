package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/cmd/internal/kit"
	"github.com/mcpsign/mcpsign/lock"
)

// addedPath is the folder of a server's added evidence.
func addedPath(server string) string { return filepath.Join(evidenceDir, kit.Folder(server)) }

// keep writes what was added, and removes what that stands in place of.
func (s *store) keep(server string, found *additions) error {
	var files [][]byte
	for _, x := range found.bundles {
		files = append(files, x.data)
	}
	for _, x := range found.status {
		files = append(files, x.data)
	}
	return s.exclusive(func() error { return s.writeAdded(kit.Folder(server), files, found.replaced...) })
}

// writeAdded writes evidence that a folder does not have yet, by its digest, all
// of it or none if it is too much, and removes what is replaced. No other process
// may write meanwhile.
func (s *store) writeAdded(folder string, files [][]byte, replaced ...lock.Digest) error {
	if len(files) == 0 {
		return nil
	}
	path := filepath.Join(evidenceDir, folder)
	if err := s.root.MkdirAll(path, 0o755); err != nil {
		return err
	}
	now, err := openStore(s.path) // the folder may be new
	if err != nil {
		return err
	}
	defer now.close()
	fresh, gone, err := now.planAdded(folder, files, replaced...)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if err := writeFile(s.root, filepath.Join(path, name), fresh[name], 0o644); err != nil {
			return err
		}
	}
	for _, name := range gone {
		if err := s.root.Remove(filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}

// planAdded returns which files are to be written to a folder, by their names,
// and which are to be removed. Too much is an error.
func (s *store) planAdded(folder string, files [][]byte, replaced ...lock.Digest) (fresh map[string][]byte, gone []string, err error) {
	kept, err := s.addedNames(folder)
	if err != nil {
		return nil, nil, err
	}
	fresh = map[string][]byte{}
	for _, data := range files {
		if name := contentName(sha256.Sum256(data)); !slices.Contains(kept, name) {
			fresh[name] = data
		}
	}
	gone = slices.DeleteFunc(slices.Clone(kept), func(name string) bool {
		return !slices.ContainsFunc(replaced, func(d lock.Digest) bool { return name == contentName(d) })
	})
	if n := len(kept) - len(gone) + len(fresh); n > lock.MaxBundles {
		return nil, nil, tooMuchAdded(filepath.Join(evidenceDir, folder), n)
	}
	return fresh, gone, nil
}

func tooMuchAdded(path string, n int) error {
	return fail(ExitUsage, fmt.Errorf("%s has %d files or would have, and no more than %d are looked at", path, n, lock.MaxBundles), "remove those that are of no use")
}

// addedNames lists the files of a folder of added evidence. More than are looked
// at are an error: what is left out could be what forbids.
func (s *store) addedNames(name string) ([]string, error) {
	folder, err := s.folder()
	if err != nil || folder == nil {
		return nil, err
	}
	f, err := folder.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absentIn(folder, name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 10 * lock.MaxBundles
	entries, err := f.ReadDir(most + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "sha256-") && !strings.HasSuffix(e.Name(), ".tmp") {
			names = append(names, e.Name())
		}
	}
	if len(names) > lock.MaxBundles || len(entries) > most {
		return nil, tooMuchAdded(filepath.Join(evidenceDir, name), len(entries))
	}
	slices.Sort(names)
	return names, nil
}

// added reads the evidence that was added for a server.
func (s *store) added(server string) ([][]byte, error) {
	names, err := s.addedNames(kit.Folder(server))
	if err != nil {
		return nil, err
	}
	var bundles [][]byte
	for _, name := range names {
		path := filepath.Join(addedPath(server), name)
		f, err := openRegular(s.root, path)
		if err != nil {
			return nil, err
		}
		data, err := s.content(f, path, lock.MaxBundle)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, data)
	}
	return bundles, nil
}
