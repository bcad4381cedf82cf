package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

func (a *app) verifyCommand() *cobra.Command {
	var flags trustFlags
	var result resultFlags
	var how verifyFlags
	var all bool
	cmd := &cobra.Command{
		Use:         "verify [NAME [SOURCE]] | --all FOLDER...",
		Annotations: reports,
		Short:       "Verify the lockfile with its bundles, or the signature of a listing; offline",
		Long: `Without SOURCE, verify every digest and signature of the lockfile, and start nothing.
With SOURCE, verify that the listing is signed for NAME by who the flags say.

` + sourceHelp,
		Example: `  mcpsign verify
  mcpsign verify --all . --policy policy.yaml -o sarif=mcpsign.sarif
  mcpsign verify io.github.acme/weather listing.json --bundle r.sigstore.json --key acme.pub`,
		RunE: func(cmd *cobra.Command, list []string) error {
			to, err := a.startResult(&result)
			if err != nil {
				return err
			}
			if to != nil {
				defer to.close()
			}
			var r *report
			if all {
				r, err = a.verifyFolders(cmd, list, &flags, how)
			} else {
				r, err = a.verifyOne(cmd, list, &flags, how)
			}
			if err != nil {
				return err
			}
			return a.reportAttested(cmd.Context(), r, to, &flags, &result)
		},
	}
	flags.add(a, cmd.Flags())
	a.live.add(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "every lockfile called as --lock says in the FOLDERs and below them")
	cmd.Flags().BoolVar(&how.signed, "require-signed", false, "refuse pins that were approved without a signature")
	cmd.Flags().BoolVar(&how.stateless, "stateless", false, "leave out what this machine has seen: judge the files by themselves")
	result.add(cmd.Flags())
	return cmd
}

// verifyFlags say how a lockfile is verified.
type verifyFlags struct {
	signed    bool // pins without a signature are refused
	stateless bool // what this machine has seen is left out
}

// verifyOne verifies a lockfile, or a source.
func (a *app) verifyOne(cmd *cobra.Command, list []string, flags *trustFlags, how verifyFlags) (*report, error) {
	if len(list) == 0 && cmd.ArgsLenAtDash() < 0 {
		return a.verifyLock(cmd, nil, flags, how)
	}
	names, s, err := sourceOf(cmd, list, 1)
	if err != nil {
		return nil, err
	}
	if s.empty() {
		return a.verifyLock(cmd, names, flags, how)
	}
	return a.verifySource(cmd, names[0], s, flags, how)
}

func (a *app) verifySource(cmd *cobra.Command, name string, s source, flags *trustFlags, how verifyFlags) (*report, error) {
	if ruled, err := flags.ruled(); err != nil {
		return nil, err
	} else if !ruled {
		return nil, usage("name the publisher's key with --key, its identity with --signer, or a policy with --policy", "nothing says who must have signed")
	}
	st, err := a.openStore()
	if err != nil {
		return nil, err
	}
	defer st.close()
	j, err := a.judge(cmd.Context(), st, query{name: name, source: s, flags: flags, stateless: how.stateless})
	if err != nil {
		return nil, err
	}
	return st.report(newEntry(j, j.outcome())), nil
}

// verifyLock verifies every server of the lockfile, or the one that is named.
func (a *app) verifyLock(cmd *cobra.Command, names []string, flags *trustFlags, how verifyFlags) (*report, error) {
	st, err := a.openStore()
	if err != nil {
		return nil, err
	}
	defer st.close()
	if err := st.verifiable(flags); err != nil {
		return nil, err
	}
	servers := st.file.Servers
	for _, name := range names {
		_, found, err := st.lookUp(name, flags)
		if err != nil {
			return nil, err
		}
		if found == nil {
			return nil, fail(ExitUnpinned, errors.New(st.notPinned(name)), "pin it with: "+a.next("lock", name, "SOURCE"))
		}
		servers = []lock.Server{*found}
	}
	if _, _, err := flags.load(servers[0].Name); err != nil {
		return nil, err
	}
	r := st.report(a.verifyServers(cmd.Context(), st, servers, flags, how)...)
	r.many = true
	return r, nil
}

