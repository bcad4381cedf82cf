package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// quick are limits with which a silent server costs a test little.
func quick() limits {
	lim := standardLimits()
	lim.brief, lim.orphan = 50*time.Millisecond, 200*time.Millisecond
	return lim
}

// TestUndeclared lists the tools of servers that take it badly to be asked for lists they do not declare.
func TestUndeclared(t *testing.T) {
	const told = "; the server does not declare the capability prompts, so that it counts as having no such list"
	answers := map[string]string{ // to what the first note begins with
		`{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"?"}}`: `prompts/list was answered with error -32000: "?"`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"?"}}`: `prompts/list was answered with error -32602: "?"`,
		`{"jsonrpc":"2.0","id":"ID","error":{}}`:                          "the server returns the ids of requests as strings",
		`{"jsonrpc":"2.0","id":ID,"error":null,"result":null}`:            "result of prompts/list: not a JSON object",
		`{"jsonrpc":"2.0","id":ID}`:                                       "server sent a message with no method, result or error",
		`[{"jsonrpc":"2.0","id":ID,"result":{}}]`:                         "server sent a broken message: not a JSON object",
	}
	for answer, note := range answers {
		l, err := list(t.Context(), fake("undeclared", "ANSWER="+answer), quick())
		checkTools(t, answer, l, err, note)
	}
	for name, note := range map[string]string{
		"undeclared is silent": "prompts/list: no answer" + told,
		"undeclared is late":   "prompts/list: no answer" + told,
		"undeclared ends it":   "prompts/list: server hung up" + told,
	} {
		l, err := list(t.Context(), fake(name), quick())
		checkTools(t, name, l, err, note)
		if name == "undeclared is late" && !slices.Contains(l.Notes, "the answer to request 3 came too late and was ignored") {
			t.Errorf("%s: notes %q", name, l.Notes)
		}
	}
	l, err := list(t.Context(), fake("string ids"), quick())
	if err != nil || !slices.Contains(l.Notes, noteStrings) {
		t.Errorf("string ids: %v, %v", l, err)
	}
}

// checkTools checks that only the one tool was listed, and the first note.
func checkTools(t *testing.T, name string, l *Listing, err error, note string) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if got := names(t, l); !slices.Equal(got, []string{"a"}) || len(l.Responses) != 2 {
		t.Errorf("%s: listed %q", name, got)
	}
	if len(l.Notes) == 0 || !strings.HasPrefix(l.Notes[0], note) {
		t.Errorf("%s: notes %q, want %s", name, l.Notes, note)
	}
}

// undeclaredHTTP declares tools and has one, and leaves all other lists to odd.
func undeclaredHTTP(odd func(w http.ResponseWriter, id string)) http.Handler {
	return scripted(func(w http.ResponseWriter, method, id string) {
		w.Header().Set("Content-Type", "application/json")
		switch method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, initialized)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a"}]}}`, id)
		default:
			odd(w, id)
		}
	})
}

func TestUndeclaredHTTP(t *testing.T) {
	hold := make(chan struct{})
	for name, odd := range map[string]func(w http.ResponseWriter, id string){
		"HTTP status 500 Internal Server Error": func(w http.ResponseWriter, _ string) { http.Error(w, "?", 500) },
		"HTTP status 404 Not Found":             func(w http.ResponseWriter, _ string) { http.NotFound(w, nil) },
		"error -32000": func(w http.ResponseWriter, id string) {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000}}`, id)
		},
		"server hung up":                 func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusAccepted) },
		"no answer to prompts/list: EOF": func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) },
		"prompts/list: no answer":        func(http.ResponseWriter, string) { <-hold },
		"prompts/list: no answer;": func(w http.ResponseWriter, _ string) { // in the middle of a body
			io.WriteString(w, `{"jsonrpc"`)
			_ = http.NewResponseController(w).Flush()
			<-hold
		},
	} {
		srv := httptest.NewServer(undeclaredHTTP(odd))
		t.Cleanup(srv.Close)
		t.Cleanup(srv.CloseClientConnections)
		l, err := listRemote(t.Context(), Remote{URL: srv.URL}, quick())
		checkTools(t, name, l, err, "")
		if err == nil && !strings.Contains(l.Notes[0], name) {
			t.Errorf("notes %q, want %s", l.Notes, name)
		}
	}
	t.Cleanup(func() { close(hold) })
}

// TestUndeclaredLast has a declared list asked for before those that are not.
func TestUndeclaredLast(t *testing.T) {
	c, url := record(t, scripted(func(w http.ResponseWriter, method, id string) {
		w.Header().Set("Content-Type", "application/json")
		switch method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"prompts":{}}}}`, id)
		case "prompts/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"prompts":[{"name":"p"}]}}`, id)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a"}]}}`, id)
		default:
			w.WriteHeader(500)
		}
	}))
	l, err := ListRemote(t.Context(), Remote{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, l); !slices.Equal(got, []string{"a", "p"}) {
		t.Errorf("listed %q: a list that is not declared is a list all the same", got)
	}
	for i, method := range []string{"initialize", "notifications/initialized", "prompts/list", "tools/list", "resources/templates/list"} {
		if !strings.Contains(c.seen[i], `"`+method+`"`) {
			t.Errorf("request %d is %s, want %s", i, c.seen[i], method)
		}
	}
}

// TestUndeclaredDeadline has the end of the context be an error, whatever is asked for.
func TestUndeclaredDeadline(t *testing.T) {
	lim := standardLimits()
	lim.brief = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := list(ctx, fake("undeclared is silent"), lim); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stdio: %v", err)
	}
	hold := make(chan struct{})
	_, url := record(t, undeclaredHTTP(func(http.ResponseWriter, string) { <-hold }))
	t.Cleanup(func() { close(hold) })
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := listRemote(ctx, Remote{URL: url}, lim); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("HTTP: %v", err)
	}
}

// TestNoID has an error without an id end the wait for an answer, unless it may be about a notification.
func TestNoID(t *testing.T) {
	l, err := list(t.Context(), fake("answers notifications"), quick())
	if err != nil || len(l.Responses) != 2 {
		t.Errorf("answered notification: %v, %v", l, err)
	}
	_, err = list(t.Context(), fake("never an id"), quick())
	var e *MethodError
	if !errors.As(err, &e) || e.Code != -32700 || e.Method != "tools/list" {
		t.Errorf("never an id: %v", err)
	}
}

func TestContentEncoding(t *testing.T) {
	for encoding, want := range map[string]bool{"identity": true, "none": true, "None": true, " ": true, "gzip, identity": false, "br": false, "utf-8": false} {
		_, url := record(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", encoding)
			replied(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`).ServeHTTP(w, r)
		}))
		if _, err := ListRemote(t.Context(), Remote{URL: url}); (err == nil) != want {
			t.Errorf("%s: %v", encoding, err)
		}
	}
}
