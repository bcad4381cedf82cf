package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/cmd/internal/kit"
	"github.com/mcpsign/mcpsign/lock"
)

// addedPath is the folder of a server's added evidence.
func addedPath(server string) string { return filepath.Join(evidenceDir, kit.Folder(server)) }

// keep writes what was added and what it was verified with, and removes what it
// stands in place of.
func (s *store) keep(server string, found *additions) error {
	var files []kit.Added
	for _, x := range found.bundles {
		files = append(files, kit.Added{Data: x.data})
		for _, t := range x.trust {
			files = append(files, kit.Added{Data: t, Trust: true})
		}
	}
	for _, x := range found.status {
		files = append(files, kit.Added{Data: x.data})
	}
	return s.exclusive(func() error { return s.writeAdded(kit.Folder(server), files, found.replaced...) })
}

// writeAdded writes files that a folder does not have yet, by their digests, all
// of them or none if it is too much, and removes the evidence that is replaced.
// What it was verified with stays. No other process may write meanwhile.
func (s *store) writeAdded(folder string, files []kit.Added, replaced ...lock.Digest) error {
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
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(fresh))) { // trust before what needs it
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
func (s *store) planAdded(folder string, files []kit.Added, replaced ...lock.Digest) (fresh map[string][]byte, gone []string, err error) {
	there, err := s.addedNames(folder)
	if err != nil {
		return nil, nil, err
	}
	fresh = map[string][]byte{}
	for _, f := range files {
		if name := f.Base(); !slices.Contains(there, name) {
			fresh[name] = f.Data
		}
	}
	gone = slices.DeleteFunc(slices.Clone(there), func(name string) bool {
		return !slices.ContainsFunc(replaced, func(d lock.Digest) bool { return name == contentName(d) })
	})
	after := slices.DeleteFunc(there, func(name string) bool { return slices.Contains(gone, name) })
	return fresh, gone, checkAdded(folder, slices.AppendSeq(after, maps.Keys(fresh)))
}

// checkAdded reports too many files of a kind.
func checkAdded(folder string, names []string) error {
	for _, prefix := range []string{kit.EvidencePrefix, kit.TrustPrefix} {
		n := 0
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				n++
			}
		}
		if n > lock.MaxBundles {
			return tooMuchAdded(filepath.Join(evidenceDir, folder), n)
		}
	}
	return nil
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
	err = folderAt(folder, name)
	var f *os.File
	if err == nil {
		f, err = folder.Open(name)
	}
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
		known := strings.HasPrefix(e.Name(), kit.EvidencePrefix) || strings.HasPrefix(e.Name(), kit.TrustPrefix)
		if known && !strings.HasSuffix(e.Name(), ".tmp") {
			names = append(names, e.Name())
		}
	}
	if len(entries) > most {
		return nil, tooMuchAdded(filepath.Join(evidenceDir, name), len(entries))
	}
	slices.Sort(names)
	return names, checkAdded(name, names)
}

// added reads the files that were added for a server.
func (s *store) added(server string) ([]kit.Added, error) {
	folder := kit.Folder(server)
	names, err := s.addedNames(folder)
	if err != nil {
		return nil, err
	}
	var files []kit.Added
	for _, name := range names {
		path := filepath.Join(addedPath(server), name)
		f, err := openRegular(s.root, path)
		if err != nil {
			return nil, err
		}
		x := kit.Added{Folder: folder, Trust: strings.HasPrefix(name, kit.TrustPrefix)}
		limit := int64(lock.MaxBundle)
		if x.Trust {
			limit = maxTrustFile
		}
		if x.Data, err = s.content(f, path, limit); err != nil {
			return nil, err
		}
		files = append(files, x)
	}
	return files, nil
}
