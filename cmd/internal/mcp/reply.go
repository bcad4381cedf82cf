package mcp

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// open makes the response to a request what next reads.
func (h *endpoint) open(resp *http.Response, m message) error {
	if resp.StatusCode/100 != 2 {
		return h.refused(resp, m)
	}
	if m.Method == "initialize" {
		if h.session = resp.Header.Get("Mcp-Session-Id"); !visible(h.session) {
			h.session = ""
			return h.fail(m.Method, resp.StatusCode, errors.New("its session id is not all visible ASCII"))
		}
	}
	for _, encoding := range resp.Header.Values("Content-Encoding") {
		// Both mean that the body is as it is. Servers say none, although it is not registered.
		if e := strings.TrimSpace(encoding); e != "" && !strings.EqualFold(e, "identity") && !strings.EqualFold(e, "none") {
			return h.fail(m.Method, resp.StatusCode, fmt.Errorf("its content encoding %.40q was not asked for", h.safe(encoding)))
		}
	}
	body := h.budget.reader(resp.Body)
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case kind == "text/event-stream":
		h.stream = newEvents(body, h.limits.line)
		h.messages = h.stream.next
	case kind == "application/json":
		h.messages = func() ([]byte, error) {
			h.messages = nil
			return readAll(body, h.limits.line)
		}
	case resp.StatusCode == http.StatusOK:
		err := h.fail(m.Method, resp.StatusCode, fmt.Errorf("its content type is %.60q, not application/json or text/event-stream", h.safe(resp.Header.Get("Content-Type"))))
		err.Body = h.excerpt(resp)
		return err
	}
	return nil
}

// readAll reads one message of at most limit bytes.
func readAll(r io.Reader, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(data) > limit {
		err = &excessError{"a message", limit}
	}
	return data, err
}

// refused returns what an error status means: nothing is wrong with the wire if the body is the JSON-RPC error that
// answers m, which next then returns.
func (h *endpoint) refused(resp *http.Response, m message) error {
	lost := h.session != "" && h.version != versionStateless && resp.StatusCode == http.StatusNotFound
	err := h.fail(m.Method, resp.StatusCode, nil)
	denied := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
	if denied {
		challenge := h.safe(strings.Join(resp.Header.Values("WWW-Authenticate"), ", "))
		err.Challenge = challenge[:min(len(challenge), maxChallenge)]
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "application/json" {
		data, rerr := readAll(h.budget.reader(resp.Body), h.limits.line)
		if code, ok := errorCode(data, m.ID); rerr == nil && ok && !denied && (!lost || code == jsonrpc.CodeMethodNotFound) {
			h.messages = func() ([]byte, error) {
				h.messages = nil
				return data, nil
			}
			return nil
		}
		err.Body = h.cut(data)
	} else {
		err.Body = h.excerpt(resp)
	}
	if lost {
		err.Err = errSessionLost
	}
	return err
}

// errorCode returns the code of the JSON-RPC error that answers the request id, if data is one.
func errorCode(data []byte, id any) (int64, bool) {
	m, err := parse(data)
	n, ok := id.(int)
	if got, known := number(m["id"]); err != nil || !ok || absent(m["error"]) || !known || got != n {
		return 0, false
	}
	return readError(m["error"]).Code, true
}

// excerpt reads the begin of a body that is no message. Whatever hangs there is not worth the wait.
func (h *endpoint) excerpt(resp *http.Response) string {
	defer time.AfterFunc(h.limits.grace, func() { resp.Body.Close() }).Stop()
	data, _ := io.ReadAll(io.LimitReader(h.budget.reader(resp.Body), 4*maxExcerpt))
	return h.cut(data)
}

// cut returns the begin of a body for an error, or "" if it repeats what was sent.
func (h *endpoint) cut(data []byte) string {
	// Not only the part that is kept: a credential could be cut in two.
	if h.private(string(data)) {
		return ""
	}
	return string(data[:min(len(data), maxExcerpt)])
}

// safe returns a text that is to be cut, unless it repeats what was sent.
func (h *endpoint) safe(text string) string {
	if h.private(text) {
		return "(what was sent)"
	}
	return text
}

// private reports whether a text holds a credential, the query of the URL or a header of the caller.
func (h *endpoint) private(text string) bool {
	query := h.url.RawQuery
	if repeated(h.secrets, []byte(text)) != nil || len(query) >= minSecret && strings.Contains(text, query) {
		return true
	}
	for _, values := range h.header {
		for _, v := range values {
			if len(v) >= minSecret && strings.Contains(text, v) {
				return true
			}
		}
	}
	return false
}

// answered lets a stream go on as long as there is patience left.
func (h *endpoint) answered() bool {
	if h.stream != nil {
		h.settled = time.Now()
		end := h.end
		timer := time.AfterFunc(h.patience, end)
		h.end = func() { timer.Stop(); end() }
	}
	return true
}

// release ends the reply.
func (h *endpoint) release() {
	if h.end != nil {
		h.end()
	}
	if !h.settled.IsZero() {
		h.patience = max(0, h.patience-time.Since(h.settled))
	}
	h.messages, h.stream, h.end, h.settled = nil, nil, nil, time.Time{}
}

// passed says, as the continuation of an error message, what was passed over in a stream.
func (h *endpoint) passed() string {
	switch {
	case h.stream == nil:
	case h.stream.others > 0:
		return fmt.Sprintf("; it held events of other types than message: %d", h.stream.others)
	case h.stream.ids:
		return "; its events have ids, but a stream that broke off is not resumed"
	}
	return ""
}
