package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mcpsign/mcpsign/lock"
)

// columns is how wide a value on one line may be.
const columns = 100

// valueText prints a JSON value for people: in full, objects and arrays over
// several lines only where they do not fit in one.
func valueText(w io.Writer, value []byte) {
	var form bytes.Buffer
	if json.Compact(&form, value) == nil {
		value = appendFolded(nil, form.Bytes(), "\n"+margin)
	}
	fmt.Fprintf(w, "%s%s\n", margin, lock.VisibleJSON(value))
}

// appendFolded appends a value without white space, whose further lines begin
// with newline.
func appendFolded(dst, form []byte, newline string) []byte {
	if len(newline)+len(form) <= columns || form[0] != '{' && form[0] != '[' {
		return append(dst, form...)
	}
	dst = append(dst, form[0])
	inner := newline + "  "
	for rest := form[1 : len(form)-1]; len(rest) > 0; {
		name, end := element(rest)
		dst = append(append(dst, inner...), rest[:name]...)
		if name > 0 {
			dst = append(dst, ' ')
		}
		dst = appendFolded(dst, rest[name:end], inner)
		if rest = rest[end:]; len(rest) > 0 {
			dst, rest = append(dst, ','), rest[1:]
		}
	}
	return append(append(dst, newline...), form[len(form)-1])
}

// element returns where the value of the first element of a container begins,
// after its name and colon if it has one, and where it ends.
func element(list []byte) (value, end int) {
	depth, quoted := 0, false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ':' && depth == 0:
			value = i + 1
		case c == ',' && depth == 0:
			return value, i
		}
	}
	return value, len(list)
}
