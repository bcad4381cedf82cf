// Package hosts reads the entries for MCP servers in the configuration of MCP hosts: which command or URL a host would
// use for a server, with which environment and headers.
//
// # Where entries are found
//
// Files are named here as on Linux, those of a project in its folder, [System].Dir. A file before another wins where both
// have a server of one name.
//
//	claude-desktop  ~/.config/Claude/claude_desktop_config.json
//	claude-code     /etc/claude-code/managed-mcp.json (then nothing else), ~/.claude.json (the project's entries), .mcp.json,
//	                ~/.claude.json (the user's entries)
//	cursor          .cursor/mcp.json, ~/.cursor/mcp.json
//	vscode          .vscode/mcp.json, ~/.config/Code/User/mcp.json; its Copilot agent: .mcp.json, ~/.copilot/mcp-config.json
//	windsurf        .devin/mcp_config.json, ~/.config/devin/mcp_config.json, ~/.codeium/windsurf/mcp_config.json
//	gemini          /etc/gemini-cli/settings.json, .gemini/settings.json, ~/.gemini/settings.json,
//	                /etc/gemini-cli/system-defaults.json
//	codex           .codex/config.toml, ~/.codex/config.toml
//
// For Claude Code the project is the root of Git's work tree, also where the working directory is below it; Codex reads
// its file in each folder up to there. No other folder above the project's is searched: who can write to one could plant
// a file there.
//
// CLAUDE_CONFIG_DIR, CODEX_HOME, COPILOT_HOME, GEMINI_CLI_HOME, GEMINI_CLI_SYSTEM_SETTINGS_PATH,
// GEMINI_CLI_SYSTEM_DEFAULTS_PATH, XDG_CONFIG_HOME, and on Windows APPDATA and LOCALAPPDATA, move them as they do for the
// hosts. What plugins and extensions configure is not read, nor are lists of servers that a host keeps apart as approved
// or disabled, but for those in Gemini CLI's settings.
//
// # What is resolved
//
// Claude Code knows ${NAME} and ${NAME:-default}, Gemini CLI and Copilot $NAME as well: what names a variable that is not
// set stays as it is written. Cursor, VS Code and Windsurf know ${env:NAME};
// Cursor and VS Code also ${workspaceFolder}, ${workspaceFolderBasename}, ${userHome}, ${pathSeparator} and ${/}, VS Code
// ${cwd} and ${input:ID}. Claude Desktop and Codex take every text as it stands; Codex names variables instead. What is
// left out: envFile, ${file:...}, ${config:...}, ${command:...} and programs that print headers.
//
// A file of a project is the text of whoever wrote the project. An [Entry] says where it comes from: show it before
// anything is started. Values of environment variables and headers are in no error and no printed form.
//
// The package does no I/O but through [System], and keeps no state.
package hosts

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
)

// MaxFile is the largest file that is read, in bytes. Claude Code keeps more than servers in its file, which has grown to
// several MiB for people.
const MaxFile = 16 << 20

// A System is what hosts see of the machine. All fields are needed.
type System struct {
	OS        string                           // as runtime.GOOS: linux, darwin, windows; others are taken for linux
	Home      string                           // the user's home folder, absolute
	Dir       string                           // the project's folder, absolute: the working directory
	LookupEnv func(name string) (string, bool) // as os.LookupEnv

	// ReadFile reads a file as os.ReadFile does: an error that is fs.ErrNotExist says that there is none. It need not
	// read more than MaxFile+1 bytes, and does well to refuse what is no regular file: a project may hold anything.
	ReadFile func(name string) ([]byte, error)
}

// Transports of an entry.
const (
	Stdio     = "stdio"
	HTTP      = "http" // streamable HTTP
	SSE       = "sse"  // the HTTP transport of protocol version 2024-11-05
	WebSocket = "ws"   // no revision of the protocol has it
)

// An Entry is what a host's configuration says of one server. Texts are as written, placeholders and all, and somebody
// else's: escape them before they are shown. An Entry prints as its host, name and file only.
type Entry struct {
	Host, Server string
	File         string // it was read from
	Line         int    // of its name in File, from 1; 0 if not known
	Project      bool   // File lies in the project's folder: it came with the project

	Transport string   // Stdio, HTTP, SSE or WebSocket
	Command   []string // program and arguments; may hold secrets; nil for a URL
	Dir       string   // working directory; empty stands for the host's own
	URL       string   // may hold secrets; empty for a command
	Endpoint  string   // URL with three dots for a user, values of the query and the fragment, but for their placeholders

	Env       []string // names of the variables that are set for the server or taken from it, sorted
	Headers   []Header // sorted by name
	Variables []string // names of the variables that Resolve looks up, sorted
	Disabled  bool     // the host does not start it
	Notes     []string // what a person should know: other files that name the server, members that are not read

	values func() *values // a function prints as its address
}

// String returns host, server and file.
func (e Entry) String() string {
	return fmt.Sprintf("%s/%s (%s)", e.Host, lock.Visible(e.Server), position(e.File, e.Line))
}

// position returns file and line, the latter if it is known, fit for a terminal.
func position(file string, line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", lock.Visible(file), line)
	}
	return lock.Visible(file)
}

// GoString returns the same, so that no verb prints more.
func (e Entry) GoString() string { return e.String() }

// A FileError says what is wrong with a file.
type FileError struct {
	File string
	Line int // from 1; 0 if not known
	Err  error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("%s: %v", position(e.File, e.Line), e.Err)
}

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

