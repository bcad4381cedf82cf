// Package web makes HTTP requests to places that others name. A redirect leads no
// nearer than the first answer came from: who answers from the internet names no
// service of this machine or its network. No Referer is sent, and no error shows
// user, password, query or fragment of a URL.
package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

const (
	maxRedirects = 10
	maxHeader    = 256 << 10 // bytes of response headers
)

// A Request is what Do asks. It has no headers but those that are set here.
type Request struct {
	URL        string // http or https; user and password are sent to its origin as basic authentication
	Body       []byte // of a POST; nil for a GET
	Type       string // content type of Body
	SameOrigin bool   // a redirect to another origin is an error
}

// Do makes a request and follows up to 10 redirects, from https to https alone. The
// response has any status but a redirect; close its body. The answer's size is
// not bounded. An error says why there is none; a refused address is an
// *AddressError.
func Do(ctx context.Context, r Request) (*http.Response, error) {
	t := NewTransport()
	response, err := r.do(ctx, t)
	if err != nil {
		t.CloseIdleConnections()
		return nil, err
	}
	return response, nil
}

func (r Request) do(ctx context.Context, t http.RoundTripper) (*http.Response, error) {
	first, err := parse(r.URL)
	if err != nil {
		return nil, err
	}
	for target, n := first, 0; ; n++ {
		request, err := r.request(ctx, first, target)
		if err != nil {
			return nil, err
		}
		response, err := t.RoundTrip(request)
		if err != nil {
			return nil, cause(err)
		}
		location := response.Header.Get("Location")
		if response.StatusCode/100 != 3 || location == "" {
			return response, nil
		}
		response.Body.Close()
		next, err := target.Parse(location)
		if err != nil { // which would show the location
			return nil, errors.New("it redirects to something that is not a URL")
		}
		if err := r.mayFollow(first, target, next, response.StatusCode); err != nil {
			return nil, err
		}
		if n == maxRedirects {
			return nil, fmt.Errorf("it redirects more than %d times", maxRedirects)
		}
		next.User = nil
		target = next
	}
}

// parse reads the first URL. An error of package url would show it.
func parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the URL can't be read")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// request returns one request. The password goes to the origin it was given for.
func (r Request) request(ctx context.Context, first, target *url.URL) (*http.Request, error) {
	method := http.MethodGet
	if r.Body != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, errors.New("the URL can't be requested")
	}
	request.Header.Set("User-Agent", "mcpsign")
	if r.Type != "" {
		request.Header.Set("Content-Type", r.Type)
	}
	if password, ok := first.User.Password(); (ok || first.User.Username() != "") && sameOrigin(first, target) {
		request.SetBasicAuth(first.User.Username(), password)
	}
	request.URL.User = nil
	return request, nil
}

// mayFollow returns why a redirect is not followed.
func (r Request) mayFollow(first, from, to *url.URL, status int) error {
	switch {
	case to.Scheme != "http" && to.Scheme != "https" || to.Host == "":
		return errors.New("it redirects to something that is not an http or https URL")
	case from.Scheme == "https" && to.Scheme != "https":
		return fmt.Errorf("it redirects from https to http, to %s", origin(to))
	case r.SameOrigin && !sameOrigin(first, to):
		return fmt.Errorf("it redirects to another origin, %s", origin(to))
	case r.Body != nil && status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect:
		return fmt.Errorf("it redirects with HTTP status %d, which loses the request", status)
	}
	return nil
}

// cause returns an error without what would show a URL.
func cause(err error) error {
	if address := (*AddressError)(nil); errors.As(err, &address) {
		return address
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

func origin(u *url.URL) string { return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String() }

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}
