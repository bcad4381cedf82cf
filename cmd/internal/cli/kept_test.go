package cli

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/mcptest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// revokedRelease makes a folder with a release that is revoked by a list that was
// added.
func revokedRelease(t *testing.T, u *user) {
	private, public := keyFiles()
	write(t, ".", map[string]string{"k": private, "k.pub": public, "l.json": `[{"name":"echo"}]`})
	u.must(ExitYes, "sign", "weather", "l.json", "--key", "k", "--sequence", "2", "--bundle", "r.json")
	u.must(ExitYes, "revoke", "weather", "r.json", "--number", "1", "--next-update", "90d", "--key", "k", "--bundle", "list.json")
}

// A list that was added is obeyed whatever else is named: one bundle, or as many
// as can be named.
func TestAddedListIsObeyed(t *testing.T) {
	t.Chdir(t.TempDir())
	u := newUser(t)
	revokedRelease(t, u)
	u.must(ExitYes, "add", "weather", "list.json", "--key", "k.pub")
	lines := strings.TrimSpace(readText(t, "r.json")) + "\n"
	for i := range lock.MaxBundles - 1 {
		lines += fmt.Sprintf("{\"junk\":%d}\n", i)
	}
	write(t, ".", map[string]string{"many.json": lines})
	for _, bundle := range []string{"r.json", "many.json"} {
		for _, args := range [][]string{{"verify"}, {"lock"}, {"check"}, {"approve"}} {
			r := u.run(append(args, "weather", "l.json", "--bundle", bundle, "--key", "k.pub")...)
			if r.code == ExitYes || r.code == ExitInput || !strings.Contains(r.stdout, "revoked") {
				t.Errorf("%s with %s: exit %d\n%s%s", args[0], bundle, r.code, r.stdout, r.stderr)
			}
		}
	}
	if _, err := os.Stat(defaultLock); err == nil {
		t.Error("something was pinned")
	}
}

// More added files than are looked at are an error, and a kit does not bring
// them: what is left out could be the list that forbids.
func TestAddedListIsNotCrowdedOut(t *testing.T) {
	base := t.TempDir()
	write(t, base, map[string]string{"mine/": "", "theirs/": ""})
	t.Chdir(filepath.Join(base, "mine"))
	u := newUser(t)
	revokedRelease(t, u)
	u.must(ExitYes, "lock", "weather", "l.json", "--bundle", "r.json", "--key", "k.pub")
	locked := contents(t, ".")
	u.must(ExitYes, "add", "weather", "list.json", "--key", "k.pub")
	u.must(ExitOutdated, "verify", "weather")
	mine := contents(t, ".")

	t.Chdir(filepath.Join(base, "theirs"))
	write(t, ".", locked)
	junk := func(n int) {
		for i := range n {
			text := fmt.Sprintf("junk %d", i)
			write(t, ".", map[string]string{filepath.Join(addedPath("weather"), contentName(sha256.Sum256([]byte(text)))): text})
		}
	}
	junk(lock.MaxBundles)
	u.must(ExitYes, "bundle", "pack", "--out", filepath.Join(base, "kit.tar"))
	t.Chdir(filepath.Join(base, "mine"))
	if r := u.must(ExitUsage, "bundle", "unpack", filepath.Join(base, "kit.tar")); !strings.Contains(r.stderr, "has 65 files or would have") {
		t.Error(r.stderr)
	}
	if after := contents(t, "."); len(after) != len(mine) {
		t.Errorf("%d files were unpacked", len(after)-len(mine))
	}
	u.must(ExitOutdated, "verify", "weather")
	junk(lock.MaxBundles)
	u.must(ExitUsage, "verify", "weather")
	u.must(ExitUsage, "check", "weather", "l.json")
}

// A lockfile brings its own root along: what it vouches for is remembered of that
// lockfile alone, and takes nothing away from others.
func TestForeignRootPoisonsNothing(t *testing.T) {
	const email, issuer = "release@acme.example", "https://issuer.example"
	const high = "9007199254740991"
	id, signer := sigtest.Email(email, issuer), "email:"+email+"@"+issuer
	server := httptest.NewServer(mcptest.HTTP("plain"))
	defer server.Close()
	keyless := []string{"--identity-token", "token", "--signing-config", "cfg.json", "--trusted-root", "root.json"}
	named := []string{"--signer", signer, "--trusted-root", "root.json"}
	project := func(u *user, sequence string) {
		t.Helper()
		s := sigtest.New()
		t.Cleanup(s.Listen())
		dir := t.TempDir()
		t.Chdir(dir)
		write(t, ".", map[string]string{"root.json": string(s.TrustedRoot()), "cfg.json": string(s.SigningConfig(sigtest.WithFulcio | sigtest.WithRekorV2 | sigtest.WithTSA)),
			"token": s.Fulcio.Token(id) + "\n", "other.json": `[{"name":"other"}]`})
		u.must(ExitYes, append([]string{"sign", "weather", server.URL, "--sequence", sequence, "--bundle", "b.json"}, keyless...)...)
		u.must(ExitYes, append([]string{"lock", "weather", server.URL, "--bundle", "b.json"}, named...)...)
	}
	for _, tt := range []struct {
		name string
		make func(*user)
		want ExitCode // in the checkout
	}{
		{"a list", func(evil *user) {
			evil.must(ExitYes, append([]string{"revoke", "weather", "--number", high, "--next-update", "9000h", "--bundle", "l.json"}, keyless...)...)
			evil.must(ExitYes, append([]string{"add", "weather", "l.json"}, named...)...)
		}, ExitYes},
		{"a contradiction", func(evil *user) {
			evil.must(ExitYes, append([]string{"sign", "weather", "other.json", "--sequence", high, "--bundle", "b2.json"}, keyless...)...)
			evil.must(ExitYes, append([]string{"add", "weather", "b2.json"}, named...)...)
		}, ExitOutdated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u, evil := newUser(t), newUser(t)
			project(evil, high)
			tt.make(evil)
			checkout, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			project(u, "5")
			own, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			u.must(ExitYes, "check", "weather", server.URL)
			t.Chdir(checkout)
			u.must(tt.want, "check", "weather", server.URL)
			u.must(tt.want, "check", "weather", server.URL)
			t.Chdir(own)
			u.must(ExitYes, "check", "weather", server.URL)
			u.must(ExitYes, append([]string{"check", "weather", server.URL}, named...)...)
		})
	}
}

