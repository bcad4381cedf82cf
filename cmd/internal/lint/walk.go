package lint

import (
	"github.com/mcpsign/mcpsign/lock"
)

// maxDescription is how many bytes a text may have that is not called long. Of
// ten thousand texts of real servers two or three have more.
const maxDescription = 4 << 10

// A place is the part that a value plays in a definition.
type place uint8

const (
	other   place = iota // none of these
	prose                // text for people and models: title, description, instructions
	example              // in enum or examples: a value that is shown to a model
	preset               // in default or const: a value that is used
)

// definition checks the whole definition.
func (c *checker) definition() {
	described, schema := false, false
	err := c.r.Object(func(name string) error {
		c.hidden(name, identifier)
		switch {
		case name == naming(c.d.Kind()):
			return c.name()
		case name == "description" && c.r.Peek() == '"':
			return c.description(&described)
		case name == "instructions" && c.d.Kind() == lock.Instructions:
			return c.value(prose)
		case name == "inputSchema" && c.d.Kind() == lock.Tool:
			schema = true
			return c.rootSchema(true)
		case name == "outputSchema" && c.d.Kind() == lock.Tool:
			return c.rootSchema(false)
		case name == "icons":
			return c.icons()
		}
		return c.value(placeOf(name))
	})
	if err != nil {
		c.add(NotChecked, "%s", shown(err.Error()))
		return
	}
	if c.d.Kind() == lock.Tool && !described {
		c.add(NoDescription, "the tool has no description")
	}
	if c.d.Kind() == lock.Tool && !schema {
		c.add(SchemaRoot, "the tool has no inputSchema")
	}
}

// naming returns the member that names a definition of the kind, "" if none
// does.
func naming(k lock.Kind) string {
	switch k {
	case lock.Instructions:
		return ""
	case lock.ResourceTemplate:
		return "uriTemplate"
	}
	return "name"
}

// description reads the description of the definition.
func (c *checker) description(described *bool) error {
	s, err := c.r.String()
	if err == nil {
		*described = s != ""
		c.text(s, prose)
	}
	return err
}

// placeOf returns what a member that is not a schema's holds.
func placeOf(name string) place {
	switch name {
	case "title", "description":
		return prose
	case "enum", "example", "examples":
		return example
	case "default", "const":
		return preset
	}
	return other
}

// value reads any value that is not a schema. What an example holds is part of
// it, whatever its members are called.
func (c *checker) value(p place) error {
	switch c.r.Peek() {
	case '{':
		return c.r.Object(func(name string) error {
			c.memberName(name)
			if p == example || p == preset {
				return c.value(p)
			}
			return c.value(placeOf(name))
		})
	case '[':
		return c.r.Array(func(int) error { return c.value(p) })
	case '"':
		s, err := c.r.String()
		if err == nil {
			c.text(s, p)
		}
		return err
	case 't', 'f', 'n':
		return c.r.Skip()
	}
	n, err := c.r.Number()
	if err == nil && p == preset {
		c.volatileNumber(n)
	}
	return err
}

// memberName checks the name of a member below the top level.
func (c *checker) memberName(name string) {
	c.hidden(name, identifier)
	if name == "_meta" {
		c.add(NestedMeta, "this _meta is part of the digest")
	}
}

// text checks a string.
func (c *checker) text(s string, p place) {
	c.hidden(s, sentence)
	switch p {
	case prose:
		if len(s) > maxDescription {
			c.add(LongDescription, "%d bytes", len(s))
		}
		c.volatileText(s, p)
		c.markup(s)
	case example, preset:
		c.volatileText(s, p)
	}
}
