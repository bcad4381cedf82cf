package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var (
	errNoise  = errors.New("not a JSON-RPC message")
	errEnded  = errors.New("server hung up")
	errSilent = errors.New("no answer")
)

// A wire carries messages to and from one server.
type wire interface {
	// send delivers a message, under the protocol version agreed on or "" before there is one. The error is errEnded if
	// the server takes no more.
	send(m message, version string) error
	// next returns the next message that came in, which is valid until the next call. The error is errEnded if there is
	// none to come, errSilent if none came in time.
	next() ([]byte, error)
	// within bounds how long the server may take from now on, or over HTTP from the next request on; 0 means no bound.
	within(time.Duration)
	// shared reports whether answers to everything that was sent come in together. If not, what next returns is part of
	// the reply to the request under way.
	shared() bool
	// answered is told that the request under way has its answer. It reports whether the rest of what came with it has
	// an end, up to which to read before anything else is sent.
	answered() bool
}

// A message is a JSON-RPC message that is sent. The SDK's own types can't be used for it: they turn the id of a server's
// request into an int64 and would not send a cursor back as it was spelled.
type message struct {
	Version string         `json:"jsonrpc"` // set by [session.send]
	ID      any            `json:"id,omitempty"`
	Method  string         `json:"method,omitempty"`
	Params  map[string]any `json:"params,omitempty"`
	Result  any            `json:"result,omitempty"`
	Error   *jsonrpc.Error `json:"error,omitempty"`
}

// newEncoder returns an encoder that leaves a cursor as it is spelled.
func newEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// An excessError reports that a server sent more than is read.
type excessError struct {
	what  string // "" for everything together
	limit int    // bytes
}

func (e *excessError) Error() string {
	if e.what == "" {
		return fmt.Sprintf("server wrote more than %d bytes", e.limit)
	}
	return fmt.Sprintf("server wrote %s of more than %d bytes", e.what, e.limit)
}

// A budget is how many bytes a server may still send.
type budget struct{ total, left int }

// reader returns r as far as the budget goes. Reading beyond it is an [*excessError].
func (b *budget) reader(r io.Reader) io.Reader { return &metered{r, b} }

type metered struct {
	io.Reader
	*budget
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if m.left -= n; m.left < 0 {
		return 0, &excessError{limit: m.total}
	}
	return n, err
}

// A messageError reports a message that is not as JSON-RPC has it, or a result that is not an object.
type messageError struct{ text string }

func (e *messageError) Error() string { return e.text }

func invalid(format string, args ...any) error { return &messageError{fmt.Sprintf(format, args...)} }

// parse returns the members of a JSON-RPC message. The error is errNoise for a line that is not meant as one, otherwise
// a [*messageError].
func parse(line []byte) (map[string]json.RawMessage, error) {
	m, err := object(line)
	if err != nil {
		// A log line may start as a message does; only one that names the protocol is a message gone wrong, for which to
		// wait any longer would be in vain.
		if start := bytes.TrimLeft(line, " \t\r\ufeff"); len(start) > 0 && (start[0] == '{' || start[0] == '[') &&
			(m["jsonrpc"] != nil || bytes.Contains(line, []byte(`"jsonrpc"`))) {
			return nil, invalid("server sent a broken message: %v", err)
		}
		return nil, errNoise
	}
	if m["jsonrpc"] == nil {
		return nil, errNoise
	}
	_, method := m["method"]
	_, result := m["result"]
	failed := !absent(m["error"])
	switch {
	case text(m["jsonrpc"]) != "2.0":
		return nil, invalid("server sent a message of the JSON-RPC version %.40q", m["jsonrpc"])
	case method && (result || failed):
		return nil, invalid("server sent a message that is both a request and a response")
	case !method && failed && !absent(m["result"]):
		return nil, invalid("server sent a response with both a result and an error")
	case !method && !failed && !result:
		return nil, invalid("server sent a message with no method, result or error")
	}
	return m, nil
}

// object splits a JSON object into its members by their decoded names. The values are kept as they are spelled, and of
// them only the syntax is checked. A member that repeats is an error.
func object(data []byte) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	members := make(map[string]json.RawMessage)
	for dec.More() {
		var value json.RawMessage
		t, err := dec.Token()
		if err == nil {
			err = dec.Decode(&value)
		}
		if err != nil {
			return members, err
		}
		name, _ := t.(string)
		if _, ok := members[name]; ok {
			return members, fmt.Errorf("member %.40q repeats", name)
		}
		members[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return members, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return members, errors.New("data after the JSON object")
	}
	return members, nil
}

// absent reports whether a member is missing or null.
func absent(raw json.RawMessage) bool {
	return raw == nil || string(raw) == "null"
}

// text returns the decoded string, or "" if the member is none.
func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}
