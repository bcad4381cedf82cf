// Package baseline reads what other tools pinned of an MCP server, far enough to say whether a live listing is still what
// was pinned there. Nothing read here is authority: it helps someone who changes tools to see what they pin now.
//
// # mcp-tool-pin-check, lockfile_version 1
//
//	{"lockfile_version": 1, "pinned_at": "...", "source": "...",
//	 "tools": [{"name": "...", "sha256": HEX, "definition": {...}}]}
//
// A definition is reduced to name, description ("" if absent or null), inputSchema ({} if absent or null) and annotations
// (unless absent or null). The hash is SHA-256 over what Python's json.dumps writes of it with sorted keys, without white
// space and without escapes for what is not ASCII: names in the order of code points, 1 and 1.0 as the two texts they
// are. The hash is computed again from the definition beside it, and that definition is compared with the listing as JSON
// values: of a listing nobody knows here whether it spelled 1 or 1.0.
//
// # mcptrust, lockFileVersion 3.0
//
//	{"lockFileVersion": "3.0", "meta": {...}, "server": {"name": "...", "artifact": {...}},
//	 "prompts": {"definitions": {NAME: {"argumentsHash": HASH, "descriptionHash": HASH}}},
//	 "resources": {"templates": [{"uriTemplate": "...", "templateHash": HASH, "nameHash": HASH, "descriptionHash": HASH, "mimeType": "..."}]},
//	 "tools": {NAME: {"description_hash": HASH, "input_schema_hash": HASH, "risk_level": "..."}}}
//
// A HASH is "sha256:" and 64 lower-case hexadecimal digits.
//
//   - description_hash: the description's UTF-8, "" if absent or null.
//   - input_schema_hash: the schema as Go's encoding/json writes it, names in the order of code points, with <, >, &,
//     U+2028 and U+2029 escaped; an empty text, no hash, if the schema is absent, null or {}.
//   - argumentsHash: the RFC 8785 form of the array of arguments sorted by name, each reduced to name, description unless
//     empty, and required unless false.
//   - templateHash: the RFC 8785 form of uriTemplate and, unless empty, mimeType.
//   - nameHash and descriptionHash of prompts and templates, absent if the text was empty: the text with CR LF and CR
//     turned into LF, and blanks and tabs removed before each LF and at the end.
//
// A schema with a number spelled -0 differs here, as the canonical form of a listing has 0.
//
// The package does no I/O and keeps no state.
package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// MaxFile is the largest file that is read, in bytes.
const MaxFile = 64 << 20

// Tools whose files are read.
const (
	PinCheck = "mcp-tool-pin-check"
	MCPTrust = "mcptrust"
)

// A Baseline is what a tool pinned. Its texts are those of the file: escape them before they are shown.
type Baseline struct {
	Tool    string // PinCheck or MCPTrust
	Version string // of the file's format
	Servers []Server
}

// A Server is what was pinned of one server: at least one pin.
type Server struct {
	Name string // a label, or what the server called itself; may be empty
	Pins []Pin  // sorted by kind, name

	kinds []lock.Kind // that the tool pins
}

// A Pin is one pinned definition.
type Pin struct {
	Kind lock.Kind
	Name string

	// compare names what differs between the pin and the members of a definition in canonical form. An error says why
	// the tool would not take the definition.
	compare func(members) ([]string, error)
}

// A State is how a listing relates to a pin.
type State string

const (
	Match     State = "match"     // everything that the tool hashed is the same
	Differs   State = "differs"   // something that the tool hashed is not
	Missing   State = "missing"   // pinned and not listed
	New       State = "new"       // listed and not pinned
	Uncovered State = "uncovered" // listed, of a kind that the tool does not pin
)

// A Result is what became of one definition.
type Result struct {
	Kind   lock.Kind
	Name   string // the server's text
	State  State
	Detail string // for people, fit for a terminal; may be empty
}

// Parse reads the file of a tool, at most MaxFile bytes. It is strict about all that decides: unknown versions and
// members, members that occur twice, hashes that are none or disagree with what they stand beside, and a file that pins
// nothing are errors.
func Parse(data []byte) (*Baseline, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("has more than %d bytes", MaxFile)
	}
	tool, err := recognize(data)
	if err != nil {
		return nil, err
	}
	b := &Baseline{Tool: tool}
	read := b.readPinCheck
	if tool == MCPTrust {
		read = b.readMCPTrust
	}
	r := canonical.NewReader(data)
	if err = read(r); err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, fmt.Errorf("%s lockfile: %w", tool, err)
	}
	pins := b.Servers[0].Pins
	if len(pins) == 0 {
		return nil, fmt.Errorf("%s lockfile: pins nothing", tool)
	}
	slices.SortFunc(pins, func(a, b Pin) int { return compareIDs(a.Kind, a.Name, b.Kind, b.Name) })
	for i, p := range pins[1:] {
		if pins[i].Kind == p.Kind && pins[i].Name == p.Name {
			return nil, fmt.Errorf("%s lockfile: %s is pinned twice", tool, lock.Visible(lock.ID(p.Kind, p.Name)))
		}
	}
	return b, nil
}

