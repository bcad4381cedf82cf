package canonical

import (
	"encoding/binary"
	"math"
	mathbits "math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

func itoa(i int) string { return strconv.Itoa(i) }

// replacement stands in out for what is not Unicode, as most readers have it,
// so that a refused definition has the name under which others would know it.
const replacement = "\uFFFD"

// text reads a string and appends it (RFC 8785 section 3.2.2.2). The next
// byte is its opening quote.
func (p *parser) text() error {
	src := p.src
	run, i := p.pos, p.pos+1
	p.odd = false
	for {
		i = plain(src, i)
		if i == len(src) {
			p.pos = i
			return p.syntax("unexpected end")
		}
		switch c := src[i]; {
		case c == '"':
			i++
			p.out = append(p.out, src[run:i]...)
			p.pos = i
			return nil
		case c == '\\':
			p.out = append(p.out, src[run:i]...)
			p.pos = i
			if err := p.escape(); err != nil {
				return err
			}
			i = p.pos
			run = i
		case c < 0x20:
			p.pos = i
			return p.syntax("control character in a string")
		default:
			for i < len(src) && src[i] >= utf8.RuneSelf {
				if src[i] >= leadE000 {
					p.odd = true
				}
				r, n := utf8.DecodeRune(src[i:])
				if r == utf8.RuneError && n == 1 {
					p.note(InvalidUTF8, i, "")
					p.out = append(append(p.out, src[run:i]...), replacement...)
					run = i + 1
				}
				i += n
			}
		}
	}
}

// plain returns the index of the first byte of src from i on that is a quote,
// a backslash, a control character or not ASCII; len(src) if there is none.
func plain(src []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for i+8 <= len(src) {
		w := binary.LittleEndian.Uint64(src[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// Of the flags set the lowest is right: a borrow only runs upwards,
		// from a byte that is flagged itself.
		special := (w | (w-ones*0x20)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if special != 0 {
			return i + mathbits.TrailingZeros64(special)>>3
		}
		i += 8
	}
	for i < len(src) {
		if c := src[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
		i++
	}
	return i
}

// escape reads one escape, or the two of a surrogate pair.
func (p *parser) escape() error {
	at := p.pos
	if at+1 >= len(p.src) {
		p.pos = len(p.src)
		return p.syntax("unexpected end")
	}
	p.pos += 2
	var c byte
	switch e := p.src[at+1]; e {
	case '"', '\\', '/':
		c = e
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return p.unicode(at)
	default:
		p.pos = at
		return p.syntax("unknown escape")
	}
	p.byte(c)
	return nil
}

func (p *parser) byte(c byte) {
	if c < 0x20 || c == '"' || c == '\\' {
		p.odd = true
	}
	p.out = appendByte(p.out, c)
}

// unicode reads a \u escape that starts at; pos is behind the 'u'.
func (p *parser) unicode(at int) error {
	r, ok := p.hex4()
	if !ok {
		if p.pos < len(p.src) {
			p.pos = at
		}
		return p.syntax(`expected four hexadecimal digits after \u`)
	}
	if utf16.IsSurrogate(r) {
		back, pair := p.pos, utf8.RuneError
		if len(p.src)-p.pos >= 2 && p.src[p.pos] == '\\' && p.src[p.pos+1] == 'u' {
			p.pos += 2
			if low, ok := p.hex4(); ok {
				pair = utf16.DecodeRune(r, low)
			}
		}
		if pair == utf8.RuneError {
			// What follows stands for itself, whatever it is.
			p.pos = back
			p.note(LoneSurrogate, at, "")
			p.out = append(p.out, replacement...)
			return nil
		}
		r = pair
	}
	if r < utf8.RuneSelf {
		p.byte(byte(r))
		return nil
	}
	if r >= 0xE000 {
		p.odd = true
	}
	p.out = utf8.AppendRune(p.out, r)
	return nil
}

// hex4 reads four hexadecimal digits, or as many as there are.
func (p *parser) hex4() (r rune, ok bool) {
	for range 4 {
		if p.pos == len(p.src) {
			return 0, false
		}
		d := unhex(p.src[p.pos])
		if d > 15 {
			return 0, false
		}
		r = r<<4 | rune(d)
		p.pos++
	}
	return r, true
}

// number reads a number and appends it as ECMAScript prints the double
// (RFC 8785 section 3.2.2.3). The next byte is its first.
func (p *parser) number() error {
	start := p.pos
	if p.src[p.pos] == '-' {
		p.pos++
	}
	whole := p.pos
	if p.pos < len(p.src) && p.src[p.pos] == '0' {
		p.pos++
		if p.digits() > 0 {
			p.pos = whole
			return p.syntax("leading zero")
		}
	} else if p.digits() == 0 {
		return p.syntax("expected a digit")
	}
	integer := true
	if p.pos < len(p.src) && p.src[p.pos] == '.' {
		integer = false
		p.pos++
		if p.digits() == 0 {
			return p.syntax("expected a digit")
		}
	}
	if p.pos < len(p.src) && p.src[p.pos]|0x20 == 'e' {
		integer = false
		p.pos++
		if p.pos < len(p.src) && (p.src[p.pos] == '+' || p.src[p.pos] == '-') {
			p.pos++
		}
		if p.digits() == 0 {
			return p.syntax("expected a digit")
		}
	}
	token := p.src[start:p.pos]
	// An integer of at most 15 digits is below 2^53 and already spelled right.
	if integer && p.pos-whole <= 15 && !(p.src[whole] == '0' && whole > start) {
		p.out = append(p.out, token...)
		return nil
	}
	// The error only says that the value is out of range, which the value says too.
	f, _ := strconv.ParseFloat(unsafe.String(&token[0], len(token)), 64)
	if math.Abs(f) >= 1<<53 {
		if !p.verbatim {
			p.note(NumberOutOfRange, start, "magnitude of 2^53 or more")
		}
		p.out = append(p.out, token...)
		return nil
	}
	p.out = appendFloat(p.out, f)
	return nil
}

func (p *parser) digits() int {
	start := p.pos
	for p.pos < len(p.src) && '0' <= p.src[p.pos] && p.src[p.pos] <= '9' {
		p.pos++
	}
	return p.pos - start
}

// appendFloat appends f, whose magnitude is below 2^53, as ECMAScript's
// Number::toString does (ECMA-262 section 6.1.6.1.20).
func appendFloat(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0') // -0 as well
	}
	if math.Abs(f) >= 1e-6 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go pads the exponent to two digits: 1e-07.
	if n := len(dst); dst[n-2] == '0' && dst[n-3] == '-' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