// A NotFoundError says that a host has no server of the name.
type NotFoundError struct {
	Host, Server string
	Files        []string // looked at, those that do not exist included
	Servers      []string // there are, sorted
}

func (e *NotFoundError) Error() string {
	there := "which name no server"
	if len(e.Servers) > 0 {
		var shown []string
		for _, name := range e.Servers[:min(len(e.Servers), 20)] {
			shown = append(shown, short(name))
		}
		there = "which name " + strings.Join(shown, ", ")
		if more := len(e.Servers) - len(shown); more > 0 {
			there += fmt.Sprintf(" and %d more", more)
		}
	}
	return fmt.Sprintf("%s has no server %.100q in %s, %s", e.Host, e.Server, lock.Visible(strings.Join(e.Files, ", ")), there)
}

// short returns the start of a text of a file, fit for a terminal.
func short(s string) string {
	if len(s) > 100 {
		return lock.Visible(strings.ToValidUTF8(s[:100], "")) + "..."
	}
	return lock.Visible(s)
}

// Names lists the hosts that are known.
func Names() []string {
	var names []string
	for _, h := range hosts() {
		names = append(names, h.name)
	}
	return names
}

// Find returns the entry that host uses for server. The error is a *NotFoundError, a *FileError, or says which hosts
// there are. A disabled entry is found like any other.
func (s System) Find(host, server string) (*Entry, error) {
	found, files, err := s.entries(host)
	if err != nil {
		return nil, err
	}
	missing := &NotFoundError{Host: host, Server: server, Files: files}
	for _, f := range found {
		if f.entry.Server == server {
			if f.err != nil {
				return nil, f.err
			}
			return f.entry, nil
		}
		missing.Servers = append(missing.Servers, f.entry.Server)
	}
	return nil, missing
}

// All returns the entries of a host, sorted by name. The error joins a *FileError for each entry that can't be used;
// the others are returned all the same. Any other error comes without entries.
func (s System) All(host string) ([]*Entry, error) {
	found, _, err := s.entries(host)
	if err != nil {
		return nil, err
	}
	var all []*Entry
	var errs []error
	for _, f := range found {
		if f.err != nil {
			errs = append(errs, f.err)
			continue
		}
		all = append(all, f.entry)
	}
	return all, errors.Join(errs...)
}

// A finding is an entry, or why it can't be used.
type finding struct {
	entry *Entry // has host, server and place in any case
	err   error
}

// entries reads the files of a host and returns one finding a server, sorted by name, and the files looked at.
func (s System) entries(name string) ([]finding, []string, error) {
	at := slices.IndexFunc(hosts(), func(h host) bool { return h.name == name })
	switch {
	case at < 0:
		return nil, nil, fmt.Errorf("host %.100q is not known: want one of %s", name, strings.Join(Names(), ", "))
	case s.Home == "" || s.Dir == "":
		return nil, nil, errors.New("the home or the working folder is not known: no configuration can be found")
	}
	h := hosts()[at]
	var all []finding
	var files []string
	known := map[string]int{} // index in all
	lists := &switches{}
	for _, p := range h.places(s) {
		if !slices.Contains(files, p.file) {
			files = append(files, p.file)
		}
		found, err := s.read(h, p, lists)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range found.entries {
			if i, ok := known[f.entry.Server]; ok {
				h.overridden(&all[i], f.entry)
				continue
			}
			known[f.entry.Server] = len(all)
			all = append(all, f)
		}
		if p.alone && found.there {
			break
		}
	}
	for _, f := range all {
		f.entry.Disabled = f.entry.Disabled || lists.turnOff(f.entry.Server)
	}
	slices.SortFunc(all, func(a, b finding) int { return strings.Compare(a.entry.Server, b.entry.Server) })
	return all, files, nil
}

// overridden records that f wins over another entry of its name.
func (h host) overridden(f *finding, other *Entry) {
	if h.merges && f.err == nil {
		err := fmt.Errorf("server %.100q is in %s as well, and %s merges the two: give the command or URL itself", f.entry.Server, lock.Visible(other.File), h.name)
		f.err = &FileError{File: f.entry.File, Line: f.entry.Line, Err: err}
		return
	}
	note := fmt.Sprintf("%s has a server of this name as well, which %s does not use", position(other.File, other.Line), h.name)
	f.entry.Notes = append(f.entry.Notes, note)
}

// contents is what a place holds.
type contents struct {
	there   bool // the file exists
	entries []finding
}

// read reads one place; a file that does not exist holds nothing.
func (s System) read(h host, p place, lists *switches) (c contents, err error) {
	data, err := s.ReadFile(p.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return c, &FileError{File: p.file, Err: err}
	case len(data) > MaxFile:
		return c, &FileError{File: p.file, Err: fmt.Errorf("has more than %d bytes", MaxFile)}
	}
	c.there = true
	if p.form != nil {
		h = *p.form
	}
	if h.toml {
		c.entries, err = s.readTOML(h, p, data)
	} else {
		c.entries, err = s.readJSON(h, p, data, lists)
	}
	if p.note != "" {
		for _, f := range c.entries {
			f.entry.Notes = append(f.entry.Notes, p.note)
		}
	}
	return c, err
}

// switches are the lists with which a host turns servers on and off, of the first file that has each.
type switches struct {
	only, not       []string
	hasOnly, hasNot bool
}

func (l *switches) turnOff(server string) bool {
	return l.hasOnly && !slices.Contains(l.only, server) || slices.Contains(l.not, server)
}
