package hosts_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/hosts"
)

// machine returns a system with the files and the environment given.
func machine(goos string, files map[string]string, env map[string]string) hosts.System {
	s := hosts.System{OS: goos, Home: "/home/ann", Dir: "/srv/proj"}
	switch goos {
	case "darwin":
		s.Home = "/Users/ann"
	case "windows":
		s.Home, s.Dir = `C:\Users\ann`, `C:\srv\proj`
	}
	s.LookupEnv = lookup(env)
	s.ReadFile = func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	}
	return s
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}

// find finds an entry and fails without one.
func find(t *testing.T, s hosts.System, host, server string) *hosts.Entry {
	t.Helper()
	e, err := s.Find(host, server)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// userFile is where each host keeps the user's servers on Linux, and how.
var userFile = map[string]struct{ name, before, after string }{
	"claude-desktop": {"/home/ann/.config/Claude/claude_desktop_config.json", `{"mcpServers":`, `}`},
	"claude-code":    {"/home/ann/.claude.json", `{"mcpServers":`, `}`},
	"cursor":         {"/home/ann/.cursor/mcp.json", `{"mcpServers":`, `}`},
	"vscode":         {"/home/ann/.config/Code/User/mcp.json", `{"servers":`, `}`},
	"windsurf":       {"/home/ann/.codeium/windsurf/mcp_config.json", `{"mcpServers":`, `}`},
	"gemini":         {"/home/ann/.gemini/settings.json", `{"mcpServers":`, `}`},
	"codex":          {"/home/ann/.codex/config.toml", "", ""},
}

// user returns a system on which host has the servers given.
func user(host, servers string, env map[string]string) hosts.System {
	f := userFile[host]
	return machine("linux", map[string]string{f.name: f.before + servers + f.after}, env)
}

// describe spells a launch out, secrets and all.
func describe(l *hosts.Launch) string {
	var b strings.Builder
	for _, a := range l.Argv {
		fmt.Fprintf(&b, "[%s]", a)
	}
	if l.URL != "" {
		b.WriteString(l.URL)
	}
	if l.Dir != "" {
		b.WriteString(" in " + l.Dir)
	}
	for _, v := range l.Env {
		b.WriteString(" " + v)
	}
	var names []string
	for name := range l.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, " %s: %s", name, strings.Join(l.Header[name], ","))
	}
	return b.String()
}
