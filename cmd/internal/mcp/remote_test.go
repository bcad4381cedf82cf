package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/mcptest"
)

// recorder keeps what reached a server: method, path, the headers that matter here, and the body.
type recorder struct {
	next http.Handler

	mu   sync.Mutex
	seen []string
	all  []http.Header
}

func (c *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	line := r.Method + " " + r.URL.Path
	for _, name := range []string{"Accept", "Content-Type", "Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name"} {
		if v := r.Header.Get(name); v != "" {
			line += " " + name + "=" + v
		}
	}
	c.mu.Lock()
	c.seen = append(c.seen, line+" "+string(body))
	c.all = append(c.all, r.Header.Clone())
	c.mu.Unlock()
	c.next.ServeHTTP(w, r)
}

// record starts a server that keeps what reached it.
func record(t *testing.T, next http.Handler) (*recorder, string) {
	t.Helper()
	c := &recorder{next: next}
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	return c, srv.URL + "/mcp"
}

// scripted answers every POST with what answer writes, and notifications and answers of the client with 202.
func scripted(answer func(w http.ResponseWriter, method string, id string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var id int
		var method string
		if n, _ := fmt.Sscanf(string(body), `{"jsonrpc":"2.0","id":%d,"method":%q`, &id, &method); n < 2 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer(w, method, fmt.Sprint(id))
	})
}

// replied answers tools/list with a reply of its own, ID standing for the id of the request.
func replied(status int, contentType, body string) http.Handler {
	return scripted(func(w http.ResponseWriter, method, id string) {
		switch method {
		case "initialize":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, initialized)
		case "tools/list":
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			io.WriteString(w, strings.ReplaceAll(body, "ID", id))
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
		}
	})
}

// TestTranscriptHTTP fixes everything that is sent to a server with a session.
func TestTranscriptHTTP(t *testing.T) {
	const session = "0123456789abcdef"
	c, url := record(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			http.Error(w, "not allowed", http.StatusMethodNotAllowed)
			return
		}
		if r.Header.Get("Mcp-Session-Id") == "" {
			w.Header().Set("Mcp-Session-Id", session)
		}
		replied(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`).ServeHTTP(w, r)
	}))
	if _, err := ListRemote(t.Context(), Remote{URL: url}); err != nil {
		t.Fatal(err)
	}
	const post = "POST /mcp Accept=application/json, text/event-stream Content-Type=application/json "
	const agreed = post + "Mcp-Protocol-Version=2025-11-25 Mcp-Session-Id=" + session + " "
	want := []string{
		post + `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"mcpsign","version":"1"},"protocolVersion":"2025-11-25"}}`,
		agreed + `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		agreed + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		agreed + `{"jsonrpc":"2.0","id":3,"method":"prompts/list"}`,
		agreed + `{"jsonrpc":"2.0","id":4,"method":"resources/templates/list"}`,
		"DELETE /mcp Mcp-Protocol-Version=2025-11-25 Mcp-Session-Id=" + session + " ",
	}
	if !slices.Equal(c.seen, want) {
		t.Errorf("sent\n%s\nwant\n%s", strings.Join(c.seen, "\n"), strings.Join(want, "\n"))
	}
	if got := c.all[0].Get("User-Agent"); got != "mcpsign" {
		t.Errorf("user agent %q", got)
	}
}

// TestTranscriptStateless fixes the headers of revision 2026-07-28.
func TestTranscriptStateless(t *testing.T) {
	c, url := record(t, mcptest.HTTP("modern"))
	if _, err := ListRemote(t.Context(), Remote{URL: url}); err != nil {
		t.Fatal(err)
	}
	const meta = `"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"mcpsign","version":"1"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	methods := []string{"server/discover", "tools/list", "prompts/list", "resources/templates/list"}
	if len(c.seen) != 1+len(methods) {
		t.Fatalf("sent %q", c.seen)
	}
	for i, method := range methods {
		want := fmt.Sprintf(`POST /mcp Accept=application/json, text/event-stream Content-Type=application/json Mcp-Protocol-Version=2026-07-28 Mcp-Method=%s {"jsonrpc":"2.0","id":%d,"method":"%[1]s","params":{%[3]s}}`, method, i+2, meta)
		if c.seen[i+1] != want {
			t.Errorf("sent\n%s\nwant\n%s", c.seen[i+1], want)
		}
	}
}

// TestStatelessOnly has initialize refused in the ways of servers that speak revision 2026-07-28 only.
func TestStatelessOnly(t *testing.T) {
	for name, refuse := range map[string]func(w http.ResponseWriter, id string){
		"header mismatch": func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"Header mismatch"}}`, id)
		},
		"unknown method": func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(404)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, id)
		},
		"no id": func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"Unsupported protocol version"}}`)
		},
		"no JSON": func(w http.ResponseWriter, _ string) { http.Error(w, "bad request", 400) },
	} {
		t.Run(name, func(t *testing.T) {
			_, url := record(t, scripted(func(w http.ResponseWriter, method, id string) {
				switch method {
				case "initialize":
					refuse(w, id)
				case "server/discover":
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, discovered)
				default:
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(404)
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, id)
				}
			}))
			l, err := ListRemote(t.Context(), Remote{URL: url})
			if err != nil || l.ProtocolVersion != "2026-07-28" || len(l.Responses) != 1 {
				t.Errorf("got %v, %v", l, err)
			}
		})
	}
}

func TestRemoteListed(t *testing.T) {
	for _, name := range []string{"redirect-within", "gzip", "gzip-stream"} {
		l, err := servedHTTP(t.Context(), t, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := names(t, l); !slices.Equal(got, plainNames) {
			t.Errorf("%s: listed %q", name, got)
		}
	}
	for _, name := range []string{"stream-lf", "stream-cr", "stream-crlf", "stream-open"} {
		start := time.Now()
		l, err := servedHTTP(t.Context(), t, name)
		if err != nil || !slices.Equal(names(t, l), []string{"a"}) || l.NoiseLines != 0 {
			t.Errorf("%s: %v, %v", name, l, err)
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s: took %s: streams may stay open for 2 s in all", name, d)
		}
	}
}

// TestVerbatimHTTP has the body, and the data of an event, in the listing as they came.
func TestVerbatimHTTP(t *testing.T) {
	const body = "\r\n {\"id\" : ID ,\r\n\"result\":{ \"tools\":[{\"name\":\"\\u0061\\/\",\"d\":\"<b>&\u2028\xff\",\"n\":1.0e+2,\"a\":1,\"a\":2 } ]},\"jsonrpc\":\"2.0\"}\n\n"
	_, url := record(t, replied(200, "application/json; charset=utf-8", body))
	l, err := ListRemote(t.Context(), Remote{URL: url})
	if want := strings.ReplaceAll(body, "ID", "2"); err != nil || len(l.Responses) != 2 || string(l.Responses[1]) != want {
		t.Errorf("got %v, %v, want %q", l, err, want)
	}

	const data = " \t{\"id\" : ID ,\"result\":{\"tools\":[ ]},\n\"jsonrpc\":\"2.0\"}  \n"
	_, url = record(t, replied(200, "Text/Event-Stream", "data: "+strings.ReplaceAll(data, "\n", "\ndata: ")+"\n\n"))
	l, err = ListRemote(t.Context(), Remote{URL: url})
	if want := strings.ReplaceAll(data, "ID", "2"); err != nil || len(l.Responses) != 2 || string(l.Responses[1]) != want {
		t.Errorf("got %v, %v, want %q", l, err, want)
	}
}

func TestRemoteRefused(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`
	const stream = "text/event-stream"
	tests := []struct {
		name   string
		server http.Handler
		status int // of an HTTPError; -1 if it is to be none
		want   string
	}{
		{"401", mcptest.HTTP("unauthorized"), 401, `/mcp answered initialize with HTTP status 401 Unauthorized: credentials are needed, or those sent are not accepted; it asks for "Bearer resource_metadata=\"https://weather.acme.example/.well-known/oauth-protected-resource\""; the body begins with "who are you?\n"`},
		{"403", mcptest.HTTP("status-403"), 403, `403 Forbidden: the credentials sent, if any, do not allow this; the body begins with "no \x1b[31mway\n"`},
		{"404", mcptest.HTTP("status-404"), 404, "404 Not Found: there is no MCP endpoint at this path"},
		{"405", mcptest.HTTP("status-405"), 405, "405 Method Not Allowed: this is no streamable HTTP endpoint; the older HTTP+SSE transport is not supported"},
		{"406", mcptest.HTTP("status-406"), 406, "406 Not Acceptable: this does not seem to be a streamable HTTP endpoint"},
		{"401 as JSON-RPC", scripted(func(w http.ResponseWriter, _, id string) {
			w.Header().Set("WWW-Authenticate", "Bearer realm=\"\u202e\""+strings.Repeat("x", 1000))
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"who?"}}`, id)
		}), 401, `it asks for "Bearer realm=\"\u202e\"` + strings.Repeat("x", 282) + `"; the body begins with "{\"jsonrpc`},
		{"500", mcptest.HTTP("status-500"), 500, "500 Internal Server Error; the body begins with"},
		{"web page", mcptest.HTTP("web-page"), 200, `its content type is "text/html; charset=utf-8", not application/json or text/event-stream; the body begins with "<!doctype`},
		{"redirect to get", mcptest.HTTP("redirect-get"), 302, "it redirects within http://127.0.0.1:"},
		{"redirect loop", mcptest.HTTP("redirect-loop"), 308, "it redirects more than 3 times"},
		{"redirect to a script", http.RedirectHandler("javascript:alert(1)", http.StatusTemporaryRedirect), 307, "it redirects to another origin, javascript:, to which nothing is sent"},
		{"session gone", mcptest.HTTP("session-gone"), 404, "the server has lost the session"},
		{"stream cut", mcptest.HTTP("stream-cut"), -1, "the reply to tools/list ended without the answer; its events have ids, but a stream that broke off is not resumed"},
		{"bomb", mcptest.HTTP("bomb"), -1, "server wrote more than 67108864 bytes"},
		{"no content", replied(202, "", ""), -1, "the reply to tools/list ended without the answer"},
		{"empty body", replied(200, "application/json", ""), -1, "the reply to tools/list ended without the answer"},
		{"other events only", replied(200, stream, "event: answer\ndata: "+answer+"\n\n"), -1, "ended without the answer; it held events of other types than message: 1"},
		{"unfinished event", replied(200, stream, "data: "+answer+"\n"), -1, "ended without the answer"},
		{"noise only", replied(200, "application/json", `{"detail":"\u001b[31mlater"}`), -1, `1 times it sent what is no JSON-RPC message, the first "{\"detail\":\"\\u001b[31mlater\"}"`},
		{"answer to nobody", replied(200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"who\u001b?"}}`), -1, `tools/list was answered with error -32001: "who\x1b?"`},
		{"result for nobody", replied(200, stream, "data: "+`{"jsonrpc":"2.0","result":{}}`+"\n\n"), -1, "server answered tools/list without the id of the request"},
		{"batch", replied(200, "application/json", "["+answer+"]"), -1, "broken message: not a JSON object"},
		{"two answers", replied(200, stream, "data: "+answer+"\n\ndata: "+answer+"\n\n"), -1, "server answered request 2 a second time"},
		{"an old answer", replied(200, stream, `data: {"jsonrpc":"2.0","id":1,"result":{}}`+"\n\n"), -1, "server answered request 1 a second time"},
		{"result repeats", replied(200, stream, `data: {"result":{"tools":[{}]},"jsonrpc":"2.0",`+"\n"+`data: "id":ID,"r\u0065sult":{"tools":[]}}`+"\n\n"), -1, `member "result" repeats`},
		{"byte order mark", replied(200, "application/json", "\ufeff"+answer), -1, "broken message: not a JSON object"},
		{"error with a status", replied(500, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"broken"}}`), -1, `tools/list was answered with error -32603: "broken"`},
		{"result with a status", replied(500, "application/json", answer), 500, "answered tools/list with HTTP status 500"},
		{"error of another request", replied(500, "application/json", `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":""}}`), 500, "answered tools/list with HTTP status 500"},
		{"encoding", scripted(func(w http.ResponseWriter, _, _ string) {
			w.Header().Set("Content-Encoding", "br")
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, answer)
		}), 200, `its content encoding "br" was not asked for`},
		{"session id", scripted(func(w http.ResponseWriter, _, _ string) {
			w.Header().Set("Mcp-Session-Id", "a b")
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, answer)
		}), 200, "its session id is not all visible ASCII"},
		{"many requests", replied(200, stream, strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"}\n\n", 101)), -1, "server sent more than 100 requests"},
		{"notification refused", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength < 60 {
				http.Error(w, "no", http.StatusInternalServerError)
				return
			}
			replied(200, "application/json", answer).ServeHTTP(w, r)
		}), 500, "answered notifications/initialized with HTTP status 500"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, url := record(t, test.server)
			l, err := ListRemote(t.Context(), Remote{URL: url})
			if l != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("listing %v, error %v, want %s", l, err, test.want)
			}
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
				t.Errorf("control character in %q", err)
			}
			if !strings.Contains(err.Error(), "://127.0.0.1:") && test.status != -1 {
				t.Errorf("%v does not name the server", err)
			}
			e := &HTTPError{Status: -1}
			if errors.As(err, &e); e.Status != test.status {
				t.Errorf("status %d of %v, want %d", e.Status, err, test.status)
			}
		})
	}
}

