package cli

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

const (
	defaultLock = "mcpsign.lock.json"
	evidenceDir = ".mcpsign" // beside the lockfile
)

// A store is a lockfile with the evidence beside it. It reads and writes in
// its folder only.
type store struct {
	root *os.Root
	name string // of the lockfile, in the folder
	path string // as the user gave it
	file *lock.File
	had  bool // there is a lockfile

	contents sync.Map // what content returned, by path: variants of a server have the same evidence
	material sync.Map // what parseMaterial returned, by materialID: many servers have the same

	// The folder of the evidence, opened when it is first read.
	opening  sync.Once
	evidence *os.Root // nil if there is none
	openErr  error
}

// folder opens the folder of the evidence; nil if there is none.
func (s *store) folder() (*os.Root, error) {
	s.opening.Do(func() {
		s.evidence, s.openErr = s.root.OpenRoot(evidenceDir)
		if errors.Is(s.openErr, fs.ErrNotExist) {
			s.evidence, s.openErr = nil, absentIn(s.root, evidenceDir)
		}
	})
	return s.evidence, s.openErr
}

// openStore reads the lockfile. That there is none is no error.
func (a *app) openStore() (*store, error) { return openStore(a.lock) }

func openStore(path string) (*store, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fail(ExitUsage, err, "")
	}
	s := &store{root: root, name: filepath.Base(path), path: path, file: &lock.File{}}
	f, err := openRegular(root, s.name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = absentIn(root, s.name); err == nil {
			return s, nil
		}
	}
	if err != nil {
		root.Close()
		return nil, fail(ExitUsage, err, "restore the file from version control, or name another one with --lock")
	}
	defer f.Close()
	data, err := readAll(f, path, lock.MaxListing)
	if err == nil {
		s.file, err = lock.Parse(data)
	}
	if err != nil {
		root.Close()
		hint := "restore the file from version control, as it is not written to by hand; or a newer mcpsign wrote it"
		if rewritten(data, func(lf []byte) bool { _, err := lock.Parse(lf); return err == nil }) {
			hint = mendLockHint(path)
		}
		return nil, fail(ExitUsage, fmt.Errorf("%s: %w", lock.Visible(path), err), hint)
	}
	s.had = true
	return s, nil
}

func (s *store) close() {
	if s.evidence != nil {
		s.evidence.Close()
	}
	s.root.Close()
}

// openRegular opens a file below root. What is none, a pipe say, is not opened:
// that could wait for ever.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", lock.Visible(name))
	}
	if err != nil {
		return nil, err
	}
	return root.Open(name)
}

// contentName is the name of a file, by the SHA-256 of its content.
func contentName(d lock.Digest) string { return "sha256-" + d.Hex() }

// blobName is where content lies that the lockfile names.
func blobName(d lock.Digest) string { return filepath.Join(evidenceDir, contentName(d)) }

// content reads and closes a file whose name says its content, or returns what
// it read of that path before. Path is where it lies beside the lockfile.
func (s *store) content(f *os.File, path string, limit int64) ([]byte, error) {
	if data, known := s.contents.Load(path); known {
		return data.([]byte), f.Close()
	}
	data, err := readAll(f, path, limit)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	named := func(data []byte) bool { return contentName(sha256.Sum256(data)) == filepath.Base(path) }
	if rewritten(data, named) {
		whole := filepath.Join(filepath.Dir(s.path), path)
		return nil, fail(ExitInvalid, fmt.Errorf("the line ends of %s were rewritten as CRLF: its content is not what its name says", whole), mendEvidenceHint(s.path, whole))
	}
	if !named(data) {
		return nil, fail(ExitInvalid, fmt.Errorf("%s was changed: its content is not what its name says", filepath.Join(filepath.Dir(s.path), path)),
			"restore the file from version control")
	}
	s.contents.Store(path, data)
	return data, nil
}

