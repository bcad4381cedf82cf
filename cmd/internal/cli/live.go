package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/cmd/internal/hosts"
	"github.com/mcpsign/mcpsign/cmd/internal/launch"
	"github.com/mcpsign/mcpsign/cmd/internal/mcp"
	"github.com/mcpsign/mcpsign/cmd/internal/secret"
	"github.com/mcpsign/mcpsign/cmd/internal/web"
	"github.com/mcpsign/mcpsign/lock"
)

// fetchLive lists a server that is started or reached over HTTP.
func (a *app) fetchLive(ctx context.Context, s source) (*fetched, error) {
	if err := a.mayList(s); err != nil {
		return nil, err
	}
	switch {
	case s.client != "":
		return a.fetchClient(ctx, s)
	case len(a.live.headers) > 0 && s.url == "":
		return nil, usage("give a command its secrets in the environment", "--header is for a URL")
	case s.url != "":
		templates, err := parseHeaders(a.live.headers)
		if err != nil {
			return nil, err
		}
		templates = append(templates, s.headers...)
		slices.SortFunc(templates, byName)
		header, env, err := a.expandHeaders(templates)
		if err != nil {
			return nil, err
		}
		f, err := a.listRemote(ctx, mcp.Remote{URL: s.url, Header: header})
		if err == nil {
			if u, parseErr := url.Parse(s.url); parseErr == nil && u.Scheme == "http" && len(header) > 0 && !loopback(u.Hostname()) {
				f.notes = append(f.notes, "the headers went over plain http, for everyone on the way to read")
			}
			f.launch = lock.Source{URL: recordable(s.url), Env: env, Headers: templates}
			if f.launch.URL != s.url {
				f.notes = append(f.notes, "the lockfile does not record the query of a URL: --all will ask "+lock.Visible(f.launch.URL))
			}
			if i := slices.IndexFunc(templates, func(h lock.Header) bool { return strings.HasPrefix(h.Value, "@") }); i >= 0 {
				f.notes = append(f.notes, "no file is read because a lockfile says so: --header for "+lock.Visible(templates[i].Name)+" has to be given each time")
			}
		}
		return f, err
	}
	f, err := a.listStdio(ctx, mcp.Command{Argv: s.command, Dir: s.dir})
	if err == nil {
		f.launch = lock.Source{Command: s.command}
	}
	return f, err
}

// withoutSecrets returns a URL to show: without user, query and fragment, and with
// asterisks for what looks like a secret in its path.
func withoutSecrets(text string) string {
	text = recordable(text)
	return secret.Mask(text, secret.URL(text))
}

// recordable returns a URL without user, query and fragment.
func recordable(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "URL"
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery = nil, "", "", "", false
	return u.String()
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// fetchClient lists an entry of a host's configuration.
func (a *app) fetchClient(ctx context.Context, s source) (*fetched, error) {
	if len(a.live.headers) > 0 && (s.recorded == nil || s.recorded.URL == "") {
		return nil, usage("the entry says which headers are sent", "--header is for a URL")
	}
	e := s.entry
	if e == nil {
		var err error
		if e, err = a.clientEntry(s.client); err != nil {
			return nil, err
		}
	}
	if err := noSigning(e.String(), e.Variables); err != nil {
		return nil, err
	}
	if e.Transport == hosts.SSE {
		return nil, fail(ExitServer, fmt.Errorf("%s has the HTTP transport of protocol version 2024-11-05, which is not supported", e), "see whether the server has an endpoint for streamable HTTP")
	}
	if e.Transport == hosts.WebSocket {
		return nil, fail(ExitServer, fmt.Errorf("%s has the transport ws, which is not supported", e), "see whether the server has an endpoint for streamable HTTP")
	}
	if !s.allowed {
		if err := a.mayLaunchEntries([]*hosts.Entry{e}); err != nil {
			return nil, err
		}
	}
	resolved, err := e.Resolve(a.LookupEnv)
	if err != nil {
		return nil, fail(ExitUsage, err, "set the variable, and export it")
	}
	if err := a.giveHeaders(resolved); err != nil {
		return nil, err
	}
	var f *fetched
	if resolved.URL != "" {
		f, err = a.listRemote(ctx, mcp.Remote{URL: resolved.URL, Header: resolved.Header})
	} else {
		f, err = a.listStdio(ctx, mcp.Command{Argv: resolved.Argv, Env: append(inherited(resolved.Unset), resolved.Env...), Dir: cmp.Or(resolved.Dir, s.dir)})
	}
	if err != nil {
		return f, err
	}
	f.notes = append(f.notes, resolved.Notes...)
	if s.recorded != nil {
		f.launch = *s.recorded
		f.notes = append(f.notes, a.recordedNotes(s)...)
		return f, nil
	}
	f.launch = clientSource(e)
	f.notes = append(append(f.notes, fmt.Sprintf("the entry is %s, and launches %s", e, showEntry(e))), e.Notes...)
	if e.Disabled {
		f.notes = append(f.notes, "the entry is disabled: the host does not start it")
	}
	return f, nil
}

// inherited returns the environment without some variables.
func inherited(unset []string) []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(unset, func(u string) bool { return name == u || runtime.GOOS == "windows" && strings.EqualFold(name, u) })
	})
}

