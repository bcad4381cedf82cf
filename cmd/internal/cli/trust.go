package cli

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/mcpsign/mcpsign/internal/certchain"
	"github.com/mcpsign/mcpsign/internal/pemfile"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// maxTrustFile is how many bytes a key, certificate or trusted root file can
// have.
const maxTrustFile = 4 << 20

// trustFlags are the flags that say who must have signed and with what that is
// checked. Nothing of it is ever looked for in the working directory.
type trustFlags struct {
	bundles     []string
	key         string
	roots       string
	tsaRoots    string
	trustedRoot []string
	signers     []string
	policy      string
	revocations []string

	app *app
	// What load has read, once for all servers.
	loaded sync.Once
	err    error
	read   []authority
	rules  *verify.Policy   // of --policy, or the user's if no flag says who must have signed
	also   []*verify.Policy // the system's
	lists  [][]byte         // revocation lists
	ids    []verify.Identity
	keyID  lock.Digest // of --key
	trust  verify.Trust

	mu        sync.Mutex
	verifiers map[string]*verify.Verifier // by the trust that the lockfile adds
}

// An authority is a file that decides who may sign, or with what that is
// checked.
type authority struct {
	Role   string `json:"role"`
	Path   string `json:"path"`
	Digest string `json:"digest"`
	Holds  string `json:"holds,omitempty"` // for certificates, if not each is a root
}

// text prints the file, and what it holds.
func (x authority) text(w io.Writer) {
	fmt.Fprintf(w, "%-8s %s  %s\n", x.Role, lock.Visible(x.Path), x.Digest)
	if x.Holds != "" {
		fmt.Fprintf(w, "%s%s\n", margin, x.Holds)
	}
}

// The roles of what a rule may or may not draw on.
const (
	roleKey      = "key"
	roleRoots    = "roots"
	roleTSAs     = "timestamp roots"
	roleSigstore = "trusted root"
)

// decided returns those of the files that a decision rests on: roots and keys
// only if a rule for the server names someone who is checked with them.
func (t *trustFlags) decided(d *verify.Decision) []authority {
	uses := d.Uses()
	return slices.DeleteFunc(slices.Clone(t.read), func(x authority) bool {
		switch x.Role {
		case roleKey:
			return !slices.Contains(uses.Keys, t.keyID)
		case roleRoots:
			return !uses.Roots
		case roleTSAs:
			return !uses.TSAs
		case roleSigstore:
			return !uses.Sigstore
		}
		return false
	})
}

// file reads a file of trust and remembers it for the report.
func (t *trustFlags) file(role, name string, limit int64) ([]byte, error) {
	data, err := readFile(name, limit)
	if err == nil {
		t.read = append(t.read, authority{Role: role, Path: name, Digest: lock.Digest(sha256.Sum256(data)).String()})
	}
	return data, err
}

func (t *trustFlags) add(a *app, f *pflag.FlagSet) {
	t.app = a
	f.StringArrayVar(&t.bundles, "bundle", nil, "file with Sigstore bundles for SOURCE (repeatable)")
	f.StringVar(&t.key, "key", "", "public key (PEM) that must have signed")
	f.StringArrayVar(&t.signers, "signer", nil, "identity that must have signed: email:, uri:, github:, gitlab:, x509: or key: (repeatable)")
	f.StringVar(&t.roots, "roots", "", "root certificates (PEM) for x509: signers, with intermediates if need be")
	f.StringVar(&t.tsaRoots, "tsa-roots", "", "certificates (PEM) of timestamp authorities: roots, and the chains below them")
	f.StringArrayVar(&t.trustedRoot, "trusted-root", nil, "Sigstore trusted_root.json for keyless signers (repeatable: each bundle needs one)")
	f.StringVar(&t.policy, "policy", "", "policy file; --key and --roots then only supply material")
	f.StringArrayVar(&t.revocations, "revocations", nil, "file with revocation lists (bundles) to obey (repeatable)")
	group(f, "Flags of trust", "bundle", "key", "signer", "roots", "tsa-roots", "trusted-root", "policy", "revocations")
}

// words repeats the flags that were given, for the next command.
func (t *trustFlags) words() string { return t.wordsWith(t.bundles) }

// wordsWith is words with other bundles.
func (t *trustFlags) wordsWith(bundles []string) string {
	var words []string
	given := func(flag string, values ...string) {
		for _, v := range values {
			if v != "" {
				words = append(words, "--"+flag, v)
			}
		}
	}
	given("policy", t.policy)
	given("key", t.key)
	given("signer", t.signers...)
	given("roots", t.roots)
	given("tsa-roots", t.tsaRoots)
	given("trusted-root", t.trustedRoot...)
	given("revocations", t.revocations...)
	given("bundle", bundles...)
	return quoteWords(words)
}

