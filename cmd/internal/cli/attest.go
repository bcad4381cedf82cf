package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

func (a *app) attestCommand() *cobra.Command {
	var f attestFlags
	cmd := &cobra.Command{
		Use:   "attest NAME SOURCE | --statement FILE",
		Short: "Sign any predicate over the definitions of a server, or a statement",
		Long: `Sign an in-toto statement over all definitions of SOURCE with a predicate of any type.
--out writes it unsigned. --statement shows and signs what --out wrote, of approve as well.`,
		Example: `  mcpsign attest NAME SOURCE --type https://slsa.dev/provenance/v1 --predicate FILE --key KEY --bundle OUT
  mcpsign attest --statement FILE --key KEY --bundle OUT`,
		RunE: func(cmd *cobra.Command, list []string) error { return a.attest(cmd, list, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.predicateType, "type", "", "predicate type, a URI")
	flags.StringVar(&f.predicate, "predicate", "", "file with the predicate, a JSON object")
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
	return a.writeStatement(cmd.Context(), to, st, f.out, &f.signerFlags)
}

// writeStatement writes a statement into the file out, or signs it and writes
// the bundle.
func (a *app) writeStatement(ctx context.Context, to *place, st *attest.Statement, out string, f *signerFlags) error {
	doc := attestedDoc{Type: st.PredicateType(), Statement: st.Digest().String(), Definitions: len(definitionsOf(st)), Out: out}
	err := to.check(st)
	if err == nil && out != "" {
		err = to.write(st.Bytes())
	} else if err == nil {
		var made *sealed
		if made, err = a.seal(ctx, st, nil, f); err == nil {
			doc.Identity, doc.Bundle = made.id.String(), f.bundle
			err = to.writeBundle(made)
		}
	}
	if err != nil {
		return err
	}
	return a.emit(form{document: func() any { return doc }, text: doc.text})
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
	if err := a.display(func(w io.Writer) { statementText(w, st) }); err != nil {
		return nil, err
	}
	if isTerminal(a.Stdin) && isTerminal(a.Stderr) && !a.yes("Sign exactly this? [y/N] ") {
		return nil, fail(ExitInput, errors.New("nothing was signed"), "")
	}
	return st, nil
}

func (d *attestedDoc) text(w io.Writer) {
	if d.Out != "" {
		fmt.Fprintf(w, "unsigned %s\n", lock.Visible(d.Out))
		fmt.Fprintf(w, "digest   %s\n", d.Statement)
		fmt.Fprintf(w, "sign     mcpsign attest --statement %s --key KEY --bundle OUT.sigstore.json\n", quoteWords([]string{d.Out}))
		return
	}
	fmt.Fprintf(w, "signed   %s, %d definitions\n", lock.Visible(d.Type), d.Definitions)
	fmt.Fprintf(w, "signer   %s\n", lock.Visible(d.Identity))
	fmt.Fprintf(w, "bundle   %s\n", lock.Visible(d.Bundle))
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
