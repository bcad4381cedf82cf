package canonical

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// A member is one `"name":value,` in out.
type member struct {
	key               uint64 // first eight bytes of the name, for a quick comparison
	start, colon, end uint32 // in out; colon is one past the name's closing quote, end is the comma
	offset            uint32 // of the name in src
	odd               bool   // its order is not that of its bytes in out
}

// prefix returns the first eight bytes of b as a number that orders like them.
func prefix(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var k uint64
	for i, c := range b {
		k |= uint64(c) << (56 - 8*i)
	}
	return k
}

// close ends the object that starts at open in out and whose members are
// those from base on. Each is followed by a comma.
func (p *parser) close(open, base int, sorted bool) {
	ms := p.members[base:]
	if !sorted && p.fault == nil {
		p.order(ms)
		p.scratch = p.scratch[:0]
		for i := range ms {
			p.scratch = append(p.scratch, p.out[ms[i].start:ms[i].end+1]...)
		}
		copy(p.out[open+1:], p.scratch)
	}
	if len(ms) > 0 {
		p.out[len(p.out)-1] = '}'
	} else {
		p.out = append(p.out, '}')
	}
	p.members = p.members[:base]
}

// order sorts members by name and notes a name that occurs twice.
func (p *parser) order(ms []member) {
	// Members that end up side by side have been compared with each other,
	// whatever the algorithm: an equal pair can't be missed.
	equal := false
	if len(ms) > 16 {
		slices.SortFunc(ms, func(a, b member) int {
			c := p.compare(&a, &b)
			if c == 0 {
				equal = true
				return cmp.Compare(a.offset, b.offset)
			}
			return c
		})
	} else {
		for i := 1; i < len(ms); i++ {
			m, j := ms[i], i
			for ; j > 0; j-- {
				c := p.compare(&ms[j-1], &m)
				equal = equal || c == 0
				if c <= 0 {
					break
				}
				ms[j] = ms[j-1]
			}
			ms[j] = m
		}
	}
	if equal {
		p.repeated(ms)
	}
}

// repeated notes a name that occurs twice among sorted members, equal ones in
// the order of the text: of all such names the second occurrence that comes
// first.
func (p *parser) repeated(ms []member) {
	var dup *member
	for i := 1; i < len(ms); i++ {
		m := &ms[i]
		if p.compare(&ms[i-1], m) == 0 && (dup == nil || m.offset < dup.offset) {
			dup = m
		}
	}
	if dup != nil {
		p.path[p.depth] = step{start: int(dup.start), end: int(dup.colon), index: -1}
		p.note(DuplicateKey, int(dup.offset), "")
	}
}

// compare orders two names by their UTF-16 code units (RFC 8785 section
// 3.2.3).
func (p *parser) compare(a, b *member) int {
	if !a.odd && !b.odd {
		if a.key != b.key {
			if a.key < b.key {
				return -1
			}
			return 1
		}
		return bytes.Compare(p.out[a.start+1:a.colon-1], p.out[b.start+1:b.colon-1])
	}
	return compareNames(Unquote(p.out[a.start:a.colon]), Unquote(p.out[b.start:b.colon]))
}

// compareNames orders two names by their UTF-16 code units. UTF-8 differs from
// that in one case: a character beyond U+FFFF (lead byte F0 or more) is a
// surrogate pair and comes before U+E000 to U+FFFF (lead bytes EE and EF).
// Bytes of that size are lead bytes wherever they stand.
func compareNames(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= leadE000 && y >= leadE000 && (x >= leadPair) != (y >= leadPair) {
			return int(y) - int(x)
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}

const (
	leadE000 = 0xEE // first byte of U+E000 and above
	leadPair = 0xF0 // first byte of characters that are surrogate pairs in UTF-16
)

// Less reports whether a comes before b in the order of member names.
func Less(a, b string) bool { return compareNames(a, b) < 0 }

// appendToken appends a reference token of RFC 6901.
func appendToken(dst []byte, token string) []byte {
	dst = append(dst, '/')
	if !bytes.ContainsAny([]byte(token), "~/") {
		return append(dst, token...)
	}
	for i := 0; i < len(token); i++ {
		switch token[i] {
		case '~':
			dst = append(dst, "~0"...)
		case '/':
			dst = append(dst, "~1"...)
		default:
			dst = append(dst, token[i])
		}
	}
	return dst
}

// Child returns the RFC 6901 pointer of a member or element of the value at
// pointer.
func Child(pointer, token string) string {
	return string(appendToken([]byte(pointer), token))
}
