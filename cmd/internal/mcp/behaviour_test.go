package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/mcptest"
)

// served lists a server of mcptest over stdio.
func served(ctx context.Context, behaviour string) (*Listing, error) {
	env := append(os.Environ(), "MCPTEST=1", "GORACE=atexit_sleep_ms=0")
	return List(ctx, Command{Argv: []string{os.Args[0], behaviour}, Env: env})
}

// servedHTTP lists a server of mcptest over HTTP.
func servedHTTP(ctx context.Context, t *testing.T, behaviour string) (*Listing, error) {
	t.Helper()
	srv := httptest.NewServer(mcptest.HTTP(behaviour))
	t.Cleanup(srv.Close)
	// Streams that a server keeps open would make Close wait.
	t.Cleanup(srv.CloseClientConnections)
	return ListRemote(ctx, Remote{URL: srv.URL + "/mcp"})
}

// names returns the names of all tools, prompts and resource templates in their order.
func names(t *testing.T, l *Listing) []string {
	t.Helper()
	all := []string{}
	for _, r := range l.Responses {
		var m struct {
			Result struct {
				Tools, Prompts, ResourceTemplates []struct{ Name string }
			}
		}
		if err := json.Unmarshal(r, &m); err != nil {
			t.Fatal(err)
		}
		for _, d := range slices.Concat(m.Result.Tools, m.Result.Prompts, m.Result.ResourceTemplates) {
			all = append(all, d.Name)
		}
	}
	return all
}

var plainNames = []string{"get_alerts", "get_forecast", "set_units", "plan_trip", "station"}

// TestBehaviours lists the servers of mcptest over both transports, with the same outcome.
func TestBehaviours(t *testing.T) {
	many := make([]string, 64)
	tests := []struct {
		name    string
		names   []string // nil for an error
		want    string   // in the error
		version string   // 2025-11-25 if empty
	}{
		{name: "plain", names: plainNames},
		{name: "plain-json", names: plainNames},
		{name: "resumable", names: plainNames},
		{name: "paged", names: plainNames},
		{name: "stateless", names: plainNames},
		{name: "modern", names: plainNames, version: "2026-07-28"},
		{name: "duplicate-equal", names: []string{"a", "a"}},
		{name: "duplicate-different", names: []string{"a", "a"}},
		{name: "duplicate-equal-pages", names: []string{"a", "a"}},
		{name: "duplicate-different-pages", names: []string{"a", "a"}},
		{name: "page-2", names: []string{"a"}},
		{name: "empty-cursor", names: []string{"a"}},
		{name: "noise", names: []string{"a"}},
		{name: "asks-first", names: []string{"a"}},
		{name: "changes", names: []string{"a"}},
		{name: "announces", names: []string{"a"}},
		{name: "long-line", names: many},
		{name: "announces-always", want: "tools/list: the list changes while it is fetched, twice in a row"},
		{name: "repeating-cursor", want: "the server repeats a cursor"},
		{name: "endless-pages", want: "tools/list: the listing has more than 1000 pages"},
		{name: "page-error", want: `tools/list was answered with error -32603: "no such page"`},
		{name: "list-error", want: `tools/list was answered with error -32603: "no such page"`},
		{name: "start-error", want: `initialize was answered with error -32000: "no API key"`},
		{name: "second-answer", want: "server answered request 2 a second time"},
		{name: "repeated-member", want: `member "result" repeats`},
		{name: "batch", want: "broken message: not a JSON object"},
	}
	for _, test := range tests {
		check := func(t *testing.T, l *Listing, err error) {
			if test.names == nil {
				if l != nil || err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("listing %v, error %v, want %s", l, err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := names(t, l); len(got) != len(test.names) || test.names[0] != "" && !slices.Equal(got, test.names) {
				t.Errorf("listed %q, want %q", got, test.names)
			}
			if want := max(test.version, "2025-11-25"); l.ProtocolVersion != want {
				t.Errorf("version %s, want %s", l.ProtocolVersion, want)
			}
		}
		t.Run(test.name+"/stdio", func(t *testing.T) {
			l, err := served(t.Context(), test.name)
			check(t, l, err)
		})
		t.Run(test.name+"/http", func(t *testing.T) {
			l, err := servedHTTP(t.Context(), t, test.name)
			check(t, l, err)
		})
	}
}

// TestSameOverBoth holds the two transports to the same listing, byte for byte but for ids.
func TestSameOverBoth(t *testing.T) {
	for _, name := range []string{"plain", "plain-json", "paged", "modern", "long-line", "duplicate-different"} {
		stdio, err := served(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		http, err := servedHTTP(t.Context(), t, name)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(stdio.Responses, http.Responses, bytes.Equal) {
			t.Errorf("%s: over stdio\n%s\nover HTTP\n%s", name, bytes.Join(stdio.Responses, []byte("\n")), bytes.Join(http.Responses, []byte("\n")))
		}
	}
}

func TestNoiseOverBoth(t *testing.T) {
	want := []string{`{"level":"info","msg":"busy"}`, "[INFO] \x1b[31mready"}
	for transport, l := range overBoth(t, "noise") {
		// Four requests, two lines before each answer.
		if l.NoiseLines != 8 || !slices.Equal(l.Noise[:2], want) {
			t.Errorf("%s: %d lines %q", transport, l.NoiseLines, l.Noise)
		}
	}
}

// TestAnnounced sees to it that the list is the one after the change.
func TestAnnounced(t *testing.T) {
	for transport, l := range overBoth(t, "announces") {
		if len(l.Responses) != 2 || !bytes.Contains(l.Responses[1], []byte(`"description":"list 2"`)) {
			t.Errorf("%s: %s", transport, l.Responses)
		}
	}
}

func overBoth(t *testing.T, name string) map[string]*Listing {
	t.Helper()
	stdio, err := served(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	http, err := servedHTTP(t.Context(), t, name)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Listing{"stdio": stdio, "HTTP": http}
}

func TestDiesOverBoth(t *testing.T) {
	_, err := served(t.Context(), "dies")
	want := `server hung up before it answered tools/list: exit status 3; standard error ends with "fatal: no station answers"`
	if err == nil || err.Error() != want {
		t.Errorf("stdio: %v, want %s", err, want)
	}
	_, err = served(t.Context(), "dies-first")
	if !errors.As(err, new(*StartError)) {
		t.Errorf("stdio: %v is no StartError", err)
	}
	for name, method := range map[string]string{"dies": "tools/list", "dies-first": "initialize"} {
		_, err = servedHTTP(t.Context(), t, name)
		if e := (*HTTPError)(nil); !errors.As(err, &e) || e.Status != 0 || e.Method != method || e.Err == nil {
			t.Errorf("HTTP: %v", err)
		}
	}
}

func TestHangsOverBoth(t *testing.T) {
	cause := errors.New("no time left for this server")
	for transport, list := range map[string]func(context.Context) (*Listing, error){
		"stdio":   func(ctx context.Context) (*Listing, error) { return served(ctx, "hangs") },
		"HTTP":    func(ctx context.Context) (*Listing, error) { return servedHTTP(ctx, t, "hangs") },
		"trickle": func(ctx context.Context) (*Listing, error) { return servedHTTP(ctx, t, "trickle") },
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		_, err := list(ctx)
		cancel()
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), "no answer to tools/list") {
			t.Errorf("%s: %v", transport, err)
		}
	}
}
