package lint

import "strings"

// icons reads the icons of a definition.
func (c *checker) icons() error {
	if c.r.Peek() != '[' {
		return c.value(other)
	}
	return c.r.Array(func(int) error {
		if c.r.Peek() != '{' {
			return c.value(other)
		}
		svg := false // mimeType comes before src
		return c.r.Object(func(name string) error {
			c.memberName(name)
			if name != "mimeType" && name != "src" || c.r.Peek() != '"' {
				return c.value(other)
			}
			s, err := c.r.String()
			if err != nil {
				return err
			}
			c.text(s, other)
			if name == "mimeType" {
				svg = isSVG(s)
			} else {
				c.icon(s, svg)
			}
			return nil
		})
	})
}

// isSVG reports whether a media type is SVG's.
func isSVG(mediaType string) bool {
	return len(mediaType) >= len(svgType) && strings.EqualFold(mediaType[:len(svgType)], svgType)
}

const svgType = "image/svg"

// icon looks at the address of an icon; svg says that its mimeType is SVG's.
func (c *checker) icon(src string, svg bool) {
	scheme, rest, ok := strings.Cut(src, ":")
	switch {
	case ok && strings.EqualFold(scheme, "https"):
		c.add(IconExternal, "from %s", shown(src))
		path, _, _ := strings.Cut(rest, "?")
		path, _, _ = strings.Cut(path, "#")
		svg = svg || len(path) >= 4 && strings.EqualFold(path[len(path)-4:], ".svg")
	case ok && strings.EqualFold(scheme, "data"):
		svg = svg || isSVG(rest)
		if len(rest) < 6 || !strings.EqualFold(rest[:6], "image/") {
			c.add(IconData, "%s", shown(src))
		}
	default:
		c.add(IconScheme, "%s", shown(src))
	}
	if svg {
		c.add(IconSVG, "%s", shown(src))
	}
}