// TestRetry has the URL that a redirect asks for said where it differs by a slash alone.
func TestRetry(t *testing.T) {
	for _, test := range []struct{ path, location, want string }{
		{"/mcp", "https://HOST/mcp/", "/mcp/"},
		{"/mcp/", "https://HOST/mcp?x=secret", "/mcp"},
		{"/a%2Fb", "https://HOST/a%2Fb/", "/a%2Fb/"},
		{"/mcp", "https://HOST/mcp", ""},
		{"/mcp", "https://HOST/sse", ""},
		{"/mcp", "https://other.example/mcp/", ""},
		{"/mcp", "https://[/", ""},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", strings.ReplaceAll(test.location, "HOST", r.Host))
			w.WriteHeader(http.StatusTemporaryRedirect)
		}))
		_, err := ListRemote(t.Context(), Remote{URL: srv.URL + test.path})
		srv.Close()
		want := test.want
		if want != "" {
			want = srv.URL + want
		}
		if e := (*HTTPError)(nil); !errors.As(err, &e) || e.Retry != want || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s to %s: %v, retry %+v", test.path, test.location, err, e)
		}
	}
}

func TestSessionLostOnce(t *testing.T) {
	c, url := record(t, mcptest.HTTP("session-lost"))
	l, err := ListRemote(t.Context(), Remote{URL: url})
	if err != nil || !slices.Equal(names(t, l), plainNames) {
		t.Fatalf("got %v, %v", l, err)
	}
	if !slices.Equal(l.Notes, []string{"the server lost the session and was listed from the start again"}) {
		t.Errorf("notes %q", l.Notes)
	}
	if n := strings.Count(strings.Join(c.seen, "\n"), `"initialize"`); n != 2 {
		t.Errorf("%d sessions were begun, want 2", n)
	}
}

