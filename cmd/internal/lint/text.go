package lint

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpsign/mcpsign/lock"
)

// A usage says what a string is for, which decides what is harmless in it.
type usage uint8

const (
	sentence   usage = iota // a value: line ends, emoji and the like are part of writing
	identifier              // a name, in which nothing hidden has a use
)

// A class is a group of hidden characters with a code of its own.
type class uint8

const (
	ansi class = iota
	bidi
	control
	hidden
	nonchar
	private
	tag
	blank
	variation
	zeroWidth
	classes
)

func (k class) code() Code {
	return [classes]Code{ANSIEscape, BidiControl, ControlCharacter, HiddenCharacter, Noncharacter, PrivateUse, TagCharacters, UnusualSpace, VariationSelectors, ZeroWidth}[k]
}

// classify returns the class of a character that lock.Hidden knows.
func classify(r rune) class {
	switch {
	case r == 0x1B || r == 0x90 || r == 0x9B || 0x9D <= r && r <= 0x9F:
		return ansi // ESC and the controls of eight bits that start a sequence
	case r < 0x20 || 0x7F <= r && r <= 0x9F:
		return control
	case unicode.Is(unicode.Bidi_Control, r):
		return bidi
	case r&0xFFFE == 0xFFFE || 0xFDD0 <= r && r <= 0xFDEF:
		return nonchar
	case unicode.Is(unicode.Co, r):
		return private
	case 0xE0000 <= r && r <= 0xE007F:
		return tag
	case unicode.Is(unicode.Variation_Selector, r):
		return variation
	case unicode.In(r, unicode.Z) || r == 0x2800 || r == 0x3164 || r == 0x115F || r == 0x1160 || r == 0xFFA0:
		return blank
	case 0x200B <= r && r <= 0x200D || 0x2060 <= r && r <= 0x2064 || r == 0xFEFF || r == 0xAD || r == 0x34F || r == 0x180E:
		return zeroWidth
	}
	return hidden
}

// hidden reports the hidden characters of s, one finding a class.
func (c *checker) hidden(s string, u usage) {
	if plain(s, u) {
		return
	}
	var count, first [classes]int
	prev := rune(-1)
	for i := 0; i < len(s); {
		if n := flag(s[i:]); n > 0 && u == sentence {
			prev, i = 0x1F3F4, i+n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if lock.Hidden(r) && (u == identifier || !harmless(prev, r, s[i+n:])) {
			k := classify(r)
			if count[k] == 0 {
				first[k] = i
			}
			count[k]++
		}
		prev, i = r, i+n
	}
	for k, n := range count {
		if n > 0 {
			c.addHidden(s, class(k), n, first[k])
		}
	}
}

// plain reports whether s has nothing but printable ASCII, and in sentences
// line ends and tabs: nearly every string.
func plain(s string, u usage) bool {
	for i := 0; i < len(s); i++ {
		if b := s[i]; b >= 0x7F || b < 0x20 && (u == identifier || b != '\n' && b != '\t') {
			return false
		}
	}
	return true
}

// addHidden reports n characters of one class, the first of which is at
// offset first of s, with some text around it.
func (c *checker) addHidden(s string, k class, n, first int) {
	r, _ := utf8.DecodeRuneInString(s[first:])
	decoded := ""
	switch k {
	case tag:
		decoded = "; they spell " + shown(spellTags(s)).String()
	case variation:
		decoded = "; as bytes they are " + shown(spellVariations(s)).String()
	}
	noun := "characters"
	if n == 1 {
		noun = "character"
	}
	c.add(k.code(), "%d %s, first %U in %s%s", n, noun, r, shown(around(s, first)), decoded)
}

// around returns the part of s that starts some characters before offset.
func around(s string, offset int) string {
	start := max(0, offset-maxShown/2)
	for start > 0 && !utf8.RuneStart(s[start]) {
		start--
	}
	end := min(len(s), offset+maxShown/2)
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end++
	}
	return s[start:end]
}

// spellTags returns the ASCII text that the tag characters of s stand for.
func spellTags(s string) string {
	var b strings.Builder
	for _, r := range s {
		if 0xE0000 <= r && r <= 0xE007F {
			b.WriteByte(byte(r - 0xE0000))
		}
	}
	return b.String()
}

// spellVariations returns the bytes that the variation selectors of s number.
func spellVariations(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case 0xFE00 <= r && r <= 0xFE0F:
			b.WriteByte(byte(r - 0xFE00))
		case 0xE0100 <= r && r <= 0xE01EF:
			b.WriteByte(byte(r - 0xE0100 + 16))
		}
	}
	return b.String()
}
