package mcptest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// Secret is what the behaviour "unauthorized" wants as a bearer token.
const Secret = "s3cr3t-of-the-weather-server"

// overHTTP are behaviours that only a server over HTTP can have.
func overHTTP() map[string]behaviour {
	all := map[string]behaviour{
		"echo":            web("the description of its tool is the headers that came with the request", func() http.Handler { return http.HandlerFunc(echo) }),
		"unauthorized":    web("plain for those who bring the bearer token, 401 for the others", unauthorized),
		"redirect-within": web("plain, but every request is sent on to another path first, with 307", func() http.Handler { return redirect(http.StatusTemporaryRedirect, "") }),
		"redirect-away":   web("every request is sent on to another name of this host, with 307; there it is plain", func() http.Handler { return redirect(http.StatusTemporaryRedirect, "localhost") }),
		"redirect-get":    web("every request is sent on to another path with 302", func() http.Handler { return redirect(http.StatusFound, "") }),
		"redirect-slash":  web("every request is sent on to its path with a slash and another scheme, with 307", func() http.Handler { return http.HandlerFunc(addSlash) }),
		"redirect-loop":   web("every request is sent on to where it came to, with 308", func() http.Handler { return http.RedirectHandler("/mcp", http.StatusPermanentRedirect) }),
		"gzip":            web("plain, compressed if the client takes that", func() http.Handler { return compress(HTTP("plain-json")) }),
		"gzip-stream":     web("plain, event streams compressed if the client takes that", func() http.Handler { return compress(HTTP("plain")) }),
		"web-page":        web("every answer is a page of HTML", func() http.Handler { return http.HandlerFunc(webPage) }),
		"session-lost":    web("the first session is lost with the first request for tools", func() http.Handler { return loseSession(1) }),
		"session-gone":    web("every session is lost with the first request for tools", func() http.Handler { return loseSession(1 << 30) }),
		"stream-open":     web("event streams stay open after the answer", func() http.Handler { return serveHTTP(listing(one), keepOpen) }),
		"stream-cut":      web("event streams end in the middle of the answer to tools/list", func() http.Handler { return serveHTTP(listing(one), forTools(cut)) }),
		"trickle":         web("the answer to tools/list comes a byte every 50 ms, for ever", func() http.Handler { return serveHTTP(listing(one), forTools(trickle)) }),
		"bomb":            web("the answer is 1 GB of comments, compressed", func() http.Handler { return compress(http.HandlerFunc(bomb)) }),
	}
	for name, newline := range map[string]string{"stream-cr": "\r", "stream-lf": "\n", "stream-crlf": "\r\n"} {
		all[name] = web(fmt.Sprintf("event streams with a priming event, comments, other types, several lines of data and %q at their ends", newline), func() http.Handler {
			return serveHTTP(listing(one), spelled(newline))
		})
	}
	for name, status := range map[string]int{"status-403": 403, "status-404": 404, "status-405": 405, "status-406": 406, "status-500": 500} {
		all[name] = web("every request is answered with this status", func() http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no \x1b[31mway", status) })
		})
	}
	return all
}

func web(about string, h func() http.Handler) behaviour { return behaviour{about: about, http: h} }

func one(r *request) string { return numbered(r, 1) }

func echo(w http.ResponseWriter, req *http.Request) {
	serveHTTP(listing(func(r *request) string {
		headers, err := json.Marshal(req.Header)
		if err != nil {
			panic(err)
		}
		text, err := json.Marshal(string(headers))
		if err != nil {
			panic(err)
		}
		return r.result(`{"tools":[{"name":"echo","description":` + string(text) + `,"inputSchema":{"type":"object"}}]}`)
	}), frame).ServeHTTP(w, req)
}

func unauthorized() http.Handler {
	plain := HTTP("plain")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+Secret {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://weather.acme.example/.well-known/oauth-protected-resource"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		plain.ServeHTTP(w, r)
	})
}

// redirect sends every request to another path, and to another host if one is named, on the same port.
func redirect(status int, host string) http.Handler {
	plain := HTTP("plain")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			plain.ServeHTTP(w, r)
			return
		}
		to := "/moved"
		if host != "" {
			_, port, err := net.SplitHostPort(r.Host)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			to = "http://" + net.JoinHostPort(host, port) + "/moved?code=of-the-server"
		}
		w.Header().Set("Location", to)
		w.WriteHeader(status)
	})
}

// addSlash redirects as a server does that wants a slash, and does not know that a proxy speaks TLS for it; here it is
// the other way round.
func addSlash(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Location", "https://"+r.Host+r.URL.Path+"/?token=of-the-server")
	w.WriteHeader(http.StatusTemporaryRedirect)
}

// compress writes what next answers as gzip, flushed as often as next does.
func compress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			next.ServeHTTP(w, r)
			return
		}
		z := &gzipWriter{ResponseWriter: w}
		defer z.Close()
		next.ServeHTTP(z, r)
	})
}

type gzipWriter struct {
	http.ResponseWriter
	gz *gzip.Writer
}

func (z *gzipWriter) Write(p []byte) (int, error) {
	if z.gz == nil {
		// No body, no encoding: an answer to a notification has neither.
		z.gz = gzip.NewWriter(z.ResponseWriter)
		z.Header().Set("Content-Encoding", "gzip")
	}
	return z.gz.Write(p)
}

func (z *gzipWriter) Flush() {
	if z.gz != nil {
		_ = z.gz.Flush()
	}
	_ = http.NewResponseController(z.ResponseWriter).Flush()
}

func (z *gzipWriter) Close() {
	if z.gz != nil {
		_ = z.gz.Close()
	}
}

func bomb(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	comment := []byte(":" + strings.Repeat("x", 1<<20-2) + "\n")
	for range 1 << 10 {
		if _, err := w.Write(comment); err != nil || r.Context().Err() != nil {
			return
		}
	}
}

func webPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!doctype html><title>Weather</title>")
}

// loseSession answers the first request for tools in each of so many sessions as if the server had been restarted.
func loseSession(times int) http.Handler {
	var mu sync.Mutex
	lost := make(map[string]bool)
	plain := HTTP("plain")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("Mcp-Session-Id")
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		if id != "" && bytes.Contains(body, []byte(`"tools/list"`)) && len(lost) < times {
			lost[id] = true
		}
		gone := lost[id]
		mu.Unlock()
		if gone {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		plain.ServeHTTP(w, r)
	})
}