// names reports whether the flags say who must have signed.
func (t *trustFlags) names() bool { return t.policy != "" || t.key != "" || len(t.signers) > 0 }

// ruled reports whether anything says who must have signed, the policies of the
// user and the system included.
func (t *trustFlags) ruled() (bool, error) {
	t.loaded.Do(func() { t.err = t.readAll() })
	return t.names() || t.rules != nil || len(t.also) > 0, t.err
}

// restricting returns an error if the flags name roots although nothing says who
// must have signed: what the lockfile records decides then, and roots that are
// named would only seem to restrict it. With --bundle they are what that is
// checked with.
func (t *trustFlags) restricting() error {
	ruled, err := t.ruled()
	if err != nil || ruled || len(t.bundles) > 0 {
		return err
	}
	for _, f := range []struct{ name, value string }{{"--roots", t.roots}, {"--tsa-roots", t.tsaRoots}, {"--trusted-root", strings.Join(t.trustedRoot, "")}} {
		if f.value != "" {
			return usage("say who must have signed: name a policy with --policy, or for a SOURCE an identity with --signer",
				f.name+" restricts nothing by itself: without a policy or signer the lockfile says who must have signed, and with what that is checked")
		}
	}
	return nil
}

// builtin reports whether nothing but the lockfile says who must have signed,
// and with what that is checked.
func (t *trustFlags) builtin() bool {
	ruled, _ := t.ruled()
	return !ruled
}

// load reads the files. For the server called name it returns the policy that
// the flags amount to, nil if they say nothing about who must have signed.
func (t *trustFlags) load(name string) (*verify.Policy, verify.Trust, error) {
	t.loaded.Do(func() { t.err = t.readAll() })
	trust := t.trust
	trust.Keys, trust.Roots, trust.TSAs = slices.Clone(trust.Keys), slices.Clone(trust.Roots), slices.Clone(trust.TSAs)
	trust.SigstoreRoots = slices.Clone(trust.SigstoreRoots)
	if t.err != nil || t.rules != nil || len(t.ids) == 0 {
		return t.rules, trust, t.err
	}
	p, err := verify.Require(name, t.ids...)
	return p, trust, fail(ExitUsage, err, "")
}

// readAll reads all that the flags name.
func (t *trustFlags) readAll() error {
	if t.policy != "" && len(t.signers) > 0 {
		return usage("the policy says who must have signed", "--policy and --signer exclude each other")
	}
	for _, s := range t.signers {
		id, err := verify.ParseSigner(s)
		if err != nil {
			return fail(ExitUsage, err, "")
		}
		t.ids = append(t.ids, id)
	}
	if t.key != "" {
		key, err := t.publicKey()
		if err != nil {
			return err
		}
		digest, err := verify.KeyID(key.Key)
		if err != nil {
			return fail(ExitTrust, fmt.Errorf("key %s: %w", lock.Visible(t.key), err), "")
		}
		t.keyID = digest
		id, err := verify.ParseSigner("key:" + digest.String())
		if err != nil {
			return err
		}
		t.ids = append(t.ids, id)
		t.trust.Keys = append(t.trust.Keys, key)
	}
	err := t.loadRoots(&t.trust)
	if err == nil {
		t.lists, err = t.loadLists()
	}
	if err == nil {
		err = t.loadPolicies()
	}
	return err
}

