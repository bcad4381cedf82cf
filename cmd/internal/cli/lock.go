package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/lock"
)

func (a *app) lockCommand() *cobra.Command {
	var flags trustFlags
	cmd := &cobra.Command{
		Use:   "lock NAME SOURCE",
		Short: "Pin the definitions of a server for the first time",
		Long: `Pin what a server lists, in ` + defaultLock + `. With --bundle and who must have
signed it, nothing is pinned that does not verify, and the signer is recorded;
without, the pins are marked unsigned. A server that is locked already is only
compared: nothing changes, and the exit code says what differs.

` + sourceHelp,
		Example: `  mcpsign lock io.github.acme/weather listing.json --bundle r.sigstore.json --key acme.pub
  mcpsign lock io.github.acme/weather -- npx -y @acme/weather-mcp`,
		RunE: func(cmd *cobra.Command, list []string) error {
			names, s, err := neededSource(cmd, list, 1)
			if err != nil {
				return err
			}
			if len(flags.bundles) > 0 && !flags.names() {
				return usage("name the publisher's key with --key, or its identity with --signer", "--bundle needs to know who must have signed")
			}
			st, err := a.openStore()
			if err != nil {
				return err
			}
			defer st.close()
			return a.lockServer(cmd, st, query{name: names[0], source: s, flags: &flags, compare: true})
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

func (a *app) lockServer(cmd *cobra.Command, st *store, q query) error {
	_, entry, err := st.resolve(q.name)
	if err != nil {
		return err
	}
	if entry != nil {
		fmt.Fprintf(a.Stderr, "note: %s is locked already: nothing is changed\n", entry.Name)
	}
	j, err := a.judge(cmd.Context(), st, q)
	if err != nil {
		return err
	}
	if entry != nil {
		return a.report(j)
	}
	if err := refusedError(j.listing); err != nil {
		return err
	}
	pinned, err := j.decision.Pin(j.listing.Definitions...)
	if err != nil {
		j.compare = len(j.decision.Expected()) == 0
		if refused := a.report(j); refused != nil {
			return refused
		}
		return err
	}
	state, err := a.state()
	if err != nil {
		return err
	}
	if err := state.record(pinned.Name, j.decision.HighWater()); err != nil {
		return err
	}
	if err := a.writeLock(st, j, pinned); err != nil {
		return err
	}
	return a.printLocked(j, pinned)
}

// writeLock adds a server to the lockfile, unless another process has locked
// it meanwhile.
func (a *app) writeLock(st *store, j *judgement, pinned *lock.Server) error {
	content, err := a.contentFor(j, pinned)
	if err != nil {
		return err
	}
	return st.exclusive(func() error {
		now, err := a.openStore()
		if err != nil {
			return err
		}
		defer now.close()
		if now.file.Find(pinned.Name) != nil {
			return fail(ExitInternal, fmt.Errorf("%s was locked by another process", pinned.Name), "try again")
		}
		now.file.Put(*pinned)
		return now.save(content)
	})
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

// content returns a bundle or trust material by its digest, nil if unknown.
func (j *judgement) content(d lock.Digest) []byte {
	if b := j.decision.Bundle(d); b != nil {
		return b
	}
	return j.verifier.Material(d)
}

func (a *app) printLocked(j *judgement, pinned *lock.Server) error {
	if a.output == "json" {
		// What check will say from now on.
		j.request.Lock, j.entry = pinned, pinned
		j.decide(j.request, true)
		return a.printJSON(j.document(j.outcome()))
	}
	for _, p := range pinned.Pins {
		how := "signed"
		if p.Unsigned {
			how = "unsigned"
		}
		fmt.Fprintf(a.Stdout, "pinned   %s  %s  %s\n", show(p.Definition.Kind(), p.Definition.Name()), p.Definition.Digest(), how)
	}
	for _, e := range pinned.Evidence {
		fmt.Fprintf(a.Stdout, "signed   by %s, sequence %d\n", e.Signer, e.Sequence)
	}
	fmt.Fprintf(a.Stdout, "locked   %s in %s\n", pinned.Name, lock.Visible(a.lock))
	return nil
}
