package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

func (a *app) attestCommand() *cobra.Command {
	var f attestFlags
	cmd := &cobra.Command{
		Use:   "attest NAME SOURCE | --statement FILE",
		Short: "Sign an approval, or any predicate, over the definitions of a server",
		Long:  `Sign an in-toto statement over all definitions of SOURCE: a predicate or an approval.`,
		Example: `  mcpsign attest NAME SOURCE --type https://slsa.dev/provenance/v1 --predicate FILE --key KEY --bundle OUT
  mcpsign attest NAME SOURCE --type approval --audience production --expires 90d --key KEY --bundle OUT`,
		RunE: func(cmd *cobra.Command, list []string) error { return a.attest(cmd, list, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.predicateType, "type", "", "predicate type: a URI, or "+approvalWord)
	flags.StringVar(&f.predicate, "predicate", "", "file with the predicate, a JSON object")
	flags.StringVar(&f.audience, "audience", "", "deployment that an approval is for, as its policy names it")
	flags.Var(&f.expires, "expires", "how long an approval is good")
	flags.StringVar(&f.notes, "notes", "", "what the reviewer has to say, for people")
	flags.StringVar(&f.listing, "listing", "", "digest of the listing that was read; approves without asking")
	flags.StringVar(&f.statement, "statement", "", "file with the statement to sign, as --out wrote it")
	flags.StringVar(&f.out, "out", "", "file for the statement, which is not signed then")
	f.signerFlags.add(flags)
	a.live.add(flags)
	return cmd
}

func (a *app) attest(cmd *cobra.Command, list []string, f *attestFlags) error {
	if err := f.check(cmd.Flags()); err != nil {
		return err
	}
	if f.statement != "" && (len(list) > 0 || cmd.ArgsLenAtDash() >= 0) {
		return usage("leave them out", "--statement is about what the file says, not about a NAME and SOURCE")
	}
	to, err := f.place()
	if err != nil {
		return err
	}
	defer to.close()
	st, err := a.attested(cmd, list, f)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := to.write(st.Bytes()); err != nil {
			return err
		}
		return a.printAttested(f, st, "")
	}
	made, err := a.seal(cmd.Context(), st, nil, &f.signerFlags)
	if err != nil {
		return err
	}
	if err := to.write(append(made.bundle, '\n')); err != nil {
		return err
	}
	return a.printAttested(f, st, made.id.String())
}

// attested returns the statement that the arguments ask for.
func (a *app) attested(cmd *cobra.Command, list []string, f *attestFlags) (*attest.Statement, error) {
	if f.statement != "" {
		return a.readStatement(f.statement)
	}
	names, s, err := neededSource(cmd, list, 1)
	if err != nil {
		return nil, err
	}
	if f.approves() {
		return a.approval(cmd.Context(), names[0], s, f)
	}
	if err := checkServer(names[0]); err != nil {
		return nil, err
	}
	predicate, err := readFile(f.predicate, attest.MaxPayload)
	if err != nil {
		return nil, fail(ExitUsage, err, "")
	}
	listing, err := a.signable(cmd.Context(), s, nil)
	if err != nil {
		return nil, err
	}
	st, err := attest.Foreign(listing.Definitions, f.predicateType, predicate)
	return st, fail(ExitUsage, err, "")
}

// approval shows a listing in full and returns the approval of all of it, once
// someone consents.
func (a *app) approval(ctx context.Context, name string, s source, f *attestFlags) (*attest.Statement, error) {
	store, err := a.openStore()
	if err != nil {
		return nil, err
	}
	defer store.close()
	name, entry, err := store.resolve(name)
	if err != nil {
		return nil, err
	}
	got, err := a.listing(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := digestible(got.Listing); err != nil {
		return nil, err
	}
	digest, err := got.Digest()
	if err != nil {
		return nil, err
	}
	now := a.Now().UTC().Truncate(time.Second)
	st, err := attest.Approve(got.Definitions, attest.Approval{
		Server: name, Audience: f.audience, Notes: f.notes, IssuedAt: now, ExpiresAt: now.Add(time.Duration(f.expires)),
		Replaces: replaced(entry, got.Listing),
	})
	if err != nil {
		return nil, fail(ExitUsage, err, "")
	}
	w := &strings.Builder{}
	reviewText(w, &judgement{server: name, source: s.String(), launch: got.launch, listing: got.Listing, entry: entry, compare: true}, got.launch, store.file, true)
	statementText(w, st)
	fmt.Fprintf(w, "listing  %s\n", digest)
	if err := a.display(w.String()); err != nil {
		return nil, err
	}
	return st, a.consent(got.Listing, f.listing, "Approve exactly this? [y/N] ")
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

// readStatement reads a statement that is to be signed, and shows it. At a
// terminal it asks; who is not at one has named the file.
func (a *app) readStatement(name string) (*attest.Statement, error) {
	data, err := readFile(name, attest.MaxPayload)
	if err != nil {
		return nil, fail(ExitUsage, err, "")
	}
	const hint = "a statement is what --out writes"
	st, err := attest.ParseAny(data)
	if err != nil {
		return nil, fail(ExitUsage, fmt.Errorf("%s: %w", lock.Visible(name), err), hint)
	}
	if p, ok := st.Foreign(); ok && len(p.Subjects()) == 0 {
		return nil, usage(hint, lock.Visible(name)+" is about no definition of a server")
	}
	if err := a.current(st); err != nil {
		return nil, err
	}
	w := &strings.Builder{}
	statementText(w, st)
	if err := a.display(w.String()); err != nil {
		return nil, err
	}
	if isTerminal(a.Stdin) && isTerminal(a.Stderr) && !a.yes("Sign exactly this? [y/N] ") {
		return nil, fail(ExitInput, errors.New("nothing was signed"), "")
	}
	return st, nil
}

func (a *app) printAttested(f *attestFlags, st *attest.Statement, identity string) error {
	doc := attestedDoc{Type: st.PredicateType(), Statement: st.Digest().String(), Definitions: len(definitionsOf(st)), Identity: identity, Bundle: f.bundle, Out: f.out}
	return a.emit(form{
		document: func() any { return doc },
		text: func(w io.Writer) {
			if f.out != "" {
				fmt.Fprintf(w, "unsigned %s\n", lock.Visible(f.out))
				fmt.Fprintf(w, "digest   %s\n", doc.Statement)
				fmt.Fprintf(w, "sign     mcpsign attest --statement %s --key KEY --bundle OUT.sigstore.json\n", quoteWords([]string{f.out}))
				return
			}
			fmt.Fprintf(w, "signed   %s, %d definitions\n", lock.Visible(doc.Type), doc.Definitions)
			fmt.Fprintf(w, "signer   %s\n", lock.Visible(identity))
			fmt.Fprintf(w, "bundle   %s\n", lock.Visible(f.bundle))
		},
	})
}

// The JSON of attest: either out, or identity and bundle.
type attestedDoc struct {
	Type        string `json:"type"`
	Statement   string `json:"statement"` // its digest
	Definitions int    `json:"definitions"`
	Identity    string `json:"identity,omitempty"`
	Bundle      string `json:"bundle,omitempty"`
	Out         string `json:"out,omitempty"`
}
