package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// following is the environment variable that has each hint of the scripts
// followed. That takes some minutes.
const following = "MCPSIGN_FOLLOW_HINTS"

// follow runs each command that the hint on stderr proposes, in the state in
// which it was printed, and returns what is wrong with one: it can't be pasted,
// it forgets the lockfile of the call, or it leads back to the same hint. What it
// changes is undone. A command with a placeholder such as FILE only has to be
// understood, and so has one that stands behind "then:", since a person has to do
// something first.
func follow(args []string, code int, stderr string) error {
	hint := last(stderr, "hint: ")
	if code == 0 || hint == "" || strings.HasPrefix(hint, "usage: ") {
		return nil
	}
	lockfile := ""
	if i := slices.Index(args, "--lock"); i >= 0 && i < len(args)-1 {
		lockfile = "--lock " + args[i+1]
	}
	commands, err := advised(hint)
	if err != nil {
		return err
	}
	for _, c := range commands {
		if usesLockfile.MatchString(c) && !strings.Contains(c, lockfile) {
			return fmt.Errorf("%q forgets %s", c, lockfile)
		}
		next, after, err := try(c)
		if err != nil {
			return err
		}
		failed := last(after, "error: ")
		switch {
		case placeholder.MatchString(c) && (next != 2 || placeholder.MatchString(failed)), strings.Contains(hint, "then: "+c), strings.HasPrefix(failed, "no lockfile "):
		case next == 2, next > 17:
			return fmt.Errorf("%q exits with %d: %s", c, next, after)
		case next == code && last(after, "hint: ") == hint:
			return fmt.Errorf("%q leads to the same hint: %s", c, after)
		}
	}
	return nil
}

var (
	usesLockfile = regexp.MustCompile(`^mcpsign (verify|lock|approve|check|add|policy explain|bundle pack) `)
	placeholder  = regexp.MustCompile(`\b[A-Z]{2,}(\.pub|\.sigstore\.json)?\b`)
)

// last returns what follows the prefix on the last line that has it.
func last(text, prefix string) string {
	found := ""
	for l := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(l, prefix); ok {
			found = strings.TrimSuffix(rest, "\n")
		}
	}
	return found
}

// advised returns the commands of a hint. Each stands at its start or behind a
// colon, and ends it or stands before a semicolon.
func advised(hint string) ([]string, error) {
	var all []string
	for part := range strings.SplitSeq(hint, "; ") {
		before, command, found := strings.Cut(" "+part, " mcpsign ")
		switch {
		case !found:
		case strings.TrimSpace(before) != "" && !strings.HasSuffix(before, ":"):
			return nil, fmt.Errorf("the command in %q does not stand behind a colon", part)
		default:
			all = append(all, "mcpsign "+command)
		}
	}
	return all, nil
}

// try runs a command of a shell in a copy of the script's folder that stands in
// its place.
func try(command string) (code int, stderr string, err error) {
	cwd, err := os.Getwd()
	if err != nil {
		return 0, "", err
	}
	work := os.Getenv("WORK")
	aside := work + ".aside"
	if err := os.Rename(work, aside); err != nil {
		return 0, "", err
	}
	defer func() {
		_ = filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
		err = errors.Join(err, os.RemoveAll(work), os.Rename(aside, work))
	}()
	if out, err := exec.Command("cp", "-a", aside, work).CombinedOutput(); err != nil {
		return 0, "", fmt.Errorf("%w: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-c", command)
	c.Dir = cwd
	c.Env = append(os.Environ(), following+"=", "LC_ALL=C.UTF-8")
	var b bytes.Buffer
	c.Stderr = &b
	if err := c.Run(); c.ProcessState == nil {
		return 0, "", err
	}
	return c.ProcessState.ExitCode(), b.String(), nil
}

// A command in a hint has to be one that can be told apart and pasted.
func TestAdvised(t *testing.T) {
	for hint, want := range map[string]string{
		"set the clock": "",
		"look at it: mcpsign inspect a.json; then: mcpsign verify": `["mcpsign inspect a.json" "mcpsign verify"]`,
		"mcpsign verify, or wait":                                  `["mcpsign verify, or wait"]`,
		"list it with mcpsign digest a.json":                       "error",
	} {
		got, err := advised(hint)
		switch text := fmt.Sprintf("%q", got); {
		case err != nil && want != "error", err == nil && want == "error", err == nil && want != "" && text != want:
			t.Errorf("%q: got %s, %v", hint, text, err)
		}
	}
}
