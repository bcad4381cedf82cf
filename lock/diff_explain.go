package lock

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// The limits of what effects of one definition are told apart.
const (
	maxEffects      = 1_000
	maxEffectBytes  = 1 << 18 // of the pointers that lead to them
	headerMember    = `"x-mcp-header":`
	headerKeyword   = "x-mcp-header"
	referenceMember = `"$ref":"`
	dynamicMember   = `"$dynamicRef":"`
)

// An explainer attaches effects to the fields that show them.
type explainer struct {
	fields  []Field
	changed map[string]int // by pointer in the new definition
	removed map[string]int // by pointer in the old one
	count   int
	high    int
	size    int
	over    bool
}

func newExplainer(fields []Field) *explainer {
	e := &explainer{fields: fields, changed: make(map[string]int, len(fields)), removed: make(map[string]int)}
	for i, f := range fields {
		if f.New == nil {
			e.removed[f.Pointer] = i
		} else {
			e.changed[f.Pointer] = i
		}
	}
	return e
}

// definition explains the difference of two definitions of a kind.
func (e *explainer) definition(k Kind, old, new *value) {
	for i := range e.fields {
		e.texts(k, &e.fields[i])
		e.markers(&e.fields[i])
	}
	eachMember(old, new, func(name string, a, b *value) bool {
		if equal(a, b) {
			return true
		}
		at := &path{token: name}
		switch {
		case !slices.Contains(k.members(), name):
			e.emit(at, UnknownMember, detail(name))
		case k == Tool && name == "inputSchema":
			e.presence(a, b, at, SchemaOpened, Narrowed)
			newWidener(e, a, b, false).schema(a, b, at)
		case k == Tool && name == "outputSchema":
			e.presence(a, b, at, OutputChanged, OutputChanged)
			newWidener(e, a, b, true).schema(a, b, at)
		case k == Tool && name == "annotations":
			e.annotations(a, b, at)
		case k == Tool && name == "execution":
			e.emit(at, Respelled, "")
		case k == Prompt && name == "arguments":
			e.arguments(a, b, at)
		}
		return true
	})
}

// presence emits that there is no schema any more, or that there is one now.
func (e *explainer) presence(a, b *value, at *path, gone, added EffectCode) {
	switch {
	case b == nil:
		e.emit(at, gone, "no schema")
	case a == nil:
		e.emit(at, added, "a schema")
	}
}

// members returns the members that MCP gives to definitions of a kind.
func (k Kind) members() []string {
	switch k {
	case Tool:
		return []string{"name", "title", "icons", "description", "inputSchema", "outputSchema", "annotations", "execution"}
	case Prompt:
		return []string{"name", "title", "icons", "description", "arguments"}
	case ResourceTemplate:
		return []string{"uriTemplate", "name", "title", "icons", "description", "mimeType", "annotations"}
	}
	return []string{"instructions"}
}

// finish returns the fields with their severities.
func (e *explainer) finish() []Field {
	if e.over {
		f := &e.fields[0]
		f.Effects = append(f.Effects, Effect{MoreEffects, "more than " + strconv.Itoa(maxEffects)})
	}
	for i := range e.fields {
		f := &e.fields[i]
		for j, x := range f.Effects {
			if s := x.Code.Severity(); j == 0 || s > f.Severity {
				f.Severity = s
			}
		}
	}
	return e.fields
}

// emit attaches an effect to the field that shows the value at a place: the
// one of the value, of one that holds it, or the first of those it holds.
func (e *explainer) emit(at *path, c EffectCode, detail string) {
	if e.count++; e.over || e.count > maxEffects {
		e.over = true
		return
	}
	if c.Severity() == High {
		e.high++
	}
	old, new := at.pointers()
	if e.size += len(old) + len(new); e.size > maxEffectBytes {
		e.over = true
		return
	}
	i := e.shown(old, new)
	f := &e.fields[i]
	if x := (Effect{c, detail}); !slices.Contains(f.Effects, x) {
		f.Effects = append(f.Effects, x)
	}
}