// verifiable returns an error if there is nothing to verify, or if the flags
// ask for something else.
func (s *store) verifiable(flags *trustFlags) error {
	switch {
	case !s.had:
		return usage("pin a server with: "+nextFor(s.path, "lock", "NAME", "SOURCE"), "no lockfile "+lock.Visible(s.path))
	case len(s.file.Servers) == 0:
		return usage("pin a server with: "+nextFor(s.path, "lock", "NAME", "SOURCE"), lock.Visible(s.path)+" has no servers: there is nothing to verify")
	case len(flags.bundles) > 0:
		return usage("name a SOURCE for the bundle, or leave --bundle out", "--bundle is about a SOURCE")
	case flags.policy == "" && flags.names():
		return usage("use --policy, or name a SOURCE", "--key and --signer are about a SOURCE")
	}
	return flags.restricting()
}

// verifyServers verifies servers of one lockfile, several at once, and returns
// what came of it in their order.
func (a *app) verifyServers(ctx context.Context, st *store, servers []lock.Server, flags *trustFlags, how verifyFlags) []entry {
	all := make([][]entry, len(servers))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(servers)) {
		wg.Go(func() { // not one a server: its stack would grow anew each time
			for i := next.Add(1) - 1; i < int64(len(servers)); i = next.Add(1) - 1 {
				all[i] = a.verifyPinned(ctx, st, &servers[i], flags, how)
			}
		})
	}
	wg.Wait()
	return slices.Concat(all...)
}

// verifyPinned verifies the pins of a server, variant by variant. Evidence that
// can't be used is this server's; others may be worse.
func (a *app) verifyPinned(ctx context.Context, st *store, s *lock.Server, flags *trustFlags, how verifyFlags) []entry {
	var entries []entry
	for _, l := range pinnedListings(s) {
		j, err := a.judge(ctx, st, query{name: s.Name, flags: flags, listing: l, compare: true, stateless: how.stateless})
		if err != nil {
			entries = append(entries, entry{server: s.Name, err: err})
			continue
		}
		outcome := j.outcome()
		if how.signed && outcome == nil {
			outcome = requireSigned(j)
		}
		entries = append(entries, newEntry(j, outcome))
	}
	return entries
}

// requireSigned refuses pins without a signature.
func requireSigned(j *judgement) error {
	for _, r := range j.decision.Results() {
		if !r.Has(verify.Verified) {
			return fail(ExitUnsigned, fmt.Errorf("%s: %s is pinned without a signature", j.server, show(r.Kind, r.Name)),
				"approve a signed release: "+j.command("approve", "--bundle RELEASE.sigstore.json --key KEY.pub", "SOURCE"))
		}
	}
	return nil
}

// pinnedListings returns what a server must list for its pins to hold: one
// listing a variant, each with the pins that have none.
func pinnedListings(s *lock.Server) []*lock.Listing {
	variants := []string{}
	for _, p := range s.Pins {
		if !p.Unsigned && !slices.Contains(variants, p.Variant) {
			variants = append(variants, p.Variant)
		}
	}
	if len(variants) == 0 {
		variants = []string{""}
	}
	var listings []*lock.Listing
	for _, v := range variants {
		l := &lock.Listing{}
		for _, p := range s.Pins {
			if p.Unsigned || p.Variant == v {
				l.Definitions = append(l.Definitions, p.Definition)
			}
		}
		listings = append(listings, l)
	}
	return listings
}

// combine returns one error for several outcomes, with the code that wins.
func combine(outcomes []error) error {
	var first error
	codes := []ExitCode{ExitYes}
	no := 0
	for _, err := range outcomes {
		if err == nil {
			continue
		}
		no++
		code := codeOf(err)
		if worst(append(codes, code)...) == code && code != worst(codes...) {
			first = err
		}
		codes = append(codes, code)
	}
	if no <= 1 {
		return first
	}
	return fail(worst(codes...), fmt.Errorf("%d of %d servers are not good; the worst: %w", no, len(outcomes), first), hintOf(first))
}
