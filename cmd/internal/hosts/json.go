package hosts

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tailscale/hujson"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// The limits of a file with comments: the library that removes those recurses for each object and array, and keeps a
// few hundred bytes for each value.
const (
	maxNested = 50_000
	maxCommas = 200_000
)

// readJSON reads the servers of a JSON file. A fault of one entry is that entry's; names that occur twice, and what is
// no JSON, are the file's.
func (s System) readJSON(h host, p place, data []byte, lists *switches) ([]finding, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch h.comments {
	case allowed:
		data = blankComments(data)
	case trailing:
		var err error
		if data, err = withoutComments(data); err != nil {
			return nil, inFile(p.file, err)
		}
	}
	unread := "" // a member beside the servers that counts for the host
	var found []finding
	r := canonical.NewReader(data)
	servers := func() error {
		return r.Object(func(server string) error {
			r.Peek()
			start := r.Offset()
			if err := skip(r); err != nil {
				return err
			}
			e := &Entry{Host: h.name, Server: server, File: p.file, Line: lineAt(data, start), Project: p.project}
			w, err := readEntry(canonical.NewReader(r.Since(start)), h)
			if err == nil {
				err = s.build(h, e, w)
			}
			if fault := (*canonical.Error)(nil); errors.As(err, &fault) {
				fault.Offset += start
			}
			found = append(found, finding{e, entryError(e, err)})
			return nil
		})
	}
	beside := func(name string) error {
		switch {
		case h.lists && name == "mcp" && r.Peek() == '{':
			return lists.read(r)
		case h.removes && name == "sandbox": // VS Code
			unread = name
		}
		return skip(r)
	}
	err := readServers(r, h.member, p.within, s.isDir, servers, beside)
	if err == nil {
		err = r.End()
	}
	if e := (*canonical.Error)(nil); errors.As(err, &e) {
		err = &FileError{File: p.file, Line: lineAt(data, e.Offset), Err: e}
	}
	if err != nil {
		return nil, inFile(p.file, err)
	}
	for _, f := range found {
		if unread != "" {
			f.entry.Notes = append(f.entry.Notes, unreadNote(unread, h.name))
		}
	}
	return found, nil
}

// read reads Gemini CLI's member mcp.
func (l *switches) read(r *canonical.Reader) error {
	names := func(list *[]string, has *bool) error {
		if r.Peek() != '[' || *has { // of a file that wins
			return skip(r)
		}
		*has = true
		return r.Array(func(int) error {
			name, err := r.String()
			*list = append(*list, name)
			return err
		})
	}
	return r.Object(func(name string) error {
		switch name {
		case "allowed":
			return names(&l.only, &l.hasOnly)
		case "excluded":
			return names(&l.not, &l.hasNot)
		}
		return skip(r)
	})
}

// readServers walks to the member that holds the servers, within the project's object if within says so.
func readServers(r *canonical.Reader, member string, within bool, isDir func(string) bool, servers func() error, beside func(string) error) error {
	top := func() error {
		return r.Object(func(name string) error {
			if name == member {
				return servers()
			}
			return beside(name)
		})
	}
	if !within {
		return top()
	}
	return r.Object(func(name string) error {
		if name != "projects" {
			return skip(r)
		}
		seen := false
		return r.Object(func(dir string) error {
			if !isDir(dir) || seen {
				return skip(r)
			}
			seen = true
			return top()
		})
	})
}

// skip passes over a value that means nothing here. What may be wrong inside of it, such as half a character in
// somebody's history, is nothing to us as long as it ends where it should.
func skip(r *canonical.Reader) error {
	_, _, err := r.Text()
	return err
}

