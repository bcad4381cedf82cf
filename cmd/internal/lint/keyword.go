package lint

import (
	"errors"
	"regexp/syntax"
	"strings"
)

// The parser of regular expressions may need microseconds and hundreds of bytes
// for each byte of them. Longer ones, and those of a listing that has more, are
// not looked at.
const (
	maxPattern  = 1 << 10 // bytes
	maxPatterns = 256 << 10
)

// leaf reads the value of a keyword that holds no schemas.
func (c *checker) leaf(name string, s shape) error {
	switch s {
	case aBool:
		return c.one("tf", "true or false", c.r.Skip)
	case boolMap:
		return c.members(func() error { return c.one("tf", "true or false", c.r.Skip) })
	case aNumber, positive, count:
		return c.one("-0123456789", "a number", func() error { return c.number(s) })
	case aList:
		return c.one("[", "an array", func() error {
			n := 0
			err := c.r.Array(func(int) error {
				n++
				return c.value(placeOf(name))
			})
			if n == 0 && c.draft <= draft6 && err == nil {
				c.invalid("an array of at least one value")
			}
			return err
		})
	}
	return c.one(`"`, "a string", func() error { return c.stringKeyword(s) })
}

// one calls read if the value to be read starts with one of first.
func (c *checker) one(first, want string, read func() error) error {
	if ok, err := c.is(first, want); !ok {
		return err
	}
	return read()
}

// number reads a number; canonical ones below 2^53 have no exponent if they
// are integers.
func (c *checker) number(s shape) error {
	n, err := c.r.Number()
	switch {
	case err != nil:
	case s == positive && (n == "0" || n[0] == '-'):
		c.invalid("a number above 0")
	case s == count && strings.ContainsAny(n, "-.e"):
		c.invalid("an integer that is not negative")
	}
	return err
}

// types reads the value of type that is no string.
func (c *checker) types() error {
	return c.one("[", "a type or an array of types", func() error {
		n := 0
		seen := make(map[string]bool)
		err := c.r.Array(func(int) error {
			n++
			return c.one(`"`, "a type", func() error {
				t, err := c.typeName()
				if seen[t] {
					c.invalid("different from the types before it")
				}
				seen[t] = true
				return err
			})
		})
		if n == 0 && err == nil {
			c.invalid("an array of at least one type")
		}
		return err
	})
}

func (c *checker) typeName() (string, error) {
	t, err := c.r.String()
	if err != nil {
		return "", err
	}
	c.hidden(t, identifier)
	switch t {
	case "array", "boolean", "integer", "null", "number", "object", "string":
	default:
		c.invalid("a type of JSON Schema")
	}
	return t, nil
}

// stringKeyword reads the value of a keyword that is a string.
func (c *checker) stringKeyword(s shape) error {
	v, err := c.r.String()
	if err != nil {
		return err
	}
	if s == aText {
		c.text(v, prose)
		return nil
	}
	c.text(v, other)
	switch s {
	case aPattern:
		c.pattern(v)
	case aReference:
		c.reference(v)
	case aDynamicRef:
		c.add(DynamicRef, "to %s", shown(v))
	case aDialect:
		if parseDraft(v) == unknownDraft {
			c.add(SchemaDialect, "%s", shown(v))
		}
	case anID:
		if v != "" && v[0] != '#' {
			c.based = true
			c.add(SchemaID, "%s", shown(v))
		}
	}
	return nil
}

// pattern reports a regular expression that can be none, in ECMA-262 or
// elsewhere. What only some dialects know (look-around, back references,
// properties) is let pass, and so are errors behind it.
func (c *checker) pattern(p string) {
	if c.sink.patterns += len(p); len(p) > maxPattern || c.sink.patterns > maxPatterns || strings.Contains(p, "[]") || strings.Contains(p, "[^]") {
		return // an empty class is one in ECMA-262 only
	}
	_, err := syntax.Parse(p, syntax.Perl)
	var e *syntax.Error
	if !errors.As(err, &e) {
		return
	}
	switch e.Code {
	case syntax.ErrMissingBracket, syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrTrailingBackslash, syntax.ErrMissingRepeatArgument:
		c.invalid("a regular expression: " + e.Code.String())
	}
}
