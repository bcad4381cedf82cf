package mcptest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
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

// TestMain makes the test binary the server that the tests start.
func TestMain(m *testing.M) {
	if os.Getenv("MCPTEST") != "" {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "MCPTEST=1", "GORACE=atexit_sleep_ms=0")
	return cmd
}

// TestSDKClient lists the well-behaved servers with the SDK's client, over both transports.
func TestSDKClient(t *testing.T) {
	want := []string{"get_alerts", "get_forecast", "set_units"}
	for name, b := range wellBehaved() {
		srv := httptest.NewServer(b.http())
		defer srv.Close()
		for _, transport := range []mcp.Transport{
			&mcp.CommandTransport{Command: program(t, name)},
			&mcp.StreamableClientTransport{Endpoint: srv.URL, DisableStandaloneSSE: true},
		} {
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), transport, nil)
			if err != nil {
				t.Errorf("%s over %T: %v", name, transport, err)
				continue
			}
			var got []string
			for tool, err := range session.Tools(t.Context(), nil) {
				if err != nil {
					t.Errorf("%s over %T: %v", name, transport, err)
					break
				}
				got = append(got, tool.Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s over %T: %q", name, transport, got)
			}
			if err := session.Close(); err != nil {
				t.Errorf("%s over %T: %v", name, transport, err)
			}
		}
	}
}

func TestBehaviours(t *testing.T) {
	names, about := Behaviours()
	if len(names) < 40 {
		t.Errorf("only %q", names)
	}
	for _, name := range names {
		b := behaviours()[name]
		if about[name] == "" || b.http == nil || HTTP(name) == nil {
			t.Errorf("%s: %q, over HTTP %t", name, about[name], b.http != nil)
		}
		if strings.ContainsAny(name, " /") {
			t.Errorf("%s is no word for a command line", name)
		}
	}
	for _, a := range []map[string]behaviour{wellBehaved(), hostile(), odd()} {
		for name, b := range a {
			if b.stdio == nil {
				t.Errorf("%s is not to be had over stdio", name)
			}
		}
	}
	if n := len(wellBehaved()) + len(hostile()) + len(odd()) + len(overHTTP()); n != len(names) {
		t.Errorf("%d behaviours of %d names", n, len(names))
	}
	defer func() {
		if recover() == nil {
			t.Error("an unknown behaviour is served")
		}
	}()
	HTTP("no-such")
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"no-such"}, {"gzip"}, {"-no-such"}} {
		out, err := program(t, args...).CombinedOutput()
		if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 2 || len(out) == 0 {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}

// TestOverHTTP starts the program as a script does, asks it, and ends it in both ways there are.
func TestOverHTTP(t *testing.T) {
	for _, eof := range []bool{false, true} {
		if !eof && runtime.GOOS == "windows" {
			continue // has no interrupt
		}
		dir := t.TempDir()
		file, log := filepath.Join(dir, "url.txt"), filepath.Join(dir, "log.txt")
		args := []string{"-http", file, "-log", log, "page-2"}
		if eof {
			args = append([]string{"-eof"}, args...)
		}
		cmd := program(t, args...)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if out, err := program(t, "-wait", file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		url, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequest(http.MethodPost, strings.TrimSpace(string(url)), strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"2"}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer x")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := `{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}`; err != nil || string(body) != want {
			t.Errorf("got %s, %v", body, err)
		}
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var line struct {
			Method, Path string
			Header       http.Header
		}
		if err := json.Unmarshal(data, &line); err != nil || line.Method != "POST" || line.Path != "/mcp" || line.Header.Get("Authorization") != "Bearer x" {
			t.Errorf("log %s, %v", data, err)
		}
		if eof {
			stdin.Close()
		} else if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("with -eof %t: %v", eof, err)
		}
	}
}

// TestChanges asks a server for its tools until they are others.
func TestChanges(t *testing.T) {
	cmd := program(t, "changes")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for i, want := range []string{"list 1", "result of a", "result of a", "list 2"} {
		method := `"tools/list"`
		if !strings.HasPrefix(want, "list") {
			method = `"tools/call","params":{"name":"a"}`
		}
		if _, err := io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":`+method+"}\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("answer %d is %s, want %s", i, lines.Text(), want)
		}
	}
	stdin.Close()
	done := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer done.Stop()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
