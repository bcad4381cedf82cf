package lock

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// Version is the version of the lockfile's format that this package writes,
// and the only one it reads.
const Version = 1

// MaxSequence is the largest sequence: an integer below 2^53.
const MaxSequence = 1<<53 - 1

// MaxLockfile is how many bytes a lockfile can have.
const MaxLockfile = 32 << 20

// maxEvidence is how many signatures a server of a lockfile can have, one a
// variant and signer: each names a bundle that a verifier reads and judges.
const maxEvidence = MaxBundles

// maxServers is how many servers a lockfile can have.
const maxServers = 10_000

// maxTrust is how many keys and roots one signature can rest on.
const maxTrust = 16

// A File is a lockfile: the definitions of servers that someone approved. It
// is a record, not authority: where a policy asks for signatures it can only
// forbid.
type File struct {
	Servers []Server // sorted by name, at most 10,000
}

// A Server is what was approved of one server.
type Server struct {
	Name     string     // chosen by the operator, as its publisher signs for it
	Source   Source     // how it was launched
	Info     Info       // what it said of itself
	Evidence []Evidence // sorted by variant, signer; at most 64; empty if nothing was signed
	Pins     []Pin      // sorted by kind, name, variant; at least one
}

// Evidence says that the pins of a variant were verified against a bundle.
type Evidence struct {
	Variant  string
	Sequence uint64 // of the statement, 0 < n < 2^53
	Signer   Signer
	Bundle   Digest   // SHA-256 of the bundle's bytes
	Trust    []Digest // SHA-256 of the keys, roots and trusted roots it was verified with, sorted; at most 16
}

// A Pin is one approved definition.
type Pin struct {
	Definition Definition
	Variant    string // of the statement that covers it
	Unsigned   bool   // someone approved it without a signature
}

// Find returns the server called name, nil if there is none.
func (f *File) Find(name string) *Server {
	for i := range f.Servers {
		if f.Servers[i].Name == name {
			return &f.Servers[i]
		}
	}
	return nil
}

// Put adds s, or replaces the server of that name.
func (f *File) Put(s Server) {
	if old := f.Find(s.Name); old != nil {
		*old = s
		return
	}
	f.Servers = append(f.Servers, s)
	slices.SortFunc(f.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
}

// Sort puts pins and evidence in the order that a lockfile has.
func (s *Server) Sort() {
	slices.SortFunc(s.Pins, comparePins)
	slices.SortFunc(s.Evidence, compareEvidence)
}

// Sequence returns the highest sequence on record, 0 if nothing is signed.
func (s *Server) Sequence() uint64 {
	var n uint64
	for _, e := range s.Evidence {
		n = max(n, e.Sequence)
	}
	return n
}

// Pin returns the pins of one kind and name: none, one, or one a variant.
func (s *Server) Pin(k Kind, name string) []Pin {
	at, _ := slices.BinarySearchFunc(s.Pins, Pin{Definition: Definition{kind: k, name: name}}, comparePins)
	end := at
	for end < len(s.Pins) && s.Pins[end].Definition.kind == k && s.Pins[end].Definition.name == name {
		end++
	}
	return s.Pins[at:end]
}

func comparePins(a, b Pin) int {
	return cmp.Or(compareDefinitions(a.Definition, b.Definition), strings.Compare(a.Variant, b.Variant))
}

func compareEvidence(a, b Evidence) int {
	return cmp.Or(strings.Compare(a.Variant, b.Variant), compareSigners(a.Signer, b.Signer))
}

// CheckName reports why name can't be a server's: it has 1 to 255 bytes, ASCII
// letters, digits and -._~@:+ in non-empty segments between slashes.
func CheckName(name string) error {
	if name == "" || len(name) > 255 {
		return fmt.Errorf("server name has %d bytes, want 1 to 255", len(name))
	}
	for _, segment := range strings.Split(name, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("server name %s has a segment %q", Visible(name), segment)
		}
	}
	for _, r := range name {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~@:+/", r)) {
			return fmt.Errorf("server name %s has the character %s", Visible(name), strconv.QuoteRuneToASCII(r))
		}
	}
	return nil
}

