// Package lint looks over a listing and says what a person should know before
// approving it: characters that do not show, names that look like others,
// schemas that reach out or are none, values that will not be the same
// tomorrow.
//
// It decides nothing. A definition without findings may be malicious and one
// with findings harmless; each finding has a stable code, so that whoever
// wants to can fail on some of them.
//
// A listing is hostile input. Each definition is walked through in its canonical
// form, in time and memory linear in its size; what is reported is bounded by
// MaxEach, MaxFull, and the lengths of Finding. Nothing is fetched or
// compiled, there is no clock and no state. The JSON Schema check is a table
// of the keywords' forms and not a schema library, since those compile their
// metaschemas when a program starts that links them, whether it lints or not.
package lint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// The bounds of what is reported.
const (
	MaxEach = 5      // findings of one code in one definition; the rest is counted in one more
	MaxFull = 10_000 // findings of a listing, after which each definition has only counts

	maxPointer = 256 // bytes of a pointer
	maxShown   = 80  // bytes of a server's text in a detail, before hidden characters are escaped
)

// A Finding is one thing to know about a definition.
type Finding struct {
	Code Code
	Kind lock.Kind
	Name string // the definition's, as the server wrote it: it may hold anything

	// Pointer is an RFC 6901 pointer within the definition, "" for all of it.
	// One of more than 256 bytes is cut to the innermost value that has a
	// shorter one. Its tokens are the server's text.
	Pointer string

	// Detail is one line for people, of less than 2 KiB, in which hidden
	// characters are escaped as lock.Visible does.
	Detail string
}

// Check returns what there is to know about the definitions of l, sorted by
// kind, name, pointer and code. Definitions that l refuses can't be approved
// and are not looked at, nor is what the digest leaves out: the top-level
// _meta, and what the server says of itself.
//
// Names are compared within l and with what f, which may be nil, has pinned of
// servers other than the one called server.
func Check(l *lock.Listing, server string, f *lock.File) []Finding {
	s := &sink{}
	for _, d := range l.Definitions {
		c := checker{sink: s, d: d, r: canonical.NewReader(d.Canonical())}
		c.definition()
		c.close()
	}
	compareNames(s, l, server, f)
	slices.SortStableFunc(s.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code))
	})
	return s.findings
}

// A sink collects the findings of a listing.
type sink struct {
	findings []Finding
	patterns int // bytes of regular expressions looked at
}

// A checker walks through one definition.
type checker struct {
	sink   *sink
	d      lock.Definition
	r      *canonical.Reader
	counts map[Code]tally // nil until there is a finding

	// Of the JSON Schema being read.
	draft  draft
	judged bool              // its draft is known: what is no valid schema is reported
	based  bool              // an $id changes what references mean
	refs   map[string]string // local references: what they say, by what they point to
}

// add reports a finding at the value being read.
func (c *checker) add(code Code, format string, args ...any) {
	c.addAt(c.r.Pointer, code, format, args...)
}

// addAt reports a finding at pointer, which is only called if it is shown.
func (c *checker) addAt(pointer func() string, code Code, format string, args ...any) {
	if c.counts == nil {
		c.counts = make(map[Code]tally)
	}
	n := c.counts[code]
	n.all++
	if n.shown < MaxEach && len(c.sink.findings) < MaxFull {
		n.shown++
		c.sink.findings = append(c.sink.findings,
			Finding{code, c.d.Kind(), c.d.Name(), cut(pointer()), fmt.Sprintf(format, args...)})
	}
	c.counts[code] = n
}

// A tally counts the findings of one code, and those of them that are reported
// one by one.
type tally struct{ all, shown int }

// close reports how many findings of each code were only counted.
func (c *checker) close() {
	for code, n := range c.counts {
		if n.all == n.shown {
			continue
		}
		more := ""
		if n.shown > 0 {
			more = " more"
		}
		c.sink.findings = append(c.sink.findings,
			Finding{Code: code, Kind: c.d.Kind(), Name: c.d.Name(), Detail: fmt.Sprintf("in %d%s places", n.all-n.shown, more)})
	}
}

// cut shortens a pointer to one of an enclosing value.
func cut(pointer string) string {
	if len(pointer) <= maxPointer {
		return pointer
	}
	return strings.Clone(pointer[:strings.LastIndexByte(pointer[:maxPointer+1], '/')])
}

// A shown is text of the server as a detail has it: shortened and escaped.
type shown string

func (s shown) String() string {
	if len(s) <= maxShown {
		return `"` + lock.Visible(string(s)) + `"`
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return `"` + lock.Visible(string(s[:n])) + `" ...`
}

// errStop ends a walk that has seen enough.
var errStop = errors.New("stop")
