package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// The library that reads TOML takes time that grows with the square of a key's parts and of the depth of inline tables,
// and memory with each level of nesting. These limits keep the worst file below a few seconds and megabytes.
const (
	maxTOML       = 1 << 20 // bytes of a file
	maxTOMLDots   = 256     // in one line
	maxTOMLTables = 1000    // inline tables of a file
	maxTOMLArrays = 10_000  // opening brackets of a file: each level of nesting costs the library a kilobyte of stack
)

// readTOML reads the servers of a TOML file. Names that occur twice, and what is no TOML, are the file's fault.
func (s System) readTOML(h host, p place, data []byte) ([]finding, error) {
	if err := checkTOML(data); err != nil {
		return nil, inFile(p.file, err)
	}
	var doc map[string]any
	if _, err := toml.Decode(string(bytes.TrimPrefix(data, []byte("\ufeff"))), &doc); err != nil {
		return nil, inFile(p.file, tomlError(err))
	}
	servers, ok := doc[h.member].(map[string]any)
	if !ok && doc[h.member] != nil {
		return nil, inFile(p.file, fmt.Errorf("%s is no table", h.member))
	}
	var found []finding
	for name, v := range servers {
		e := &Entry{Host: h.name, Server: name, File: p.file, Project: p.project}
		w, err := tomlEntry(v)
		if err == nil {
			err = s.build(h, e, w)
		}
		found = append(found, finding{e, entryError(e, err)})
	}
	return found, nil
}

// checkTOML refuses what would take the library too long.
func checkTOML(data []byte) error {
	if len(data) > maxTOML {
		return fmt.Errorf("has more than %d bytes", maxTOML)
	}
	if bytes.Count(data, []byte("{")) > maxTOMLTables {
		return fmt.Errorf("has more than %d inline tables", maxTOMLTables)
	}
	if bytes.Count(data, []byte("[")) > maxTOMLArrays {
		return fmt.Errorf("has more than %d opening brackets", maxTOMLArrays)
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if bytes.Count(line, []byte(".")) > maxTOMLDots {
			return &FileError{Line: n, Err: fmt.Errorf("more than %d dots in a line", maxTOMLDots)}
		}
	}
	return nil
}

// tomlError keeps what the library says of a place, and of keys; the rest of its text may quote a value.
func tomlError(err error) error {
	var e toml.ParseError
	if !errors.As(err, &e) {
		return errors.New("no TOML")
	}
	what := errors.New("no TOML")
	if strings.HasPrefix(e.Message, "Key '") {
		what = errors.New("no TOML: " + short(e.Message))
	}
	return &FileError{Line: e.Position.Line, Err: what}
}

// A table reads the members of a TOML table and keeps the first error.
type table struct {
	members map[string]any
	err     error
}

// tomlEntry reads a table of Codex' mcp_servers.
func tomlEntry(v any) (*written, error) {
	t := &table{}
	if t.members, _ = v.(map[string]any); t.members == nil {
		return nil, errors.New("is no table")
	}
	w := &written{
		command: t.text("command"), args: t.texts("args"), cwd: t.text("cwd"), urls: map[string]string{},
		env: t.table("env"), headers: t.table("http_headers"), variables: t.table("env_http_headers"),
		bearer: t.text("bearer_token_env_var"), forward: t.forwarded(),
	}
	if t.members["url"] != nil {
		w.urls["url"] = t.text("url")
	}
	if t.members["bearer_token"] != nil {
		t.fail("bearer_token", "a variable in bearer_token_env_var")
	}
	enabled, isBool := t.members["enabled"].(bool)
	if t.members["enabled"] != nil && !isBool {
		t.fail("enabled", "true or false")
	}
	w.disabled = isBool && !enabled
	return w, t.err
}

func (t *table) fail(member, want string) {
	if t.err == nil {
		t.err = fmt.Errorf("%s: expected %s", member, want)
	}
}

// text returns a string, empty if absent.
func (t *table) text(member string) string {
	s, ok := t.members[member].(string)
	if !ok && t.members[member] != nil {
		t.fail(member, "a string")
	}
	return s
}

// texts returns an array of strings.
func (t *table) texts(member string) []string {
	list, ok := t.members[member].([]any)
	if !ok && t.members[member] != nil {
		t.fail(member, "an array of strings")
	}
	var texts []string
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			t.fail(member, "an array of strings")
		}
		texts = append(texts, s)
	}
	return texts
}

// table returns a table of strings.
func (t *table) table(member string) map[string]string {
	m, ok := t.members[member].(map[string]any)
	if !ok && t.members[member] != nil {
		t.fail(member, "a table of strings")
	}
	texts := map[string]string{}
	for name, v := range m {
		s, ok := v.(string)
		if !ok {
			t.fail(member, "a table of strings")
		}
		texts[name] = s
	}
	return texts
}

// forwarded returns the variables of env_vars, each a name or a table of name and source.
func (t *table) forwarded() []string {
	list, ok := t.members["env_vars"].([]any)
	if tables, isTables := t.members["env_vars"].([]map[string]any); isTables {
		ok = true
		for _, m := range tables {
			list = append(list, m)
		}
	}
	if !ok && t.members["env_vars"] != nil {
		t.fail("env_vars", "an array")
	}
	var names []string
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			if src := m["source"]; src != nil && src != "local" {
				t.fail("env_vars", "variables of this machine, with the source local")
			}
			v = m["name"]
		}
		name, ok := v.(string)
		if !ok {
			t.fail("env_vars", "names of variables")
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
