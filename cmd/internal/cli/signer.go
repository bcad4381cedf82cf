package cli

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
	"github.com/mcpsign/mcpsign/verify"
)

// signerFlags say with what a statement is signed, and where the bundle goes.
type signerFlags struct {
	key           string
	cert          string
	chain         string
	tsa           string
	noTimestamp   bool
	token         string
	signingConfig string
	trustedRoot   string
	bundle        string

	loaded crypto.Signer // the key, once it was read
}

func (f *signerFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.key, "key", "", "private key (PEM); passphrase in "+passwordVariable)
	flags.StringVar(&f.cert, "cert", "", "certificate (PEM) of the key")
	flags.StringVar(&f.chain, "chain", "", "certificates (PEM) up to the root, in order")
	flags.StringVar(&f.tsa, "tsa", "", "URL of an RFC 3161 timestamp authority")
	flags.BoolVar(&f.noTimestamp, "no-timestamp", false, "in place of --tsa with --cert: the signature ends with the certificate")
	flags.StringVar(&f.token, "identity-token", "", "file with an OpenID Connect token; signs keyless")
	flags.StringVar(&f.signingConfig, "signing-config", "", "Sigstore signing_config.json: the services for keyless")
	flags.StringVar(&f.trustedRoot, "trusted-root", "", "Sigstore trusted_root.json that the result must verify with")
	flags.StringVar(&f.bundle, "bundle", "", "file for the Sigstore bundle")
	group(flags, "Flags of the signer", "key", "cert", "chain", "tsa", "no-timestamp", "identity-token", "signing-config", "trusted-root", "bundle")
}

// check reports flags that do not go together.
func (f *signerFlags) check() error {
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
	case f.noTimestamp && (f.cert == "" || f.tsa != ""):
		return usage("leave it out", "--no-timestamp stands in the place of --tsa, with --cert")
	case f.cert != "" && (f.tsa == "" && !f.noTimestamp || f.chain == ""):
		return usage(ways, "signing with a certificate needs --tsa (or --no-timestamp), and --chain with the certificates up to the root")
	}
	return nil
}

// place is for the bundle. It is there before anything is signed: a signature
// that can't be kept would stay in a log for nothing.
func (f *signerFlags) place() (*place, error) {
	return newPlace("--bundle", f.bundle, "bundle", func(old []byte) error { _, err := verify.Inspect(old); return err })
}

// A sealed is a new bundle that verifies, and who has signed it.
type sealed struct {
	bundle []byte
	signer lock.Signer
	id     verify.Identity // that hosts have to name
}

// seal signs a statement and verifies the new bundle in full, as a host would.
// Of a release the listing is verified with it; others have none.
func (a *app) seal(ctx context.Context, st *attest.Statement, l *lock.Listing, f *signerFlags) (*sealed, error) {
	if err := a.mayCall(f); err != nil {
		return nil, err
	}
	signer, err := a.signer(f)
	if err != nil {
		return nil, err
	}
	if isTerminal(a.Stderr) && (f.token != "" || f.tsa != "" || f.signingConfig != "") {
		fmt.Fprintf(a.Stderr, "%-8s waiting for the signing services, at most %s\n", "sign", maxSigning)
	}
	bounded, cancel := context.WithTimeout(ctx, maxSigning)
	defer cancel()
	bundle, err := signer.Sign(bounded, st)
	if err != nil {
		return nil, fail(codeOf(err), err, serviceHint(err))
	}
	made, err := a.verifyOwn(st, l, bundle, f)
	if err != nil {
		code := ExitInvalid
		if codeOf(err) == ExitTrust {
			code = ExitTrust
		}
		return nil, fail(code, fmt.Errorf("the new bundle does not verify, and is not written: %w", err), "")
	}
	a.noteStamps(bundle, f)
	return made, nil
}

// maxSigning bounds how long the signing services take in all, with what is tried
// again.
const maxSigning = 2 * time.Minute

func serviceHint(err error) string {
	if wrong := (*sign.TokenError)(nil); errors.As(err, &wrong) {
		return "let the job fetch a new identity token for the audience sigstore; nothing was sent"
	}
	if unknown := (*sign.RootError)(nil); errors.As(err, &unknown) {
		return "name the trusted root that has the services of the signing config: --trusted-root FILE"
	}
	if f := (*failure)(nil); errors.As(err, &f) {
		return f.hint
	}
	if service := (*sign.ServiceError)(nil); errors.As(err, &service) {
		return "nothing was written; try again when the service answers"
	}
	return ""
}

// signer returns the signer for the flags.
func (a *app) signer(f *signerFlags) (*sign.Signer, error) {
	services := sign.Services{TSA: f.tsa, NoTimestamp: f.noTimestamp, Client: &http.Client{Timeout: 30 * time.Second}, Now: a.Now()}
	if f.token != "" {
		return f.keyless(services)
	}
	key, err := f.private(a)
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

// private reads the private key, once: to decrypt it takes a while.
func (f *signerFlags) private(a *app) (crypto.Signer, error) {
	if f.loaded != nil {
		return f.loaded, nil
	}
	var err error
	f.loaded, err = a.readKey(f.key)
	return f.loaded, err
}

func (f *signerFlags) keyless(services sign.Services) (*sign.Signer, error) {
	var err error
	if services.SigningConfig, err = readFile(f.signingConfig, maxTrustFile); err != nil {
		return nil, fail(ExitUsage, err, "")
	}
	// Nothing is logged that can't be verified, or whose signer no policy can name.
	if services.TrustedRoot, err = readTrustedRoot(f.trustedRoot); err != nil {
		return nil, err
	}
	services.Accept = nameable
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

// nameable returns an error if no policy can name whom a certificate is for.
func nameable(leaf *x509.Certificate) error {
	id, err := verify.CertificateIdentity(leaf)
	if err == nil && id.String() == "" {
		err = errors.New("no policy can name the identity of the token: it says neither which repository and ref called the workflow, nor that it is one of the repository's own")
	}
	return fail(ExitUsage, err, "sign in a workflow of the repository itself, on a branch or tag; the signature was not logged")
}

// readTrustedRoot reads a trusted root that the new bundle can be checked with.
func readTrustedRoot(name string) ([]byte, error) {
	data, err := readFile(name, maxTrustFile)
	if err == nil {
		err = checkTrustedRoot(data)
	}
	if err != nil {
		return nil, fail(ExitTrust, fmt.Errorf("trusted root %s: %w", lock.Visible(name), withoutPath(err)), formatHint(err, name))
	}
	return data, nil
}

// certificates reads the leaf and the certificates above it.
func (f *signerFlags) certificates() (leaf *x509.Certificate, above []*x509.Certificate, err error) {
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

// verifyFlags are the flags of verify with which users name the signer.
func (f *signerFlags) verifyFlags(id verify.Identity) string {
	who := "--signer " + quoteWords([]string{id.String()})
	switch {
	case f.token != "":
		return who + " --trusted-root " + quoteWords([]string{f.trustedRoot})
	case f.noTimestamp: // only a policy may say that it counts
		return "--policy POLICY.yaml"
	case f.cert != "":
		return who + " --roots ROOTS.pem --tsa-roots TSA.pem"
	}
	who = "--key " + quoteWords([]string{f.key + ".pub"})
	if f.tsa != "" {
		who += " --tsa-roots TSA.pem"
	}
	return who
}
