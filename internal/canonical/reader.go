package canonical

import (
	"errors"
	"strconv"
)

// A Reader walks through one JSON text. Every method reads one value strictly
// and returns its canonical form or what it means; any fault ends the walk, but
// for those that Definition reports apart. Errors are *Error, except what a
// callback returns, which is passed on as it is.
type Reader struct {
	// Indented says that definitions were given white space by ourselves:
	// MaxSize then bounds their canonical form alone.
	Indented bool

	parser
	at []string // reference tokens of the objects and arrays that are open
}

// NewReader returns a Reader of src, which must not change while results of
// the Reader are in use.
func NewReader(src []byte) *Reader {
	r := &Reader{}
	r.Reset(src)
	return r
}

// Reset makes r read src, and reuses its buffers: what was returned before is
// no longer valid.
func (r *Reader) Reset(src []byte) {
	p := &r.parser
	p.src, p.pos, p.depth, p.top = src, 0, 0, 0
	p.out, p.members, p.scratch = p.out[:0], p.members[:0], p.scratch[:0]
	p.got, p.meta = p.got[:0], p.meta[:0]
	p.fault, p.verbatim = nil, false
	r.at = r.at[:0] // path is written before it is read
}

// Offset returns how many bytes have been read.
func (r *Reader) Offset() int { return r.pos }

// Since returns the bytes of the text read since start.
func (r *Reader) Since(start int) []byte { return r.src[start:r.pos] }

// Peek returns the first byte of the next value, 0 at the end of the text.
func (r *Reader) Peek() byte { return r.peek() }

// bom reports whether the text starts with a byte order mark that is to be
// read next.
func (r *Reader) bom() bool {
	return r.pos == 0 && len(r.src) >= 3 && string(r.src[:3]) == "\ufeff"
}

// Pointer returns the RFC 6901 pointer of the value being read.
func (r *Reader) Pointer() string {
	var b []byte
	for _, t := range r.at {
		b = appendToken(b, t)
	}
	return string(b)
}

// Fail returns an error about the value that was read last or is to be read.
func (r *Reader) Fail(code Code, detail string) error {
	return &Error{Code: code, Pointer: r.Pointer(), Offset: r.pos, Detail: detail}
}

// Unknown returns the error for a member that an object must not have.
func (r *Reader) Unknown(name string) error {
	return r.Fail(Syntax, "unknown member "+strconv.QuoteToASCII(name))
}

// finish makes an error of the parser one of the whole text.
func (r *Reader) finish(err error) error {
	if err == nil && r.fault != nil {
		err = r.fault
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Pointer = r.Pointer() + e.Pointer
	}
	return err
}

// Value reads any value and returns its canonical form, which stays valid.
func (r *Reader) Value() ([]byte, error) {
	if r.bom() {
		return nil, r.Fail(BOM, "")
	}
	r.peek()
	start := len(r.out)
	depth := r.depth
	r.depth = 0
	err := r.finish(r.value())
	r.depth = depth
	if err != nil {
		return nil, err
	}
	return r.out[start:len(r.out):len(r.out)], nil
}

// Skip reads any value and forgets it. Numbers may have any magnitude.
func (r *Reader) Skip() error {
	mark := len(r.out)
	r.verbatim = true
	_, err := r.Value()
	r.verbatim = false
	r.out = r.out[:mark]
	return err
}

// Raw reads any value as Skip does and returns its bytes as received.
func (r *Reader) Raw() ([]byte, error) {
	r.peek()
	start := r.pos
	if err := r.Skip(); err != nil {
		return nil, err
	}
	return r.src[start:r.pos], nil
}

// String reads a string.
func (r *Reader) String() (string, error) {
	if r.Peek() != '"' {
		return "", r.mismatch("a string")
	}
	v, err := r.Value()
	if err != nil {
		return "", err
	}
	return Unquote(v), nil
}

// Number reads a number and returns it in canonical form.
func (r *Reader) Number() (string, error) {
	if c := r.Peek(); c != '-' && (c < '0' || c > '9') {
		return "", r.mismatch("a number")
	}
	v, err := r.Value()
	return string(v), err
}

// Bool reads true or false.
func (r *Reader) Bool() (bool, error) {
	if c := r.Peek(); c != 't' && c != 'f' {
		return false, r.mismatch("true or false")
	}
	v, err := r.Value()
	return string(v) == "true", err
}

// types names the types of values by their first byte, but for numbers.
var types = map[byte]string{'{': "an object", '[': "an array", '"': "a string", 't': "true or false", 'f': "true or false", 'n': "null", 0: "nothing"}

// expected says which type was wanted, and which there is.
func expected(want string, first byte) string {
	found, ok := types[first]
	if !ok {
		found = "a number"
	}
	return "expected " + want + ", found " + found
}

// mismatch is the error for a value of another type than the one wanted.
func (r *Reader) mismatch(want string) error {
	e := &Error{Code: Syntax, Pointer: r.Pointer(), Offset: r.pos, Detail: expected(want, r.peek())}
	if err := r.Skip(); err != nil {
		return err
	}
	return e
}

