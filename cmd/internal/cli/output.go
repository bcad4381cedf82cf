package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mcpsign/mcpsign/lock"
)

// The formats in which results are written.
const (
	formatText     = "text"
	formatJSON     = "json"
	formatSARIF    = "sarif"
	formatMarkdown = "markdown"
	formatRaw      = "raw"
)

// formatsKey is the annotation of a command with the formats it writes besides
// text and JSON.
const formatsKey = "formats"

// reports are the formats of a command that judges or compares.
var reports = map[string]string{formatsKey: formatSARIF + " " + formatMarkdown}

// A sink is one of the places that a result is written to.
type sink struct {
	format string
	file   string // empty: standard output
}

// sinks reads the values of -o: FORMAT or FORMAT=FILE.
func sinks(cmd *cobra.Command, values []string) ([]sink, error) {
	known := append([]string{formatText, formatJSON}, strings.Fields(cmd.Annotations[formatsKey])...)
	if len(values) == 0 {
		return []sink{{format: formatText}}, nil
	}
	var list []sink
	for _, v := range values {
		format, file, named := strings.Cut(v, "=")
		s := sink{format, file}
		switch {
		case !slices.Contains(known, format):
			return nil, usage("write -o "+strings.Join(known, ", "), fmt.Sprintf("output format \"%s\" is not known here", lock.Visible(format)))
		case named && file == "":
			return nil, usage("write -o "+format+"=FILE", "-o "+format+"= names no file")
		case slices.ContainsFunc(list, func(o sink) bool { return o.file == file }):
			return nil, usage("send one of them to a file: -o "+format+"=FILE", "two formats go to one place")
		}
		list = append(list, s)
	}
	return list, nil
}

// A form is a result in the formats that its command has.
type form struct {
	text     func(w io.Writer)
	document func() any // for JSON: an object
	report   *report    // for SARIF and Markdown
	raw      func(w io.Writer)
}

// emit writes a result to every place that -o names.
func (a *app) emit(f form) error {
	for _, s := range a.sinks {
		var file bytes.Buffer
		to := io.Writer(&file)
		if s.file == "" {
			to = a.Stdout
		}
		w := bufio.NewWriterSize(to, 64<<10) // results of many megabytes are not collected first
		err := a.write(w, s.format, f)
		if flushed := w.Flush(); s.file != "" && err == nil { // standard output remembers an error, which Run returns if nothing is worse
			err = flushed
		}
		if s.file != "" && err == nil {
			err = s.write(file.Bytes())
		}
		if err != nil {
			return fail(ExitInternal, fmt.Errorf("the result as %s: %w", s.format, err), "")
		}
	}
	return nil
}

// write writes a result in one format. What w could not take it says when it is
// flushed.
func (a *app) write(w *bufio.Writer, format string, f form) error {
	switch format {
	case formatText:
		f.text(w)
	case formatRaw:
		f.raw(w)
	case formatJSON:
		return a.writeJSON(w, f.document())
	case formatSARIF:
		return f.report.sarif(w)
	case formatMarkdown:
		f.report.markdown(w)
	}
	return nil
}

// write writes the file, so that it is there whole or as it was before. What is
// written into a device or a FIFO goes through it: only a file is replaced.
func (s sink) write(data []byte) error {
	info, err := os.Lstat(s.file)
	switch {
	case err != nil || info.Mode().IsRegular():
	case info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0:
		f, err := os.OpenFile(s.file, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	default:
		return fmt.Errorf("%s is not a regular file", lock.Visible(s.file))
	}
	root, err := os.OpenRoot(filepath.Dir(s.file))
	if err != nil {
		return err
	}
	defer root.Close()
	return writeFile(root, filepath.Base(s.file), data, 0o644)
}

// writeJSON writes one JSON document that begins with the command's name, in a
// spelling in which every character shows: terminals get to see it as well.
func (a *app) writeJSON(w *bufio.Writer, v any) error {
	fmt.Fprintf(w, "{\n  \"command\": \"%s\",\n", a.command)
	many, ok := v.(*manyDocs)
	if !ok {
		return visibleJSON(w, v, "", "{\n", "\n")
	}
	start, end := "  \"servers\": [", "]\n}\n"
	for i := range many.count {
		w.WriteString(start + "\n    ")
		if err := visibleJSON(w, many.document(i), "    ", "", ""); err != nil {
			return err
		}
		start, end = ",", "\n  ]\n}\n"
	}
	if many.count == 0 {
		w.WriteString(start)
	}
	w.WriteString(end)
	return nil
}

// manyDocs is the JSON of many servers, {"servers": [...]}, of which one is made
// at a time.
type manyDocs struct {
	count    int
	document func(i int) any
}

// visibleJSON writes a document without the text that it starts with, and with
// another one behind it.
func visibleJSON(w *bufio.Writer, v any, prefix, without, behind string) error {
	data, err := json.MarshalIndent(v, prefix, "  ")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte(without))) { // a string ends on its line
		w.WriteString(lock.VisibleJSON(line))
	}
	w.WriteString(behind)
	return nil
}

// output is standard output. It remembers that something could not be written,
// so that a result that nobody got is no yes.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil {
		o.err = err
	}
	return n, err
}

// terminal reports whether what is written to o is shown to someone.
func (o *output) terminal() bool { return isTerminal(o.Writer) }

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// readFile reads a file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := openNamed(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, name, limit)
}

// openNamed opens a file that someone named.
func openNamed(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil && isMisplaced(name) {
		return nil, &failure{ExitUsage, errMisplaced, misplacedHint}
	}
	return f, err
}

// readRegular is readFile for a path that nobody named to be read: anything but
// a regular file is refused, as opening a FIFO waits for its other end.
func readRegular(name string, limit int64) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", lock.Visible(name))
	}
	return readFile(name, limit)
}

func readAll(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := readUpTo(r, limit)
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", lock.Visible(name), limit)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// readUpTo reads limit bytes and one more, which says that there are more.
func readUpTo(r io.Reader, limit int64) ([]byte, error) {
	var b bytes.Buffer
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			b.Grow(int(min(info.Size(), limit+1)) + bytes.MinRead) // so that it does not grow in steps
		}
	}
	_, err := b.ReadFrom(io.LimitReader(r, limit+1))
	return b.Bytes(), err
}
