package baseline

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// readMCPTrust reads a lockfile of mcptrust.
func (b *Baseline) readMCPTrust(r *canonical.Reader) error {
	s := Server{kinds: []lock.Kind{lock.Prompt, lock.ResourceTemplate, lock.Tool}}
	seen := map[string]bool{}
	err := r.Object(func(name string) (err error) {
		seen[name] = true
		switch name {
		case "lockFileVersion":
			if b.Version, err = r.String(); err == nil && b.Version != "3.0" {
				err = fmt.Errorf("lockFileVersion %.40q is not known: want 3.0", b.Version)
			}
		case "meta":
			err = r.Skip()
		case "server":
			err = s.readIdentity(r)
		case "prompts":
			err = readOnly(r, "definitions", func() error { return s.readNamed(r, lock.Prompt) })
		case "resources":
			err = readOnly(r, "templates", func() error { return s.readTemplates(r) })
		case "tools":
			err = s.readNamed(r, lock.Tool)
		default:
			err = r.Unknown(name)
		}
		return err
	})
	if err == nil {
		err = required(seen, "lockFileVersion", "prompts", "resources", "tools")
	}
	b.Servers = []Server{s}
	return err
}

// readIdentity reads what the server called itself. The package or image it came in is not what it lists.
func (s *Server) readIdentity(r *canonical.Reader) error {
	return r.Object(func(name string) (err error) {
		switch name {
		case "name":
			s.Name, err = r.String()
		case "artifact":
			err = r.Skip()
		default:
			err = r.Unknown(name)
		}
		return err
	})
}

// readOnly reads an object with one member, which it must have.
func readOnly(r *canonical.Reader, member string, read func() error) error {
	seen := false
	err := r.Object(func(name string) error {
		if name != member {
			return r.Unknown(name)
		}
		seen = true
		return read()
	})
	if err == nil && !seen {
		err = r.Fail(canonical.Syntax, "has no "+member)
	}
	return err
}

// readNamed reads tools or prompts: an object of pins by their name.
func (s *Server) readNamed(r *canonical.Reader, k lock.Kind) error {
	if is, err := null(r); is || err != nil {
		return err
	}
	return r.Object(func(name string) error {
		h, err := readHashes(r, k)
		if err != nil {
			return err
		}
		return s.add(k, name, h)
	})
}

// readTemplates reads an array of pins of resource templates.
func (s *Server) readTemplates(r *canonical.Reader) error {
	if is, err := null(r); is || err != nil {
		return err
	}
	return r.Array(func(int) error {
		h, err := readHashes(r, lock.ResourceTemplate)
		if err != nil {
			return err
		}
		return s.add(lock.ResourceTemplate, h["uriTemplate"], h)
	})
}

// hashes are the members of a pin.
type hashes map[string]string

// readHashes reads a pin, whose members all are strings.
func readHashes(r *canonical.Reader, k lock.Kind) (hashes, error) {
	h := hashes{}
	known := hashMembers(k)
	err := r.Object(func(name string) (err error) {
		if !slices.Contains(known, name) {
			return r.Unknown(name)
		}
		h[name], err = r.String()
		return err
	})
	return h, err
}

// hashMembers lists the members of a pin, those it must have first.
func hashMembers(k lock.Kind) []string {
	switch k {
	case lock.Tool:
		return []string{"description_hash", "input_schema_hash", "risk_level"}
	case lock.Prompt:
		return []string{"argumentsHash", "descriptionHash"}
	}
	return []string{"uriTemplate", "templateHash", "nameHash", "descriptionHash", "mimeType"}
}

// mustHave says how many of hashMembers a pin must have.
func mustHave(k lock.Kind) int {
	if k == lock.Prompt {
		return 1
	}
	return 2
}

// add checks a pin's members and adds the pin.
func (s *Server) add(k lock.Kind, name string, h hashes) error {
	if len(s.Pins) == lock.MaxDefinitions {
		return tooMany()
	}
	if err := h.check(k); err != nil {
		return fmt.Errorf("%s: %w", lock.Visible(lock.ID(k, name)), err)
	}
	if name == "" {
		return fmt.Errorf("a %s has no name", k)
	}
	p := Pin{Kind: k, Name: name, compare: h.tool}
	switch k {
	case lock.Prompt:
		p.compare = h.prompt
	case lock.ResourceTemplate:
		p.compare = h.template
	}
	s.Pins = append(s.Pins, p)
	return nil
}

