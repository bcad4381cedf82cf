package cli

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// approveFlags say what is approved, and how.
type approveFlags struct {
	trustFlags
	reviewFlags
	listing   string // digest of the listing
	held      bool   // approve what check held
	downgrade bool
}

func (a *app) approveCommand() *cobra.Command {
	var f approveFlags
	cmd := &cobra.Command{
		Use:         "approve NAME [SOURCE]",
		Annotations: reports,
		Short:       "Show what a server lists, and pin what was shown",
		Long: `Show every definition that is new or changed, in full, with what changed, who
signed it and what the lint has to say; then ask, and pin exactly that. What the
rule refuses can't be approved. Without a terminal --listing names what was read.

` + sourceHelp,
		Example: `  mcpsign approve weather --held
  mcpsign approve weather listing.jsonl --out ok.sigstore.json --sign key=reviewer.key --audience production --expires 90d`,
		RunE: func(cmd *cobra.Command, list []string) error { return a.approve(cmd, list, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listing, "listing", "", "digest of the listing that was read; approves without asking")
	flags.BoolVar(&f.held, "held", false, "the listing that check held, in the place of SOURCE")
	flags.BoolVar(&f.downgrade, "downgrade", false, "go back, on purpose, to a release older than the last one that was seen")
	f.reviewFlags.add(flags)
	f.trustFlags.add(a, flags)
	a.live.add(flags)
	return cmd
}

func (a *app) approve(cmd *cobra.Command, list []string, f *approveFlags) error {
	if f.wanted() {
		return a.review(cmd, list, f)
	}
	st, j, err := a.judgeApproval(cmd, list, f)
	if err != nil {
		return err
	}
	defer st.close()
	for _, err := range []error{refusedError(j.listing), a.checkSecrets(j.launch)} {
		if err != nil {
			return err
		}
	}
	pinned, err := j.decision.Pin(j.listing.Definitions...)
	if err != nil {
		j.compare = j.entry != nil || len(j.decision.Expected()) == 0
		if refused := j.outcome(); refused != nil {
			err = refused
		}
		return a.report(st.report(newEntry(j, err)))
	}
	content, err := a.contentFor(j, pinned)
	if err != nil {
		return err
	}
	keepVariants(pinned, j.entry, j.decision)
	if same(pinned, j.entry) && !j.downgrade { // what was seen is to be lowered all the same
		a.note(j.server + " lists what is pinned: there is nothing to approve")
		return a.report(st.report(newEntry(j, j.outcome())))
	}
	if err := a.show(j, pinned, st.file); err != nil {
		return err
	}
	if err := a.consent(j, f, "Pin exactly this? [y/N] "); err != nil {
		return err
	}
	r := st.report(a.pin(st, j, pinned, content))
	if err := a.reread(r); err != nil {
		return err
	}
	return a.report(r)
}

// judgeApproval judges what is to be approved.
func (a *app) judgeApproval(cmd *cobra.Command, list []string, f *approveFlags) (*store, *judgement, error) {
	ruled, err := f.ruled()
	if err == nil {
		err = f.restricting()
	}
	if err != nil {
		return nil, nil, err
	}
	st, got, err := a.toApprove(cmd, list, f)
	if err != nil {
		return nil, nil, err
	}
	if _, entry, err := st.resolve(got.name); err == nil && len(f.bundles) > 0 && !ruled && (entry == nil || len(entry.Evidence) == 0) {
		st.close()
		return nil, nil, usage("name the publisher's key with --key, or its identity with --signer", "--bundle needs to know who must have signed")
	}
	var j *judgement
	if got.err != nil {
		err = a.report(st.report(entry{server: got.name, err: got.err}))
	} else {
		j, err = a.judge(cmd.Context(), st, query{name: got.name, source: got.source, fetched: got.got, flags: &f.trustFlags, compare: true, approval: true, downgrade: f.downgrade})
	}
	if err != nil {
		st.close()
		return nil, nil, err
	}
	return st, j, nil
}

// toApprove returns the listing that is to be approved.
func (a *app) toApprove(cmd *cobra.Command, list []string, f *approveFlags) (*store, fetch, error) {
	if !f.held {
		st, fetched, err := a.gather(cmd, list, &allFlags{}, &f.trustFlags)
		if err != nil {
			return nil, fetch{}, err
		}
		return st, fetched[0], nil
	}
	names, s, err := sourceOf(cmd, list, 1)
	if err == nil && !s.empty() {
		err = usage("leave out either", "--held is about what was listed before, not about a SOURCE")
	}
	if err != nil {
		return nil, fetch{}, err
	}
	st, err := a.openStore()
	if err != nil {
		return nil, fetch{}, err
	}
	name, _, err := st.lookUp(names[0], &f.trustFlags)
	if err == nil {
		got := fetch{target: target{name: name}}
		if got.got, got.source, err = a.held(st.sighting(name, true)); err == nil {
			a.note(got.got.notes...)
			return st, got, nil
		}
		a.noteMisnamed(st, name)
	}
	st.close()
	return nil, fetch{}, err
}

// keepVariants adds to new entries what old ones have of other variants of the
// same release: one machine's listing says nothing against another's.
func keepVariants(pinned, old *lock.Server, d *verify.Decision) {
	if old == nil {
		return
	}
	for _, e := range old.Evidence {
		release := func(n lock.Evidence) bool { return n.Sequence == e.Sequence && d.SameParty(n.Signer, e.Signer) }
		variant := func(n lock.Evidence) bool { return n.Variant == e.Variant }
		if !slices.ContainsFunc(pinned.Evidence, release) || slices.ContainsFunc(pinned.Evidence, variant) {
			continue
		}
		pinned.Evidence = append(pinned.Evidence, e)
		for _, p := range old.Pins {
			if p.Variant == e.Variant && !p.Unsigned {
				pinned.Pins = append(pinned.Pins, p)
			}
		}
	}
	pinned.Sort()
}

// show prints what is to be approved: every definition that is new or changed
// in full, with what changed, who signed, how the server is launched, and what
// the lint says.
func (a *app) show(j *judgement, pinned *lock.Server, file *lock.File) error {
	digest, err := j.reviewed()
	if err != nil {
		return err
	}
	return a.display(func(w io.Writer) {
		reviewText(w, j, pinned.Source, file, false)
		j.signersText(w, pinned.Evidence)
		fmt.Fprintf(w, "listing  %s\n", digest)
	})
}

// display shows a text that someone has to read. Standard output is for the
// result, if that is for a program; and if it goes to a file, whoever is asked at
// the terminal would not see it.
func (a *app) display(text func(io.Writer)) error {
	out := a.Stdout
	if stdout, ok := out.(*output); !a.wants(formatText) || ok && !stdout.terminal() && isTerminal(a.Stderr) {
		out = a.Stderr
	}
	w := bufio.NewWriterSize(out, 64<<10)
	text(w)
	return w.Flush()
}

// pinned returns what is pinned of the server, which may be nothing.
func (j *judgement) pinned() *lock.Server {
	if j.entry == nil {
		return &lock.Server{Name: j.server}
	}
	return j.entry
}

// reviewText prints a listing for whoever has to decide on it: definitions that
// are new or changed in full, with all of them those that are pinned as well.
func reviewText(w io.Writer, j *judgement, launch lock.Source, file *lock.File, all bool) {
	fmt.Fprintf(w, "server   %s\n", j.server)
	shown := make(map[string]bool)
	for _, c := range j.pinned().Diff(j.listing) {
		fmt.Fprintf(w, "%-8s %s%s\n", c.Op, show(c.Kind, c.Name), changeNote(c))
		for _, f := range c.Fields {
			fieldText(w, f)
		}
		j.metaText(w, c)
		if d, ok := definition(j.listing, c.Kind, c.Name); ok && reasonOf(c.Op) != "" {
			definitionText(w, d)
			shown[d.ID()] = true
		}
	}
	for _, d := range j.listing.Definitions {
		if all && !shown[d.ID()] {
			fmt.Fprintf(w, "%-8s %s\n", "pinned", show(d.Kind(), d.Name()))
			definitionText(w, d)
		}
	}
	findingText(w, lint.Check(j.listing, j.server, file))
	e := newEntry(j, nil)
	infoText(w, e.info)
	if e.launch != "" {
		fmt.Fprintf(w, "launch   %s\n", e.launch)
	} else if !launch.IsZero() {
		fmt.Fprintf(w, "launch   %s\n", launchText(launch))
	}
	if j.first(verify.SourceUnbound) != "" {
		j.boundText(w)
		return
	}
	for _, a := range launch.Artifacts {
		fmt.Fprintf(w, "%swhich is %s\n", margin, a)
	}
}

// metaText prints the _meta of a definition that is new, or has another one than
// is pinned.
func (j *judgement) metaText(w io.Writer, c lock.Change) {
	d, ok := definition(j.listing, c.Kind, c.Name)
	pins := j.pinned().Pin(c.Kind, c.Name)
	switch {
	case ok && c.Op == lock.Added && d.Meta() != nil:
		metaText(w, lock.Digest{}, d)
	case ok && c.Meta && len(pins) > 0:
		metaText(w, pins[0].Definition.MetaDigest(), d)
	}
}

func definition(l *lock.Listing, k lock.Kind, name string) (lock.Definition, bool) {
	i := slices.IndexFunc(l.Definitions, func(d lock.Definition) bool { return d.Kind() == k && d.Name() == name })
	if i < 0 {
		return lock.Definition{}, false
	}
	return l.Definitions[i], true
}

// definitionText prints a definition in full: the texts that a model reads line
// by line, then all of it.
func definitionText(w io.Writer, d lock.Definition) {
	var members map[string]json.RawMessage
	if json.Unmarshal(d.Canonical(), &members) == nil {
		for _, name := range []string{"description", "instructions"} {
			for line := range strings.Lines(textOf(members[name])) {
				fmt.Fprintf(w, "%s| %s\n", margin, lock.Visible(strings.TrimSuffix(line, "\n")))
			}
		}
	}
	valueText(w, d.Canonical())
}

// signersText prints who stands behind what is to be approved, and who of those
// who signed what is pinned does not.
func (j *judgement) signersText(w io.Writer, now []lock.Evidence) {
	for _, e := range now {
		fmt.Fprintf(w, "signed   by %s, sequence %d\n", e.Signer, e.Sequence)
	}
	if len(now) == 0 {
		fmt.Fprintln(w, "signed   by nobody: what is approved rests on whoever approves it")
		return
	}
	var gone []string
	for _, old := range j.pinned().Evidence {
		same := func(e lock.Evidence) bool { return j.decision.SameParty(e.Signer, old.Signer) }
		if !slices.ContainsFunc(now, same) && !slices.Contains(gone, old.Signer.String()) {
			gone = append(gone, old.Signer.String())
		}
	}
	for _, signer := range gone {
		fmt.Fprintf(w, "%snot by %s, who signed what is pinned\n", margin, signer)
	}
}

// again is the command that approves what was shown.
func (f *approveFlags) again(j *judgement, digest string) string {
	more := append(f.reviewFlags.words(), "--listing "+digest)
	if f.downgrade {
		more = append(more, "--downgrade")
	}
	if j.app.live.run {
		more = append(more, "--run")
	}
	if f.held {
		return j.command("approve", append(more, "--held")...)
	}
	return j.command("approve", append(more, j.source)...)
}

// reviewed returns the digest of what is approved: of the listing, and of the
// server's name and launch where these are to be pinned anew.
func (j *judgement) reviewed() (string, error) {
	digest, err := plainDigest(j.listing)
	name, launch := j.listing.Info().Name, ""
	if !j.launch.IsZero() && (j.entry == nil || !j.entry.Source.Same(j.launch)) {
		launch = launchText(j.launch)
	}
	if j.entry != nil && j.entry.Info.Name == name {
		name = ""
	}
	if err != nil || name == "" && launch == "" {
		return digest, err
	}
	return lock.Digest(sha256.Sum256(fmt.Appendf(nil, "%s\n%q\n%q\n", digest, name, launch))).String(), nil
}

func plainDigest(l *lock.Listing) (string, error) {
	digest, err := l.Digest()
	return digest.String(), err
}

// consent returns nil if what was shown is approved: at the terminal, or by the
// digest of the listing.
func (a *app) consent(j *judgement, f *approveFlags, question string) error {
	named := f.listing
	digest, err := j.reviewed()
	if f.out != "" { // what others are told of is the listing alone
		digest, err = plainDigest(j.listing)
	}
	if err != nil {
		return err
	}
	if _, err := lock.ParseDigest(named); named != "" && err != nil {
		return fail(ExitUsage, fmt.Errorf("--listing: %w", err), "name the digest that approve prints below what it shows")
	}
	switch {
	case named == digest:
		return nil
	case named != "":
		return fail(ExitDrift, fmt.Errorf("the listing has the digest %s, not %s", digest, lock.Visible(named)), "read what is listed now; it is not what was read before")
	case !isTerminal(a.Stdin) || !isTerminal(a.Stderr):
		return fail(ExitInput, errors.New("an approval needs a terminal to ask at, or the digest of the listing that was read"), "read what was shown; if it is good: "+f.again(j, digest))
	}
	if !a.yes(question) {
		return fail(ExitInput, errors.New("nothing was approved"), "")
	}
	return nil
}
