package lint

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/mcpsign/mcpsign/lock"
)

// skeleton returns what name looks like: two names with the same skeleton may
// be taken for each other. It is Unicode's idea (UTS 39 section 4) with
// another table, and no identifier.
//
// Compatibility forms (full-width, mathematical, ligatures) fold by NFKC, and
// hidden characters fall out. What is left of the thousands of confusables are
// those that can pass for an ASCII name: letters of Cyrillic, Greek, Armenian
// and Latin that look like ASCII ones, as only these scripts have enough of
// them for a word, and the ASCII characters that look like one another.
func skeleton(name string) string {
	var b strings.Builder
	// NFKC takes some letters to others that look like nothing in ASCII, so
	// they are folded before and after.
	for _, r := range norm.NFKC.String(strings.Map(ascii, name)) {
		if !lock.Hidden(r) {
			b.WriteRune(ascii(r))
		}
	}
	return strings.ReplaceAll(strings.ToLower(b.String()), "rn", "m")
}

// ascii returns the ASCII letter that r looks like, in one of its two cases;
// r if it looks like none.
func ascii(r rune) rune {
	if r < 0x80 {
		return asciiTwin(r)
	}
	switch r {
	case 'а', 'А', 'α', 'Α', 'ɑ', 'ᴀ':
		return 'a'
	case 'в', 'В', 'β', 'Β', 'Ь', 'ь', 'ʙ':
		return 'b'
	case 'с', 'С', 'ϲ', 'Ϲ', 'ᴄ':
		return 'c'
	case 'ԁ', 'ᴅ':
		return 'd'
	case 'е', 'Е', 'ε', 'Ε', 'ҽ', 'ᴇ':
		return 'e'
	case 'ց', 'ɡ', 'ԍ', 'Ԍ', 'ɢ':
		return 'g'
	case 'һ', 'Һ', 'н', 'Н', 'Η', 'հ', 'ʜ':
		return 'h'
	case 'і', 'ι', 'ı', 'ɩ', 'ɪ', 'ї', 'Ї':
		return 'i'
	case 'І', 'Ι', 'ӏ', 'Ӏ', 'ʟ':
		return 'l' // as I does
	case 'ј', 'Ј', 'ϳ', 'յ', 'ᴊ':
		return 'j'
	case 'к', 'К', 'κ', 'Κ', 'ᴋ':
		return 'k'
	case 'м', 'М', 'Μ', 'ᴍ':
		return 'm'
	case 'η', 'Ν', 'ո', 'п', 'ɴ':
		return 'n'
	case 'о', 'О', 'ο', 'Ο', 'σ', 'օ', 'Օ', 'ᴏ':
		return 'o'
	case 'р', 'Р', 'ρ', 'Ρ', 'ᴘ':
		return 'p'
	case 'զ', 'ԛ', 'Ԛ':
		return 'q'
	case 'г', 'ʀ':
		return 'r'
	case 'ѕ', 'Ѕ', 'ꜱ', 'Տ':
		return 's'
	case 'т', 'Т', 'τ', 'Τ', 'ᴛ':
		return 't'
	case 'υ', 'ս', 'Ս', 'ᴜ':
		return 'u'
	case 'ν', 'ѵ', 'Ѵ', 'ᴠ':
		return 'v'
	case 'ѡ', 'ԝ', 'Ԝ', 'ω', 'ᴡ':
		return 'w'
	case 'х', 'Х', 'χ', 'Χ':
		return 'x'
	case 'у', 'У', 'γ', 'Υ', 'ү', 'Ү', 'ʏ':
		return 'y'
	case 'Ζ', 'ᴢ':
		return 'z'
	case 'З', 'з', 'ʒ':
		return '3'
	}
	return r
}

// asciiTwin folds the ASCII characters that look like one another.
func asciiTwin(r rune) rune {
	switch r {
	case '0':
		return 'o'
	case '1', 'I', '|':
		return 'l'
	}
	return r
}
