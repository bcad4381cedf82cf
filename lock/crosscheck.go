package lock

import (
	"bytes"
	"fmt"

	"github.com/gowebpki/jcs"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// CrossCheck computes the canonical form of d a second time, from the bytes as
// received and with a general RFC 8785 library, and returns an error if the
// two differ. Whoever signs asks it, so that a fault of one of them is never
// signed. Definitions from a lockfile have no bytes as received: their
// canonical form is checked instead.
func (d Definition) CrossCheck() error {
	raw := d.raw
	if raw == nil {
		raw = d.form
	}
	rest, err := withoutMeta(raw)
	if err != nil {
		return fmt.Errorf("%s: read a second time: %w", Visible(d.ID()), asDigestError(err))
	}
	general, err := jcs.Transform(rest)
	if err != nil {
		return fmt.Errorf("%s: a second canonicalisation failed: %w", Visible(d.ID()), err)
	}
	if !bytes.Equal(general, d.form) {
		return fmt.Errorf("%s: two canonicalisations differ: this is a fault of mcpsign, nothing was signed", Visible(d.ID()))
	}
	return nil
}

// Meta returns the top-level _meta as received, nil if there is none or d comes
// from a lockfile, which has its digest alone. It is valid JSON, in any spelling.
func (d Definition) Meta() []byte {
	if d.raw == nil || d.meta.IsZero() {
		return nil
	}
	var meta []byte
	r := canonical.NewReader(d.raw)
	err := r.Object(func(name string) (err error) {
		value, err := r.Raw()
		if name == canonical.MetaMember {
			meta = value
		}
		return err
	})
	if err != nil {
		return nil // can't happen: it was read before
	}
	return meta
}

// withoutMeta returns an object without its top-level _meta, the other values
// as they are. What is in _meta is not hashed, and may hold numbers that the
// general library refuses.
func withoutMeta(raw []byte) ([]byte, error) {
	r := canonical.NewReader(raw)
	out := []byte{'{'}
	err := r.Object(func(name string) error {
		value, err := r.Raw()
		if err != nil || name == canonical.MetaMember {
			return err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(canonical.AppendString(out, name), ':'), value...)
		return nil
	})
	return append(out, '}'), err
}
