package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxRequests is how many requests of the server are answered: over HTTP each answer costs a request of ours.
const maxRequests = 100

const noteStrings = "the server returns the ids of requests as strings"

// A session is one conversation with a server. It has at most one request under way.
type session struct {
	wire   wire
	limits limits
	out    Listing

	method   string // of the last request
	id       int    // of the last request; they count from 1
	waiting  bool   // the last request is unanswered
	requests int    // of the server

	late   map[int]bool   // requests whose answers are no longer waited for
	loose  int            // notifications and answers that were sent: a server may answer each with an error, without an id
	orphan *jsonrpc.Error // came without an id, and may be about the request under way
	brief  time.Duration  // how long a request may go without an answer; 0 means no bound

	ready        bool           // the handshake is done
	began        string         // the method that did it
	version      string         // of the protocol, as far as it is known
	meta         map[string]any // sent with every request of the stateless revision, else nil
	capabilities map[string]json.RawMessage
	fetched      int             // pages asked for
	changed      map[string]bool // notifications that came since the list they are about was asked for
}

func newSession(w wire, lim limits) *session {
	return &session{wire: w, limits: lim, changed: make(map[string]bool), late: make(map[int]bool)}
}

// A reply is a response that is no error.
type reply struct {
	message []byte          // as received
	result  json.RawMessage // as spelled
	members map[string]json.RawMessage
}

// call sends a request and returns its response.
func (s *session) call(method string, params map[string]any) (*reply, error) {
	if s.meta != nil {
		if params == nil {
			params = make(map[string]any)
		}
		params["_meta"] = s.meta
	}
	s.id++
	s.method, s.waiting, s.orphan = method, true, nil
	s.wire.within(s.brief)
	if err := s.send(message{ID: s.id, Method: method, Params: params}); err != nil {
		return nil, err
	}
	line, response, err := s.receive()
	if err == nil && s.wire.answered() {
		err = s.drain()
	}
	if errors.Is(err, errSilent) && s.orphan != nil {
		err = &MethodError{Method: method, Code: s.orphan.Code, Message: s.orphan.Message}
	}
	if err != nil {
		return nil, err
	}
	if raw := response["error"]; !absent(raw) {
		e := readError(raw)
		return nil, &MethodError{Method: method, Code: e.Code, Message: e.Message}
	}
	result, err := object(response["result"])
	if err != nil {
		return nil, invalid("result of %s: %v", method, err)
	}
	// Other types of a result ask the client for something before they list anything.
	if t := result["resultType"]; s.meta != nil && !absent(t) && text(t) != "complete" {
		return nil, invalid("result of %s: its type is %.40q, not complete", method, t)
	}
	return &reply{line, response["result"], result}, nil
}

// readError reads a JSON-RPC error object; what is none is its message.
func readError(raw json.RawMessage) jsonrpc.Error {
	var e jsonrpc.Error
	if err := json.Unmarshal(raw, &e); err != nil {
		return jsonrpc.Error{Message: string(raw)}
	}
	return e
}

func (s *session) send(m message) error {
	m.Version = "2.0"
	if (m.ID == nil || m.Method == "") && s.wire.shared() {
		s.loose++
	}
	return s.wire.send(m, s.version)
}

// receive reads up to the response to the request under way and returns it and its members. It answers requests and
// passes over all else that may come. The error is [errEnded] if there is nothing more to read.
func (s *session) receive() ([]byte, map[string]json.RawMessage, error) {
	for {
		line, err := s.wire.next()
		if err != nil {
			return nil, nil, err
		}
		m, err := parse(line)
		switch {
		case err == errNoise:
			s.noise(line)
		case err != nil:
			return nil, nil, err
		case m["method"] != nil:
			if err := s.answer(m); err != nil {
				return nil, nil, err
			}
		default:
			ours, err := s.ours(m)
			if err != nil {
				return nil, nil, err
			}
			if ours {
				s.waiting = false
				return bytes.Clone(line), m, nil
			}
		}
	}
}

// ours reports whether a response is the one to the request under way. One to a request that was answered before is an
// error, and one to none of ours is noted.
func (s *session) ours(m map[string]json.RawMessage) (bool, error) {
	id, known := number(m["id"])
	if known && m["id"][0] == '"' && !slices.Contains(s.out.Notes, noteStrings) {
		s.note(noteStrings)
	}
	switch {
	case known && id == s.id && s.waiting:
		return true, nil
	case known && s.late[id]:
		delete(s.late, id)
		s.note("the answer to request %d came too late and was ignored", id)
		return false, nil
	case known && id >= 1 && id <= s.id:
		return false, fmt.Errorf("server answered request %d a second time", id)
	case absent(m["id"]) && s.waiting && s.loose == 0:
		if absent(m["error"]) {
			return false, invalid("server answered %s without the id of the request", s.method)
		}
		return true, nil
	}
	if absent(m["error"]) {
		s.note("a response with the unknown id %.40q was ignored", m["id"])
		return false, nil
	}
	e := readError(m["error"])
	s.note("a response with the unknown id %.40q was ignored: error %d, %.100q", m["id"], e.Code, e.Message)
	if absent(m["id"]) && s.waiting {
		s.loose--
		s.orphan = &e
		if s.brief == 0 {
			s.wire.within(s.limits.orphan)
		}
	}
	return false, nil
}

// number returns the id of a response. Some servers return the number they got as a string.
func number(id json.RawMessage) (n int, known bool) {
	digits := string(id)
	if len(id) > 0 && id[0] == '"' {
		digits = text(id)
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && strconv.Itoa(n) == digits
}

// giveUp has the answer to the request under way ignored, should it still come.
func (s *session) giveUp() {
	if s.waiting {
		s.waiting, s.late[s.id] = false, true
	}
}

// drain reads what a server still sends after an answer.
func (s *session) drain() error {
	_, _, err := s.receive()
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// answer replies to a request of the server and keeps in mind which notifications came.
func (s *session) answer(m map[string]json.RawMessage) error {
	if absent(m["id"]) {
		if method := text(m["method"]); slices.ContainsFunc(parts(), func(p part) bool { return p.changed == method }) {
			s.changed[method] = true
		}
		return nil
	}
	if s.requests++; s.requests > maxRequests {
		return fmt.Errorf("server sent more than %d requests", maxRequests)
	}
	reply := message{ID: m["id"], Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}}
	if text(m["method"]) == "ping" {
		reply = message{ID: m["id"], Result: struct{}{}}
	}
	// A server that no longer takes an answer shows in what it sends, or no longer sends.
	_ = s.send(reply)
	return nil
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
		fmt.Fprintf(&b, "; %d times it sent what is no JSON-RPC message, the first %q", s.out.NoiseLines, s.out.Noise[0])
	}
	return b.String()
}
