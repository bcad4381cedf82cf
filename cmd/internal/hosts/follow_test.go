package hosts_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/hosts"
	"github.com/mcpsign/mcpsign/lock"
)

// What turns a server off is each host's own: Claude Code and Gemini CLI start one whose entry says disabled.
func TestTurnedOff(t *testing.T) {
	for host, want := range map[string]bool{"claude-code": false, "gemini": false, "cursor": true, "vscode": true, "windsurf": true, "claude-desktop": true} {
		if e := find(t, user(host, `{"x": {"command": "a", "disabled": true}}`, nil), host, "x"); e.Disabled != want {
			t.Errorf("%s: disabled %t", host, e.Disabled)
		}
	}
	servers := `"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}`
	for _, tt := range []struct {
		project, user string
		off           string
	}{
		{`{}`, `{` + servers + `}`, ""},
		{`{}`, `{"mcp": {"excluded": ["a"]}, ` + servers + `}`, "a"},
		{`{}`, `{"mcp": {"allowed": ["a"]}, ` + servers + `}`, "b"},
		{`{}`, `{"mcp": {"allowed": []}, ` + servers + `}`, "ab"},
		{`{"mcp": {"excluded": ["b"]}}`, `{"mcp": {"excluded": ["a"], "serverCommand": "x"}, ` + servers + `}`, "b"},
		{`{"mcp": "no"}`, `{"mcp": {"excluded": "no", "allowed": ["a"]}, ` + servers + `}`, "b"},
	} {
		all, err := machine("linux", map[string]string{"/srv/proj/.gemini/settings.json": tt.project, "/home/ann/.gemini/settings.json": tt.user}, nil).All("gemini")
		off := ""
		for _, e := range all {
			if e.Disabled {
				off += e.Server
			}
		}
		if err != nil || len(all) != 2 || off != tt.off {
			t.Errorf("%s and %s: %q are turned off, %v", tt.project, tt.user, off, err)
		}
	}
}

// Claude Code reads what is at the root of the work tree, Codex also what is above the working directory in it.
func TestWorkTree(t *testing.T) {
	one := func(command string) string {
		return `{"mcpServers": {"x": {"type": "stdio", "command": "` + command + `"}}}`
	}
	files := map[string]string{
		"/srv/.git":                     "gitdir: elsewhere",
		"/srv/.mcp.json":                one("root"),
		"/srv/proj/.mcp.json":           one("sub"),
		"/.mcp.json":                    one("above"),
		"/home/ann/.claude.json":        `{"projects": {"/srv": {"mcpServers": {"y": {"command": "root"}}}, "/srv/proj": {"mcpServers": {"z": {"command": "sub"}}}}}`,
		"/srv/.codex/config.toml":       "[mcp_servers.root]\ncommand = \"a\"\n",
		"/srv/proj/.codex/config.toml":  "[mcp_servers.sub]\ncommand = \"a\"\n",
		"/.codex/config.toml":           "[mcp_servers.above]\ncommand = \"a\"\n",
		"/srv/.gemini/settings.json":    one("root"),
		"/home/ann/.codex/config.toml":  "",
		"/home/ann/.cursor/mcp.json":    one("user"),
		"/home/ann/.gemini/ignore.json": "",
	}
	s := machine("linux", files, nil)
	if e := find(t, s, "claude-code", "x"); e.Command[0] != "root" || !e.Project {
		t.Errorf("got %q of %s", e.Command, e)
	}
	find(t, s, "claude-code", "y")
	var missing *hosts.NotFoundError
	if _, err := s.Find("claude-code", "z"); !errors.As(err, &missing) {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"root", "sub"} {
		if e := find(t, s, "codex", name); !e.Project {
			t.Errorf("%s does not belong to the project", e)
		}
	}
	for host, server := range map[string]string{"codex": "above", "gemini": "x"} {
		if _, err := s.Find(host, server); !errors.As(err, &missing) {
			t.Errorf("%s: got %v", host, err)
		}
	}
	w := machine("windows", map[string]string{`C:\.git`: "", `C:\.mcp.json`: one("root")}, nil)
	if e := find(t, w, "claude-code", "x"); e.File != `C:\.mcp.json` {
		t.Errorf("got %s", e)
	}
}

// Where administrators manage Claude Code's servers nobody else's count, also if there are none.
func TestManaged(t *testing.T) {
	s := machine("linux", map[string]string{"/etc/claude-code/managed-mcp.json": `{"mcpServers": {}}`, "/srv/proj/.mcp.json": `{"mcpServers": {"x": {"command": "a"}}}`}, nil)
	var missing *hosts.NotFoundError
	if _, err := s.Find("claude-code", "x"); !errors.As(err, &missing) || len(missing.Files) != 1 {
		t.Errorf("got %v", err)
	}
}

