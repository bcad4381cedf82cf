package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// A Command says how a server is started. The zero Command starts nothing and is an error.
type Command struct {
	Argv []string // program and arguments; no shell is involved
	Env  []string // "name=value", the full environment before [ChildEnv]; nil stands for this process's own
	Dir  string   // working directory; empty stands for this process's own
}

// A StartError reports that a server could not be started, or ended before it had answered initialize or
// server/discover.
type StartError struct {
	Err    error
	Stderr string // the last 4 KiB of its standard error, as received: escape it before it is shown
}

// Error returns a single line that ends with the last lines of standard error, quoted.
func (e *StartError) Error() string {
	return fmt.Sprintf("server could not be started: %v%s", e.Err, lastLines(e.Stderr))
}

// Unwrap returns Err.
func (e *StartError) Unwrap() error { return e.Err }

// List starts the server, lists it as the package comment says, and ends it with every process of its group: standard
// input is closed, then after 2 s each SIGTERM and SIGKILL follow (elsewhere than on Unix only the process itself is
// killed). The environment passes through [ChildEnv].
//
// At most 1,000 pages, 16 MiB a line and 64 MiB in all are read. There is no time limit but ctx, whose end ends
// everything at once. List does not use the network.
//
// Errors are a [*StartError], a [*MethodError] or, for everything else, wrap what there is to wrap, the cause of ctx
// included. They name the last lines of standard error, escaped.
func List(ctx context.Context, c Command) (*Listing, error) {
	return list(ctx, c, standardLimits())
}

func list(ctx context.Context, c Command, lim limits) (*Listing, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("server not started: %w", context.Cause(ctx))
	}
	p, err := start(c, lim.grace)
	if err != nil {
		return nil, &StartError{Err: err}
	}
	defer p.close()
	defer context.AfterFunc(ctx, p.abort)()

	pipe := newPipe(p.stdin, p.stdout, lim)
	defer pipe.close()
	s := newSession(pipe, lim)
	err = s.list()
	pipe.within(0)
	if (err == nil || errors.Is(err, errEnded)) && ctx.Err() != nil {
		err = fmt.Errorf("no answer to %s: %w", s.method, context.Cause(ctx))
	}
	if err != nil {
		p.stdout.Close()
	}
	// Reading on while the server ends keeps it from blocking on a full pipe, and shows a second answer to the last
	// request.
	drained := make(chan error, 1)
	go func() { drained <- s.drain() }()
	exit := p.stop()
	if derr := <-drained; err == nil {
		err = derr
	}
	s.out.Stderr = p.stderr.String()
	if err != nil {
		return nil, s.explain(err, exit)
	}
	return &s.out, nil
}

// explain adds to err what helps to find the reason on the server's side.
func (s *session) explain(err error, exit string) error {
	if errors.Is(err, errEnded) {
		err = fmt.Errorf("%w before it answered %s%s", err, s.method, exit)
	}
	err = fmt.Errorf("%w%s", err, s.evidence())
	if errors.Is(err, errEnded) && !s.ready {
		return &StartError{Err: err, Stderr: s.out.Stderr}
	}
	return fmt.Errorf("%w%s", err, lastLines(s.out.Stderr))
}

// A pipe is the wire to a process: a message is a line.
type pipe struct {
	in       *json.Encoder
	lines    chan []byte   // closed at the end
	err      error         // why it ended, set before lines is closed
	done     chan struct{} // closed when nobody wants lines any more
	deadline time.Time     // zero: next waits as long as it takes
}

func newPipe(stdin io.Writer, stdout io.Reader, lim limits) *pipe {
	p := &pipe{in: newEncoder(stdin), lines: make(chan []byte), done: make(chan struct{})}
	lines := bufio.NewScanner((&budget{total: lim.total, left: lim.total}).reader(stdout))
	// A Scanner's buffer holds the newline too.
	lines.Buffer(nil, lim.line+1)
	lines.Split(splitLines)
	go p.read(lines, lim.line)
	return p
}

// read hands over lines one by one, so that next need not wait for one that does not come.
func (p *pipe) read(lines *bufio.Scanner, limit int) {
	defer close(p.lines)
	for lines.Scan() {
		select {
		case p.lines <- bytes.Clone(lines.Bytes()):
		case <-p.done:
			p.err = errEnded
			return
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		p.err = &excessError{"a line", limit}
	case errors.As(err, new(*excessError)):
		p.err = err
	default:
		p.err = errEnded
	}
}

func (p *pipe) close() { close(p.done) }

// splitLines is [bufio.ScanLines], but keeps a carriage return and drops a last line without a newline: the server did
// not live to finish it.
func splitLines(data []byte, _ bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	return 0, nil, nil
}

func (p *pipe) send(m message, _ string) error {
	if p.in.Encode(m) != nil {
		// What went wrong with the pipe says less than how the server ended.
		return errEnded
	}
	return nil
}

func (p *pipe) next() ([]byte, error) {
	var silent <-chan time.Time
	if !p.deadline.IsZero() {
		timer := time.NewTimer(time.Until(p.deadline))
		defer timer.Stop()
		silent = timer.C
	}
	select {
	case line, ok := <-p.lines:
		if !ok {
			return nil, p.err
		}
		return line, nil
	case <-silent:
		return nil, errSilent
	}
}

func (p *pipe) within(d time.Duration) {
	p.deadline = time.Time{}
	if d > 0 {
		p.deadline = time.Now().Add(d)
	}
}

// shared reports true: a message does not say what led to it.
func (p *pipe) shared() bool { return true }

// answered reports false: all messages come on one stream, and what follows an answer is read with the next one.
func (p *pipe) answered() bool { return false }
