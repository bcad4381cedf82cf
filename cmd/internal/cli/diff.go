package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

func (a *app) diffCommand() *cobra.Command {
	var all allFlags
	cmd := &cobra.Command{
		Use:         "diff NAME [SOURCE] | OLD NEW",
		Annotations: reports,
		Short:       "Show what changed between a pin and a listing, two listings or two lockfiles",
		Long: `Show each member that differs, what that means, and how much it matters; no
signature is looked at. NAME is a server of the lockfile, compared with SOURCE or
with what it lists now; OLD and NEW are sources, or two lockfiles. Exit 0 if
nothing differs, 10 if a definition changed or vanished, 11 if some are new only.

` + sourceHelp,
		Example: `  mcpsign diff weather -- npx -y @acme/weather-mcp
  mcpsign diff old.json new.json -o markdown`,
		RunE: func(cmd *cobra.Command, list []string) error {
			if !all.all {
				if old, now, err := a.diffSources(cmd, list); err != nil || !old.empty() {
					if err != nil {
						return err
					}
					return a.diffTwo(cmd.Context(), old, now)
				}
			}
			st, fetched, err := a.gather(cmd, list, &all, nil)
			if err != nil {
				return err
			}
			defer st.close()
			r := st.report()
			r.many = all.all
			for _, f := range fetched {
				r.entries = append(r.entries, st.diffPinned(f))
			}
			return a.report(r)
		},
	}
	all.add(cmd.Flags())
	a.live.add(cmd.Flags())
	return cmd
}

// diffSources returns the two sources that the arguments name; none if the
// first one is a server of the lockfile.
func (a *app) diffSources(cmd *cobra.Command, list []string) (old, now source, err error) {
	st, err := a.openStore()
	if err != nil {
		return old, now, err
	}
	defer st.close()
	words, command := list, []string(nil)
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		words, command = list[:dash], list[dash:]
	}
	if len(words) == 0 {
		return old, now, usage("usage: "+cmd.UseLine(), "nothing is named")
	}
	if _, entry, err := st.resolve(words[0]); err == nil && entry != nil {
		return old, now, nil
	}
	switch {
	case len(words)+min(1, len(command)) != 2:
		return old, now, usage("usage: "+cmd.UseLine(), "two sources are needed, or a server of the lockfile: "+st.notPinned(words[0]))
	case len(command) > 0:
		now = source{command: command}
	default:
		if now, err = newSource(words[1:]); err != nil {
			return old, now, err
		}
	}
	old, err = newSource(words[:1])
	return old, now, err
}

// diffPinned compares a listing with what is pinned.
func (s *store) diffPinned(f fetch) entry {
	e := entry{server: f.name, err: f.err}
	if e.err != nil {
		return e
	}
	name, pinned, err := s.resolve(f.name)
	if err != nil || pinned == nil {
		e.err = fail(ExitUnpinned, errors.New(s.notPinned(f.name)), "pin it with: "+nextFor(s.path, "lock", f.name, f.source.String()))
		return e
	}
	e = entry{server: name, changes: pinned.Diff(f.got.Listing), launch: launchNote(pinned.Source, f.got.launch)}
	e.info = compareInfo(pinned.Info, f.got.Info(), f.got.launch)
	e.err = diffOutcome(name, e.changes, e.info, f.got.Listing)
	return e
}

// diffTwo compares two sources, or two lockfiles.
func (a *app) diffTwo(ctx context.Context, old, now source) error {
	if r, err := a.diffLocks(old, now); r != nil || err != nil {
		if err != nil {
			return err
		}
		return a.report(r)
	}
	all, err := a.fetchAll(ctx, []target{{name: old.String(), source: old}, {name: now.String(), source: now}})
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.err != nil {
			return f.err
		}
	}
	before, after := all[0].got, all[1].got
	e := entry{server: old.String() + " " + now.String(), sources: true, changes: lock.Diff(before.Listing, after.Listing), info: lock.CompareInfo(before.Info(), after.Info())}
	e.err = diffOutcome(e.server, e.changes, e.info, before.Listing, after.Listing)
	return a.report(&report{entries: []entry{e}, path: now.String()})
}

// diffLocks compares two lockfiles, server by server. It returns nothing if the
// sources are no lockfiles.
func (a *app) diffLocks(old, now source) (*report, error) {
	if len(old.files) != 1 || len(now.files) != 1 || old.files[0] == "-" || now.files[0] == "-" {
		return nil, nil
	}
	var files [2]*lock.File
	for i, name := range []string{old.files[0], now.files[0]} {
		data, err := readFile(name, lock.MaxListing)
		if err != nil || !looksLikeLock(data) {
			return nil, nil // reading it as a listing says why
		}
		if files[i], err = lock.Parse(data); err != nil {
			return nil, fail(ExitUsage, fmt.Errorf("%s: %w", lock.Visible(name), err), "")
		}
	}
	r := &report{many: true, file: files[1], path: now.files[0]}
	before, after := files[0].Servers, files[1].Servers
	for len(before)+len(after) > 0 {
		var from, to lock.Server
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Name < after[0].Name:
			from, before = before[0], before[1:]
			to.Name = from.Name
		case len(before) == 0 || after[0].Name < before[0].Name:
			to, after = after[0], after[1:]
		default:
			from, to, before, after = before[0], after[0], before[1:], after[1:]
		}
		l := &lock.Listing{}
		for _, p := range to.Pins {
			l.Definitions = append(l.Definitions, p.Definition)
		}
		e := entry{server: to.Name, changes: from.Diff(l), info: lock.CompareInfo(from.Info, to.Info), launch: launchNote(from.Source, to.Source)}
		e.err = diffOutcome(e.server, e.changes, e.info)
		r.entries = append(r.entries, e)
	}
	return r, nil
}

// looksLikeLock reports whether data begins as lockfiles do and listings do
// not.
func looksLikeLock(data []byte) bool { return bytes.HasPrefix(data, []byte("{\n  \"version\": ")) }

// diffOutcome returns what changes come down to, nil if there is nothing to
// act on.
func diffOutcome(what string, changes []lock.Change, info []lock.Field, listings ...*lock.Listing) error {
	definitions := 0
	for _, l := range listings {
		if len(l.Refused) > 0 {
			return refusedError(l)
		}
		definitions += len(l.Definitions)
	}
	if len(listings) > 0 && definitions+len(changes) == 0 {
		return refusedError(listings[0])
	}
	code, n := ExitYes, 0
	for _, c := range changes {
		if reason := reasonOf(c.Op); reason != "" {
			code, n = worst(code, reasonCode(reason)), n+1
		}
	}
	for _, f := range info {
		if f.Severity == lock.High && code == ExitYes {
			return fail(reasonCode(verify.ServerChanged), fmt.Errorf("%s: %s", what, renamedText(f)), "see that it is the same server before anyone approves it")
		}
	}
	if code == ExitYes {
		return nil
	}
	return fail(code, fmt.Errorf("%s: %d definitions differ", what, n), "read the changes before anyone approves them")
}
