// Package kit keeps a lockfile and its evidence in one file, to be carried to
// a machine without a network.
//
// A kit is a tar archive (POSIX.1-1988 ustar) of regular files:
//
//	.mcpsign/for-ID/sha256-HEX   what was added for a server of the lockfile, if anything: bundles, revocation lists (DER), OCSP responses (DER)
//	.mcpsign/for-ID/trust-HEX    each key, certificate and trusted root that these were verified with
//	.mcpsign/sha256-HEX          each bundle, key and root that the lockfile names, by its SHA-256
//	authority/NAME               policies, keys and roots that whoever packed the kit named, if any
//	mcpsign.lock.json            the lockfile
//
// ID is the first 12 hexadecimal digits of the SHA-256 of the server's name.
// Nothing is missing that the lockfile names, and nothing else is there. The
// same files are always the same bytes: members are sorted by their names and
// each is there once; mode is 0644, owner, group and time are 0, names of
// owner and group, prefix and device numbers are empty; contents are padded
// with zeros to 512 bytes; two blocks of zeros end the archive, and nothing
// follows. [Parse] refuses what [Kit.Format] would not write, so that the
// SHA-256 of a kit says all that is in it, and any tar program unpacks one.
//
// A file is not empty and has at most 4 MiB, an added one 1 MiB, the lockfile at
// most 32 MiB, the kit at most 100 MiB, with at most 64 files of authority, and of a
// server 64 added ones and 64 they were verified with. NAME has 1 to 64 letters,
// digits and ._- of ASCII, the first and the last a letter or digit; no two are the
// same but for the case.
//
// No signature is checked here, and the kit brings no authority: whoever
// unpacks it says by digest which of its files may decide something.
package kit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
)

// The limits of a kit.
const (
	MaxSize      = 100 << 20        // bytes of a kit
	MaxLock      = lock.MaxLockfile // bytes of the lockfile
	MaxFile      = 4 << 20          // bytes of any other file
	MaxAuthority = 64               // files of authority
)

const (
	addedPrefix     = ".mcpsign/for-"
	evidencePrefix  = ".mcpsign/sha256-"
	authorityPrefix = "authority/"
	lockName        = "mcpsign.lock.json"
)

// A Kit is what an archive holds.
type Kit struct {
	Lock      *lock.File
	Evidence  [][]byte // what Named names, each once; Parse returns it sorted by SHA-256
	Added     []Added  // Parse returns it sorted by folder, SHA-256
	Authority []File   // Parse returns it sorted by name
}

// An Added is evidence that was added for a server: a bundle, or a revocation
// list or OCSP response about its certificates. With Trust it is what such was
// verified with: a key (PKIX DER), a certificate (DER) or a Sigstore trusted root
// (JSON).
type Added struct {
	Folder string // Folder of the server's name
	Data   []byte
	Trust  bool
}

// Folder returns the folder, in the one of the evidence, of the bundles that
// were added for a server.
func Folder(server string) string {
	return "for-" + lock.Digest(sha256.Sum256([]byte(server))).Hex()[:12]
}

// Prefixes of the names of added files.
const (
	EvidencePrefix = "sha256-"
	TrustPrefix    = "trust-"
)

// Base returns the name of the file in its folder.
func (a Added) Base() string {
	prefix := EvidencePrefix
	if a.Trust {
		prefix = TrustPrefix
	}
	return prefix + lock.Digest(sha256.Sum256(a.Data)).Hex()
}

// Name returns where the file lies beside the lockfile, with slashes.
func (a Added) Name() string { return ".mcpsign/" + a.Folder + "/" + a.Base() }

// A File is a file of authority.
type File struct {
	Name string
	Data []byte
}

// Digest returns the SHA-256 of the file's bytes.
func (f File) Digest() lock.Digest { return sha256.Sum256(f.Data) }

// Named returns the digests of the evidence that a lockfile names, sorted, each
// once.
func Named(f *lock.File) []lock.Digest {
	var ds []lock.Digest
	for _, s := range f.Servers {
		for _, e := range s.Evidence {
			ds = append(append(ds, e.Bundle), e.Trust...)
		}
	}
	slices.SortFunc(ds, lock.Digest.Compare)
	return slices.Compact(ds)
}

