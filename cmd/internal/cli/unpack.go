package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/cmd/internal/kit"
	"github.com/mcpsign/mcpsign/lock"
)

func (a *app) unpackCommand() *cobra.Command {
	var digests []string
	var dir string
	cmd := &cobra.Command{
		Use:   "unpack FILE",
		Short: "Put the lockfile of a kit to --lock, and its evidence beside it",
		Long: `Put the lockfile of a kit to the path of --lock, and its evidence beside it in
.mcpsign. All of the kit is checked before anything is written, and no lockfile
is overwritten that differs. Signatures are not verified: that is for verify.

What a kit carries of authority is left out, but for the files whose digests
--authority gives. Whoever packed the kit tells you a digest by another route.`,
		Example: `  mcpsign bundle unpack kit.tar
  mcpsign bundle unpack kit.tar --authority sha256:DIGEST --authority-dir /etc/mcpsign`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, names []string) error { return a.unpack(names[0], digests, dir) },
	}
	cmd.Flags().StringArrayVar(&digests, "authority", nil, "`DIGEST` of a file of authority to unpack as well, sha256:HEX (repeatable)")
	cmd.Flags().StringVar(&dir, "authority-dir", "", "folder for the files of --authority")
	return cmd
}

func (a *app) unpack(name string, digests []string, dir string) error {
	k, data, err := readKit(name)
	if err != nil {
		return err
	}
	doc, err := kitDocument(name, data, k)
	if err != nil {
		return err
	}
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.close()
	if err := st.takes(k, doc); err != nil {
		return err
	}
	d, err := openDestination(k, digests, dir, filepath.Dir(a.lock))
	if err != nil {
		return err
	}
	defer d.close()
	err = st.exclusive(func() error {
		now, err := a.openStore()
		if err != nil {
			return err
		}
		defer now.close()
		if err := now.takes(k, doc); err != nil {
			return err
		}
		if err := d.write(); err != nil {
			return err
		}
		now.file = k.Lock
		for folder, files := range addedOf(k) {
			if err := now.writeAdded(folder, files); err != nil {
				return err
			}
		}
		return now.save(k.Evidence)
	})
	if err != nil {
		return err
	}
	doc.Lockfile.Path = a.lock
	d.record(doc)
	if len(d.files) < len(k.Authority) {
		a.note("what is left out decides nothing here; --authority DIGEST --authority-dir DIR unpacks it")
	}
	next := "mcpsign verify"
	if a.lock != defaultLock {
		next += " --lock " + quoteWords([]string{a.lock})
	}
	a.note("no signature is verified yet; that does: " + next)
	return a.emit(form{document: func() any { return doc }, text: func(w io.Writer) { doc.text(w, "  left out") }})
}

// addedOf returns what a kit has of added files, by their folder.
func addedOf(k *kit.Kit) map[string][]kit.Added {
	added := make(map[string][]kit.Added)
	for _, x := range k.Added {
		added[x.Folder] = append(added[x.Folder], x)
	}
	return added
}

// takes returns an error unless the store has no lockfile, or that of the kit,
// and room for what was added.
func (s *store) takes(k *kit.Kit, doc *kitDoc) error {
	for folder, files := range addedOf(k) {
		if _, _, err := s.planAdded(folder, files); err != nil {
			return err
		}
	}
	if !s.had {
		return nil
	}
	text, err := s.file.Format()
	if err == nil && contentDocument(text).Digest != doc.Lockfile.Digest {
		err = usage("compare them: unpack the kit with --lock DIR/"+defaultLock+", then: mcpsign diff OLD NEW", lock.Visible(s.path)+" is there already, and is another than the kit's")
	}
	return err
}

// A destination is a folder with the files of authority that go there.
type destination struct {
	root  *os.Root // nil if there are no files
	files []kit.File
}

// openDestination finds the files of authority that the digests name, and
// checks that each can be written.
func openDestination(k *kit.Kit, digests []string, dir, lockDir string) (*destination, error) {
	if (len(digests) == 0) != (dir == "") {
		return nil, usage("give both, or leave both out", "--authority says which files are unpacked, and --authority-dir where to")
	}
	d := &destination{}
	for _, text := range digests {
		if err := d.add(k, text); err != nil {
			return nil, err
		}
	}
	if len(d.files) == 0 {
		return d, nil
	}
	var err error
	if d.root, err = os.OpenRoot(dir); err != nil {
		return nil, fail(ExitUsage, err, "make the folder first; it is the operator's, and no checkout")
	}
	if err = d.check(lockDir); err != nil {
		d.close()
	}
	return d, err
}

// add adds the files with the digest: one, or several with the same content.
func (d *destination) add(k *kit.Kit, text string) error {
	digest, err := lock.ParseDigest(text)
	if err != nil {
		return fail(ExitUsage, fmt.Errorf("--authority: %w", err), "write sha256: and 64 hexadecimal digits")
	}
	found := false
	for _, f := range k.Authority {
		if f.Digest() != digest {
			continue
		}
		found = true
		if !slices.ContainsFunc(d.files, func(o kit.File) bool { return o.Name == f.Name }) {
			d.files = append(d.files, f)
		}
	}
	if !found {
		return fail(ExitTrust, fmt.Errorf("the kit has no file of authority with the digest %s", digest), "ask whoever packed the kit; see what it has: mcpsign bundle show KIT")
	}
	return nil
}

// check returns an error if the folder is the lockfile's, or has another file
// in the place of one.
func (d *destination) check(lockDir string) error {
	mine, err := d.root.Stat(".")
	if err != nil {
		return err
	}
	if theirs, err := os.Stat(lockDir); err == nil && os.SameFile(mine, theirs) {
		return usage("choose a folder of the operator's", "--authority-dir is the folder of the lockfile, and what decides must not lie with what is decided on")
	}
	for _, f := range d.files {
		same, err := d.has(f)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(ExitUsage, err, "")
		}
		if err == nil && !same {
			return usage("read both; to have the kit's, remove the other",
				lock.Visible(filepath.Join(d.root.Name(), f.Name))+" is there already, and is another than the kit's")
		}
	}
	return nil
}

// has reports whether what lies in the place of a file is that file.
func (d *destination) has(f kit.File) (bool, error) {
	info, err := d.root.Lstat(f.Name)
	if err != nil || !info.Mode().IsRegular() { // a pipe would be waited for
		return false, err
	}
	there, err := d.root.Open(f.Name)
	if err != nil {
		return false, err
	}
	defer there.Close()
	old, err := readUpTo(there, kit.MaxFile)
	return bytes.Equal(old, f.Data), err
}

func (d *destination) write() error {
	for _, f := range d.files {
		if err := writeFile(d.root, f.Name, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// record says in doc where the files are.
func (d *destination) record(doc *kitDoc) {
	for i := range doc.Authority {
		for _, f := range d.files {
			if f.Name == doc.Authority[i].Name {
				doc.Authority[i].Path = filepath.Join(d.root.Name(), f.Name)
			}
		}
	}
}

func (d *destination) close() {
	if d.root != nil {
		d.root.Close()
	}
}