// check reports what makes f no lockfile: the rules that Parse and Format
// share.
func (f *File) check() error {
	if len(f.Servers) == 0 {
		return fmt.Errorf("has no servers")
	}
	if len(f.Servers) > maxServers {
		return fmt.Errorf("has %d servers, at most %d are read", len(f.Servers), maxServers)
	}
	covered := 0
	for i := range f.Servers {
		s := &f.Servers[i]
		if err := CheckName(s.Name); err != nil {
			return err
		}
		if i > 0 && f.Servers[i-1].Name >= s.Name {
			return fmt.Errorf("server %s is not in order, or there twice", s.Name)
		}
		if err := s.check(); err != nil {
			return fmt.Errorf("server %s: %w", s.Name, err)
		}
		if covered += s.covered(); covered > maxCovered {
			return fmt.Errorf("server %s: each variant is judged with the unsigned pins of its server, which are more than %d together", s.Name, maxCovered)
		}
	}
	return nil
}

func (s *Server) check() error {
	if len(s.Pins) == 0 || len(s.Pins) > MaxDefinitions {
		return fmt.Errorf("has %d pins, want 1 to %d", len(s.Pins), MaxDefinitions)
	}
	if !s.Source.empty() {
		if err := s.Source.check(); err != nil {
			return err
		}
	}
	for _, f := range s.Info.fields() {
		if !utf8.ValidString(*f.value) {
			return fmt.Errorf("the server's own %s is no UTF-8", f.name)
		}
	}
	if len(s.Evidence) > maxEvidence {
		return fmt.Errorf("has %d signatures, at most %d are judged", len(s.Evidence), maxEvidence)
	}
	variants := make(map[string]bool)
	for i, e := range s.Evidence {
		if err := e.Signer.check(); err != nil {
			return err
		}
		switch {
		case i > 0 && compareEvidence(s.Evidence[i-1], e) >= 0:
			return fmt.Errorf("signatures are not in order, or there twice")
		case e.Sequence == 0 || e.Sequence > MaxSequence:
			return fmt.Errorf("sequence %d is not between 1 and 2^53-1", e.Sequence)
		case !utf8.ValidString(e.Variant):
			return fmt.Errorf("variant %s is no UTF-8", Visible(e.Variant))
		case e.Bundle.IsZero():
			return fmt.Errorf("a signature names no bundle")
		case len(e.Trust) > maxTrust:
			return fmt.Errorf("a signature rests on %d keys and roots, at most %d are read", len(e.Trust), maxTrust)
		case !slices.IsSortedFunc(e.Trust, Digest.Compare) || slices.Contains(e.Trust, Digest{}):
			return fmt.Errorf("trust is not in order")
		}
		variants[e.Variant] = true
	}
	for i, p := range s.Pins {
		switch {
		case p.Definition.digest.IsZero() || !p.Definition.kind.Valid():
			return fmt.Errorf("a pin has no definition")
		case i > 0 && comparePins(s.Pins[i-1], p) >= 0:
			return fmt.Errorf("%s is not in order, or there twice", Visible(p.Definition.ID()))
		case p.Unsigned && p.Variant != "":
			return fmt.Errorf("%s is unsigned and has a variant", Visible(p.Definition.ID()))
		case !p.Unsigned && !variants[p.Variant]:
			return fmt.Errorf("%s is not unsigned, and nothing signed covers variant %q", Visible(p.Definition.ID()), p.Variant)
		}
	}
	return nil
}

// Format returns the lockfile's bytes: JSON indented by two spaces, members in
// a fixed order, hidden characters as escapes. It is an error if f is not what
// Parse could return.
func (f *File) Format() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("lockfile: %w", err)
	}
	w := &writer{limit: MaxLockfile}
	if f.write(w); w.over() {
		return nil, fmt.Errorf("lockfile: %w", tooLarge("lockfile", MaxLockfile))
	}
	return w.out, nil
}

// write writes f, which is checked. Each server, signature and definition has
// lines of its own, so that one changed definition is one hunk of a diff. If w
// is over its limit it may leave something out: indentation can make a hundred
// bytes of two.
func (f *File) write(w *writer) {
	w.open('{')
	w.member("version", strconv.Itoa(Version))
	w.name("servers")
	w.open('[')
	for i := range f.Servers {
		w.element()
		w.mark(f.Servers[i].Name, "")
		f.Servers[i].format(w)
	}
	w.close(']')
	w.close('}')
	w.out = append(w.out, '\n')
}

