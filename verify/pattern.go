package verify

import (
	"regexp"
	"slices"
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
				b.WriteString(`[^/` + anyText + `]*`)
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

func matchesAny(ps []pattern, s string) bool {
	return slices.ContainsFunc(ps, func(p pattern) bool { return p.matches(s) })
}

// anyText and anySegment stand for the wildcards of a pattern where covers has
// another one match it. No name and no ref has these characters.
const anyText, anySegment = "\x01", "\x00"

// covers reports whether p matches everything that q matches. It may report
// false although p does, never true although p does not: a wildcard of q has to
// lie within one of p as a whole, whatever it stands for, nothing included.
func (p pattern) covers(q pattern) bool {
	return p.matches(strings.NewReplacer("**", anyText, "*", anySegment).Replace(q.text))
}

// mayMeet reports whether p and q may match one name: it may say so though
// none exists, not the other way round.
func (p pattern) mayMeet(q pattern) bool {
	a, _, wildA := strings.Cut(p.text, "*")
	b, _, wildB := strings.Cut(q.text, "*")
	switch {
	case !wildA:
		return q.matches(p.text)
	case !wildB:
		return p.matches(q.text)
	}
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
