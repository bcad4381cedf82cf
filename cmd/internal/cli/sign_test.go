package cli

import (
	"crypto/x509"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// TestClock turns the clock back behind the time of a verified signature: then
// nothing can be said.
func TestClock(t *testing.T) {
	t.Chdir(t.TempDir())
	private, public := keyFiles()
	services := sigtest.New()
	t.Cleanup(services.Listen())
	write(t, ".", map[string]string{
		"listing.json": `[{"name":"echo"}]`, "acme.key": private, "acme.pub": public,
		"tsa.pem": string(sigtest.CertPEM(services.TSA.CA.Certificate)),
	})
	u := newUser(t)
	sign := []string{"sign", "weather", "listing.json", "--key", "acme.key", "--tsa", services.TSAURL(), "--sequence", "1", "--bundle", "b.json"}
	u.clock = -time.Hour
	u.must(ExitTrust, sign...)
	if _, err := os.Stat("b.json"); err == nil {
		t.Error("a bundle was written that does not verify")
	}
	u.clock = 0
	u.must(ExitYes, sign...)
	for ahead, want := range map[time.Duration]ExitCode{
		0: ExitYes, 24 * time.Hour: ExitYes, -time.Minute: ExitYes, -time.Hour: ExitTrust,
	} {
		u.clock = ahead
		for _, verb := range []string{"verify", "lock"} {
			r := u.must(want, verb, "weather", "listing.json", "--key", "acme.pub", "--tsa-roots", "tsa.pem", "--bundle", "b.json", "--lock", ahead.String()+".json")
			if want != ExitYes && !(strings.Contains(r.stderr, "the clock says") && strings.Contains(r.stderr, "hint: set the clock of this machine")) {
				t.Errorf("standard error does not name the clock, or what to do:\n%s", r.stderr)
			}
		}
	}
}

// TestSignFlags has flags that do not go together, or lack something. It is said
// before a file is read: there are none.
func TestSignFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	for flags, says := range map[string]string{
		"":                                      "--bundle is needed",
		"--key k":                               "--bundle is needed",
		"--bundle b":                            "either --key or --identity-token is needed",
		"--bundle b --tsa u":                    "either --key or --identity-token is needed",
		"--bundle b --key k --identity-token t": "either --key or --identity-token is needed",
		"--bundle b --identity-token t":         "keyless signing needs --signing-config and --trusted-root",
		"--bundle b --identity-token t --signing-config c":                            "keyless signing needs --signing-config and --trusted-root",
		"--bundle b --identity-token t --trusted-root r":                              "keyless signing needs --signing-config and --trusted-root",
		"--bundle b --identity-token t --signing-config c --trusted-root r --tsa u":   "--cert, --chain and --tsa are not for keyless signing",
		"--bundle b --identity-token t --signing-config c --trusted-root r --cert c":  "--cert, --chain and --tsa are not for keyless signing",
		"--bundle b --identity-token t --signing-config c --trusted-root r --chain c": "--cert, --chain and --tsa are not for keyless signing",
		"--bundle b --key k --signing-config c":                                       "--signing-config and --trusted-root are for keyless signing",
		"--bundle b --key k --trusted-root r":                                         "--signing-config and --trusted-root are for keyless signing",
		"--bundle b --key k --chain c":                                                "--chain needs --cert",
		"--bundle b --key k --cert c":                                                 "signing with a certificate needs --tsa (or --no-timestamp), and --chain",
		"--bundle b --key k --cert c --tsa u":                                         "signing with a certificate needs --tsa (or --no-timestamp), and --chain",
		"--bundle b --key k --cert c --chain c":                                       "signing with a certificate needs --tsa (or --no-timestamp), and --chain",
		"--bundle b --key k --sequence 0":                                             "--sequence is no number between 1 and 2^53-1",
		"--bundle b --key k --sequence 9007199254740992":                              "--sequence is no number between 1 and 2^53-1",
		"--bundle b --key k --sequence -1":                                            "invalid argument",
		"--bundle b --key k --sequence 1e3":                                           "invalid argument",
		"--bundle b --key k --unknown":                                                "unknown flag",
	} {
		r := newUser(t).must(ExitUsage, append([]string{"sign", "weather", "listing.json"}, strings.Fields(flags)...)...)
		if !strings.Contains(r.stderr, says) || countLines(r.stderr, "hint: ") != 1 {
			t.Errorf("sign %s: want %q and a hint, got\n%s", flags, says, r.stderr)
		}
	}
}

// TestUnfitCertificate signs with certificates that no host accepts: the bundle
// is not written.
func TestUnfitCertificate(t *testing.T) {
	t.Chdir(t.TempDir())
	services := sigtest.New()
	t.Cleanup(services.Listen())
	root := sigtest.NewCA("root")
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	name := sigtest.URI("https://acme.example/release")
	for what, test := range map[string]struct {
		leaf *sigtest.Leaf
		want ExitCode
	}{
		"good":                       {root.Leaf(sigtest.P256(), name), ExitYes},
		"expired":                    {root.Leaf(sigtest.P256(), name, sigtest.Valid(year(2020), year(2021))), ExitInvalid},
		"not yet valid":              {root.Leaf(sigtest.P256(), name, sigtest.Valid(year(2050), year(2051))), ExitInvalid},
		"of an expired issuer":       {root.Sub("sub", sigtest.Valid(year(2020), year(2021))).Leaf(sigtest.P256(), name), ExitInvalid},
		"for something else":         {root.Leaf(sigtest.P256(), name, sigtest.EKU(x509.ExtKeyUsageServerAuth)), ExitUsage},
		"of an issuer that is no CA": {root.Sub("sub", sigtest.NoCA).Leaf(sigtest.P256(), name), ExitUsage},
	} {
		t.Run(what, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, ".", map[string]string{
				"listing.json": `[{"name":"echo"}]`,
				"leaf.key":     string(sigtest.KeyPEM(test.leaf.Key)),
				"leaf.pem":     string(sigtest.CertPEM(test.leaf.Certificate())),
				"chain.pem":    string(sigtest.CertPEM(append(test.leaf.Chain[1:], root.Certificate)...)),
			})
			r := newUser(t).must(test.want, "sign", "weather", "listing.json", "--key", "leaf.key", "--cert", "leaf.pem", "--chain", "chain.pem",
				"--tsa", services.TSAURL(), "--sequence", "1", "--bundle", "b.json")
			if _, err := os.Stat("b.json"); (err == nil) != (test.want == ExitYes) {
				t.Errorf("is there a bundle: %v\n%s%s", err == nil, r.stdout, r.stderr)
			}
		})
	}
}