// TestStatusInSession tells a method that is unknown from a session that is: both have status 404.
func TestStatusInSession(t *testing.T) {
	for _, test := range []struct {
		code, id string
		sessions int // begun
		want     string
	}{
		{"-32601", "ID", 1, ""},
		{"-32001", "ID", 2, "the server has lost the session"},
		{"-32601", "null", 2, "the server has lost the session"},
	} {
		answer := replied(404, "application/json", `{"jsonrpc":"2.0","id":`+test.id+`,"error":{"code":`+test.code+`,"message":"not found"}}`)
		c, url := record(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Session-Id") == "" {
				w.Header().Set("Mcp-Session-Id", "0123456789abcdef")
			}
			answer.ServeHTTP(w, r)
		}))
		l, err := ListRemote(t.Context(), Remote{URL: url})
		switch {
		case test.want == "" && (err != nil || len(l.Responses) != 1):
			t.Errorf("%s for %s: got %v, %v", test.code, test.id, l, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s for %s: %v, want %s", test.code, test.id, err, test.want)
		}
		if n := strings.Count(strings.Join(c.seen, "\n"), `"initialize"`); n != test.sessions {
			t.Errorf("%s for %s: %d sessions were begun, want %d", test.code, test.id, n, test.sessions)
		}
	}
}

