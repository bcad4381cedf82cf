package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/mcpsign/mcpsign/cmd/internal/cli"
	"github.com/mcpsign/mcpsign/internal/mcptest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
	"golang.org/x/term"
)

// TestMain makes the test binary the mcpsign that the scripts run. It is
// copied under that name, so that what os.Executable returns runs as mcpsign
// again.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mcpsign":   checkedMain,
		"mcpserver": func() { os.Exit(mcptest.Main(os.Args[1:])) },
	})
}

// checkedMain is main, but that JSON on standard output has to have the
// published schema.
func checkedMain() {
	var stdout, stderr bytes.Buffer
	system := os.Getenv("TEST_SYSTEM")   // stands for /etc/mcpsign
	database := func() (string, error) { // stands for the user database
		return os.Getenv("TEST_USER_HOME"), nil
	}
	if !slices.Contains(os.Args, "json") && system == "" && filepath.IsAbs(os.Getenv("HOME")) && (os.Getenv(following) == "" || term.IsTerminal(1) || term.IsTerminal(2)) {
		main()
	}
	code := cli.Run(context.Background(), cli.Process{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: io.MultiWriter(os.Stdout, &stdout), Stderr: io.MultiWriter(os.Stderr, &stderr), LookupEnv: os.LookupEnv, Now: time.Now,
		System: system, UserHome: database,
	})
	if bytes.HasPrefix(stdout.Bytes(), []byte("{\n  \"command\": ")) {
		if err := checkOutput(stdout.Bytes()); err != nil {
			fmt.Fprintln(os.Stderr, "error: the output does not have the published schema:", err)
			os.Exit(99)
		}
	}
	if os.Getenv(following) != "" {
		if err := follow(os.Args[1:], int(code), stderr.String()); err != nil {
			fmt.Fprintln(os.Stderr, "error: the hint is wrong:", err)
		}
	}
	os.Exit(int(code))
}

//go:embed output.schema.json
var outputSchema []byte

// checkOutput validates JSON output against the published schema.
func checkOutput(stdout []byte) error {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(outputSchema))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("output.schema.json", schema); err != nil {
		return err
	}
	compiled, err := c.Compile("output.schema.json")
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(stdout))
	if err != nil {
		return err
	}
	return compiled.Validate(doc)
}

// TestScript runs the sessions of testdata/script. They are what a user would
// type, but for the commands of script.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir+"/.home")
			e.Setenv(following, os.Getenv(following))
			// Two characters that do not show, so that scripts do.
			e.Setenv("RLO", "\u202e")
			e.Setenv("ZWSP", "\u200b")
			e.Values[servicesKey{}] = new(services)
			e.Values[issuersKey{}] = map[string]*issuerServer{}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			if path, ok := strings.CutPrefix(cond, "exists:"); ok {
				_, err := os.Stat(path)
				return err == nil, nil
			}
			return false, errors.New("unknown condition")
		},
		Cmds: script,
	})
}

// script are the commands that scripts have besides those of testscript.
var script = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits":    exits,
	"shows":    shows,
	"visible":  visible,
	"sha256":   sha256Of,
	"replace":  replace,
	"mode":     mode,
	"repin":    repin,
	"reseal":   reseal,
	"evidence": evidence,
	"identify": identify,
	"serve":    serve,
	"listing":  listingDigest,
	"reviewed": reviewedDigest,
	"origin":   origin,
	"sarif":    isSARIF,
	"schema":   isOutput,
	"embed":    embed,
	"services": startServices,
	"fault":    fault,
	"token":    token,
	"pki":      pki,
	"issuer":   issuer,
	"status":   status,
	"answers":  answers,
}

// exits runs "CODE COMMAND ARGS...", which must end with that code. A code
// other than 0 comes with one error on standard error and at most one hint; no
// output has a character that a terminal does not show.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	stderr := ts.ReadFile("stderr")
	if n := lines(stderr, "error: "); n != min(want, 1) {
		ts.Fatalf("%d errors on standard error, want %d", n, min(want, 1))
	}
	if n := lines(stderr, "hint: "); n > min(want, 1) {
		ts.Fatalf("%d hints on standard error", n)
	}
	visible(ts, false, []string{"stdout", "stderr"})
}

func lines(text, prefix string) int {
	n := 0
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, prefix) {
			n++
		}
	}
	return n
}

// shows reads "FILE TEXT...": each text must be in the file, in this order.
// The file may be stdout or stderr.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: shows FILE TEXT...")
	}
	rest := ts.ReadFile(args[0])
	for _, want := range args[1:] {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			ts.Fatalf("%s does not show %q here", args[0], want)
		}
		rest = after
	}
}

// visible fails if a file has a character that does not show: a control
// character but the line feed, a bidirectional one, a tag, or no UTF-8.
func visible(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		text := ts.ReadFile(name)
		hidden := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && lock.Hidden(r) })
		if (hidden >= 0 || !utf8.ValidString(text)) != neg {
			ts.Fatalf("%s: characters that do not show: %v, want %v: %q", name, !neg, neg, text)
		}
	}
}