// Someone who approves an older release does not approve a contradiction with it,
// nor forget one.
func TestDowngradeRemembersContradictions(t *testing.T) {
	t.Chdir(t.TempDir())
	server := httptest.NewServer(mcptest.HTTP("plain"))
	defer server.Close()
	u := newUser(t)
	private, public := keyFiles()
	write(t, ".", map[string]string{"k": private, "k.pub": public, "other.json": `[{"name":"other"}]`})
	for bundle, args := range map[string][]string{"a.json": {server.URL, "--sequence", "1"}, "b.json": {server.URL, "--sequence", "5"}, "c.json": {"other.json", "--sequence", "5"}} {
		u.must(ExitYes, append([]string{"sign", "weather", "--key", "k", "--bundle", bundle}, args...)...)
	}
	u.must(ExitYes, "lock", "weather", server.URL, "--bundle", "a.json", "--key", "k.pub")
	l := parse[digestDoc](t, u.must(ExitYes, "digest", "-o", "json", server.URL))
	u.must(ExitOutdated, "check", "weather", server.URL, "--bundle", "b.json", "--bundle", "c.json", "--key", "k.pub")
	approve := func(want ExitCode, bundle string, more ...string) {
		t.Helper()
		u.must(want, append([]string{"approve", "weather", server.URL, "--bundle", bundle, "--key", "k.pub", "--listing", l.ListingDigest}, more...)...)
	}
	approve(ExitOutdated, "b.json")
	approve(ExitOutdated, "b.json", "--downgrade")
	approve(ExitYes, "a.json", "--downgrade")
	approve(ExitOutdated, "b.json")
	u.must(ExitYes, "check", "weather", server.URL, "--key", "k.pub")
}

// What is held in one folder is not approved in another one.
func TestHeldElsewhere(t *testing.T) {
	server := httptest.NewServer(mcptest.HTTP("plain"))
	defer server.Close()
	u := newUser(t)
	t.Chdir(t.TempDir())
	u.must(ExitUnpinned, "check", "weather", server.URL)
	u.must(ExitInput, "approve", "weather", "--held")
	t.Chdir(t.TempDir())
	u.must(ExitUsage, "approve", "weather", "--held")
}

// A revocation list about certificates stays while the next one leaves out what
// it revokes.
func TestRevokingCRLStays(t *testing.T) {
	t.Chdir(t.TempDir())
	u := newUser(t)
	services, now := sigtest.New(), time.Now()
	ca := sigtest.NewCA("acme root", sigtest.Valid(now.Add(-240*time.Hour), now.Add(240*time.Hour)))
	uri := sigtest.URI("https://acme.example/release")
	old, fresh := ca.Leaf(sigtest.P256(), uri, sigtest.Valid(now.Add(-100*time.Hour), now.Add(-time.Hour))), ca.Leaf(sigtest.P256(), uri)
	private, _ := keyFiles()
	write(t, ".", map[string]string{"k": private, "good.json": `[{"name":"echo"}]`, "bad.json": `[{"name":"evil"}]`,
		"root.pem": string(sigtest.CertPEM(ca.Certificate)), "tsa.pem": string(sigtest.CertPEM(services.TSA.CA.Certificate)),
		"policy.yaml": "version: 1\npublishers: {acme: {x509: {roots: [root.pem], tsaRoots: [tsa.pem], san: 'uri:https://acme.example/release', status: required}}}\nrules: [{servers: [weather], signedBy: [acme]}]\n"})
	resign := func(listing string, sequence int, leaf *sigtest.Leaf) string {
		t.Helper()
		u.must(ExitYes, "sign", "weather", listing, "--key", "k", "--sequence", fmt.Sprint(sequence), "--bundle", "plain")
		return string(sigtest.Unchecked{Payload: payloadOf(t, "plain"), Key: leaf.Key, Chain: leaf.Chain[:1], TSA: services.TSA}.Bundle())
	}
	good := resign("good.json", 1, fresh)
	services.Clock.Set(now.Add(-2 * time.Hour)) // after the revocation, before the end of the certificate
	list := func(age time.Duration, revoked ...*sigtest.Leaf) string {
		var certs []*x509.Certificate
		for _, l := range revoked {
			certs = append(certs, l.Certificate())
		}
		return string(ca.CRL(now.Add(-age), now.Add(48*time.Hour), now.Add(-3*time.Hour), certs...).Raw)
	}
	write(t, ".", map[string]string{"good.sigstore": good, "bad.sigstore": resign("bad.json", 2, old),
		"one.crl": list(30*time.Minute, old), "two.crl": list(time.Minute), "three.crl": list(time.Second, old)})
	kept := func(want int) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(addedPath("weather"), "sha256-*"))
		if err != nil || len(files) != want {
			t.Errorf("%d files are kept, %v, want %d", len(files), err, want)
		}
	}
	for i, file := range []string{"one.crl", "two.crl", "three.crl"} {
		u.must(ExitYes, "add", "weather", "good.sigstore", file, "--policy", "policy.yaml")
		u.must(ExitOutdated, "verify", "weather", "bad.json", "--bundle", "bad.sigstore", "--policy", "policy.yaml")
		kept([]int{2, 3, 2}[i])
	}
}