// shown returns the field that shows the value at two pointers. There is one
// for every effect; a stray one would not be lost, but be at the first field.
func (e *explainer) shown(old, new string) int {
	for p := new; ; p = p[:max(0, strings.LastIndexByte(p, '/'))] {
		if i, ok := e.changed[p]; ok {
			return i
		}
		if p == "" {
			break
		}
	}
	for p := old; ; p = p[:max(0, strings.LastIndexByte(p, '/'))] {
		if i, ok := e.removed[p]; ok {
			return i
		}
		if p == "" {
			break
		}
	}
	old, new = old+"/", new+"/"
	for i, f := range e.fields {
		if strings.HasPrefix(f.Pointer, new) || strings.HasPrefix(f.Pointer, old) {
			return i
		}
	}
	return 0
}

// texts says what a field does to texts.
func (e *explainer) texts(k Kind, f *Field) {
	a, b := newValue(f.Old), newValue(f.New)
	last := f.Pointer[strings.LastIndexByte(f.Pointer, '/')+1:]
	text := isText(last) || k == Instructions && f.Pointer == "/instructions" || k == ResourceTemplate && f.Pointer == "/name"
	var code EffectCode
	switch {
	case text && a.is('"') && b.is('"'):
		code = TextChanged
	case text && a.is('"'):
		code = TextRemoved
	case text && b.is('"'):
		code = TextAdded
	case !holdsText(f.New):
		return
	case holdsText(f.Old):
		code = TextChanged
	default:
		code = TextAdded
	}
	f.Effects = append(f.Effects, Effect{Code: code})
}

// holdsText reports whether a canonical value has a text in it.
func holdsText(form []byte) bool {
	for _, m := range []string{`"description":"`, `"title":"`, `"$comment":"`} {
		if bytes.Contains(form, []byte(m)) {
			return true
		}
	}
	return false
}

func isText(member string) bool {
	return member == "description" || member == "title" || member == "$comment"
}

// markers says what a field does to headers and remote references. In a
// canonical form a member's name is found by its bytes: a quote within a string
// has a backslash before it, and what follows a string's end is no colon.
func (e *explainer) markers(f *Field) {
	last := f.Pointer[strings.LastIndexByte(f.Pointer, '/')+1:]
	within := strings.Contains(f.Pointer+"/", "/"+headerKeyword+"/")
	old := f.Old != nil && (within || bytes.Contains(f.Old, []byte(headerMember)))
	new := f.New != nil && (within || bytes.Contains(f.New, []byte(headerMember)))
	switch {
	case old && new:
		f.Effects = append(f.Effects, Effect{Code: HeaderChanged})
	case new:
		f.Effects = append(f.Effects, Effect{Code: HeaderAdded})
	case old:
		f.Effects = append(f.Effects, Effect{Code: HeaderRemoved})
	}
	if ref, ok := remoteRef(last, f.New); ok {
		f.Effects = append(f.Effects, Effect{RemoteRef, detail(ref)})
	}
}

// remoteRef returns the first reference to another document in the value of
// the member called last.
func remoteRef(last string, form []byte) (ref string, ok bool) {
	if v := newValue(form); (last == "$ref" || last == "$dynamicRef") && isRemote(v.text()) {
		return v.text(), true
	}
	for _, member := range []string{referenceMember, dynamicMember} {
		for at := 0; ; {
			i := bytes.Index(form[at:], []byte(member))
			if i < 0 {
				break
			}
			at += i + len(member)
			if form[at] != '#' && form[at] != '"' { // "" is the document itself
				return canonical.Unquote(form[at-1 : stringEnd(form, at-1)]), true
			}
		}
	}
	return "", false
}

func isRemote(ref string) bool { return ref != "" && ref[0] != '#' }
