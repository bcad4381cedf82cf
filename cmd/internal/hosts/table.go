package hosts

import "strings"

// A host is how one host keeps its servers.
type host struct {
	name     string
	places   func(System) []place // the first wins
	member   string               // that holds the servers
	comments bool                 // comments and trailing commas are allowed
	toml     bool
	merges   bool     // entries of one name in two files are merged
	urls     []string // members that hold a URL, each another way to say it
	cwd      bool     // the member cwd counts
	syntax   syntax
}

// A place is a file, or a part of one.
type place struct {
	file    string
	project bool // the file lies in the project's folder
	within  bool // only what the file says for the project's folder counts
}

// hosts returns the table of hosts. It is a function so that nobody can change it.
func hosts() []host {
	return []host{
		{name: "claude-desktop", places: System.claudeDesktop, member: "mcpServers", syntax: plain},
		{name: "claude-code", places: System.claudeCode, member: "mcpServers", urls: []string{"url"}, syntax: shell},
		{name: "cursor", places: System.cursor, member: "mcpServers", comments: true, urls: []string{"url"}, cwd: true, syntax: cursor},
		{name: "vscode", places: System.vscode, member: "servers", comments: true, urls: []string{"url"}, cwd: true, syntax: vscode},
		{name: "windsurf", places: System.windsurf, member: "mcpServers", comments: true, urls: []string{"serverUrl", "url"}, cwd: true, syntax: windsurf},
		{name: "gemini", places: System.gemini, member: "mcpServers", comments: true, urls: []string{"httpUrl", "url"}, cwd: true, syntax: gemini},
		{name: "codex", places: System.codex, member: "mcp_servers", toml: true, merges: true, urls: []string{"url"}, cwd: true, syntax: plain},
	}
}

// separator returns what stands between the names of a path.
func (s System) separator() string {
	if s.OS == "windows" {
		return `\`
	}
	return "/"
}

// join puts a path together as the system in s spells it, not the one this program runs on.
func (s System) join(dir string, names ...string) string {
	for strings.HasSuffix(dir, "/") || s.OS == "windows" && strings.HasSuffix(dir, `\`) {
		dir = dir[:len(dir)-1]
	}
	return dir + s.separator() + strings.Join(names, s.separator())
}

// env returns a variable that holds a folder, or the folder that stands for it.
func (s System) env(name, otherwise string) string {
	if v, _ := s.LookupEnv(name); v != "" {
		return v
	}
	return otherwise
}

// config returns the folder in which programs keep their settings for the user.
func (s System) config() string {
	switch s.OS {
	case "windows":
		return s.env("APPDATA", s.join(s.Home, "AppData", "Roaming"))
	case "darwin":
		return s.join(s.Home, "Library", "Application Support")
	}
	return s.env("XDG_CONFIG_HOME", s.join(s.Home, ".config"))
}

func (s System) claudeDesktop() []place {
	const file = "claude_desktop_config.json"
	places := []place{{file: s.join(s.config(), "Claude", file)}}
	if s.OS == "windows" {
		// A package from the Store sees this folder in the place of APPDATA.
		local := s.env("LOCALAPPDATA", s.join(s.Home, "AppData", "Local"))
		store := s.join(local, "Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming", "Claude", file)
		places = append([]place{{file: store}}, places...)
	}
	return places
}

func (s System) claudeCode() []place {
	user := s.join(s.env("CLAUDE_CONFIG_DIR", s.Home), ".claude.json")
	return []place{{file: user, within: true}, {file: s.join(s.Dir, ".mcp.json"), project: true}, {file: user}}
}

func (s System) cursor() []place {
	return s.projectThen(s.join(s.Home, ".cursor", "mcp.json"), ".cursor", "mcp.json")
}

func (s System) vscode() []place {
	return s.projectThen(s.join(s.config(), "Code", "User", "mcp.json"), ".vscode", "mcp.json")
}

func (s System) windsurf() []place {
	return []place{{file: s.join(s.Home, ".codeium", "windsurf", "mcp_config.json")}}
}

func (s System) gemini() []place {
	return s.projectThen(s.join(s.Home, ".gemini", "settings.json"), ".gemini", "settings.json")
}

func (s System) codex() []place {
	return s.projectThen(s.join(s.env("CODEX_HOME", s.join(s.Home, ".codex")), "config.toml"), ".codex", "config.toml")
}

// projectThen returns the project's file and the user's, which are one in the home folder.
func (s System) projectThen(user string, names ...string) []place {
	project := s.join(s.Dir, names...)
	if project == user {
		return []place{{file: user}}
	}
	return []place{{file: project, project: true}, {file: user}}
}

// isDir reports whether name, a key in Claude Code's file, is the project's folder. On Windows that file has had both
// kinds of slashes.
func (s System) isDir(name string) bool {
	if s.OS != "windows" {
		return name == strings.TrimSuffix(s.Dir, "/")
	}
	slashed := func(p string) string { return strings.TrimSuffix(strings.ReplaceAll(p, `\`, "/"), "/") }
	return strings.EqualFold(slashed(name), slashed(s.Dir))
}
