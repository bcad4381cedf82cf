package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/mcpsign/mcpsign/verify"
)

const moduleRoot = "../.."

// A block is a fenced block of README.md.
type block struct{ language, text string }

func readmeBlocks(t *testing.T) []block {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(moduleRoot, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "\n"); n > 210 {
		t.Errorf("README.md has %d lines, at most 210 are read", n)
	}
	var blocks []block
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(data), -1) {
		blocks = append(blocks, block{m[1], m[2]})
	}
	return blocks
}

// TestREADME does what README.md says: it runs each command, parses the policy,
// and compiles the code.
func TestREADME(t *testing.T) {
	u := newReader(t)
	found := map[string]int{}
	for _, b := range readmeBlocks(t) {
		found[b.language]++
		switch b.language {
		case "sh":
			for line := range strings.Lines(b.text) {
				u.do(t, strings.TrimSpace(line))
			}
		case "yaml":
			if strings.HasPrefix(b.text, "jobs:") {
				checkWorkflow(t, b.text)
			} else if _, err := verify.ParsePolicy("README.md", []byte(b.text)); err != nil {
				t.Errorf("the policy: %v", err)
			}
		case "go":
			u.compile(t, b.text)
		default:
			t.Errorf("nobody checks a block of %q", b.language)
		}
	}
	for _, language := range []string{"sh", "yaml", "go"} {
		if found[language] == 0 {
			t.Errorf("README.md has no block of %s", language)
		}
	}
}

// checkWorkflow checks that a job gives the action inputs that it has.
func checkWorkflow(t *testing.T, text string) {
	t.Helper()
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &workflow); err != nil {
		t.Fatal(err)
	}
	var a action
	readYAML(t, "action.yml", &a)
	used := 0
	for _, j := range workflow.Jobs {
		for _, s := range j.Steps {
			if !strings.HasPrefix(s.Uses, "mcpsign/mcpsign@") {
				continue
			}
			for input := range s.With {
				used++
				if _, ok := a.Inputs[input]; !ok {
					t.Errorf("the action has no input %s", input)
				}
			}
		}
	}
	if used == 0 {
		t.Error("the workflow does not use the action")
	}
}

// A reader follows README.md in a folder of their own.
type reader struct {
	dir  string
	root string // of the module
	env  []string
}

func newReader(t *testing.T) *reader {
	dir := t.TempDir()
	root, err := filepath.Abs(moduleRoot)
	if err != nil {
		t.Fatal(err)
	}
	listing := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get_forecast","description":"Returns the forecast for a place.","inputSchema":{"type":"object"}}]}}`
	if err := os.WriteFile(filepath.Join(dir, "listing.json"), []byte(listing), 0o666); err != nil {
		t.Fatal(err)
	}
	return &reader{dir: dir, root: root, env: append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "MCPSIGN_PASSWORD=")}
}

// do does what a line says. A line of a kind that is not known here is an
// error: it would go unchecked.
func (u *reader) do(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	switch {
	case len(words) == 0:
	case line == "go test ./...":
		u.isWhatCIRuns(t, line)
	case words[0] == "go" && slices.Contains([]string{"run", "install"}, words[1]) && words[2] == "./cmd/mcpsign":
		u.tool(t, words[1:])
	case words[0] == "mcpsign":
		u.shell(t, line)
	default:
		t.Errorf("README.md has a command that nobody runs: %s", line)
	}
}

// shell runs a line in the reader's folder, with mcpsign from TestMain.
func (u *reader) shell(t *testing.T, line string) {
	t.Helper()
	command, pipe, _ := strings.Cut(line, " | ")
	words := strings.Fields(command)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = u.dir, u.env
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s%s", line, err, out, err.(*exec.ExitError).Stderr)
		return
	}
	switch pipe {
	case "":
	case "sha256sum":
		u.isDigest(t, line, out, words[3])
	default:
		t.Errorf("%s: nobody checks what is piped to %s", line, pipe)
	}
}

// isDigest checks that the SHA-256 of what a command printed is the digest
// that mcpsign digest prints of a definition.
func (u *reader) isDigest(t *testing.T, line string, printed []byte, id string) {
	t.Helper()
	sum := exec.Command("sha256sum")
	if sum.Err != nil {
		t.Logf("%s: there is no sha256sum here", line)
		return
	}
	sum.Stdin = strings.NewReader(string(printed))
	hex, err := sum.Output()
	if err != nil {
		t.Fatal(err)
	}
	digest := exec.Command("mcpsign", "digest", "listing.json")
	digest.Dir, digest.Env = u.dir, u.env
	out, err := digest.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "sha256:" + strings.Fields(string(hex))[0] + "  " + id + "\n"; !strings.Contains(string(out), want) {
		t.Errorf("%s: prints a SHA-256 of which mcpsign digest says %s", line, out)
	}
}

// tool runs the go tool in the module's folder. What it installs goes to the
// reader's.
func (u *reader) tool(t *testing.T, args []string) {
	t.Helper()
	bin := filepath.Join(u.dir, "bin")
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = u.root, append(u.env, "GOBIN="+bin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		return
	}
	if args[0] == "install" {
		if out, err := exec.Command(filepath.Join(bin, "mcpsign"), "version").Output(); err != nil || !strings.HasPrefix(string(out), "mcpsign ") {
			t.Errorf("the mcpsign that was installed: %v %s", err, out)
		}
	} else if !strings.Contains(string(out), "Every forgery was refused.") {
		t.Errorf("go %s ends with:\n%s", strings.Join(args, " "), out)
	}
}

// isWhatCIRuns stands for running the tests, which would run this test again.
func (u *reader) isWhatCIRuns(t *testing.T, line string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(u.root, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Split(string(data), "\n"), line) {
		t.Errorf(".ci/run does not run the command of README.md, %s", line)
	}
}

// compile builds the body of a function as a package of the module that is not
// written to it.
func (u *reader) compile(t *testing.T, body string) {
	t.Helper()
	source := fmt.Sprintf(`package readme

import (
	"time"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

func host(policyYAML, trustedRoot, response []byte, entry *lock.Server, bundles [][]byte, seen []verify.HighWater) ([]byte, error) {
%s}
`, body)
	file := filepath.Join(u.dir, "readme.go")
	if err := os.WriteFile(file, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(u.root, "internal", "readme", "readme.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(u.dir, "overlay.json"), overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-overlay", filepath.Join(u.dir, "overlay.json"), "./internal/readme")
	cmd.Dir, cmd.Env = u.root, u.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the code of README.md: %v\n%s", err, out)
	}
}
