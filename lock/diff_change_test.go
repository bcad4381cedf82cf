package lock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// describeMarks writes changes as "op id severity" and what is marked.
func describeMarks(changes []lock.Change) string {
	var lines []string
	for _, c := range changes {
		line := fmt.Sprintf("%s %s %s", c.Op, lock.ID(c.Kind, c.Name), c.Severity)
		if c.Meta {
			line += " meta"
		}
		if c.Spelling {
			line += " spelling"
		}
		if c.Renamed != "" {
			line += " = " + c.Renamed
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestMarks(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", `[{"name":"a"}]`, `[{"name":"a"}]`, ``},
		{"added and removed", `[{"name":"a"}]`, `[{"name":"b","x":1}]`, "added tool:b high\nremoved tool:a normal"},
		{"a text", `[{"name":"a","title":"x"}]`, `[{"name":"a","title":"y"}]`, `changed tool:a high`},
		{"an icon", `[{"name":"a"}]`, `[{"name":"a","icons":[]}]`, `changed tool:a normal`},
		{"spelling", `[{"name":"a","execution":{}}]`, `[{"name":"a","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#"}}]`, `changed tool:a normal`},
		{"spelling only", `[{"name":"a","execution":{},"inputSchema":{}}]`, `[{"name":"a","inputSchema":{"additionalProperties":true,"$schema":"http://json-schema.org/draft-07/schema#"}}]`, `changed tool:a low spelling`},
		{"additionalProperties with an effect", `[{"name":"a","inputSchema":{}}]`, `[{"name":"a","inputSchema":{"additionalProperties":false}}]`, `changed tool:a normal`},
		{"_meta only", `[{"name":"a","_meta":{"v":1}}]`, `[{"name":"a","_meta":{"v":2}}]`, `meta_changed tool:a low meta`},
		{"_meta added", `[{"name":"a"}]`, `[{"name":"a","_meta":{}}]`, `meta_changed tool:a low meta`},
		{"_meta too", `[{"name":"a","_meta":{"v":1}}]`, `[{"name":"a","v":1}]`, `changed tool:a normal meta`},
		{"_meta only, in the order of the listing", `[{"name":"a"},{"name":"b","_meta":{}},{"name":"c"}]`, `[{"name":"a","x":1},{"name":"b"},{"name":"d"}]`, "changed tool:a normal\nmeta_changed tool:b low meta\nadded tool:d high = c\nremoved tool:c normal = d"},
		{"_meta respelled", `[{"name":"a","_meta":{"v":1,"w":2}}]`, `[{"_meta":{"w":2.0,"v":1},"name":"a"}]`, ``},

		{"renamed", `[{"name":"a","title":"x","inputSchema":{"default":{"name":"a"}}}]`, `[{"name":"b","title":"x","inputSchema":{"default":{"name":"a"}}}]`, "added tool:b high = a\nremoved tool:a normal = b"},
		{"renamed and another title", `[{"name":"a","title":"x"}]`, `[{"name":"b","title":"y"}]`, "added tool:b high\nremoved tool:a normal"},
		{"one of two", `[{"name":"a"},{"name":"b"}]`, `[{"name":"c"}]`, "added tool:c high\nremoved tool:a normal\nremoved tool:b normal"},
		{"one to two", `[{"name":"a"}]`, `[{"name":"b"},{"name":"c"}]`, "added tool:b high\nadded tool:c high\nremoved tool:a normal"},
		{"two renamed", `[{"name":"a","v":1},{"name":"b","v":2}]`, `[{"name":"c","v":2},{"name":"d","v":1}]`, "added tool:c high = b\nadded tool:d high = a\nremoved tool:a normal = d\nremoved tool:b normal = c"},
		{"a copy", `[{"name":"a"}]`, `[{"name":"a"},{"name":"b"}]`, "added tool:b high"},
		{"of another kind", `{"prompts":[{"name":"a"}]}`, `{"tools":[{"name":"b"}]}`, "added tool:b high\nremoved prompt:a normal"},
		{"another _meta", `[{"name":"a","_meta":{"v":1}}]`, `[{"name":"b"}]`, "added tool:b high = a\nremoved tool:a normal = b"},
		{"a resource template", `{"resourceTemplates":[{"name":"n","uriTemplate":"a"}]}`, `{"resourceTemplates":[{"name":"n","uriTemplate":"b"}]}`, "added resourceTemplate:b high = a\nremoved resourceTemplate:a normal = b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, new := listing(t, c.old), listing(t, c.new)
			s := pinned(old)
			for from, changes := range map[string][]lock.Change{
				"pins":     s.Diff(new),
				"listings": lock.Diff(old, new),
			} {
				if got := describeMarks(changes); got != c.want {
					t.Errorf("%s:\ngot  %q\nwant %q", from, got, c.want)
				}
			}
		})
	}
}

// Of pins that differ in their variant each may be the one that was renamed,
// and each may have the _meta that is listed.
func TestMarksOfVariants(t *testing.T) {
	s := lock.Server{Name: "acme/weather", Pins: []lock.Pin{
		{Definition: tool(t, `{"name":"a","v":1,"_meta":{"v":1}}`)},
		{Definition: tool(t, `{"name":"a","v":1,"_meta":{"v":2}}`), Variant: "x"},
		{Definition: tool(t, `{"name":"a","v":2}`), Variant: "y"},
	}}
	for text, want := range map[string]string{
		`[{"name":"b","v":1}]`:                      "added tool:b high = a\nremoved tool:a normal = b",
		`[{"name":"b","v":2}]`:                      "added tool:b high = a\nremoved tool:a normal = b",
		`[{"name":"b","v":2},{"name":"c","v":1}]`:   "added tool:b high\nadded tool:c high\nremoved tool:a normal",
		`[{"name":"a","v":1,"_meta":{"v":2}}]`:      ``,
		`[{"name":"a","v":1,"_meta":{"v":3}}]`:      `meta_changed tool:a low meta`,
		`[{"name":"a","v":2,"_meta":{"v":1}}]`:      `meta_changed tool:a low meta`,
		`[{"name":"a","v":3,"_meta":{"v":1}}]`:      `changed tool:a normal`,
		`[{"name":"a","v":3,"_meta":{"v":2}}]`:      `changed tool:a normal meta`,
		`[{"name":"a","v":1e400},{"name":"b"}]`:     `added tool:b high`,
		`[{"name":"a","v":1},{"name":"a","v":1e3}]`: ``,
	} {
		l := listing(t, text)
		if got := describeMarks(s.Diff(l)); got != want {
			t.Errorf("%s:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

func TestVariesInSpelling(t *testing.T) {
	const base = `{"name":"a","execution":{},"inputSchema":{"additionalProperties":false,"items":{"additionalProperties":false},"properties":{"$schema":{}}}}`
	for _, c := range []struct {
		old, new string
		want     bool
	}{
		{``, ``, false},
		{`"execution":{},`, ``, true},
		{`"additionalProperties":false,"items"`, `"items"`, true},
		{`{"additionalProperties":false}`, `{"additionalProperties":{}}`, true},
		{`{"additionalProperties":false}`, `{"additionalProperties":{"type":"string"}}`, false},
		{`"additionalProperties":false,"items"`, `"$schema":"http://json-schema.org/draft-07/schema#","items"`, true},
		{`"additionalProperties":false,"items"`, `"$schema":"https://x.example/","items"`, true},
		{`"execution":{},`, `"annotations":{"readOnlyHint":true},`, true},
		{`"execution":{},`, `"description":"x",`, false},
		{`{"$schema":{}}`, `{"$schema":false}`, false},
		{`{"$schema":{}}`, `{"$schema":{},"additionalProperties":false}`, false},
		{`{"$schema":{}}`, `{"$schema":true}`, true},
		{`"items"`, `"x-a"`, false},
		{`"a"`, `"b"`, false},
	} {
		old, new := tool(t, base), tool(t, strings.Replace(base, c.old, c.new, 1))
		if got := lock.VariesInSpelling(old, new); got != c.want {
			t.Errorf("%s for %s: got %v", c.new, c.old, got)
		}
	}
	if p := must[lock.Definition](t)(lock.ParseDefinition(lock.Prompt, []byte(`{"name":"a","execution":{}}`))); lock.VariesInSpelling(p, tool(t, `{"name":"a"}`)) {
		t.Error("a prompt varies from a tool in spelling")
	}
}

func TestFieldText(t *testing.T) {
	for _, c := range []struct {
		old, new string
		ok       bool
	}{{`"a\nb"`, `"a\n\"c"`, true}, {`"a"`, `1`, false}, {`["a"]`, `"a"`, false}, {`"a"`, `"b"`, true}} {
		f := lock.Compare(tool(t, `{"name":"n","v":`+c.old+`}`), tool(t, `{"name":"n","v":`+c.new+`}`))[0]
		old, new, ok := f.Text()
		if ok != c.ok || ok && fmt.Sprintf("%q %q", old, new) != fmt.Sprintf("%q %q", decoded([]byte(c.old)), decoded([]byte(c.new))) {
			t.Errorf("%s to %s: got %q, %q, %v", c.old, c.new, old, new, ok)
		}
	}
	f := lock.Compare(tool(t, `{"name":"n","v":"x"}`), tool(t, `{"name":"n"}`))[0]
	if old, new, ok := f.Text(); ok || old+new != "" {
		t.Errorf("got %q, %q", old, new)
	}
}

func TestSeverity(t *testing.T) {
	var zero lock.Severity
	if zero != lock.Normal || lock.Low >= lock.Normal || lock.Normal >= lock.High {
		t.Error("severities are not in order")
	}
	for s, want := range map[lock.Severity]string{lock.Low: "low", lock.Normal: "normal", lock.High: "high"} {
		if s.String() != want {
			t.Errorf("got %s, want %s", s, want)
		}
	}
	if s := lock.EffectCode("unheard of").Severity(); s != lock.High {
		t.Errorf("an unknown code is %s", s)
	}
}