// payloadOf returns what was signed.
func payloadOf(t *testing.T, bundle string) []byte {
	t.Helper()
	u, err := verify.Inspect([]byte(readText(t, bundle)))
	if err != nil {
		t.Fatal(err)
	}
	return u.Payload
}

// A pipe in the place of the evidence or the lockfile is an error, and not waited
// for.
func TestPipeIsNoEvidence(t *testing.T) {
	mkfifo, err := exec.LookPath("mkfifo")
	if err != nil {
		t.Skip("there is no mkfifo: ", err)
	}
	t.Chdir(t.TempDir())
	u := newUser(t)
	revokedRelease(t, u)
	u.must(ExitYes, "lock", "weather", "l.json", "--bundle", "r.json", "--key", "k.pub")
	u.must(ExitYes, "add", "weather", "list.json", "--key", "k.pub")
	files, err := filepath.Glob(".mcpsign/sha256-*")
	if err != nil {
		t.Fatal(err)
	}
	added, err := filepath.Glob(".mcpsign/for-*/sha256-*")
	if err != nil || len(files) == 0 || len(added) != 1 {
		t.Fatal(files, added, err)
	}
	for _, name := range append(append(files, added...), defaultLock) {
		content := readText(t, name)
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(mkfifo, name).CombinedOutput(); err != nil {
			t.Fatalf("mkfifo: %v\n%s", err, out)
		}
		if r := u.run("verify"); r.code == ExitYes || !strings.Contains(r.stderr, "is not a regular file") {
			t.Errorf("with a pipe for %s: exit %d\n%s", name, r.code, r.stderr)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		write(t, ".", map[string]string{name: content})
	}
	pipe := func(name string) {
		t.Helper()
		if out, err := exec.Command(mkfifo, name).CombinedOutput(); err != nil {
			t.Fatalf("mkfifo: %v\n%s", err, out)
		}
	}
	pipe(".gitattributes")
	u.must(ExitYes, "lock", "other", "l.json")
	for _, folder := range []string{filepath.Dir(added[0]), ".mcpsign"} {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		pipe(folder)
		if r := u.run("verify", "weather"); r.code == ExitYes || !strings.Contains(r.stderr, "is not a folder") {
			t.Errorf("with a pipe for %s: exit %d\n%s", folder, r.code, r.stderr)
		}
		if err := os.Remove(folder); err != nil {
			t.Fatal(err)
		}
	}
}

// One root may be that of the certificate and of its timestamp: the lockfile
// alone verifies with it.
func TestOneRootForBoth(t *testing.T) {
	t.Chdir(t.TempDir())
	u := newUser(t)
	services := sigtest.New()
	ca := services.TSA.CA
	leaf := ca.Leaf(sigtest.P256(), sigtest.URI("https://acme.example/release"))
	private, _ := keyFiles()
	write(t, ".", map[string]string{"k": private, "l.json": `[{"name":"echo"}]`, "root.pem": string(sigtest.CertPEM(ca.Certificate))})
	u.must(ExitYes, "sign", "weather", "l.json", "--key", "k", "--sequence", "1", "--bundle", "plain")
	write(t, ".", map[string]string{"b.json": string(sigtest.Unchecked{Payload: payloadOf(t, "plain"), Key: leaf.Key, Chain: leaf.Chain[:1], TSA: services.TSA}.Bundle())})
	u.must(ExitYes, "lock", "weather", "l.json", "--bundle", "b.json", "--signer", "x509:uri:https://acme.example/release", "--roots", "root.pem", "--tsa-roots", "root.pem")
	u.must(ExitYes, "verify", "--require-signed")
	u.must(ExitYes, "check", "weather", "l.json")
}
