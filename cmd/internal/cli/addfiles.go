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
	return s.exclusive(func() error { return s.writeAdded(server, files, found.replaced...) })
}

// writeAdded writes evidence that a server does not have yet, by its digest, all
// of it or none if it is too much, and removes what is replaced. No other process
// may write meanwhile.
func (s *store) writeAdded(server string, files [][]byte, replaced ...lock.Digest) error {
	if len(files) == 0 {
		return nil
	}
	if err := s.root.MkdirAll(addedPath(server), 0o755); err != nil {
		return err
	}
	now, err := openStore(s.path) // the folder may be new
	if err != nil {
		return err
	}
	defer now.close()
	kept, err := now.addedNames(server)
	if err != nil {
		return err
	}
	gone := func(name string) bool {
		return slices.ContainsFunc(replaced, func(d lock.Digest) bool { return name == addedName(d) })
	}
	fresh := map[string][]byte{}
	for _, data := range files {
		if name := addedName(sha256.Sum256(data)); !slices.Contains(kept, name) {
			fresh[name] = data
		}
	}
	stay := slices.DeleteFunc(slices.Clone(kept), gone)
	if n := len(stay) + len(fresh); n > lock.MaxBundles {
		return fail(ExitUsage, fmt.Errorf("%s would have %d files added, and no more than %d are looked at", server, n, lock.MaxBundles), "remove those that are of no use from "+addedPath(server))
	}
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if err := writeFile(s.root, filepath.Join(addedPath(server), name), fresh[name], 0o644); err != nil {
			return err
		}
	}
	for _, name := range slices.DeleteFunc(kept, func(name string) bool { return !gone(name) }) {
		if err := s.root.Remove(filepath.Join(addedPath(server), name)); err != nil {
			return err
		}
	}
	return nil
}

// addedName is the name of a file of added evidence.
func addedName(d lock.Digest) string { return "sha256-" + d.Hex() }

// addedNames lists the files of a server's added evidence.
func (s *store) addedNames(server string) ([]string, error) {
	folder, err := s.folder()
	if err != nil || folder == nil {
		return nil, err
	}
	f, err := folder.Open(kit.Folder(server))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(10 * lock.MaxBundles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "sha256-") && !strings.HasSuffix(e.Name(), ".tmp") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// added reads the evidence that was added for a server.
func (s *store) added(server string) ([][]byte, error) {
	names, err := s.addedNames(server)
	if err != nil {
		return nil, err
	}
	var bundles [][]byte
	for _, name := range names[:min(len(names), lock.MaxBundles)] {
		path := filepath.Join(addedPath(server), name)
		f, err := s.root.Open(path)
		if err != nil {
			return nil, err
		}
		data, err := readAll(f, path, lock.MaxBundle)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		if "sha256-"+lock.Digest(sha256.Sum256(data)).Hex() != name {
			return nil, fail(ExitInvalid, fmt.Errorf("%s was changed: its content is not what its name says", path), "restore the file from version control")
		}
		bundles = append(bundles, data)
	}
	return bundles, nil
}
