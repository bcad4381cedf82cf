package lock

import (
	"bytes"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// settleSize is after how many bytes what is written is compared: few enough to
// stay in a processor's cache.
const settleSize = 64 << 10

// A writer writes JSON indented by two spaces.
type writer struct {
	out   []byte
	limit int // bytes after which the rest is of no interest
	depth int
	full  bool // the innermost object or array has something in it

	// What is written is compared with want and not kept, unless want is nil.
	want    []byte
	same    int // bytes that are as in want
	differs bool

	marks Lines // nil if nobody asks for them
	lines int   // written so far, the one begun included
}

// mark remembers the line of an entry.
func (w *writer) mark(server, id string) {
	if at := (place{server, id}); w.marks != nil && w.marks[at] == 0 {
		w.marks[at] = w.lines
	}
}

// over reports whether more than the limit was written, or something that is
// not as in want.
func (w *writer) over() bool { return len(w.out) > w.limit || w.differs }

// settle compares what was written since the last time.
func (w *writer) settle() {
	if w.want == nil || w.differs {
		return
	}
	rest := w.want[w.same:]
	if bytes.HasPrefix(rest, w.out) {
		w.same += len(w.out)
		w.out = w.out[:0]
		return
	}
	w.differs = true
	for i := 0; i < min(len(rest), len(w.out)) && rest[i] == w.out[i]; i++ {
		w.same++
	}
}

func (w *writer) line() {
	const indent = "                                                                " // 32 levels
	if len(w.out) >= settleSize {
		w.settle()
	}
	w.out = append(w.out, '\n')
	w.lines++
	n := 2 * w.depth
	for ; n > len(indent); n -= len(indent) {
		w.out = append(w.out, indent...)
	}
	w.out = append(w.out, indent[:n]...)
}

func (w *writer) open(c byte) {
	w.out = append(w.out, c)
	w.depth++
	w.full = false
}

func (w *writer) close(c byte) {
	w.depth--
	if w.full {
		w.line()
	}
	w.out = append(w.out, c)
	w.full = true
}

// element starts the next element of an array.
func (w *writer) element() {
	if w.full {
		w.out = append(w.out, ',')
	}
	w.line()
	w.full = true
}

// name starts the next member of an object.
func (w *writer) name(n string) {
	w.element()
	w.quoted(n)
	w.out = append(w.out, ':', ' ')
}

func (w *writer) quoted(s string) {
	w.out = appendVisibleJSON(w.out, canonical.AppendString(nil, s))
}

// strings writes an array of strings, unless it is empty.
func (w *writer) strings(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.name(name)
	w.open('[')
	for _, s := range list {
		w.element()
		w.quoted(s)
	}
	w.close(']')
}

func (w *writer) member(name, json string) {
	w.name(name)
	w.out = append(w.out, json...)
}

func (w *writer) string(name, value string) {
	w.name(name)
	w.quoted(value)
}

func (w *writer) optional(name, value string) {
	if value != "" {
		w.string(name, value)
	}
}

// canonical writes a value that is in canonical form.
func (w *writer) canonical(form []byte) {
	for i := 0; i < len(form) && !w.over(); {
		switch c := form[i]; c {
		case '{', '[':
			w.open(c)
			if next := form[i+1]; next != '}' && next != ']' {
				w.full = true
				w.line()
			}
			i++
		case '}', ']':
			w.close(c)
			i++
		case ',':
			w.out = append(w.out, ',')
			w.line()
			i++
		case ':':
			w.out = append(w.out, ':', ' ')
			i++
		case '"':
			end := stringEnd(form, i)
			w.out = appendVisibleJSON(w.out, form[i:end])
			i = end
		default:
			w.out = append(w.out, c)
			i++
		}
	}
}

// stringEnd returns the index behind the canonical string that starts at i.
func stringEnd(form []byte, i int) int {
	for i++; ; {
		end := i + bytes.IndexByte(form[i:], '"')
		slash := bytes.IndexByte(form[i:end], '\\')
		if slash < 0 {
			return end + 1
		}
		i += slash + 2
	}
}
