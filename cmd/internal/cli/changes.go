package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/mcpsign/mcpsign/lock"
)

// The JSON of changes.
type (
	changeDoc struct {
		Kind     lock.Kind  `json:"kind"`
		Name     string     `json:"name"`
		Change   lock.Op    `json:"change"`
		Severity string     `json:"severity"`
		Renamed  string     `json:"renamed,omitempty"` // the other name of the same definition
		Meta     bool       `json:"meta,omitempty"`    // the top-level _meta differs
		Spelling bool       `json:"spelling,omitempty"`
		Fields   []fieldDoc `json:"fields,omitempty"`
	}
	fieldDoc struct {
		Pointer  string      `json:"pointer"`
		Severity string      `json:"severity"`
		Effects  []effectDoc `json:"effects,omitempty"`
		VariesBy string      `json:"variesBy,omitempty"` // a time, a path ... that may be another at every start
		Old      jsonText    `json:"old,omitempty"`      // canonical JSON
		New      jsonText    `json:"new,omitempty"`
	}
	effectDoc struct {
		Code   string `json:"code"`
		Detail string `json:"detail,omitempty"`
	}
)

func changeDocs(changes []lock.Change) []changeDoc {
	var docs []changeDoc
	for _, c := range changes {
		docs = append(docs, changeDoc{c.Kind, c.Name, c.Op, c.Severity.String(), c.Renamed, c.Meta, c.Spelling, fieldDocs(c.Fields)})
	}
	return docs
}

func fieldDocs(fields []lock.Field) []fieldDoc {
	var docs []fieldDoc
	for _, f := range fields {
		d := fieldDoc{Pointer: f.Pointer, Severity: f.Severity.String(), VariesBy: variesBy(f), Old: f.Old, New: f.New}
		for _, x := range f.Effects {
			d.Effects = append(d.Effects, effectDoc{string(x.Code), x.Detail})
		}
		docs = append(docs, d)
	}
	return docs
}

// jsonText is JSON that becomes a string in the JSON of a report, when that is
// written and not before: it can have megabytes.
type jsonText []byte

// MarshalText implements encoding.TextMarshaler.
func (j jsonText) MarshalText() ([]byte, error) { return j, nil }

// changeNote says what kind of change it is, to stand behind a name.
func changeNote(c lock.Change) string { return changeNoteAs(c, lock.Visible) }

// changeNoteAs is changeNote with names of definitions as the format has them.
func changeNoteAs(c lock.Change, name func(string) string) string {
	var notes []string
	if c.Severity == lock.High {
		notes = append(notes, "high")
	}
	if c.Spelling {
		notes = append(notes, "spelling of the schema only")
	}
	if c.Op == lock.MetaChanged {
		notes = append(notes, "only its _meta changed, which no signature covers")
	} else if c.Meta {
		notes = append(notes, "and its _meta")
	}
	if c.Renamed != "" {
		notes = append(notes, "but for the name it is "+name(lock.ID(c.Kind, c.Renamed)))
	}
	if len(notes) == 0 {
		return ""
	}
	return "  (" + strings.Join(notes, "; ") + ")"
}

// metaText prints the _meta that a definition has now, which hosts get to see.
// Of a pinned one the digest alone is known.
func metaText(w io.Writer, before lock.Digest, now lock.Definition) {
	fmt.Fprintf(w, "%sat /_meta\n", margin)
	if !before.IsZero() {
		fmt.Fprintf(w, "%s- %s (the digest is all that is pinned of it)\n", margin, before)
	}
	if meta := now.Meta(); meta != nil {
		fmt.Fprintf(w, "%s+ %s\n", margin, shortJSON(meta))
	}
}

// fieldText prints where a value differs, what that means, and both values.
func fieldText(w io.Writer, f lock.Field) {
	severity := ""
	if f.Severity == lock.High {
		severity = "  high"
	}
	if v := variesBy(f); v != "" {
		severity += "  differs by " + v + ", which may be another at every start"
	}
	fmt.Fprintf(w, "%sat %s%s%s\n", margin, lock.Visible(f.Pointer), severity, effectsText(f.Effects))
	for _, line := range diffLines(f) {
		fmt.Fprintf(w, "%s%s\n", margin, line)
	}
}

// renamedText says how a server calls itself otherwise than before.
func renamedText(f lock.Field) string {
	return "the server calls itself " + shortJSON(f.New) + ", not " + shortJSON(f.Old)
}

func effectsText(effects []lock.Effect) string {
	var list []string
	for _, x := range effects {
		text := string(x.Code)
		if x.Detail != "" {
			text += " " + lock.Visible(x.Detail)
		}
		list = append(list, text)
	}
	if len(list) == 0 {
		return ""
	}
	return "  " + strings.Join(list, ", ")
}

// longText is from how many bytes on a changed text is shown line by line.
const longText = 100

// maxDiff is up to how many bytes texts are compared line by line.
const maxDiff = 64 << 10

// diffLines returns the lines that show a value before and after: of long texts
// those that changed, with their neighbours.
func diffLines(f lock.Field) []string {
	old, now, both := f.Text()
	if long := max(len(old), len(now)); both && long <= maxDiff && (long > longText || strings.Contains(old+now, "\n")) {
		if lines := textDiff(old, now); len(lines) > 0 {
			return lines
		}
	}
	var lines []string
	for _, side := range []struct {
		mark  string
		value []byte
	}{{"- ", f.Old}, {"+ ", f.New}} {
		if side.value != nil {
			lines = append(lines, side.mark+shortJSON(side.value))
		}
	}
	return lines
}

// shortJSON returns the beginning of a value, fit for a terminal.
func shortJSON(value []byte) string {
	const most = 4000
	if len(value) <= most {
		return lock.VisibleJSON(value)
	}
	return fmt.Sprintf("%s... (%d bytes, all of them with -o json)", lock.VisibleJSON([]byte(strings.ToValidUTF8(string(value[:most]), ""))), len(value))
}

// textDiff returns a unified diff of two texts without its header. Long lines
// are broken between words first, so that one changed word does not show a
// whole page twice.
func textDiff(old, now string) []string {
	diff := strings.TrimSuffix(udiff.Unified("old", "new", fold(old), fold(now)), "\n")
	if diff == "" {
		return nil
	}
	var lines []string
	for i, line := range strings.Split(diff, "\n") {
		switch {
		case i < 2 || strings.HasPrefix(line, `\ `): // the header
		case strings.HasPrefix(line, "@@ "):
			lines = append(lines, line)
		default:
			lines = append(lines, line[:1]+" "+lock.Visible(line[1:]))
		}
	}
	return lines
}

// fold breaks the lines of a text behind the sentences and words that pass the
// width of a screen.
func fold(text string) string {
	const width = 100
	var b strings.Builder
	for line := range strings.Lines(text) {
		column := 0
		for word := range strings.SplitAfterSeq(line, " ") {
			column += len(word)
			if column > width && !strings.HasSuffix(word, "\n") || strings.HasSuffix(word, ". ") {
				// Without the space, the last sentence of a text is the same as one
				// in its middle.
				b.WriteString(strings.TrimSuffix(word, " "))
				b.WriteByte('\n')
				column = 0
				continue
			}
			b.WriteString(word)
		}
	}
	return strings.TrimSuffix(b.String(), "\n") + "\n"
}
