package lock

import (
	"net/url"
	"strings"
)

// unescape undoes percent-encoding of a URI fragment.
func unescape(ref *string) bool {
	s, err := url.PathUnescape(*ref)
	*ref = s
	return err == nil
}

// A set of types. The numbers are the integers and the others.
type types uint8

const (
	typeNull types = 1 << iota
	typeBoolean
	typeObject
	typeArray
	typeString
	typeInteger
	typeFraction
	allTypes = 1<<iota - 1
)

// typesOf returns the types that the keyword type names; all if it is absent.
func typesOf(v *value) (t types, ok bool) {
	if v == nil {
		return allTypes, true
	}
	for _, name := range namesOf(v) {
		switch name {
		case "null":
			t |= typeNull
		case "boolean":
			t |= typeBoolean
		case "object":
			t |= typeObject
		case "array":
			t |= typeArray
		case "string":
			t |= typeString
		case "integer":
			t |= typeInteger
		case "number":
			t |= typeInteger | typeFraction
		default:
			return 0, false
		}
	}
	return t, t != 0
}

// namesOf returns the string that v is, or the strings in the array.
func namesOf(v *value) []string {
	if v.is('"') {
		return []string{v.text()}
	}
	var names []string
	for i := range v.elements() {
		names = append(names, v.kids[i].text())
	}
	return names
}

// valuesOf returns the canonical forms of the values that enum and const leave,
// nil for all.
func valuesOf(schema *value) (values []string, ok bool) {
	enum, constant := schema.member("enum"), schema.member("const")
	switch {
	case enum == nil && constant == nil:
		return nil, true
	case enum == nil:
		return []string{string(constant.form)}, true
	case !enum.is('['):
		return nil, false
	}
	values = []string{}
	for i := range enum.elements() {
		if constant == nil || equal(constant, &enum.kids[i]) {
			values = append(values, string(enum.kids[i].form))
		}
	}
	return values, true
}

// missing returns what is in a and not in b.
func missing(a, b []string) []string {
	in := make(map[string]bool, len(b))
	for _, x := range b {
		in[x] = true
	}
	var out []string
	for _, x := range a {
		if !in[x] {
			out = append(out, x)
		}
	}
	return out
}

// knownDialect reports whether $schema is absent or names a dialect that these
// rules are for.
func knownDialect(v *value) bool {
	if v == nil {
		return true
	}
	uri := strings.TrimSuffix(v.text(), "#")
	_, name, ok := strings.Cut(uri, "://json-schema.org/")
	return ok && (strings.HasPrefix(uri, "http://") || strings.HasPrefix(uri, "https://")) &&
		(name == "draft-07/schema" || name == "draft/2019-09/schema" || name == "draft/2020-12/schema")
}
