package attest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/in-toto/in-toto-golang/in_toto"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// encode returns the RFC 8785 form of s. The members are written in any order
// and put in the right one by the reader that also checks what is signed.
func (s *Statement) encode() ([]byte, error) {
	var e encoder
	e.object(func() {
		e.string("_type", in_toto.StatementInTotoV1)
		e.name("subject")
		e.array(len(s.subjects), func(i int) {
			e.object(func() {
				e.string("name", s.subjects[i].ID())
				e.name("digest")
				e.object(func() { e.string("sha256", s.subjects[i].Digest.Hex()) })
			})
		})
		e.string("predicateType", PredicateType)
		e.name("predicate")
		e.object(func() { e.release(&s.release) })
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
		e.array(len(values), func(i int) { e.out = canonical.AppendString(e.out, values[i]) })
	}
}

func (e *encoder) release(r *Release) {
	e.string("recipe", Recipe)
	e.name("server")
	e.object(func() {
		e.string("name", r.Server)
		e.optional("version", r.Version)
		e.strings("purls", r.PURLs)
		e.strings("origins", r.Origins)
	})
	e.raw("sequence", strconv.FormatUint(r.Sequence, 10))
	e.string("variant", r.Variant)
	e.raw("complete", strconv.FormatBool(r.Complete))
	kinds := make([]string, len(r.Kinds))
	for i, k := range r.Kinds {
		kinds[i] = string(k)
	}
	e.strings("kinds", kinds)
	e.optional("protocolVersion", r.ProtocolVersion)
	e.string("issuedAt", r.IssuedAt.UTC().Format(time.RFC3339))
	if !r.ExpiresAt.IsZero() {
		e.string("expiresAt", r.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if r.Source != nil {
		e.name("source")
		e.resource(*r.Source)
	}
	if len(r.Artifacts) > 0 {
		e.name("artifacts")
		e.array(len(r.Artifacts), func(i int) { e.resource(r.Artifacts[i]) })
	}
}

func (e *encoder) resource(r Resource) {
	e.object(func() {
		e.optional("uri", r.URI)
		if len(r.Digest) > 0 {
			e.name("digest")
			e.object(func() {
				for _, alg := range slices.Sorted(maps.Keys(r.Digest)) {
					e.string(alg, r.Digest[alg])
				}
			})
		}
	})
}
