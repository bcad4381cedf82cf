package cli

import (
	"bytes"
	"errors"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

// A refuser is a network in which nothing is reached. It counts who tries.
type refuser struct{ asked atomic.Int64 }

func (r *refuser) RoundTrip(*http.Request) (*http.Response, error) {
	r.asked.Add(1)
	return nil, errors.New("there is no network")
}

// noNetwork puts a refuser in the place of all HTTP connections.
func noNetwork(t *testing.T) *refuser {
	before := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = before })
	r := &refuser{}
	http.DefaultTransport = r
	return r
}

// fromFiles are commands that have all they need in files: every command there
// is, each as often as it has ways to work. They follow each other in the
// folder into which a kit was unpacked; LISTING is a digest.
const fromFiles = `
verify
verify weather --policy ../etc/policy.yaml
verify weather ../listing.json --bundle ../w.json --key ../etc/acme.pub
check weather ../listing.json
check weather ../listing.json --policy ../etc/policy.yaml --lint
inspect mcpsign.lock.json
inspect ../w.json
diff weather ../listing.json
diff ../listing.json ../listing.json
digest ../listing.json
list ../listing.json
lock other ../listing.json
approve another ../listing.json --listing LISTING
key generate --out new.key
sign weather ../listing.json --key new.key --sequence 2 --bundle new.json
attest weather ../listing.json --type https://acme.example/reviewed/v1 --predicate ../predicate.json --key new.key --bundle attested.json
revoke weather --number 1 --next-update 30d --key new.key --bundle revoked.json
add weather ../w.json --key ../etc/acme.pub
policy init
policy check ../etc/policy.yaml
policy explain weather --policy ../etc/policy.yaml
bundle pack --out kit.tar
bundle show kit.tar
bundle unpack kit.tar
version
demo
`

// fromServers are commands that ask a server or a service, each with the code
// that it ends with if it may not.
var fromServers = map[string]ExitCode{
	"list URL":                      ExitServer,
	"policy explain weather URL":    ExitServer,
	"add weather URL":               ExitService,
	"add weather --refresh":         ExitService,
	"digest URL":                    ExitServer,
	"lock third URL":                ExitServer,
	"approve weather URL":           ExitServer,
	"check weather URL":             ExitServer,
	"diff weather URL":              ExitServer,
	"verify weather URL --key K":    ExitServer,
	"sign w URL --key P --bundle b": ExitServer,
	"sign w ../listing.json --key P --tsa URL --sequence 1 --bundle b":                                                ExitService,
	"attest w ../listing.json --type https://a.example/v1 --predicate ../predicate.json --key P --tsa URL --bundle b": ExitService,
	"revoke w --number 1 --next-update 30d --key P --tsa URL --bundle b":                                              ExitService,
	"sign w ../listing.json --identity-token T --signing-config S --trusted-root R --sequence 1 --bundle b":           ExitService,
}

// prepare writes what the publisher and whoever has a network made, and leaves
// the test in the folder of a machine to which that was carried.
func prepare(t *testing.T) *user {
	t.Setenv(beVariable, "mcpsign") // for the demonstration
	t.Chdir(t.TempDir())
	private, public := keyFiles()
	services := sigtest.New()
	write(t, ".", map[string]string{
		"listing.json": `[{"name":"echo","description":"Says it again.","inputSchema":{"type":"object"}}]`,
		"acme.key":     private, "acme.pub": public,
		"token":             services.Fulcio.Token(sigtest.Email("a@acme.example", "https://accounts.example")),
		"services.json":     string(services.SigningConfig(sigtest.WithFulcio | sigtest.WithRekorV2 | sigtest.WithTSA)),
		"trusted_root.json": string(services.TrustedRoot()),
		"predicate.json":    "{}",
		"policy.yaml":       "version: 1\nrules: [{servers: ['*'], pinnedOnly: carried in by hand}]\n",
		"site/":             "", "etc/": "",
	})
	publisher := newUser(t)
	publisher.must(ExitYes, "sign", "weather", "listing.json", "--key", "acme.key", "--sequence", "1", "--bundle", "w.json")
	publisher.must(ExitYes, "lock", "weather", "listing.json", "--bundle", "w.json", "--key", "acme.pub")
	publisher.must(ExitYes, "bundle", "pack", "--out", "kit.tar", "--authority", "policy.yaml", "--authority", "acme.pub")
	t.Chdir("site")
	u := newUser(t)
	args := []string{"bundle", "unpack", "../kit.tar", "--authority-dir", "../etc"}
	for _, name := range []string{"../policy.yaml", "../acme.pub"} {
		args = append(args, "--authority", contentDocument([]byte(readText(t, name))).Digest)
	}
	u.must(ExitYes, args...)
	return u
}