func (h hashes) check(k lock.Kind) error {
	seen := map[string]bool{}
	for _, member := range hashMembers(k) {
		text, ok := h[member]
		seen[member] = ok
		if !ok || member == "input_schema_hash" && text == "" || !strings.HasSuffix(strings.ToLower(member), "hash") {
			continue
		}
		if _, err := lock.ParseDigest(text); err != nil {
			return fmt.Errorf("%s: %w", member, err)
		}
	}
	return required(seen, hashMembers(k)[:mustHave(k)]...)
}

func (h hashes) tool(ms members) ([]string, error) {
	if err := ms.unfolded("name", "description", "inputSchema"); err != nil {
		return nil, err
	}
	description, err := ms.text("description")
	if err != nil {
		return nil, err
	}
	schema, err := ms.object("inputSchema")
	if err != nil {
		return nil, err
	}
	got := ""
	if string(schema) != "{}" {
		spelled, err := respell(nil, schema, golang())
		if err != nil {
			return nil, err
		}
		got = hash(spelled)
	}
	var differ []string
	if h["description_hash"] != hash([]byte(description)) {
		differ = append(differ, "description")
	}
	if h["input_schema_hash"] != got {
		differ = append(differ, "inputSchema")
	}
	return differ, nil
}

func (h hashes) prompt(ms members) ([]string, error) {
	if err := ms.unfolded("name", "description", "arguments"); err != nil {
		return nil, err
	}
	description, err := ms.text("description")
	if err != nil {
		return nil, err
	}
	arguments, err := reduceArguments(ms)
	if err != nil {
		return nil, err
	}
	var differ []string
	if h["argumentsHash"] != hash(arguments) {
		differ = append(differ, "arguments")
	}
	if h["descriptionHash"] != textHash(description) {
		differ = append(differ, "description")
	}
	return differ, nil
}

func (h hashes) template(ms members) ([]string, error) {
	if err := ms.unfolded("uriTemplate", "name", "description", "mimeType"); err != nil {
		return nil, err
	}
	var differ []string
	for _, of := range []struct{ member, hash string }{{"name", "nameHash"}, {"description", "descriptionHash"}} {
		text, err := ms.text(of.member)
		if err != nil {
			return nil, err
		}
		if h[of.hash] != textHash(text) {
			differ = append(differ, of.member)
		}
	}
	mime, err := ms.text("mimeType")
	if err != nil {
		return nil, err
	}
	reduced := []byte{'{'}
	if mime != "" {
		reduced = append(append(append(reduced, `"mimeType":`...), ms["mimeType"]...), ',')
	}
	reduced = append(append(append(reduced, `"uriTemplate":`...), ms["uriTemplate"]...), '}')
	if h["templateHash"] != hash(reduced) || h["mimeType"] != mime {
		differ = append(differ, "mimeType")
	}
	return differ, nil
}

// reduceArguments returns the canonical form of a prompt's arguments as far as they are hashed.
func reduceArguments(ms members) ([]byte, error) {
	type argument struct {
		name string
		form []byte
	}
	var all []argument
	if ms.present("arguments") {
		r := canonical.NewReader(ms["arguments"])
		err := r.Array(func(int) error {
			v, err := r.Value()
			if err != nil {
				return err
			}
			a, err := readMembers(v)
			if err != nil {
				return errors.New("an argument is no object")
			}
			name, form, err := a.reduceArgument()
			all = append(all, argument{name, form})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b argument) int { return strings.Compare(a.name, b.name) })
	form := []byte{'['}
	for i, a := range all {
		if i > 0 {
			form = append(form, ',')
		}
		form = append(form, a.form...)
	}
	return append(form, ']'), nil
}

func (ms members) reduceArgument() (name string, form []byte, err error) {
	if err := ms.unfolded("name", "description", "required"); err != nil {
		return "", nil, err
	}
	if name, err = ms.text("name"); err != nil {
		return "", nil, err
	}
	description, err := ms.text("description")
	if err != nil {
		return "", nil, err
	}
	form = []byte{'{'}
	if description != "" {
		form = append(append(append(form, `"description":`...), ms["description"]...), ',')
	}
	form = canonical.AppendString(append(form, `"name":`...), name)
	switch required := string(ms["required"]); required {
	case "true":
		form = append(form, `,"required":true`...)
	case "", "false", "null":
	default:
		return "", nil, errors.New("required of an argument is neither true nor false")
	}
	return name, append(form, '}'), nil
}

// textHash returns the hash of a text whose blanks at the ends of lines and kinds of line breaks do not count. The
// empty text has none.
func textHash(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	return hash([]byte(strings.Join(lines, "\n")))
}

func hash(b []byte) string { return lock.Digest(sha256.Sum256(b)).String() }
