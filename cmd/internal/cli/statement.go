package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// A span is the value of a flag that says how long: whole days (90d) or hours
// (12h), at most a hundred years.
type span time.Duration

const (
	day     = 24 * time.Hour
	maxSpan = 36500 * day
)

// String returns what Set takes, empty for none.
func (s *span) String() string {
	switch d := time.Duration(*s); {
	case d == 0:
		return ""
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	default:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
}

// Set reads a text.
func (s *span) Set(text string) error {
	unit := time.Hour
	number, ok := strings.CutSuffix(text, "h")
	if !ok {
		number, ok = strings.CutSuffix(text, "d")
		unit = day
	}
	// Compared before it is multiplied: the product could overflow.
	if n, err := strconv.ParseUint(number, 10, 63); ok && err == nil && n > 0 && n <= uint64(maxSpan/unit) {
		*s = span(time.Duration(n) * unit)
		return nil
	}
	return fmt.Errorf("want whole days (90d) or hours (12h), at most %d days", maxSpan/day)
}

// Type names the value in help.
func (s *span) Type() string { return "DURATION" }

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// definitionsOf returns the definitions that a statement is about, a
// revocation aside.
func definitionsOf(st *attest.Statement) []attest.Subject {
	if p, ok := st.Foreign(); ok {
		return p.Subjects()
	}
	return append(st.Subjects(), st.Approved()...)
}

// statementText prints all that a statement says, for whoever is to sign it.
func statementText(w io.Writer, st *attest.Statement) {
	fmt.Fprintf(w, "type     %s\n", lock.Visible(st.PredicateType()))
	if _, ok := st.Foreign(); ok {
		// Members that nobody knows are signed too: show the text.
		valueText(w, st.Bytes())
	}
	if a, ok := st.Approval(); ok {
		approvalText(w, st, a)
		fmt.Fprintf(w, "issued   %s\n", rfc3339(a.IssuedAt))
	}
	if r, ok := st.Revocation(); ok {
		revocationText(w, r)
		fmt.Fprintf(w, "issued   %s\n", rfc3339(r.IssuedAt))
	}
	if r := st.Release(); r.Server != "" {
		releaseText(w, st, r)
	}
	fmt.Fprintf(w, "digest   %s\n", st.Digest())
}

func approvalText(w io.Writer, st *attest.Statement, a attest.Approval) {
	fmt.Fprintf(w, "approves %s for %s until %s\n", a.Server, lock.Visible(a.Audience), rfc3339(a.ExpiresAt))
	notesText(w, a.Notes)
	for _, s := range st.Approved() {
		fmt.Fprintf(w, "%s%s  %s\n", margin, s.Digest, lock.Visible(s.ID()))
		if old, ok := a.Replaces[s.ID()]; ok {
			fmt.Fprintf(w, "%s  replaces %s\n", margin, old)
		}
	}
}

// releaseText prints all members: what is not shown can't be meant.
func releaseText(w io.Writer, st *attest.Statement, r attest.Release) {
	fmt.Fprintf(w, "release  %s %s, sequence %d, variant %q, issued %s\n", r.Server, lock.Visible(r.Version), r.Sequence, r.Variant, rfc3339(r.IssuedAt))
	valueText(w, st.Bytes())
}

func notesText(w io.Writer, notes string) {
	for line := range strings.Lines(notes) {
		fmt.Fprintf(w, "notes    %s\n", lock.Visible(strings.TrimSuffix(line, "\n")))
	}
}

// revocationText prints a list as a whole.
func revocationText(w io.Writer, r attest.Revocation) {
	for _, x := range r.Entries {
		reason := ""
		if x.Reason != "" {
			reason = "  " + lock.Visible(x.Reason)
		}
		fmt.Fprintf(w, "revoked  %s%s\n", lock.Visible(revokedItem(x)), reason)
	}
	if len(r.Entries) == 0 {
		fmt.Fprintln(w, "revoked  nothing")
	}
	fmt.Fprintf(w, "list     number %d for %s, the next one by %s\n", r.Number, strings.Join(r.Servers, ", "), rfc3339(r.NextUpdate))
	fmt.Fprintln(w, "note     the list is the whole of what its signer revokes for each server: what it lacks counts again")
}

// revokedItem returns an entry as revoke takes it.
func revokedItem(x attest.Revoked) string {
	if x.Statement.IsZero() {
		return x.Definition.ID() + "@" + x.Definition.Digest.String()
	}
	return statementPrefix + x.Statement.String()
}
