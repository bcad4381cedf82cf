package lock

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// hidden lists the characters that show as nothing, as blank, or move the
// text around them: controls, format and bidirectional characters, spaces
// other than U+0020, variation selectors, tags, private use, noncharacters.
// The lockfile's bytes depend on it, so it is ours and not a Unicode version's.
var hidden = [][2]rune{
	{0x00, 0x1F}, {0x7F, 0xA0}, {0xAD, 0xAD}, {0x034F, 0x034F}, {0x061C, 0x061C}, {0x115F, 0x1160},
	{0x1680, 0x1680}, {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x2000, 0x200F}, {0x2028, 0x202F}, {0x205F, 0x206F},
	{0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164}, {0xD800, 0xF8FF}, {0xFDD0, 0xFDEF}, {0xFE00, 0xFE0F},
	{0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
	{0xE0000, 0x10FFFF},
}

// Hidden reports whether r does not show as itself: controls, format,
// bidirectional and zero-width characters, tags, blanks other than the space,
// private use and noncharacters.
func Hidden(r rune) bool {
	if r >= 0x20 && r < 0x7F {
		return false
	}
	if r&0xFFFE == 0xFFFE {
		return true // the last two of each plane
	}
	for _, h := range hidden {
		if r <= h[1] {
			return r >= h[0]
		}
	}
	return false
}

// Visible returns s fit for a terminal: hidden characters and bytes that are
// no UTF-8 are written as escapes, and so is the backslash, so that nothing in
// s can pass for one.
func Visible(s string) string {
	clean := true
	for _, r := range s {
		if r == '\\' || r == utf8.RuneError || Hidden(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b []byte
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = fmt.Appendf(b, `\x%02x`, s[i])
		case r == '\\':
			b = append(b, `\\`...)
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case Hidden(r):
			b = fmt.Appendf(b, `\u{%x}`, r)
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

// appendVisibleJSON appends a canonical JSON string with its hidden characters
// as JSON escapes: the same string, in a spelling a reviewer can see.
func appendVisibleJSON(dst, quoted []byte) []byte {
	for i := 0; i < len(quoted); {
		start := i
		for i+8 <= len(quoted) && allVisible(quoted[i:i+8]) {
			i += 8
		}
		for i < len(quoted) && quoted[i] < 0x7F {
			i++
		}
		dst = append(dst, quoted[start:i]...)
		if i == len(quoted) {
			break
		}
		r, n := utf8.DecodeRune(quoted[i:])
		switch {
		case !Hidden(r):
			dst = append(dst, quoted[i:i+n]...)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
		i += n
	}
	return dst
}

// allVisible reports whether eight bytes of a canonical string are all below
// 0x7F: none has its highest bit set, and none gets it by adding 1.
func allVisible(b []byte) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	w := binary.LittleEndian.Uint64(b)
	return (w|(w+ones))&tops == 0
}

// VisibleJSON returns a value in canonical form fit for a terminal: hidden
// characters in its strings are written as JSON escapes, so that it is the
// same value.
func VisibleJSON(form []byte) string { return string(appendVisibleJSON(nil, form)) }