// verifier returns a verifier for a server, with the trust that the lockfile
// records for it and the keys that were kept: who may sign is named by digest, so
// that a key's bytes bring no authority. Servers with the same trust share a
// verifier, and with it what was verified.
func (t *trustFlags) verifier(s *store, name string, entry *lock.Server, kept ...verify.TrustedKey) (*verify.Verifier, error) {
	policy, trust, err := t.load(name)
	if err != nil {
		return nil, err
	}
	found, err := s.addRecorded(&trust, entry, policy == nil && len(t.also) == 0)
	if err != nil {
		return nil, err
	}
	for _, k := range kept {
		digest, err := verify.KeyID(k.Key)
		if err != nil {
			return nil, fail(ExitTrust, fmt.Errorf("key kept in %s: %w", addedPath(name), err), "restore "+evidenceDir+" from version control")
		}
		trust.Keys, found = append(trust.Keys, k), append(found, "key:"+digest.Hex())
	}
	id := strings.Join(found, " ")
	if t.rules == nil && len(t.ids) > 0 {
		id = name + " " + id
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.verifiers[id]; v != nil {
		return v, nil
	}
	v, err := verify.New(policy, trust, t.also...)
	if err != nil {
		return nil, err
	}
	if t.verifiers == nil {
		t.verifiers = map[string]*verify.Verifier{}
	}
	t.verifiers[id] = v
	return v, nil
}

func (t *trustFlags) loadRoots(trust *verify.Trust) (err error) {
	if trust.Roots, err = t.certificates(roleRoots, t.roots); err != nil {
		return err
	}
	if trust.TSAs, err = t.certificates(roleTSAs, t.tsaRoots); err != nil {
		return err
	}
	for _, name := range t.trustedRoot {
		data, err := t.file(roleSigstore, name, maxTrustFile)
		if err == nil {
			err = checkTrustedRoot(data)
		}
		if err != nil {
			return fail(ExitTrust, fmt.Errorf("trusted root %s: %w", lock.Visible(name), withoutPath(err)), formatHint(err, name))
		}
		if trust.SigstoreRoot == nil {
			trust.SigstoreRoot = data
		} else {
			trust.SigstoreRoots = append(trust.SigstoreRoots, data)
		}
	}
	return nil
}

// checkTrustedRoot returns nil if data is a Sigstore trusted root, or several as
// JSON lines.
func checkTrustedRoot(data []byte) error {
	if len(data) == 0 {
		return errors.New("is empty")
	}
	_, err := verify.New(nil, verify.Trust{SigstoreRoot: data})
	if format := (*verify.FormatError)(nil); errors.As(err, &format) {
		return format
	}
	return err
}

func (t *trustFlags) publicKey() (verify.TrustedKey, error) {
	if err := checkKeyName(t.key); err != nil {
		return verify.TrustedKey{}, err
	}
	data, err := t.file(roleKey, t.key, maxTrustFile)
	if err != nil {
		return verify.TrustedKey{}, fail(ExitTrust, err, "")
	}
	b, err := pemfile.One(data, pemfile.PublicKey)
	var key any
	if err == nil {
		key, err = b.PublicKey()
	}
	if err != nil {
		return verify.TrustedKey{}, pemFailure(ExitTrust, "public key ", t.key, err, "")
	}
	return verify.TrustedKey{Key: key}, nil
}

// certificates reads the certificates of a flag; none for no file.
func (t *trustFlags) certificates(role, name string) ([]*x509.Certificate, error) {
	if name == "" {
		return nil, nil
	}
	data, err := t.file(role, name, maxTrustFile)
	if err != nil {
		return nil, fail(ExitTrust, err, "")
	}
	certs, err := parseCertificates(name, data)
	if err != nil {
		return nil, err
	}
	roots, below := certchain.Split(certs)
	for _, c := range roots {
		if !c.IsCA {
			return nil, fail(ExitTrust, fmt.Errorf("%s: certificate %d is not that of a certificate authority, and none of the others has issued it", lock.Visible(name), slices.Index(certs, c)+1),
				"name a file with the root certificate; it may hold what the root has issued as well")
		}
	}
	if len(below) > 0 {
		t.read[len(t.read)-1].Holds = fmt.Sprintf("%d trusted, %d issued by them", len(roots), len(below))
	}
	return certs, nil
}

// readCertificates reads a file with one or more certificates in PEM.
func readCertificates(name string) ([]*x509.Certificate, error) {
	data, err := readFile(name, maxTrustFile)
	if err != nil {
		return nil, fail(ExitTrust, err, "")
	}
	return parseCertificates(name, data)
}

func parseCertificates(name string, data []byte) ([]*x509.Certificate, error) {
	blocks, err := pemfile.Read(data, pemfile.Certificate)
	var certs []*x509.Certificate
	for _, b := range blocks {
		var c *x509.Certificate
		if c, err = b.Certificate(); err != nil {
			break
		}
		certs = append(certs, c)
	}
	if err != nil {
		return nil, pemFailure(ExitTrust, "", name, err, "")
	}
	return certs, nil
}

// readBundles reads the bundles of the files: one in a file, or several as JSON
// lines, each of which is judged separately. Next is the command that the hint
// gives if a file does not exist.
func readBundles(names []string, next string) ([][]byte, error) {
	var bundles [][]byte
	for _, name := range names {
		data, err := readFile(name, lock.MaxBundles*lock.MaxBundle)
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil, fail(ExitInternal, fmt.Errorf("expected a bundle in %s, found no such file", lock.Visible(name)),
					"the bundle is a file *.sigstore.json of the publisher's release; with it: "+next)
			}
			return nil, fail(ExitInternal, err, "")
		}
		bundles = append(bundles, splitBundles(data, lock.MaxBundles)...)
	}
	if len(bundles) > lock.MaxBundles {
		return nil, fail(ExitInternal, fmt.Errorf("more than %d bundles are named", lock.MaxBundles), "name the bundles of this release only")
	}
	return bundles, nil
}
