package mcp

import (
	"bufio"
	"bytes"
	"io"
)

// events reads an event stream as the HTML standard, section 9.2.6, says: lines end with CR, LF or CRLF, an event ends
// with an empty line, and what the stream breaks off in is no event. Only the data of events counts that have some and
// are of the type message, which is the default.
type events struct {
	in    *bufio.Reader
	limit int  // bytes of the data of one event, and about as many of a line
	cr    bool // the last line ended with CR: an LF that follows belongs to its end
	begun bool

	line, data []byte

	ids    bool // an event had an id
	others int  // events of other types with data
}

func newEvents(r io.Reader, limit int) *events {
	return &events{in: bufio.NewReader(r), limit: limit}
}

// next returns the data of the next event, valid until the next call, its lines joined by newlines. The error is
// [*excessError] or that of the reader, io.EOF at the end.
func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	message := true
	for {
		line, err := e.readLine()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			data := bytes.TrimSuffix(e.data, []byte("\n"))
			if len(data) > 0 && message {
				return data, nil
			}
			if len(data) > 0 {
				e.others++
			}
			e.data, message = e.data[:0], true
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			e.data = append(append(e.data, value...), '\n')
			if len(e.data) > e.limit+1 {
				return nil, &excessError{"a message", e.limit}
			}
		case "event":
			message = len(value) == 0 || string(value) == "message"
		case "id":
			e.ids = true
		}
	}
}

// readLine returns the next line without its end. It does not wait for what follows a CR.
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		if _, err := e.in.Peek(1); err != nil {
			return nil, err
		}
		chunk, _ := e.in.Peek(e.in.Buffered())
		if e.cr && chunk[0] == '\n' {
			chunk = chunk[1:]
			_, _ = e.in.Discard(1)
		}
		e.cr = false
		i := bytes.IndexAny(chunk, "\r\n")
		if i < 0 {
			i = len(chunk)
		}
		if e.line = append(e.line, chunk[:i]...); len(e.line) > e.limit+len("data: ") {
			return nil, &excessError{"a line", e.limit}
		}
		if i == len(chunk) {
			_, _ = e.in.Discard(i)
			continue
		}
		e.cr = chunk[i] == '\r'
		_, _ = e.in.Discard(i + 1)
		if !e.begun {
			e.begun = true
			return bytes.TrimPrefix(e.line, []byte("\ufeff")), nil
		}
		return e.line, nil
	}
}
