package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/cmd/internal/hosts"
	"github.com/mcpsign/mcpsign/cmd/internal/kit"
	"github.com/mcpsign/mcpsign/lock"
)

func (a *app) lockCommand() *cobra.Command {
	var flags trustFlags
	var all allFlags
	var from string
	cmd := &cobra.Command{
		Use:         "lock NAME SOURCE",
		Annotations: reports,
		Short:       "Pin the definitions of a server for the first time",
		Long: `Pin what a server lists, and how it is launched, in ` + defaultLock + `. With
--bundle and who must have signed it, nothing is pinned that does not verify, and
the signer is recorded; without, the pins are marked unsigned. A server that is
locked already is only compared: nothing changes, the exit code says what differs.

` + sourceHelp,
		Example: `  mcpsign lock io.github.acme/weather listing.json --bundle r.sigstore.json --key acme.pub
  mcpsign lock io.github.acme/weather -- npx -y @acme/weather-mcp
  mcpsign lock --all client:cursor`,
		RunE: func(cmd *cobra.Command, list []string) error {
			if ruled, err := flags.ruled(); err != nil {
				return err
			} else if len(flags.bundles) > 0 && !ruled {
				return usage("name the publisher's key with --key, or its identity with --signer", "--bundle needs to know who must have signed")
			} else if err := flags.restricting(); err != nil {
				return err
			}
			var targets []target
			var err error
			st, err := a.openStore()
			if err != nil {
				return err
			}
			defer st.close()
			switch {
			case !all.all:
				var names []string
				var s source
				names, s, err = neededSource(cmd, list, 1)
				targets = append(targets, target{source: s})
				if err == nil {
					targets[0].name = names[0]
				}
			case len(list) == 0:
				err = usage("name one of the hosts "+strings.Join(hosts.Names(), ", ")+": mcpsign lock --all client:HOST", "--all needs to know which servers to pin")
			case len(flags.bundles) > 0 || from != "":
				err = usage("lock the server by itself", "--bundle and --from are about one server")
			default:
				targets, err = a.allTargets(cmd, st, list, &all)
			}
			if err != nil {
				return err
			}
			st.nameTargets(targets, &flags)
			fetched, err := a.fetchAll(cmd.Context(), targets)
			if err != nil {
				return err
			}
			r := st.report()
			r.many = all.all
			for _, f := range fetched {
				r.entries = append(r.entries, a.lockServer(cmd.Context(), st, f, &flags, from))
			}
			if err := a.reread(r); err != nil {
				return err
			}
			if slices.ContainsFunc(r.entries, func(e entry) bool { return e.pinned != nil }) {
				a.noteAttributes()
			}
			return a.report(r)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "lockfile of another pinning tool: pin only what still matches it")
	cmd.Flags().BoolVar(&all.all, "all", false, "every server of the SOURCEs client:HOST")
	flags.add(a, cmd.Flags())
	a.live.add(cmd.Flags())
	return cmd
}

// reread gives a report the lockfile as it is now.
func (a *app) reread(r *report) error {
	now, err := a.openStore()
	if err != nil {
		return err
	}
	r.file = now.file
	now.close()
	return nil
}

// lockServer pins one server, or compares it if it is pinned already.
func (a *app) lockServer(ctx context.Context, st *store, f fetch, flags *trustFlags, from string) entry {
	e := entry{server: f.name, err: f.err}
	if e.err != nil {
		return e
	}
	j, err := a.judge(ctx, st, query{name: f.name, source: f.source, fetched: f.got, flags: flags, compare: true})
	if err != nil {
		e.err = err
		return e
	}
	if j.entry != nil {
		a.note(j.server + " is locked already: nothing is changed")
		return newEntry(j, j.outcome())
	}
	if e.err = refusedError(j.listing); e.err != nil {
		return e
	}
	if e.err = a.checkSecrets(f.got.launch); e.err != nil {
		return e
	}
	if from != "" {
		if e.others, e.err = compareOther(from, j.server, j.listing); e.err != nil {
			return e
		}
	}
	pinned, err := j.decision.Pin(j.listing.Definitions...)
	if err != nil {
		j.compare = len(j.decision.Expected()) == 0
		if refused := j.outcome(); refused != nil {
			err = refused
		}
		return newEntry(j, err)
	}
	content, err := a.contentFor(j, pinned)
	if err != nil {
		e.err = err
		return e
	}
	done := a.pin(st, j, pinned, content)
	done.others = e.others
	return done
}

// pin raises the state, or for an approved downgrade sets it back, replaces the
// server's entry unless another process has changed it meanwhile, and returns
// what check will say from now on.
func (a *app) pin(st *store, j *judgement, pinned *lock.Server, content [][]byte) entry {
	e := entry{server: pinned.Name}
	state, err := a.state()
	if err == nil {
		err = state.record(j.sighted, j.news())
	}
	if err == nil && j.sighted != j.here { // so that the rule of the lockfile alone knows it
		err = state.record(j.here, j.news())
	}
	if err == nil {
		err = a.writeLock(st, j, pinned, content)
	}
	if err != nil {
		e.err = err
		return e
	}
	state.release(j.here)
	j.request.Lock, j.entry = pinned, pinned
	if j.downgrade {
		j.request.Seen = j.decision.HighWater()
	}
	j.decide(j.request, true)
	e = newEntry(j, j.outcome())
	e.pinned, e.path = pinned, st.path
	return e
}

// writeLock writes the lockfile with a server's new entry.
func (a *app) writeLock(st *store, j *judgement, pinned *lock.Server, content [][]byte) error {
	return st.exclusive(func() error {
		now, err := a.openStore()
		if err != nil {
			return err
		}
		defer now.close()
		if !same(now.file.Find(pinned.Name), j.entry) {
			return fail(ExitInternal, fmt.Errorf("%s was changed by another process", pinned.Name), "look at it again")
		}
		if err := now.writeAdded(kit.Folder(pinned.Name), asAdded(j.supporting(pinned))); err != nil {
			return err
		}
		now.file.Put(*pinned)
		return now.save(content)
	})
}

// same reports whether two entries are written alike.
func same(a, b *lock.Server) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, err := (&lock.File{Servers: []lock.Server{*a}}).Format()
	y, err2 := (&lock.File{Servers: []lock.Server{*b}}).Format()
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// contentFor returns the bundles that the pins rest on, and the keys and roots
// they were verified with.
func (a *app) contentFor(j *judgement, pinned *lock.Server) ([][]byte, error) {
	var content [][]byte
	for _, e := range pinned.Evidence {
		for _, d := range append([]lock.Digest{e.Bundle}, e.Trust...) {
			data := j.content(d)
			if data == nil {
				return nil, fmt.Errorf("the evidence with digest %s is lost", d)
			}
			content = append(content, data)
		}
	}
	return content, nil
}

// asAdded returns bundles as files of a folder of added evidence.
func asAdded(bundles [][]byte) []kit.Added {
	var files []kit.Added
	for _, b := range bundles {
		files = append(files, kit.Added{Data: b})
	}
	return files
}

// supporting returns the approvals and attestations that count for what is
// pinned.
func (j *judgement) supporting(pinned *lock.Server) [][]byte {
	var definitions []lock.Definition
	for _, p := range pinned.Pins {
		definitions = append(definitions, p.Definition)
	}
	return j.decision.Supporting(definitions...)
}

// content returns a bundle or trust material by its digest, nil if unknown.
func (j *judgement) content(d lock.Digest) []byte {
	if b := j.decision.Bundle(d); b != nil {
		return b
	}
	return j.verifier.Material(d)
}

// pinnedText prints what was pinned.
func pinnedText(w io.Writer, s *lock.Server, path string) {
	for _, p := range s.Pins {
		how := "signed"
		if p.Unsigned {
			how = "unsigned"
		}
		fmt.Fprintf(w, "pinned   %s  %s  %s\n", show(p.Definition.Kind(), p.Definition.Name()), p.Definition.Digest(), how)
	}
	for _, e := range s.Evidence {
		fmt.Fprintf(w, "signed   by %s, sequence %d\n", e.Signer, e.Sequence)
	}
	if !s.Source.IsZero() {
		fmt.Fprintf(w, "launch   %s\n", launchText(s.Source))
	}
	for _, a := range s.Source.Artifacts {
		fmt.Fprintf(w, "%swhich is %s\n", margin, a)
	}
	fmt.Fprintf(w, "locked   %s in %s\n", s.Name, lock.Visible(path))
}
