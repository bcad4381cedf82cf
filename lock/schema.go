package lock

import (
	"strconv"
	"strings"
)

// A shape says where the value of a keyword holds schemas.
type shape uint8

const (
	noSchema    shape = iota
	oneSchema         // it is one, or an array of them (items), or something else
	schemaMap         // its members are
	schemaArray       // its elements are
)

// shapeOf returns the shape of a keyword of JSON Schema 2020-12 or draft-07.
func shapeOf(keyword string) shape {
	switch keyword {
	case "additionalProperties", "unevaluatedProperties", "propertyNames", "items", "additionalItems", "unevaluatedItems", "contains",
		"not", "if", "then", "else", "contentSchema":
		return oneSchema
	case "properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions":
		return schemaMap
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return schemaArray
	}
	return noSchema
}

// keywordAt returns the keyword that reference tokens lead to from a schema,
// empty if they lead to anything else.
func keywordAt(tokens []string) string {
	for i := 0; i < len(tokens); i++ {
		keyword := tokens[i]
		if i == len(tokens)-1 {
			return keyword
		}
		switch shapeOf(keyword) {
		case noSchema:
			return ""
		case schemaMap, schemaArray:
			i++
		case oneSchema:
			if _, err := strconv.Atoi(tokens[i+1]); err == nil && keyword == "items" {
				i++
			}
		}
	}
	return ""
}

// tokensOf splits an RFC 6901 pointer.
func tokensOf(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens
}

// isRemark reports whether a keyword neither constrains a value nor leads to
// what does.
func isRemark(keyword string) bool {
	switch keyword {
	case "title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly",
		"contentMediaType", "contentEncoding", "contentSchema", "$defs", "definitions", headerKeyword:
		return true
	}
	return false
}

func isFalse(v *value) bool { return v.literal("false") }

// isOpen reports whether a schema accepts everything, as an absent one does.
func isOpen(v *value) bool {
	if v == nil || v.literal("true") {
		return true
	}
	if !v.is('{') {
		return false
	}
	for _, m := range v.members() {
		if !isRemark(m) {
			return false
		}
	}
	return true
}

// A polarity says which way a schema counts: what a positive one accepts, the
// whole accepts; what a negative one accepts, the whole refuses. It may be both.
type polarity uint8

const (
	positive polarity = 1 << iota
	negative
)

func (p polarity) flip() polarity { return p&positive<<1 | p&negative>>1 }

// A document is a schema whose root leads to others, which have a polarity.
type document struct {
	root    *value
	todo    []reference
	reached map[string]polarity

	opaque    bool // something refers to schemas by other means than a pointer
	evaluated bool // what accepts a value somewhere can make another place accept more
	dangles   bool // a reference by a pointer leads nowhere
	sensitive bool // it does not mean the same in all dialects
}

type reference struct {
	target *value
	p      polarity
}

// newDocument follows root, absent or not. Every schema is visited at most once
// for each polarity.
func newDocument(root *value) *document {
	d := &document{root: root, reached: make(map[string]polarity)}
	d.visit(root, positive)
	for len(d.todo) > 0 {
		last := len(d.todo) - 1
		r := d.todo[last]
		d.todo = d.todo[:last]
		d.visit(r.target, r.p)
	}
	return d
}

func (d *document) visit(v *value, p polarity) {
	if v == nil || v.polarity&p == p {
		return
	}
	v.polarity |= p
	for i, keyword := range v.members() {
		d.keyword(v, keyword, &v.kids[i], p)
	}
}

// keyword visits the schemas that the member of a schema holds.
func (d *document) keyword(v *value, keyword string, k *value, p polarity) {
	d.note(v, keyword, k, p)
	switch shapeOf(keyword) {
	case oneSchema:
		for i := range k.elements() { // items
			d.visit(&k.kids[i], p)
		}
		d.visit(k, childPolarity(v, keyword, p))
	case schemaMap:
		if keyword == "$defs" || keyword == "definitions" {
			return // by what refers to them
		}
		for i := range k.members() {
			d.visit(&k.kids[i], p)
		}
	case schemaArray:
		p = childPolarity(v, keyword, p)
		for i := range k.elements() {
			d.visit(&k.kids[i], p)
		}
	}
}

// childPolarity returns the polarity of the schemas below a keyword of v.
func childPolarity(v *value, keyword string, p polarity) polarity {
	switch {
	case keyword == "not":
		return p.flip()
	case keyword == "if", keyword == "contains" && v.member("maxContains") != nil, keyword == "oneOf" && !disjoint(v.member("oneOf")):
		return positive | negative
	}
	return p
}

// note takes down what a keyword means for the whole document.
func (d *document) note(v *value, keyword string, k *value, p polarity) {
	switch keyword {
	case "$ref":
		d.sensitive = d.sensitive || !isReference(v)
		d.refer(k.text(), p)
	case "$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor", "$recursiveAnchor":
		d.opaque, d.sensitive = true, true
	case "$id", "id":
		d.opaque = d.opaque || v != d.root
	case "unevaluatedProperties", "unevaluatedItems":
		d.evaluated, d.sensitive = true, true
	case "items":
		d.sensitive = d.sensitive || k.is('[')
	case "prefixItems", "additionalItems", "dependentRequired", "dependentSchemas", "dependencies", "minContains", "maxContains":
		d.sensitive = true
	}
}

// refer puts the target of a reference on the list of what is to be visited.
func (d *document) refer(ref string, p polarity) {
	if d.reached[ref]&p == p {
		return
	}
	d.reached[ref] |= p
	target := d.resolve(ref)
	if target == nil {
		d.dangles = d.dangles || strings.HasPrefix(ref, "#/")
		d.opaque = d.opaque || !strings.HasPrefix(ref, "#/") && strings.HasPrefix(ref, "#") || isRemote(ref) && d.root.member("$id") != nil
		return
	}
	d.todo = append(d.todo, reference{target, p})
}

// resolve returns what a reference within the document is to, absent for
// another one.
func (d *document) resolve(ref string) *value {
	if ref == "" || ref == "#" {
		return d.root
	}
	if !strings.HasPrefix(ref, "#/") || strings.Contains(ref, "%") && !unescape(&ref) {
		return nil
	}
	v := d.root
	for _, t := range tokensOf(ref[1:]) {
		if v.is('[') {
			i, err := strconv.Atoi(t)
			if err != nil || i < 0 || i >= len(v.elements()) {
				return nil
			}
			v = &v.kids[i]
			continue
		}
		v = v.member(t)
	}
	return v
}

// isReference reports whether a schema is nothing but a reference.
func isReference(v *value) bool {
	if !v.member("$ref").is('"') {
		return false
	}
	for _, m := range v.members() {
		if m != "$ref" && !isRemark(m) {
			return false
		}
	}
	return true
}

// disjoint reports whether no value is valid against two of an array of
// schemas, as their types or the values they name show.
func disjoint(v *value) bool {
	return disjointTypes(v.elements()) || disjointValues(v.elements())
}

func disjointTypes(branches []value) bool {
	var seen types
	for i := range branches {
		t, ok := typesOf(branches[i].member("type"))
		if !ok || t&seen != 0 {
			return false
		}
		seen |= t
	}
	return true
}

func disjointValues(branches []value) bool {
	seen := make(map[string]bool)
	for i := range branches {
		values, ok := valuesOf(&branches[i])
		if !ok || values == nil {
			return false
		}
		for _, x := range values {
			if seen[x] {
				return false
			}
		}
		for _, x := range values {
			seen[x] = true
		}
	}
	return true
}
