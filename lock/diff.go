package lock

import (
	"bytes"
	"strconv"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// A Change is one difference between what is pinned and what is listed.
type Change struct {
	Kind   Kind
	Name   string
	Op     Op
	Fields []Field // for Changed: at least one, in the order of the canonical form
}

// An Op is a way in which a definition differs from its pin.
type Op string

const (
	Added   Op = "added"
	Removed Op = "removed"
	Changed Op = "changed"
)

// A Field is one value that differs.
type Field struct {
	Pointer  string // RFC 6901, within the definition
	Old, New []byte // canonical JSON; nil if absent
}

// Diff compares a listing with the pins of s. A definition that equals the pin
// of any variant has not changed; one that equals none is compared with the
// first. Definitions without a digest are neither changed nor removed: they
// are in the listing's Refused.
func (s *Server) Diff(l *Listing) []Change {
	if s == nil {
		s = &Server{}
	}
	var changes []Change
	listed := make(map[string]bool, len(l.Definitions))
	for _, r := range l.Refused {
		listed[ID(r.Kind, r.Name)] = true
	}
	for _, d := range l.Definitions {
		listed[d.ID()] = true
		pins := s.Pin(d.kind, d.name)
		if len(pins) == 0 {
			changes = append(changes, Change{Kind: d.kind, Name: d.name, Op: Added})
			continue
		}
		if !pinned(pins, d) {
			changes = append(changes, Change{d.kind, d.name, Changed, Compare(pins[0].Definition, d)})
		}
	}
	last := ""
	for _, p := range s.Pins {
		if id := p.Definition.ID(); !listed[id] && id != last {
			changes = append(changes, Change{Kind: p.Definition.kind, Name: p.Definition.name, Op: Removed})
			last = id
		}
	}
	return changes
}

func pinned(pins []Pin, d Definition) bool {
	for _, p := range pins {
		if p.Definition.digest == d.digest {
			return true
		}
	}
	return false
}

// Compare lists the values that differ between two definitions. Objects are
// compared member by member and arrays index by index; a value that differs in
// type or is on one side only is one field.
func Compare(old, new Definition) []Field {
	return compareValues(nil, "", old.form, new.form)
}

// compareValues appends the differences of two canonical values.
func compareValues(fields []Field, pointer string, old, new []byte) []Field {
	switch {
	case bytes.Equal(old, new):
		return fields
	case len(old) == 0 || len(new) == 0: // the zero Definition
	case old[0] == '{' && new[0] == '{':
		return compareObjects(fields, pointer, members(old), members(new))
	case old[0] == '[' && new[0] == '[':
		a, b := elements(old), elements(new)
		for i := range max(len(a), len(b)) {
			at := canonical.Child(pointer, strconv.Itoa(i))
			switch {
			case i >= len(a):
				fields = append(fields, Field{at, nil, b[i]})
			case i >= len(b):
				fields = append(fields, Field{at, a[i], nil})
			default:
				fields = compareValues(fields, at, a[i], b[i])
			}
		}
		return fields
	}
	return append(fields, Field{pointer, old, new})
}

// compareObjects merges two sorted lists of members.
func compareObjects(fields []Field, pointer string, a, b []namedValue) []Field {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && canonical.Less(a[0].name, b[0].name):
			fields = append(fields, Field{canonical.Child(pointer, a[0].name), a[0].value, nil})
			a = a[1:]
		case len(a) == 0 || canonical.Less(b[0].name, a[0].name):
			fields = append(fields, Field{canonical.Child(pointer, b[0].name), nil, b[0].value})
			b = b[1:]
		default:
			fields = compareValues(fields, canonical.Child(pointer, a[0].name), a[0].value, b[0].value)
			a, b = a[1:], b[1:]
		}
	}
	return fields
}

type namedValue struct {
	name  string
	value []byte
}

// members splits a canonical object.
func members(form []byte) []namedValue {
	var ms []namedValue
	for i := 1; form[i] != '}'; {
		if form[i] == ',' {
			i++
		}
		end := stringEnd(form, i)
		value := valueEnd(form, end+1)
		ms = append(ms, namedValue{canonical.Unquote(form[i:end]), form[end+1 : value]})
		i = value
	}
	return ms
}

// elements splits a canonical array.
func elements(form []byte) [][]byte {
	var es [][]byte
	for i := 1; form[i] != ']'; {
		if form[i] == ',' {
			i++
		}
		end := valueEnd(form, i)
		es = append(es, form[i:end])
		i = end
	}
	return es
}

// valueEnd returns the index behind the canonical value that starts at i.
func valueEnd(form []byte, i int) int {
	for depth := 0; ; {
		switch form[i] {
		case '"':
			i = stringEnd(form, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':':
			i++
			continue
		default:
			for i < len(form) && form[i] != ',' && form[i] != '}' && form[i] != ']' {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}
