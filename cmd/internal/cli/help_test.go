package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// commands returns every command that help names.
func commands(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		all = append(append(all, c), commands(c)...)
	}
	return all
}

// TestHelp checks that the help of each command fits a screen, and has an
// example whose commands and flags there are.
func TestHelp(t *testing.T) {
	root := (&app{}).root()
	list := commands(root)
	if len(list) < 10 {
		t.Fatalf("%d commands", len(list))
	}
	for _, cmd := range list {
		name := strings.Fields(cmd.CommandPath())[1:]
		t.Run(strings.Join(name, "_"), func(t *testing.T) {
			r := newUser(t).must(ExitYes, append(name, "--help")...)
			if n := strings.Count(r.stdout, "\n"); n > 40 {
				t.Errorf("%d lines of help, at most 40 fit a screen", n)
			}
			for line := range strings.Lines(r.stdout) {
				if len(line) > 160 {
					t.Errorf("a line of %d characters: %s", len(line), line)
				}
			}
			if r.stderr != "" {
				t.Errorf("standard error: %s", r.stderr)
			}
			if cmd.Example == "" {
				t.Error("there is no example")
			}
			for line := range strings.Lines(cmd.Example) {
				checkExample(t, (&app{}).root(), strings.Fields(line))
			}
		})
	}
}

func checkExample(t *testing.T, root *cobra.Command, words []string) {
	t.Helper()
	if len(words) < 2 || words[0] != "mcpsign" {
		t.Errorf("example %q is no command of mcpsign", words)
		return
	}
	cmd, args, err := root.Find(words[1:])
	if err != nil || cmd == root {
		t.Errorf("example %q: %v", words, err)
		return
	}
	for i, w := range args {
		if w == "|" {
			args = args[:i]
			break
		}
	}
	if err := cmd.ParseFlags(args); err != nil {
		t.Errorf("example %q: %v", words, err)
	}
}

// TestManual checks that the synopsis of main.go's doc comment has every verb.
func TestManual(t *testing.T) {
	_, synopsis, ok := strings.Cut(readText(t, "../../mcpsign/main.go"), "// Usage:\n")
	if !ok {
		t.Fatal("main.go has no usage")
	}
	synopsis, _, _ = strings.Cut(synopsis, "// NAME")
	for _, cmd := range commands((&app{}).root()) {
		if !cmd.HasSubCommands() && !strings.Contains(synopsis, "//\t"+cmd.CommandPath()+" ") && !strings.Contains(synopsis, "//\t"+cmd.CommandPath()+"\n") {
			t.Errorf("main.go's usage lacks %s", cmd.CommandPath())
		}
	}
}
