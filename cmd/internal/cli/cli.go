// Package cli is the command line of mcpsign: flags, files, messages and exit
// codes. What is decided is decided in the library.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpsign/mcpsign/cmd/internal/secret"
	"github.com/mcpsign/mcpsign/lock"
)

// A Process is what a run sees of the world, besides files.
type Process struct {
	Args      []string // without the program's name
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	LookupEnv func(string) (string, bool)
	Now       func() time.Time
	Exposed   error                  // what Hide returned
	UserHome  func() (string, error) // the home folder by the user database; nil: it is not asked
	System    string                 // folder of the system's policy, /etc/mcpsign say; empty for none
}

// app is one run.
type app struct {
	Process
	command string   // without the program's name
	outputs []string // values of -o
	sinks   []sink   // what they say
	lock    string   // path of the lockfile
	offline bool     // nothing is dialled
	live    sourceFlags
}

// Getenv returns a variable of the environment, empty if it is not set.
func (p *Process) Getenv(name string) string {
	v, _ := p.LookupEnv(name)
	return v
}

// Run runs one command and returns the exit code. An error is printed once, to
// Stderr, with a hint where there is one.
func Run(ctx context.Context, p Process) ExitCode {
	a := &app{Process: p}
	out := &output{Writer: p.Stdout}
	a.Stdout = out
	root := a.root()
	root.SetArgs(p.Args)
	root.SetIn(p.Stdin)
	root.SetOut(out)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = fail(ExitInternal, fmt.Errorf("not all of the result could be written: %w", out.err), "")
	}
	if err == nil {
		return ExitYes
	}
	if signal := interrupted(ctx); signal != nil {
		err = signal
	}
	fmt.Fprintln(p.Stderr, "error:", oneLine(masked(strings.TrimPrefix(err.Error(), "error: "), p.Args)))
	if hint := hintOf(err); hint != "" {
		fmt.Fprintln(p.Stderr, "hint:", oneLine(masked(hint, p.Args)))
	}
	return codeOf(err)
}

// masked returns a message in which whatever of the arguments looks like a
// credential is masked: errors quote what they were given.
func masked(message string, args []string) string {
	mask := func(text string, spans []secret.Span) {
		for _, s := range spans {
			if part := text[s.Start:s.End]; len(part) >= 6 {
				message = strings.ReplaceAll(message, part, "[looks like a secret]")
			}
		}
	}
	command := slices.Index(args, "--") + 1
	for i, arg := range args {
		if command > 0 && i >= command {
			mask(arg, secret.Argument(args[command:], i-command))
			continue
		}
		if strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://") {
			mask(arg, secret.URL(arg))
		}
		for part := range strings.FieldsFuncSeq(arg, func(r rune) bool { return strings.ContainsRune("=:/,", r) }) {
			if secret.Marked(part) {
				mask(part, []secret.Span{{Start: 0, End: len(part)}})
			}
		}
		if _, value, _ := strings.Cut(arg, "="); secret.Misplaced(value) {
			arg = value
		}
		if secret.Misplaced(arg) {
			mask(arg, []secret.Span{{Start: 0, End: len(arg)}})
		}
	}
	return message
}

// oneLine returns a message with everything that does not show in it as
// escapes. Texts of others are escaped where they get into a message; those
// that errors of other packages quote, names of files and flags, are not.
func oneLine(message string) string {
	message = strings.ReplaceAll(message, "\u00a0", " ") // protobuf spells its errors in either way
	return strings.Join(visible(strings.Split(message, `\`)), `\`)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpsign",
		Short: "Sign the definitions an MCP server lists, and refuse those nobody vouches for",
		Long: `mcpsign signs what an MCP server tells a model (tools, prompts, resource
templates, instructions), pins what was approved, and verifies both offline.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return usage("", "a command is needed")
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := emptyFlag(cmd); err != nil {
				return err
			}
			if err := misplacedSecret(cmd); err != nil {
				return err
			}
			a.command = strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
			var err error
			a.sinks, err = sinks(cmd, a.outputs)
			return err
		},
	}
	flags := root.PersistentFlags()
	flags.StringArrayVarP(&a.outputs, "output", "o", nil, "`FORMAT[=FILE]`: text (the default), json; of some commands raw, sarif or markdown (repeatable)")
	flags.StringVar(&a.lock, "lock", defaultLock, "path of the lockfile; bundles lie beside it in .mcpsign")
	flags.BoolVar(&a.offline, "offline", false, "ask no server and call no service: what would is an error")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		hint := "see: " + cmd.CommandPath() + " --help"
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
			hint = fmt.Sprintf("there are %s; %s", listed(closest("--"+unknown.GetSpecifiedName(), names), len(names)), hint)
		}
		return fail(ExitUsage, err, hint)
	})
	root.SetUsageFunc(printUsage)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(helpCommand(root))
	root.AddCommand(a.digestCommand(), a.keyCommand(), a.signCommand(), a.verifyCommand(), a.listCommand(), a.lockCommand(), a.approveCommand(),
		a.attestCommand(), a.revokeCommand(), a.addCommand(), a.policyCommand(), a.checkCommand(), a.diffCommand(), a.inspectCommand(),
		a.bundleCommand(), a.demoCommand(), a.demoServerCommand(), a.versionCommand())
	onceEach(root)
	return root
}

// helpCommand is cobra's, but for a topic that is not known, which is an error.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show how a command is used",
		RunE: func(_ *cobra.Command, list []string) error {
			found, rest, err := root.Find(list)
			if err != nil || len(rest) > 0 {
				return usage("see: mcpsign --help", "there is no command "+lock.Visible(strings.Join(list, " ")))
			}
			return found.Help()
		},
	}
}

// emptyFlag returns an error if a flag was given without a value, by a variable
// of a script that is not set, say: it must not count as if it were not there.
func emptyFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if len(values) == 0 || slices.Contains(values, "") {
			err = usage("give it a value, or leave it out", "--"+f.Name+" is empty")
		}
	})
	return err
}

// args wraps a check of positional arguments so that its error says how the
// command is used.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, list []string) error {
		hint := "usage: " + cmd.UseLine()
		if cmd.HasSubCommands() {
			hint = "see: " + cmd.CommandPath() + " --help"
			if len(list) > 0 {
				var names []string
				for _, c := range cmd.Commands() {
					if !c.Hidden {
						names = append(names, c.Name())
					}
				}
				hint = fmt.Sprintf("there are %s; %s", listed(closest(list[0], names), len(names)), hint)
			}
		}
		return fail(ExitUsage, check(cmd, list), hint)
	}
}
