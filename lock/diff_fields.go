package lock

import (
	"bytes"
	"strconv"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// The limits of what Compare tells apart. An object or array that would have
// more fields, or whose fields' pointers would be longer together, is one field.
const (
	maxFields       = 1_000
	maxPointerBytes = 1 << 18
	maxElements     = 10_000 // of an array that is aligned
)

// A Field is one value that differs between two definitions.
type Field struct {
	// Pointer is the place, RFC 6901: in the old definition if New is absent,
	// in the new one otherwise. The two can only differ behind an array index.
	Pointer  string
	Old, New []byte // canonical JSON; nil if absent

	Severity Severity // the highest of Effects; Normal if there are none
	Effects  []Effect // what the difference means, as far as it has a code
}

// Compare lists the values that differ between two definitions of a kind, in
// the order of the canonical form. There are none if the digests are equal.
//
// Objects are compared member by member. Arrays named required, enum or type,
// which are sets, and values that differ in type are one field.
// The elements of prefixItems and items are compared by their index, those of
// other arrays are aligned: by their name, uri or src, by being equal, and in
// between by their order, so that an inserted element is one field. An element
// that moved is removed and added. Applied to old, the fields give new.
//
// An object or array with more than 1,000 fields, or pointers of more than
// 256 KiB, is one field as a whole, and so is an array of more than 10,000
// elements. Time is O(n log n) in the size of both.
// Effects follow the JSON Schema specification (2020-12 and draft-07); they are
// no proof that a schema accepts more, but if it does, there is one of severity
// High. Remote schemas are not read.
func Compare(old, new Definition) []Field {
	if bytes.Equal(old.form, new.form) {
		return nil
	}
	a, b := newValue(old.form), newValue(new.form)
	c := &comparer{}
	c.values(a, b, location{}, "")
	e := newExplainer(c.fields)
	e.definition(new.kind, a, b)
	return e.finish()
}

// Text returns both sides of a field that is a string on both, for which a text
// diff can be made. They are the server's text.
func (f Field) Text() (old, new string, ok bool) {
	a, b := newValue(f.Old), newValue(f.New)
	if !a.is('"') || !b.is('"') {
		return "", "", false
	}
	return a.text(), b.text(), true
}

// A location is where a value is in both definitions.
type location struct{ old, new string }

func (p location) child(old, new string) location {
	next := location{new: canonical.Child(p.new, new)}
	if p.old == p.new && old == new {
		next.old = next.new
	} else {
		next.old = canonical.Child(p.old, old)
	}
	return next
}

type comparer struct {
	fields []Field
	size   int // bytes of the fields' pointers
}

func (c *comparer) add(pointer string, old, new *value) {
	c.fields = append(c.fields, Field{Pointer: pointer, Old: old.bytes(), New: new.bytes()})
	c.size += len(pointer)
}

// values appends the differences of two values, of which name is the member.
func (c *comparer) values(old, new *value, at location, name string) {
	if equal(old, new) {
		return
	}
	count, size := len(c.fields), c.size
	over := func() bool { return len(c.fields)-count > maxFields || c.size-size > maxPointerBytes }
	switch {
	case new == nil:
		c.add(at.old, old, new)
	case old.is('{') && new.is('{'):
		eachMember(old, new, func(name string, a, b *value) bool {
			if !equal(a, b) {
				c.values(a, b, at.child(name, name), name)
			}
			return !over()
		})
	case old.is('[') && new.is('[') && !isSet(name) && alignable(old, new):
		c.arrays(old, new, at, name, over)
	default:
		c.add(at.new, old, new)
	}
	if over() {
		c.fields, c.size = c.fields[:count], size
		c.add(at.new, old, new)
	}
}

func (c *comparer) arrays(old, new *value, at location, name string, over func() bool) {
	a, b := old.elements(), new.elements()
	for _, p := range alignAs(name, old, new) {
		x, y := elementAt(a, p.old), elementAt(b, p.new)
		if equal(x, y) {
			continue
		}
		c.values(x, y, at.child(strconv.Itoa(p.old), strconv.Itoa(p.new)), "")
		if over() {
			return
		}
	}
}

// alignAs aligns two arrays that are the member called name.
func alignAs(name string, old, new *value) []pair {
	if name == "prefixItems" || name == "items" {
		return alignByIndex(old.elements(), new.elements())
	}
	return align(old, new)
}

func alignable(old, new *value) bool {
	return len(old.elements()) <= maxElements && len(new.elements()) <= maxElements
}

func elementAt(list []value, i int) *value {
	if i < 0 {
		return nil
	}
	return &list[i]
}

// isSet reports whether arrays that are the member called name have no order.
func isSet(name string) bool { return name == "required" || name == "enum" || name == "type" }