// Object reads an object and calls member for each of its members, in the
// order of the text. The callback reads the value.
func (r *Reader) Object(member func(name string) error) error {
	if r.Peek() != '{' {
		return r.mismatch("an object")
	}
	if len(r.at) >= MaxDepth {
		return r.Fail(TooDeep, "")
	}
	r.pos++
	if r.peek() == '}' {
		r.pos++
		return nil
	}
	seen := make(map[string]struct{})
	for {
		mark := len(r.out)
		r.parser.depth = 0
		m, err := r.name()
		if err = r.finish(err); err != nil {
			return err
		}
		name := Unquote(r.out[m.start:m.colon])
		r.out = r.out[:mark]
		r.at = append(r.at, name)
		if _, dup := seen[name]; dup {
			return &Error{Code: DuplicateKey, Pointer: r.Pointer(), Offset: int(m.offset)}
		}
		if len(seen) == MaxMembers {
			return r.Fail(TooMany, "more than "+itoa(MaxMembers)+" members")
		}
		seen[name] = struct{}{}
		if err := member(name); err != nil {
			return err
		}
		r.at = r.at[:len(r.at)-1]
		switch r.peek() {
		case ',':
			r.pos++
		case '}':
			r.pos++
			return nil
		default:
			return r.finish(r.syntax("expected ',' or '}'"))
		}
	}
}

// Array reads an array and calls element for each of its elements, which
// reads it.
func (r *Reader) Array(element func(i int) error) error {
	if r.Peek() != '[' {
		return r.mismatch("an array")
	}
	if len(r.at) >= MaxDepth {
		return r.Fail(TooDeep, "")
	}
	r.pos++
	if r.peek() == ']' {
		r.pos++
		return nil
	}
	for i := 0; ; i++ {
		r.at = append(r.at, itoa(i))
		if err := element(i); err != nil {
			return err
		}
		r.at = r.at[:len(r.at)-1]
		switch r.peek() {
		case ',':
			r.pos++
		case ']':
			r.pos++
			return nil
		default:
			return r.finish(r.syntax("expected ',' or ']'"))
		}
	}
}

// End reports an error if anything but white space follows.
func (r *Reader) End() error {
	if r.peek(); r.pos < len(r.src) {
		return r.Fail(TrailingData, "")
	}
	return nil
}

// A Definition is what Reader.Definition found. It is valid until more is
// read: of a listing each definition is kept by itself, not the buffers that
// grew with all of them.
type Definition struct {
	Canonical []byte // without the top-level _meta
	Name      []byte // canonical form of the naming member if it is a string, quotes included
	Meta      []byte // canonical form of the top-level _meta, nil if absent
}

// Definition reads the definition of a tool, prompt or resource template,
// which is named by its member called naming.
//
// A definition without a canonical form is no fault of the text as long as its
// end is certain: the reason comes back as refused, whose Pointer and Offset
// count from the definition's start, and reading can go on.
func (r *Reader) Definition(naming string) (d Definition, refused *Error, err error) {
	p := &r.parser
	p.want, p.top = naming, 1
	p.got, p.gotAt, p.meta = p.got[:0], 0, p.meta[:0]
	p.peek()
	start := p.pos
	d.Canonical, refused, err = r.tolerant('{', NotAnObject)
	p.top = 0
	if err != nil {
		return d, nil, err
	}
	if len(p.got) > 0 && p.got[0] == '"' {
		d.Name = p.got
	}
	if refused == nil && len(d.Name) <= len(`""`) {
		refused = &Error{Code: MissingName, Pointer: Child("", naming), Offset: max(0, p.gotAt-start)}
	}
	if refused != nil {
		return Definition{Name: d.Name}, refused, nil
	}
	if len(p.meta) > 0 {
		d.Meta = p.meta
	}
	return d, nil, nil
}

// Text reads a string in the way of Definition: one without a canonical form
// comes back as refused, and what comes back is valid until more is read.
func (r *Reader) Text() (canonical []byte, refused *Error, err error) {
	return r.tolerant('"', MissingName)
}

// tolerant reads a value that starts with open, of at most MaxSize bytes, and
// tells faults of the value from faults of the text.
func (r *Reader) tolerant(open byte, mismatch Code) (canonical []byte, refused *Error, err error) {
	if r.bom() {
		return nil, nil, r.Fail(BOM, "")
	}
	p := &r.parser
	first, start, mark := p.peek(), p.pos, len(p.out)
	p.depth = 0
	if err := p.value(); err != nil {
		return nil, nil, r.finish(err)
	}
	p.depth = 0
	canonical = p.out[mark:len(p.out):len(p.out)]
	p.out = p.out[:mark]
	switch {
	case p.fault != nil:
		refused = p.fault
		refused.Offset -= start
		p.fault = nil
	case first != open:
		refused = &Error{Code: mismatch, Detail: expected(types[open], first)}
	case p.pos-start > MaxSize && !r.Indented || len(canonical) > MaxSize:
		refused = &Error{Code: TooLarge, Detail: "more than " + itoa(MaxSize) + " bytes"}
	}
	if refused != nil {
		return nil, refused, nil
	}
	return canonical, nil, nil
}
