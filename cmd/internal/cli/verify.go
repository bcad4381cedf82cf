package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

func (a *app) verifyCommand() *cobra.Command {
	var flags trustFlags
	var signed bool
	cmd := &cobra.Command{
		Use:         "verify [NAME [SOURCE]]",
		Annotations: reports,
		Short:       "Verify the lockfile with its bundles, or the signature of a listing; offline",
		Long: `Without SOURCE, verify the lockfile (one server of it with NAME): every digest is
computed again, every recorded signature is checked. No server is started.

With SOURCE, verify that the listing is signed for NAME by who the flags say.

` + sourceHelp,
		Example: `  mcpsign verify
  mcpsign verify io.github.acme/weather listing.json --bundle r.sigstore.json --key acme.pub`,
		RunE: func(cmd *cobra.Command, list []string) error {
			if len(list) == 0 && cmd.ArgsLenAtDash() < 0 {
				return a.verifyLock(cmd, nil, &flags, signed)
			}
			names, s, err := sourceOf(cmd, list, 1)
			if err != nil {
				return err
			}
			if s.empty() {
				return a.verifyLock(cmd, names, &flags, signed)
			}
			return a.verifySource(cmd, names[0], s, &flags)
		},
	}
	flags.add(cmd.Flags())
	a.live.add(cmd.Flags())
	cmd.Flags().BoolVar(&signed, "require-signed", false, "refuse pins that were approved without a signature")
	return cmd
}

func (a *app) verifySource(cmd *cobra.Command, name string, s source, flags *trustFlags) error {
	if !flags.names() {
		return usage("name the publisher's key with --key, its identity with --signer, or a policy with --policy", "nothing says who must have signed")
	}
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.close()
	j, err := a.judge(cmd.Context(), st, query{name: name, source: s, flags: flags})
	if err != nil {
		return err
	}
	return a.report(st.report(newEntry(j, j.outcome())))
}

// verifyLock verifies every server of the lockfile, or the one that is named.
func (a *app) verifyLock(cmd *cobra.Command, names []string, flags *trustFlags, signed bool) error {
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.close()
	switch {
	case !st.had:
		return usage("pin a server with: mcpsign lock NAME SOURCE", "there is no lockfile "+lock.Visible(a.lock))
	case len(st.file.Servers) == 0:
		return usage("pin a server with: mcpsign lock NAME SOURCE", lock.Visible(a.lock)+" has no servers: there is nothing to verify")
	case len(flags.bundles) > 0:
		return usage("name a SOURCE for the bundle, or leave --bundle out", "--bundle is about a SOURCE")
	case flags.policy == "" && flags.names():
		return usage("use --policy, or name a SOURCE", "--key and --signer are about a SOURCE")
	}
	servers := st.file.Servers
	for _, name := range names {
		_, found, err := st.resolve(name)
		if err != nil {
			return err
		}
		if found == nil {
			return fail(ExitUnpinned, fmt.Errorf("%s is not in %s", name, lock.Visible(a.lock)), "pin it with: mcpsign lock "+name+" SOURCE")
		}
		servers = []lock.Server{*found}
	}
	r := st.report()
	r.many = true
	for i := range servers {
		for _, l := range pinnedListings(&servers[i]) {
			j, err := a.judge(cmd.Context(), st, query{name: servers[i].Name, flags: flags, listing: l, compare: true})
			if code := codeOf(err); err != nil && code == ExitUsage {
				return err
			} else if err != nil {
				// Evidence that can't be used is this server's; others may be worse.
				r.entries = append(r.entries, entry{server: servers[i].Name, err: err})
				continue
			}
			outcome := j.outcome()
			if signed && outcome == nil {
				outcome = requireSigned(j)
			}
			r.entries = append(r.entries, newEntry(j, outcome))
		}
	}
	return a.report(r)
}

// requireSigned refuses pins without a signature.
func requireSigned(j *judgement) error {
	for _, r := range j.decision.Results() {
		if !r.Has(verify.Verified) {
			return fail(ExitUnsigned, fmt.Errorf("%s: %s is pinned without a signature", j.server, show(r.Kind, r.Name)),
				"pin a signed release in a new lockfile: mcpsign lock NAME SOURCE --bundle FILE --key FILE")
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
	hint := ""
	if f := (*failure)(nil); errors.As(first, &f) {
		hint = f.hint
	}
	return fail(worst(codes...), fmt.Errorf("%d of %d servers are not good; the worst: %w", no, len(outcomes), first), hint)
}