// Gemini CLI takes comments and no trailing comma; what looks like a comment in a string is none.
func TestComments(t *testing.T) {
	text := "// a \"quoted\" comment\n{\"mcpServers\": /* {\n */ {\"x\": {\"command\": \"a\", \"args\": [\"//\", \"/*\", \"\\\"//\", \"*/\"] // end\n}}} // last"
	e := find(t, machine("linux", map[string]string{"/home/ann/.gemini/settings.json": text}, nil), "gemini", "x")
	if e.Line != 3 || !slices.Equal(e.Command, []string{"a", "//", "/*", `"//`, "*/"}) {
		t.Errorf("got line %d, %q", e.Line, e.Command)
	}
	for _, servers := range []string{`{"x": {"command": "a"},}`, `{"x": {"command": "a", "args": ["b",]}}`, `{"x": {"command": "a"}} /* open`, `{"x": {"command": "a`} {
		if _, err := user("gemini", servers, nil).Find("gemini", "x"); err == nil {
			t.Errorf("%s is read", servers)
		}
	}
}

// VS Code: a sandbox, a variable that is taken away, and the files of its Copilot agent.
func TestVSCode(t *testing.T) {
	s := machine("linux", map[string]string{
		"/srv/proj/.vscode/mcp.json":  `{"sandbox": {"network": []}, "servers": {"x": {"command": "a", "env": {"HTTP_PROXY": null, "B": "b"}}}}`,
		"/srv/proj/.mcp.json":         `{"mcpServers": {"x": {"command": "other"}, "p": {"type": "local", "command": "$low", "args": ["${GONE}"]}}}`,
		"/cop/mcp-config.json":        `{"mcpServers": {"u": {"type": "http", "url": "https://a.example"}}}`,
		"/home/ann/.copilot/not.json": "",
	}, map[string]string{"COPILOT_HOME": "/cop"})
	e := find(t, s, "vscode", "x")
	if !slices.Equal(e.Env, []string{"B", "HTTP_PROXY"}) || len(e.Notes) != 2 || !strings.Contains(e.Notes[0], "sandbox is not read") {
		t.Errorf("env %q, notes %q", e.Env, e.Notes)
	}
	if l, err := e.Resolve(lookup(nil)); err != nil || !slices.Equal(l.Unset, []string{"HTTP_PROXY"}) || !slices.Equal(l.Env, []string{"B=b"}) {
		t.Errorf("%+v, %v", l, err)
	}
	e = find(t, s, "vscode", "p")
	l, err := e.Resolve(lookup(map[string]string{"low": "l"}))
	if err != nil || describe(l) != "[l][${GONE}]" || !e.Project || len(e.Notes) != 1 || !strings.Contains(e.Notes[0], "Copilot") {
		t.Errorf("got %v, %v of %s, notes %q", l, err, e, e.Notes)
	}
	if e := find(t, s, "vscode", "u"); e.Project || e.File != "/cop/mcp-config.json" {
		t.Errorf("got %s", e)
	}
	if e := find(t, user("claude-code", `{"x": {"type": "ws", "url": "wss://a.example"}}`, nil), "claude-code", "x"); e.Transport != hosts.WebSocket {
		t.Errorf("transport %s", e.Transport)
	}
}

// A variable that is not set and stays as it is written is named.
func TestUnsetNotes(t *testing.T) {
	e := find(t, user("claude-code", `{"x": {"command": "a", "args": ["${GONE}", "${GONE:-d}"], "env": {"A": "s3cr3t${GONE}"}}}`, nil), "claude-code", "x")
	l, err := e.Resolve(lookup(nil))
	if err != nil || len(l.Notes) != 2 || !strings.Contains(l.Notes[0], `argument 1 names the environment variable "GONE", which is not set: claude-code passes "${GONE}" on as it is written`) || !strings.Contains(l.Notes[1], `env "A"`) {
		t.Errorf("got %q, %v", l.Notes, err)
	}
}

// A recorded launch is an entry like any other, but for what is not recorded.
func TestRecorded(t *testing.T) {
	s := machine("linux", nil, nil)
	env := map[string]string{"KEY": "s3cr3t", "T": "t"}
	for _, tt := range []struct {
		from lock.Source
		want string
	}{
		{lock.Source{Client: "cursor/x", Command: []string{"a", "${env:KEY}", "${workspaceFolder}"}, Dir: "sub", Env: []string{"GONE", "T"}}, "[a][s3cr3t][/srv/proj] in sub T=t"},
		{lock.Source{Client: "claude-code/x", URL: "https://${T}.example/mcp", Env: []string{"T", "KEY"}}, "https://t.example/mcp"},
		{lock.Source{Client: "windsurf/x", URL: "https://a.example"}, "https://a.example"},
		{lock.Source{Client: "codex/a/b", Command: []string{"$KEY"}}, "[$KEY]"},
	} {
		e, err := s.Recorded(tt.from, "mcpsign.lock.json")
		if err != nil {
			t.Errorf("%v: %v", tt.from, err)
			continue
		}
		l, err := e.Resolve(lookup(env))
		if err != nil || describe(l) != tt.want || !e.Project || e.File != "mcpsign.lock.json" {
			t.Errorf("%v: got %s, %v", tt.from, describe(l), err)
		}
	}
	for _, from := range []lock.Source{{Client: "emacs/x", Command: []string{"a"}}, {Client: "claude-desktop/x", URL: "https://a.example"}, {Client: "cursor/x"}} {
		if e, err := s.Recorded(from, "mcpsign.lock.json"); e != nil || err == nil {
			t.Errorf("%v: got %v", from, e)
		}
	}
}
