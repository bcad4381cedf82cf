package lock

import (
	"bytes"
	"slices"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// A value is a canonical JSON value that is split when it is first looked into,
// so that what did not change costs nothing. The nil value is absent.
type value struct {
	form  []byte
	names []string // of an object's members, decoded, in canonical order
	kids  []value  // the members' values, or an array's elements
	split bool

	polarity polarity // of a schema that a document's root leads to
}

// newValue returns the value with a canonical form; absent for the form of the
// zero Definition.
func newValue(form []byte) *value {
	if len(form) == 0 {
		return nil
	}
	return &value{form: form}
}

// is reports whether v starts with first: '{' for an object, '[' for an array,
// '"' for a string.
func (v *value) is(first byte) bool { return v != nil && v.form[0] == first }

// literal reports whether v has the form s.
func (v *value) literal(s string) bool { return v != nil && string(v.form) == s }

// bytes returns the canonical form, nil for the absent value.
func (v *value) bytes() []byte {
	if v == nil {
		return nil
	}
	return v.form
}

// text returns the string that v is, empty if it is none.
func (v *value) text() string {
	if !v.is('"') {
		return ""
	}
	return canonical.Unquote(v.form)
}

// equal reports whether a and b are the same, absent or not.
func equal(a, b *value) bool { return a == b || a != nil && b != nil && bytes.Equal(a.form, b.form) }

// members returns the names of an object's members, none of anything else.
func (v *value) members() []string {
	v.parse()
	if !v.is('{') {
		return nil
	}
	return v.names
}

// elements returns the elements of an array, none of anything else.
func (v *value) elements() []value {
	v.parse()
	if !v.is('[') {
		return nil
	}
	return v.kids
}

// member returns the member called name, absent if there is none.
func (v *value) member(name string) *value {
	i, ok := slices.BinarySearchFunc(v.members(), name, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case canonical.Less(a, b):
			return -1
		}
		return 1
	})
	if !ok {
		return nil
	}
	return &v.kids[i]
}

// parse splits an object or array once.
func (v *value) parse() {
	if v == nil || v.split {
		return
	}
	v.split = true
	object := v.is('{')
	if !object && !v.is('[') {
		return
	}
	for i := 1; v.form[i] != '}' && v.form[i] != ']'; {
		if v.form[i] == ',' {
			i++
		}
		if object {
			end := stringEnd(v.form, i)
			v.names = append(v.names, canonical.Unquote(v.form[i:end]))
			i = end + 1
		}
		end := valueEnd(v.form, i)
		v.kids = append(v.kids, value{form: v.form[i:end]})
		i = end
	}
}

// eachMember calls f for the members of two objects in canonical order, absent
// on one side for what only the other has, until f returns false.
func eachMember(a, b *value, f func(name string, a, b *value) bool) {
	x, y := a.members(), b.members()
	for i, j := 0, 0; i < len(x) || j < len(y); {
		var old, new *value
		var name string
		switch {
		case j == len(y) || i < len(x) && canonical.Less(x[i], y[j]):
			name, old = x[i], &a.kids[i]
			i++
		case i == len(x) || x[i] != y[j]:
			name, new = y[j], &b.kids[j]
			j++
		default:
			name, old, new = x[i], &a.kids[i], &b.kids[j]
			i, j = i+1, j+1
		}
		if !f(name, old, new) {
			return
		}
	}
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
