package hosts

import (
	"fmt"
	"slices"
	"strings"
)

// A syntax is how a host writes placeholders.
type syntax int

const (
	plain    syntax = iota // none
	shell                  // ${NAME}, ${NAME:-default}
	gemini                 // $NAME, ${NAME}, ${NAME:-default}; Copilot as well
	cursor                 // ${env:NAME} and the folders
	vscode                 // the same, and ${input:ID}
	windsurf               // ${env:NAME}
)

// An expander resolves the texts of one entry and keeps the first error.
type expander struct {
	values *values
	host   string
	entry  string // for messages
	lookup func(string) (string, bool)
	left   int      // bytes that may still be written
	dry    bool     // only lookup matters: a placeholder without a value is not an error
	notes  []string // what a person should know
	err    error
}

// expand resolves the placeholders of a text. where names the text in messages.
func (x *expander) expand(where, text string) string {
	var b strings.Builder
	for text != "" && x.err == nil {
		i := len(text)
		if x.values.syntax != plain {
			if i = strings.IndexByte(text, '$'); i < 0 {
				i = len(text)
			}
		}
		piece, rest := text[:i], text[i:]
		if i == 0 {
			piece, rest = x.placeholder(where, text)
		}
		x.write(&b, where, piece)
		text = rest
	}
	return b.String()
}

func (x *expander) write(b *strings.Builder, where, piece string) {
	if x.left -= len(piece); x.left < 0 {
		x.fail(fmt.Errorf("%s: %s: all texts together have more than %d bytes", x.entry, where, maxResolved))
		return
	}
	b.WriteString(piece)
}

func (x *expander) fail(err error) {
	if x.err == nil && !x.dry {
		x.err = err
	}
}

// placeholder resolves what text, which starts with a dollar sign, starts with. It returns that, and the rest of text.
func (x *expander) placeholder(where, text string) (piece, rest string) {
	if strings.HasPrefix(text, "${") {
		end := strings.IndexByte(text, '}')
		if end < 0 {
			return text, "" // no later placeholder ends either
		}
		piece, rest = text[:end+1], text[end+1:]
		if v, ok := x.braces(where, text[2:end]); ok {
			piece = v
		}
		return piece, rest
	}
	if x.values.syntax != gemini {
		return text[:1], text[1:]
	}
	end := 1
	for end < len(text) && isWord(text[end]) {
		end++
	}
	name := text[1:end]
	if name == "" {
		return text[:1], text[1:]
	}
	if v, ok := x.lookup(name); ok {
		return v, text[end:]
	}
	if !looksLikeVariable(name) {
		return text[:end], text[end:]
	}
	return x.asWritten(where, name, text[:end]), text[end:]
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// looksLikeVariable reports whether name is spelled like an environment
// variable, in capitals. Any other word after a dollar sign may be part of a
// password: it is a placeholder only if the variable is set.
func looksLikeVariable(name string) bool {
	return name == strings.ToUpper(name) && (name[0] == '_' || 'A' <= name[0] && name[0] <= 'Z')
}

// asWritten returns a placeholder for a variable that is not set, which the host leaves as it is, and notes that. A dry
// run takes it for one that is replaced.
func (x *expander) asWritten(where, name, text string) string {
	if x.dry {
		return ""
	}
	note := fmt.Sprintf("%s names the environment variable %.100q, which is not set: %s passes %.100q on as it is written", where, name, x.host, text)
	if x.err == nil && !slices.Contains(x.notes, note) {
		x.notes = append(x.notes, note)
	}
	return text
}

// braces resolves ${inner}. It reports false if the host would leave it alone.
func (x *expander) braces(where, inner string) (string, bool) {
	switch x.values.syntax {
	case shell, gemini:
		name, otherwise, has := strings.Cut(inner, ":-")
		if x.values.syntax == gemini && name == "" {
			return "", false
		}
		if v, ok := x.lookup(name); ok {
			return v, true
		}
		if has {
			return otherwise, true
		}
		return x.asWritten(where, name, "${"+inner+"}"), true
	}
	return x.editor(where, inner)
}

// editor resolves a placeholder of an editor.
func (x *expander) editor(where, inner string) (string, bool) {
	kind, arg, _ := strings.Cut(inner, ":")
	if kind == "env" && arg != "" {
		return x.variable(where, arg), true
	}
	if x.values.syntax == windsurf {
		if kind == "file" {
			x.unresolvable(where, inner)
		}
		return "", false
	}
	v := x.values
	switch inner {
	case "workspaceFolder":
		return v.dir, true
	case "workspaceFolderBasename":
		return v.dir[strings.LastIndexAny(v.dir, `/`+v.separator)+1:], true
	case "userHome":
		return v.home, true
	case "pathSeparator", "/":
		return v.separator, true
	}
	if v.syntax == vscode {
		if inner == "cwd" {
			return v.dir, true
		}
		if kind == "input" && arg != "" {
			name := InputVariable(arg)
			if value, ok := x.lookup(name); ok {
				return value, true
			}
			return x.unset(where, name, arg), true
		}
		if slices.Contains(editorOnly(), kind) {
			x.unresolvable(where, inner)
		}
	}
	return "", false
}

// editorOnly lists the variables that only the running editor knows, without their arguments.
func editorOnly() []string {
	return []string{"config", "command", "env", "input", "workspaceFolder", "file", "fileBasename", "fileBasenameNoExtension", "fileDirname",
		"fileDirnameBasename", "fileExtname", "fileWorkspaceFolder", "relativeFile", "relativeFileDirname", "lineNumber", "columnNumber",
		"selectedText", "execPath", "extensionInstallFolder", "defaultBuildTask"}
}

func (x *expander) unresolvable(where, inner string) {
	x.fail(fmt.Errorf("%s: %s: only %s can resolve the placeholder %.100q", x.entry, where, x.host, "${"+inner+"}"))
}

// variable returns the value of a variable that has to be set.
func (x *expander) variable(where, name string) string {
	v, ok := x.lookup(name)
	if !ok {
		return x.unset(where, name, "")
	}
	return v
}

func (x *expander) unset(where, name, input string) string {
	x.fail(&UnsetError{Entry: x.entry, Variable: name, Where: where, Input: input})
	return ""
}
