package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/mcpsign/mcpsign/lock"
)

// printJSON writes one JSON document to standard output, in a spelling in which
// every character shows: terminals get to see it as well.
func (a *app) printJSON(v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Stdout, lock.VisibleJSON(data))
	return err
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
func (o *output) terminal() bool {
	f, ok := o.Writer.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// readFile reads a file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, name, limit)
}

func readAll(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", lock.Visible(name), limit)
	}
	return data, nil
}
