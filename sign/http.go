package sign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	// maxResponse bounds what is read of an answer. Log entries, certificates
	// and timestamps have a few kilobytes.
	maxResponse = 4 << 20

	attemptTimeout = 30 * time.Second
	maxBackoff     = 30 * time.Second
)

// A ServiceError says that a service did not do its part: it could not be
// reached, kept failing after all attempts, refused, or gave an answer that is
// of no use. A statement that failed with it may be signed again later.
type ServiceError struct {
	Service string // "oidc", "fulcio", "tsa" or "rekor"
	URL     string // of the service; empty for oidc
	Err     error
}

func (e *ServiceError) Error() string {
	if e.URL == "" {
		return fmt.Sprintf("%s: %v", e.Service, e.Err)
	}
	return fmt.Sprintf("%s at %s: %v", e.Service, e.URL, e.Err)
}

func (e *ServiceError) Unwrap() error { return e.Err }

// serviceError blames the service for err, unless the caller had canceled.
func serviceError(ctx context.Context, service, url string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%s: %w", service, ctx.Err())
	}
	return &ServiceError{service, url, err}
}

// A caller makes requests, again if need be.
type caller struct {
	client   *http.Client
	attempts int
	backoff  time.Duration
}

func newCaller(s Services) caller {
	c := caller{attempts: s.Attempts, backoff: s.Backoff}
	if s.Client != nil {
		client := *s.Client
		// Where a service redirects to, the identity token must not go.
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		c.client = &client
	}
	if c.attempts <= 0 {
		c.attempts = 3
	}
	if c.backoff <= 0 {
		c.backoff = time.Second
	}
	return c
}

// An answer is a response that has been read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// err describes an answer that is not the one wanted.
func (a *answer) err() error {
	const shown = 200
	text := bytes.TrimSpace(a.body)
	if len(text) > shown {
		text = text[:shown]
	}
	return fmt.Errorf("answered %d %s: %q", a.status, http.StatusText(a.status), text)
}

// do makes a request until it has an answer that another attempt would not
// improve.
func (c caller) do(ctx context.Context, method, target string, header http.Header, body []byte) (*answer, error) {
	pause := c.backoff
	for attempt := 1; ; attempt++ {
		a, err := c.once(ctx, method, target, header, body)
		if err == nil && a.status >= 300 && a.status < 400 {
			// sigstore-go's client, which calls by transport, would follow it.
			return nil, a.err()
		}
		if err == nil && a.status != http.StatusTooManyRequests && a.status < 500 {
			return a, nil
		}
		if err == nil {
			err = a.err()
		}
		if attempt >= c.attempts {
			return nil, fmt.Errorf("after %d attempts: %w", attempt, err)
		}
		if end := wait(ctx, pause); end != nil {
			return nil, fmt.Errorf("%w (%v)", end, err)
		}
		pause = min(2*pause, maxBackoff)
	}
}

// wait returns nil after d, or earlier the error of ctx.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	return ctx.Err()
}

func (c caller) once(ctx context.Context, method, target string, header http.Header, body []byte) (*answer, error) {
	if c.client.Timeout <= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", "mcpsign")
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, cause(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxResponse {
		return nil, fmt.Errorf("answer of more than %d bytes", maxResponse)
	}
	return &answer{resp.StatusCode, resp.Header, data}, nil
}

// cause strips the method and the URL that http.Client puts before an error:
// a ServiceError names the service.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// transport is a caller for clients that want a RoundTripper. sigstore-go's
// client for Fulcio does not pass its context to the requests it makes, hence
// the one kept here.
type transport struct {
	ctx context.Context
	caller
}

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	a, err := t.do(t.ctx, req.Method, req.URL.String(), req.Header, body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode:    a.status,
		Status:        fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.header,
		Body:          io.NopCloser(bytes.NewReader(a.body)),
		ContentLength: int64(len(a.body)),
		Request:       req,
	}, nil
}
