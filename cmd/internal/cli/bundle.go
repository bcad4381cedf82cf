package cli

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/cmd/internal/kit"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

func (a *app) bundleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bundle",
		Short:   "Carry the lockfile and its evidence to a machine without a network",
		Example: "  mcpsign bundle pack --out kit.tar",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usage("see: mcpsign bundle --help", "a command is needed: pack, show or unpack")
		},
	}
	cmd.AddCommand(a.packCommand(), a.showCommand(), a.unpackCommand())
	return cmd
}

func (a *app) packCommand() *cobra.Command {
	var out string
	var authority []string
	cmd := &cobra.Command{
		Use:   "pack --out FILE",
		Short: "Put the lockfile and the evidence it names into one file",
		Long: `Put the lockfile, the bundles, keys and roots that it names and what was added for
its servers into one file, a tar archive. The same files are always the same bytes. Policies, keys and roots
that say who may sign are only in it if --authority names them; a policy brings
the files that it names.`,
		Example: `  mcpsign bundle pack --out kit.tar
  mcpsign bundle pack --out kit.tar --authority policy.yaml --authority acme.key.pub`,
		Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return a.pack(out, authority) },
	}
	cmd.Flags().StringVar(&out, "out", "", "file for the kit")
	cmd.Flags().StringArrayVar(&authority, "authority", nil, "policy, public key or roots to carry as well (repeatable)")
	return cmd
}

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show FILE",
		Short:   "Show what is in a kit; no signature is verified",
		Example: "  mcpsign bundle show kit.tar",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, names []string) error {
			k, data, err := readKit(names[0])
			if err != nil {
				return err
			}
			doc, err := kitDocument(names[0], data, k)
			if err != nil {
				return err
			}
			return a.emit(form{document: func() any { return doc }, text: func(w io.Writer) {
				fmt.Fprintln(w, notVerified)
				doc.text(w, "")
			}})
		},
	}
}

func (a *app) pack(out string, authority []string) error {
	if out == "" {
		return usage("name the file to write: --out kit.tar", "--out is needed")
	}
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.close()
	if !st.had {
		return usage("pin a server with: "+a.next("lock", "NAME", "SOURCE"), "no lockfile "+lock.Visible(a.lock))
	}
	k := &kit.Kit{Lock: st.file}
	for _, d := range kit.Named(st.file) {
		data, err := st.blob(d)
		if err != nil {
			return err
		}
		if data == nil {
			return fail(ExitTrust, fmt.Errorf("%s is missing, which the lockfile names", lock.Visible(filepath.Join(filepath.Dir(a.lock), blobName(d)))),
				"restore "+evidenceDir+" from version control")
		}
		k.Evidence = append(k.Evidence, data)
	}
	for i := range st.file.Servers {
		name := st.file.Servers[i].Name
		added, err := st.added(name)
		if err != nil {
			return err
		}
		k.Added = append(k.Added, added...)
	}
	for _, name := range authority {
		files, err := readAuthority(name)
		if err != nil {
			return err
		}
		k.Authority = appendFiles(k.Authority, files)
	}
	data, err := k.Format()
	if err != nil {
		return fail(ExitUsage, err, "")
	}
	if err := writeKit(out, data); err != nil {
		return err
	}
	if k, err = kit.Parse(data); err != nil { // in order, and a proof that it can be unpacked
		return err
	}
	st.file = k.Lock // the same again: one of the two can go
	doc, err := kitDocument(out, data, k)
	if err != nil {
		return err
	}
	return a.emit(form{document: func() any { return doc }, text: func(w io.Writer) { doc.text(w, "") }})
}

// readAuthority reads a file that is to be carried, and if it is a policy those
// that it names.
func readAuthority(name string) ([]kit.File, error) {
	data, err := readFile(name, kit.MaxFile)
	if err != nil {
		return nil, fail(ExitTrust, err, "")
	}
	contents := map[string][]byte{filepath.Base(name): data}
	if p, err := verify.ParsePolicy(name, data); err == nil {
		named, err := readBeside(name, p.Files())
		if err != nil {
			return nil, fail(ExitTrust, err, "a policy is carried with all files that it names")
		}
		maps.Copy(contents, named)
	}
	var files []kit.File
	for _, base := range slices.Sorted(maps.Keys(contents)) {
		if bytes.Contains(contents[base], []byte("PRIVATE KEY")) {
			return nil, usage("name the public key, "+lock.Visible(base)+".pub perhaps", lock.Visible(base)+" is a private key")
		}
		if err := kit.CheckName(base); err != nil {
			return nil, fail(ExitUsage, fmt.Errorf("%s: %w", lock.Visible(base), err), "rename the file")
		}
		files = append(files, kit.File{Name: base, Data: contents[base]})
	}
	return files, nil
}

// appendFiles appends the files that are not there yet.
func appendFiles(to, files []kit.File) []kit.File {
	for _, f := range files {
		if !slices.ContainsFunc(to, func(have kit.File) bool { return have.Name == f.Name && bytes.Equal(have.Data, f.Data) }) {
			to = append(to, f)
		}
	}
	return to
}

