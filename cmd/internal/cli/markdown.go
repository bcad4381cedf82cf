package cli

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
)

// maxMarkdown bounds a report in Markdown: job summaries of CI systems hold one
// MiB.
const maxMarkdown = 900 << 10

// markdown writes the report for the summary of a CI job. Texts of servers are
// shown as they are spelled: no markup, link, image or mention of theirs works.
func (r *report) markdown(w io.Writer) {
	var b strings.Builder
	for _, e := range r.entries {
		section := e.markdown()
		if b.Len()+len(section) > maxMarkdown {
			fmt.Fprintf(&b, "\n**%s** and what follows is left out: the summary would be too long. All of it is in the JSON.\n", code(e.server))
			break
		}
		b.WriteString(section)
	}
	_, _ = io.WriteString(w, b.String()) // into a buffer
}

func (e *entry) markdown() string {
	var b strings.Builder
	if e.err == nil {
		fmt.Fprintf(&b, "### :white_check_mark: %s\n\n", code(e.title()))
	} else {
		fmt.Fprintf(&b, "### :x: %s\n\n%s (exit %d)\n\n", code(e.title()), code(oneLine(e.err.Error())), codeOf(e.err))
	}
	e.markdownResults(&b)
	e.markdownChanges(&b)
	if e.launch != "" {
		fmt.Fprintf(&b, "Launched otherwise than recorded: %s\n\n", code(e.launch))
	}
	if len(e.findings) > 0 {
		b.WriteString("| lint | definition | at | |\n| --- | --- | --- | --- |\n")
		for _, f := range e.findings {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.Code, code(lock.ID(f.Kind, f.Name)), code(f.Pointer), code(f.Detail))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (e *entry) markdownResults(b *strings.Builder) {
	if e.judgement == nil {
		return
	}
	results := e.judgement.decision.Results()
	fine := 0
	for _, r := range results {
		if e.judgement.fine(r) {
			fine++
		}
	}
	fmt.Fprintf(b, "%d of %d definitions are allowed by %s.\n\n", fine, len(results), code(e.judgement.decision.Rule()))
	if fine == len(results) {
		return
	}
	b.WriteString("| refused | reasons | expected | found |\n| --- | --- | --- | --- |\n")
	for _, r := range results {
		if e.judgement.fine(r) {
			continue
		}
		var reasons []string
		for _, x := range e.judgement.reasons(r) {
			reasons = append(reasons, string(x))
		}
		expected, found := r.Pinned, code(digestText(r.Digest))
		if expected.IsZero() {
			expected = r.Signed
		}
		if r.Refused != nil {
			found = code(r.Refused.Error())
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(lock.ID(r.Kind, r.Name)), strings.Join(reasons, ", "), code(digestText(expected)), found)
	}
	b.WriteString("\n")
}

func (e *entry) markdownChanges(b *strings.Builder) {
	for _, c := range e.changes {
		if len(c.Fields) == 0 {
			fmt.Fprintf(b, "- %s %s%s\n", c.Op, code(lock.ID(c.Kind, c.Name)), changeNoteAs(c, code))
			continue
		}
		fmt.Fprintf(b, "\n<details><summary>%s %s%s</summary>\n\n<pre>\n", c.Op, code(lock.ID(c.Kind, c.Name)), changeNoteAs(c, code))
		for _, f := range c.Fields {
			var text strings.Builder
			fieldText(&text, f)
			b.WriteString(html.EscapeString(text.String()))
		}
		b.WriteString("</pre>\n</details>\n\n")
	}
	for _, f := range e.info {
		fmt.Fprintf(b, "- the server's own %s: %s\n", code(strings.TrimPrefix(f.Pointer, "/")), code(strings.Join(diffLines(f), " ")))
	}
	if len(e.changes)+len(e.info) > 0 {
		b.WriteString("\n")
	}
}

// code returns a text as code that Markdown and HTML show as it is: everything
// that could be markup is a character reference, and nothing in code is a link
// or a mention.
func code(s string) string {
	var b strings.Builder
	for _, r := range lock.Visible(s) {
		if r < 0x80 && !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" ,;/%=?", r)) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "<code>" + b.String() + "</code>"
}
