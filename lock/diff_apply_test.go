package lock_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// A patch is what fields say, as a tree: by the tokens of their pointers.
type patch struct {
	field          *lock.Field
	below, removed map[string]*patch // by places in the new and in the old value
}

func newPatch(fields []lock.Field) *patch {
	root := &patch{}
	for i := range fields {
		f := &fields[i]
		p := root
		for _, token := range strings.Split(f.Pointer, "/")[1:] {
			token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
			list := &p.below
			if f.New == nil {
				list = &p.removed
			}
			if *list == nil {
				*list = make(map[string]*patch)
			}
			if (*list)[token] == nil {
				(*list)[token] = &patch{}
			}
			p = (*list)[token]
		}
		p.field = f
	}
	return root
}

// join puts the fields of two patches of one value together, one found by its
// place in the new value, the other by that in the old one.
func join(a, b *patch) *patch {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &patch{field: a.field, below: a.below, removed: b.removed}
}

// apply returns what v is after a patch.
func (p *patch) apply(v any) any {
	if p == nil {
		return v
	}
	if p.field != nil {
		return decoded(p.field.New)
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any)
		for name, x := range v {
			if gone := p.removed[name]; gone == nil || gone.field == nil {
				out[name] = join(p.below[name], gone).apply(x)
			}
		}
		for name, added := range p.below {
			if _, ok := v[name]; !ok {
				out[name] = decoded(added.field.New)
			}
		}
		return out
	case []any:
		return p.applyArray(v)
	}
	panic("a field is below a scalar")
}

// applyArray takes the elements that stay in their order, and puts those that
// were added where they are said to be.
func (p *patch) applyArray(v []any) any {
	out := []any{}
	for i := 0; ; {
		here := p.below[strconv.Itoa(len(out))]
		if here != nil && here.field != nil && here.field.Old == nil {
			out = append(out, decoded(here.field.New))
			continue
		}
		if i == len(v) {
			return out
		}
		gone := p.removed[strconv.Itoa(i)]
		if gone == nil || gone.field == nil {
			out = append(out, join(here, gone).apply(v[i]))
		}
		i++
	}
}

// decoded decodes a canonical value, keeping numbers as they are spelled.
func decoded(form []byte) any {
	d := json.NewDecoder(bytes.NewReader(form))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(fmt.Sprintf("%q: %v", form, err))
	}
	return v
}

// checkFields checks what holds for the fields of any two definitions.
func checkFields(t testing.TB, old, new lock.Definition) {
	t.Helper()
	fields, back := lock.Compare(old, new), lock.Compare(new, old)
	if (len(fields) == 0) != bytes.Equal(old.Canonical(), new.Canonical()) {
		t.Fatalf("%q to %q: %d fields", old.Canonical(), new.Canonical(), len(fields))
	}
	text, err := json.Marshal(newPatch(fields).apply(decoded(old.Canonical())))
	if err == nil {
		text, err = canonical.Append(nil, text)
	}
	if err != nil || !bytes.Equal(text, new.Canonical()) {
		t.Errorf("%q\nto %q\nbut the fields %q\nlead to %q, %v", old.Canonical(), new.Canonical(), describeFields(fields), text, err)
	}
	// The other way round the same values differ, at the same places as far as
	// they are in one definition only.
	sides := func(fields []lock.Field, swap bool) (out []string) {
		for _, f := range fields {
			at := f.Pointer
			if f.Old != nil && f.New != nil {
				at = "both"
			}
			if swap {
				f.Old, f.New = f.New, f.Old
			}
			out = append(out, fmt.Sprintf("%s %q %q", at, f.Old, f.New))
		}
		slices.Sort(out)
		return out
	}
	if a, b := sides(fields, false), sides(back, true); !slices.Equal(a, b) {
		t.Errorf("%q to %q:\n%q, the other way round\n%q", old.Canonical(), new.Canonical(), a, b)
	}
	for _, f := range fields {
		severity := lock.Normal
		for i, e := range f.Effects {
			if severity = max(severity, e.Code.Severity()); i == 0 {
				severity = e.Code.Severity()
			}
			if !utf8.ValidString(e.Detail) || len(e.Detail) > 1_000 {
				t.Errorf("detail %q", e.Detail)
			}
		}
		if f.Severity != severity || bytes.Equal(f.Old, f.New) {
			t.Errorf("%s: %s, %q -> %q", f.Pointer, f.Severity, f.Old, f.New)
		}
	}
}

// FuzzCompare checks the fields of two definitions.
func FuzzCompare(f *testing.F) {
	for _, c := range widenings {
		f.Add(uint8(slices.Index(lock.Kinds(), lock.Tool)), schemaTool(c.old), schemaTool(c.new))
	}
	for _, c := range meanings {
		old, new := c.definitions(f)
		f.Add(uint8(slices.Index(lock.Kinds(), c.kind)), old.Canonical(), new.Canonical())
	}
	f.Fuzz(func(t *testing.T, kind uint8, a, b []byte) {
		k := lock.Kinds()[int(kind)%len(lock.Kinds())]
		old, err := lock.ParseDefinition(k, a)
		if err != nil {
			return
		}
		if fields := lock.Compare(old, old); fields != nil {
			t.Errorf("%q differs from itself: %q", a, describeFields(fields))
		}
		if new, err := lock.ParseDefinition(k, b); err == nil {
			checkFields(t, old, new)
		}
	})
}