// TestFilesNeedNoNetwork runs every command on files, with --offline and
// without: none tries to reach anything.
func TestFilesNeedNoNetwork(t *testing.T) {
	network := noNetwork(t)
	dialled := func() bool { return network.asked.Load() > 0 }
	runOnFiles(t, dialled)
	runOnFiles(t, dialled, "--offline")
}

func runOnFiles(t *testing.T, dialled func() bool, flags ...string) {
	u := prepare(t)
	done := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(fromFiles)) {
		args := append(strings.Fields(strings.ReplaceAll(line, "LISTING", listingDigest(t, "../listing.json"))), flags...)
		cmd, _, err := (&app{}).root().Find(args)
		if err != nil {
			t.Fatal(err)
		}
		done[cmd.CommandPath()] = true
		u.must(ExitYes, args...)
		if dialled() {
			t.Fatalf("mcpsign %s makes a connection", strings.Join(args, " "))
		}
	}
	for _, cmd := range commands((&app{}).root()) {
		if !cmd.HasSubCommands() && !done[cmd.CommandPath()] {
			t.Errorf("%s has not been run", cmd.CommandPath())
		}
	}
}

// TestOfflineDialsNothing runs commands that ask a server or a service: with
// --offline they do not try, without it they do.
func TestOfflineDialsNothing(t *testing.T) {
	network := noNetwork(t)
	u := prepare(t)
	words := strings.NewReplacer("URL", "http://weather.example/mcp", "--key K", "--key ../acme.pub", "--key P", "--key ../acme.key",
		"T --", "../token --", "S --", "../services.json --", "R --", "../trusted_root.json --")
	for _, line := range slices.Sorted(maps.Keys(fromServers)) {
		args := strings.Fields(words.Replace(line))
		r := u.must(fromServers[line], append(args, "--offline")...)
		if network.asked.Load() > 0 {
			t.Errorf("%s makes a connection", r.stderr)
		}
		if countLines(r.stderr, "error: --offline: ") != 1 || countLines(r.stderr, "hint: ") != 1 {
			t.Errorf("mcpsign %s says\n%s", strings.Join(args, " "), r.stderr)
		}
		if code := fromServers[line]; code == ExitServer {
			u.must(code, args...)
			if network.asked.Swap(0) == 0 {
				t.Errorf("mcpsign %s makes no connection", strings.Join(args, " "))
			}
		}
	}
	t.Run("programs", func(t *testing.T) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		marker := filepath.Join(t.TempDir(), "started")
		t.Setenv(beVariable, "mcpsign")
		u.must(ExitServer, "list", "--offline", "--", self, "key", "generate", "--out", marker)
		if _, err := os.Stat(marker); err == nil {
			t.Error("the program was started")
		}
		u.must(ExitServer, "list", "--", self, "key", "generate", "--out", marker)
		if _, err := os.Stat(marker); err != nil {
			t.Errorf("the program was not started without --offline: %v", err)
		}
	})
}

func listingDigest(t *testing.T, name string) string {
	l, err := lock.ParseListing([]byte(readText(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// namespaceVariable says that the test runs in a network namespace.
const namespaceVariable = "CLI_TEST_NAMESPACE"

// TestNamespace runs every command on files where there is no network, and
// asks the kernel whether anyone has tried to reach one: this process, or one
// that it started.
func TestNamespace(t *testing.T) {
	if os.Getenv(namespaceVariable) != "" {
		inNamespace(t)
		return
	}
	if out, err := exec.Command("unshare", "-rn", "cat", "/proc/self/net/snmp").CombinedOutput(); err != nil {
		t.Skipf("no network namespace to be had: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "-rn", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), namespaceVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestNamespace/files")) || !bytes.Contains(out, []byte("--- PASS: TestNamespace/servers")) {
		t.Errorf("in the namespace: %v\n%s", err, out)
	}
}

func inNamespace(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 {
			t.Fatalf("the interface %s is up", i.Name)
		}
	}
	dialled := func() bool { return unreachable(t) > 0 }
	t.Run("files", func(t *testing.T) { runOnFiles(t, dialled) })
	t.Run("servers", func(t *testing.T) {
		u := prepare(t)
		u.must(ExitServer, "check", "weather", "http://192.0.2.1/mcp", "--offline")
		if dialled() {
			t.Error("check --offline makes a connection")
		}
		u.must(ExitServer, "check", "weather", "http://192.0.2.1/mcp")
		if !dialled() {
			t.Error("the kernel has not noticed a connection")
		}
	})
}

// unreachable returns how many IPv4 packets found no route in this namespace.
func unreachable(t *testing.T) int {
	t.Helper()
	var names []string
	for line := range strings.Lines(readText(t, "/proc/self/net/snmp")) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Ip:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		if i := slices.Index(names, "OutNoRoutes"); i > 0 && i < len(fields) {
			n, err := strconv.Atoi(fields[i])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the kernel does not count packets without a route")
	return 0
}
