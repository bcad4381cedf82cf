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

// keep writes what was added, by its digest.
func (s *store) keep(server string, found *additions) error {
	files := map[lock.Digest][]byte{}
	for _, x := range found.bundles {
		files[x.digest] = x.data
	}
	for _, x := range found.status {
		files[x.digest] = x.data
	}
	if len(files) == 0 {
		return nil
	}
	return s.exclusive(func() error {
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
			return slices.ContainsFunc(found.replaced, func(d lock.Digest) bool { return name == "sha256-"+d.Hex() })
		}
		stay := slices.DeleteFunc(slices.Clone(kept), gone)
		maps.DeleteFunc(files, func(d lock.Digest, _ []byte) bool { return slices.Contains(stay, "sha256-"+d.Hex()) })
		if len(stay)+len(files) > lock.MaxBundles {
			return fail(ExitUsage, fmt.Errorf("%s would have %d files added, and no more than %d are looked at", server, len(stay)+len(files), lock.MaxBundles), "remove those that are of no use from "+addedPath(server))
		}
		for _, d := range slices.SortedFunc(maps.Keys(files), lock.Digest.Compare) {
			if err := writeFile(s.root, filepath.Join(addedPath(server), "sha256-"+d.Hex()), files[d], 0o644); err != nil {
				return err
			}
		}
		for _, name := range kept {
			if gone(name) {
				if err := s.root.Remove(filepath.Join(addedPath(server), name)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

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
