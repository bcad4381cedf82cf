package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestDemo runs the demonstration: every refusal happens and is shown, and
// nothing is left behind.
func TestDemo(t *testing.T) {
	t.Setenv(beVariable, "mcpsign")
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	t.Chdir(t.TempDir())
	u := newUser(t)
	r := u.must(ExitYes, "demo")
	rest := r.stdout
	refusals := 0
	for _, s := range demoSteps() {
		_, after, ok := strings.Cut(rest, "$ "+strings.TrimSpace(s.env+" mcpsign "+strings.Join(s.args, " "))+"\n")
		if !ok {
			t.Fatalf("the output lacks the command %q here:\n%s", s.args, rest)
		}
		rest = after
		if s.want != ExitYes {
			refusals++
			if !strings.Contains(rest, s.says) || !strings.Contains(rest, "REFUSED") {
				t.Errorf("the output of %q does not show %s", s.args, s.says)
			}
		}
	}
	if refusals != 3 {
		t.Errorf("%d refusals, want drift, wrong signer and rollback", refusals)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(r.stdout, self) || strings.Contains(r.stdout, temp) {
		t.Error("the output names this program's path or the temporary folder")
	}
	for what, dir := range map[string]string{"temporary": temp, "working": ".", "state": u.env["XDG_STATE_HOME"]} {
		if left := contents(t, dir); len(left) > 0 {
			t.Errorf("the demonstration leaves %d files in the %s folder", len(left), what)
		}
	}
}

// TestDemoFails checks that a refusal that does not happen, or for another
// reason, is a failure.
func TestDemoFails(t *testing.T) {
	t.Setenv(beVariable, "mcpsign")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	serve := []string{"check", "weather", "--", "mcpsign", demoServer}
	released := func(s demoStep, release string) demoStep {
		s.env = demoVariable + "=" + release
		return s
	}
	dir := t.TempDir()
	var out bytes.Buffer
	a := &app{Process: Process{Stdout: &out, Stderr: &out, LookupEnv: os.LookupEnv, Now: time.Now}}
	step := func(s demoStep) error { return a.demoStep(context.Background(), self, dir, s) }

	lock := released(demoStep{args: []string{"lock", "weather", "--", "mcpsign", demoServer}, says: "locked"}, "1")
	drift := released(demoStep{args: serve, want: ExitDrift, says: "drift"}, "poisoned")
	for _, s := range []demoStep{lock, drift, released(demoStep{args: serve, says: "pinned"}, "1")} {
		if err := step(s); err != nil {
			t.Fatalf("step %q: %v", s.args, err)
		}
	}
	for what, s := range map[string]demoStep{
		"a refusal that does not happen": released(demoStep{args: serve, want: ExitDrift, says: "pinned"}, "1"),
		"another code":                   released(demoStep{args: serve, want: ExitWrong, says: "drift"}, "poisoned"),
		"a yes that is a no":             released(demoStep{args: serve, want: ExitYes, says: "drift"}, "poisoned"),
		"another reason":                 released(demoStep{args: serve, want: ExitDrift, says: "rollback"}, "poisoned"),
	} {
		err := step(s)
		if err == nil {
			t.Errorf("%s: the demonstration goes on", what)
		} else if codeOf(err) == ExitYes || !strings.Contains(err.Error(), "the demonstration failed") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := a.demoStep(context.Background(), dir+"/nothing", dir, lock); err == nil || errors.As(err, new(*failure)) {
		t.Errorf("a program that is not there: %v", err)
	}
}
