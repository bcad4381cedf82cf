package attest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/in-toto/in-toto-golang/in_toto"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// encode returns the RFC 8785 form of the statement with those subjects and
// that predicate. The members are written in any order and put in the right one
// by the reader that also checks what is signed.
func encode(predicateType string, subjects []subject, predicate func(*encoder)) ([]byte, error) {
	var e encoder
	e.object(func() {
		e.string("_type", in_toto.StatementInTotoV1)
		e.name("subject")
		e.array(len(subjects), func(i int) { e.subject(subjects[i]) })
		e.string("predicateType", predicateType)
		e.name("predicate")
		e.object(func() { predicate(&e) })
	})
	payload, err := canonical.Append(nil, e.out)
	if err == nil && len(payload) > MaxPayload {
		err = fmt.Errorf("has %d bytes, at most %d can be signed", len(payload), MaxPayload)
	}
	return payload, err
}

// An encoder writes JSON.
type encoder struct {
	out   []byte
	comma bool
}

func (e *encoder) object(members func()) {
	e.out = append(e.out, '{')
	e.comma = false
	members()
	e.out = append(e.out, '}')
	e.comma = true
}

func (e *encoder) array(n int, element func(i int)) {
	e.out = append(e.out, '[')
	for i := range n {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		element(i)
	}
	e.out = append(e.out, ']')
	e.comma = true
}

func (e *encoder) name(n string) {
	if e.comma {
		e.out = append(e.out, ',')
	}
	e.out = append(canonical.AppendString(e.out, n), ':')
}

func (e *encoder) raw(name, value string) {
	e.name(name)
	e.out = append(e.out, value...)
	e.comma = true
}

func (e *encoder) string(name, value string) {
	e.name(name)
	e.out = canonical.AppendString(e.out, value)
	e.comma = true
}

func (e *encoder) optional(name, value string) {
	if value != "" {
		e.string(name, value)
	}
}

func (e *encoder) strings(name string, values []string) {
	if len(values) > 0 {
		e.name(name)
		e.textArray(values)
	}
}

func (e *encoder) textArray(values []string) {
	e.array(len(values), func(i int) { e.out = canonical.AppendString(e.out, values[i]) })
}

func (e *encoder) subject(s subject) {
	e.object(func() {
		e.string("name", s.name)
		e.name("digest")
		e.digest(s.digest)
		if s.reason != "" {
			e.name("annotations")
			e.object(func() { e.string("reason", s.reason) })
		}
	})
}

func (e *encoder) digest(d lock.Digest) {
	e.object(func() { e.string("sha256", d.Hex()) })
}

// time writes a time of whole seconds in UTC.
func (e *encoder) time(name string, t time.Time) {
	e.string(name, t.UTC().Format(time.RFC3339))
}

func (e *encoder) resources(name string, rs []Resource) {
	if len(rs) > 0 {
		e.name(name)
		e.array(len(rs), func(i int) { e.resource(rs[i]) })
	}
}

func (e *encoder) resource(r Resource) {
	e.object(func() {
		e.optional("uri", r.URI)
		if len(r.Digest) > 0 {
			e.name("digest")
			e.texts(r.Digest)
		}
	})
}

// texts writes an object of strings.
func (e *encoder) texts(m map[string]string) {
	e.object(func() {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			e.string(name, m[name])
		}
	})
}
