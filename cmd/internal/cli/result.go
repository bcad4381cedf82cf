package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

const (
	// verifierID is what a summary calls the one who verified. Whom it comes
	// from, its signature says.
	verifierID = "https://mcpsign.github.io/verifier"
	// serverURI and the server's name are the resource that a summary is about.
	serverURI = "https://mcpsign.github.io/servers/"
)

// resultFlags say where a verification summary of each server goes, and with
// what it is signed.
type resultFlags struct {
	file, key string
	signer    signerFlags
}

func (f *resultFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "attest-result", "", "file for a verification summary (SLSA VSA) of each server, one a line")
	flags.StringVar(&f.key, "attest-key", "", "private key (PEM) to sign the summaries with, as bundles")
}

// startResult reads the key, opens the file, nil if there is none, and removes
// what an earlier run found: should this one end early, that must not pass for
// its result.
func (a *app) startResult(f *resultFlags) (*place, error) {
	if f.file == "" {
		if f.key != "" {
			return nil, usage("name the file: --attest-result FILE", "--attest-key signs what --attest-result writes")
		}
		return nil, nil
	}
	if f.signer.key = f.key; f.key != "" {
		if _, err := f.signer.private(a); err != nil {
			return nil, err
		}
	}
	p, err := newPlace("--attest-result", f.file, "verification summary", areSummaries)
	if err != nil || p.old == nil {
		return p, err
	}
	return p, fail(ExitInternal, p.root.Remove(p.name), "")
}

// areSummaries returns nil if data is what writeSummaries writes.
func areSummaries(data []byte) error {
	for _, line := range splitBundles(data, maxInspected) {
		if u, err := verify.Inspect(line); err == nil {
			line = u.Payload
		}
		st, err := attest.ParseAny(line)
		if err != nil {
			return err
		}
		if st.PredicateType() != attest.VSAType {
			return &attest.ForeignError{PredicateType: st.PredicateType()}
		}
	}
	return nil
}

// reportAttested writes the summaries and then the report, whose outcome is the
// one that counts.
func (a *app) reportAttested(ctx context.Context, r *report, to *place, flags *trustFlags, f *resultFlags) error {
	if to == nil {
		return a.report(r)
	}
	err := a.writeSummaries(ctx, r, to, flags, f)
	outcome := a.report(r)
	if outcome != nil && err != nil {
		a.note("no summary was written: " + err.Error())
	}
	if outcome != nil {
		return outcome
	}
	return err
}

// writeSummaries writes a summary for each listing that was judged, of several
// variants one each. All of a server's say PASSED, or all of them FAILED.
func (a *app) writeSummaries(ctx context.Context, r *report, to *place, flags *trustFlags, f *resultFlags) error {
	type server struct{ path, name string }
	failed := make(map[server]bool)
	for _, e := range r.entries {
		at := server{e.path, e.server}
		failed[at] = failed[at] || e.err != nil
	}
	var lines [][]byte
	for _, e := range r.entries {
		if e.judgement == nil || len(e.judgement.listing.Definitions) == 0 {
			a.note("there is no summary of " + lock.Visible(e.server) + ": nothing of it could be judged")
			continue
		}
		st, err := a.summary(r, &e, !failed[server{e.path, e.server}], flags)
		if err != nil {
			return fail(ExitInternal, fmt.Errorf("the summary of %s: %w", lock.Visible(e.server), err), "")
		}
		line := st.Bytes()
		if f.key != "" {
			made, err := a.seal(ctx, st, nil, &f.signer)
			if err != nil {
				return err
			}
			line = made.bundle
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil
	}
	// One statement alone is exactly what attest --statement signs.
	return to.write(bytes.Join(lines, []byte("\n")))
}

// summary makes the verification summary of what was judged of one server: of
// every definition that has a digest. That some have none, or are missing, is a
// reason for FAILED and has no other place in it.
func (a *app) summary(r *report, e *entry, passed bool, flags *trustFlags) (*attest.Statement, error) {
	file := r.file
	if e.file != nil {
		file = e.file
	}
	policy, err := policyOf(e.judgement, file, flags)
	if err != nil {
		return nil, err
	}
	return attest.Summarize(e.judgement.listing.Definitions, attest.VSA{
		Verifier: verifierID, TimeVerified: a.Now().UTC().Truncate(time.Second), ResourceURI: serverURI + e.server,
		Policy: policy, Passed: passed,
	})
}

// policyOf names what a server was verified by, by its SHA-256: the policy file,
// of several the lines of their digests; the policy that --key and --signer
// amount to, as JSON; or else the lockfile.
func policyOf(j *judgement, file *lock.File, flags *trustFlags) (attest.Resource, error) {
	var digests []string
	for _, x := range j.read {
		if strings.HasSuffix(x.Role, "policy") {
			digests = append(digests, x.Digest)
		}
	}
	var digest lock.Digest
	var text []byte
	var err error
	switch {
	case len(digests) == 1:
		digest, err = lock.ParseDigest(digests[0])
	case len(digests) > 1:
		slices.Sort(digests)
		text = []byte(strings.Join(digests, "\n") + "\n")
	case flags.names():
		rule := map[string]any{"servers": []string{j.server}, "signedBy": j.decision.Expected()}
		text, err = json.Marshal(map[string]any{"rules": []any{rule}, "version": 1})
	case file != nil && len(file.Servers) > 0:
		text, err = file.Format()
	default:
		err = errors.New("there is no policy that it was verified by")
	}
	if err != nil {
		return attest.Resource{}, err
	}
	if text != nil {
		digest = sha256.Sum256(text)
	}
	// A path would name a place on this machine; RFC 6920 names the content.
	uri := "ni:///sha-256;" + base64.RawURLEncoding.EncodeToString(digest[:])
	return attest.Resource{URI: uri, Digest: map[string]string{"sha256": digest.Hex()}}, nil
}
