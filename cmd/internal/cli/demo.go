package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

const (
	demoName   = "io.github.acme/weather"
	demoServer = "demo-server"

	demoVariable = "DEMO_RELEASE" // which release the server serves, without an argument
)

// A demoStep is one command of the demonstration and what must come of it.
type demoStep struct {
	title string
	args  []string
	env   string // of the server: which release it serves; empty if there is none
	want  ExitCode
	says  string // text that the output must have
}

func demoSteps() []demoStep {
	// The server is launched in the same way each time: another launch would be
	// refused for that.
	serve := func(release string) []string { return []string{release} }
	step := func(title string, want ExitCode, says string, args ...[]string) demoStep {
		s := demoStep{title: title, want: want, says: says, args: args[0]}
		if len(args) > 1 {
			s.env = demoVariable + "=" + args[1][0]
			s.args = append(s.args, "--", "mcpsign", demoServer)
		}
		return s
	}
	words := strings.Fields
	return []demoStep{
		step("A publisher makes a key ...", ExitYes, "key:sha256:", words("key generate --out publisher.key")),
		step("... and signs the 3 tools of a release, as the server lists them.", ExitYes, "3 definitions",
			words("sign "+demoName+" --key publisher.key --sequence 1 --bundle 1.sigstore.json"), serve("1")),
		step("A host verifies that, and pins it.", ExitYes, "verified",
			words("verify "+demoName+" --bundle 1.sigstore.json --key publisher.key.pub"), serve("1")),
		step("", ExitYes, "locked", words("lock "+demoName+" --bundle 1.sigstore.json --key publisher.key.pub"), serve("1")),
		step("Later the server puts an instruction into one description: refused.", ExitDrift, "drift",
			words("check "+demoName), serve("poisoned")),
		step("The attacker signs the poisoned tools, with a key of their own ...", ExitYes, "key:sha256:", words("key generate --out attacker.key")),
		step("", ExitYes, "3 definitions", words("sign "+demoName+" --key attacker.key --sequence 2 --bundle attacker.sigstore.json"), serve("poisoned")),
		step("... which is a valid signature, by someone else: refused.", ExitWrong, "wrong_signer",
			words("verify "+demoName+" --bundle attacker.sigstore.json --key publisher.key.pub"), serve("poisoned")),
		step("The publisher's genuine next release is signed, verified, and pinned.", ExitYes, "3 definitions",
			words("sign "+demoName+" --key publisher.key --sequence 2 --bundle 2.sigstore.json"), serve("2")),
		step("", ExitYes, "verified", words("verify "+demoName+" --bundle 2.sigstore.json --key publisher.key.pub"), serve("2")),
		step("", ExitYes, "locked", words("lock "+demoName+" --lock next.lock.json --bundle 2.sigstore.json --key publisher.key.pub"), serve("2")),
		step("The old release is replayed with its genuine signature: refused.", ExitOutdated, "rollback",
			words("verify "+demoName+" --lock next.lock.json --bundle 1.sigstore.json --key publisher.key.pub"), serve("1")),
	}
}

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show signing, drift, a forged signature and a rollback, on a server of its own",
		Long: `Run the whole way with real commands in a temporary folder: no network, throwaway
keys, this program as the MCP server. The exit code is 0 only if every refusal
happened.`,
		Example: "  mcpsign demo",
		Args:    args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
}

func (a *app) demo(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mcpsign-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, s := range demoSteps() {
		if err := a.demoStep(ctx, self, dir, s); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.Stdout, "\nEvery forgery was refused. On a server of your own:\n\n    mcpsign lock NAME -- COMMAND ARGS     then     mcpsign check NAME -- COMMAND ARGS\n")
	return nil
}

func (a *app) demoStep(ctx context.Context, self, dir string, s demoStep) error {
	if s.title != "" {
		fmt.Fprintf(a.Stdout, "\n%s\n", s.title)
	}
	fmt.Fprintf(a.Stdout, "\n    $ %s\n", strings.TrimSpace(s.env+" mcpsign "+strings.Join(s.args, " ")))
	real := make([]string, len(s.args))
	for i, w := range s.args {
		if real[i] = w; w == "mcpsign" {
			real[i] = self
		}
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, self, real...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), passwordVariable+"=", s.env)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	for line := range strings.Lines(out.String()) {
		fmt.Fprint(a.Stdout, "      "+strings.ReplaceAll(line, self, "mcpsign"))
	}
	code := ExitCode(cmd.ProcessState.ExitCode())
	if s.want != ExitYes {
		fmt.Fprintf(a.Stdout, "      exit %d\n", code)
	}
	if code != s.want || !strings.Contains(out.String(), s.says) {
		return fail(ExitInternal, fmt.Errorf("the demonstration failed: exit %d where %d was expected, with %q in the output", code, s.want, s.says), "")
	}
	return nil
}
