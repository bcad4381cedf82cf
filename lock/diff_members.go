package lock

// annotations explains the annotations of a tool.
func (e *explainer) annotations(a, b *value, at *path) {
	hints := []struct {
		name      string
		byDefault bool // which is the value that promises least
	}{{"readOnlyHint", false}, {"destructiveHint", true}, {"idempotentHint", false}, {"openWorldHint", true}}
	known := map[string]bool{"title": true}
	for _, h := range hints {
		known[h.name] = true
		x, y := a.member(h.name), b.member(h.name)
		if equal(x, y) {
			continue
		}
		was, wasBool := hint(x, h.byDefault)
		is, isBool := hint(y, h.byDefault)
		code := AnnotationChanged
		if !isBool || !wasBool || was != is && is == h.byDefault {
			code = AnnotationLoosened
		}
		e.emit(at.child(h.name), code, h.name+" "+detailOf(x)+" to "+detailOf(y))
	}
	eachMember(a, b, func(name string, x, y *value) bool {
		if !known[name] && !equal(x, y) {
			e.emit(at.child(name), UnknownMember, detail(name))
		}
		return true
	})
}

// hint returns the value of a hint, and whether it has one.
func hint(v *value, byDefault bool) (is, ok bool) {
	switch {
	case v == nil:
		return byDefault, true
	case v.literal("true"):
		return true, true
	}
	return false, v.literal("false")
}

// arguments explains the arguments of a prompt, which are found by their names.
func (e *explainer) arguments(a, b *value, at *path) {
	old, new := argumentsOf(a), argumentsOf(b)
	for i := range a.elements() {
		name := a.kids[i].member("name")
		if _, ok := new[name.text()]; !ok && name.is('"') {
			e.emit(at.element(pair{i, -1}), ArgumentRemoved, detail(name.text()))
		}
	}
	for i := range b.elements() {
		name := b.kids[i].member("name")
		if !name.is('"') {
			continue
		}
		j, ok := old[name.text()]
		if !ok {
			e.emit(at.element(pair{-1, i}), ArgumentAdded, detail(name.text()))
			continue
		}
		place := at.element(pair{j, i}).child("required")
		was, is := a.kids[j].member("required").literal("true"), b.kids[i].member("required").literal("true")
		switch {
		case was && !is:
			e.emit(place, ArgumentOptional, detail(name.text()))
		case is && !was:
			e.emit(place, ArgumentRequired, detail(name.text()))
		}
	}
}

// argumentsOf returns the indices of arguments by their names.
func argumentsOf(v *value) map[string]int {
	m := make(map[string]int)
	for i := range v.elements() {
		if name := v.kids[i].member("name"); name.is('"') {
			m[name.text()] = i
		}
	}
	return m
}