// giveHeaders adds the headers of --header, which is for URLs that a lockfile
// records.
func (a *app) giveHeaders(l *hosts.Launch) error {
	templates, err := parseHeaders(a.live.headers)
	if err != nil {
		return err
	}
	header, _, err := a.expandHeaders(templates)
	for name, values := range header {
		l.Header[name] = values
	}
	return err
}

// recordedNotes says that a recorded launch was used, and what of it is not
// known here.
func (a *app) recordedNotes(s source) []string {
	notes := []string{fmt.Sprintf("%s is not configured here: what was launched is %s, as the lockfile records it", s, showEntry(s.entry))}
	var unset []string
	for _, name := range s.recorded.Env {
		if _, ok := a.LookupEnv(name); !ok {
			unset = append(unset, name)
		}
	}
	if len(unset) > 0 {
		notes = append(notes, "the lockfile records no values of variables, and these are not set here: "+listWords(unset))
	}
	if s.recorded.URL != "" {
		notes = append(notes, "the lockfile does not record the headers of the entry: give them with --header")
	}
	return notes
}

// mayLaunchEntries asks whether the entries that a project's own configuration
// has may be launched: it is the text of whoever wrote the project, and stands
// before the user's.
func (a *app) mayLaunchEntries(entries []*hosts.Entry) error {
	var file string
	var what []shownLaunch
	for _, e := range entries {
		if e.Project {
			file = e.File
			what = append(what, showEntry(e))
		}
	}
	return a.mayLaunch(file, what)
}

// clientEntry finds HOST/SERVER.
func (a *app) clientEntry(name string) (*hosts.Entry, error) {
	host, server, ok := strings.Cut(name, "/")
	if !ok || server == "" {
		return nil, usage("write client:HOST/SERVER; client:HOST with --all is every server of that host", clientPrefix+lock.Visible(name)+" names no server")
	}
	e, err := a.hosts().Find(host, server)
	hint := ""
	if errors.As(err, new(*hosts.NotFoundError)) {
		hint = "name one that is there: client:HOST/SERVER"
	}
	return e, fail(ExitUsage, err, hint)
}

// hosts returns where the configurations of hosts are on this machine.
func (a *app) hosts() hosts.System {
	dir, _ := os.Getwd() // without either, package hosts finds nothing and says so
	home, _ := a.homeFolder()
	return hosts.System{
		OS: runtime.GOOS, Home: home, Dir: dir, LookupEnv: a.LookupEnv,
		ReadFile: func(name string) ([]byte, error) { return readRegular(name, hosts.MaxFile) },
	}
}

// inOrder returns names as a lockfile has them.
func inOrder(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// clientSource is what a lockfile records of an entry: what is written there,
// names instead of values.
func clientSource(e *hosts.Entry) lock.Source {
	s := lock.Source{Client: e.Host + "/" + e.Server, Command: e.Command, Dir: e.Dir, Env: inOrder(e.Env)}
	if e.URL != "" {
		s.URL, s.Env = recordable(e.URL), inOrder(e.Variables)
	}
	return s
}

func (a *app) listRemote(ctx context.Context, r mcp.Remote) (*fetched, error) {
	transport := web.NewTransport()
	defer transport.CloseIdleConnections()
	r.Transport = transport
	return a.list(ctx, func(ctx context.Context) (*mcp.Listing, error) { return mcp.ListRemote(ctx, r) },
		"see that the URL is the server's endpoint (often it ends in /mcp); if it is, ask its publisher")
}

func (a *app) listStdio(ctx context.Context, c mcp.Command) (*fetched, error) {
	if a.Exposed != nil && slices.ContainsFunc(os.Environ(), func(kv string) bool { name, _, _ := strings.Cut(kv, "="); return secret.Signing(name) }) {
		return nil, fail(ExitInternal, fmt.Errorf("a server could read the environment of mcpsign, which has what signs: %w", a.Exposed),
			"in a job without it: mcpsign list -o raw SOURCE > listing.jsonl; then sign that file")
	}
	ran := launch.Before(ctx, launch.Command{Argv: c.Argv, Dir: c.Dir, Env: c.Env})
	f, err := a.list(ctx, func(ctx context.Context) (*mcp.Listing, error) { return mcp.List(ctx, c) },
		"run the command by itself and see whether it answers on standard output")
	if err == nil {
		f.ran = ran
	}
	return f, err
}

// list asks a server within the time that --timeout gives it.
func (a *app) list(ctx context.Context, ask func(context.Context) (*mcp.Listing, error), hint string) (*fetched, error) {
	most := time.Duration(a.live.timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("the server did not list everything within %s", most))
	defer cancel()
	got, err := ask(ctx)
	if err != nil {
		hint = listHint(err, hint)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			hint = "give it more time with --timeout, such as --timeout 5m; if that does not help, see what the server waits for"
		}
		return nil, fail(ExitServer, err, hint)
	}
	f := &fetched{responses: got.Responses, notes: got.Notes}
	if got.NoiseLines > 0 {
		f.notes = append([]string{fmt.Sprintf("%d lines of what the server wrote are no messages; the first is %s", got.NoiseLines, lock.Visible(got.Noise[0]))}, f.notes...)
	}
	places := make([]string, len(got.Methods))
	for i, m := range got.Methods {
		places[i] = "the answer to " + m
	}
	if len(places) == 1 {
		places[0] = "the server's only answer"
	}
	err = f.parse(places, "")
	if f.Listing == nil && len(f.notes) > 0 {
		err = fmt.Errorf("%w; %s", err, strings.Join(f.notes, "; "))
	}
	return f, err
}

