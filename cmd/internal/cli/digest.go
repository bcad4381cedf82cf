package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/lock"
)

func (a *app) digestCommand() *cobra.Command {
	var canonical string
	cmd := &cobra.Command{
		Use:   "digest SOURCE",
		Short: "Print the digest of every definition",
		Long:  "Print the digest of every definition, one a line.\n\n" + sourceHelp,
		Example: `  mcpsign digest listing.json
  mcpsign digest --canonical tool:get_forecast listing.json | sha256sum
  mcpsign digest -- npx -y @acme/weather-mcp`,
		RunE: func(cmd *cobra.Command, list []string) error {
			_, s, err := neededSource(cmd, list, 0)
			if err != nil {
				return err
			}
			l, err := a.listing(cmd.Context(), s)
			if err != nil {
				return err
			}
			if canonical != "" {
				return a.canonical(l, canonical)
			}
			if err := a.printDigests(l); err != nil {
				return err
			}
			return refusedError(l)
		},
	}
	cmd.Flags().StringVar(&canonical, "canonical", "", "print the canonical bytes of one definition (kind:name), without a newline; on a terminal in a spelling that shows all")
	return cmd
}

func (a *app) canonical(l *lock.Listing, id string) error {
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
	return fail(ExitUnpinned, fmt.Errorf("%s is not in the listing", lock.Visible(id)), "mcpsign digest without --canonical names all definitions")
}

// The JSON of digest.
type (
	digestDoc struct {
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

func (a *app) printDigests(l *lock.Listing) error {
	if a.output == "json" {
		doc := digestDoc{Definitions: []digestEntry{}, Refused: []refusedEntry{}}
		for _, d := range l.Definitions {
			doc.Definitions = append(doc.Definitions, digestEntry{d.Kind(), d.Name(), d.Digest().String()})
		}
		for _, r := range l.Refused {
			doc.Refused = append(doc.Refused, refusedEntry{r.Kind, r.Name, r.Index, r.Err.Code, r.Err.Pointer, r.Err.Offset})
		}
		if d, err := l.ToolSetDigest(); err == nil {
			doc.ToolSetDigest = d.String()
		}
		if d, err := l.Digest(); err == nil {
			doc.ListingDigest = d.String()
		}
		return a.printJSON(doc)
	}
	for _, d := range l.Definitions {
		fmt.Fprintf(a.Stdout, "%s  %s\n", d.Digest(), show(d.Kind(), d.Name()))
	}
	for _, r := range l.Refused {
		fmt.Fprintf(a.Stderr, "refused: %s (number %d of its kind): %v\n", show(r.Kind, r.Name), r.Index+1, r.Err)
	}
	return nil
}
