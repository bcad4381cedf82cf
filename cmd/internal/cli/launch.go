package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/cmd/internal/launch"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// readLaunch reads what was launched, if it was and the decision can compare it
// with something, and reports whether there is more to decide on. What can't be
// read is not known: a note says so. That something else may have been launched
// is known.
func (a *app) readLaunch(ctx context.Context, got *fetched, d *verify.Decision) (bool, error) {
	if len(got.ran.Argv) == 0 || len(verify.Steering(got.launch)) > 0 || !d.Compares(verify.LaunchOf(got.ran.Argv)) {
		return false, nil
	}
	read, err := got.ran.Read()
	if ctx.Err() != nil {
		return false, fail(ExitInternal, context.Cause(ctx), "")
	}
	if doubt := (*launch.DoubtError)(nil); errors.As(err, &doubt) {
		got.doubt = doubt.Error()
		return true, nil
	}
	if err != nil {
		a.note("what was launched is not known, so its digest is compared with nothing: " + err.Error())
		return false, nil
	}
	if read.File != "" {
		read.File = recordedWord(got, read.File)
	}
	got.launch.Artifacts = []lock.Artifact{read}
	return true, nil
}

// recordedWord returns what stands in the command that the lockfile records in
// the place of a word of the one that was run: a placeholder, not its value.
func recordedWord(got *fetched, word string) string {
	if i := slices.Index(got.ran.Argv, word); i >= 0 && i < len(got.launch.Command) {
		return got.launch.Command[i]
	}
	return got.launch.Command[0]
}

// boundText prints, of a launch that a release does not name, what was launched
// and what the release names.
func (j *judgement) boundText(w io.Writer) {
	if j.first(verify.SourceUnbound) == "" {
		return
	}
	fmt.Fprintf(w, "launch   not named by the release\n")
	named := j.decision.Named()
	if len(named) == 0 {
		named = []string{"a purl, origin or artifact that the release names; it names none"}
	}
	fmt.Fprintf(w, "%sexpected %s\n", margin, orEach(named))
	fmt.Fprintf(w, "%sfound    %s\n", margin, launchedText(j.request))
}

// launchedText describes a launch with what was read of it, and what makes that
// impossible or no matter.
func launchedText(r verify.Request) string {
	const more = "\n" + margin + "         "
	s := r.Source
	text := launchText(s)
	for _, a := range s.Artifacts {
		text += more + "which is " + a.String()
	}
	if len(s.Command) > 0 && verify.LaunchOf(s.Command) == (verify.Launch{}) {
		text += more + unreadable(s.Command)
	}
	if r.Doubt != "" {
		text += more + "which is in doubt: " + lock.Visible(r.Doubt)
	}
	if names := verify.Steering(s); len(names) > 0 {
		text += more + "with " + lock.Visible(strings.Join(names, ", ")) + " set, which can make it run something else"
	}
	return text
}

// unreadable says why a command does not say what it launches.
func unreadable(command []string) string {
	if strings.ContainsAny(command[0], `/\`) {
		return "which names a launcher or interpreter by a path, where anything may be: write its bare name, as it is in the PATH"
	}
	return "which does not say what it runs: a package, with no command but its own, a program, or a script right behind its interpreter"
}

const doubtHint = "launch it from a folder that is in no project, or remove what puts the launch in doubt"
