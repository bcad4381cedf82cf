// Package canonical reads JSON strictly and writes its RFC 8785 form (JSON
// Canonicalization Scheme) in one pass over the bytes.
//
// It exists because a definition digest must not depend on a general JSON
// library: those keep the last of two equal members, replace bad UTF-8, round
// numbers, and know no limits. What is accepted here is I-JSON (RFC 7493) and
// a little less: every member name occurs once, every string is valid Unicode,
// and every number that is written is a double whose magnitude is below 2^53,
// so that every reader sees the same value.
//
// The form written is that of RFC 8785: no white space, members sorted by the
// UTF-16 code units of their names (section 3.2.3), strings with the shortest
// escapes (3.2.2.2), numbers as ECMAScript prints them (3.2.2.3).
//
// The package does no I/O and keeps no state between calls.
package canonical

import (
	"fmt"
	"strconv"
	"strings"
)

// The limits of a host. They bound time and memory and are no part of the
// digest's recipe.
const (
	MaxDepth   = 64      // nested objects and arrays, the outermost counts
	MaxSize    = 1 << 20 // bytes of one definition as received
	MaxMembers = 10_000  // members of one object

	maxText = 1 << 30 // bytes of any text: places in it and in its canonical form fit 32 bits
)

// MetaMember is the member that is removed from the top level of a definition
// before it is hashed.
const MetaMember = "_meta"

// A Code says why a text has no canonical form. Codes are stable.
type Code string

const (
	NumberOutOfRange Code = "number_out_of_range" // not finite, or the double's magnitude is >= 2^53
	DuplicateKey     Code = "duplicate_key"       // two members of one name, after unescaping
	InvalidUTF8      Code = "invalid_utf8"
	LoneSurrogate    Code = "lone_surrogate" // an escape that is half of a pair
	BOM              Code = "bom"            // a byte order mark before the text
	Syntax           Code = "json_syntax"    // RFC 8259 does not allow it
	TrailingData     Code = "trailing_data"  // bytes after the value
	NotAnObject      Code = "not_an_object"
	MissingName      Code = "missing_name" // absent, empty, or no string
	TooDeep          Code = "too_deep"
	TooLarge         Code = "too_large"
	TooMany          Code = "too_many"
)

// An Error says what is wrong with a text, and where.
type Error struct {
	Code    Code
	Pointer string // RFC 6901, of the innermost value or member concerned; "" is the whole text
	Offset  int    // in bytes from the start of the text
	Detail  string // for people; may be empty, holds no text from the input but ASCII punctuation and digits
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	b.WriteString(" at ")
	if e.Pointer != "" {
		b.WriteString(strconv.QuoteToASCII(e.Pointer) + ", ")
	}
	fmt.Fprintf(&b, "byte %d", e.Offset)
	return b.String()
}

// Append appends the RFC 8785 form of the one JSON value in src to dst. The
// error is an *Error; dst is then returned as it was. Depth and members are
// limited, the size of src is the caller's to limit.
func Append(dst, src []byte) ([]byte, error) {
	r := NewReader(src)
	r.out = dst
	if _, err := r.Value(); err != nil {
		return dst, err
	}
	if err := r.End(); err != nil {
		return dst, err
	}
	return r.out, nil
}

// AppendString appends s as an RFC 8785 string. Bytes that are no UTF-8 are
// the caller's to refuse: they are written as they are.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		dst = appendByte(dst, s[i])
	}
	return append(dst, '"')
}

// appendByte appends one byte of a string's UTF-8 in its RFC 8785 spelling.
func appendByte(dst []byte, c byte) []byte {
	if c >= 0x20 && c != '"' && c != '\\' {
		return append(dst, c)
	}
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// Unquote returns the string that quoted, an RFC 8785 string with its quotes,
// spells. It must have been written by this package.
func Unquote(quoted []byte) string {
	body := quoted[1 : len(quoted)-1]
	for _, c := range body {
		if c == '\\' {
			var b []byte
			for len(body) > 0 {
				var c byte
				c, body = nextByte(body)
				b = append(b, c)
			}
			return string(b)
		}
	}
	return string(body)
}

// nextByte undoes appendByte for the first byte spelled in body.
func nextByte(body []byte) (byte, []byte) {
	if body[0] != '\\' {
		return body[0], body[1:]
	}
	switch body[1] {
	case 'b':
		return '\b', body[2:]
	case 't':
		return '\t', body[2:]
	case 'n':
		return '\n', body[2:]
	case 'f':
		return '\f', body[2:]
	case 'r':
		return '\r', body[2:]
	case 'u':
		return unhex(body[4])<<4 | unhex(body[5]), body[6:]
	}
	return body[1], body[2:]
}

// unhex returns the value of a hexadecimal digit, 255 for any other byte.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}
