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
	"strings"
	"sync"

	"github.com/mcpsign/mcpsign/internal/certchain"
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
		if s.openErr = folderAt(s.root, evidenceDir); s.openErr == nil {
			s.evidence, s.openErr = s.root.OpenRoot(evidenceDir)
		}
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
	data, err := readAll(f, path, lock.MaxLockfile)
	if err != nil {
		root.Close()
		return nil, fail(ExitUsage, err, "restore the file from version control, or split it: pin servers in a second one with --lock")
	}
	if s.file, err = lock.Parse(data); err != nil {
		root.Close()
		hint := "restore the file from version control: it is not edited by hand; if a newer version wrote it, update mcpsign"
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

// folderAt returns an error if a name below root is not that of a folder: opening
// a FIFO could wait for ever.
func folderAt(root *os.Root, name string) error {
	info, err := root.Stat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", lock.Visible(filepath.Join(root.Name(), name)))
	}
	return err
}

// openRegular opens a file below root. Anything else is refused: opening a FIFO
// could wait for ever.
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
	named := func(data []byte) bool { return strings.HasSuffix(path, "-"+lock.Digest(sha256.Sum256(data)).Hex()) }
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
		var certs []*x509.Certificate
		for _, d := range e.Trust {
			value, err := s.recordedMaterial(e.Signer, d, builtin)
			if err != nil {
				return nil, err
			}
			switch v := value.(type) {
			case verify.TrustedKey:
				trust.Keys, added = append(trust.Keys, v), append(added, "key:"+d.Hex())
			case *x509.Certificate:
				certs = append(certs, v)
			case []byte:
				if trust.SigstoreRoot == nil && !slices.ContainsFunc(trust.SigstoreRoots, func(r []byte) bool { return bytes.Equal(r, v) }) {
					trust.SigstoreRoots = append(trust.SigstoreRoots, v) // each bundle by the one it was verified with
				}
				added = append(added, "sigstore:"+d.Hex())
			}
		}
		found, err := s.addCertificates(trust, e, certs)
		if err != nil {
			return nil, err
		}
		added = append(added, found...)
	}
	return added, nil
}

// addCertificates adds the certificates that the lock records for one statement.
// The root of the signer and what is under it are for the signature; the others
// are for the timestamps; without others the same ones are for those too.
func (s *store) addCertificates(trust *verify.Trust, e lock.Evidence, certs []*x509.Certificate) (added []string, err error) {
	add := func(role string, to *[]*x509.Certificate, certs ...*x509.Certificate) {
		for _, c := range certs {
			*to, added = append(*to, c), append(added, fmt.Sprintf("%s:%x", role, sha256.Sum256(c.Raw)))
		}
	}
	i := slices.IndexFunc(certs, func(c *x509.Certificate) bool {
		return e.Signer.Root == lock.Digest(sha256.Sum256(c.Raw)).String()
	})
	if i < 0 {
		add("tsa", &trust.TSAs, certs...)
		return added, nil
	}
	own := append([]*x509.Certificate{certs[i]}, certchain.Under(certs[i], certs)...)
	others := slices.DeleteFunc(slices.Clone(certs), func(c *x509.Certificate) bool { return slices.ContainsFunc(own, c.Equal) })
	add("root", &trust.Roots, own...)
	if len(others) > 0 {
		add("tsa", &trust.TSAs, others...)
		return added, nil
	}
	data, err := s.blob(e.Bundle)
	if err != nil || data == nil {
		return added, err
	}
	if u, err := verify.Inspect(data); err == nil && len(u.Timestamps) > 0 { // else it is judged as it is
		add("tsa", &trust.TSAs, own...)
	}
	return added, nil
}

// recordedMaterial returns a verify.TrustedKey, an *x509.Certificate, or the
// bytes of a Sigstore trusted root; nil if it is not there, or not wanted.
func (s *store) recordedMaterial(signer lock.Signer, d lock.Digest, builtin bool) (any, error) {
	isKey := signer.Key == d.String()
	if !isKey && !builtin {
		return nil, nil
	}
	id := materialID{d, isKey}
	value, known := s.material.Load(id)
	if !known {
		data, err := s.blob(d)
		if err != nil || data == nil {
			return nil, err
		}
		if value, err = parseMaterial(data, isKey); err != nil {
			return nil, fail(ExitTrust, fmt.Errorf("%s: %w", blobName(d), err), "")
		}
		s.material.Store(id, value)
	}
	return value, nil
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
