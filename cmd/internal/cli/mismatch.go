package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mcpsign/mcpsign/lock"
)

// A part is one of the fields that an identity is compared by.
type part struct{ name, value string }

// identityParts splits an identity string into the fields that people compare.
func identityParts(id string) []part {
	form, rest, _ := strings.Cut(id, ":")
	switch form {
	case "github", "gitlab":
		path, ref, _ := strings.Cut(rest, "@")
		segments := strings.SplitN(path, "/", 3)
		if form == "gitlab" || len(segments) < 3 {
			return []part{{"form", form}, {"pipeline", path}, {"ref", ref}}
		}
		return []part{{"form", form}, {"repository", segments[0] + "/" + segments[1]}, {"workflow", segments[2]}, {"ref", ref}}
	case "email", "uri":
		i := strings.LastIndex(rest, "@https://")
		if i < 0 {
			i = len(rest)
		}
		return []part{{"form", form}, {"subject", rest[:i]}, {"issuer", strings.TrimPrefix(rest[i:], "@")}}
	case "x509":
		return []part{{"form", form}, {"subject", rest}}
	}
	return []part{{"form", form}, {"key", rest}}
}

// mismatchText prints what was expected of a signer and what was found, field
// by field: those that differ are marked. Identities of different forms, and
// keys, have no fields in common.
func mismatchText(w io.Writer, expected, found string) {
	a, b := identityParts(expected), identityParts(found)
	if a[0] != b[0] || len(a) != len(b) || a[0].value == "key" {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\t\texpected\tfound\n", margin)
	for i, p := range a[1:] {
		mark := " "
		if p != b[i+1] {
			mark = "!"
		}
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%s\n", margin, mark, p.name, lock.Visible(p.value), lock.Visible(b[i+1].value))
	}
	_ = t.Flush() // into a buffer
}