// readEntry reads the members of an entry that say how its server is reached.
func readEntry(r *canonical.Reader, h host) (*written, error) {
	w := &written{urls: map[string]string{}}
	err := r.Object(func(name string) (err error) {
		if r.Peek() == 'n' { // null is as good as absent
			return r.Skip()
		}
		switch name {
		case "type":
			w.transport, err = r.String()
		case "command":
			w.command, err = r.String()
		case "args":
			err = r.Array(func(int) error {
				arg, err := r.String()
				w.args = append(w.args, arg)
				return err
			})
		case "env":
			err = w.readEnv(r, h)
		case "headers":
			w.headers, err = readTexts(r)
		case "cwd":
			w.cwd, err = r.String()
		case "url", "serverUrl", "httpUrl":
			w.urls[name], err = r.String()
		case "disabled", "enabled":
			if !h.turnsOff {
				return skip(r)
			}
			w.disabled, err = r.Bool()
			w.disabled = w.disabled == (name == "disabled")
		case "envFile", "headersHelper", "sandboxEnabled":
			w.unread = append(w.unread, name)
			err = skip(r)
		default:
			err = skip(r)
		}
		return err
	})
	if err == nil {
		err = r.End()
	}
	return w, err
}

// readEnv reads the variables that are set for a server.
func (w *written) readEnv(r *canonical.Reader, h host) error {
	w.env = map[string]string{}
	return r.Object(func(name string) (err error) {
		switch c := r.Peek(); {
		case c == 'n' && h.removes:
			w.removed = append(w.removed, name)
			return r.Skip()
		case (c == '-' || '0' <= c && c <= '9') && h.typed:
			return fmt.Errorf("env %.100q is a number: %s does not start such a server, write a string", name, h.name)
		}
		w.env[name], err = readText(r)
		return err
	})
}

// readTexts reads an object of strings.
func readTexts(r *canonical.Reader) (map[string]string, error) {
	texts := map[string]string{}
	err := r.Object(func(name string) (err error) {
		texts[name], err = readText(r)
		return err
	})
	return texts, err
}

// readText reads a string. A number counts as what it spells, as it does for hosts.
func readText(r *canonical.Reader) (string, error) {
	if c := r.Peek(); c == '-' || '0' <= c && c <= '9' {
		return r.Number()
	}
	return r.String()
}

// blankComments blanks comments out, so that places stay as they are.
func blankComments(data []byte) []byte {
	out := bytes.Clone(data)
	for i := 0; i < len(out); i++ {
		rest, length := out[i:], 0
		switch {
		case rest[0] == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
			continue
		case bytes.HasPrefix(rest, []byte("//")):
			if length = bytes.IndexAny(rest, "\r\n"); length < 0 {
				length = len(rest)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return out // no JSON: the reader says so
			}
			length = end + 4
		}
		for j := range length {
			if rest[j] != '\n' {
				rest[j] = ' '
			}
		}
		i += max(length-1, 0)
	}
	return out
}

// withoutComments blanks comments and trailing commas out, so that places stay as they are.
func withoutComments(data []byte) ([]byte, error) {
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > maxNested {
		return nil, fmt.Errorf("has more than %d objects and arrays", maxNested)
	}
	if bytes.Count(data, []byte(",")) > maxCommas {
		return nil, fmt.Errorf("has more than %d commas", maxCommas)
	}
	out, err := hujson.Standardize(bytes.Clone(data))
	if err != nil {
		// The library's text may quote a value.
		line, column := 0, 0
		fmt.Sscanf(err.Error(), "hujson: line %d, column %d", &line, &column)
		return nil, &FileError{Line: line, Err: fmt.Errorf("no JSON, even with comments, from column %d on", column)}
	}
	return out, nil
}

// inFile makes err a *FileError of file.
func inFile(file string, err error) error {
	if e := (*FileError)(nil); errors.As(err, &e) {
		e.File = file
		return e
	}
	return &FileError{File: file, Err: err}
}

// entryError makes err, if there is one, a *FileError that names the entry.
func entryError(e *Entry, err error) error {
	if err == nil {
		return nil
	}
	return &FileError{File: e.File, Line: e.Line, Err: fmt.Errorf("server %.100q: %w", e.Server, err)}
}

// lineAt returns the line of an offset, from 1.
func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n"))
}
