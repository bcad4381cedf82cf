package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/mcpsign/mcpsign/cmd/internal/hosts"
	"github.com/mcpsign/mcpsign/lock"
)

// maxLive is how many servers are asked at once: each is a process or a
// connection, and most of the time it is waited for.
const maxLive = 8

// allFlags choose many servers.
type allFlags struct{ all bool }

func (f *allFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.all, "all", false, "every server of the lockfile, or of the SOURCEs client:HOST")
}

// A target is one of the servers a command is about.
type target struct {
	name   string
	source source
	err    error // why it can't be launched
}

// gather opens the store and lists the servers that the arguments stand for:
// NAME SOURCE, NAME with the launch that the lockfile records, or with --all
// many. Flags are nil for a command that no rule decides.
func (a *app) gather(cmd *cobra.Command, list []string, f *allFlags, flags *trustFlags) (*store, []fetch, error) {
	var names []string
	var s source
	if !f.all {
		var err error
		if names, s, err = sourceOf(cmd, list, 1); err != nil {
			return nil, nil, err
		}
	}
	if !s.empty() { // the store has no say in it: both take a while, so both at once
		var st *store
		g, ctx := errgroup.WithContext(cmd.Context())
		g.Go(func() (err error) { st, err = a.openStore(); return err })
		fetched, stopped := a.fetchAll(ctx, []target{{name: names[0], source: s}})
		err := g.Wait()
		if err != nil {
			return nil, nil, err
		}
		if err = stopped; err == nil {
			fetched[0].name, _, err = st.lookUp(names[0], flags)
		}
		if err != nil {
			st.close()
			return nil, nil, err
		}
		return st, fetched, nil
	}
	st, err := a.openStore()
	if err != nil {
		return nil, nil, err
	}
	targets, err := a.recordedTargets(cmd, st, names, list, f, flags)
	if err != nil {
		st.close()
		return nil, nil, err
	}
	fetched, err := a.fetchAll(cmd.Context(), targets)
	if err != nil {
		st.close()
	}
	return st, fetched, err
}

// recordedTargets returns the servers whose launch is recorded somewhere: the
// one that is named, or with --all many.
func (a *app) recordedTargets(cmd *cobra.Command, st *store, names, list []string, f *allFlags, flags *trustFlags) ([]target, error) {
	if f.all {
		targets, err := a.allTargets(cmd, st, list, f)
		if err == nil {
			st.nameTargets(targets, flags)
		}
		return targets, err
	}
	name, entry, err := st.lookUp(names[0], flags)
	if err != nil {
		return nil, err
	}
	if entry == nil {
		return nil, usage("usage: "+cmd.UseLine(), "a source is needed: "+st.notPinned(name))
	}
	t := a.recorded(entry)
	if t.err != nil {
		return nil, t.err
	}
	return []target{t}, a.mayRun([]target{t})
}

func (a *app) allTargets(cmd *cobra.Command, st *store, list []string, f *allFlags) ([]target, error) {
	if cmd.ArgsLenAtDash() >= 0 || slices.ContainsFunc(list, func(w string) bool { return !strings.HasPrefix(w, clientPrefix) || strings.Contains(w, "/") }) {
		return nil, usage("usage: mcpsign "+a.command+" --all [client:HOST]", "--all is about the lockfile, or about SOURCEs client:HOST")
	}
	if len(a.live.headers) > 0 {
		return nil, usage("lock each server with its own --header", "--header with --all would go to every server")
	}
	var targets []target
	if len(list) == 0 {
		if len(st.file.Servers) == 0 {
			return nil, usage("pin a server with: "+a.next("lock", "NAME", "SOURCE"), lock.Visible(a.lock)+" has no servers")
		}
		for i := range st.file.Servers {
			targets = append(targets, a.recorded(&st.file.Servers[i]))
		}
		return targets, a.mayRun(targets)
	}
	for _, w := range list {
		host := strings.TrimPrefix(w, clientPrefix)
		entries, err := a.hosts().All(host)
		if err == nil && len(entries) == 0 {
			err = fmt.Errorf("%s has no servers", w)
		}
		if err != nil {
			return nil, fail(ExitUsage, err, "")
		}
		if err := a.mayLaunchEntries(entries); err != nil {
			return nil, err
		}
		for _, e := range entries {
			targets = append(targets, target{name: e.Server, source: source{client: e.Host + "/" + e.Server, entry: e, allowed: true}})
		}
	}
	return targets, nil
}

// recorded returns how the lockfile says a server is launched.
func (a *app) recorded(entry *lock.Server) target {
	t := target{name: entry.Name}
	from := entry.Source
	switch {
	case from.Client != "":
		t.source = source{client: from.Client, allowed: true} // by mayRun
		err := a.findRecorded(&t.source, from)
		t.err = fail(ExitServer, err, "see what the entry says now, and then: "+a.next(a.command, entry.Name, t.source.String()))
	case from.URL != "":
		t.source = source{url: from.URL}
		t.source.headers, t.err = a.recordedHeaders(entry)
	case len(from.Command) > 0:
		t.source = source{command: from.Command}
	default:
		t.err = fail(ExitServer, fmt.Errorf("%s was locked from files: no launch is recorded", entry.Name), "name a source: "+a.next(a.command, entry.Name, "SOURCE"))
	}
	return t
}

