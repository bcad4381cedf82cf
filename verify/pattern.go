package verify

import (
	"regexp"
	"strings"
)

// A pattern matches text in which * stands for characters of one segment, but
// a slash, and ** for any.
type pattern struct {
	text string
	expr *regexp.Regexp
}

func newPattern(text string) pattern {
	var b strings.Builder
	b.WriteString(`\A`)
	for rest := text; rest != ""; {
		literal, after, wild := strings.Cut(rest, "*")
		b.WriteString(regexp.QuoteMeta(literal))
		if wild {
			var crosses bool
			if after, crosses = strings.CutPrefix(after, "*"); crosses {
				b.WriteString(`(?s:.*)`)
			} else {
				b.WriteString(`[^/]*`)
			}
		}
		rest = after
	}
	b.WriteString(`\z`)
	return pattern{text, regexp.MustCompile(b.String())}
}

func (p pattern) matches(s string) bool { return p.expr != nil && p.expr.MatchString(s) }

// literalStart reports whether the pattern's first segment has no wildcard.
func (p pattern) literalStart() bool {
	first, _, _ := strings.Cut(p.text, "/")
	return first != "" && !strings.Contains(first, "*")
}
