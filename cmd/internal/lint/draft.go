package lint

import (
	"bytes"
	"errors"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// A draft is a dialect of JSON Schema. Later ones compare greater.
type draft uint8

const (
	unknownDraft draft = iota
	draft4
	draft6
	draft7
	draft2019
	draft2020 // the dialect of MCP where $schema names none
)

// parseDraft returns the draft that the value of $schema names.
func parseDraft(uri string) draft {
	uri = strings.TrimSuffix(uri, "#")
	_, path, ok := strings.Cut(uri, "://json-schema.org/")
	if !ok || !strings.HasPrefix(uri, "http") {
		return unknownDraft
	}
	switch path {
	case "draft-04/schema":
		return draft4
	case "draft-06/schema":
		return draft6
	case "draft-07/schema":
		return draft7
	case "draft/2019-09/schema":
		return draft2019
	case "draft/2020-12/schema":
		return draft2020
	}
	return unknownDraft
}

// draftOf returns the draft of the schema at the start of form. It is read
// ahead, since $defs comes before $schema.
func draftOf(form []byte) draft {
	d := draft2020
	if !bytes.HasPrefix(form, []byte("{")) {
		return d
	}
	r := canonical.NewReader(form)
	err := r.Object(func(name string) error {
		if name > "$schema" {
			return errStop
		}
		if name < "$schema" || r.Peek() != '"' {
			return r.Skip()
		}
		uri, err := r.String()
		d = parseDraft(uri)
		return errors.Join(err, errStop)
	})
	if err != nil && !errors.Is(err, errStop) {
		return unknownDraft // the walk itself meets the error
	}
	return d
}

// A shape is what the value of a keyword has to be.
type shape uint8

const (
	noKeyword   shape = iota
	aSchema           // object or boolean; in draft 4 an object
	aSwitch           // a schema, or a boolean in draft 4 too
	schemaMap         // object of schemas
	schemaList        // array of at least one schema
	someSchemas       // a schema, or an array of them
	dependency        // object of schemas and arrays of strings
	typeNames         // one of the seven types, or an array of different ones
	stringList        // array of different strings
	stringLists       // object of such arrays
	aString
	aText // a string that people read
	aPattern
	aReference
	aDynamicRef
	aDialect
	anID
	aBool
	boolMap
	aNumber
	positive // number above 0
	count    // integer, not negative
	aList    // array of any values
	aValue
)

// shapeOf returns what keyword has to be in d, by the draft's metaschema:
// JSON Schema Validation section 6 and Core sections 8 and 10 (2020-12).
func shapeOf(keyword string, d draft) shape {
	switch keyword {
	case "not":
		return aSchema
	case "additionalProperties":
		return aSwitch
	case "properties", "patternProperties", "definitions":
		return schemaMap
	case "allOf", "anyOf", "oneOf":
		return schemaList
	case "dependencies":
		return dependency
	case "type":
		return typeNames
	case "required":
		return stringList
	case "title", "description":
		return aText
	case "format":
		return aString
	case "pattern":
		return aPattern
	case "$ref":
		return aReference
	case "$schema":
		return aDialect
	case "uniqueItems":
		return aBool
	case "minimum", "maximum":
		return aNumber
	case "multipleOf":
		return positive
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return count
	case "enum":
		return aList
	case "default":
		return aValue
	case "items":
		if d == draft2020 {
			return aSchema
		}
		return someSchemas
	case "additionalItems":
		if d == draft2020 {
			return noKeyword
		}
		return aSwitch
	case "exclusiveMinimum", "exclusiveMaximum":
		if d == draft4 {
			return aBool
		}
		return aNumber
	case "id":
		if d == draft4 {
			return anID
		}
	}
	return laterShape(keyword, d)
}

// laterShape is shapeOf for the keywords that draft 4 does not have.
func laterShape(keyword string, d draft) shape {
	since, s := draft6, noKeyword
	switch keyword {
	case "contains", "propertyNames":
		s = aSchema
	case "const":
		s = aValue
	case "$id":
		s = anID
	case "if", "then", "else":
		since, s = draft7, aSchema
	case "$comment", "contentMediaType", "contentEncoding":
		since, s = draft7, aString
	case "readOnly", "writeOnly":
		since, s = draft7, aBool
	case "examples":
		since, s = draft7, aList
	case "$defs", "dependentSchemas":
		since, s = draft2019, schemaMap
	case "unevaluatedItems", "unevaluatedProperties", "contentSchema":
		since, s = draft2019, aSchema
	case "dependentRequired":
		since, s = draft2019, stringLists
	case "minContains", "maxContains":
		since, s = draft2019, count
	case "deprecated":
		since, s = draft2019, aBool
	case "$vocabulary":
		since, s = draft2019, boolMap
	case "$anchor":
		since, s = draft2019, aString
	case "$recursiveRef":
		since, s = draft2019, aDynamicRef
	case "$recursiveAnchor":
		since, s = draft2019, aBool
		if d == draft2020 {
			s = aString // the metaschema's, where the keyword has no meaning any more
		}
	case "$dynamicRef":
		since, s = draft2020, aDynamicRef
	case "$dynamicAnchor":
		since, s = draft2020, aString
	case "prefixItems":
		since, s = draft2020, schemaList
	}
	if d < since {
		return noKeyword
	}
	return s
}
