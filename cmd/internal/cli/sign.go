package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
	"github.com/mcpsign/mcpsign/verify"
)

// signFlags say with what and as what a listing is signed.
type signFlags struct {
	key           string
	cert          string
	chain         string
	tsa           string
	token         string
	signingConfig string
	trustedRoot   string
	bundle        string
	version       string
	sequence      uint64
	numbered      bool // there is a sequence
	exclude       []string
}

func (a *app) signCommand() *cobra.Command {
	var f signFlags
	cmd := &cobra.Command{
		Use:   "sign NAME SOURCE --bundle FILE",
		Short: "Sign the definitions of a release",
		Long: `Sign every definition that a server lists with one signature: with a key, with a
certificate of one's own PKI (--cert), or keyless (--identity-token). The bundle
is verified as a host would verify it before it is written. A server is started
twice, from two working directories: what it lists must be the same.

` + sourceHelp,
		Example: `  mcpsign sign io.github.acme/weather listing.json --key acme.key --bundle r.sigstore.json
  mcpsign sign NAME SOURCE --key leaf.key --cert leaf.pem --chain chain.pem --tsa URL --bundle FILE
  mcpsign sign NAME SOURCE --identity-token FILE --signing-config FILE --trusted-root FILE --bundle FILE`,
		RunE: func(cmd *cobra.Command, list []string) error {
			names, s, err := neededSource(cmd, list, 1)
			if err != nil {
				return err
			}
			f.numbered = cmd.Flags().Changed("sequence")
			return a.sign(cmd.Context(), names[0], s, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.key, "key", "", "private key (PEM); passphrase in "+passwordVariable)
	flags.StringVar(&f.cert, "cert", "", "certificate (PEM) of the key")
	flags.StringVar(&f.chain, "chain", "", "certificates (PEM) up to the root, in order")
	flags.StringVar(&f.tsa, "tsa", "", "URL of an RFC 3161 timestamp authority")
	flags.StringVar(&f.token, "identity-token", "", "file with an OpenID Connect token; signs keyless")
	flags.StringVar(&f.signingConfig, "signing-config", "", "Sigstore signing_config.json: the services for keyless")
	flags.StringVar(&f.trustedRoot, "trusted-root", "", "Sigstore trusted_root.json that the result must verify with")
	flags.StringVar(&f.bundle, "bundle", "", "file for the Sigstore bundle")
	flags.StringArrayVar(&f.exclude, "exclude", nil, "definition (kind:name) to leave unsigned (repeatable)")
	flags.StringVar(&f.version, "server-version", "", "version of the release, for people")
	flags.Uint64Var(&f.sequence, "sequence", 0, "number of the release, higher than the last; default: SOURCE_DATE_EPOCH or the commit's time")
	a.live.add(flags)
	return cmd
}

func (a *app) sign(ctx context.Context, name string, s source, f *signFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := a.mayCall(f); err != nil {
		return err
	}
	if err := lock.CheckName(name); err != nil {
		return fail(ExitUsage, err, "NAME is the name under which users know the server, io.github.acme/weather say")
	}
	// A signature that can't be kept would stay in a log for nothing.
	root, err := os.OpenRoot(filepath.Dir(f.bundle))
	if err != nil {
		return fail(ExitInternal, err, "")
	}
	defer root.Close()
	if old, err := readFile(f.bundle, maxTrustFile); err == nil && len(old) > 0 {
		if _, err := verify.Inspect(old); err != nil {
			return usage("choose another --bundle", lock.Visible(f.bundle)+" is there already, and is no bundle")
		}
	}
	listing, err := a.signable(ctx, s, f.exclude)
	if err != nil {
		return err
	}
	for _, d := range listing.Definitions {
		if err := d.CrossCheck(); err != nil {
			return fail(ExitInternal, err, "please report this with the listing")
		}
	}
	findingText(a.Stderr, lint.Check(listing, name, nil))
	statement, err := a.statement(ctx, name, listing, f)
	if err != nil {
		return err
	}
	signer, err := a.signer(f)
	if err != nil {
		return err
	}
	bundle, err := signer.Sign(ctx, statement)
	if err != nil {
		return fail(codeOf(err), err, serviceHint(err))
	}
	identity, err := a.verifyOwn(name, listing, bundle, f)
	if err != nil {
		code := ExitInvalid
		if codeOf(err) == ExitTrust {
			code = ExitTrust
		}
		return fail(code, fmt.Errorf("the new bundle does not verify, and is not written: %w", err), "")
	}
	if err := writeFile(root, filepath.Base(f.bundle), append(bundle, '\n'), 0o644); err != nil {
		return fail(ExitInternal, err, "")
	}
	return a.printSigned(name, s, f, statement, identity)
}

func serviceHint(err error) string {
	if service := (*sign.ServiceError)(nil); errors.As(err, &service) {
		return "nothing was written; try again when the service answers"
	}
	return ""
}

// check reports flags that do not go together.
func (f *signFlags) check() error {
	const ways = "sign with --key; with --key, --cert, --chain and --tsa; or with --identity-token, --signing-config and --trusted-root"
	keyless := f.token != ""
	switch {
	case f.bundle == "":
		return usage("name the file to write: --bundle NAME.sigstore.json", "--bundle is needed")
	case keyless == (f.key != ""):
		return usage(ways, "either --key or --identity-token is needed")
	case keyless && (f.signingConfig == "" || f.trustedRoot == ""):
		return usage(ways, "keyless signing needs --signing-config and --trusted-root")
	case keyless && (f.cert != "" || f.chain != "" || f.tsa != ""):
		return usage(ways, "--cert, --chain and --tsa are not for keyless signing")
	case !keyless && (f.signingConfig != "" || f.trustedRoot != ""):
		return usage(ways, "--signing-config and --trusted-root are for keyless signing")
	case f.chain != "" && f.cert == "":
		return usage(ways, "--chain needs --cert")
	case f.cert != "" && (f.tsa == "" || f.chain == ""):
		return usage(ways, "signing with a certificate needs --tsa, and --chain with the certificates up to the root")
	case f.numbered && (f.sequence == 0 || f.sequence > lock.MaxSequence):
		return usage("number the release higher than the last one", "--sequence is no number between 1 and 2^53-1")
	}
	return nil
}

// signable reads what is to be signed: all of it has a digest, and a server
// lists it at every start.
func (a *app) signable(ctx context.Context, s source, exclude []string) (*lock.Listing, error) {
	got, err := a.listing(ctx, s)
	if err != nil {
		return nil, err
	}
	listing, err := without(got.Listing, exclude)
	if err != nil {
		return nil, err
	}
	if err := refusedError(listing); err != nil {
		return nil, err
	}
	if len(s.files) == 0 {
		err = a.steady(ctx, s, listing, exclude)
	}
	return listing, err
}

// statement makes the statement about the listing.
func (a *app) statement(ctx context.Context, name string, l *lock.Listing, f *signFlags) (*attest.Statement, error) {
	sequence := f.sequence
	if !f.numbered {
		var err error
		if sequence, err = a.defaultSequence(ctx); err != nil {
			return nil, err
		}
	}
	kinds := map[lock.Kind]bool{}
	for _, k := range l.Kinds {
		kinds[k] = true
	}
	complete := true
	for _, d := range l.Definitions {
		complete = complete && kinds[d.Kind()]
	}
	release := attest.Release{
		Server: name, Version: f.version, Sequence: sequence, Complete: complete,
		ProtocolVersion: l.ProtocolVersion, IssuedAt: a.Now().UTC().Truncate(time.Second),
	}
	for _, d := range l.Definitions {
		kinds[d.Kind()] = true
	}
	for _, k := range lock.Kinds() {
		if kinds[k] {
			release.Kinds = append(release.Kinds, k)
		}
	}
	if !complete {
		fmt.Fprintln(a.Stderr, "note: this is not all that the server lists: the statement does not say that it is complete")
	}
	st, err := attest.Definitions(l, release)
	return st, fail(ExitNoDigest, err, "")
}

// defaultSequence is SOURCE_DATE_EPOCH, or the time of the commit that is
// checked out, so that every job of a release has the same.
func (a *app) defaultSequence(ctx context.Context) (uint64, error) {
	const hint = "number the release with --sequence; it must rise with every release"
	text, from := a.Getenv("SOURCE_DATE_EPOCH"), "SOURCE_DATE_EPOCH"
	if text == "" {
		out, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return 0, usage(hint, "the release has no number: there is no --sequence, no SOURCE_DATE_EPOCH and no Git commit")
		}
		text, from = strings.TrimSpace(string(out)), "the commit's time"
	}
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil || n == 0 {
		return 0, usage(hint, fmt.Sprintf("%s is %s, which is no number between 1 and 2^53-1", from, lock.Visible(text)))
	}
	return n, nil
}

// signer returns the signer for the flags.
func (a *app) signer(f *signFlags) (*sign.Signer, error) {
	services := sign.Services{TSA: f.tsa, Client: &http.Client{Timeout: 30 * time.Second}, Now: a.Now()}
	if f.token != "" {
		var err error
		if services.SigningConfig, err = readFile(f.signingConfig, maxTrustFile); err != nil {
			return nil, fail(ExitUsage, err, "")
		}
		// What it is for, verifyOwn does. It is read here so that nothing is
		// logged that can't be verified.
		if _, err := readTrustedRoot(f.trustedRoot); err != nil {
			return nil, fail(ExitTrust, err, "")
		}
		data, err := readFile(f.token, maxTrustFile)
		if err != nil {
			return nil, fail(ExitUsage, err, "")
		}
		token := strings.TrimSpace(string(data))
		if token == "" {
			return nil, usage("let the CI job write its identity token there", lock.Visible(f.token)+" is empty")
		}
		s, err := sign.Keyless(func(context.Context) (string, error) { return token, nil }, services)
		return s, fail(ExitUsage, err, "")
	}
	key, err := a.readKey(f.key)
	if err != nil {
		return nil, err
	}
	if f.cert == "" {
		s, err := sign.Key(key, services)
		return s, fail(ExitUsage, err, "")
	}
	leaf, above, err := f.certificates()
	if err != nil {
		return nil, err
	}
	chain := []*x509.Certificate{leaf}
	for _, c := range above {
		if !selfSigned(c) {
			chain = append(chain, c)
		}
	}
	s, err := sign.PKI(key, chain, services)
	return s, fail(ExitUsage, err, "")
}

// readTrustedRoot reads a trusted root that the new bundle can be checked with.
func readTrustedRoot(name string) ([]byte, error) {
	data, err := readFile(name, maxTrustFile)
	if err == nil && len(data) == 0 {
		err = fmt.Errorf("trusted root %s is empty", lock.Visible(name))
	}
	if err == nil {
		_, err = verify.New(nil, verify.Trust{SigstoreRoot: data})
	}
	return data, err
}

// certificates reads the leaf and the certificates above it.
func (f *signFlags) certificates() (leaf *x509.Certificate, above []*x509.Certificate, err error) {
	own, err := readCertificates(f.cert)
	if err != nil {
		return nil, nil, err
	}
	above, err = readCertificates(f.chain)
	return own[0], append(own[1:], above...), err
}

func selfSigned(c *x509.Certificate) bool {
	return string(c.RawSubject) == string(c.RawIssuer)
}

// verifyOwn verifies a new bundle as a host would, and returns the identity
// that hosts have to name. Where the flags name no root, the topmost
// certificate of the chain or of the timestamp stands for it.
func (a *app) verifyOwn(name string, l *lock.Listing, bundle []byte, f *signFlags) (verify.Identity, error) {
	trust, err := a.ownTrust(bundle, f)
	if err != nil {
		return verify.Identity{}, err
	}
	v, err := verify.New(nil, trust)
	if err != nil {
		return verify.Identity{}, err
	}
	signer, err := v.Signer(bundle)
	if err != nil {
		return verify.Identity{}, err
	}
	id := verify.IdentityOf(signer)
	if id.String() == "" {
		return id, fmt.Errorf("%s is nobody that a host can name: a reusable workflow runs for whoever calls it, sign in one of the repository itself", signer)
	}
	policy, err := verify.Require(name, id)
	if err != nil {
		return verify.Identity{}, err
	}
	if v, err = verify.New(policy, trust); err != nil {
		return verify.Identity{}, err
	}
	d := v.Decide(verify.Request{Server: name, Listing: l, Bundles: [][]byte{bundle}, At: a.Now()})
	return id, d.SignedErr()
}

func (a *app) ownTrust(bundle []byte, f *signFlags) (verify.Trust, error) {
	var trust verify.Trust
	var err error
	if f.tsa != "" {
		if trust.TSAs, err = verify.TimestampAuthorities(bundle); err != nil {
			return trust, err
		}
	}
	switch {
	case f.token != "":
		trust.SigstoreRoot, err = readFile(f.trustedRoot, maxTrustFile)
	case f.cert != "":
		_, above, certErr := f.certificates()
		trust.Roots, err = above[len(above)-1:], certErr
	default:
		key, keyErr := a.readKey(f.key)
		if keyErr != nil {
			return trust, keyErr
		}
		trust.Keys = []verify.TrustedKey{{Key: key.Public()}}
	}
	return trust, err
}

func (a *app) printSigned(name string, s source, f *signFlags, st *attest.Statement, id verify.Identity) error {
	r := st.Release()
	who := "--signer " + quoteWords([]string{id.String()})
	switch {
	case f.token != "":
		who += " --trusted-root " + quoteWords([]string{f.trustedRoot})
	case f.cert != "":
		who += " --roots ROOTS.pem --tsa-roots TSA.pem"
	default:
		who = "--key " + quoteWords([]string{f.key + ".pub"})
		if f.tsa != "" {
			who += " --tsa-roots TSA.pem"
		}
	}
	return a.emit(form{
		document: func() any {
			return map[string]any{"server": name, "bundle": f.bundle, "identity": id.String(), "sequence": r.Sequence, "definitions": len(st.Subjects())}
		},
		text: func(w io.Writer) {
			fmt.Fprintf(w, "signed   %d definitions of %s, sequence %d\n", len(st.Subjects()), name, r.Sequence)
			fmt.Fprintf(w, "signer   %s\n", lock.Visible(id.String()))
			fmt.Fprintf(w, "bundle   %s\n", lock.Visible(f.bundle))
			fmt.Fprintf(w, "verify   mcpsign verify %s %s --bundle %s\n", name, who, quoteWords([]string{f.bundle})+" "+s.String())
		},
	})
}