var authorityName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$`)

// CheckName reports why name can't be a file of authority's. It is a good one
// on every system: no folder, not hidden, no device.
func CheckName(name string) error {
	if !authorityName.MatchString(name) {
		return fmt.Errorf("name %.100q has not 1 to 64 letters, digits and ._- of ASCII, a letter or digit first and last", name)
	}
	return nil
}

// check reports what makes k no kit, but for sizes: the rules that Parse and
// Format share. The lockfile is checked by its own package.
func (k *Kit) check() error {
	named := Named(k.Lock)
	var there []lock.Digest
	for _, data := range k.Evidence {
		there = append(there, sha256.Sum256(data))
	}
	slices.SortFunc(there, lock.Digest.Compare)
	for i, d := range there {
		if i > 0 && there[i-1] == d {
			return fmt.Errorf("evidence %s is there twice", d)
		}
		if _, ok := slices.BinarySearchFunc(named, d, lock.Digest.Compare); !ok {
			return fmt.Errorf("evidence %s is not what the lockfile names", d)
		}
	}
	for _, d := range named {
		if _, ok := slices.BinarySearchFunc(there, d, lock.Digest.Compare); !ok {
			return fmt.Errorf("evidence %s is missing, which the lockfile names", d)
		}
	}
	if err := k.checkAdded(); err != nil {
		return err
	}
	if len(k.Authority) > MaxAuthority {
		return fmt.Errorf("%d files of authority, at most %d are carried", len(k.Authority), MaxAuthority)
	}
	folded := map[string]bool{}
	for _, f := range k.Authority {
		if err := CheckName(f.Name); err != nil {
			return fmt.Errorf("authority: %w", err)
		}
		name := strings.ToLower(f.Name)
		if folded[name] {
			return fmt.Errorf("authority: two files are called %s, or that but for the case", f.Name)
		}
		folded[name] = true
	}
	return nil
}

// checkAdded reports what is wrong with the bundles that were added.
func (k *Kit) checkAdded() error {
	known := map[string]bool{}
	for _, s := range k.Lock.Servers {
		known[Folder(s.Name)] = true
	}
	counts := map[string]int{}
	there := map[string]bool{}
	for _, a := range k.Added {
		name := a.Name()
		switch {
		case !known[a.Folder]:
			return fmt.Errorf("%s is of no server of the lockfile", name)
		case there[name]:
			return fmt.Errorf("%s is there twice", name)
		}
		there[name] = true
		kind := a.Folder + "/" + strconv.FormatBool(a.Trust)
		if counts[kind]++; counts[kind] > lock.MaxBundles {
			return fmt.Errorf("%s has more than %d files of a kind", a.Folder, lock.MaxBundles)
		}
	}
	return nil
}

// Parse reads a kit. It is read whole, and refused whole: the error names the
// member and its offset in bytes. What k holds are parts of data.
//
// Every SHA-256 and digest is computed again; signatures are not checked.
func Parse(data []byte) (k *Kit, err error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("kit: more than %d bytes", MaxSize)
	}
	var got Kit
	r := reader{data: data}
	for {
		m, err := r.next()
		if err != nil {
			return nil, fmt.Errorf("kit: %w", err)
		}
		if m == nil {
			break
		}
		if err := got.add(m); err != nil {
			return nil, fmt.Errorf("kit: %w", m.refuse(err))
		}
	}
	if got.Lock == nil {
		return nil, errors.New("kit: there is no " + lockName)
	}
	if err := got.check(); err != nil {
		return nil, fmt.Errorf("kit: %w", err)
	}
	return &got, nil
}

// add adds a member, whose name and size are good.
func (k *Kit) add(m *member) (err error) {
	switch m.kind {
	case lockMember:
		k.Lock, err = lock.Parse(m.data)
	case evidenceMember:
		if d := lock.Digest(sha256.Sum256(m.data)); evidencePrefix+d.Hex() != m.name {
			return fmt.Errorf("its SHA-256 is %s", d.Hex())
		}
		k.Evidence = append(k.Evidence, m.data)
	case addedMember, trustMember:
		folder, _, _ := strings.Cut(strings.TrimPrefix(m.name, ".mcpsign/"), "/")
		a := Added{folder, m.data, m.kind == trustMember}
		if a.Name() != m.name {
			return fmt.Errorf("its SHA-256 is %s", lock.Digest(sha256.Sum256(m.data)).Hex())
		}
		k.Added = append(k.Added, a)
	case authorityMember:
		if len(k.Authority) == MaxAuthority {
			return fmt.Errorf("more than %d files of authority", MaxAuthority)
		}
		k.Authority = append(k.Authority, File{strings.TrimPrefix(m.name, authorityPrefix), m.data})
	}
	return err
}

// Format returns the archive: Parse(Format(k)) is k, in order. The error says
// what makes k no kit.
func (k *Kit) Format() ([]byte, error) {
	data, err := k.format()
	if err != nil {
		return nil, fmt.Errorf("kit: %w", err)
	}
	return data, nil
}

func (k *Kit) format() ([]byte, error) {
	if k.Lock == nil {
		return nil, errors.New("there is no lockfile")
	}
	if err := k.check(); err != nil {
		return nil, err
	}
	text, err := k.Lock.Format()
	if err != nil {
		return nil, err
	}
	files := []File{{lockName, text}}
	for _, data := range k.Evidence {
		files = append(files, File{evidencePrefix + lock.Digest(sha256.Sum256(data)).Hex(), data})
	}
	for _, a := range k.Added {
		files = append(files, File{a.Name(), a.Data})
	}
	for _, f := range k.Authority {
		files = append(files, File{authorityPrefix + f.Name, f.Data})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return archive(files)
}