// findRecorded puts the entry that the lockfile records into s. Where this
// machine certainly has no such entry, as in CI, it is what the lockfile says
// itself; one that can't be read is an error.
func (a *app) findRecorded(s *source, from lock.Source) (err error) {
	s.entry, err = a.clientEntry(from.Client)
	if errors.As(err, new(*hosts.NotFoundError)) {
		from.Artifacts = nil // they are read again
		s.recorded = &from
		s.entry, err = a.hosts().Recorded(from, a.lock)
		return err
	}
	if err != nil {
		return err
	}
	if note := launchNote(from, clientSource(s.entry)); note != "" {
		return fmt.Errorf("%s launches something else than when it was locked: %s", s, note)
	}
	return nil
}

// recordedHeaders returns the headers that the lockfile records, without those in
// whose place others are given. None may have a file read: whoever wrote the
// lockfile could have any file sent to the URL.
func (a *app) recordedHeaders(entry *lock.Server) ([]lock.Header, error) {
	given, err := parseHeaders(a.live.headers)
	if err != nil {
		return nil, err
	}
	rest := withoutHeaders(entry.Source.Headers, given)
	for _, h := range rest {
		if strings.HasPrefix(h.Value, "@") {
			name := lock.Visible(h.Name)
			return nil, usage("see that the file is for that server, then: "+a.next(a.command, entry.Name, "--header '"+name+": @FILE'"),
				fmt.Sprintf("%s: the lockfile has the header %s read from a file, %s, which only --header may", entry.Name, name, lock.Visible(h.Value)))
		}
	}
	return rest, nil
}

// mayRun asks whether what the lockfile records may be launched. A lockfile
// comes with a checkout, and anyone may have written into it.
func (a *app) mayRun(targets []target) error {
	var what []shownLaunch
	for _, t := range targets {
		if t.err == nil {
			what = append(what, t.source.shown())
		}
	}
	return a.mayLaunch(a.lock, what)
}

// shown returns what a source that is recorded launches: of a client's entry,
// what that says now, or what was recorded where there is none.
func (s source) shown() shownLaunch {
	if s.entry == nil {
		return showSource(lock.Source{Command: s.command, URL: s.url, Headers: s.headers})
	}
	l := showEntry(s.entry)
	if s.recorded != nil {
		l.with = append(l.with, "as was recorded of "+s.String()+", which is not configured here")
		return l
	}
	l.with = append(l.with, "as "+s.String()+" says in "+lock.Visible(s.entry.File))
	return l
}

// mayLaunch asks whether what a file says may be launched: --run, or someone at
// the terminal.
func (a *app) mayLaunch(file string, what []shownLaunch) error {
	if a.live.run || a.offline || len(what) == 0 { // offline nothing is launched
		return nil
	}
	const hint = "read it, then allow it with --run"
	if !isTerminal(a.Stdin) || !isTerminal(a.Stderr) {
		var all []string
		for _, l := range what {
			all = append(all, l.String())
		}
		return fail(ExitInput, fmt.Errorf("%s says to launch %s", lock.Visible(file), strings.Join(all, "; ")), hint)
	}
	fmt.Fprintf(a.Stderr, "%s launches:\n", lock.Visible(file))
	for _, l := range what {
		fmt.Fprint(a.Stderr, l.lines())
	}
	if !a.yes("Launch it? [y/N] ") {
		return fail(ExitInput, errors.New("nothing was launched"), hint)
	}
	return nil
}

// yes asks at the terminal. Anything but y or yes is a no.
func (a *app) yes(question string) bool {
	fmt.Fprint(a.Stderr, question)
	answer, err := bufio.NewReader(a.Stdin).ReadString('\n')
	return err == nil && slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}

// A fetch is what came of asking one target.
type fetch struct {
	target
	got *fetched
	err error
}

// fetchAll asks the targets, several at once, and returns what came of it in
// their order. Notes are printed in that order too. An error says that a
// signal came: nothing is known of the servers that were still asked then.
func (a *app) fetchAll(ctx context.Context, targets []target) ([]fetch, error) {
	all := make([]fetch, len(targets))
	var done atomic.Int64
	progress := len(targets) > 1 && isTerminal(a.Stderr)
	var g errgroup.Group
	g.SetLimit(maxLive)
	for i, t := range targets {
		g.Go(func() error {
			all[i] = fetch{target: t, err: t.err}
			if t.err == nil {
				all[i].got, all[i].err = a.fetch(ctx, t.source)
			}
			if n := done.Add(1); progress {
				fmt.Fprintf(a.Stderr, "\r%d of %d servers listed ", n, len(targets))
			}
			return nil
		})
	}
	_ = g.Wait() // no function returns an error: each is in all
	if progress {
		fmt.Fprint(a.Stderr, "\r\x1b[K")
	}
	if err := interrupted(ctx); err != nil {
		return nil, err
	}
	for _, f := range all {
		if f.err != nil {
			continue
		}
		for _, n := range f.got.notes {
			if len(all) > 1 {
				n = f.name + ": " + n
			}
			a.note(n)
		}
	}
	return all, nil
}