// Lines are the lines, from 1, on which the entries of a lockfile begin.
type Lines map[place]int

type place struct{ server, id string }

// Lines returns where the entries of f are in what Format writes.
func (f *File) Lines() Lines {
	w := &writer{limit: MaxLockfile, marks: Lines{}, lines: 1}
	f.write(w)
	return w.marks
}

// Line returns the line of the first pin of kind and name; the server's, if
// there is no such pin, and 1 if there is no such server.
func (l Lines) Line(server string, k Kind, name string) int {
	return max(1, cmp.Or(l[place{server, ID(k, name)}], l[place{server, ""}]))
}

func (s *Server) format(w *writer) {
	w.open('{')
	w.string("name", s.Name)
	if !s.Source.IsZero() {
		w.name("source")
		s.Source.format(w)
	}
	if s.Info != (Info{}) {
		w.name("info")
		s.Info.format(w)
	}
	if len(s.Evidence) > 0 {
		w.name("signed")
		w.open('[')
		for _, e := range s.Evidence {
			w.element()
			e.format(w)
		}
		w.close(']')
	}
	w.name("pins")
	w.open('[')
	for _, p := range s.Pins {
		if w.over() {
			break
		}
		w.element()
		w.mark(s.Name, p.Definition.ID())
		p.format(w)
	}
	w.close(']')
	w.close('}')
}

func (e *Evidence) format(w *writer) {
	w.open('{')
	w.optional("variant", e.Variant)
	w.member("sequence", strconv.FormatUint(e.Sequence, 10))
	w.name("signer")
	w.open('{')
	for _, f := range e.Signer.fields() {
		w.optional(f.name, *f.value)
	}
	w.close('}')
	w.string("bundle", e.Bundle.String())
	w.name("trust")
	w.open('[')
	for _, t := range e.Trust {
		w.element()
		w.quoted(t.String())
	}
	w.close(']')
	w.close('}')
}

func (p *Pin) format(w *writer) {
	d := &p.Definition
	w.open('{')
	w.string("kind", string(d.kind))
	if d.kind != Instructions {
		w.string("name", d.name)
	}
	w.optional("variant", p.Variant)
	if p.Unsigned {
		w.member("unsigned", "true")
	}
	w.string("digest", d.digest.String())
	if !d.meta.IsZero() {
		w.string("meta", d.meta.String())
	}
	w.name("definition")
	w.canonical(d.form)
	w.close('}')
}

// readPin reads a pin and recomputes its digest.
func readPin(r *canonical.Reader) (Pin, error) {
	var p Pin
	var kind, name, digest, meta string
	err := r.Object(func(member string) (err error) {
		switch member {
		case "kind":
			kind, err = r.String()
		case "name":
			name, err = r.String()
		case "variant":
			p.Variant, err = r.String()
		case "unsigned":
			p.Unsigned, err = r.Bool()
		case "digest":
			digest, err = r.String()
		case "meta":
			meta, err = r.String()
		case "definition":
			if !Kind(kind).Valid() {
				return r.Fail(canonical.Syntax, "the definition comes before a known kind")
			}
			var refused *canonical.Error
			if p.Definition, refused, err = readDefinition(r, Kind(kind)); err == nil && refused != nil {
				err = fmt.Errorf("definition %s: %w", Visible(ID(Kind(kind), name)), digestError(refused))
			}
		default:
			err = r.Unknown(member)
		}
		return err
	})
	if err != nil {
		return p, err
	}
	d := &p.Definition
	switch {
	case d.digest.IsZero():
		return p, r.Fail(canonical.Syntax, "a pin has no definition")
	case d.name != name:
		return p, fmt.Errorf("pin %s holds a definition called %s", Visible(ID(d.kind, name)), Visible(d.name))
	case d.digest.String() != digest:
		return p, fmt.Errorf("pin %s says digest %s, but its definition has %s", Visible(d.ID()), Visible(digest), d.digest)
	}
	d.raw = nil
	if meta != "" {
		if d.meta, err = ParseDigest(meta); err != nil {
			return p, fmt.Errorf("pin %s: meta: %w", Visible(d.ID()), err)
		}
	}
	return p, nil
}
