package cli

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mcpsign/mcpsign/verify"
)

// splitBundles splits JSON lines, without those that are blank. A bundle that is
// written over several lines is one, and so is what has no line that is an
// object by itself. Of more lines than limit it returns one more than that.
func splitBundles(data []byte, limit int) [][]byte {
	if json.Valid(data) {
		return [][]byte{data}
	}
	var lines [][]byte
	objects := 0
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("{")) && json.Valid(line) { // what is indented is a part of something
			objects++
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, line)
		}
		if len(lines) > limit {
			break
		}
	}
	if objects == 0 {
		return [][]byte{data}
	}
	return lines
}

// formatHint says what to do about a file that is not a bundle that can be read,
// empty if the error is about something else. The names are those of the files
// that were asked for.
func formatHint(err error, names ...string) string {
	var format *verify.FormatError
	if !errors.As(err, &format) || format.Path == "" {
		if format != nil {
			return format.Fix
		}
		return ""
	}
	file, out := "FILE", "BUNDLES.jsonl"
	if len(names) == 1 {
		file, out = quoteWords(names), quoteWords([]string{names[0] + ".jsonl"})
	}
	return format.Fix + ", and name the new file: jq -c '" + format.Path + "' " + file + " > " + out
}
