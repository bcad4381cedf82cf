package lint

import "strings"

// rootSchema reads inputSchema or outputSchema. The arguments of a tool are an
// object; its results are any value since protocol revision 2026-07-28.
func (c *checker) rootSchema(input bool) error {
	form := c.d.Canonical()[c.r.Offset():]
	c.draft, c.refs, c.based = draftOf(form), nil, false
	c.judged = c.draft != unknownDraft
	if !c.judged {
		c.draft = draft2020 // to find what there is to find; validity is not judged
	}
	at := c.r.Pointer()
	if c.r.Peek() != '{' {
		if input {
			c.add(SchemaRoot, "inputSchema is no object")
			return c.value(other)
		}
		return c.schema()
	}
	object := false
	if err := c.keywords(&object); err != nil {
		return err
	}
	here := func() string { return at }
	if input && !object {
		c.addAt(here, SchemaRoot, `the type at the root is not "object"`)
	}
	return c.resolve(form, here)
}

// invalid reports that the value to be read next is not what its keyword needs.
func (c *checker) invalid(want string) {
	if c.judged {
		c.add(InvalidSchema, "not %s", want)
	}
}

// is reports whether the value to be read next starts with one of first. If
// not, the value is no valid one, and read.
func (c *checker) is(first, want string) (bool, error) {
	if strings.IndexByte(first, c.r.Peek()) >= 0 {
		return true, nil
	}
	c.invalid(want)
	return false, c.value(other)
}

// schema reads a schema.
func (c *checker) schema() error {
	switch c.r.Peek() {
	case '{':
		return c.keywords(nil)
	case 't', 'f':
		if c.draft == draft4 {
			c.invalid("a schema: draft 4 has no boolean ones")
		}
		return c.r.Skip()
	}
	c.invalid("a schema")
	return c.value(other)
}

// keywords reads a schema that is an object. If object is not nil, it is set
// where the type is "object" and nothing else.
func (c *checker) keywords(object *bool) error {
	p := properties{}
	return c.r.Object(func(name string) error {
		c.memberName(name)
		switch s := shapeOf(name, c.draft); {
		case name == "properties" && c.r.Peek() == '{':
			p.names = make(map[string]struct{})
			return c.schemas(p.names)
		case s == stringList:
			return c.strings(func(s string) { p.require(c, s) })
		case name == "type" && c.r.Peek() == '"':
			t, err := c.typeName()
			if object != nil {
				*object = t == "object"
			}
			return err
		case s == noKeyword:
			return c.unknown(placeOf(name))
		default:
			p.elsewhere = p.elsewhere || definesProperties(name)
			return c.keyword(name, s)
		}
	})
}

// unknown reads the value of what is no keyword in the draft. It may be one of
// an extension, or of another draft, that holds schemas: what is in them is
// looked at, but is no invalid schema.
func (c *checker) unknown(p place) error {
	first := c.r.Peek()
	switch {
	case p == example || p == preset:
		return c.value(p)
	case first == '[':
		return c.r.Array(func(int) error { return c.unknown(p) })
	case first == '{':
		judged := c.judged
		c.judged = false
		err := c.keywords(nil)
		c.judged = judged
		return err
	}
	return c.value(p)
}

// properties are those that a schema object defines. Members are sorted, so
// that they are known when required is read.
type properties struct {
	names     map[string]struct{} // nil without the keyword
	elsewhere bool                // other keywords may define more
}

func definesProperties(keyword string) bool {
	switch keyword {
	case "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "not", "patternProperties", "dependentSchemas", "dependencies":
		return true
	}
	return false
}

func (p *properties) require(c *checker, name string) {
	if _, ok := p.names[name]; !ok && p.names != nil && !p.elsewhere {
		c.add(RequiredUnknown, "there is no property %s", shown(name))
	}
}

// keyword reads the value of a keyword.
func (c *checker) keyword(name string, s shape) error {
	switch s {
	case aSchema:
		return c.schema()
	case aSwitch:
		if b := c.r.Peek(); b == 't' || b == 'f' {
			return c.r.Skip()
		}
		return c.schema()
	case schemaMap:
		return c.schemas(nil)
	case someSchemas:
		if c.r.Peek() == '[' {
			return c.schemaList()
		}
		return c.schema()
	case schemaList:
		return c.schemaList()
	case dependency:
		return c.members(func() error {
			if c.r.Peek() == '[' {
				return c.strings(nil)
			}
			return c.schema()
		})
	case stringLists:
		return c.members(func() error { return c.strings(nil) })
	case typeNames:
		return c.types()
	case aValue:
		return c.value(preset)
	}
	return c.leaf(name, s)
}

// members reads an object, each value of which is read by value.
func (c *checker) members(value func() error) error {
	if ok, err := c.is("{", "an object"); !ok {
		return err
	}
	return c.r.Object(func(name string) error {
		c.hidden(name, identifier)
		return value()
	})
}

// schemas reads an object of schemas. Their names are added to names, if it is
// not nil.
func (c *checker) schemas(names map[string]struct{}) error {
	if ok, err := c.is("{", "an object of schemas"); !ok {
		return err
	}
	return c.r.Object(func(name string) error {
		c.hidden(name, identifier)
		if names != nil {
			names[name] = struct{}{}
		}
		return c.schema()
	})
}

// schemaList reads an array of at least one schema.
func (c *checker) schemaList() error {
	if ok, err := c.is("[", "an array of schemas"); !ok {
		return err
	}
	n := 0
	err := c.r.Array(func(int) error {
		n++
		return c.schema()
	})
	if n == 0 && err == nil {
		c.invalid("an array of at least one schema")
	}
	return err
}

// strings reads an array of different strings and calls each, which may be
// nil, with them.
func (c *checker) strings(each func(string)) error {
	if ok, err := c.is("[", "an array of strings"); !ok {
		return err
	}
	seen := make(map[string]struct{})
	err := c.r.Array(func(int) error {
		if ok, err := c.is(`"`, "a string"); !ok {
			return err
		}
		s, err := c.r.String()
		if err != nil {
			return err
		}
		c.hidden(s, identifier)
		if _, twice := seen[s]; twice {
			c.invalid("different from the strings before it")
		}
		seen[s] = struct{}{}
		if each != nil {
			each(s)
		}
		return nil
	})
	if len(seen) == 0 && c.draft == draft4 && err == nil {
		c.invalid("an array of at least one string")
	}
	return err
}
