package lint

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpsign/mcpsign/lock"
)

// harmless reports whether the hidden character r is certain to be part of
// ordinary writing where it stands: behind prev (-1 at the start of the
// text) and before rest.
func harmless(prev, r rune, rest string) bool {
	next, n := utf8.DecodeRuneInString(rest)
	if n == 0 {
		next = -1
	}
	switch {
	case r == '\n' || r == '\t' || r == '\r' && next == '\n':
		return true
	case r == 0x200C || r == 0x200D:
		return joins(prev, next) || r == 0x200D && emoji(prev) && symbol(next)
	case r == 0xFE0E || r == 0xFE0F:
		return symbol(prev) || next == 0x20E3 && keycap(prev)
	case 0xFE00 <= r && r <= 0xFE02 || 0xE0100 <= r && r <= 0xE01EF:
		return unicode.In(prev, unicode.Han, unicode.Sm)
	case 0x180B <= r && r <= 0x180D || r == 0x180F:
		return unicode.Is(unicode.Mongolian, prev) && !lock.Hidden(prev)
	case r == 0x3000:
		return eastAsian(prev) || eastAsian(next)
	case r == 0xA0 || r == 0x202F || 0x2000 <= r && r <= 0x200A:
		return shows(prev) && shows(next)
	}
	return false
}

// shows reports whether r is a character that leaves ink.
func shows(r rune) bool { return r > ' ' && !lock.Hidden(r) }

// symbol reports whether r may be an emoji, or a sign that has an emoji form.
func symbol(r rune) bool {
	return unicode.In(r, unicode.So, unicode.Sm) || r == 0x203C || r == 0x2049 || r == 0x3030 || r == 0x303D
}

// emoji reports whether r may end an emoji that a joiner continues: the
// symbol, its skin colour, or the selector of the coloured form.
func emoji(r rune) bool { return symbol(r) || 0x1F3FB <= r && r <= 0x1F3FF || r == 0xFE0F }

func keycap(r rune) bool { return '0' <= r && r <= '9' || r == '#' || r == '*' }

// joins reports whether both are letters or marks of scripts that are written
// with joiners.
func joins(a, b rune) bool { return cursive(a) && cursive(b) }

func cursive(r rune) bool {
	return r >= 0x600 && !lock.Hidden(r) && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}

// eastAsian reports whether r is written with full-width blanks around it.
func eastAsian(r rune) bool {
	return r >= 0x1100 && !lock.Hidden(r) && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) ||
		0x3001 <= r && r <= 0x303F || 0xFF01 <= r && r <= 0xFF60)
}

// flag returns the length of the flag of England, Scotland or Wales at the
// start of s, the only ones that tag characters spell in practice; 0 if there
// is none.
func flag(s string) int {
	const black = "\U0001F3F4"
	if !strings.HasPrefix(s, black) {
		return 0
	}
	for _, region := range [...]string{"gbeng", "gbsct", "gbwls"} {
		end := len(black)
		for _, want := range region + "\x7F" {
			r, n := utf8.DecodeRuneInString(s[end:])
			if r != want+0xE0000 {
				end = 0
				break
			}
			end += n
		}
		if end > 0 {
			return end
		}
	}
	return 0
}
