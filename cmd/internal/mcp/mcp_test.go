package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mustList lists a fake server that can be listed.
func mustList(t *testing.T, name string, env ...string) *Listing {
	t.Helper()
	l, err := List(t.Context(), fake(name, env...))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return l
}

// results returns the results of all responses, and fails unless every response is one line.
func results(t *testing.T, l *Listing) []string {
	t.Helper()
	var all []string
	for _, r := range l.Responses {
		var m struct{ Result json.RawMessage }
		if err := json.Unmarshal(r, &m); err != nil || bytes.ContainsRune(r, '\n') {
			t.Fatalf("response %q: %v", r, err)
		}
		all = append(all, string(m.Result))
	}
	return all
}

func TestListed(t *testing.T) {
	tests := []struct {
		name    string
		version string
		results []string
		notes   []string
	}{
		{"plain", "2025-11-25", []string{initialized}, []string{"tools/list: the server has no such method and declares the capability tools"}},
		{"pages", "2025-11-25", []string{initialized, threePages["-"], threePages[""], threePages["<3"]}, nil},
		{"repeats once", "2025-11-25", []string{initialized, threePages["-"], threePages[""], threePages["<3"]}, nil},
		{"old version", "2024-11-05", []string{`{"protocolVersion":"2024-11-05","capabilities":{}}`}, nil},
		{"stateless -32601", "2026-07-28", []string{discovered, `{"resultType":"complete","tools":[]}`}, nil},
		{"stateless -32602", "2026-07-28", []string{discovered, `{"resultType":"complete","tools":[]}`}, nil},
		{"stateless -32022", "2026-07-28", []string{discovered, `{"resultType":"complete","tools":[]}`}, nil},
		{"stateless 2026-07-28", "2026-07-28", []string{discovered, `{"resultType":"complete","tools":[]}`}, nil},
		{"prompts without list", "2025-11-25", []string{initialized}, []string{
			"tools/list: the server has no such method and declares the capability tools",
			"prompts/list: the result has no prompts member and counts as empty",
		}},
		{"templates", "2025-11-25", []string{`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true}}}`}, []string{
			"tools/list: the server has no such method and declares the capability tools",
			"resources/templates/list: the result has no resourceTemplates member and counts as empty",
		}},
		{"foreign responses", "2025-11-25", []string{initialized}, []string{
			`a response with the unknown id "99" was ignored`,
			`a response with the unknown id "\"01\"" was ignored`,
			`a response with the unknown id "null" was ignored: error -32700, "parse error"`,
			"tools/list: the server has no such method and declares the capability tools",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := mustList(t, test.name)
			if got := results(t, l); !slices.Equal(got, test.results) {
				t.Errorf("results\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.results, "\n"))
			}
			if l.ProtocolVersion != test.version {
				t.Errorf("version %s, want %s", l.ProtocolVersion, test.version)
			}
			if !slices.Equal(l.Notes, test.notes) {
				t.Errorf("notes %q, want %q", l.Notes, test.notes)
			}
			if l.NoiseLines != 0 || l.Noise != nil {
				t.Errorf("noise %d %q", l.NoiseLines, l.Noise)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	tests := []struct{ name, want string }{
		{"repeats", "tools/list: the server repeats a cursor with another page"},
		{"swaps", "tools/list: the list changes while it is fetched: after the last page the first was another"},
		{"endless", "tools/list: the listing has more than 1000 pages"},
		{"page 2 fails", `tools/list was answered with error -32603: "no such page"`},
		{"page 2 unknown", `tools/list was answered with error -32601: "method not found"`},
		{"page 2 no list", "tools/list: a page has no tools member"},
		{"first page no list", "prompts/list: a page has no prompts member"},
		{"cursor of a number", `nextCursor is not a string: "2"`},
		{"tools without list", "tools/list: the result has no tools member"},
		{"unknown version", `unknown protocol version "2031-01-01"`},
		{"no version", `unknown protocol version ""`},
		{"no handshake", `initialize was answered with error -32602: "bad", and server/discover was answered with error -32601`},
		{"no key", `initialize was answered with error -32000: "no API key\x1b[31m"`},
		{"stateless of the future", `does not speak protocol version 2026-07-28: its supportedVersions are "[\"2031-01-01\"]"`},
		{"input required", `result of tools/list: its type is "\"input_required\"", not complete`},
		{"answers twice", "request 2 a second time"},
		{"answers twice, as a string", "request 2 a second time"},
		{"no id at first", `initialize was answered with error -32000: "no API key"`},
		{"result for nobody", "server answered initialize without the id of the request"},
		{"undeclared page 2 fails", `prompts/list was answered with error -32603: "no such page"`},
		{"answers twice, later", "request 2 a second time"},
		{"answers twice, at end", "request 4 a second time"},
		{"id repeats", `member "id" repeats`},
		{"result repeats", `member "result" repeats`},
		{"list repeats", `result of tools/list: member "tools" repeats`},
		{"cursor repeats", `result of tools/list: member "nextCursor" repeats`},
		{"batch", "broken message: not a JSON object"},
		{"not JSON", "broken message: invalid character 'N'"},
		{"byte order mark", "broken message: not a JSON object"},
		{"two in a line", "broken message: data after the JSON object"},
		{"too deep", "exceeded max depth"},
		{"result is a list", "result of tools/list: not a JSON object"},
		{"result is null", "result of tools/list: not a JSON object"},
		{"result and error", "both a result and an error"},
		{"result and method", "both a request and a response"},
		{"nothing", "no method, result or error"},
		{"JSON-RPC 1", `JSON-RPC version "\"1.0\""`},
		{"odd error", `tools/list was answered with error 0: "\"out of order\""`},
		{"dies later", "server hung up before it answered tools/list: exit status 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l, err := List(t.Context(), fake(test.name))
			if l != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("listing %v, error %v, want %s", l, err, test.want)
			}
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
				t.Errorf("control character in %q", err)
			}
			if e := new(StartError); errors.As(err, &e) {
				t.Errorf("%v is a StartError, but the server answered", err)
			}
		})
	}
}

// TestPages lists servers whose cursors are odd, and whose pages agree.
func TestPages(t *testing.T) {
	const round = "tools/list: the server repeats a cursor and the page that came with it; the list ends there"
	for _, test := range []struct {
		name      string
		responses int // the first one included
		note      string
		names     string
	}{
		{"ignores cursors", 3, round, "a a"},
		{"goes round", 4, round, "a b c b a"},
		{"random cursors", 3, "", "a b"},
		{"swaps and tells", 3, "", "a b"},
	} {
		l := mustList(t, test.name)
		if got := strings.Join(names(t, l), " "); got != test.names || len(l.Responses) != test.responses {
			t.Errorf("%s: listed %s in %d responses", test.name, got, len(l.Responses))
		}
		if strings.Join(l.Notes, "; ") != test.note {
			t.Errorf("%s: notes %q", test.name, l.Notes)
		}
		if test.name == "swaps and tells" && strings.Contains(string(bytes.Join(l.Responses, nil)), `"version":1`) {
			t.Errorf("%s: listed %s", test.name, l.Responses)
		}
	}
	if _, err := List(t.Context(), fake("swaps")); !errors.Is(err, ErrChanging) {
		t.Errorf("swaps: %v", err)
	}
}

func TestMethodError(t *testing.T) {
	_, err := List(t.Context(), fake("page 2 fails"))
	var e *MethodError
	if !errors.As(err, &e) || *e != (MethodError{"tools/list", -32603, "no such page"}) {
		t.Errorf("got %#v of %v", e, err)
	}
}

func TestVerbatim(t *testing.T) {
	l := mustList(t, "verbatim")
	if len(l.Responses) != 2 || string(l.Responses[1]) != verbatim {
		t.Errorf("got %q, want %q", l.Responses, verbatim)
	}
}

// TestTranscript fixes every byte that is sent to a server with a handshake.
func TestTranscript(t *testing.T) {
	want := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"mcpsign","version":"1"},"protocolVersion":"2025-11-25"}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"\u0061<"}}
{"jsonrpc":"2.0","id":4,"method":"tools/list"}
{"jsonrpc":"2.0","id":5,"method":"prompts/list"}
{"jsonrpc":"2.0","id":6,"method":"resources/templates/list"}
`
	l := mustList(t, "transcript")
	if l.Stderr != want {
		t.Errorf("sent\n%s\nwant\n%s", l.Stderr, want)
	}
	if len(l.Responses) != 5 {
		t.Errorf("%d responses, want 5: an empty list is a list", len(l.Responses))
	}
}

func TestServerRequests(t *testing.T) {
	want := `{"jsonrpc":"2.0","id":"p<1>","result":{}}
{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}
{"jsonrpc":"2.0","id":12345678901234567890,"error":{"code":-32601,"message":"method not found"}}
`
	if l := mustList(t, "requests"); l.Stderr != want {
		t.Errorf("answered\n%s\nwant\n%s", l.Stderr, want)
	}
}

func TestSDKServer(t *testing.T) {
	for name, version := range map[string]string{"sdk": "2025-11-25", "sdk stateless": "2026-07-28"} {
		l := mustList(t, name)
		if l.ProtocolVersion != version {
			t.Errorf("%s: version %s, want %s", name, l.ProtocolVersion, version)
		}
		got := results(t, l)
		want := []string{`"instructions":"be kind"`, `"name":"a"`, `"name":"b"`, `"name":"c"`, `"name":"p"`, `"uriTemplate":"file:///{x}"`}
		if !slices.EqualFunc(got, want, strings.Contains) {
			t.Errorf("%s: results\n%s", name, strings.Join(got, "\n"))
		}
	}
}

func TestNamesOfTheSDK(t *testing.T) {
	for ours, theirs := range map[any]any{
		metaProtocolVersion:     mcp.MetaKeyProtocolVersion,
		metaClientInfo:          mcp.MetaKeyClientInfo,
		metaClientCapabilities:  mcp.MetaKeyClientCapabilities,
		codeUnsupportedProtocol: mcp.CodeUnsupportedProtocolVersion,
	} {
		if ours != theirs {
			t.Errorf("%v, in the SDK %v", ours, theirs)
		}
	}
}

func TestNoise(t *testing.T) {
	l := mustList(t, "noise")
	want := []string{"starting", `{"level":"info"}`, "[INFO] \"ready\" \x1b[31m", "[]", strings.Repeat("x", 256)}
	if l.NoiseLines != 5 || !slices.Equal(l.Noise, want) {
		t.Errorf("%d lines %q", l.NoiseLines, l.Noise)
	}
	if l := mustList(t, "much noise"); l.NoiseLines != 100 || len(l.Noise) != 16 {
		t.Errorf("%d lines, %d kept", l.NoiseLines, len(l.Noise))
	}
}

func TestStderr(t *testing.T) {
	l := mustList(t, "stderr")
	if len(l.Stderr) != 4<<10 || !strings.HasSuffix(l.Stderr, "xend\n") {
		t.Errorf("%d bytes, the last %q", len(l.Stderr), l.Stderr[max(0, len(l.Stderr)-8):])
	}
}

func TestStartError(t *testing.T) {
	_, err := List(t.Context(), fake("dies"))
	var e *StartError
	if !errors.As(err, &e) || !strings.Contains(e.Stderr, "boom \x1b[31mred") {
		t.Fatalf("got %#v", err)
	}
	if want := `"first" "boom \x1b[31mred\x1b[0m \u202e"`; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "initialize: exit status 3") {
		t.Errorf("got %q, want %s", err, want)
	}

	_, err = List(t.Context(), Command{Argv: []string{"no-such-program"}})
	if !errors.As(err, &e) || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("missing program: %v", err)
	}
	if _, err = List(t.Context(), Command{}); !errors.As(err, &e) {
		t.Errorf("no program: %v", err)
	}
}

func TestLineLimit(t *testing.T) {
	for _, size := range []int{1 << 20, 16 << 20} {
		l := mustList(t, "line", fmt.Sprintf("SIZE=%d", size))
		if len(l.Responses) != 2 || len(l.Responses[1]) != size {
			t.Errorf("a line of %d bytes was not kept", size)
		}
	}
	_, err := List(t.Context(), fake("line", fmt.Sprintf("SIZE=%d", 16<<20+1)))
	if err == nil || !strings.Contains(err.Error(), "a line of more than 16777216 bytes") {
		t.Errorf("16 MiB and a byte: %v", err)
	}
}

func TestTotalLimit(t *testing.T) {
	for _, name := range []string{"endless", "endless noise"} {
		_, err := list(t.Context(), fake(name), limits{pages: 1 << 30, line: 1 << 10, total: 10_000, grace: time.Second})
		if err == nil || !strings.Contains(err.Error(), "server wrote more than 10000 bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTimeout(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := List(ctx, fake("hangs"))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer to initialize") {
		t.Errorf("got %v", err)
	}
	if _, err := List(ctx, fake("plain")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
}

// TestStays lists a server that takes no notice of the end of its input or of SIGTERM.
func TestStays(t *testing.T) {
	l, err := list(t.Context(), fake("stays"), limits{pages: 10, line: 1 << 20, total: 1 << 20, grace: 100 * time.Millisecond})
	if err != nil || len(l.Responses) != 1 {
		t.Errorf("got %v, %v", l, err)
	}
}

func TestNoGoroutineStays(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, name := range []string{"pages", "dies", "hangs", "batch", "no-such-server"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		List(ctx, fake(name))
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

func TestChildEnv(t *testing.T) {
	kept := []string{"PATH=/bin", "GITHUB_TOKEN=x", "EMPTY=", "=C:=C:\\", "NOTE=COSIGN_PASSWORD=", "MCPSIGNX=1"}
	dropped := []string{
		"MCPSIGN_PASSWORD=x", "mcpsign_pin=1", "COSIGN_PASSWORD=x", "COSIGN_PKCS11_PIN=1", "SIGSTORE_ID_TOKEN=x",
		"ACTIONS_ID_TOKEN_REQUEST_TOKEN=x", "ACTIONS_ID_TOKEN_REQUEST_URL=x", "CI_JOB_JWT_V2=x", "CIRCLE_OIDC_TOKEN_V2=x",
	}
	given := slices.Concat(dropped, kept)
	before := slices.Clone(given)
	if got := ChildEnv(given); !slices.Equal(got, kept) {
		t.Errorf("got %q, want %q", got, kept)
	}
	if !slices.Equal(given, before) {
		t.Error("the argument was changed")
	}
	// A nil environment would make the child inherit everything.
	if got := ChildEnv(dropped); got == nil || len(got) != 0 {
		t.Errorf("got %#v", got)
	}
}

func TestEnvironmentOfTheChild(t *testing.T) {
	t.Setenv("MCPSIGN_PASSWORD", "hunter2")
	t.Setenv("FAKE_SERVER", "environment")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{nil, append(os.Environ(), "PWD="+dir)} {
		l, err := List(t.Context(), Command{Argv: []string{os.Args[0]}, Env: env, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(l.Stderr, "\n")
		if strings.Contains(l.Stderr, "hunter2") {
			t.Errorf("the child sees the secret: %q", lines)
		}
		if runtime.GOOS != "windows" && !slices.Contains(lines, "PWD="+dir) {
			t.Errorf("no PWD=%s in %q", dir, lines)
		}
	}
}
