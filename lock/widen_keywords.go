package lock

import (
	"math"
	"strconv"
	"strings"
)

// Keywords that only mean something together, and are compared together.
var (
	constants = []string{"const", "enum"}
	minimums  = []string{"exclusiveMinimum", "minimum"}
	maximums  = []string{"exclusiveMaximum", "maximum"}
	tuples    = []string{"additionalItems", "items", "prefixItems"}
)

// shows returns the place of the first of keywords that differs, of those that
// are there now if there are any.
func (s spot) shows(keywords []string) *path {
	shown := ""
	for _, k := range keywords {
		x, y := s.a.member(k), s.b.member(k)
		if !equal(x, y) && (shown == "" || y != nil && s.b.member(shown) == nil) {
			shown = k
		}
	}
	return s.at.child(shown)
}

// keyword compares the values x and y of a keyword that differs, and returns
// the keywords that are done with it.
func (w *widener) keyword(s spot, name string, x, y *value) (done []string) {
	at := s.at.child(name)
	switch name {
	case "type":
		w.types(s, at, x, y)
	case "enum", "const":
		w.values(s, s.shows(constants))
		return constants
	case "minimum", "exclusiveMinimum":
		w.limit(s, s.shows(minimums), "minimum", "exclusiveMinimum", -1)
		return minimums
	case "maximum", "exclusiveMaximum":
		w.limit(s, s.shows(maximums), "maximum", "exclusiveMaximum", 1)
		return maximums
	case "prefixItems", "items", "additionalItems":
		w.items(s, s.shows(tuples))
		return tuples
	case "minLength", "minItems", "minProperties", "minContains", "maxLength", "maxItems", "maxProperties", "maxContains":
		w.length(s, at, name, x, y)
	case "multipleOf":
		w.multiple(s, at, x, y)
	case "uniqueItems":
		w.bound(s, at, boolDirection(x, y), name, x, y)
	case "pattern":
		w.text(s, at, x, y, PatternRemoved, PatternChanged)
	case "format":
		w.text(s, at, x, y, FormatRemoved, FormatChanged)
	case "required":
		w.required(s, at, x, y)
	case "$schema":
		w.dialect(s, at, x, y)
	case "$ref", "$dynamicRef", "$recursiveRef", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary":
		w.fact(s, at, either, RefChanged, RefChanged, detailOf(x)+" to "+detailOf(y))
	default:
		w.applicator(s, at, name, x, y)
	}
	return nil
}

// types compares the keyword type.
func (w *widener) types(s spot, at *path, x, y *value) {
	a, okA := typesOf(x)
	b, okB := typesOf(y)
	detail := detailOf(x) + " to " + detailOf(y)
	switch {
	case !okA || !okB:
		w.fact(s, at, either, MayAcceptMore, Narrowed, "type "+detail)
	case a == b:
		w.emit(at, Respelled, "")
	default:
		if b&^a != 0 {
			w.fact(s, at, looser, TypeWidened, TypeNarrowed, detail)
		}
		if a&^b != 0 {
			w.fact(s, at, tighter, TypeWidened, TypeNarrowed, detail)
		}
	}
}

// values compares enum and const together.
func (w *widener) values(s spot, at *path) {
	a, okA := valuesOf(s.a)
	b, okB := valuesOf(s.b)
	switch {
	case !okA || !okB:
		w.fact(s, at, either, MayAcceptMore, Narrowed, "enum")
	case b == nil:
		w.fact(s, at, looser, EnumRemoved, Narrowed, "")
	case a == nil:
		w.fact(s, at, tighter, EnumRemoved, Narrowed, "one of "+listForms(b))
	default:
		added, gone := missing(b, a), missing(a, b)
		if len(added) > 0 {
			w.fact(s, at, looser, EnumExtended, EnumReduced, listForms(added))
		}
		if len(gone) > 0 {
			w.fact(s, at, tighter, EnumExtended, EnumReduced, listForms(gone))
		}
		if len(added)+len(gone) == 0 {
			w.emit(at, Respelled, "")
		}
	}
}

// listForms lists the first of some canonical forms.
func listForms(forms []string) string {
	var details []string
	for _, f := range forms[:min(len(forms), maxDetailNames)] {
		details = append(details, detail(f))
	}
	text := strings.Join(details, ", ")
	if n := len(forms) - len(details); n > 0 {
		text += " and " + strconv.Itoa(n) + " more"
	}
	return text
}

// A limit is the tightest of an inclusive and an exclusive one.
type limit struct {
	n         float64
	exclusive bool
}

// limitOf returns a limit with its sign chosen so that a lower one is tighter.
func limitOf(schema *value, inclusive, exclusive string, sign float64) (l limit, ok bool) {
	l.n = math.Inf(1)
	for _, name := range []string{inclusive, exclusive} {
		v := schema.member(name)
		if v == nil {
			continue
		}
		n, err := strconv.ParseFloat(string(v.form), 64)
		if err != nil {
			return l, false
		}
		if n *= sign; n < l.n || n == l.n && name == exclusive {
			l = limit{n, name == exclusive}
		}
	}
	return l, true
}

