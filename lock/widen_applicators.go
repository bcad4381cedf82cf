package lock

// applicator compares a keyword that holds schemas, or one of no other kind.
func (w *widener) applicator(s spot, at *path, name string, x, y *value) {
	switch name {
	case "properties", "patternProperties":
		w.properties(s, at, name, x, y)
	case "additionalProperties":
		w.opened(x, y, at, AdditionalPropertiesOpened)
	case "unevaluatedProperties", "unevaluatedItems":
		w.opened(x, y, at, UnevaluatedOpened)
	case "propertyNames":
		w.opened(x, y, at, PropertyNamesOpened)
	case "contains":
		w.contains(s, at, x, y)
	case "not":
		w.not(s, at, x, y)
	case "if", "then", "else":
		w.condition(s, at, name, x, y)
	case "anyOf":
		w.branches(s, at, x, y, AnyOfRemoved)
	case "oneOf":
		w.branches(s, at, x, y, OneOfRemoved)
	case "allOf":
		w.branches(s, at, x, y, AllOfReduced)
	case "dependentRequired", "dependentSchemas", "dependencies":
		w.dependents(s, at, x, y)
	case "$defs", "definitions":
		w.definitions(s, at, name, x, y)
	default:
		if !isRemark(name) {
			w.emit(at, UnknownMember, detail(name))
		}
	}
}

// objects reports whether both values are objects or absent, and emits that
// nothing can be said of them otherwise.
func (w *widener) objects(s spot, at *path, x, y *value) bool {
	if x != nil && !x.is('{') || y != nil && !y.is('{') {
		w.fact(s, at, either, MayAcceptMore, Narrowed, "no object")
		return false
	}
	return true
}

// properties compares properties or patternProperties.
func (w *widener) properties(s spot, at *path, keyword string, x, y *value) {
	if !w.objects(s, at, x, y) {
		return
	}
	if len(x.members())+len(y.members()) == 0 {
		w.emit(at, Respelled, "")
	}
	added := PropertyAdded
	if keyword == "patternProperties" {
		added = PatternPropertyAdded
	}
	closed := isFalse(s.b.member("additionalProperties")) && (keyword == "patternProperties" || s.b.member("patternProperties") == nil)
	eachMember(x, y, func(name string, p, q *value) bool {
		in := at.child(name)
		switch {
		case p != nil && q != nil:
			w.schema(p, q, in)
		case p == nil && isFalse(q):
			w.fact(s, in, tighter, added, Narrowed, detail(name))
		case p == nil:
			w.fact(s, in, either, added, PropertyRemoved, detail(name))
		case closed, isOpen(p) && !w.old.evaluated && !w.new.evaluated:
			w.fact(s, in, tighter, PropertyUnconstrained, PropertyRemoved, detail(name))
		default:
			w.fact(s, in, either, PropertyUnconstrained, PropertyRemoved, detail(name))
		}
		return !w.over
	})
}

func (w *widener) contains(s spot, at *path, x, y *value) {
	switch {
	case x == nil:
		w.fact(s, at, tighter, ContainsRemoved, Narrowed, "")
	case y == nil:
		w.fact(s, at, looser, ContainsRemoved, Narrowed, "")
	default:
		w.opened(x, y, at, ContainsRemoved)
	}
}

func (w *widener) not(s spot, at *path, x, y *value) {
	switch {
	case x == nil:
		w.fact(s, at, tighter, NotRemoved, Narrowed, "")
	case y == nil:
		w.fact(s, at, looser, NotRemoved, Narrowed, detailOf(x))
	default:
		w.schema(x, y, at)
	}
}

// condition compares if, then and else. An if without the others constrains
// nothing, nor do they without it.
func (w *widener) condition(s spot, at *path, name string, x, y *value) {
	switch {
	case name != "if":
		if s.a.member("if") != nil || s.b.member("if") != nil {
			w.opened(x, y, at, SchemaOpened)
		}
	case x != nil && y != nil:
		w.schema(x, y, at)
	case x == nil:
		w.fact(s, at, tighter, MayAcceptMore, Narrowed, "if")
	default:
		w.fact(s, at, looser, MayAcceptMore, Narrowed, "if")
	}
}

// branches compares anyOf, oneOf or allOf. removed is the code of the keyword
// gone altogether.
func (w *widener) branches(s spot, at *path, x, y *value, removed EffectCode) {
	switch {
	case x != nil && !x.is('[') || y != nil && !y.is('['):
		w.fact(s, at, either, MayAcceptMore, Narrowed, "no array")
	case x == nil:
		w.fact(s, at, tighter, removed, Narrowed, "")
	case y == nil:
		w.fact(s, at, looser, removed, Narrowed, "")
	case !alignable(x, y):
		w.fact(s, at, either, MayAcceptMore, Narrowed, "too many to compare")
	default:
		once := removed == OneOfRemoved && disjoint(x)
		for _, p := range align(x, y) {
			a, b := elementAt(x.elements(), p.old), elementAt(y.elements(), p.new)
			if a != nil && b != nil {
				w.schema(a, b, at.element(p))
			} else {
				w.branch(s, at.element(p), removed, a, b, once)
			}
		}
	}
}

