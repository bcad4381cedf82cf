package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// reviewFlags make of an approval a statement for others, in the place of pins.
type reviewFlags struct {
	out      string // file for the statement, or for the bundle if it is signed
	sign     map[string]string
	audience string
	expires  span
	notes    string
}

func (f *reviewFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.out, "out", "", "file for an approval that others can require, with --audience and --expires; nothing is pinned")
	flags.StringToStringVar(&f.sign, "sign", nil, "sign it: key=FILE, or other `FLAGS` of the sign command; else attest --statement does")
	flags.Lookup("sign").DefValue = ""
	flags.StringVar(&f.audience, "audience", "", "deployment that an approval for others is for, as the policy there names it")
	flags.Var(&f.expires, "expires", "how long an approval for others is good")
	flags.StringVar(&f.notes, "notes", "", "what the reviewer has to say, for people")
}

// words repeats the flags that were given, for the next command.
func (f *reviewFlags) words() []string {
	var words []string
	for _, flag := range []struct{ name, value string }{
		{"out", f.out}, {"audience", f.audience}, {"expires", f.expires.String()}, {"notes", f.notes},
	} {
		if flag.value != "" {
			words = append(words, "--"+flag.name, quoteWords([]string{flag.value}))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.sign)) {
		words = append(words, "--sign", quoteWords([]string{name + "=" + f.sign[name]}))
	}
	return words
}

// wanted reports whether any of the flags was given.
func (f *reviewFlags) wanted() bool {
	return f.out != "" || len(f.sign) > 0 || f.audience != "" || f.expires != 0 || f.notes != ""
}

// signer returns what --sign says, as the flags of sign.
func (f *reviewFlags) signer() (*signerFlags, error) {
	s := &signerFlags{}
	flags := pflag.NewFlagSet("sign", pflag.ContinueOnError)
	s.add(flags)
	s.bundle = f.out
	for _, name := range slices.Sorted(maps.Keys(f.sign)) {
		if name == "bundle" || flags.Lookup(name) == nil || f.sign[name] == "" {
			return nil, usage("write --sign key=FILE, or --sign key=FILE,cert=FILE,chain=FILE,tsa=URL", "--sign takes flags of sign with their values, and "+lock.Visible(name)+" is none")
		}
		if err := flags.Set(name, f.sign[name]); err != nil {
			return nil, fail(ExitUsage, fmt.Errorf("--sign %s: %w", name, err), "")
		}
	}
	return s, s.check()
}

// check reports what is missing.
func (f *reviewFlags) check() error {
	switch {
	case f.out == "":
		return usage("name the file to write: --out FILE", "an approval for others needs --out")
	case f.audience == "":
		return usage("name the deployment, as its policy does", "an approval for others needs an --audience")
	case f.expires == 0:
		return usage("say how long it is good: --expires 90d", "an approval for others needs --expires")
	}
	return fail(ExitUsage, attest.CheckAudience(f.audience), "name the deployment, as its policy does")
}

// review shows a listing in full and writes the approval of all of it, once
// someone consents. What the rule refuses can't be approved, but for what the
// rule asks approvals for.
func (a *app) review(cmd *cobra.Command, list []string, f *approveFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	out, signer := f.out, (*signerFlags)(nil)
	open := func() (*place, error) { return statementPlace(f.out) }
	if len(f.sign) > 0 {
		var err error
		if signer, err = f.signer(); err != nil {
			return err
		}
		out, open = "", signer.place
	}
	to, err := open()
	if err != nil {
		return err
	}
	defer to.close()
	st, j, err := a.judgeApproval(cmd, list, f)
	if err != nil {
		return err
	}
	defer st.close()
	if err := refusedError(j.listing); err != nil {
		return err
	}
	if !reviewable(j.decision) {
		return a.report(st.report(newEntry(j, j.outcome())))
	}
	statement, err := a.approval(j, f)
	if err != nil {
		return err
	}
	if err := a.showReview(j, st.file, statement); err != nil {
		return err
	}
	if err := a.consent(j, f, "Approve exactly this? [y/N] "); err != nil {
		return err
	}
	return a.writeStatement(cmd.Context(), to, statement, out, signer)
}

// reviewable reports whether everything listed may be approved: nothing is
// denied, but for the lack of approvals.
func reviewable(d *verify.Decision) bool {
	results := d.Results()
	for _, r := range results {
		if !r.Digest.IsZero() && r.Verdict == verify.Deny && !onlyApproval(r) {
			return false
		}
	}
	return len(results) > 0
}

func onlyApproval(r verify.Result) bool {
	return r.Has(verify.ApprovalMissing) && !slices.ContainsFunc(r.Reasons, func(x verify.Reason) bool {
		return x != verify.ApprovalMissing && x != verify.Blocked
	})
}

func (a *app) approval(j *judgement, f *approveFlags) (*attest.Statement, error) {
	now := a.Now().UTC().Truncate(time.Second)
	st, err := attest.Approve(j.listing.Definitions, attest.Approval{
		Server: j.server, Audience: f.audience, Notes: f.notes, IssuedAt: now, ExpiresAt: now.Add(time.Duration(f.expires)),
		Replaces: replaced(j.entry, j.listing),
	})
	return st, fail(ExitUsage, err, "")
}

// replaced returns what the definitions of a listing take the place of: the
// first pin of the name, where none is equal.
func replaced(entry *lock.Server, l *lock.Listing) map[string]lock.Digest {
	if entry == nil {
		return nil
	}
	old := make(map[string]lock.Digest)
	for _, c := range entry.Diff(l) {
		if c.Op == lock.Changed {
			old[lock.ID(c.Kind, c.Name)] = entry.Pin(c.Kind, c.Name)[0].Definition.Digest()
		}
	}
	return old
}

// showReview prints what a reviewer approves: everything in full, and what is
// going to be said of it.
func (a *app) showReview(j *judgement, file *lock.File, st *attest.Statement) error {
	digest, err := j.listing.Digest()
	if err != nil {
		return err
	}
	return a.display(func(w io.Writer) {
		reviewText(w, j, j.launch, file, true)
		j.signersText(w, j.decision.Evidence())
		statementText(w, st)
		fmt.Fprintf(w, "listing  %s\n", digest)
	})
}