// TestServerRequestsHTTP answers requests of the server by a POST each, under the session's id.
func TestServerRequestsHTTP(t *testing.T) {
	c, url := record(t, mcptest.HTTP("asks-first"))
	if _, err := ListRemote(t.Context(), Remote{URL: url}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`{"jsonrpc":"2.0","id":"q0","result":{}}`,
		`{"jsonrpc":"2.0","id":"q1","error":{"code":-32601,"message":"method not found"}}`,
		`{"jsonrpc":"2.0","id":"q2","error":{"code":-32601,"message":"method not found"}}`,
	} {
		if got := c.seen[i+1]; !strings.HasPrefix(got, "POST ") || !strings.HasSuffix(got, " "+want) {
			t.Errorf("answered %s, want %s", got, want)
		}
	}
}

func TestRemoteLimits(t *testing.T) {
	lim := limits{pages: 10, line: 1000, total: 10_000, grace: time.Second}
	pad := func(n int) string {
		bare := `{"jsonrpc":"2.0","id":2,"result":{"tools":[""]}}`
		return strings.Replace(bare, `""`, `"`+strings.Repeat("x", n-len(bare))+`"`, 1)
	}
	for _, test := range []struct{ name, contentType, body, want string }{
		{"body", "application/json", pad(1000), ""},
		{"event", "text/event-stream", "data: " + pad(1000) + "\n\n", ""},
		{"long body", "application/json", pad(1001), "server wrote a message of more than 1000 bytes"},
		{"long line", "text/event-stream", "data: " + pad(1001) + "\n\n", "of more than 1000 bytes"},
		{"long event", "text/event-stream", strings.Repeat("data: 123456789\n", 101) + "\n", "server wrote a message of more than 1000 bytes"},
		{"long comment", "text/event-stream", ":" + strings.Repeat("x", 2000) + "\n", "server wrote a line of more than 1000 bytes"},
		{"total", "text/event-stream", strings.Repeat(":\n", 5000), "server wrote more than 10000 bytes"},
	} {
		_, url := record(t, replied(200, test.contentType, test.body))
		_, err := listRemote(t.Context(), Remote{URL: url}, lim)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	_, url := record(t, mcptest.HTTP("endless-pages"))
	if _, err := listRemote(t.Context(), Remote{URL: url}, lim); err == nil || !strings.Contains(err.Error(), "more than 10 pages") {
		t.Errorf("pages: %v", err)
	}
	_, url = record(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 300<<10))
	}))
	if _, err := ListRemote(t.Context(), Remote{URL: url}); err == nil || !strings.Contains(err.Error(), "exceeded") {
		t.Errorf("300 KiB of headers: %v", err)
	}
}

func TestRemoteUnreachable(t *testing.T) {
	srv := httptest.NewServer(nil)
	srv.Close()
	_, err := ListRemote(t.Context(), Remote{URL: srv.URL})
	if e := (*HTTPError)(nil); !errors.As(err, &e) || e.Status != 0 || !strings.Contains(err.Error(), "no answer to initialize: dial tcp") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := ListRemote(ctx, Remote{URL: srv.URL}); !errors.Is(err, cause) {
		t.Errorf("after the end: %v", err)
	}
	tls := httptest.NewUnstartedServer(mcptest.HTTP("plain"))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.EnableHTTP2 = true
	tls.StartTLS()
	defer tls.Close()
	if _, err := ListRemote(t.Context(), Remote{URL: tls.URL}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown certificate: %v", err)
	}
	if _, err := ListRemote(t.Context(), Remote{URL: tls.URL, Transport: tls.Client().Transport}); err != nil {
		t.Errorf("known certificate: %v", err)
	}
	tr, _ := defaultTransport()
	if tr, ok := tr.(*http.Transport); !ok || tr.Proxy == nil || !tr.ForceAttemptHTTP2 || tr == http.DefaultTransport {
		t.Errorf("the default transport is %+v", tr)
	}
}

func TestNoGoroutineStaysHTTP(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mcptest.HTTP(r.URL.Path[1:]).ServeHTTP(w, r)
	}))
	defer srv.Close()
	defer srv.CloseClientConnections()
	before := runtime.NumGoroutine()
	for _, name := range []string{"page-2", "hangs", "trickle", "second-answer", "stream-open", "status-500"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		ListRemote(ctx, Remote{URL: srv.URL + "/" + name})
		cancel()
	}
	for range 500 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}
