package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var errEnded = errors.New("server hung up")

// A message is a JSON-RPC message that is sent. The SDK's own types can't be used for it: they turn the id of a server's
// request into an int64 and would not send a cursor back as it was spelled.
type message struct {
	Version string         `json:"jsonrpc"` // set by send
	ID      any            `json:"id,omitempty"`
	Method  string         `json:"method,omitempty"`
	Params  map[string]any `json:"params,omitempty"`
	Result  any            `json:"result,omitempty"`
	Error   *jsonrpc.Error `json:"error,omitempty"`
}

// A session is one conversation with a server. It has at most one request under way.
type session struct {
	in     *json.Encoder
	lines  *bufio.Scanner
	limits limits
	out    Listing

	method  string // of the last request
	id      int    // of the last request; they count from 1
	waiting bool   // the last request is unanswered

	ready        bool           // the handshake is done
	meta         map[string]any // sent with every request of the stateless revision, else nil
	capabilities map[string]json.RawMessage
	fetched      int // pages asked for
	read         int // bytes received
}

func newSession(stdin io.Writer, stdout io.Reader, lim limits) *session {
	s := &session{in: json.NewEncoder(stdin), lines: bufio.NewScanner(stdout), limits: lim}
	s.in.SetEscapeHTML(false)
	// A Scanner's buffer holds the newline too.
	s.lines.Buffer(nil, lim.line+1)
	s.lines.Split(splitLines)
	return s
}

// splitLines is [bufio.ScanLines], but keeps a carriage return and drops a last line without a newline: the server did
// not live to finish it.
func splitLines(data []byte, _ bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	return 0, nil, nil
}

// call sends a request and returns the line of its response and the members of the result.
func (s *session) call(method string, params map[string]any) ([]byte, map[string]json.RawMessage, error) {
	if s.meta != nil {
		if params == nil {
			params = make(map[string]any)
		}
		params["_meta"] = s.meta
	}
	s.id++
	s.method, s.waiting = method, true
	if err := s.send(message{ID: s.id, Method: method, Params: params}); err != nil {
		return nil, nil, err
	}
	line, response, err := s.receive()
	if err != nil {
		return nil, nil, err
	}
	if raw := response["error"]; !absent(raw) {
		var e jsonrpc.Error
		if err := json.Unmarshal(raw, &e); err != nil {
			e = jsonrpc.Error{Message: string(raw)}
		}
		return nil, nil, &MethodError{Method: method, Code: e.Code, Message: e.Message}
	}
	result, err := object(response["result"])
	if err != nil {
		return nil, nil, fmt.Errorf("result of %s: %w", method, err)
	}
	// Other types of a result ask the client for something before they list anything.
	if t := result["resultType"]; s.meta != nil && !absent(t) && text(t) != "complete" {
		return nil, nil, fmt.Errorf("result of %s: its type is %.40q, not complete", method, t)
	}
	return line, result, nil
}

func (s *session) send(m message) error {
	m.Version = "2.0"
	if s.in.Encode(m) != nil {
		// What went wrong with the pipe says less than how the server ended.
		return errEnded
	}
	return nil
}

// receive reads up to the response to the request under way and returns its line and its members. It answers requests
// and passes over all else that may come. The error is [errEnded] if there is nothing more to read.
func (s *session) receive() ([]byte, map[string]json.RawMessage, error) {
	for s.lines.Scan() {
		line := s.lines.Bytes()
		if s.read += len(line) + 1; s.read > s.limits.total {
			return nil, nil, fmt.Errorf("server wrote more than %d bytes", s.limits.total)
		}
		m, err := parse(line)
		switch {
		case err == errNoise:
			s.noise(line)
		case err != nil:
			return nil, nil, err
		case m["method"] != nil:
			s.answer(m)
		default:
			id, err := strconv.Atoi(string(m["id"]))
			if err != nil || id < 1 || id > s.id {
				s.note("a response with the unknown id %.40q was ignored", m["id"])
				continue
			}
			if id < s.id || !s.waiting {
				return nil, nil, fmt.Errorf("server answered request %d a second time", id)
			}
			s.waiting = false
			return bytes.Clone(line), m, nil
		}
	}
	if err := s.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, nil, fmt.Errorf("server wrote a line of more than %d bytes", s.limits.line)
	}
	return nil, nil, errEnded
}

// drain reads what a server still sends after its last answer.
func (s *session) drain() error {
	_, _, err := s.receive()
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// answer replies to a request of the server and ignores a notification.
func (s *session) answer(m map[string]json.RawMessage) {
	if absent(m["id"]) {
		return
	}
	reply := message{ID: m["id"], Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}}
	if text(m["method"]) == "ping" {
		reply = message{ID: m["id"], Result: struct{}{}}
	}
	// A server that no longer takes an answer shows in what it sends, or no longer sends.
	_ = s.send(reply)
}

func (s *session) noise(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if s.out.NoiseLines++; len(s.out.Noise) < 16 {
		s.out.Noise = append(s.out.Noise, string(line[:min(len(line), 256)]))
	}
}

func (s *session) note(format string, args ...any) {
	if len(s.out.Notes) < 16 {
		s.out.Notes = append(s.out.Notes, fmt.Sprintf(format, args...))
	}
}

// evidence returns the notes and the first line of noise as the continuation of an error message.
func (s *session) evidence() string {
	var b strings.Builder
	for _, n := range s.out.Notes {
		b.WriteString("; " + n)
	}
	if s.out.NoiseLines > 0 {
		fmt.Fprintf(&b, "; lines on stdout that are no JSON-RPC messages: %d, the first %q", s.out.NoiseLines, s.out.Noise[0])
	}
	return b.String()
}
