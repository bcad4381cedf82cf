package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/internal/mcptest"
)

const (
	token    = "s3cr3t-of-the-weather-server"
	password = "hunter2hunter2"
	cookie   = "0a1b2c3d4e5f"
	query    = "tenant=acme-and-sons&api_key=abcdefgh12345678"
)

// private is what nobody but the server may see.
var private = []string{token, password, cookie, "acme-and-sons", "abcdefgh12345678"}

func secretRemote(t *testing.T, server string) Remote {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("anna", password)
	u.RawQuery = query
	return Remote{URL: u.String(), Header: http.Header{"x-api-key": {token}, "Cookie": {"theme=dark; session=" + cookie}}}
}

func TestHeadersSent(t *testing.T) {
	c, server := record(t, mcptest.HTTP("redirect-within"))
	r := secretRemote(t, server)
	before := r.Header.Clone()
	if _, err := ListRemote(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for i, h := range c.all {
		// A redirect within the origin does not lose them, nor do DELETE and notifications.
		if h.Get("X-Api-Key") != token || h.Get("Authorization") != basic("anna", password) {
			t.Errorf("%s: sent with %v", c.seen[i], h)
		}
	}
	if len(c.all) < 2*6 {
		t.Errorf("%d requests", len(c.all))
	}
	if !reflect.DeepEqual(r.Header, before) {
		t.Errorf("the argument was changed: %v", r.Header)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if _, err := ListRemote(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := c.all[len(c.all)-1].Get("Authorization"); got != "Bearer "+token {
		t.Errorf("the header loses against the user of the URL: %s", got)
	}
}

// TestOtherOrigin has a server redirect in every way to another origin, where nothing may arrive.
func TestOtherOrigin(t *testing.T) {
	other, otherURL := record(t, mcptest.HTTP("plain"))
	_, port, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(otherURL, "http://"), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, target := range []string{
			otherURL, "//127.0.0.1:" + port + "/mcp", "http://anna:" + password + "@127.0.0.1:" + port + "/?" + query,
			"https://127.0.0.1:" + port, "http://localhost:" + port,
		} {
			_, server := record(t, http.RedirectHandler(target, status))
			_, err := ListRemote(t.Context(), secretRemote(t, server))
			if e := (*HTTPError)(nil); !errors.As(err, &e) || e.Status != status || !strings.Contains(err.Error(), ":"+port+", to which nothing is sent") {
				t.Errorf("%d to %s: %v", status, target, err)
			}
			mustHide(t, err)
		}
	}
	if len(other.seen) > 0 {
		t.Errorf("the other origin was sent %q", other.seen)
	}
	away, server := record(t, mcptest.HTTP("redirect-away"))
	if _, err := ListRemote(t.Context(), secretRemote(t, server)); err == nil || !strings.Contains(err.Error(), "another origin, http://localhost:") {
		t.Errorf("got %v", err)
	}
	if len(away.seen) != 1 {
		t.Errorf("sent %q after the redirect", away.seen)
	}
}

func TestSameOrigin(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"http://a.example/x", "http://A.example:80/y?z", true},
		{"https://a.example", "https://a.example:443", true},
		{"https://a.example", "http://a.example:443", false},
		{"https://a.example", "https://a.example:8443", false},
		{"https://a.example", "https://b.a.example", false},
		{"http://[::1]:80/", "http://[::1]/", true},
		{"http://a.example", "http://a.example.", false},
	} {
		a, err := url.Parse(test.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := url.Parse(test.b)
		if err != nil {
			t.Fatal(err)
		}
		if got := sameOrigin(a, b); got != test.want {
			t.Errorf("%s and %s: %t", test.a, test.b, got)
		}
	}
}

// mustHide fails if an error, or what it wraps, shows a secret.
func mustHide(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	text := fmt.Sprintf("%v", err)
	if e := (*HTTPError)(nil); errors.As(err, &e) {
		text += fmt.Sprintf("%+v", *e)
	}
	if e := (*MethodError)(nil); errors.As(err, &e) {
		text += fmt.Sprintf("%+v", *e)
	}
	for _, secret := range append(private, basic("anna", password)) {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in %s", secret, text)
		}
	}
}

