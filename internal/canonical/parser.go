package canonical

import (
	"strings"
	"unicode/utf8"
)

// A parser reads src once, front to back, and appends the canonical form to
// out. Members are written in the order they come and put in order when their
// object ends, so that nothing is read twice.
//
// Faults after which the end of the value is still certain (all but syntax)
// are noted in fault, the first one wins, and reading goes on: a listing with
// one refused definition keeps the others. What out holds is then worthless.
type parser struct {
	src     []byte
	pos     int
	out     []byte
	members []member // of the objects that are open, innermost last
	scratch []byte
	depth   int
	path    [MaxDepth + 1]step // where the value being read stands, from depth 1
	fault   *Error

	odd      bool   // the last string read may not be ordered by its bytes in out
	verbatim bool   // numbers out of range are kept as spelled: not hashed as a definition
	want     string // name of the top-level member to keep in got; needs no escapes
	got      []byte // its canonical value
	gotAt    int    // where its name stands in src
	meta     []byte // canonical value of the top-level _meta
	top      int    // depth of the definition object, 0 outside of one
}

// A step leads from a container to the value being read: the name that stands
// in out, or an index.
type step struct {
	start, end int
	index      int
}

func (p *parser) fail(code Code, offset int, detail string) *Error {
	return &Error{Code: code, Pointer: p.pointer(), Offset: offset, Detail: detail}
}

// note records a fault that does not end the reading.
func (p *parser) note(code Code, offset int, detail string) {
	if p.fault == nil {
		p.fault = p.fail(code, offset, detail)
	}
}

func (p *parser) syntax(detail string) error {
	if p.pos >= len(p.src) {
		return p.fail(Syntax, len(p.src), "unexpected end")
	}
	if p.src[p.pos] >= utf8.RuneSelf {
		if r, n := utf8.DecodeRune(p.src[p.pos:]); r == utf8.RuneError && n == 1 {
			return p.fail(InvalidUTF8, p.pos, "")
		}
	}
	return p.fail(Syntax, p.pos, detail)
}

// pointer returns the RFC 6901 pointer of the value being read.
func (p *parser) pointer() string {
	var b []byte
	for d := 1; d <= p.depth; d++ {
		s := p.path[d]
		switch {
		case s.index >= 0:
			b = appendToken(b, itoa(s.index))
		case s.end > s.start:
			b = appendToken(b, Unquote(p.out[s.start:s.end]))
		}
	}
	return string(b)
}

// space moves to the next byte that is no white space.
func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\n', '\r', '\t':
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte that is no white space, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		if c := p.src[p.pos]; c > ' ' {
			return c
		}
	}
	p.space()
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

// value reads one value. The next byte is the first of it.
func (p *parser) value() error {
	switch c := p.peek(); c {
	case '{', '[':
		return p.container(c)
	case '"':
		return p.text()
	case 't':
		return p.literal("true")
	case 'f':
		return p.literal("false")
	case 'n':
		return p.literal("null")
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return p.number()
		}
		return p.syntax("expected a value")
	}
}

func (p *parser) literal(word string) error {
	if rest := p.src[p.pos:min(p.pos+len(word), len(p.src))]; string(rest) != word {
		if strings.HasPrefix(word, string(rest)) {
			p.pos = len(p.src) // cut off
		}
		return p.syntax("expected a value")
	}
	p.pos += len(word)
	p.out = append(p.out, word...)
	return nil
}

// container reads the object or array that opens with c, one level down.
func (p *parser) container(c byte) (err error) {
	if p.depth == MaxDepth {
		p.note(TooDeep, p.pos, "more than "+itoa(MaxDepth)+" levels")
		return p.skip()
	}
	p.depth++
	p.path[p.depth] = step{index: -1}
	if c == '{' {
		err = p.object()
	} else {
		err = p.array()
	}
	p.depth--
	return err
}

func (p *parser) array() error {
	p.pos++
	p.out = append(p.out, '[')
	if p.peek() == ']' {
		p.pos++
		p.out = append(p.out, ']')
		return nil
	}
	for i := 0; ; i++ {
		p.path[p.depth].index = i
		if err := p.value(); err != nil {
			return err
		}
		switch p.peek() {
		case ',':
			p.pos++
			p.out = append(p.out, ',')
		case ']':
			p.pos++
			p.out = append(p.out, ']')
			return nil
		default:
			return p.syntax("expected ',' or ']'")
		}
	}
}

