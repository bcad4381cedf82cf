package cli

import (
	"context"
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
// read is not known: a note says so.
func (a *app) readLaunch(ctx context.Context, got *fetched, d *verify.Decision) (bool, error) {
	if len(got.ran.Argv) == 0 || !d.Compares(verify.LaunchOf(got.ran.Argv)) {
		return false, nil
	}
	read, err := launch.Read(ctx, got.ran)
	if ctx.Err() != nil {
		return false, fail(ExitInternal, context.Cause(ctx), "")
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
	fmt.Fprintf(w, "%sfound    %s\n", margin, launchedText(j.request.Source))
}

// launchedText describes a launch with what was read of it, and what makes that
// impossible or no matter.
func launchedText(s lock.Source) string {
	const more = "\n" + margin + "         "
	text := launchText(s)
	for _, a := range s.Artifacts {
		text += more + "which is " + a.String()
	}
	if len(s.Command) > 0 && verify.LaunchOf(s.Command) == (verify.Launch{}) {
		text += more + "which does not say what it runs: a package, a program, or a script right behind its interpreter"
	}
	if names := verify.Steering(s); len(names) > 0 {
		text += more + "with " + lock.Visible(strings.Join(names, ", ")) + " set, which can make it run something else"
	}
	return text
}
