package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/cmd/internal/web"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

func (a *app) addCommand() *cobra.Command {
	var flags trustFlags
	var refresh bool
	cmd := &cobra.Command{
		Use:   "add NAME [FILE|URL...] [--refresh]",
		Short: "Keep evidence about a server beside the lockfile: releases, approvals, revocations",
		Long: `Verify bundles about a server and keep them in ` + evidenceDir + `, where check, approve and
verify find them: a new release, an approval, a revocation list, an attestation.
Also revocation lists and OCSP responses (DER or PEM) about the certificates that
signed; --refresh asks the issuers for those. If a file does not verify none is kept.
What is kept permits nothing by itself: the rule says whose counts.`,
		Example: `  mcpsign add io.github.acme/weather weather-2.sigstore.json --key acme.pub
  mcpsign add io.github.acme/weather --refresh --policy policy.yaml`,
		RunE: func(cmd *cobra.Command, list []string) error {
			if len(list) < 2 && (len(list) == 0 || !refresh) {
				return usage("usage: "+cmd.UseLine(), "a server and a bundle are needed, or --refresh")
			}
			return a.add(cmd.Context(), list[0], list[1:], refresh, &flags)
		},
	}
	flags.add(a, cmd.Flags())
	cmd.Flags().BoolVar(&refresh, "refresh", false, "ask the issuers of the certificates for revocation lists and OCSP responses")
	return cmd
}

// An addition is a bundle that verified.
type addition struct {
	data   []byte
	digest lock.Digest
	trust  [][]byte // what it was verified with
	signer lock.Signer
	said   lock.Digest       // of the statement
	what   string            // predicate type
	place  string            // where it came from
	list   attest.Revocation // zero of what is none
	high   verify.HighWater  // of a release of the server; zero of what is none
}

// Additions are what is kept of one call.
type additions struct {
	bundles  []addition
	status   []addedStatus
	asked    []asked
	replaced []lock.Digest // what the status stands in place of
}

func (a *app) add(ctx context.Context, name string, places []string, refresh bool, flags *trustFlags) error {
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.close()
	name, entry, err := st.lookUp(name, flags)
	if err != nil {
		return err
	}
	if entry == nil {
		a.noteMisnamed(st, name)
	}
	v, err := flags.verifier(st, name, entry)
	if err != nil {
		return err
	}
	found, status, err := a.readAdditions(ctx, v, name, places)
	if err != nil {
		return err
	}
	of := st.sighting(name, flags.builtin())
	kept, err := st.kept(name)
	if err != nil {
		return err
	}
	bundles, err := st.atHand(name, entry, flags)
	if err != nil {
		return err
	}
	bundles, old := slices.Concat(kept.bundles, bundles), kept.status
	if err := a.replaceLists(kept.verifiers(v), of, st.sighting(name, true), found, bundles); err != nil {
		return err
	}
	for _, x := range found.bundles {
		bundles = append(bundles, x.data)
	}
	for _, s := range status {
		x, err := a.verifyStatus(v, s.der, bundles)
		if err != nil {
			return notAdded(s.place, err)
		}
		found.status = append(found.status, x)
	}
	if refresh {
		var got []addedStatus
		if found.asked, got, err = a.refresh(ctx, name, bundles, flags); err != nil {
			return err
		}
		found.status = append(found.status, got...)
	}
	found.replace(v, old, bundles)
	if err := st.keep(name, found); err != nil {
		return err
	}
	if err := a.rememberAdded(of, found); err != nil {
		return err
	}
	if err := a.emitAdditions(name, found); err != nil {
		return err
	}
	if refresh && !slices.ContainsFunc(found.asked, func(x asked) bool { return x.kept }) {
		return fail(ExitService, fmt.Errorf("none of %d places told the status of a certificate", len(found.asked)), "try again later, or get the revocation list by other means and add the file")
	}
	return nil
}

// atHand returns the bundles of a server that are recorded or named.
func (s *store) atHand(server string, entry *lock.Server, flags *trustFlags) ([][]byte, error) {
	recorded, _, err := s.recordedBundles(entry)
	if err != nil {
		return nil, err
	}
	named, err := readBundles(flags.bundles, nextFor(s.path, "add", server, "RELEASE.sigstore.json"))
	return slices.Concat(recorded, named), err
}

// A given is a status in a place, which is verified when all bundles are.
type given struct {
	place string
	der   []byte
}