// branch compares branches of which one is absent. The old ones of a oneOf
// exclude each other if once is set.
func (w *widener) branch(s spot, at *path, keyword EffectCode, a, b *value, once bool) {
	d, loose, shown := tighter, keyword, a
	if a == nil {
		shown = b
	}
	switch {
	case keyword == AllOfReduced:
		if a != nil && (!isOpen(a) || w.old.evaluated || w.new.evaluated) {
			d = looser
		}
	case keyword == AnyOfRemoved && a == nil:
		d, loose = looser, AnyOfExtended
	case keyword == OneOfRemoved && a == nil:
		d, loose = either, OneOfExtended
	case keyword == OneOfRemoved && !once: // what was valid twice was refused
		d, loose = either, MayAcceptMore
	}
	w.fact(s, at, d, loose, Narrowed, detailOf(shown))
}

// items compares prefixItems, items and additionalItems together.
func (w *widener) items(s spot, at *path) {
	keyword, x := tupleOf(s.a)
	other, y := tupleOf(s.b)
	if len(y) > 0 {
		keyword = other
	}
	in := s.at.child(keyword)
	restA, restB := restOf(s.a), restOf(s.b)
	for _, p := range alignByIndex(x, y) {
		place := in.element(p)
		switch {
		case p.old >= 0 && p.new >= 0:
			w.schema(&x[p.old], &y[p.new], place)
		case p.old < 0 && isOpen(restA):
			w.fact(s, place, tighter, ItemAdded, Narrowed, "")
		case p.old < 0:
			w.fact(s, place, either, ItemAdded, Narrowed, detailOf(&y[p.new]))
		case isFalse(restB) || isOpen(&x[p.old]):
			w.fact(s, place, tighter, ItemsOpened, Narrowed, "")
		default:
			w.fact(s, place, either, ItemsOpened, Narrowed, detailOf(&x[p.old]))
		}
	}
	if restA != nil || restB != nil {
		w.opened(restA, restB, at, ItemsOpened)
	}
}

// tupleOf returns the schemas of single items, and the keyword that has them.
func tupleOf(schema *value) (keyword string, items []value) {
	if v := schema.member("prefixItems"); v.is('[') {
		return "prefixItems", v.elements()
	}
	return "items", schema.member("items").elements()
}

// restOf returns the schema of all other items.
func restOf(schema *value) *value {
	if items := schema.member("items"); !items.is('[') {
		return items
	}
	return schema.member("additionalItems")
}

// dependents compares what is required if a property is there.
func (w *widener) dependents(s spot, at *path, x, y *value) {
	if !w.objects(s, at, x, y) {
		return
	}
	eachMember(x, y, func(name string, p, q *value) bool {
		in := at.child(name)
		switch {
		case equal(p, q):
		case p == nil:
			w.fact(s, in, tighter, DependentRemoved, Narrowed, detail(name))
		case q == nil:
			w.fact(s, in, looser, DependentRemoved, Narrowed, detail(name))
		case p.is('[') && q.is('['):
			for _, r := range missing(namesOf(p), namesOf(q)) {
				w.fact(s, in, looser, DependentRemoved, Narrowed, detail(name)+": "+detail(r))
			}
			for _, r := range missing(namesOf(q), namesOf(p)) {
				w.fact(s, in, tighter, DependentRemoved, Narrowed, detail(name)+": "+detail(r))
			}
		case p.is('[') || q.is('['):
			w.fact(s, in, either, MayAcceptMore, Narrowed, detail(name))
		default:
			w.opened(p, q, in, DependentRemoved)
		}
		return !w.over
	})
}

// definitions compares the schemas that references lead to. One that is only
// in one document counts where a reference of the other does not find it.
func (w *widener) definitions(s spot, at *path, keyword string, x, y *value) {
	if !w.objects(s, at, x, y) {
		return
	}
	eachMember(x, y, func(name string, p, q *value) bool {
		in := at.child(name)
		switch {
		case p != nil && q != nil:
			w.schema(p, q, in)
		case p != nil && p.polarity != 0 && w.new.dangles, q != nil && q.polarity != 0 && w.old.dangles:
			w.fact(spot{p, q, in}, in, either, MayAcceptMore, Narrowed, "a reference that leads nowhere")
		}
		return !w.over
	})
}
