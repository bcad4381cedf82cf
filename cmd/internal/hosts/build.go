package hosts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// written is what a configuration says of a server, host by host the same things by other names.
type written struct {
	transport string // "" if not said
	command   string
	args      []string
	cwd       string
	env       map[string]string
	forward   []string          // names of variables that are handed on as they are
	urls      map[string]string // by the member that holds it
	headers   map[string]string
	variables map[string]string // by header, the variable that holds its value
	bearer    string            // the variable that holds the token of the header Authorization
	removed   []string          // names of variables that are taken from the environment
	disabled  bool
	unread    []string // members that count for the host and are not read
}

// values is what an Entry does not show, and what its placeholders stand for. An Entry holds a function that returns it:
// fmt follows pointers, even of a field that nobody else can read.
type values struct {
	written
	syntax    syntax
	home, dir string // the user's folder, the project's
	separator string
}

// build makes an Entry of w; e has its place already.
func (s System) build(h host, e *Entry, w *written) error {
	ways := 0
	if w.command != "" {
		ways++
		e.Transport, e.Command = Stdio, append([]string{w.command}, w.args...)
	}
	for _, member := range h.urls {
		if u, ok := w.urls[member]; ok && u != "" && !(h.first && e.URL != "") {
			ways++
			e.Transport, e.URL = HTTP, u
		}
	}
	switch {
	case ways == 0 && len(h.urls) == 0:
		return errors.New("has no command")
	case ways == 0:
		return fmt.Errorf("has neither a command nor a URL in %s", strings.Join(h.urls, " or "))
	case ways > 1:
		return errors.New("has more than one of a command and URLs: which one counts is not certain")
	}
	if h.typed && e.URL != "" && w.transport == "" {
		return fmt.Errorf("has a URL and no type: %s does not start such a server, write the type http or sse", h.name)
	}
	if err := e.setTransport(w.transport); err != nil {
		return err
	}
	if h.cwd && e.Transport == Stdio {
		e.Dir = w.cwd
	}
	if err := w.check(e.Transport); err != nil {
		return err
	}
	e.Disabled = w.disabled
	v := &values{written: *w, syntax: h.syntax, home: s.Home, dir: s.Dir, separator: s.separator()}
	e.values = func() *values { return v }
	e.describe(s.LookupEnv)
	return nil
}

// setTransport replaces what was concluded by what the entry says.
func (e *Entry) setTransport(said string) error {
	transport := said
	switch said {
	case "":
		return nil
	case "streamable-http", "streamable_http", "streamableHttp":
		transport = HTTP
	case "local": // Copilot
		transport = Stdio
	case Stdio, HTTP, SSE, WebSocket:
	default:
		return fmt.Errorf("transport %.100q is not known: want stdio, http, sse or ws", said)
	}
	if (transport == Stdio) != (e.Command != nil) {
		return fmt.Errorf("transport %s does not go with its command or URL", transport)
	}
	e.Transport = transport
	return nil
}

// check refuses names that can't be those of variables or headers, and headers that are there twice.
func (w *written) check(transport string) error {
	names := slices.Concat(slices.Sorted(maps.Keys(w.env)), w.forward, w.removed, slices.Sorted(maps.Values(w.variables)))
	if w.bearer != "" {
		names = append(names, w.bearer)
	}
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("%.100q can't be the name of a variable", name)
		}
	}
	if transport == Stdio {
		return nil
	}
	seen := map[string]bool{}
	for _, name := range w.headerNames() {
		lower := strings.ToLower(name)
		switch {
		case !isToken(name):
			return fmt.Errorf("%.100q can't be the name of a header", name)
		case seen[lower]:
			return fmt.Errorf("header %.100q is there twice", name)
		}
		seen[lower] = true
	}
	return nil
}

// headerNames returns the names of the headers, sorted. One may be there twice.
func (w *written) headerNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(w.headers)), maps.Keys(w.variables))
	if w.bearer != "" {
		names = append(names, "Authorization")
	}
	slices.Sort(names)
	return names
}

// isToken reports whether name is a token of RFC 9110 section 5.6.2.
func isToken(name string) bool {
	for _, r := range name {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)) {
			return false
		}
	}
	return name != ""
}

// describe fills in the names, templates and notes of e. Gemini CLI's $name is a placeholder only if name is set, or spelled in capitals.
func (e *Entry) describe(lookup func(string) (string, bool)) {
	w := &e.values().written
	if e.Transport == Stdio {
		e.Env = slices.AppendSeq(slices.Concat(w.forward, w.removed), maps.Keys(w.env))
		slices.Sort(e.Env)
		e.Env = slices.Compact(e.Env)
	} else {
		x := &expander{values: e.values(), host: e.Host, dry: true, lookup: lookup}
		e.Headers, e.Endpoint = x.templates(), x.urlTemplate(e.URL)
	}
	for _, member := range w.unread {
		e.Notes = append(e.Notes, unreadNote(member, e.Host))
	}
	seen := map[string]bool{}
	dry := &expander{values: e.values(), host: e.Host, left: maxResolved, dry: true, lookup: func(name string) (string, bool) {
		seen[name] = true
		return "", true
	}}
	dry.launch(e)
	e.Variables = slices.Sorted(maps.Keys(seen))
}

func unreadNote(member, host string) string {
	return fmt.Sprintf("%s is not read: the server may get less than %s would give it", member, host)
}
