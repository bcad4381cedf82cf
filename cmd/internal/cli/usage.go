package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpsign/mcpsign/cmd/internal/secret"
)

// groupKey is the annotation of a flag with the title under which help shows
// it.
const groupKey = "group"

// group puts flags under a title of their own in help.
func group(flags *pflag.FlagSet, title string, names ...string) {
	for _, n := range names {
		f := flags.Lookup(n)
		f.Annotations = map[string][]string{groupKey: {title}}
	}
}

// printUsage prints how a command is used: its own flags first, those that it
// shares with others by what they are about.
func printUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(w, "\nAvailable Commands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(w, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	titles := []string{"Flags"}
	sets := map[string]*pflag.FlagSet{}
	add := func(title string, f *pflag.Flag) {
		if sets[title] == nil {
			sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		}
		if !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
		sets[title].AddFlag(f)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" && cmd.HasParent() {
			return
		}
		if g := f.Annotations[groupKey]; len(g) == 1 {
			add(g[0], f)
		} else {
			add("Flags", f)
		}
	})
	for _, t := range titles {
		if sets[t] != nil && sets[t].HasAvailableFlags() {
			fmt.Fprintf(w, "\n%s:\n%s", t, sets[t].FlagUsages())
		}
	}
	var every []string
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { every = append(every, "--"+f.Name) })
	if len(every) > 0 {
		fmt.Fprintf(w, "\nFlags of every command, see %s --help: %s\n", cmd.Root().Name(), strings.Join(every, ", "))
	}
	return nil
}

// A once is a flag that has one value: a second one would silently take its
// place.
type once struct {
	pflag.Value
	given bool
}

func (o *once) Set(s string) error {
	if o.given {
		return errors.New("it is given twice")
	}
	o.given = true
	return o.Value.Set(s)
}

// onceEach makes an error of a second value of all flags that have one.
func onceEach(cmd *cobra.Command) {
	one := func(f *pflag.Flag) {
		_, list := f.Value.(pflag.SliceValue)
		_, done := f.Value.(*once)
		if !list && !done && f.Value.Type() != "bool" && f.Value.Type() != "stringToString" {
			f.Value = &once{Value: f.Value}
		}
	}
	cmd.Flags().VisitAll(one)
	cmd.PersistentFlags().VisitAll(one)
	for _, c := range cmd.Commands() {
		onceEach(c)
	}
}

// fileFlags are the flags whose value is the name of a file.
var fileFlags = []string{
	"attest-key", "attest-result", "authority", "bundle", "cert", "chain", "from", "identity-token", "key", "lock", "out", "policy", "predicate",
	"replaces", "revocations", "roots", "signing-config", "statement", "trusted-root", "tsa-roots",
}

// misplacedSecret returns an error if a credential is given where a command wants
// the name of a file: it must not be shown, as what is missing, in a log. A file
// that is there may have any name.
func misplacedSecret(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err != nil || !slices.Contains(fileFlags, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if slices.ContainsFunc(values, isMisplaced) {
			err = usage(misplacedHint, "--"+f.Name+" wants the name of a file, and is given what looks like a credential")
		}
	})
	return err
}

// A decimal is a number of a release or a list. It has one spelling: pflag's own
// type takes 010 for 8.
type decimal uint64

func (d *decimal) String() string { return strconv.FormatUint(uint64(*d), 10) }

// Type returns how the value is called in help.
func (d *decimal) Type() string { return "number" }

// Set reads a decimal number without leading zeros.
func (d *decimal) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return errors.New("want a decimal number without leading zeros")
	}
	*d = decimal(n)
	return nil
}

const misplacedHint = "write it to a file that only you can read, and name that file"

// errMisplaced says that a credential is given as the name of a file.
var errMisplaced = errors.New("expected the name of a file, found what looks like a credential")

// isMisplaced reports whether the name of a file looks like a credential, and
// no file has that name.
func isMisplaced(name string) bool {
	if !secret.Misplaced(name) {
		return false
	}
	_, err := os.Lstat(name)
	return err != nil
}
