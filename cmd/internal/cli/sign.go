package cli

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// signFlags say with what and as what a listing is signed.
type signFlags struct {
	signerFlags
	version  string
	variant  string
	purls    []string
	origins  []string
	files    []string // values of --artifact
	expires  span     // 0 if the statement does not expire
	sequence uint64
	numbered bool // there is a sequence
	exclude  []string

	artifacts []attest.Resource // what files says
}

func (a *app) signCommand() *cobra.Command {
	var f signFlags
	cmd := &cobra.Command{
		Use:   "sign NAME SOURCE --bundle FILE",
		Short: "Sign the definitions of a release",
		Long: `Sign every definition that a server, started twice, lists: with a key, --cert of a
PKI, or keyless. The bundle is verified as a host would before it is written.`,
		Example: `  mcpsign sign io.github.acme/weather listing.json --key acme.key --bundle r.sigstore.json
  mcpsign sign NAME SOURCE --identity-token FILE --signing-config FILE --trusted-root FILE --bundle FILE`,
		RunE: func(cmd *cobra.Command, list []string) error {
			names, s, err := neededSource(cmd, list, 1)
			if err != nil {
				return err
			}
			f.numbered = cmd.Flags().Changed("sequence")
			return a.sign(cmd.Context(), names[0], s, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.exclude, "exclude", nil, "definition (kind:name) to leave unsigned (repeatable)")
	flags.StringVar(&f.version, "server-version", "", "version of the release, for people")
	flags.StringVar(&f.variant, "variant", "", "name of this listing, if a release lists differently on other machines")
	flags.StringArrayVar(&f.purls, "purl", nil, "package URL that serves the release, such as pkg:npm/%40acme/weather-mcp@1.4.2 (repeatable)")
	flags.StringArrayVar(&f.origins, "origin", nil, "origin of a URL that serves it, such as https://weather.acme.example (repeatable)")
	flags.StringArrayVar(&f.files, "artifact", nil, "what serves it, by its digest: `[PURL=]FILE` of an archive, program or script, or PURL=sha512-BASE64 (repeatable)")
	flags.Var(&f.expires, "expires", "how long the statement holds, 90d or 12h; else it does not expire")
	flags.Var((*decimal)(&f.sequence), "sequence", "number of the release, higher than the last; default: SOURCE_DATE_EPOCH or the commit's time")
	f.signerFlags.add(flags)
	a.live.add(flags)
	return cmd
}

func (a *app) sign(ctx context.Context, name string, s source, f *signFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := checkServer(name); err != nil {
		return err
	}
	var err error
	if f.artifacts, err = readArtifacts(ctx, f.files); err != nil {
		return err
	}
	to, err := f.place()
	if err != nil {
		return err
	}
	defer to.close()
	listing, err := a.signable(ctx, s, f.exclude)
	if err != nil {
		return err
	}
	a.noteFindings(lint.Check(listing, name, nil))
	statement, err := a.statement(ctx, name, listing, f)
	if err != nil {
		return err
	}
	if err := to.check(statement); err != nil {
		return err
	}
	made, err := a.seal(ctx, statement, listing, &f.signerFlags)
	if err != nil {
		return err
	}
	if err := to.writeBundle(made); err != nil {
		return err
	}
	return a.printSigned(name, s, f, statement, made.id)
}

// checkServer reports why a name can't stand in a statement.
func checkServer(name string) error {
	return fail(ExitUsage, lock.CheckName(name), "NAME is the name under which users know the server, io.github.acme/weather say")
}

// check reports flags that do not go together.
func (f *signFlags) check() error {
	if err := f.signerFlags.check(); err != nil {
		return err
	}
	if f.numbered && (f.sequence == 0 || f.sequence > lock.MaxSequence) {
		return usage("number the release higher than the last one", "--sequence is no number between 1 and 2^53-1")
	}
	for _, p := range f.purls {
		if !isPURL(p) {
			return usage("write it as pkg:npm/%40acme/weather-mcp@1.4.2", "--purl "+lock.Visible(p)+" is no package URL")
		}
	}
	for _, o := range f.origins {
		if !isURL(o) || (lock.Source{URL: o}).Origin() != o {
			return usage("write scheme and host alone: https://weather.acme.example", "--origin "+lock.Visible(o)+" is no origin")
		}
	}
	return nil
}

const purlPrefix = "pkg:"

// isPURL reports whether text looks like a package URL: a type, and a name.
func isPURL(text string) bool {
	typ, name, ok := strings.Cut(strings.TrimPrefix(text, purlPrefix), "/")
	return strings.HasPrefix(text, purlPrefix) && ok && typ != "" && name != ""
}

// signable reads what is to be signed: all of it has a digest, and a server
// lists it at every start.
func (a *app) signable(ctx context.Context, s source, exclude []string) (*lock.Listing, error) {
	got, err := a.listing(ctx, s)
	if err != nil {
		return nil, err
	}
	listing, err := without(got.Listing, exclude)
	if err != nil {
		return nil, err
	}
	if err := digestible(listing); err != nil {
		return nil, err
	}
	if len(s.files) == 0 {
		err = a.steady(ctx, s, listing, exclude)
	}
	return listing, err
}

// digestible returns an error unless every definition has a digest, and has it
// by an implementation that is not ours as well.
func digestible(l *lock.Listing) error {
	if err := refusedError(l); err != nil {
		return err
	}
	for _, d := range l.Definitions {
		if err := d.CrossCheck(); err != nil {
			return fail(ExitInternal, err, "please report this with the listing")
		}
	}
	return nil
}

// statement makes the statement about the listing.
func (a *app) statement(ctx context.Context, name string, l *lock.Listing, f *signFlags) (*attest.Statement, error) {
	sequence := f.sequence
	if !f.numbered {
		var err error
		if sequence, err = a.defaultSequence(ctx); err != nil {
			return nil, err
		}
	}
	kinds := map[lock.Kind]bool{}
	for _, k := range l.Kinds {
		kinds[k] = true
	}
	complete := true
	for _, d := range l.Definitions {
		complete = complete && kinds[d.Kind()]
	}
	release := attest.Release{
		Server: name, Version: f.version, Sequence: sequence, Complete: complete, Variant: f.variant,
		PURLs: slices.Sorted(slices.Values(f.purls)), Origins: slices.Sorted(slices.Values(f.origins)), Artifacts: f.artifacts,
		ProtocolVersion: l.ProtocolVersion, IssuedAt: a.Now().UTC().Truncate(time.Second),
	}
	if f.expires > 0 {
		release.ExpiresAt = release.IssuedAt.Add(time.Duration(f.expires))
	}
	for _, d := range l.Definitions {
		kinds[d.Kind()] = true
	}
	for _, k := range lock.Kinds() {
		if kinds[k] {
			release.Kinds = append(release.Kinds, k)
		}
	}
	if !complete {
		fmt.Fprintln(a.Stderr, "note: this is not all that the server lists: the statement does not say that it is complete")
	}
	st, err := attest.Definitions(l, release)
	return st, fail(ExitNoDigest, err, "")
}

// defaultSequence is SOURCE_DATE_EPOCH, or the time of the commit that is
// checked out, so that every job of a release has the same.
func (a *app) defaultSequence(ctx context.Context) (uint64, error) {
	const hint = "number the release with --sequence; it must rise with every release"
	text, from := a.Getenv("SOURCE_DATE_EPOCH"), "SOURCE_DATE_EPOCH"
	if text == "" {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // Git waits for a FIFO in its folder
		defer cancel()
		out, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return 0, usage(hint, "the release has no number: there is no --sequence, no SOURCE_DATE_EPOCH and no Git commit")
		}
		text, from = strings.TrimSpace(string(out)), "the commit's time"
	}
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil || n == 0 {
		return 0, usage(hint, fmt.Sprintf("%s is %s, which is no number between 1 and 2^53-1", from, lock.Visible(text)))
	}
	return n, nil
}

func (a *app) printSigned(name string, s source, f *signFlags, st *attest.Statement, id verify.Identity) error {
	r := st.Release()
	who := f.verifyFlags(id)
	end, err := f.end()
	if err != nil {
		return err
	}
	return a.emit(form{
		document: func() any {
			doc := map[string]any{"server": name, "bundle": f.bundle, "identity": id.String(), "sequence": r.Sequence, "definitions": len(st.Subjects())}
			if !end.IsZero() {
				doc["until"] = rfc3339(end)
			}
			return doc
		},
		text: func(w io.Writer) {
			fmt.Fprintf(w, "signed   %d definitions of %s, sequence %d\n", len(st.Subjects()), name, r.Sequence)
			fmt.Fprintf(w, "signer   %s\n", lock.Visible(id.String()))
			fmt.Fprintf(w, "bundle   %s\n", lock.Visible(f.bundle))
			fmt.Fprintf(w, "verify   mcpsign verify %s %s --bundle %s\n", name, who, quoteWords([]string{f.bundle})+" "+s.String())
			if !end.IsZero() {
				fmt.Fprintf(w, "until    %s, when its certificates end, and it with them\n", rfc3339(end))
				fmt.Fprintf(w, "policy   %s\n", lock.Visible(untimedPolicy(name, id)))
			}
		},
	})
}
