package hosts

import (
	"errors"
	"io/fs"
	"strings"
)

// A host is how one host keeps its servers.
type host struct {
	name     string
	places   func(System) []place // the first wins
	member   string               // that holds the servers
	comments comments
	toml     bool
	merges   bool     // entries of one name in two files are merged
	urls     []string // members that hold a URL, each another way to say it
	first    bool     // of several URLs the first of urls counts; otherwise they are refused
	typed    bool     // an entry with a URL and no type is not started, nor is one with a number in env
	turnsOff bool     // an entry can say that it is not started
	removes  bool     // null in env takes a variable away
	lists    bool     // the file lists servers that are not started
	cwd      bool     // the member cwd counts
	syntax   syntax
}

// comments says what a file may have that JSON has not.
type comments int

const (
	none     comments = iota
	allowed           // comments
	trailing          // comments and trailing commas
)

// A place is a file, or a part of one.
type place struct {
	file    string
	project bool   // the file lies in the project's folder
	within  bool   // only what the file says for the project's folder counts
	alone   bool   // where the file is there, no later place counts
	form    *host  // how this file is written, if not as the host's others
	note    string // for the entries that are found there
}

// hosts returns the table of hosts. It is a function so that nobody can change it.
func hosts() []host {
	return []host{
		{name: "claude-desktop", places: System.claudeDesktop, member: "mcpServers", turnsOff: true, syntax: plain},
		{name: "claude-code", places: System.claudeCode, member: "mcpServers", urls: []string{"url"}, typed: true, syntax: shell},
		{name: "cursor", places: System.cursor, member: "mcpServers", comments: trailing, urls: []string{"url"}, turnsOff: true, cwd: true, syntax: cursor},
		{name: "vscode", places: System.vscode, member: "servers", comments: trailing, urls: []string{"url"}, turnsOff: true, removes: true, cwd: true, syntax: vscode},
		{name: "windsurf", places: System.windsurf, member: "mcpServers", comments: trailing, urls: []string{"serverUrl", "url"}, turnsOff: true, cwd: true, syntax: windsurf},
		{name: "gemini", places: System.gemini, member: "mcpServers", comments: allowed, urls: []string{"httpUrl", "url"}, first: true, lists: true, cwd: true, syntax: gemini},
		{name: "codex", places: System.codex, member: "mcp_servers", toml: true, merges: true, urls: []string{"url"}, turnsOff: true, cwd: true, syntax: plain},
	}
}

// copilot is how the Copilot agent of VS Code keeps its servers.
func copilot() *host {
	return &host{name: "vscode", member: "mcpServers", comments: trailing, urls: []string{"url"}, cwd: true, syntax: gemini}
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

// claudeCode returns the places of Claude Code, for which the project is the work tree of Git.
func (s System) claudeCode() []place {
	managed := s.system("/etc/claude-code", "/Library/Application Support/ClaudeCode", `C:\Program Files\ClaudeCode`, "managed-mcp.json")
	user := s.join(s.env("CLAUDE_CONFIG_DIR", s.Home), ".claude.json")
	return []place{{file: managed, alone: true}, {file: user, within: true}, {file: s.join(s.root(), ".mcp.json"), project: true}, {file: user}}
}

// system returns a file in the folder where administrators configure a host.
func (s System) system(linux, darwin, windows, name string) string {
	switch s.OS {
	case "windows":
		return s.join(windows, name)
	case "darwin":
		return s.join(darwin, name)
	}
	return s.join(linux, name)
}

func (s System) cursor() []place {
	return s.projectThen(s.join(s.Home, ".cursor", "mcp.json"), ".cursor", "mcp.json")
}

func (s System) vscode() []place {
	const note = "only the Copilot agent of VS Code reads it from this file"
	return append(s.projectThen(s.join(s.config(), "Code", "User", "mcp.json"), ".vscode", "mcp.json"),
		place{file: s.join(s.Dir, ".mcp.json"), project: true, form: copilot(), note: note},
		place{file: s.join(s.env("COPILOT_HOME", s.join(s.Home, ".copilot")), "mcp-config.json"), form: copilot(), note: note})
}

// windsurf returns the places of Windsurf, of which Devin Desktop is the new name.
func (s System) windsurf() []place {
	settings := s.env("XDG_CONFIG_HOME", s.join(s.Home, ".config"))
	if s.OS == "windows" {
		settings = s.config()
	}
	return append(s.projectThen(s.join(settings, "devin", "mcp_config.json"), ".devin", "mcp_config.json"),
		place{file: s.join(s.Home, ".codeium", "windsurf", "mcp_config.json")})
}

func (s System) gemini() []place {
	admin := func(variable, name string) place {
		return place{file: s.env(variable, s.system("/etc/gemini-cli", "/Library/Application Support/GeminiCli", `C:\ProgramData\gemini-cli`, name))}
	}
	user := s.join(s.env("GEMINI_CLI_HOME", s.Home), ".gemini", "settings.json")
	places := append([]place{admin("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "settings.json")}, s.projectThen(user, ".gemini", "settings.json")...)
	return append(places, admin("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "system-defaults.json"))
}

// codex returns the places of Codex: those of the project are in its folder and in each above it, up to the root of the
// work tree.
func (s System) codex() []place {
	user := s.join(s.env("CODEX_HOME", s.join(s.Home, ".codex")), "config.toml")
	var places []place
	for dir, root := s.Dir, s.root(); ; dir = s.parent(dir) {
		if file := s.join(dir, ".codex", "config.toml"); file != user {
			places = append(places, place{file: file, project: true})
		}
		if dir == root {
			return append(places, place{file: user})
		}
	}
}

// root returns the root of the work tree of Git that the project's folder is in: the next folder from there up that has
// something called .git; the project's folder itself if none has.
func (s System) root() string {
	for dir := s.Dir; ; dir = s.parent(dir) {
		// A folder can't be read, which is another error.
		if _, err := s.ReadFile(s.join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) {
			return dir
		}
		if dir == s.parent(dir) {
			return s.Dir
		}
	}
}

// parent returns the folder that dir lies in, dir itself at the top.
func (s System) parent(dir string) string {
	separators := "/"
	if s.OS == "windows" {
		separators = `/\`
	}
	i := strings.LastIndexAny(strings.TrimRight(dir, separators), separators)
	switch {
	case i < 0:
		return dir
	case i == 0 || dir[i-1] == ':':
		return dir[:i+1]
	}
	return dir[:i]
}

// projectThen returns the project's file and the user's, which are one in the home folder.
func (s System) projectThen(user string, names ...string) []place {
	project := s.join(s.Dir, names...)
	if project == user {
		return []place{{file: user}}
	}
	return []place{{file: project, project: true}, {file: user}}
}

// isDir reports whether name, a key in Claude Code's file, is the root of the work tree. On Windows that file has had both
// kinds of slashes.
func (s System) isDir(name string) bool {
	if s.OS != "windows" {
		return name == strings.TrimSuffix(s.root(), "/")
	}
	slashed := func(p string) string { return strings.TrimSuffix(strings.ReplaceAll(p, `\`, "/"), "/") }
	return strings.EqualFold(slashed(name), slashed(s.root()))
}