// readAdditions reads all places, and verifies the bundles.
func (a *app) readAdditions(ctx context.Context, v *verify.Verifier, server string, places []string) (*additions, []given, error) {
	found := &additions{}
	var status []given
	for _, place := range places {
		data, err := a.obtain(ctx, place)
		if err != nil {
			return nil, nil, err
		}
		if isStatus(data) {
			ders, err := splitStatus(data)
			if err != nil {
				return nil, nil, notAdded(place, fail(ExitInvalid, err, statusHint(verify.BadSignature)))
			}
			for _, der := range ders {
				status = append(status, given{place, der})
			}
			continue
		}
		bundles := splitBundles(data, lock.MaxBundles)
		if len(bundles) > lock.MaxBundles {
			return nil, nil, fail(ExitInternal, fmt.Errorf("%s has more than %d bundles", lock.Visible(withoutSecretsIfURL(place)), lock.MaxBundles), "split it: add some at a time")
		}
		for i, b := range bundles {
			x, err := a.verifyAddition(v, server, b)
			if err != nil && len(bundles) > 1 {
				err = fail(codeOf(err), fmt.Errorf("bundle %d of %d: %w", i+1, len(bundles), err), hintOf(err))
			}
			if err != nil {
				return nil, nil, notAdded(place, err)
			}
			x.trust = neededFor(v, b)
			x.place = lock.Visible(withoutSecretsIfURL(place))
			found.bundles = append(found.bundles, x)
		}
	}
	return found, status, nil
}

// notAdded says of which place an error is.
func notAdded(place string, err error) error {
	place = withoutSecretsIfURL(place)
	hint := cmp.Or(hintOf(err), formatHint(err, place))
	if missing := (*verify.MissingError)(nil); hint == "" && errors.As(err, &missing) {
		hint = "nothing was kept; " + missingHint(missing.Need, false)
	}
	hint = cmp.Or(hint, "nothing was kept; look at it: mcpsign inspect "+quoteWords([]string{place}))
	return fail(codeOf(err), fmt.Errorf("%s: %w", lock.Visible(place), err), hint)
}

// replace finds what is there already and needs no more to be.
func (f *additions) replace(v *verify.Verifier, old, bundles [][]byte) {
	for _, der := range old {
		says, err := v.Status(der, bundles...)
		if err == nil && slices.ContainsFunc(f.status, func(x addedStatus) bool { return x.says.Supersedes(says) }) {
			f.replaced = append(f.replaced, sha256.Sum256(der))
		}
	}
}

func withoutSecretsIfURL(place string) string {
	if isURL(place) {
		return withoutSecrets(place)
	}
	return place
}

// verifyAddition verifies a bundle and that it is about the server.
func (a *app) verifyAddition(v *verify.Verifier, server string, data []byte) (addition, error) {
	x := addition{data: data, digest: sha256.Sum256(data)}
	if len(data) > lock.MaxBundle {
		return x, fail(ExitInvalid, fmt.Errorf("a bundle has more than %d bytes", lock.MaxBundle), "")
	}
	signer, st, err := v.Statement(data)
	if err != nil {
		code := ExitInvalid
		if codeOf(err) == ExitTrust {
			code = ExitTrust
		}
		return x, fail(code, err, "")
	}
	x.signer, x.said, x.what = signer, st.Digest(), st.PredicateType()
	x.list, _ = st.Revocation()
	if rel := st.Release(); rel.Server == server {
		x.high = verify.HighWater{Signer: signer, Sequence: rel.Sequence, Surfaces: []verify.Surface{{Variant: rel.Variant, Digest: st.Surface()}}}
	}
	if servers := serversOf(st); len(servers) > 0 && !slices.Contains(servers, server) {
		return x, fail(ExitWrong, fmt.Errorf("the statement is about %s, not %s", strings.Join(servers, ", "), server), "")
	}
	return x, fail(ExitOutdated, verify.CheckDate(st, a.Now()), "nothing was kept; if the clock of this machine is right, ask the publisher for another one")
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
	response, err := web.Do(ctx, web.Request{URL: place})
	if err != nil {
		return nil, fail(ExitService, fmt.Errorf("%s can't be fetched: %w", lock.Visible(withoutSecrets(place)), err), "fetch the file by other means, and add it")
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fail(ExitService, fmt.Errorf("%s was answered with HTTP status %d", lock.Visible(withoutSecrets(place)), response.StatusCode), "")
	}
	data, err := readAll(response.Body, withoutSecrets(place), limit)
	return data, fail(ExitService, err, "")
}

func (a *app) emitAdditions(server string, found *additions) error {
	type bundleDoc struct {
		Bundle    string      `json:"bundle"`
		Predicate string      `json:"predicateType"`
		Signer    lock.Signer `json:"signer"`
	}
	doc := struct {
		Server  string      `json:"server"`
		Bundles []bundleDoc `json:"bundles"`
		Status  []statusDoc `json:"status,omitempty"`
		Asked   []askedDoc  `json:"asked,omitempty"`
	}{Server: server, Bundles: []bundleDoc{}}
	for _, x := range found.bundles {
		doc.Bundles = append(doc.Bundles, bundleDoc{x.digest.String(), x.what, x.signer})
	}
	for _, x := range found.status {
		doc.Status = append(doc.Status, x.document())
	}
	for _, x := range found.asked {
		doc.Asked = append(doc.Asked, x.document())
	}
	return a.emit(form{
		document: func() any { return doc },
		text: func(w io.Writer) {
			fmt.Fprintf(w, "server   %s\n", server)
			for _, x := range found.asked {
				x.text(w)
			}
			for _, x := range found.bundles {
				fmt.Fprintf(w, "added    %s  %s, signed by %s\n", x.digest, lock.Visible(x.what), x.signer)
			}
			for _, x := range found.status {
				x.text(w)
			}
		},
	})
}
