package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/cmd/internal/kit"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

func (a *app) addCommand() *cobra.Command {
	var flags trustFlags
	cmd := &cobra.Command{
		Use:   "add NAME FILE|URL...",
		Short: "Keep bundles of a server beside the lockfile: releases, approvals, revocations",
		Long: `Verify bundles about a server and keep them in ` + evidenceDir + `, where check, approve and
verify find them: a new release, an approval, a revocation list, an attestation.
Nothing is kept if one of them does not verify. What is kept is evidence, and
permits nothing by itself: the rule says whose counts.`,
		Example: `  mcpsign add weather weather-2.sigstore.json --key acme.pub
  mcpsign add weather https://weather.acme.example/approval.sigstore.json --policy policy.yaml`,
		RunE: func(cmd *cobra.Command, list []string) error {
			if len(list) < 2 {
				return usage("usage: "+cmd.UseLine(), "a server and a bundle are needed")
			}
			return a.add(cmd.Context(), list[0], list[1:], &flags)
		},
	}
	flags.add(a, cmd.Flags())
	return cmd
}

// An addition is a bundle that verified.
type addition struct {
	data   []byte
	digest lock.Digest
	signer lock.Signer
	what   string // predicate type
}

func (a *app) add(ctx context.Context, name string, places []string, flags *trustFlags) error {
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.close()
	name, entry, err := st.resolve(name)
	if err != nil {
		return err
	}
	v, err := flags.verifier(st, name, entry)
	if err != nil {
		return err
	}
	var additions []addition
	for _, place := range places {
		data, err := a.obtain(ctx, place)
		if err != nil {
			return err
		}
		for _, b := range splitBundles(data) {
			x, err := verifyAddition(v, name, b)
			if err != nil {
				return fail(codeOf(err), fmt.Errorf("%s: %w", lock.Visible(withoutSecretsIfURL(place)), err), "nothing was kept; look at it: mcpsign inspect FILE")
			}
			additions = append(additions, x)
		}
	}
	if err := st.keep(name, additions); err != nil {
		return err
	}
	return a.emitAdditions(name, additions)
}

func withoutSecretsIfURL(place string) string {
	if isURL(place) {
		return withoutSecrets(place)
	}
	return place
}

// verifyAddition verifies a bundle and that it is about the server.
func verifyAddition(v *verify.Verifier, server string, data []byte) (addition, error) {
	x := addition{data: data, digest: sha256.Sum256(data)}
	if len(data) > lock.MaxBundle {
		return x, fail(ExitInvalid, fmt.Errorf("a bundle has more than %d bytes", lock.MaxBundle), "")
	}
	signer, st, err := v.Statement(data)
	if err != nil {
		code := ExitInvalid
		if trust := (*verify.TrustError)(nil); errors.As(err, &trust) {
			code = ExitTrust
		}
		return x, fail(code, err, "")
	}
	x.signer, x.what = signer, st.PredicateType()
	if servers := serversOf(st); len(servers) > 0 && !slices.Contains(servers, server) {
		return x, fail(ExitWrong, fmt.Errorf("the statement is about %s, not %s", strings.Join(servers, ", "), server), "")
	}
	return x, nil
}

// serversOf returns the servers that a statement of ours is about; none for
// others, which name no server.
func serversOf(st *attest.Statement) []string {
	if approval, ok := st.Approval(); ok {
		return []string{approval.Server}
	}
	if revocation, ok := st.Revocation(); ok {
		return revocation.Servers
	}
	if st.PredicateType() == attest.PredicateType {
		return []string{st.Release().Server}
	}
	return nil
}

// obtain reads a file, or fetches a URL.
func (a *app) obtain(ctx context.Context, place string) ([]byte, error) {
	const limit = lock.MaxBundles * lock.MaxBundle
	if !isURL(place) {
		data, err := readFile(place, limit)
		return data, fail(ExitInternal, err, "")
	}
	if err := a.mayDial(ExitService, "nothing is fetched: "+withoutSecrets(place), "fetch the file by other means, and add it"); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return nil, usage("", "the URL can't be read")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fail(ExitService, fmt.Errorf("%s can't be fetched", lock.Visible(withoutSecrets(place))), "fetch the file by other means, and add it")
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fail(ExitService, fmt.Errorf("%s was answered with HTTP status %d", lock.Visible(withoutSecrets(place)), response.StatusCode), "")
	}
	data, err := readAll(response.Body, withoutSecrets(place), limit)
	return data, fail(ExitService, err, "")
}

// addedPath is the folder of a server's added evidence.
func addedPath(server string) string { return filepath.Join(evidenceDir, kit.Folder(server)) }

// keep writes what was added.
func (s *store) keep(server string, additions []addition) error {
	var bundles [][]byte
	for _, x := range additions {
		bundles = append(bundles, x.data)
	}
	return s.exclusive(func() error { return s.writeAdded(server, bundles) })
}

// writeAdded writes evidence that a server does not have yet, by its digest. No
// other process may write meanwhile.
func (s *store) writeAdded(server string, bundles [][]byte) error {
	if len(bundles) == 0 {
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
	for _, data := range bundles {
		name := "sha256-" + lock.Digest(sha256.Sum256(data)).Hex()
		if slices.Contains(kept, name) {
			continue
		}
		if kept = append(kept, name); len(kept) > lock.MaxBundles {
			return fail(ExitUsage, fmt.Errorf("%s has %d bundles added, and no more are looked at", server, lock.MaxBundles), "remove those that are of no use from "+addedPath(server))
		}
		if err := writeFile(s.root, filepath.Join(addedPath(server), name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
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

func (a *app) emitAdditions(server string, additions []addition) error {
	type doc struct {
		Bundle    string      `json:"bundle"`
		Predicate string      `json:"predicateType"`
		Signer    lock.Signer `json:"signer"`
	}
	docs := []doc{}
	for _, x := range additions {
		docs = append(docs, doc{x.digest.String(), x.what, x.signer})
	}
	return a.emit(form{
		document: func() any {
			return map[string]any{"server": server, "bundles": docs}
		},
		text: func(w io.Writer) {
			for _, x := range additions {
				fmt.Fprintf(w, "added    %s  %s, signed by %s\n", x.digest, lock.Visible(x.what), x.signer)
			}
		},
	})
}
