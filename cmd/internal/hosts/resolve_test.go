package hosts_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/hosts"
)

var environment = map[string]string{
	"KEY": "s3cr3t", "EMPTY": "", "HOST_URL": "https://api.example", "TRICK": "${KEY} ${env:KEY} $KEY", "low": "l",
	"MCPSIGN_INPUT_API_KEY": "s3cr3t-typed",
}

func TestResolve(t *testing.T) {
	tests := []struct{ host, entry, want string }{
		// Claude Desktop and Codex take every text as it stands.
		{"claude-desktop", `{"command": "a", "args": ["${KEY}", "$KEY", "${env:KEY}"], "env": {"A": "${KEY}"}, "cwd": "/x"}`, "[a][${KEY}][$KEY][${env:KEY}] A=${KEY}"},
		{"codex", "command = \"a\"\nargs = [\"$KEY\"]\ncwd = \"/x\"\nenv = { B = \"${KEY}\" }\nenv_vars = [\"KEY\", { name = \"low\", source = \"local\" }, \"GONE\"]", "[a][$KEY] in /x B=${KEY} KEY=s3cr3t low=l"},
		{"codex", "command = \"a\"\nenv_vars = [{ name = \"KEY\" }]", "[a] KEY=s3cr3t"},
		{"codex", "command = \"a\"\nenv = { KEY = \"mine\" }\nenv_vars = [\"KEY\"]", "[a] KEY=mine"},
		{"codex", "url = \"https://a.example/mcp\"\nbearer_token_env_var = \"KEY\"\nhttp_headers = { x-a = \"1\" }\nenv_http_headers = { X-B = \"low\" }", "https://a.example/mcp Authorization: Bearer s3cr3t X-A: 1 X-B: l"},

		{"claude-code", `{"command": "${low}/a", "args": ["${GONE:-d}", "${GONE:-}", "${EMPTY:-d}", "a${KEY}b", "$KEY", "${", "$", "${KEY:-x}"], "env": {"A": "${KEY}"}}`, "[l/a][d][][][as3cr3tb][$KEY][${][$][s3cr3t] A=s3cr3t"},
		{"claude-code", `{"type": "http", "url": "${HOST_URL}/mcp", "headers": {"authorization": "Bearer ${KEY}"}}`, "https://api.example/mcp Authorization: Bearer s3cr3t"},
		{"claude-code", `{"command": "a", "args": ["x${GONE}"], "env": {"A": "${GONE}"}}`, "[a][x${GONE}] A=${GONE}"},
		{"claude-code", `{"command": "a", "args": ["${TRICK}"]}`, "[a][${KEY} ${env:KEY} $KEY]"},

		{"cursor", `{"command": "${userHome}/a", "args": ["${workspaceFolder}", "${workspaceFolderBasename}", "${pathSeparator}${/}", "${env:KEY}", "${KEY}", "${input:x}"], "env": {"A": "${env:TRICK}"}, "cwd": "${workspaceFolder}/s"}`,
			"[/home/ann/a][/srv/proj][proj][//][s3cr3t][${KEY}][${input:x}] in /srv/proj/s A=${KEY} ${env:KEY} $KEY"},
		{"cursor", `{"url": "${env:HOST_URL}", "headers": {"X-K": "${env:KEY}"}}`, "https://api.example X-K: s3cr3t"},

		{"vscode", `{"type": "stdio", "command": "sh", "args": ["-c", "echo ${HOME}", "${cwd}"], "env": {"A": "${input:api-key}", "E": "${env:EMPTY}"}}`, "[sh][-c][echo ${HOME}][/srv/proj] A=s3cr3t-typed E="},
		{"vscode", `{"type": "sse", "url": "https://a.example/sse", "headers": {"K": "${input:API_KEY}"}}`, "https://a.example/sse K: s3cr3t-typed"},

		{"windsurf", `{"command": "${env:low}", "args": ["${workspaceFolder}", "${input:x}"]}`, "[l][${workspaceFolder}][${input:x}]"},
		{"windsurf", `{"serverUrl": "https://a.example", "headers": {"K": "${env:KEY}"}}`, "https://a.example K: s3cr3t"},

		{"gemini", `{"command": "$low", "args": ["${KEY}", "$KEY/x", "a$5b", "pa$word", "$", "${}", "$low$low"], "env": {"A": "$TRICK"}, "cwd": "./d"}`, "[l][s3cr3t][s3cr3t/x][a$5b][pa$word][$][${}][ll] in ./d A=${KEY} ${env:KEY} $KEY"},
		{"gemini", `{"httpUrl": "$HOST_URL/mcp"}`, "https://api.example/mcp"},
		{"gemini", `{"httpUrl": "https://b.example", "url": "https://a.example"}`, "https://b.example"},
		{"gemini", `{"command": "a", "args": ["${GONE:-d}", "${low:-d}", "${GONE:-}", "${GONE}", "$GONE/x", "${gone}"], "env": {"A": "$GONE"}}`, "[a][d][l][][${GONE}][$GONE/x][${gone}] A=$GONE"},
		{"vscode", `{"command": "a", "env": {"A": null, "B": "b", "N": 5}}`, "[a] B=b N=5"},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			e := find(t, user(tt.host, server(tt.host, tt.entry), environment), tt.host, "x")
			l, err := e.Resolve(lookup(environment))
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(l); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// server gives an entry the name x.
func server(host, entry string) string {
	if host == "codex" {
		return "[mcp_servers.x]\n" + entry
	}
	return `{"x": ` + entry + `}`
}

func TestResolveWindows(t *testing.T) {
	file := map[string]string{`C:\Users\ann\.cursor\mcp.json`: `{"mcpServers": {"x": {"command": "${userHome}${/}a.exe", "args": ["${workspaceFolderBasename}"]}}}`}
	l, err := find(t, machine("windows", file, nil), "cursor", "x").Resolve(lookup(nil))
	if err != nil || describe(l) != `[C:\Users\ann\a.exe][proj]` {
		t.Errorf("got %v, %v", l, err)
	}
}

func TestResolveErrors(t *testing.T) {
	tests := []struct{ name, host, entry, want string }{
		{"unset", "windsurf", `{"command": "a", "args": ["x", "${env:GONE}"]}`, `argument 2 needs the environment variable "GONE", which is not set`},
		{"unset", "cursor", `{"url": "http://a", "headers": {"K": "${env:GONE}"}}`, `header "K" needs the environment variable "GONE"`},
		{"unset", "codex", "url = \"http://a\"\nbearer_token_env_var = \"GONE\"", `header "Authorization" needs the environment variable "GONE"`},
		{"unset", "codex", "url = \"http://a\"\nenv_http_headers = { K = \"GONE\" }", `header "K" needs the environment variable "GONE"`},
		{"input", "vscode", `{"command": "a", "env": {"A": "${input:db-url}"}}`, `env "A" takes the input "db-url", which the host asks a person for: set MCPSIGN_INPUT_DB_URL`},
		{"editor", "vscode", `{"command": "${config:x.y}"}`, `command: only vscode can resolve the placeholder "${config:x.y}"`},
		{"editor", "vscode", `{"command": "a", "args": ["${workspaceFolder:other}"]}`, `only vscode can resolve`},
		{"editor", "vscode", `{"command": "a", "args": ["${fileDirname}"]}`, `only vscode can resolve`},
		{"file", "windsurf", `{"url": "http://a", "headers": {"K": "${file:/k}"}}`, `only windsurf can resolve`},
		{"scheme", "vscode", `{"url": "unix:///run/s3cr3t.sock"}`, "its URL is a local unix socket, which mcpsign does not reach"},
		{"scheme", "vscode", `{"url": "pipe:///pipe/s3cr3t"}`, "its URL is a local pipe socket, which mcpsign does not reach"},
		{"scheme", "claude-code", `{"type": "ws", "url": "ws://a.example/s3cr3t"}`, "not an absolute one of http or https"},
		{"no URL", "cursor", `{"url": "${env:KEY}"}`, "not an absolute one of http or https"},
		{"empty command", "claude-code", `{"command": "${EMPTY}"}`, "resolves to nothing"},
		{"zero byte", "claude-code", `{"command": "a", "env": {"A": "s3cr3t\u0000"}}`, "a zero byte"},
		{"header split", "claude-code", `{"type": "http", "url": "http://a", "headers": {"A": "s3cr3t\r\nB: c"}}`, `the value of header "A" holds a control character`},
		{"amplified", "cursor", `{"command": "a", "args": ["` + strings.Repeat("${env:LONG}", 1000) + `"]}`, "more than 4194304 bytes"},
	}
	env := map[string]string{"LONG": strings.Repeat("s3cr3t", 10_000)}
	for name, v := range environment {
		env[name] = v
	}
	for _, tt := range tests {
		t.Run(tt.host+" "+tt.name, func(t *testing.T) {
			e := find(t, user(tt.host, server(tt.host, tt.entry), env), tt.host, "x")
			l, err := e.Resolve(lookup(env))
			if err == nil || l != nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), tt.host+"/x (/home/ann/") {
				t.Fatalf("got %v, %v, want %s", l, err, tt.want)
			}
			var unset *hosts.UnsetError
			if errors.As(err, &unset) != (tt.name == "unset" || tt.name == "input") {
				t.Errorf("%T", err)
			}
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("%v holds a value", err)
			}
		})
	}
	if _, err := new(hosts.Entry).Resolve(lookup(nil)); err == nil {
		t.Error("an empty entry resolves")
	}
}

