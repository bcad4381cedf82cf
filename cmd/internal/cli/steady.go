package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/cmd/internal/mcp"
	"github.com/mcpsign/mcpsign/lock"
)

// steady starts the server a second time, from another working directory, and
// returns an error if it lists something else: what holds the time of a start
// or a path on this machine is not the same for users, and can't be signed.
func (a *app) steady(ctx context.Context, s source, first *lock.Listing, exclude []string) error {
	dir, err := os.MkdirTemp("", "mcpsign-sign-")
	if err != nil {
		return fail(ExitInternal, err, "")
	}
	defer os.RemoveAll(dir)
	s.allowed = true // as it was the first time
	elsewhere := s
	elsewhere.dir = dir
	second, err := a.listing(ctx, elsewhere)
	if start := (*mcp.StartError)(nil); errors.As(err, &start) {
		// A command that is named by a path of its own only starts from here.
		fmt.Fprintln(a.Stderr, "note: the command does not start from another working directory: it is started again from this one")
		second, err = a.listing(ctx, s)
	}
	if err != nil {
		return err
	}
	changes := slices.DeleteFunc(lock.Diff(first, second.Listing), func(c lock.Change) bool {
		return reasonOf(c.Op) == "" || slices.Contains(exclude, lock.ID(c.Kind, c.Name))
	})
	if len(changes) == 0 {
		return nil
	}
	var names []string
	for _, c := range changes {
		names = append(names, quoteWords([]string{"--exclude", lock.ID(c.Kind, c.Name)}))
		fmt.Fprintf(a.Stderr, "unsteady: %s %s\n", show(c.Kind, c.Name), c.Op)
		for _, f := range c.Fields {
			fieldText(a.Stderr, f)
		}
	}
	return fail(ExitNoDigest, fmt.Errorf("%d definitions differ between two starts of the server; nothing was signed", len(changes)),
		"make the server list the same at every start, or leave them unsigned: "+strings.Join(names, " "))
}

// without returns the listing without some definitions, each named by its ID.
func without(l *lock.Listing, ids []string) (*lock.Listing, error) {
	rest := *l
	rest.Definitions = slices.Clone(l.Definitions)
	rest.Refused = slices.Clone(l.Refused)
	for _, id := range ids {
		kind, name, err := lock.ParseID(id)
		if err != nil {
			return nil, fail(ExitUsage, err, "name a definition with its kind: --exclude tool:NAME")
		}
		before := len(rest.Definitions) + len(rest.Refused)
		rest.Definitions = slices.DeleteFunc(rest.Definitions, func(d lock.Definition) bool { return d.Kind() == kind && d.Name() == name })
		rest.Refused = slices.DeleteFunc(rest.Refused, func(r lock.Refused) bool { return r.Kind == kind && r.Name == name })
		if len(rest.Definitions)+len(rest.Refused) == before {
			return nil, usage("see what is listed: mcpsign digest SOURCE", notListed(l, id)+": it can't be excluded")
		}
		// What is left out is not the whole surface.
		rest.Kinds = slices.DeleteFunc(slices.Clone(rest.Kinds), func(k lock.Kind) bool { return k == kind })
	}
	return &rest, nil
}
