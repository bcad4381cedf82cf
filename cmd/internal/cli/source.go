package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/cmd/internal/mcp"
	"github.com/mcpsign/mcpsign/lock"
)

// listTimeout bounds how long a server may take to list everything.
const listTimeout = time.Minute

const sourceHelp = `SOURCE is files that hold the listing (JSON-RPC responses, results or an array of
tools; several files are parts of one listing), - for standard input, or
-- COMMAND ARGS to start a server and list it over stdio.`

// A source says where a listing comes from.
type source struct {
	files   []string
	command []string
}

// sourceOf splits the arguments of a command in the first n, none or NAME, and
// the source.
func sourceOf(cmd *cobra.Command, list []string, n int) ([]string, source, error) {
	dash := cmd.ArgsLenAtDash()
	s := source{files: list}
	if dash >= 0 {
		s.files, s.command = list[:dash], list[dash:]
	}
	if len(s.files) < n {
		return nil, source{}, usage("usage: "+cmd.UseLine(), "NAME is needed before the source")
	}
	names := s.files[:n]
	s.files = s.files[n:]
	switch {
	case dash >= 0 && len(s.command) == 0:
		return nil, source{}, usage("usage: "+cmd.UseLine(), "a command is needed after --")
	case len(s.files) > 0 && len(s.command) > 0:
		return nil, source{}, usage("usage: "+cmd.UseLine(), "a source is files or a command, not both")
	}
	return names, s, nil
}

// neededSource is sourceOf for a command that can do nothing without a source.
func neededSource(cmd *cobra.Command, list []string, n int) ([]string, source, error) {
	names, s, err := sourceOf(cmd, list, n)
	if err == nil && s.empty() {
		err = usage("usage: "+cmd.UseLine(), "a source is needed")
	}
	return names, s, err
}

func (s source) empty() bool { return len(s.files) == 0 && len(s.command) == 0 }

// String returns the source as it was written.
func (s source) String() string {
	if len(s.command) > 0 {
		return "-- " + quoteWords(s.command)
	}
	return quoteWords(s.files)
}

// quoteWords joins words so that a shell reads them again.
func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		w = lock.Visible(w)
		if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-") != "" {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}

// listing reads the source.
func (a *app) listing(ctx context.Context, s source) (*lock.Listing, error) {
	if len(s.command) > 0 {
		return a.listServer(ctx, s.command, "")
	}
	var texts [][]byte
	for _, name := range s.files {
		data, err := a.readInput(name)
		if err != nil {
			return nil, fail(ExitInternal, err, "")
		}
		texts = append(texts, data)
	}
	l, err := lock.ParseListing(texts...)
	return l, fail(ExitServer, inFile(err, s.files), "a listing is what a server answers to tools/list, prompts/list, resources/templates/list and initialize")
}

// inFile names the file an error is about, if there is only one.
func inFile(err error, files []string) error {
	if err == nil || len(files) != 1 {
		return err
	}
	return fmt.Errorf("%s: %w", lock.Visible(files[0]), err)
}

// readInput reads a file, or standard input for "-", up to the limit of a
// listing and one byte more.
func (a *app) readInput(name string) ([]byte, error) {
	in := a.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, lock.MaxListing+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lock.Visible(name), err)
	}
	return data, nil
}

// listServer starts a server in dir, the working directory if it is empty, and
// lists it.
func (a *app) listServer(ctx context.Context, command []string, dir string) (*lock.Listing, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, fmt.Errorf("the server did not list everything within %s", listTimeout))
	defer cancel()
	got, err := mcp.List(ctx, mcp.Command{Argv: command, Dir: dir})
	if err != nil {
		return nil, fail(ExitServer, err, "run the command by itself and see whether it answers on standard output")
	}
	if got.NoiseLines > 0 {
		fmt.Fprintf(a.Stderr, "note: %d lines on the server's standard output are no messages; the first is %s\n", got.NoiseLines, lock.Visible(got.Noise[0]))
	}
	for _, n := range got.Notes {
		fmt.Fprintln(a.Stderr, "note:", lock.Visible(n))
	}
	l, err := lock.ParseListing(got.Responses...)
	return l, fail(ExitServer, err, "")
}

// refusedError says that definitions have no digest, nil if none are refused.
func refusedError(l *lock.Listing) error {
	if len(l.Refused) == 0 {
		if len(l.Definitions) == 0 {
			return fail(ExitNoDigest, errors.New("the listing is empty: there is nothing to digest, sign or pin"), "")
		}
		return nil
	}
	r := l.Refused[0]
	err := fmt.Errorf("%d of %d definitions have no digest; the first is %s: %w", len(l.Refused), len(l.Refused)+len(l.Definitions), show(r.Kind, r.Name), r.Err)
	return fail(ExitNoDigest, err, "the server has to list them as I-JSON (RFC 7493), each under a name of its own; mcpsign digest names all")
}

// show returns a definition's ID, fit for a terminal.
func show(k lock.Kind, name string) string { return lock.Visible(lock.ID(k, name)) }
