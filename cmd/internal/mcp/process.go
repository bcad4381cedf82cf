package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/mcpsign/mcpsign/cmd/internal/secret"
)

// ChildEnv returns env, a list of "name=value", without the variables that let their holder sign (see [secret.Signing])
// and without all others of mcpsign, MCPSIGN_*. Credentials that a server may need for its own work, such as
// GITHUB_TOKEN or those of a cloud, stay. The result is never nil.
func ChildEnv(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, kv := range env {
		name, _, _ := strings.Cut(strings.ToUpper(kv), "=")
		if !secret.Signing(name) && !strings.HasPrefix(name, "MCPSIGN_") {
			kept = append(kept, kv)
		}
	}
	return kept
}

// A process is a started server.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File // our end of the pipe
	stderr tail
	grace  time.Duration
	exited chan struct{} // closed when the process was waited for
	done   chan struct{} // closed when nobody reads stdout any more
}

// start runs the command in a process group of its own.
func start(c Command, grace time.Duration) (*process, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("no command given")
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = c.Env
	cmd.Env = ChildEnv(cmd.Environ())
	cmd.WaitDelay = grace / 2 // so that stop does not mistake it for a process that goes on
	isolate(cmd)
	p := &process{cmd: cmd, grace: grace, exited: make(chan struct{}), done: make(chan struct{})}
	cmd.Stderr = &p.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe: Wait closes that one, and what the process wrote before it ended would be lost.
	stdout, theirs, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, err
	}
	cmd.Stdout = theirs
	p.stdin, p.stdout = stdin, stdout
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		stdout.Close()
		return nil, err
	}
	go p.wait()
	return p, nil
}

// wait waits for the end of the process and sees to it that nothing it left behind can hold up a reader.
func (p *process) wait() {
	_ = p.cmd.Wait() // the state is in cmd.ProcessState
	p.kill()
	close(p.exited)
	select {
	case <-p.done:
	case <-time.After(p.grace):
		// A process that left the group still holds the pipe.
		p.stdout.Close()
	}
}

// stop ends the process step by step and returns, as the continuation of an error message, how it ended if it did so
// without a signal of ours.
func (p *process) stop() string {
	p.stdin.Close()
	if p.ended() {
		return ": " + p.cmd.ProcessState.String()
	}
	p.terminate()
	if p.ended() {
		return ""
	}
	p.kill()
	if !p.ended() {
		// Not even that could end it; the reader must not wait for it.
		p.stdout.Close()
	}
	return ""
}

// ended gives the process its grace to end.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(p.grace):
		return false
	}
}

// abort ends the process and all reading and writing at once.
func (p *process) abort() {
	select {
	case <-p.exited:
		// Its id may be another's by now.
	default:
		p.kill()
	}
	p.stdin.Close()
	p.stdout.Close()
}

func (p *process) close() {
	close(p.done)
	p.stdout.Close()
}

// A tail is a writer that keeps the end of what is written to it. The zero tail is empty.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-tailSize):]...)
	t.buf = append(t.buf[:0], t.buf[max(0, len(t.buf)-tailSize):]...)
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// lastLines returns the last lines of standard error as the continuation of an error message. They are quoted, so that
// no control character and no escape sequence reaches a terminal.
func lastLines(stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, fmt.Sprintf("%.300q", line))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "; standard error ends with " + strings.Join(lines[max(0, len(lines)-4):], " ")
}
