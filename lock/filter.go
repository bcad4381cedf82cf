package lock

import (
	"github.com/mcpsign/mcpsign/internal/canonical"
)

// Filter rewrites a JSON-RPC response, or its result, to hold only the
// definitions that keep accepts, each as its canonical bytes: what was decided
// on is what is forwarded, and no _meta of a definition with it. Definitions
// without a digest never pass; of several with one name keep must know that
// (verify's Decision does). Other members stay byte for byte. The error is a
// *DigestError and concerns the envelope.
func Filter(response []byte, keep func(Definition) bool) ([]byte, error) {
	if len(response) > MaxPage {
		return nil, tooLarge("response", MaxPage)
	}
	f := &filter{r: canonical.NewReader(response), keep: keep}
	f.out = make([]byte, 0, len(response))
	err := f.object(func(name string) error { return f.message(name, true) })
	if err == nil {
		err = f.r.End()
	}
	if err != nil {
		return nil, asDigestError(err)
	}
	return f.out, nil
}

type filter struct {
	r    *canonical.Reader
	keep func(Definition) bool
	out  []byte
}

// object copies an object member by member. A member for which nothing is
// written is left out.
func (f *filter) object(member func(name string) error) error {
	f.out = append(f.out, '{')
	first := true
	err := f.r.Object(func(name string) error {
		mark := len(f.out)
		if !first {
			f.out = append(f.out, ',')
		}
		f.out = append(canonical.AppendString(f.out, name), ':')
		start := len(f.out)
		if err := member(name); err != nil {
			return err
		}
		if len(f.out) == start {
			f.out = f.out[:mark]
		} else {
			first = false
		}
		return nil
	})
	f.out = append(f.out, '}')
	return err
}

// message copies a member of a response or of a result, which may have the answer
// to initialize if it is the outer one.
func (f *filter) message(name string, outer bool) error {
	switch {
	case name == "initialize" && outer:
		return f.object(func(name string) error { return f.message(name, false) })
	case name == "result":
		return f.object(func(name string) error {
			if name == "initialize" && outer {
				return f.message(name, true)
			}
			return f.member(name)
		})
	}
	return f.member(name)
}

func (f *filter) member(name string) error {
	switch name {
	case "tools":
		return f.array(Tool)
	case "prompts":
		return f.array(Prompt)
	case "resourceTemplates":
		return f.array(ResourceTemplate)
	case "instructions":
		d, refused, err := wrapInstructions(f.r)
		if err == nil && refused == nil && f.keep(d) {
			f.out = append(f.out, d.form[len(`{"instructions":`):len(d.form)-1]...)
		}
		return err
	}
	if err := checkSpelling(f.r, name); err != nil {
		return err
	}
	raw, err := f.r.Raw()
	f.out = append(f.out, raw...)
	return err
}

func (f *filter) array(k Kind) error {
	f.out = append(f.out, '[')
	first := true
	err := f.r.Array(func(int) error {
		d, refused, err := readDefinition(f.r, k)
		if err != nil || refused != nil || !f.keep(d) {
			return err
		}
		if !first {
			f.out = append(f.out, ',')
		}
		first = false
		f.out = append(f.out, d.form...)
		return nil
	})
	f.out = append(f.out, ']')
	return err
}
