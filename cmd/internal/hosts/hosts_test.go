package hosts_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/hosts"
)

const (
	stdio = `{"x": {"command": "npx", "args": ["-y", "x-mcp"]}}`
	table = "[mcp_servers.x]\ncommand = \"npx\"\nargs = [\"-y\", \"x-mcp\"]\n"
)

// TestPaths finds the same server in each file of each host, on each system.
func TestPaths(t *testing.T) {
	project := func(text string) string { return `{"projects": {"/other": {}, "DIR": {"mcpServers": ` + text + `}}}` }
	tests := []struct {
		os, host, file, text string
		env                  map[string]string
		project              bool
	}{
		{os: "linux", host: "claude-desktop", file: "/home/ann/.config/Claude/claude_desktop_config.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "linux", host: "claude-desktop", file: "/cfg/Claude/claude_desktop_config.json", text: `{"mcpServers": ` + stdio + `}`, env: map[string]string{"XDG_CONFIG_HOME": "/cfg"}},
		{os: "darwin", host: "claude-desktop", file: "/Users/ann/Library/Application Support/Claude/claude_desktop_config.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "windows", host: "claude-desktop", file: `C:\Users\ann\AppData\Roaming\Claude\claude_desktop_config.json`, text: `{"mcpServers": ` + stdio + `}`},
		{os: "windows", host: "claude-desktop", file: `D:\r\Claude\claude_desktop_config.json`, text: `{"mcpServers": ` + stdio + `}`, env: map[string]string{"APPDATA": `D:\r\`}},
		{os: "windows", host: "claude-desktop", file: `D:\l\Packages\Claude_pzs8sxrjxfjjc\LocalCache\Roaming\Claude\claude_desktop_config.json`, text: `{"mcpServers": ` + stdio + `}`, env: map[string]string{"LOCALAPPDATA": `D:\l`}},
		{os: "linux", host: "claude-code", file: "/srv/proj/.mcp.json", text: `{"mcpServers": ` + stdio + `}`, project: true},
		{os: "linux", host: "claude-code", file: "/home/ann/.claude.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "linux", host: "claude-code", file: "/home/ann/.claude.json", text: strings.ReplaceAll(project(stdio), "DIR", "/srv/proj")},
		{os: "linux", host: "claude-code", file: "/c/.claude.json", text: `{"mcpServers": ` + stdio + `}`, env: map[string]string{"CLAUDE_CONFIG_DIR": "/c"}},
		{os: "windows", host: "claude-code", file: `C:\Users\ann\.claude.json`, text: strings.ReplaceAll(project(stdio), "DIR", "c:/srv/proj")},
		{os: "windows", host: "claude-code", file: `C:\Users\ann\.claude.json`, text: strings.ReplaceAll(project(stdio), "DIR", `C:\\srv\\proj`)},
		{os: "windows", host: "claude-code", file: `C:\srv\proj\.mcp.json`, text: `{"mcpServers": ` + stdio + `}`, project: true},
		{os: "linux", host: "cursor", file: "/home/ann/.cursor/mcp.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "linux", host: "cursor", file: "/srv/proj/.cursor/mcp.json", text: `{"mcpServers": ` + stdio + `}`, project: true},
		{os: "windows", host: "cursor", file: `C:\Users\ann\.cursor\mcp.json`, text: `{"mcpServers": ` + stdio + `}`},
		{os: "linux", host: "vscode", file: "/srv/proj/.vscode/mcp.json", text: `{"servers": ` + stdio + `}`, project: true},
		{os: "linux", host: "vscode", file: "/home/ann/.config/Code/User/mcp.json", text: `{"servers": ` + stdio + `}`},
		{os: "darwin", host: "vscode", file: "/Users/ann/Library/Application Support/Code/User/mcp.json", text: `{"servers": ` + stdio + `}`},
		{os: "windows", host: "vscode", file: `C:\Users\ann\AppData\Roaming\Code\User\mcp.json`, text: `{"servers": ` + stdio + `}`},
		{os: "linux", host: "windsurf", file: "/home/ann/.codeium/windsurf/mcp_config.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "linux", host: "claude-code", file: "/etc/claude-code/managed-mcp.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "darwin", host: "claude-code", file: "/Library/Application Support/ClaudeCode/managed-mcp.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "windows", host: "claude-code", file: `C:\Program Files\ClaudeCode\managed-mcp.json`, text: `{"mcpServers": ` + stdio + `}`},
		{os: "linux", host: "windsurf", file: "/home/ann/.config/devin/mcp_config.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "darwin", host: "windsurf", file: "/Users/ann/.config/devin/mcp_config.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "windows", host: "windsurf", file: `C:\Users\ann\AppData\Roaming\devin\mcp_config.json`, text: `{"mcpServers": ` + stdio + `}`},
		{os: "linux", host: "windsurf", file: "/srv/proj/.devin/mcp_config.json", text: `{"mcpServers": ` + stdio + `}`, project: true},
		{os: "linux", host: "gemini", file: "/g/.gemini/settings.json", text: `{"mcpServers": ` + stdio + `}`, env: map[string]string{"GEMINI_CLI_HOME": "/g"}},
		{os: "linux", host: "gemini", file: "/etc/gemini-cli/settings.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "linux", host: "gemini", file: "/etc/gemini-cli/system-defaults.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "linux", host: "gemini", file: "/s.json", text: `{"mcpServers": ` + stdio + `}`, env: map[string]string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH": "/s.json"}},
		{os: "darwin", host: "gemini", file: "/Library/Application Support/GeminiCli/settings.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "windows", host: "gemini", file: `C:\ProgramData\gemini-cli\system-defaults.json`, text: `{"mcpServers": ` + stdio + `}`},
		{os: "linux", host: "gemini", file: "/home/ann/.gemini/settings.json", text: `{"mcpServers": ` + stdio + `}`},
		{os: "darwin", host: "gemini", file: "/srv/proj/.gemini/settings.json", text: `{"mcpServers": ` + stdio + `}`, project: true},
		{os: "linux", host: "codex", file: "/home/ann/.codex/config.toml", text: table},
		{os: "linux", host: "codex", file: "/srv/proj/.codex/config.toml", text: table, project: true},
		{os: "windows", host: "codex", file: `E:\codex\config.toml`, text: table, env: map[string]string{"CODEX_HOME": `E:\codex`}},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		seen[tt.host] = true
		t.Run(tt.os+" "+tt.file, func(t *testing.T) {
			e := find(t, machine(tt.os, map[string]string{tt.file: tt.text}, tt.env), tt.host, "x")
			if e.File != tt.file || e.Project != tt.project || e.Host != tt.host || e.Server != "x" {
				t.Errorf("got %s, project %t", e, e.Project)
			}
			if !slices.Equal(e.Command, []string{"npx", "-y", "x-mcp"}) || e.Transport != hosts.Stdio || len(e.Notes) != 0 {
				t.Errorf("got %q, %s, notes %q", e.Command, e.Transport, e.Notes)
			}
		})
	}
	if len(seen) != len(hosts.Names()) {
		t.Errorf("only %v of %v are tested", seen, hosts.Names())
	}
}

func TestPrecedence(t *testing.T) {
	one := func(command string) string { return `{"mcpServers": {"x": {"command": "` + command + `"}}}` }
	claude := `{"mcpServers": {"x": {"command": "user"}}, "projects": {"/srv/proj": {"mcpServers": {"x": {"command": "local"}}}}}`
	tests := []struct {
		host  string
		files map[string]string
		want  string
		notes int
	}{
		{"claude-code", map[string]string{"/home/ann/.claude.json": claude, "/srv/proj/.mcp.json": one("project")}, "local", 2},
		{"claude-code", map[string]string{"/home/ann/.claude.json": one("user"), "/srv/proj/.mcp.json": one("project")}, "project", 1},
		{"cursor", map[string]string{"/home/ann/.cursor/mcp.json": one("user"), "/srv/proj/.cursor/mcp.json": one("project")}, "project", 1},
		{"gemini", map[string]string{"/home/ann/.gemini/settings.json": one("user"), "/srv/proj/.gemini/settings.json": one("project")}, "project", 1},
		{"gemini", map[string]string{"/etc/gemini-cli/system-defaults.json": one("defaults"), "/home/ann/.gemini/settings.json": one("user")}, "user", 1},
		{"gemini", map[string]string{"/etc/gemini-cli/settings.json": one("admin"), "/srv/proj/.gemini/settings.json": one("project")}, "admin", 1},
		{"windsurf", map[string]string{"/home/ann/.codeium/windsurf/mcp_config.json": one("old"), "/home/ann/.config/devin/mcp_config.json": one("new")}, "new", 1},
		{"claude-code", map[string]string{"/etc/claude-code/managed-mcp.json": one("managed"), "/srv/proj/.mcp.json": one("project"), "/home/ann/.claude.json": claude}, "managed", 0},
	}
	for _, tt := range tests {
		e := find(t, machine("linux", tt.files, nil), tt.host, "x")
		if e.Command[0] != tt.want || len(e.Notes) != tt.notes {
			t.Errorf("%s: got %s, notes %q, want %s and %d notes", tt.host, e.Command[0], e.Notes, tt.want, tt.notes)
		}
	}
}

// Codex merges two tables of one name key by key: neither of the two is what it starts.
func TestMerged(t *testing.T) {
	s := machine("linux", map[string]string{"/home/ann/.codex/config.toml": table, "/srv/proj/.codex/config.toml": "[mcp_servers.x]\ncommand = \"evil\"\n[mcp_servers.y]\ncommand = \"y\"\n"}, nil)
	if e, err := s.Find("codex", "x"); err == nil || !strings.Contains(err.Error(), "merges the two") {
		t.Errorf("got %v, %v", e, err)
	}
	find(t, s, "codex", "y")
}

// In the home folder the project's file is the user's.
func TestAtHome(t *testing.T) {
	s := user("cursor", stdio, nil)
	s.Dir = s.Home
	if e := find(t, s, "cursor", "x"); e.Project || len(e.Notes) != 0 {
		t.Errorf("got project %t, notes %q", e.Project, e.Notes)
	}
}

func TestFindErrors(t *testing.T) {
	s := user("cursor", `{"b": {"command": "b"}, "a\u001b[31m": {"command": "a"}}`, nil)
	if _, err := s.Find("emacs", "x"); err == nil || !strings.Contains(err.Error(), "claude-desktop, claude-code, cursor, vscode, windsurf, gemini, codex") {
		t.Errorf("unknown host: %v", err)
	}
	_, err := s.Find("cursor", "x")
	var missing *hosts.NotFoundError
	if !errors.As(err, &missing) || len(missing.Files) != 2 || len(missing.Servers) != 2 {
		t.Fatalf("unknown server: %v", err)
	}
	for _, want := range []string{`"x"`, "/srv/proj/.cursor/mcp.json", "/home/ann/.cursor/mcp.json", "b", `a\u{1b}[31m`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if _, err := machine("linux", nil, nil).Find("codex", "x"); !errors.As(err, &missing) || !strings.Contains(err.Error(), "no server") {
		t.Errorf("no files: %v", err)
	}
	s.Home = ""
	if _, err := s.Find("cursor", "b"); err == nil {
		t.Error("found without a home")
	}
	s = machine("linux", nil, nil)
	s.ReadFile = func(string) ([]byte, error) { return nil, errors.New("disk on fire") }
	var file *hosts.FileError
	if _, err := s.Find("windsurf", "x"); !errors.As(err, &file) || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("unreadable: %v", err)
	}
}

// TestBadFiles: the whole file is refused, with its name and the line.
func TestBadFiles(t *testing.T) {
	tests := []struct{ name, host, servers, want string }{
		{"server twice", "cursor", "{\"x\": {\"command\": \"a\"},\n\"x\": {\"command\": \"b\"}}", `mcp.json:2: duplicate_key at "/mcpServers/x"`},
		{"server twice, escaped", "claude-code", `{"x": {"command": "a"}, "\u0078": {"command": "b"}}`, `duplicate_key at "/mcpServers/x"`},
		{"servers twice", "claude-code", `{}, "mcpServers": {}`, `duplicate_key at "/mcpServers"`},
		{"servers no object", "vscode", `[]`, "expected an object"},
		{"no JSON", "windsurf", `{"x": {"command": "a", "env": {"K": s3cr3t}}}`, "no JSON"},
		{"no JSON, strict", "claude-code", `{"x": {"command": "a", "env": {"K": s3cr3t}}}`, "json_syntax"},
		{"trailing comma, strict", "claude-code", `{"x": {"command": "a"},}`, "json_syntax"},
		{"comment, strict", "claude-desktop", `/* c */ {"x": {"command": "a"}}`, "json_syntax"},
		{"trailing text", "gemini", `{}} x`, "trailing_data"},
		{"cut off", "cursor", `{"x": {`, "no JSON"},
		{"too deep", "cursor", strings.Repeat("[", 1<<20), "more than 50000 objects and arrays"},
		{"too many values", "vscode", `{"x": [` + strings.Repeat("1,", 1_000_000) + "1]}", "more than 200000 commas"},
		{"too large", "claude-code", strings.Repeat(" ", hosts.MaxFile), "more than 16777216 bytes"},
		{"table twice", "codex", table + table, "config.toml:4: no TOML: Key 'mcp_servers.x' has already been defined"},
		{"key twice", "codex", "[mcp_servers.x]\ncommand = \"a\"\ncommand = \"b\"\n", "config.toml:3: no TOML: Key 'mcp_servers.x.command'"},
		{"no TOML", "codex", "[mcp_servers.x]\nenv = { K = s3cr3t }\n", "config.toml:2: no TOML"},
		{"no table", "codex", "mcp_servers = 3\n", "no table"},
		{"TOML too large", "codex", strings.Repeat("#\n", 1<<20), "more than 1048576 bytes"},
		{"key of many parts", "codex", strings.Repeat("a.", 100_000) + "a = 1\n", "config.toml:1: more than 256 dots in a line"},
		{"deep inline tables", "codex", "a = " + strings.Repeat("{a =\n", 100_000), "more than 1000 inline tables"},
		{"deep arrays", "codex", "a = " + strings.Repeat("[", 1_000), "no TOML"},
		{"deeper arrays", "codex", "a = " + strings.Repeat("[", 1_000_000), "more than 10000 opening brackets"},
		{"deeper arrays on lines of their own", "codex", "a = " + strings.Repeat("[ #]\n", 200_000), "more than 10000 opening brackets"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := user(tt.host, tt.servers, nil).Find(tt.host, "x")
			var file *hosts.FileError
			if !errors.As(err, &file) || file.File != userFile[tt.host].name || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("%v holds a value", err)
			}
		})
	}
}

// TestBadEntries: one entry is refused, the others are there.
func TestBadEntries(t *testing.T) {
	tests := []struct{ name, host, entry, want string }{
		{"nothing", "cursor", `{}`, "neither a command nor a URL"},
		{"no object", "cursor", `"npx"`, "expected an object"},
		{"two ways", "windsurf", `{"url": "http://a", "serverUrl": "http://b"}`, "more than one"},
		{"number", "claude-code", `{"command": "a", "env": {"K": 12345}}`, `env "K" is a number: claude-code does not start such a server`},
		{"URL without type", "claude-code", `{"url": "https://a"}`, "has a URL and no type: claude-code does not start such a server"},
		{"null", "cursor", `{"command": "a", "env": {"K": null}}`, `expected a string, found null at "/env/K"`},
		{"command and URL", "vscode", `{"command": "a", "url": "http://b"}`, "more than one"},
		{"URL of another host", "cursor", `{"serverUrl": "http://b"}`, "neither a command nor a URL"},
		{"URL where there are none", "claude-desktop", `{"url": "http://b"}`, "has no command"},
		{"unknown transport", "claude-code", `{"type": "tcp", "url": "http://b"}`, `transport "tcp" is not known`},
		{"transport of the other kind", "claude-code", `{"type": "stdio", "url": "http://b"}`, "does not go with"},
		{"command no string", "cursor", `{"command": ["npx"]}`, `expected a string, found an array at "/command"`},
		{"args no array", "cursor", `{"command": "npx", "args": "-y"}`, `expected an array, found a string at "/args"`},
		{"variable twice", "cursor", `{"command": "npx", "env": {"K": "s3cr3t", "K": "b"}}`, `duplicate_key at "/env/K"`},
		{"value no string", "cursor", `{"command": "npx", "env": {"K": ["s3cr3t"]}}`, `expected a string, found an array at "/env/K"`},
		{"half a character", "cursor", `{"command": "npx", "env": {"K": "s3cr3t\ud800"}}`, `lone_surrogate at "/env/K"`},
		{"name of a variable", "cursor", `{"command": "npx", "env": {"A=B": "s3cr3t"}}`, "can't be the name of a variable"},
		{"name of a header", "cursor", `{"url": "http://b", "headers": {"a b": "s3cr3t"}}`, "can't be the name of a header"},
		{"header twice", "cursor", `{"url": "http://b", "headers": {"X-A": "s3cr3t", "x-a": "b"}}`, "is there twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := user(tt.host, `{"bad": `+tt.entry+`, "good": {"command": "a"}}`, nil)
			checkBad(t, s, tt.host, tt.want)
		})
	}
	for entry, want := range map[string]string{
		"":                                 "neither a command nor a URL",
		"command = 3":                      "command: expected a string",
		"command = \"a\"\nargs = 3":        "args: expected an array",
		"command = \"a\"\nargs = [3]":      "args: expected an array",
		"command = \"a\"\nenv = { K = 3 }": "env: expected a table",
		"command = \"a\"\nenv_vars = [3]":  "env_vars: expected names",
		"command = \"a\"\nenv_vars = [{ name = \"A\", source = \"remote\" }]":                             "env_vars: expected variables of this machine",
		"command = \"a\"\nenabled = \"no\"":                                                               "enabled: expected true or false",
		"url = \"http://a\"\nbearer_token = \"s3cr3t\"":                                                   "bearer_token: expected a variable in bearer_token_env_var",
		"url = \"http://a\"\nbearer_token_env_var = \"A\"\nhttp_headers = { authorization = \"s3cr3t\" }": "is there twice",
	} {
		t.Run("codex "+want, func(t *testing.T) {
			s := user("codex", "[mcp_servers.bad]\n"+entry+"\n[mcp_servers.good]\ncommand = \"a\"\n", nil)
			checkBad(t, s, "codex", want)
		})
	}
}

// checkBad checks that s has a server that is good, and one that is bad for the reason want.
func checkBad(t *testing.T, s hosts.System, host, want string) {
	t.Helper()
	find(t, s, host, "good")
	_, err := s.Find(host, "bad")
	var file *hosts.FileError
	if !errors.As(err, &file) || !strings.Contains(err.Error(), `server "bad": `) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	all, allErr := s.All(host)
	if len(all) != 1 || all[0].Server != "good" || allErr == nil || err != nil && allErr.Error() != err.Error() {
		t.Errorf("all: %v, %v", all, allErr)
	}
	if strings.Contains(fmt.Sprintf("%v %+v", err, allErr), "s3cr3t") {
		t.Errorf("%v holds a value", err)
	}
}

func TestAll(t *testing.T) {
	s := machine("linux", map[string]string{
		"/home/ann/.cursor/mcp.json": `{"mcpServers": {"c": {"command": "c"}, "b": {"command": "user"}}}`,
		"/srv/proj/.cursor/mcp.json": `{"mcpServers": {"b": {"command": "project"}, "a": {"url": "https://a.example", "disabled": true}}}`,
	}, nil)
	all, err := s.All("cursor")
	if err != nil || fmt.Sprint(all) != "[cursor/a (/srv/proj/.cursor/mcp.json:1) cursor/b (/srv/proj/.cursor/mcp.json:1) cursor/c (/home/ann/.cursor/mcp.json:1)]" {
		t.Errorf("got %v, %v", all, err)
	}
	if len(all) == 3 && (!all[0].Disabled || all[1].Disabled || len(all[1].Notes) != 1) {
		t.Errorf("got disabled %t and %t, notes %q", all[0].Disabled, all[1].Disabled, all[1].Notes)
	}
	if all, err := s.All("gemini"); len(all) != 0 || err != nil {
		t.Errorf("got %v, %v", all, err)
	}
}

// What stands around the servers is the host's: it may be anything that is JSON.
func TestAround(t *testing.T) {
	text := "\ufeff{\"history\": [\"\\ud83d\", {\"a\": 1, \"a\": 1e999}],\n\"mcpServers\": {\"x\":\n {\"command\": \"a\", \"timeout\": 1e999, \"env\": null}}}"
	if e := find(t, machine("linux", map[string]string{"/home/ann/.claude.json": text}, nil), "claude-code", "x"); e.Line != 3 {
		t.Errorf("got line %d", e.Line)
	}
	text = "\ufeff// mine\n{\n  \"servers\": {\n    // the one\n    \"x\": {\n      \"command\": \"a\", /* old: \"b\" */\n      \"args\": [\"//no\", \"/*comment*/\",],\n    },\n  },\n}\n"
	e := find(t, machine("linux", map[string]string{"/srv/proj/.vscode/mcp.json": text}, nil), "vscode", "x")
	if e.Line != 5 || !slices.Equal(e.Command, []string{"a", "//no", "/*comment*/"}) {
		t.Errorf("got line %d, %q", e.Line, e.Command)
	}
}