// serve reads "VARIABLE BEHAVIOUR": a server that behaves like that is there
// over HTTP until the script ends, at the URL in the variable.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serve VARIABLE BEHAVIOUR")
	}
	s := httptest.NewServer(mcptest.HTTP(args[1]))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL+"/mcp")
}

// listingDigest reads "VARIABLE FILE": the variable gets the digest of the
// listing in the file.
func listingDigest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: listing VARIABLE FILE")
	}
	l, err := lock.ParseListing([]byte(ts.ReadFile(args[1])))
	ts.Check(err)
	d, err := l.Digest()
	ts.Check(err)
	ts.Setenv(args[0], d.String())
}

// reviewedDigest reads "VARIABLE": the variable gets the digest that the hint on
// standard error names for what was shown.
func reviewedDigest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: reviewed VARIABLE")
	}
	_, rest, found := strings.Cut(ts.ReadFile("stderr"), "--listing ")
	if !found {
		ts.Fatalf("no hint names a digest")
	}
	ts.Setenv(args[0], strings.Fields(rest)[0])
}

// origin reads "VARIABLE URL": the variable gets scheme, host and port.
func origin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: origin VARIABLE URL")
	}
	ts.Setenv(args[0], lock.Source{URL: args[1]}.Origin())
}

// isSARIF reads "FILE": the file must be SARIF that its schema allows.
func isSARIF(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sarif FILE")
	}
	report, err := sarif.FromBytes([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(report.Validate())
}

// isOutput reads "FILE": the file must be JSON of the published schema.
func isOutput(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: schema FILE")
	}
	ts.Check(checkOutput([]byte(ts.ReadFile(args[0]))))
}

// sha256Of reads "FILE HEX": the file must have that SHA-256.
func sha256Of(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sha256 FILE HEX")
	}
	sum := sha256.Sum256([]byte(ts.ReadFile(args[0])))
	if got := hex.EncodeToString(sum[:]); got != args[1] {
		ts.Fatalf("%s has SHA-256 %s, want %s", args[0], got, args[1])
	}
}

// replace reads "FILE OLD NEW" and replaces the one place where the file has
// OLD. Both may hold Go escapes.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	from, err := strconv.Unquote(`"` + strings.ReplaceAll(args[1], `"`, `\"`) + `"`)
	ts.Check(err)
	to, err := strconv.Unquote(`"` + strings.ReplaceAll(args[2], `"`, `\"`) + `"`)
	ts.Check(err)
	text := ts.ReadFile(args[0])
	if n := strings.Count(text, from); n != 1 {
		ts.Fatalf("%s has %q %d times, want once", args[0], from, n)
	}
	write(ts, args[0], []byte(strings.Replace(text, from, to, 1)))
}

func write(ts *testscript.TestScript, name string, data []byte) {
	ts.Check(os.WriteFile(ts.MkAbs(name), data, 0o666))
}

// mode reads "FILE MODE": the file must have exactly these permissions.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode FILE MODE")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	want, err := strconv.ParseUint(args[1], 8, 32)
	ts.Check(err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != fs.FileMode(want) {
		ts.Fatalf("%s has mode %v, want %v", args[0], info.Mode().Perm(), fs.FileMode(want))
	}
}