// recognize tells whose file this is by the name of its version.
func recognize(data []byte) (string, error) {
	tool := ""
	r := canonical.NewReader(data)
	err := r.Object(func(name string) error {
		switch name {
		case "lockfile_version":
			tool += PinCheck
		case "lockFileVersion":
			tool += MCPTrust
		}
		return r.Skip()
	})
	if err != nil {
		return "", err
	}
	if tool != PinCheck && tool != MCPTrust {
		return "", errors.New("no lockfile of a tool that is known: want one of lockfile_version (mcp-tool-pin-check) and lockFileVersion (mcptrust)")
	}
	return tool, nil
}

func compareIDs(k lock.Kind, name string, l lock.Kind, other string) int {
	return cmp.Or(cmp.Compare(k, l), strings.Compare(name, other))
}

// Check compares a listing with the pins of s and returns a result for each definition that is on either side, sorted by
// kind and name. It says nothing about what the tool did not hash: see Uncovered. A definition without a digest never
// matches.
func (s *Server) Check(l *lock.Listing) []Result {
	var results []Result
	listed := map[string]bool{}
	for _, d := range l.Definitions {
		listed[d.ID()] = true
		results = append(results, s.check(d))
	}
	for _, f := range l.Refused {
		id := lock.ID(f.Kind, f.Name)
		if listed[id] && f.Name != "" {
			continue // one more copy of a name
		}
		listed[id] = true
		state := s.unpinned(f.Kind)
		if s.pin(f.Kind, f.Name) != nil {
			state = Differs
		}
		results = append(results, Result{f.Kind, f.Name, state, "it has no digest: " + f.Err.Error()})
	}
	for _, p := range s.Pins {
		if !listed[lock.ID(p.Kind, p.Name)] {
			detail := ""
			if !slices.Contains(l.Kinds, p.Kind) {
				detail = "nothing of its kind was listed, or not all of it"
			}
			results = append(results, Result{p.Kind, p.Name, Missing, detail})
		}
	}
	slices.SortStableFunc(results, func(a, b Result) int { return compareIDs(a.Kind, a.Name, b.Kind, b.Name) })
	return results
}

// check compares one definition with its pin.
func (s *Server) check(d lock.Definition) Result {
	result := Result{Kind: d.Kind(), Name: d.Name(), State: s.unpinned(d.Kind())}
	p := s.pin(d.Kind(), d.Name())
	if p == nil {
		return result
	}
	result.State = Differs
	ms, err := readMembers(d.Canonical())
	if err != nil {
		result.Detail = err.Error()
		return result
	}
	differ, err := p.compare(ms)
	switch {
	case err != nil:
		result.Detail = err.Error()
	case len(differ) > 0:
		result.Detail = strings.Join(differ, ", ")
	default:
		result.State = Match
	}
	return result
}

// unpinned returns what a definition without a pin is.
func (s *Server) unpinned(k lock.Kind) State {
	if slices.Contains(s.kinds, k) {
		return New
	}
	return Uncovered
}

// pin finds a pin, nil if there is none.
func (s *Server) pin(k lock.Kind, name string) *Pin {
	i, ok := slices.BinarySearchFunc(s.Pins, Pin{Kind: k, Name: name}, func(a, b Pin) int { return compareIDs(a.Kind, a.Name, b.Kind, b.Name) })
	if !ok {
		return nil
	}
	return &s.Pins[i]
}

// Uncovered says in sentences for people what could have changed although everything matches.
func (b *Baseline) Uncovered() []string {
	if b.Tool == PinCheck {
		return []string{
			"of a tool it pinned name, description, inputSchema and annotations only: not title, outputSchema, icons, execution, _meta or any other member",
			"prompts, resource templates and instructions were not pinned",
			"an absent description counted as an empty one, an absent inputSchema as {}",
		}
	}
	return []string{
		"of a tool it pinned name, description and inputSchema only: not title, annotations, outputSchema, icons, execution, _meta or any other member",
		"of a prompt it pinned name, description and arguments only (name, description and required of each, in any order)",
		"of a resource template it pinned uriTemplate, name, description and mimeType only",
		"instructions were not pinned, and of the tools only those on the first page",
		"blanks at the ends of lines and the kind of line breaks did not count in prompts and resource templates; an absent description counted as an empty one, an absent inputSchema as {}",
	}
}
