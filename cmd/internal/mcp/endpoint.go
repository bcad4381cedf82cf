package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/cmd/internal/secret"
)

const (
	maxRedirects = 3
	maxExcerpt   = 1 << 10 // bytes kept of a body that is no message
	maxChallenge = 300     // bytes kept of WWW-Authenticate
)

var errSessionLost = errors.New("the server has lost the session")

// An endpoint is the wire to a server over streamable HTTP: each message that is sent is a request of its own, and each
// request of the protocol has the messages of one HTTP response to read.
type endpoint struct {
	ctx     context.Context // of the one listing it is made for
	client  http.RoundTripper
	idle    func()      // closes what client keeps open, if it is ours
	url     *url.URL    // without a user
	header  http.Header // of the caller
	secrets []credential
	limits  limits
	budget  budget

	brief time.Duration   // how long each request from now on may take; 0 means no bound
	reply context.Context // of the request under way

	session string // the session id; "" stands for none
	version string // of the last message

	method   string                 // of the last request
	messages func() ([]byte, error) // reads the reply to it; nil if that has no body
	stream   *events                // where that reads from, if it is an event stream
	end      func()                 // ends the reply
	settled  time.Time              // when the answer was read from a stream
	patience time.Duration          // how long streams may still go on after their answers
}

// send posts a message. After a request, next reads the reply.
func (h *endpoint) send(m message, version string) error {
	h.version = version
	if m.Method == "" && version == versionStateless {
		// That revision knows neither requests of a server nor answers to them.
		return nil
	}
	var body bytes.Buffer
	if err := newEncoder(&body).Encode(m); err != nil {
		return err
	}
	request := m.Method != "" && m.ID != nil
	if request {
		h.release()
		h.method = m.Method
	}
	ctx, cancel := context.WithCancel(h.ctx)
	if request {
		if h.brief > 0 {
			ctx, cancel = context.WithTimeoutCause(h.ctx, h.brief, errSilent)
		}
		h.reply = ctx
	}
	resp, err := h.do(ctx, http.MethodPost, m.Method, bytes.TrimSuffix(body.Bytes(), []byte("\n")))
	if err != nil {
		if context.Cause(ctx) == errSilent {
			err = errSilent
		}
		cancel()
		return err
	}
	end := func() { cancel(); resp.Body.Close() }
	if request {
		h.end = end
		return h.open(resp, m)
	}
	defer end()
	if resp.StatusCode/100 != 2 {
		return h.refused(resp, m)
	}
	return nil
}

// headers returns those of a request.
func (h *endpoint) headers(verb, method string) http.Header {
	header := h.header.Clone()
	if verb == http.MethodPost {
		header.Set("Content-Type", "application/json")
		header.Set("Accept", "application/json, text/event-stream")
	}
	if h.version != "" {
		header.Set("MCP-Protocol-Version", h.version)
	}
	if h.version == versionStateless {
		header.Set("Mcp-Method", method)
	} else if h.session != "" {
		header.Set("Mcp-Session-Id", h.session)
	}
	return header
}

// do makes a request and follows redirects that keep origin and method.
func (h *endpoint) do(ctx context.Context, verb, method string, body []byte) (*http.Response, error) {
	target := h.url
	for redirects := 0; ; redirects++ {
		req, err := http.NewRequestWithContext(ctx, verb, target.String(), bytes.NewReader(body))
		if err != nil {
			return nil, h.fail(method, 0, errors.New("the URL can't be requested"))
		}
		req.Header = h.headers(verb, method)
		resp, err := h.client.RoundTrip(req)
		if err != nil {
			if h.private(err.Error()) {
				err = errors.New("the request failed, and the reason repeats what was sent")
			}
			return nil, h.fail(method, 0, err)
		}
		location := resp.Header.Get("Location")
		if resp.StatusCode/100 != 3 || location == "" {
			return resp, nil
		}
		resp.Body.Close()
		if target, err = h.redirect(target, resp.StatusCode, location); err == nil && redirects == maxRedirects {
			err = fmt.Errorf("it redirects more than %d times", maxRedirects)
		}
		if err != nil {
			failed := h.fail(method, resp.StatusCode, err)
			failed.Retry = h.respelled(location)
			return nil, failed
		}
	}
}

// respelled returns the URL with another end if a redirect leads there but for scheme and port, else "". Nothing of the
// redirect is in it but the presence of a slash.
func (h *endpoint) respelled(location string) string {
	to, err := h.url.Parse(location)
	if err != nil || !strings.EqualFold(to.Hostname(), h.url.Hostname()) || to.Path == h.url.Path ||
		strings.TrimSuffix(to.Path, "/") != strings.TrimSuffix(h.url.Path, "/") {
		return ""
	}
	shown := h.shown()
	if trimmed, slash := strings.CutSuffix(shown, "/"); slash {
		return trimmed
	}
	return shown + "/"
}

// redirect returns where a redirect leads. The error names the target's origin and no more: the rest may be secret.
func (h *endpoint) redirect(from *url.URL, status int, location string) (*url.URL, error) {
	to, err := from.Parse(location)
	if err != nil {
		return nil, errors.New("it redirects to what is no URL")
	}
	to.User = nil
	shown := h.safe((&url.URL{Scheme: to.Scheme, Host: to.Host}).String())
	switch {
	case !sameOrigin(h.url, to):
		return nil, fmt.Errorf("it redirects to another origin, %.200s, to which nothing is sent", shown)
	case status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect:
		return nil, fmt.Errorf("it redirects within %.200s, but only status 307 and 308 keep the request as it is", shown)
	}
	return to, nil
}

// shown returns the URL as it may be shown.
func (h *endpoint) shown() string {
	text := (&url.URL{Scheme: h.url.Scheme, Host: h.url.Host, Path: h.url.Path, RawPath: h.url.RawPath}).String()
	return secret.Mask(text, secret.URL(text))
}

func (h *endpoint) fail(method string, status int, err error) *HTTPError {
	return &HTTPError{URL: h.shown(), Method: method, Status: status, Err: err}
}

// visible reports whether s is visible ASCII only, as a session id is.
func visible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' })
}

// next returns the next message of the reply to the request under way.
func (h *endpoint) next() ([]byte, error) {
	if h.messages == nil {
		return nil, errEnded
	}
	data, err := h.messages()
	switch {
	case err == nil:
		return data, repeated(h.secrets, data)
	case errors.As(err, new(*excessError)):
		return nil, err
	case err == io.EOF || !h.settled.IsZero():
		return nil, errEnded
	case context.Cause(h.reply) == errSilent:
		return nil, errSilent
	}
	return nil, h.fail(h.method, http.StatusOK, fmt.Errorf("the reply broke off: %w", err))
}

func (h *endpoint) within(d time.Duration) { h.brief = d }

// shared reports false: each request has a reply of its own.
func (h *endpoint) shared() bool { return false }

// close ends the session on the server, if there is one and time is left.
func (h *endpoint) close() {
	h.release()
	if h.session != "" && h.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(h.ctx, h.limits.grace)
		defer cancel()
		if resp, err := h.do(ctx, http.MethodDelete, "", nil); err == nil {
			resp.Body.Close()
		}
	}
	h.idle()
}
