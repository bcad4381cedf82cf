package cli

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/mcp"
	"github.com/mcpsign/mcpsign/internal/mcptest"
)

// TestListHint has the hint under a failure fit that failure.
func TestListHint(t *testing.T) {
	serve := func(h http.Handler, tls bool) string {
		srv := httptest.NewUnstartedServer(h)
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		if t.Cleanup(srv.Close); tls {
			srv.StartTLS()
		} else {
			srv.Start()
		}
		return srv.URL
	}
	plain := serve(mcptest.HTTP("plain"), false)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for url, want := range map[string]string{
		serve(mcptest.HTTP("plain"), true):                                                     "private PKI",
		strings.Replace(plain, "http:", "https:", 1):                                           "does not speak TLS",
		"http://" + closed.Addr().String():                                                     "see that the server is running",
		serve(mcptest.HTTP("unauthorized"), false):                                             "get a token where the server says",
		serve(mcptest.HTTP("status-403"), false):                                               "what the token must allow",
		serve(mcptest.HTTP("status-404"), false):                                               "which URL the publisher documents",
		serve(mcptest.HTTP("status-405"), false):                                               "HTTP+SSE transport is not supported",
		serve(mcptest.HTTP("status-406"), false):                                               "which URL the publisher documents",
		serve(mcptest.HTTP("status-500"), false):                                               "list it again later",
		serve(mcptest.HTTP("web-page"), false):                                                 "which URL the publisher documents",
		serve(mcptest.HTTP("redirect-slash"), false) + "/mcp":                                  "/mcp/",
		serve(mcptest.HTTP("redirect-get"), false):                                             "if the server has moved",
		serve(mcptest.HTTP("start-error"), false):                                              "what the server's publisher documents",
		serve(mcptest.HTTP("swaps-pages"), false):                                              "list it again when nothing changes",
		serve(mcptest.HTTP("batch"), false):                                                    "otherwise",
		serve(http.RedirectHandler("https://a.example/", http.StatusTemporaryRedirect), false): "if the server has moved",
	} {
		_, err := mcp.ListRemote(t.Context(), mcp.Remote{URL: url})
		if err == nil {
			t.Errorf("%s: listed, want the hint %q", url, want)
		} else if got := listHint(err, "otherwise"); !strings.Contains(got, want) {
			t.Errorf("%v\nhint: %s\nwant: %s", err, got, want)
		}
	}
	_, err = mcp.ListRemote(t.Context(), mcp.Remote{URL: "http://weather.acme.example", Transport: failing{&net.DNSError{Err: "no such host", Name: "weather.acme.example"}}})
	if got := listHint(err, ""); !strings.Contains(got, "spelling of the host name") {
		t.Errorf("%v: %s", err, got)
	}
	_, err = mcp.List(t.Context(), mcp.Command{Argv: []string{"no-such-program"}})
	if got := listHint(err, ""); !strings.Contains(got, "program is installed") {
		t.Errorf("%v: %s", err, got)
	}
	if got := listHint(errors.Join(context.Canceled), "otherwise"); got != "otherwise" {
		t.Error(got)
	}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }
