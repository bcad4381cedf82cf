package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// beVariable makes the test binary something else: mcpsign, for the
// demonstration, which starts itself, or a server.
const beVariable = "CLI_TEST_BE"

func TestMain(m *testing.M) {
	switch be := os.Getenv(beVariable); be {
	case "":
		if _, err := outputSchema(); err != nil { // before a test changes the folder
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		// Under the race detector every child would sleep a second when it ends.
		os.Setenv("GORACE", "atexit_sleep_ms=0")
		os.Exit(m.Run())
	case "mcpsign":
		os.Exit(int(RunInterruptible(Process{
			Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Now: time.Now,
		})))
	case "ends":
	case "stubborn":
		stubborn()
	case "hangs":
		select {}
	default:
		fmt.Fprintln(os.Stderr, "the test binary can't be", be)
		os.Exit(1)
	}
}

// A result is what one command came to.
type result struct {
	code           ExitCode
	stdout, stderr string
}

// A user runs commands in this process, with an environment of their own.
type user struct {
	t     testing.TB
	env   map[string]string
	stdin string
	clock time.Duration // how far the clock is ahead

	database func() (string, error) // of users
}

// newUser returns a user whose state and home are folders of their own.
func newUser(t testing.TB) *user {
	return &user{t: t, env: map[string]string{"XDG_STATE_HOME": t.TempDir(), "HOME": t.TempDir()}}
}

func (u *user) run(args ...string) result {
	u.t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(context.Background(), Process{
		Args: args, Stdin: strings.NewReader(u.stdin), Stdout: &stdout, Stderr: &stderr,
		LookupEnv: func(name string) (string, bool) { v, ok := u.env[name]; return v, ok },
		Now:       func() time.Time { return time.Now().Add(u.clock) }, UserHome: u.database,
	})
	r := result{code, stdout.String(), stderr.String()}
	if strings.HasPrefix(r.stdout, "{\n  \"command\": ") {
		checkOutput(u.t, r.stdout)
	}
	return r
}

// outputSchema is the published schema of what -o json prints.
var outputSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	return jsonschema.NewCompiler().Compile("../../mcpsign/output.schema.json")
})

// checkOutput validates JSON output against the published schema.
func checkOutput(t testing.TB, stdout string) {
	t.Helper()
	schema, err := outputSchema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(stdout))
	if err == nil {
		err = schema.Validate(doc)
	}
	if err != nil {
		t.Errorf("the output does not have the published schema: %v\n%.2000s", err, stdout)
	}
}

// must runs a command that ends with the code.
func (u *user) must(want ExitCode, args ...string) result {
	u.t.Helper()
	r := u.run(args...)
	if r.code != want {
		u.t.Fatalf("mcpsign %s: exit %d, want %d\n%s%s", strings.Join(args, " "), r.code, want, r.stdout, r.stderr)
	}
	return r
}

// write writes files below a folder, those whose names end with a slash as
// folders.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o777); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// contents returns the files below a folder.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// keyFiles returns a new key and its public half, in PEM.
func keyFiles() (private, public string) {
	key := sigtest.P256()
	return string(sigtest.KeyPEM(key)), string(sigtest.PublicPEM(key.Public()))
}

// countLines returns how many lines start with a prefix.
func countLines(text, prefix string) int {
	n := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}
