package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/lock"
)

func (a *app) digestCommand() *cobra.Command {
	var canonical string
	var all allFlags
	cmd := &cobra.Command{
		Use:   "digest SOURCE",
		Short: "Print the digest of every definition",
		Long:  "Print the digest of every definition, one a line.\n\n" + sourceHelp,
		Example: `  mcpsign digest listing.json
  mcpsign digest --canonical tool:get_forecast listing.json | sha256sum
  mcpsign digest -- npx -y @acme/weather-mcp`,
		RunE: func(cmd *cobra.Command, list []string) error {
			if canonical != "" {
				_, s, err := neededSource(cmd, list, 0)
				if err != nil {
					return err
				}
				got, err := a.listing(cmd.Context(), s)
				if err != nil {
					return err
				}
				return a.canonical(got.Listing, canonical, s.String())
			}
			var targets []target
			if all.all {
				var err error
				if targets, err = a.listTargets(cmd, list, &all); err != nil {
					return err
				}
			} else {
				_, s, err := neededSource(cmd, list, 0)
				if err != nil {
					return err
				}
				targets = []target{{name: s.String(), source: s}}
			}
			fetched, err := a.fetchAll(cmd.Context(), targets)
			if err != nil {
				return err
			}
			return a.emitDigests(fetched, all.all)
		},
	}
	cmd.Flags().StringVar(&canonical, "canonical", "", "print the canonical bytes of one definition (kind:name), without a newline; on a terminal in a spelling that shows all")
	all.add(cmd.Flags())
	a.live.add(cmd.Flags())
	return cmd
}

// canonical prints the canonical form of one definition of a listing, which is
// from source.
func (a *app) canonical(l *lock.Listing, id, source string) error {
	kind, name, err := lock.ParseID(id)
	if err != nil {
		return fail(ExitUsage, err, "")
	}
	for _, d := range l.Definitions {
		if d.Kind() == kind && d.Name() == name {
			if out, ok := a.Stdout.(*output); ok && out.terminal() {
				_, err := fmt.Fprintln(a.Stdout, lock.VisibleJSON(d.Canonical()))
				return err
			}
			_, err := a.Stdout.Write(d.Canonical())
			return err
		}
	}
	for _, r := range l.Refused {
		if r.Kind == kind && r.Name == name {
			return fail(ExitNoDigest, fmt.Errorf("%s has no canonical form: %w", lock.Visible(id), r.Err), "")
		}
	}
	return usage("see what is listed: mcpsign digest "+source, notListed(l, id))
}

// The JSON of digest.
type (
	digestDoc struct {
		Server        string         `json:"server,omitempty"` // with --all
		Error         string         `json:"error,omitempty"`
		Definitions   []digestEntry  `json:"definitions"`
		Refused       []refusedEntry `json:"refused"`
		ToolSetDigest string         `json:"toolSetDigest,omitempty"`
		ListingDigest string         `json:"listingDigest,omitempty"`
	}
	digestEntry struct {
		Kind   lock.Kind `json:"kind"`
		Name   string    `json:"name"`
		Digest string    `json:"digest"`
	}
	refusedEntry struct {
		Kind    lock.Kind `json:"kind"`
		Name    string    `json:"name"`
		Index   int       `json:"index"`
		Code    lock.Code `json:"code"`
		Pointer string    `json:"pointer"`
		Offset  int       `json:"offset"`
	}
)

func refusedEntries(l *lock.Listing) []refusedEntry {
	list := []refusedEntry{}
	for _, r := range l.Refused {
		list = append(list, refusedEntry{r.Kind, r.Name, r.Index, r.Err.Code, r.Err.Pointer, r.Err.Offset})
	}
	return list
}

func digestDocument(l *lock.Listing) digestDoc {
	doc := digestDoc{Definitions: []digestEntry{}, Refused: refusedEntries(l)}
	for _, d := range l.Definitions {
		doc.Definitions = append(doc.Definitions, digestEntry{d.Kind(), d.Name(), d.Digest().String()})
	}
	if d, err := l.ToolSetDigest(); err == nil {
		doc.ToolSetDigest = d.String()
	}
	if d, err := l.Digest(); err == nil {
		doc.ListingDigest = d.String()
	}
	return doc
}

func (a *app) emitDigests(all []fetch, many bool) error {
	if len(all) == 1 && all[0].err != nil {
		return all[0].err // nothing was listed
	}
	var outcomes []error
	docs := []digestDoc{}
	for _, f := range all {
		if f.err != nil {
			outcomes, docs = append(outcomes, f.err), append(docs, digestDoc{Server: f.name, Error: oneLine(f.err.Error()), Definitions: []digestEntry{}, Refused: []refusedEntry{}})
			continue
		}
		doc := digestDocument(f.got.Listing)
		if many {
			doc.Server = f.name
		}
		outcomes, docs = append(outcomes, refusedError(f.got.Listing)), append(docs, doc)
		for _, r := range f.got.Refused {
			what := showRefused(r.Kind, r.Name, r.Index)
			if r.Name != "" {
				what += fmt.Sprintf(" (number %d of its kind)", r.Index+1)
			}
			fmt.Fprintf(a.Stderr, "refused: %s: %v\n", what, r.Err)
		}
	}
	out := form{document: func() any { return oneOrMany(docs, many) }, text: func(w io.Writer) { digestLines(w, docs) }}
	if err := a.emit(out); err != nil {
		return err
	}
	return combine(outcomes)
}

func digestLines(w io.Writer, docs []digestDoc) {
	for _, doc := range docs {
		if doc.Server != "" {
			fmt.Fprintf(w, "%s\n", lock.Visible(doc.Server))
		}
		if doc.Error != "" {
			fmt.Fprintf(w, "REFUSED  %s\n", doc.Error)
		}
		for _, d := range doc.Definitions {
			fmt.Fprintf(w, "%s  %s\n", d.Digest, show(d.Kind, d.Name))
		}
	}
}
