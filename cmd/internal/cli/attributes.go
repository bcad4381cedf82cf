package cli

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// attributesName is the file in which Git looks up what it may do to files.
const attributesName = ".gitattributes"

// asIs are the attributes of everything in the folder of the evidence: Git for
// Windows rewrites line ends otherwise, and content is named by its digest.
const asIs = "* -text\n"

// writeAttributes has Git keep the evidence as it is. A file that is there is
// the user's.
func (s *store) writeAttributes() error {
	name := filepath.Join(evidenceDir, attributesName)
	if _, err := s.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeFile(s.root, name, []byte(asIs), 0o644)
}

// noteAttributes says how to keep Git from rewriting the lockfile, if it lies in
// a work tree whose attributes let it.
func (a *app) noteAttributes() {
	if ends, tree := lineEndsOf(a.lock); tree && !ends.kept() {
		a.note("Git for Windows may rewrite the line ends of the lockfile, which can't be read then; this prevents it: " +
			inFolder(filepath.Dir(a.lock), keepCommand(filepath.Base(a.lock), a.lock)))
	}
}

// keepCommand is the command, in the folder of the lockfile, that has
// Git keep the line ends of base.
func keepCommand(base, lockfile string) string {
	line := quoteWords([]string{attributesPattern(base) + " -text"})
	if data, err := readRegular(filepath.Join(filepath.Dir(lockfile), attributesName), maxTrustFile); err == nil && len(data) > 0 && data[len(data)-1] != '\n' {
		return "printf '\\n%s\\n' " + line + " >> " + attributesName
	}
	return "echo " + line + " >> " + attributesName
}

// attributesPattern returns the pattern for one file.
func attributesPattern(base string) string {
	if strings.HasSuffix(base, ".lock.json") {
		return "*.lock.json"
	}
	pattern := "/" + strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(base)
	if strings.ContainsAny(pattern, " \t\"") {
		return strconv.Quote(pattern)
	}
	return pattern
}

// mendLockHint is the advice for a lockfile whose line ends were rewritten, most
// likely by Git. That takes attributes from its index first, and writes only
// files that are gone.
func mendLockHint(name string) string {
	if _, tree := lineEndsOf(name); !tree {
		return backToLF(name)
	}
	base := quoteWords([]string{filepath.Base(name)})
	return restore + inFolder(filepath.Dir(name), keepCommand(filepath.Base(name), name), "git add "+attributesName, "rm "+base, "git checkout -- "+base)
}

// mendEvidenceHint is the same for a file of the evidence. Only what Git has is
// removed: the rest could not be restored.
func mendEvidenceHint(lockfile, name string) string {
	if _, tree := lineEndsOf(lockfile); !tree {
		return backToLF(name)
	}
	attributes := evidenceDir + "/" + attributesName
	return restore + inFolder(filepath.Dir(lockfile), "echo '"+strings.TrimSpace(asIs)+"' > "+attributes, "git add "+attributes,
		"git ls-files -z "+evidenceDir+" | xargs -0 rm", "git checkout -- "+evidenceDir)
}

const restore = "keep Git from rewriting it, and restore it: "

// backToLF is the advice for a file that Git has not written.
func backToLF(name string) string {
	q := func(name string) string { return quoteWords([]string{name}) }
	return "remove the carriage returns: tr -d '\\r' < " + q(name) + " > " + q(name+".lf") + " && mv " + q(name+".lf") + " " + q(name)
}

// inFolder joins commands that are for a folder.
func inFolder(dir string, commands ...string) string {
	if dir == "." {
		return strings.Join(commands, " && ")
	}
	return "(cd " + quoteWords([]string{dir}) + " && " + strings.Join(commands, " && ") + ")"
}

// lineEnds are the two attributes that decide on the line ends of a file, empty
// where nothing is said.
type lineEnds struct{ text, eol string }

// kept reports whether Git leaves LF as it is on every system.
func (e lineEnds) kept() bool { return e.text == "-text" || e.eol == "eol=lf" }

// lineEndsOf reports whether a file lies in a work tree of Git, and what the
// files .gitattributes from its folder up say of it.
func lineEndsOf(name string) (ends lineEnds, tree bool) {
	full, err := filepath.Abs(name)
	if err != nil {
		return ends, false
	}
	for dir := filepath.Dir(full); ; dir = filepath.Dir(dir) {
		if rel, err := filepath.Rel(dir, full); err == nil { // nearer files win
			above := readLineEnds(filepath.Join(dir, attributesName), filepath.ToSlash(rel))
			ends.text, ends.eol = cmp.Or(ends.text, above.text), cmp.Or(ends.eol, above.eol)
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return ends, true
		}
		if dir == filepath.Dir(dir) {
			return ends, false
		}
	}
}

// readLineEnds returns what one file says of the file at rel: its last lines
// count. A pattern that is not understood says nothing.
func readLineEnds(attributes, rel string) (ends lineEnds) {
	data, err := readRegular(attributes, maxTrustFile)
	if err != nil {
		return ends
	}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) < 2 || !attributesMatch(words[0], rel) {
			continue
		}
		for _, w := range words[1:] {
			switch {
			case w == "binary":
				ends.text = "-text"
			case w == "text" || w == "-text" || w == "!text" || strings.HasPrefix(w, "text="):
				ends.text = w
			case w == "eol" || w == "-eol" || w == "!eol" || strings.HasPrefix(w, "eol="):
				ends.eol = w
			}
		}
	}
	return ends
}

// attributesMatch reports whether a pattern is about a file: without a slash
// about its last segment, with one about its path.
func attributesMatch(pattern, rel string) bool {
	if unquoted, err := strconv.Unquote(pattern); err == nil {
		pattern = unquoted
	}
	pattern = strings.TrimPrefix(pattern, "**/")
	if !strings.Contains(pattern, "/") {
		rel = path.Base(rel)
	}
	ok, err := path.Match(strings.TrimPrefix(pattern, "/"), rel)
	return ok && err == nil
}

// rewritten reports whether data is as it should be but for its line ends, CRLF
// instead of LF.
func rewritten(data []byte, same func([]byte) bool) bool {
	return bytes.Contains(data, []byte("\r\n")) && same(bytes.ReplaceAll(data, []byte("\r"), nil))
}