// name reads a member's name and the colon, and leaves out at the value.
func (p *parser) name() (member, error) {
	if p.peek() != '"' {
		return member{}, p.syntax("expected a member name")
	}
	if len(p.src) > maxText {
		return member{}, p.fail(TooLarge, 0, "more than "+itoa(maxText)+" bytes")
	}
	m := member{start: uint32(len(p.out)), offset: uint32(p.pos)}
	if err := p.text(); err != nil {
		return m, err
	}
	m.colon, m.odd = uint32(len(p.out)), p.odd
	m.key = prefix(p.out[m.start+1 : m.colon-1])
	if p.peek() != ':' {
		return m, p.syntax("expected ':'")
	}
	p.pos++
	p.out = append(p.out, ':')
	return m, nil
}

func (p *parser) object() error {
	p.pos++
	open, base := len(p.out), len(p.members)
	p.out = append(p.out, '{')
	if p.peek() == '}' {
		p.pos++
		p.out = append(p.out, '}')
		return nil
	}
	metaSeen, sorted := false, true
	for n := 0; ; n++ {
		here := &p.path[p.depth]
		*here = step{index: -1} // a bad name is its object's fault
		m, err := p.name()
		if err != nil {
			return err
		}
		*here = step{start: int(m.start), end: int(m.colon), index: -1}
		isMeta := p.depth == p.top && string(p.out[m.start:m.colon]) == `"`+MetaMember+`"`
		if isMeta && metaSeen {
			p.note(DuplicateKey, int(m.offset), "")
		}
		p.verbatim = p.verbatim || isMeta
		err = p.value()
		if isMeta {
			p.verbatim = false
		}
		if err != nil {
			return err
		}
		m.end = uint32(len(p.out))
		switch {
		case isMeta:
			metaSeen = true
			p.meta = append(p.meta[:0], p.out[m.colon+1:]...)
			p.out = p.out[:m.start]
		case n >= MaxMembers:
			p.note(TooMany, int(m.offset), "more than "+itoa(MaxMembers)+" members")
			p.out = p.out[:m.start]
		default:
			if p.depth == p.top && string(p.out[m.start+1:m.colon-1]) == p.want {
				p.got = append(p.got[:0], p.out[m.colon+1:]...)
				p.gotAt = int(m.offset)
			}
			if sorted && len(p.members) > base {
				sorted = p.compare(&p.members[len(p.members)-1], &m) < 0
			}
			p.members = append(p.members, m)
			p.out = append(p.out, ',')
		}
		switch p.peek() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			p.close(open, base, sorted)
			return nil
		default:
			return p.syntax("expected ',' or '}'")
		}
	}
}

// skip reads over a value nested too deeply to be written, in constant stack
// space. It checks the grammar, so that the end of the value is certain.
func (p *parser) skip() error {
	mark := len(p.out)
	var objects bits
	level := 0
	for {
		switch c := p.peek(); c {
		case '{', '[':
			p.pos++
			objects.set(level, c == '{')
			level++
			if next := p.peek(); next == '}' && c == '{' || next == ']' && c == '[' {
				break
			}
			if c == '{' {
				if _, err := p.name(); err != nil {
					return err
				}
			}
			continue
		default:
			if err := p.value(); err != nil {
				return err
			}
		}
		p.out = p.out[:mark]
		for {
			c := p.peek()
			if c == ',' {
				p.pos++
				if objects.get(level - 1) {
					if _, err := p.name(); err != nil {
						return err
					}
				}
				break
			}
			if want := objects.get(level - 1); c == '}' && want || c == ']' && !want {
				p.pos++
				if level--; level == 0 {
					return nil
				}
				continue
			}
			return p.syntax("expected ',' or the end of an object or array")
		}
	}
}

// bits is a growing set of levels.
type bits []uint64

func (b *bits) set(i int, on bool) {
	if i>>6 == len(*b) {
		*b = append(*b, 0)
	}
	(*b)[i>>6] &^= 1 << (i & 63)
	if on {
		(*b)[i>>6] |= 1 << (i & 63)
	}
}

func (b bits) get(i int) bool { return b[i>>6]>>(i&63)&1 == 1 }
