package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A Remote says where a server is reached over streamable HTTP. The zero Remote is an error.
type Remote struct {
	// URL is the endpoint, http or https. Its user and password are sent as basic authentication. A fragment is
	// ignored.
	URL string

	// Header is sent with every request to the origin of URL and to nobody else. The headers of the protocol, those
	// that describe the body or the connection, and Accept can't be set.
	Header http.Header

	// Transport makes the requests. Nil stands for a copy of [http.DefaultTransport] that reads at most 256 KiB of
	// response headers. Another one has to honour the context, and no limit but those of [ListRemote] is put on it.
	Transport http.RoundTripper
}

// ListRemote lists a server over streamable HTTP as the package comment says.
//
// At most 1,000 pages (2,000 if the session was lost), 16 MiB a message and 64 MiB of bodies in all, after
// decompression, are read. There is no time limit but ctx, whose end ends everything at once, save the session on the
// server.
//
// Errors are an [*HTTPError], a [*MethodError] or, for everything else, wrap what there is to wrap, the cause of ctx and
// errors of TLS included. Nothing of r is put into an error, a note or the listing but scheme, host and path of the URL.
// What a server sends back of it is another matter: a message that repeats a credential (a value of at least 8 bytes of
// a header or query parameter whose name says that it is one, or the password) is an error and is not shown, as it would
// end up in a lockfile; other values may be repeated, in a listing as in a message.
func ListRemote(ctx context.Context, r Remote) (*Listing, error) {
	return listRemote(ctx, r, standardLimits())
}

func listRemote(ctx context.Context, r Remote, lim limits) (*Listing, error) {
	h, err := newEndpoint(ctx, r, lim)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: server not asked: %w", h.shown(), context.Cause(ctx))
	}
	defer h.close()
	s := newSession(h, lim)
	err = s.list()
	if errors.Is(err, errSessionLost) {
		h.session = ""
		s = newSession(h, lim)
		s.note("the server lost the session and was listed from the start again")
		err = s.list()
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: no answer to %s: %w", h.shown(), s.method, context.Cause(ctx))
	case err == nil:
		return &s.out, nil
	case errors.Is(err, errEnded):
		err = fmt.Errorf("%s: the reply to %s ended without the answer%s", h.shown(), s.method, h.passed())
	case !errors.As(err, new(*HTTPError)):
		err = fmt.Errorf("%s: %w", h.shown(), err)
	}
	return nil, fmt.Errorf("%w%s", err, s.evidence())
}

// newEndpoint checks r.
func newEndpoint(ctx context.Context, r Remote, lim limits) (*endpoint, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		// The error shows what may be a part of the password.
		return nil, errors.New("the server's URL can't be parsed")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the scheme of the server's URL is %.20q, not http or https", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, errors.New("the server's URL has no host")
	}
	header := make(http.Header)
	for name, values := range r.Header {
		if reserved(name) {
			return nil, fmt.Errorf("the header %.60q can't be set", name)
		}
		header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	if user := u.User; user != nil && header.Get("Authorization") == "" {
		password, _ := user.Password()
		header.Set("Authorization", basic(user.Username(), password))
	}
	h := &endpoint{ctx: ctx, url: u, header: header, secrets: secretsOf(u, header), limits: lim, patience: lim.grace}
	h.budget = budget{lim.total, lim.total}
	u.User = nil
	if header.Get("User-Agent") == "" {
		// No version, so that no release of ours can make a server list something else.
		header.Set("User-Agent", "mcpsign")
	}
	h.client, h.idle = r.Transport, func() {}
	if h.client == nil {
		h.client, h.idle = defaultTransport()
	}
	return h, nil
}

// basic returns the value of an Authorization header (RFC 7617).
func basic(user, password string) string {
	r := &http.Request{Header: make(http.Header)}
	r.SetBasicAuth(user, password)
	return r.Header.Get("Authorization")
}

// reserved reports whether a header is the protocol's or the connection's.
func reserved(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "mcp-") || slices.Contains([]string{
		"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host",
		"keep-alive", "last-event-id", "te", "trailer", "transfer-encoding", "upgrade",
	}, name)
}

// defaultTransport returns a transport and what closes its connections.
func defaultTransport() (http.RoundTripper, func()) {
	// A program may have put something else there, to forbid the network for instance.
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport, func() {}
	}
	t = t.Clone()
	t.MaxResponseHeaderBytes = 256 << 10
	return t, t.CloseIdleConnections
}

// origin returns scheme, host and port of u.
func origin(u *url.URL) (scheme, host, port string) {
	port = u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme, strings.ToLower(u.Hostname()), port
}

func sameOrigin(a, b *url.URL) bool {
	as, ah, ap := origin(a)
	bs, bh, bp := origin(b)
	return as == bs && ah == bh && ap == bp
}
