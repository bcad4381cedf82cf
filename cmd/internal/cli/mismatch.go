package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// mismatchText prints what was expected of a signer and what was found, field
// by field: those that differ are marked. Of forms that have nothing in common,
// and of keys, there is nothing to compare.
func mismatchText(w io.Writer, expected string, found lock.Signer) {
	id, err := verify.ParseSigner(expected)
	if err != nil || found.IsZero() {
		return
	}
	parts := id.Compare(found)
	common := false
	for _, p := range parts {
		common = common || p.Part != "key" && p.Want != "" && p.Got != ""
	}
	if !common {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\t\texpected\tfound\n", margin)
	for _, p := range parts {
		mark := "!"
		if p.Equal {
			mark = " "
		}
		note := ""
		if !p.Equal && strings.EqualFold(p.Want, p.Got) {
			note = "  (only upper and lower case differ)"
		}
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%s%s\n", margin, mark, p.Part, lock.Visible(p.Want), lock.Visible(p.Got), note)
	}
	_ = t.Flush() // into a buffer
}