// repin reads "LOCKFILE LISTING" and puts the definitions of the listing in
// the place of the pins of the same name, each with its right digest: what an
// attacker does who can write to the repository and knows the format.
func repin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: repin LOCKFILE LISTING")
	}
	file, err := lock.Parse([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	listing, err := lock.ParseListing([]byte(ts.ReadFile(args[1])))
	ts.Check(err)
	changed := false
	for _, s := range file.Servers {
		for i, p := range s.Pins {
			for _, d := range listing.Definitions {
				if d.ID() == p.Definition.ID() && d.Digest() != p.Definition.Digest() {
					s.Pins[i].Definition, changed = d, true
				}
			}
		}
	}
	if !changed {
		ts.Fatalf("%s has no pin that %s changes", args[0], args[1])
	}
	data, err := file.Format()
	ts.Check(err)
	write(ts, args[0], data)
}

// evidence reads "LOCKFILE" and sets BUNDLE and KEY to the files of its one
// signature, KEYHEX to the digits of the latter.
func evidence(ts *testscript.TestScript, neg bool, args []string) {
	e := signature(ts, args[0])
	ts.Setenv("BUNDLE", ".mcpsign/sha256-"+e.Bundle.Hex())
	ts.Setenv("KEY", ".mcpsign/sha256-"+e.Trust[0].Hex())
	ts.Setenv("KEYHEX", e.Trust[0].Hex())
}

func signature(ts *testscript.TestScript, name string) lock.Evidence {
	file, err := lock.Parse([]byte(ts.ReadFile(name)))
	ts.Check(err)
	if len(file.Servers) != 1 || len(file.Servers[0].Evidence) != 1 {
		ts.Fatalf("%s has not one server with one signature", name)
	}
	return file.Servers[0].Evidence[0]
}

// reseal reads "LOCKFILE OLD NEW", changes the bundle of its one signature,
// stores it under its new SHA-256 and has the lockfile name that: an attacker
// again.
func reseal(ts *testscript.TestScript, neg bool, args []string) {
	old := ".mcpsign/sha256-" + signature(ts, args[0]).Bundle.Hex()
	write(ts, "resealed", []byte(ts.ReadFile(old)))
	replace(ts, false, []string{"resealed", args[1], args[2]})
	sum := sha256.Sum256([]byte(ts.ReadFile("resealed")))
	ts.Check(os.Rename(ts.MkAbs("resealed"), ts.MkAbs(".mcpsign/sha256-"+hex.EncodeToString(sum[:]))))
	write(ts, args[0], []byte(strings.ReplaceAll(ts.ReadFile(args[0]), old[len(".mcpsign/sha256-"):], hex.EncodeToString(sum[:]))))
}

// embed reads "FILE BUNDLE" and puts the bundle in the place of BUNDLE in the
// file.
func embed(ts *testscript.TestScript, neg bool, args []string) {
	write(ts, args[0], []byte(strings.Replace(ts.ReadFile(args[0]), "BUNDLE", ts.ReadFile(args[1]), 1)))
}

// identify reads "PUBLICKEY FILE..." and puts the identity of the key in the
// place of KEY in each file.
func identify(ts *testscript.TestScript, neg bool, args []string) {
	key, err := cryptoutils.UnmarshalPEMToPublicKey([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	id, err := verify.KeyID(key)
	ts.Check(err)
	for _, name := range args[1:] {
		replace(ts, false, []string{name, "KEY", "key:" + id.String()})
	}
}

// services are the signing services of a script, once it has started them.
type services struct{ *sigtest.Sigstore }

type servicesKey struct{}

func running(ts *testscript.TestScript) *sigtest.Sigstore {
	s := ts.Value(servicesKey{}).(*services)
	if s.Sigstore == nil {
		ts.Fatalf("no services are running")
	}
	return s.Sigstore
}

// startServices starts Fulcio, both Rekors and a timestamp authority on
// loopback; with leaf-only its timestamps bring its own certificate alone. It
// writes trusted_root.json, tsa.pem with the root, tsachain.pem with all above the
// timestamps, and the signing configs rekor1.json and rekor2.json, and sets TSA to
// the URL of the authority.
func startServices(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 || len(args) == 1 && args[0] != "leaf-only" {
		ts.Fatalf("usage: services [leaf-only]")
	}
	s := sigtest.New()
	s.TSA.LeafOnly = len(args) == 1
	ts.Defer(s.Listen())
	ts.Value(servicesKey{}).(*services).Sigstore = s
	write(ts, "trusted_root.json", s.TrustedRoot())
	write(ts, "tsa.pem", sigtest.CertPEM(s.TSA.CA.Certificate))
	write(ts, "tsachain.pem", sigtest.CertPEM(s.TSA.Chain()...))
	write(ts, "rekor1.json", s.SigningConfig(sigtest.WithFulcio|sigtest.WithRekorV1))
	write(ts, "rekor2.json", s.SigningConfig(sigtest.WithFulcio|sigtest.WithRekorV2|sigtest.WithTSA))
	ts.Setenv("TSA", s.TSAURL())
}

// fault reads "SERVICE": it answers every request with 503 from now on.
func fault(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fault tsa|fulcio|rekor1|rekor2")
	}
	s := running(ts)
	fail := map[string]func(int, sigtest.Fault){
		"tsa": s.TSA.Fail, "fulcio": s.Fulcio.Fail, "rekor1": s.RekorV1.Fail, "rekor2": s.RekorV2.Fail,
	}[args[0]]
	if fail == nil {
		ts.Fatalf("no service %s", args[0])
	}
	fail(1000, sigtest.Answer(503, "down for maintenance"))
}

// token reads "FILE email ADDRESS ISSUER" or "FILE github REPO WORKFLOW REF
// [CLAIM=VALUE]..." and writes an identity token that Fulcio accepts.
func token(ts *testscript.TestScript, neg bool, args []string) {
	var claims sigtest.Claims
	switch {
	case len(args) == 4 && args[1] == "email":
		claims = sigtest.Email(args[2], args[3])
	case len(args) >= 5 && args[1] == "github":
		claims = sigtest.GitHub(args[2], args[3], args[4])
		for _, change := range args[5:] {
			claim, value, _ := strings.Cut(change, "=")
			claims[claim] = value
		}
	default:
		ts.Fatalf("usage: token FILE email ADDRESS ISSUER, or token FILE github REPO WORKFLOW REF [CLAIM=VALUE]...")
	}
	write(ts, args[0], []byte(running(ts).Fulcio.Token(claims)+"\n"))
}

// pki reads "FOLDER URI" and writes a code signing certificate for the URI:
// leaf.key, leaf.pem, chain.pem up to the root, and roots.pem.
func pki(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: pki FOLDER URI")
	}
	dir := args[0] + "/"
	ts.Check(os.MkdirAll(ts.MkAbs(dir), 0o777))
	ca := sigtest.NewCA(args[0] + " root")
	writePKI(ts, dir, ca, ca.Sub("issuing").Leaf(sigtest.P256(), sigtest.URI(args[1])))
}