// blob reads content by its digest, nil if it is not there.
func (s *store) blob(d lock.Digest) ([]byte, error) {
	folder, err := s.folder()
	if err != nil || folder == nil {
		return nil, err
	}
	f, err := openRegular(folder, contentName(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil { // a link may lead out of this folder, but not out of the lockfile's
		f, err = openRegular(s.root, blobName(d))
	}
	if err != nil {
		return nil, err
	}
	return s.content(f, blobName(d), maxTrustFile)
}

// recordedBundles reads the bundles that the lock records for a server. Missing ones
// are named.
func (s *store) recordedBundles(server *lock.Server) (bundles [][]byte, missing []lock.Digest, err error) {
	if server == nil {
		return nil, nil, nil
	}
	for _, e := range server.Evidence {
		data, err := s.blob(e.Bundle)
		if err != nil {
			return nil, nil, err
		}
		if data == nil {
			missing = append(missing, e.Bundle)
			continue
		}
		bundles = append(bundles, data)
	}
	return bundles, missing, nil
}

// addRecorded adds to trust what the lock records for a server. For the
// built-in rule, which asks for the signer recorded then, that is all of it;
// under a policy it is keys only: an identity names a key by its digest, so
// that the bytes bring no authority, and a root would. It returns what was
// added, each by its role and digest.
func (s *store) addRecorded(trust *verify.Trust, server *lock.Server, builtin bool) (added []string, err error) {
	if server == nil {
		return nil, nil
	}
	for _, e := range server.Evidence {
		for _, d := range e.Trust {
			role, err := s.addMaterial(trust, e.Signer, d, builtin)
			if err != nil {
				return nil, err
			}
			if role != "" {
				added = append(added, role+d.Hex())
			}
		}
		stamps, err := s.addStamping(trust, e, builtin)
		if err != nil {
			return nil, err
		}
		if stamps {
			added = append(added, "tsa:"+e.Trust[0].Hex())
		}
	}
	return added, nil
}

// addStamping makes the root of a certificate that of its timestamps as well, if
// the lock records one for both.
func (s *store) addStamping(trust *verify.Trust, e lock.Evidence, builtin bool) (bool, error) {
	if !builtin || len(e.Trust) != 1 || e.Signer.Root != e.Trust[0].String() {
		return false, nil
	}
	data, err := s.blob(e.Bundle)
	if err != nil || data == nil {
		return false, err
	}
	u, err := verify.Inspect(data)
	if err != nil || len(u.Timestamps) == 0 {
		return false, nil // it is judged as it is
	}
	i := slices.IndexFunc(trust.Roots, func(c *x509.Certificate) bool { return sha256.Sum256(c.Raw) == e.Trust[0] })
	if i >= 0 {
		trust.TSAs = append(trust.TSAs, trust.Roots[i])
	}
	return i >= 0, nil
}

// addMaterial adds one key or root, and returns what it is; empty if it is not
// there, or not wanted.
func (s *store) addMaterial(trust *verify.Trust, signer lock.Signer, d lock.Digest, builtin bool) (role string, err error) {
	isKey := signer.Key == d.String()
	if !isKey && !builtin {
		return "", nil
	}
	id := materialID{d, isKey}
	value, known := s.material.Load(id)
	if !known {
		data, err := s.blob(d)
		if err != nil || data == nil {
			return "", err
		}
		if value, err = parseMaterial(data, isKey); err != nil {
			return "", fail(ExitTrust, fmt.Errorf("%s: %w", blobName(d), err), "")
		}
		s.material.Store(id, value)
	}
	switch v := value.(type) {
	case verify.TrustedKey:
		trust.Keys = append(trust.Keys, v)
		return "key:", nil
	case *x509.Certificate:
		if signer.Root == d.String() {
			trust.Roots = append(trust.Roots, v)
			return "root:", nil
		}
		trust.TSAs = append(trust.TSAs, v)
		return "tsa:", nil
	case []byte:
		if trust.SigstoreRoot == nil {
			trust.SigstoreRoot = v
		}
	}
	return "sigstore:", nil
}

type materialID struct {
	digest lock.Digest
	isKey  bool
}

// parseMaterial returns a verify.TrustedKey, an *x509.Certificate, or the bytes
// of a Sigstore trusted root.
func parseMaterial(data []byte, isKey bool) (any, error) {
	if isKey {
		key, err := x509.ParsePKIXPublicKey(data)
		return verify.TrustedKey{Key: key}, err
	}
	if bytes.HasPrefix(data, []byte("{")) {
		return data, nil
	}
	return x509.ParseCertificate(data)
}

// save writes content by its digest, and the lockfile last: what it names is
// there before it is named.
func (s *store) save(content [][]byte) error {
	formatted, err := s.file.Format()
	if err != nil {
		return err
	}
	if err := s.root.Mkdir(evidenceDir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, c := range content {
		if err := writeFile(s.root, blobName(sha256.Sum256(c)), c, 0o644); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o644)
	if info, err := s.root.Stat(s.name); err == nil {
		mode = info.Mode().Perm()
	}
	return writeFile(s.root, s.name, formatted, mode)
}