// writeKit writes a kit in the place of another one, and of nothing else.
func writeKit(name string, data []byte) error {
	if info, err := os.Stat(name); err == nil && (info.Size() > 0 || !info.Mode().IsRegular()) {
		if _, _, err := readKit(name); err != nil {
			return fail(ExitUsage, fmt.Errorf("--out is there already, and is no kit: %w", err), "choose another --out")
		}
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return fail(ExitInternal, err, "")
	}
	defer root.Close()
	return fail(ExitInternal, writeFile(root, filepath.Base(name), data, 0o644), "")
}

// readKit reads a kit and its bytes.
func readKit(name string) (*kit.Kit, []byte, error) {
	if info, err := os.Stat(name); err == nil && info.Size() > kit.MaxSize { // so that it is not read for nothing
		return nil, nil, fail(ExitInvalid, fmt.Errorf("%s has %d bytes, a kit at most %d", lock.Visible(name), info.Size(), kit.MaxSize), "")
	}
	data, err := readFile(name, kit.MaxSize)
	if err != nil {
		return nil, nil, fail(ExitInternal, err, "")
	}
	k, err := kit.Parse(data)
	if err != nil {
		return nil, nil, fail(ExitInvalid, fmt.Errorf("%s: %w", lock.Visible(name), err), "name a kit, which is a file that bundle pack wrote and nobody changed")
	}
	return k, data, nil
}

// The JSON of bundle pack, show and unpack.
type (
	kitDoc struct {
		Status    string       `json:"status"`
		Archive   string       `json:"archive"`
		Digest    string       `json:"digest"`
		Lockfile  lockfileDoc  `json:"lockfile"`
		Evidence  []contentDoc `json:"evidence"`
		Added     []contentDoc `json:"added,omitempty"` // evidence that was added for servers
		Trust     []contentDoc `json:"trust,omitempty"` // what that was verified with
		Authority []carriedDoc `json:"authority"`
	}
	contentDoc struct {
		Digest string `json:"digest"`
		Size   int    `json:"size"`
	}
	lockfileDoc struct {
		contentDoc
		Path    string   `json:"path,omitempty"` // where it was unpacked to
		Servers []string `json:"servers"`
	}
	carriedDoc struct {
		contentDoc
		Name string `json:"name"`
		Path string `json:"path,omitempty"` // where it was unpacked to
	}
)

func contentDocument(data []byte) contentDoc {
	return contentDoc{lock.Digest(sha256.Sum256(data)).String(), len(data)}
}

func kitDocument(name string, data []byte, k *kit.Kit) (*kitDoc, error) {
	text, err := k.Lock.Format()
	if err != nil {
		return nil, err
	}
	d := &kitDoc{
		Status: notVerified, Archive: name, Digest: contentDocument(data).Digest,
		Lockfile: lockfileDoc{contentDoc: contentDocument(text)},
		Evidence: []contentDoc{}, Authority: []carriedDoc{},
	}
	for _, s := range k.Lock.Servers {
		d.Lockfile.Servers = append(d.Lockfile.Servers, s.Name)
	}
	for _, e := range k.Evidence {
		d.Evidence = append(d.Evidence, contentDocument(e))
	}
	for _, x := range k.Added {
		if x.Trust {
			d.Trust = append(d.Trust, contentDocument(x.Data))
			continue
		}
		d.Added = append(d.Added, contentDocument(x.Data))
	}
	for _, f := range k.Authority {
		d.Authority = append(d.Authority, carriedDoc{contentDoc: contentDocument(f.Data), Name: f.Name})
	}
	return d, nil
}

// text prints a line a file; behind authority that is not unpacked it says
// what becomes of that.
func (d *kitDoc) text(w io.Writer, otherwise string) {
	fmt.Fprintf(w, "kit        %s  %s\n", d.Digest, lock.Visible(d.Archive))
	fmt.Fprintf(w, "lockfile   %s%s\n", d.Lockfile.Digest, unpackedTo(d.Lockfile.Path, ""))
	for _, s := range d.Lockfile.Servers {
		fmt.Fprintf(w, "server     %s\n", s)
	}
	for _, e := range d.Evidence {
		fmt.Fprintf(w, "evidence   %s  %d bytes\n", e.Digest, e.Size)
	}
	for _, e := range d.Added {
		fmt.Fprintf(w, "added      %s  %d bytes\n", e.Digest, e.Size)
	}
	for _, e := range d.Trust {
		fmt.Fprintf(w, "trust      %s  %d bytes\n", e.Digest, e.Size)
	}
	for _, f := range d.Authority {
		fmt.Fprintf(w, "authority  %s  %s%s\n", f.Digest, f.Name, unpackedTo(f.Path, otherwise))
	}
}

func unpackedTo(path, otherwise string) string {
	if path == "" {
		return otherwise
	}
	return "  unpacked to " + lock.Visible(path)
}
