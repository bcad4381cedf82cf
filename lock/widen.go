package lock

import (
	"slices"
	"strings"
)

// The limits where a schema became a reference, or another one.
const (
	maxExpanded = 8 << 20 // bytes of the schemas that are compared for it
	maxHops     = 64      // references to references, and within what they lead to
)

// A widener finds what makes an input schema accept more, or what an output
// schema says otherwise.
type widener struct {
	*explainer
	old, new *document
	output   bool
	work     int                // bytes that were compared for references
	depth    int                // of references within what references lead to
	followed map[[2]*value]bool // whether it accepts more
}

func newWidener(e *explainer, old, new *value, output bool) *widener {
	return &widener{explainer: e, old: newDocument(old), new: newDocument(new), output: output, followed: make(map[[2]*value]bool)}
}

// A direction says what happened to what a schema accepts, as far as one
// keyword shows.
type direction uint8

const (
	either direction = iota // it can't be decided
	looser
	tighter
)

// polarity returns how a schema counts that is a in the old document and b in
// the new one.
func (w *widener) polarity(a, b *value) polarity {
	var p polarity
	if a != nil {
		p |= a.polarity
	}
	if b != nil {
		p |= b.polarity
	}
	if w.old.opaque || w.new.opaque || p != 0 && (w.old.evaluated || w.new.evaluated) {
		p = positive | negative
	}
	return p
}

// A spot is a schema in both documents, absent or not.
type spot struct {
	a, b *value
	at   *path
}

// fact emits what a keyword shows: loose if the whole accepts more for it, or
// may, tight if it accepts less.
func (w *widener) fact(s spot, at *path, d direction, loose, tight EffectCode, detail string) {
	if w.output {
		w.emit(at, outputCode(d, loose, tight), detail)
		return
	}
	switch p := w.polarity(s.a, s.b); {
	case p == 0: // nothing refers to it
	case p&positive != 0 && d != tighter:
		w.emit(at, loose, detail)
	case p&negative != 0 && d != looser:
		w.emit(at, MayAcceptMore, strings.TrimSuffix(string(tight)+" "+detail, " "))
	default:
		w.emit(at, tight, detail)
	}
}

// outputCode returns the code of a fact about an output schema.
func outputCode(d direction, loose, tight EffectCode) EffectCode {
	code := loose
	if d == tighter {
		code = tight
	}
	switch code {
	case PropertyAdded, PatternPropertyAdded:
		return OutputPropertyAdded
	case PropertyRemoved, PropertyUnconstrained:
		return OutputPropertyRemoved
	case RequiredAdded:
		return OutputRequiredAdded
	case RequiredRemoved:
		return OutputRequiredRemoved
	case TypeWidened, TypeNarrowed:
		return OutputTypeChanged
	case EnumExtended, EnumRemoved:
		return OutputEnumExtended
	case EnumReduced:
		return OutputEnumReduced
	}
	return OutputChanged
}

// schema compares two schemas; an absent one accepts everything.
func (w *widener) schema(a, b *value, at *path) {
	if equal(a, b) {
		return
	}
	s := spot{a, b, at}
	if w.reference(s) {
		return
	}
	switch {
	case !isSchema(a) || !isSchema(b):
		w.fact(s, at, either, MayAcceptMore, Narrowed, "no schema")
	case isFalse(a):
		w.fact(s, at, looser, SchemaOpened, Narrowed, "")
	case isFalse(b):
		w.fact(s, at, tighter, SchemaOpened, Narrowed, "")
	case isPlain(a) && isPlain(b): // true, {} and absent are one
		w.emit(at, Respelled, "")
	default:
		var done []string
		eachMember(a, b, func(name string, x, y *value) bool {
			if !equal(x, y) && !slices.Contains(done, name) {
				done = append(done, w.keyword(s, name, x, y)...)
			}
			return !w.over
		})
	}
}

// isSchema reports whether a value can be a schema, as an absent one can.
func isSchema(v *value) bool {
	return v == nil || v.is('{') || v.literal("true") || v.literal("false")
}

// opened compares the schemas of a keyword that constrains what is not
// constrained otherwise, and calls it by a code if it no longer does.
func (w *widener) opened(a, b *value, at *path, code EffectCode) {
	s := spot{a, b, at}
	switch {
	case equal(a, b):
	case !isSchema(a) || !isSchema(b):
		w.fact(s, at, either, MayAcceptMore, Narrowed, "no schema")
	case isPlain(a) && isPlain(b) && isFalse(a) == isFalse(b):
		if w.old.evaluated || w.new.evaluated {
			w.fact(s, at, either, MayAcceptMore, Narrowed, "what is evaluated")
			return
		}
		w.emit(at, Respelled, "")
	case isFalse(a), isOpen(b) && !isOpen(a):
		w.fact(s, at, looser, code, Narrowed, detailOf(a)+" to "+detailOf(b))
	default:
		w.schema(a, b, at)
	}
}

// reference compares what two schemas refer to, if they are nothing but
// references or one of them is, and reports whether they were.
func (w *widener) reference(s spot) bool {
	x, y := w.old.follow(s.a), w.new.follow(s.b)
	if x == s.a && y == s.b {
		return false
	}
	if x == nil || y == nil || equal(s.a.member("$ref"), s.b.member("$ref")) {
		return false // what the reference leads to is compared where it stands
	}
	at := &path{up: s.at, token: "$ref", end: true} // it differs, so there is a field to show it
	key := [2]*value{x, y}
	if more, ok := w.followed[key]; ok {
		if more {
			w.fact(s, at, either, RefChanged, Narrowed, "")
		}
		return true
	}
	w.work += len(x.form) + len(y.form)
	if w.work > maxExpanded || w.depth == maxHops {
		w.fact(s, at, either, RefChanged, Narrowed, "")
		return true
	}
	w.followed[key] = false // while it is compared: a cycle adds nothing
	count, high := w.count, w.high
	w.depth++
	w.schema(x, y, at)
	w.depth--
	w.followed[key] = w.high > high
	if w.count == count {
		w.emit(at, Respelled, "")
	}
	return true
}

// follow returns what a schema that is nothing but a reference leads to, absent
// if it leads out of the document or in a circle.
func (d *document) follow(v *value) *value {
	for range maxHops {
		if v == nil || !isReference(v) {
			return v
		}
		v = d.resolve(v.member("$ref").text())
	}
	return nil
}