// parseHeaders reads the values of --header.
func parseHeaders(values []string) ([]lock.Header, error) {
	var list []lock.Header
	for _, v := range values {
		name, value, ok := strings.Cut(v, ":")
		name, value = http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
		switch {
		case !ok || name == "" || value == "":
			return nil, usage("write --header 'Authorization: Bearer ${TOKEN}'", "a --header is not of the form NAME: VALUE")
		case slices.ContainsFunc(list, func(h lock.Header) bool { return h.Name == name }):
			return nil, usage("", "the header "+lock.Visible(name)+" is given twice")
		case looksSecret(lock.Header{Name: name, Value: value}):
			return nil, headerError(lock.Header{Name: name, Value: value})
		}
		list = append(list, lock.Header{Name: name, Value: value})
	}
	slices.SortFunc(list, byName)
	return list, nil
}

func byName(a, b lock.Header) int { return strings.Compare(a.Name, b.Name) }

// withoutHeaders returns the headers whose fields are not among others, of which
// the names are canonical.
func withoutHeaders(list, others []lock.Header) []lock.Header {
	return slices.DeleteFunc(slices.Clone(list), func(h lock.Header) bool {
		return slices.ContainsFunc(others, func(o lock.Header) bool { return o.Name == http.CanonicalHeaderKey(h.Name) })
	})
}

// expandHeaders puts values in the place of variables and files, and returns
// the names of the variables, sorted.
func (a *app) expandHeaders(list []lock.Header) (http.Header, []string, error) {
	header := http.Header{}
	env := map[string]bool{}
	for _, h := range list {
		if err := noSigning("the header "+lock.Visible(h.Name), variablesOf(h)); err != nil {
			return nil, nil, err
		}
		value, err := a.expand(h, env)
		if err != nil {
			return nil, nil, err
		}
		if value == "" || strings.ContainsAny(value, "\r\n\x00") {
			return nil, nil, usage("", "the header "+lock.Visible(h.Name)+" is empty or has several lines")
		}
		header.Set(h.Name, value)
	}
	var names []string
	for n := range env {
		names = append(names, n)
	}
	slices.Sort(names)
	return header, names, nil
}

// variablesOf returns the names of the variables in the value of a header.
func variablesOf(h lock.Header) []string {
	var names []string
	for _, ref := range variable().FindAllString(h.Value, -1) {
		names = append(names, ref[2:len(ref)-1])
	}
	return names
}

// noSigning refuses to give a server a variable that lets its holder sign. what
// names the variables.
func noSigning(what string, names []string) error {
	for _, n := range names {
		if secret.Signing(n) {
			return usage("take it out: a server never gets what signs", fmt.Sprintf("%s names the environment variable %s, which lets its holder sign", what, lock.Visible(n)))
		}
	}
	return nil
}

func (a *app) expand(h lock.Header, env map[string]bool) (string, error) {
	if file, ok := strings.CutPrefix(h.Value, "@"); ok {
		data, err := readFile(file, 64<<10)
		return strings.TrimSpace(string(data)), fail(ExitUsage, err, "")
	}
	unset := ""
	value := variable().ReplaceAllStringFunc(h.Value, func(ref string) string {
		name := ref[2 : len(ref)-1]
		env[name] = true
		v := a.Getenv(name)
		if v == "" {
			unset = name
		}
		return v
	})
	if unset != "" {
		return "", usage("set it, and export it", "the environment variable "+unset+" of the header "+lock.Visible(h.Name)+" is not set")
	}
	return value, nil
}