// limit compares a range's end; sign is 1 for the upper one, -1 for the lower.
func (w *widener) limit(s spot, at *path, inclusive, exclusive string, sign float64) {
	a, okA := limitOf(s.a, inclusive, exclusive, sign)
	b, okB := limitOf(s.b, inclusive, exclusive, sign)
	detail := limitDetail(s.a, inclusive, exclusive) + " to " + limitDetail(s.b, inclusive, exclusive)
	switch {
	case !okA || !okB:
		w.fact(s, at, either, MayAcceptMore, Narrowed, detail)
	case a == b:
		w.emit(at, Respelled, "")
	case b.n > a.n || b.n == a.n && a.exclusive:
		w.fact(s, at, looser, BoundRelaxed, BoundTightened, detail)
	default:
		w.fact(s, at, tighter, BoundRelaxed, BoundTightened, detail)
	}
}

func limitDetail(schema *value, names ...string) string {
	var details []string
	for _, n := range names {
		if v := schema.member(n); v != nil {
			details = append(details, n+" "+detailOf(v))
		}
	}
	if len(details) == 0 {
		return "no " + names[0]
	}
	return strings.Join(details, ", ")
}

// length compares a keyword that counts.
func (w *widener) length(s spot, at *path, name string, x, y *value) {
	byDefault := 0.0
	switch {
	case name == "minContains":
		byDefault = 1
	case name[:3] == "max":
		byDefault = math.Inf(1)
	}
	a, okA := numberOf(x, byDefault)
	b, okB := numberOf(y, byDefault)
	d := tighter
	switch {
	case !okA || !okB:
		d = either
	case a == b:
		w.emit(at, Respelled, "")
		return
	case (b > a) == (name[:3] == "max"):
		d = looser
	}
	w.bound(s, at, d, name, x, y)
}

func numberOf(v *value, byDefault float64) (n float64, ok bool) {
	if v == nil {
		return byDefault, true
	}
	n, err := strconv.ParseFloat(string(v.form), 64)
	return n, err == nil
}

// multiple compares multipleOf: a divisor of the old one accepts more.
func (w *widener) multiple(s spot, at *path, x, y *value) {
	a, okA := numberOf(x, 0)
	b, okB := numberOf(y, 0)
	d := either
	whole := func(n float64) bool { return n > 0 && n == math.Trunc(n) }
	switch {
	case !okA || !okB:
	case y == nil, whole(a) && whole(b) && math.Mod(a, b) == 0:
		d = looser
	case x == nil, whole(a) && whole(b) && math.Mod(b, a) == 0:
		d = tighter
	}
	w.bound(s, at, d, "multipleOf", x, y)
}

// boolDirection returns what a keyword does that constrains if it is true.
func boolDirection(x, y *value) direction {
	for _, v := range []*value{x, y} {
		if v != nil && !v.literal("true") && !v.literal("false") {
			return either
		}
	}
	if x.literal("true") {
		return looser
	}
	return tighter
}

func (w *widener) bound(s spot, at *path, d direction, name string, x, y *value) {
	w.fact(s, at, d, BoundRelaxed, BoundTightened, name+" "+detailOf(x)+" to "+detailOf(y))
}

// text compares a keyword of which nobody can say which of two texts accepts
// more.
func (w *widener) text(s spot, at *path, x, y *value, removed, changed EffectCode) {
	switch {
	case y == nil:
		w.fact(s, at, looser, removed, Narrowed, detailOf(x))
	case x == nil:
		w.fact(s, at, tighter, removed, Narrowed, detailOf(y))
	default:
		w.fact(s, at, either, changed, Narrowed, detailOf(x)+" to "+detailOf(y))
	}
}

// required compares sets of names.
func (w *widener) required(s spot, at *path, x, y *value) {
	if x != nil && !x.is('[') || y != nil && !y.is('[') {
		w.fact(s, at, either, MayAcceptMore, Narrowed, "required")
		return
	}
	a, b := namesOf(x), namesOf(y)
	gone, added := missing(a, b), missing(b, a)
	for _, name := range gone {
		w.fact(s, at, looser, RequiredRemoved, RequiredAdded, detail(name))
	}
	for _, name := range added {
		w.fact(s, at, tighter, RequiredRemoved, RequiredAdded, detail(name))
	}
	if len(gone)+len(added) == 0 {
		w.emit(at, Respelled, "")
	}
}

// dialect compares $schema, which is spelling as long as the document uses
// nothing that dialects read differently.
func (w *widener) dialect(s spot, at *path, x, y *value) {
	if s.a == w.old.root && s.b == w.new.root && knownDialect(x) && knownDialect(y) && !w.old.sensitive && !w.new.sensitive {
		w.emit(at, Respelled, "")
		return
	}
	w.fact(s, at, either, DialectChanged, Narrowed, detailOf(x)+" to "+detailOf(y))
}