// TestRepeatedSecrets has servers send back what they were sent, in each place that could be shown.
func TestRepeatedSecrets(t *testing.T) {
	what := ""
	repeat := func(status int, contentType, format string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, err := json.Marshal(r.Header.Get(what) + " ")
			if what == "" {
				text, err = json.Marshal(r.URL.String())
			}
			if err != nil {
				panic(err)
			}
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			fmt.Fprintf(w, format, text)
		})
	}
	for name, server := range map[string]http.Handler{
		"listing":  mcptest.HTTP("echo"),
		"error":    repeat(200, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":%s}}`),
		"version":  repeat(200, "application/json", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%s}}`),
		"noise":    repeat(200, "application/json", `{"log":%s}`),
		"note":     repeat(200, "application/json", `{"jsonrpc":"2.0","id":%s,"result":{}}`),
		"event":    repeat(200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":%s}}\n\n"),
		"status":   repeat(403, "text/plain", "who is %s?"),
		"JSON":     repeat(403, "application/json", `{"detail":%s}`),
		"web page": repeat(200, "text/html", "<p>%s"),
		"host": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "https://"+r.Header.Get("X-Api-Key")+".example/")
			w.WriteHeader(307)
		}),
		"content type": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/"+r.Header.Get("X-Api-Key"))
		}),
		"encoding": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", r.Header.Get("X-Api-Key"))
		}),
		"no URL": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://[::1"+r.Header.Get("X-Api-Key"))
			w.WriteHeader(307)
		}),
	} {
		for _, what = range []string{"X-Api-Key", "Authorization", "Cookie", ""} {
			_, url := record(t, server)
			l, err := ListRemote(t.Context(), secretRemote(t, url))
			if l != nil {
				t.Errorf("%s: listed %q", name, l.Responses)
			}
			mustHide(t, err)
			t.Logf("%s: %v", name, err)
		}
	}
}

// TestEchoedRequest has a server that is none of HTTP and sends back every byte.
func TestEchoedRequest(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.Copy(conn, conn)
			}()
		}
	}()
	_, err = ListRemote(t.Context(), secretRemote(t, "http://"+l.Addr().String()+"/"))
	mustHide(t, err)
}

// TestNoSecrets lets pass what selects something.
func TestNoSecrets(t *testing.T) {
	_, server := record(t, mcptest.HTTP("echo"))
	r := Remote{URL: server + "?toolset=everything", Header: http.Header{"X-Mcp-Toolsets": {"repositories,issues"}, "X-Api-Key": {"short"}}}
	l, err := ListRemote(t.Context(), r)
	if err != nil || len(l.Responses) != 2 || !strings.Contains(string(l.Responses[1]), "repositories,issues") {
		t.Errorf("got %v, %v", l, err)
	}
}

func TestBadRemote(t *testing.T) {
	for _, test := range []struct {
		remote Remote
		want   string
	}{
		{Remote{}, `the scheme of the server's URL is "", not http or https`},
		{Remote{URL: "ftp://a.example/" + password}, `is "ftp", not http or https`},
		{Remote{URL: "file:///" + password}, `is "file", not http or https`},
		{Remote{URL: "a.example/" + password}, "not http or https"},
		{Remote{URL: "http:///" + password}, "the server's URL has no host"},
		{Remote{URL: "http:" + password}, "the server's URL has no host"},
		{Remote{URL: "http://anna:" + password + "/x@a.example/"}, "the server's URL can't be parsed"},
		{Remote{URL: "http://a.example/%zz" + password}, "the server's URL can't be parsed"},
		{Remote{URL: "http://127.0.0.1:1", Header: http.Header{"mcp-session-id": {password}}}, `the header "mcp-session-id" can't be set`},
		{Remote{URL: "http://127.0.0.1:1", Header: http.Header{"Host": {password}}}, `the header "Host" can't be set`},
		{Remote{URL: "http://127.0.0.1:1", Header: http.Header{"X-Key": {password + "\r\nX: y"}}}, `invalid header field value for "X-Key"`},
		{Remote{URL: "http://127.0.0.1:1", Header: http.Header{"X Key": {password}}}, `invalid header field name "X Key"`},
	} {
		_, err := ListRemote(t.Context(), test.remote)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %s", test.remote, err, test.want)
		}
		mustHide(t, err)
	}
}
