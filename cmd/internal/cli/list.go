package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/lock"
)

func (a *app) listCommand() *cobra.Command {
	var all allFlags
	cmd := &cobra.Command{
		Use:         "list [NAME] SOURCE",
		Annotations: map[string]string{formatsKey: formatRaw},
		Short:       "Show what a server lists, or write it as received",
		Long: `Show what a server lists. With -o raw, write its responses as received, as JSON
lines: every other command reads them back as a SOURCE, so that the job that
starts a server needs no right to sign.

` + sourceHelp,
		Example: `  mcpsign list -- npx -y @acme/weather-mcp
  mcpsign list -o raw https://weather.acme.example/mcp > listing.jsonl`,
		RunE: func(cmd *cobra.Command, list []string) error {
			targets, err := a.listTargets(cmd, list, &all)
			if err != nil {
				return err
			}
			fetched, err := a.fetchAll(cmd.Context(), targets)
			if err != nil {
				return err
			}
			return a.emitListings(fetched, all.all)
		},
	}
	all.add(cmd.Flags())
	a.live.add(cmd.Flags())
	return cmd
}

// listTargets returns the targets of a command that needs no NAME.
func (a *app) listTargets(cmd *cobra.Command, list []string, all *allFlags) ([]target, error) {
	if all.all {
		st, err := a.openStore()
		if err != nil {
			return nil, err
		}
		defer st.close()
		return a.allTargets(cmd, st, list, all)
	}
	words := list
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		words = list[:dash]
	}
	named := 0
	if len(list) > 1 && len(words) > 0 && !live(words[0]) && words[0] != "-" {
		if _, err := os.Stat(words[0]); err != nil && lock.CheckName(words[0]) == nil {
			named = 1
		}
	}
	names, s, err := neededSource(cmd, list, named)
	if err != nil {
		return nil, err
	}
	t := target{name: s.String(), source: s}
	if named > 0 {
		t.name = names[0]
	}
	return []target{t}, nil
}

// The JSON of list.
type (
	listDoc struct {
		Server      string         `json:"server"`
		Error       string         `json:"error,omitempty"`
		Info        *infoDoc       `json:"info,omitempty"`
		Definitions []listEntry    `json:"definitions"`
		Refused     []refusedEntry `json:"refused"`
	}
	listEntry struct {
		digestEntry
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
	}
	infoDoc struct {
		Name            string `json:"name,omitempty"`
		Version         string `json:"version,omitempty"`
		ProtocolVersion string `json:"protocolVersion,omitempty"`
	}
)

func infoDocument(i lock.Info) *infoDoc {
	if i == (lock.Info{}) {
		return nil
	}
	return &infoDoc{i.Name, i.Version, i.ProtocolVersion}
}

func (a *app) emitListings(all []fetch, many bool) error {
	var outcomes []error
	docs := []listDoc{}
	for _, f := range all {
		doc := listDoc{Server: f.name, Definitions: []listEntry{}, Refused: []refusedEntry{}}
		err := f.err
		if err != nil {
			doc.Error = oneLine(err.Error())
		} else {
			doc.add(f.got.Listing)
			err = refusedError(f.got.Listing)
		}
		if f.err != nil && f.got != nil && a.wants(formatRaw) {
			err = fail(codeOf(err), err, "what the server sent is written all the same; ask its publisher to mend it")
		}
		outcomes, docs = append(outcomes, err), append(docs, doc)
	}
	raw := a.wants(formatRaw)
	if raw && len(all) > 1 {
		return usage("list each by itself", "-o raw is one server's: several would read back as one")
	}
	if len(all) == 1 && all[0].err != nil && (!raw || all[0].got == nil) {
		return all[0].err // nothing was listed
	}
	f := form{
		document: func() any { return oneOrMany(docs, many) },
		text:     func(w io.Writer) { listText(w, docs, many) },
		raw: func(w io.Writer) {
			for _, data := range all[0].got.responses {
				writeLines(w, data)
			}
		},
	}
	if err := a.emit(f); err != nil {
		return err
	}
	if raw && len(docs[0].Definitions)+len(docs[0].Refused) > 0 {
		return nil // it is the reader's to refuse
	}
	return combine(outcomes)
}

// writeLines writes each of the JSON texts of a listing on a line of its own. A
// line end within a text is white space. What is not JSON stays as it is.
func writeLines(w io.Writer, data []byte) {
	texts := json.NewDecoder(bytes.NewReader(data))
	for {
		var text json.RawMessage
		rest := data[texts.InputOffset():]
		if texts.Decode(&text) != nil {
			_, _ = w.Write(bytes.TrimLeft(rest, " \t\r\n"))
			return
		}
		text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\n"), []byte(" ")), []byte("\r"), []byte(" "))
		_, _ = w.Write(append(text, '\n')) // into a buffer
	}
}

// oneOrMany returns the document of one server, or of many.
func oneOrMany[T any](docs []T, many bool) any {
	if !many {
		return docs[0]
	}
	return struct {
		Servers []T `json:"servers"`
	}{docs}
}

// wants reports whether -o names a format.
func (a *app) wants(format string) bool {
	for _, s := range a.sinks {
		if s.format == format {
			return true
		}
	}
	return false
}

func (doc *listDoc) add(l *lock.Listing) {
	doc.Info = infoDocument(l.Info())
	for _, d := range l.Definitions {
		e := listEntry{digestEntry: digestEntry{d.Kind(), d.Name(), d.Digest().String()}}
		var members map[string]json.RawMessage
		if json.Unmarshal(d.Canonical(), &members) == nil {
			e.Title, e.Description = textOf(members["title"]), textOf(members["description"])
			if d.Kind() == lock.Instructions {
				e.Description = textOf(members["instructions"])
			}
		}
		doc.Definitions = append(doc.Definitions, e)
	}
	doc.Refused = refusedEntries(l)
}

// textOf returns a JSON string's text, empty for anything else.
func textOf(value json.RawMessage) (s string) {
	if len(value) > 0 && value[0] == '"' {
		_ = json.Unmarshal(value, &s) // canonical: it is one
	}
	return s
}

func listText(w io.Writer, docs []listDoc, many bool) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, doc := range docs {
		if many {
			fmt.Fprintf(t, "%s\n", lock.Visible(doc.Server))
		}
		if doc.Error != "" {
			fmt.Fprintf(t, "REFUSED\t%s\n", doc.Error)
		}
		if i := doc.Info; i != nil {
			fmt.Fprintf(t, "server\t%s\n", lock.Visible(strings.Join(strings.Fields(i.Name+" "+i.Version+" "+i.ProtocolVersion), " ")))
		}
		for _, d := range doc.Definitions {
			fmt.Fprintf(t, "%s\t%s\t%s\n", d.Kind, lock.Visible(d.Name), firstLine(d.Description))
		}
		for _, r := range doc.Refused {
			name := lock.Visible(r.Name)
			if name == "" && r.Kind != lock.Instructions {
				name = fmt.Sprintf("number %d", r.Index+1)
			}
			fmt.Fprintf(t, "%s\t%s\tREFUSED: %s at %q\n", r.Kind, name, r.Code, lock.Visible(r.Pointer))
		}
	}
	_ = t.Flush() // into a buffer
}

// firstLine returns the beginning of a text, fit for a line of a table.
func firstLine(text string) string {
	const most = 80
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if utf8.RuneCountInString(line) > most {
		line, more = string([]rune(line)[:most]), true
	}
	line = lock.Visible(strings.TrimSpace(line))
	if more {
		line += " ..."
	}
	return line
}