func TestNamesOnly(t *testing.T) {
	e := find(t, user("vscode", `{"x": {"command": "a", "args": ["${env:B}"], "env": {"K": "${input:k}", "A": "s3cr3t"}, "envFile": ".env"}}`, nil), "vscode", "x")
	if !slices.Equal(e.Env, []string{"A", "K"}) || !slices.Equal(e.Variables, []string{"B", "MCPSIGN_INPUT_K"}) || len(e.Notes) != 1 || !strings.Contains(e.Notes[0], "envFile") {
		t.Errorf("env %q, variables %q, notes %q", e.Env, e.Variables, e.Notes)
	}
	e = find(t, user("codex", server("codex", "url = \"https://a.example\"\nbearer_token_env_var = \"T\"\nhttp_headers = { x-b = \"s3cr3t\" }\nenabled = false"), nil), "codex", "x")
	if !slices.Equal(e.Headers, []hosts.Header{{"Authorization", "Bearer ${T}"}, {"x-b", "..."}}) || !slices.Equal(e.Variables, []string{"T"}) || !e.Disabled || e.Transport != hosts.HTTP {
		t.Errorf("headers %q, variables %q", e.Headers, e.Variables)
	}
	for entry, want := range map[string]string{`{"url": "http://a"}`: hosts.HTTP, `{"url": "http://a", "type": "sse"}`: hosts.SSE, `{"url": "http://a", "type": "http"}`: hosts.HTTP, `{"httpUrl": "http://a"}`: hosts.HTTP} {
		if e := find(t, user("gemini", server("gemini", entry), nil), "gemini", "x"); e.Transport != want {
			t.Errorf("%s: %s", entry, e.Transport)
		}
	}
}

// TestSecrets: no way of printing an entry or a launch shows a value.
func TestSecrets(t *testing.T) {
	env := map[string]string{"T": "s3cr3t"}
	for _, entry := range []string{
		`{"command": "a", "env": {"A": "s3cr3t", "B": "${T}"}}`,
		`{"type": "http", "url": "https://a.example", "headers": {"A": "s3cr3t", "B": "${T}"}}`,
	} {
		e := find(t, user("claude-code", server("claude-code", entry), env), "claude-code", "x")
		l, err := e.Resolve(lookup(env))
		if err != nil || !strings.Contains(describe(l), "A") || strings.Count(describe(l), "s3cr3t") != 2 {
			t.Fatalf("got %s, %v", describe(l), err)
		}
		for _, v := range []any{e, *e, struct{ e hosts.Entry }{*e}, []*hosts.Entry{e}, l, *l, []hosts.Launch{*l}} {
			text, _ := json.Marshal(v)
			for _, got := range []string{fmt.Sprint(v), fmt.Sprintf("%v %+v %#v %s %q", v, v, v, v, v), string(text)} {
				if strings.Contains(got, "s3cr3t") {
					t.Errorf("%T prints as %s", v, got)
				}
			}
		}
	}
}
