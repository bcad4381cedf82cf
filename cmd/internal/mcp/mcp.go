// Package mcp fetches the listing of a live MCP server over stdio and hands over what the server sent, byte for byte.
//
// # What is asked, and in which order
//
//  1. initialize with protocol version 2025-11-25 and no client capabilities: some servers list other definitions to a
//     client that declares any. The answer may name that version or an older one; notifications/initialized follows.
//  2. server/discover of the stateless revision 2026-07-28, only if initialize was answered with -32601 (method not
//     found), -32602 (invalid parameters: the per-request metadata is missing), -32022 (unsupported protocol version) or
//     with the version 2026-07-28. This and every later request carries the protocol version, the client's name and its
//     (no) capabilities in params._meta under io.modelcontextprotocol/.
//  3. tools/list, prompts/list and resources/templates/list, each with all its pages, whatever capabilities the server
//     declares: a capability that is not declared must not hide a definition.
//
// # What counts as empty, and what as an error
//
// A method that the server does not have (-32601) lists nothing. So does a first and only page without the member it
// must have (tools, prompts, resourceTemplates), with a note, if the server does not declare the capability; for
// resourceTemplates even if it does, as the resources capability promises no templates and real servers answer so.
// Everything else the server may answer instead of a list is an error: no listing is not an empty listing.
//
// A cursor is opaque and sent back as it was spelled; "" is one, and only a missing or null nextCursor is the end. When a
// cursor comes back a second time the method is listed once more from its first page, and then it is an error.
//
// A line on stdout that is no JSON-RPC message is noise: counted and passed over. A line that is meant as one and is
// broken, repeats a top-level member, is a batch, or answers a request a second time is an error. Requests of the server
// are answered, ping with a result and all others with -32601; notifications are ignored.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Command says how a server is started. The zero Command starts nothing and is an error.
type Command struct {
	Argv []string // program and arguments; no shell is involved
	Env  []string // "name=value", the full environment before [ChildEnv]; nil stands for this process's own
	Dir  string   // working directory; empty stands for this process's own
}

// A Listing is what a server answered. Every text in it is the server's: escape it before it is shown.
type Listing struct {
	// Responses are the lines of the JSON-RPC responses without their newline and otherwise exactly as received: the
	// answer to initialize or server/discover, then all pages of tools/list, prompts/list and resources/templates/list.
	// Only their top-level members and those of the result were looked at.
	Responses [][]byte

	ProtocolVersion string   // agreed on in the first response; 2026-07-28 after server/discover
	Notes           []string // answers that were not as they should be and did not matter, at most 16
	Noise           []string // the first lines on stdout that were no JSON-RPC messages, at most 16 of at most 256 bytes
	NoiseLines      int      // how many such lines there were in all
	Stderr          string   // the last 4 KiB of the server's standard error
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

// A MethodError reports that the server answered a request with a JSON-RPC error.
type MethodError struct {
	Method  string
	Code    int64  // 0 if the error object had none that could be read
	Message string // as received: escape it before it is shown
}

// Error returns a single line with at most 300 characters of the message, quoted.
func (e *MethodError) Error() string {
	return fmt.Sprintf("%s was answered with error %d: %.300q", e.Method, e.Code, e.Message)
}

// limits bound what one listing may cost. Tests lower them.
type limits struct {
	pages int           // of all methods together, discarded ones included
	line  int           // bytes of one line
	total int           // bytes of standard output, noise included
	grace time.Duration // for each step of ending the process
}

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
	return list(ctx, c, limits{pages: 1000, line: 16 << 20, total: 64 << 20, grace: 2 * time.Second})
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

	s := newSession(p.stdin, p.stdout, lim)
	err = s.list()
	if errors.Is(err, errEnded) && ctx.Err() != nil {
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
