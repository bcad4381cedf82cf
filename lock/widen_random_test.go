package lock_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpsign/mcpsign/lock"
)

// A schemaMaker makes random schemas of few keywords, names and values, so that
// they constrain each other.
type schemaMaker struct {
	*rand.Rand
	draft7 bool
}

func pick[T any](r *schemaMaker, choices ...T) T { return choices[r.IntN(len(choices))] }

func (r *schemaMaker) schema(depth int) any {
	if depth == 0 {
		return pick[any](r, true, false, map[string]any{}, map[string]any{"type": r.typ()}, map[string]any{"const": r.value(0)})
	}
	s := map[string]any{}
	for range 1 + r.IntN(3) {
		r.keyword(s, depth)
	}
	return s
}

func (r *schemaMaker) typ() any {
	one := func() any { return pick[any](r, "null", "boolean", "object", "array", "number", "string", "integer") }
	if a, b := one(), one(); a != b && r.IntN(3) == 0 {
		return []any{a, b}
	}
	return one()
}

func (r *schemaMaker) value(depth int) any {
	switch n := r.IntN(10); {
	case n < 4 || depth == 0 && n > 6:
		return pick[any](r, -1, 0, 1, 2, 3, 4, 1.5)
	case n < 7:
		return pick[any](r, "", "a", "ab", "abc", true, nil)
	case n < 8:
		list := []any{}
		for range r.IntN(4) {
			list = append(list, r.value(depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range r.IntN(4) {
		object[r.name()] = r.value(depth - 1)
	}
	return object
}

func (r *schemaMaker) name() string { return pick(r, "a", "b", "c", "ab") }

func (r *schemaMaker) names() []any {
	var list []any
	for _, n := range []string{"a", "b", "c"} {
		if r.IntN(2) == 0 {
			list = append(list, n)
		}
	}
	return list
}

// keyword adds a keyword to s, or replaces it.
func (r *schemaMaker) keyword(s map[string]any, depth int) {
	sub := func() any { return r.schema(depth - 1) }
	subs := func(name func() string) map[string]any {
		m := map[string]any{}
		for range 1 + r.IntN(2) {
			m[name()] = sub()
		}
		return m
	}
	list := func() (l []any) {
		for range 1 + r.IntN(3) {
			l = append(l, sub())
		}
		return l
	}
	choices := []func(){
		func() { s["type"] = r.typ() },
		func() { s["enum"] = []any{1, "a", "ab", nil, 2}[r.IntN(3) : 3+r.IntN(2)] },
		func() { s[pick(r, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")] = r.IntN(4) },
		func() { s["multipleOf"] = 1 + r.IntN(4) },
		func() {
			s[pick(r, "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")] = r.IntN(4)
		},
		func() { s["uniqueItems"] = r.IntN(2) == 0 },
		func() { s["pattern"] = pick(r, "^a", "b", "c$") },
		func() { s["required"] = r.names() },
		func() { s["properties"] = subs(r.name) },
		func() { s["properties"] = subs(r.name) },
		func() { s["patternProperties"] = subs(func() string { return pick(r, "^a", "b") }) },
		func() { s["additionalProperties"] = sub() },
		func() { s["additionalProperties"] = pick(r, true, false) },
		func() { s["propertyNames"] = map[string]any{"maxLength": r.IntN(3)} },
		func() { s["items"] = sub() },
		func() { s["contains"] = sub() },
		func() { s[pick(r, "anyOf", "oneOf", "allOf")] = list() },
		func() { s[pick(r, "anyOf", "oneOf", "allOf")] = list() },
		func() { s["not"] = sub() },
		func() { s[pick(r, "if", "then", "else")] = sub() },
		func() { s["if"], s["then"] = sub(), sub() },
		func() { s["$ref"] = pick(r, "#/$defs/a", "#/$defs/b") },
	}
	if r.draft7 {
		choices = append(choices,
			func() { s["items"] = list() },
			func() { s["additionalItems"] = sub() },
			func() { s["dependencies"] = map[string]any{r.name(): pick[any](r, r.names(), sub())} })
	} else {
		choices = append(choices,
			func() { s["const"] = r.value(0) }, // the validator reads it beside $ref in draft-07, but not enum
			func() { s["prefixItems"] = list() },
			func() { s[pick(r, "unevaluatedProperties", "unevaluatedItems")] = sub() },
			func() { s[pick(r, "minContains", "maxContains")] = r.IntN(3) },
			func() { s["dependentSchemas"] = subs(r.name) },
			func() { s["dependentRequired"] = map[string]any{r.name(): append(r.names(), "ab")} })
	}
	choices[r.IntN(len(choices))]()
}

// mutate changes something in a schema, at any depth.
func (r *schemaMaker) mutate(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := maps.Clone(v)
		keys := slices.Sorted(maps.Keys(c))
		switch n := r.IntN(10); {
		case len(keys) > 0 && n < 5:
			k := keys[r.IntN(len(keys))]
			c[k] = r.mutate(c[k])
		case len(keys) > 0 && n < 7:
			delete(c, keys[r.IntN(len(keys))])
		default:
			r.keyword(c, 1+r.IntN(2))
		}
		return c
	case []any:
		c := slices.Clone(v)
		switch i := r.IntN(len(c) + 1); {
		case i == len(c) || r.IntN(4) == 0:
			return slices.Insert(c, i, r.schema(1))
		case r.IntN(3) == 0:
			return slices.Delete(c, i, i+1)
		default:
			c[i] = r.mutate(c[i])
		}
		return c
	case bool:
		return pick[any](r, !v, r.schema(1))
	case int:
		return max(0, v+pick(r, -1, 1))
	}
	return v
}

// compile compiles a schema as a validator does that is not ours; nil if it is
// none.
func compile(t *testing.T, r *schemaMaker, text []byte) *jsonschema.Schema {
	t.Helper()
	doc := must[any](t)(jsonschema.UnmarshalJSON(strings.NewReader(string(text))))
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if r.draft7 {
		c.DefaultDraft(jsonschema.Draft7)
	}
	if err := c.AddResource("test:schema", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("test:schema")
	if err != nil {
		return nil
	}
	return schema
}

// If another implementation of JSON Schema accepts a value by the new schema
// and not by the old one, a field says so.
func TestNoWideningIsMissed(t *testing.T) {
	wider, pairs := 0, 0
	for _, draft7 := range []bool{false, true} {
		for seed := range uint64(1_000) {
			r := &schemaMaker{rand.New(rand.NewPCG(seed, 1)), draft7}
			root := r.schema(3).(map[string]any)
			root["$defs"] = map[string]any{"a": r.schema(2), "b": r.schema(1)}
			changed := r.mutate(root)
			for range r.IntN(2) {
				changed = r.mutate(changed)
			}
			a, b := must[[]byte](t)(json.Marshal(root)), must[[]byte](t)(json.Marshal(changed))
			old, new := compile(t, r, a), compile(t, r, b)
			if old == nil || new == nil {
				continue
			}
			pairs++
			fields := compareSchemas(t, string(a), string(b))
			checkFields(t, tool(t, string(schemaTool(string(a)))), tool(t, string(schemaTool(string(b)))))
			if slices.ContainsFunc(fields, func(f lock.Field) bool { return f.Severity == lock.High }) {
				continue
			}
			for range 40 {
				value := must[any](t)(jsonschema.UnmarshalJSON(strings.NewReader(string(must[[]byte](t)(json.Marshal(r.value(3)))))))
				if new.Validate(value) == nil && old.Validate(value) != nil {
					t.Fatalf("draft-07 %v, seed %d: %v is accepted now\nold %s\nnew %s\n%s", draft7, seed, value, a, b, describeEffects(fields))
				}
			}
			wider++
		}
	}
	t.Logf("%d pairs of schemas, %d of them told not to accept more", pairs, wider)
	if wider < 500 {
		t.Errorf("only %d of %d pairs were told not to accept more", wider, pairs)
	}
}

// compareSchemas compares two tools with these input schemas.
func compareSchemas(t testing.TB, a, b string) []lock.Field {
	t.Helper()
	return lock.Compare(tool(t, `{"name":"n","inputSchema":`+a+`}`), tool(t, `{"name":"n","inputSchema":`+b+`}`))
}

// describeEffects writes effects as "/pointer severity: code detail; code", a
// line a field.
func describeEffects(fields []lock.Field) string {
	var lines []string
	for _, f := range fields {
		var effects []string
		for _, e := range f.Effects {
			effects = append(effects, strings.TrimSpace(fmt.Sprintf("%s %s", e.Code, e.Detail)))
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", f.Pointer, f.Severity, strings.Join(effects, "; ")))
	}
	return strings.Join(lines, "\n")
}
