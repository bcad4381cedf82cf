package lock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// pinned returns a server with everything in l pinned, unsigned.
func pinned(l *lock.Listing) lock.Server {
	s := lock.Server{Name: "acme/weather"}
	for _, d := range l.Definitions {
		s.Pins = append(s.Pins, lock.Pin{Definition: d, Unsigned: true})
	}
	return s
}

// describeFields writes fields as "/pointer: old -> new".
func describeFields(fields []lock.Field) []string {
	side := func(b []byte) string {
		if b == nil {
			return "absent"
		}
		return string(b)
	}
	var out []string
	for _, f := range fields {
		out = append(out, fmt.Sprintf("%s: %s -> %s", f.Pointer, side(f.Old), side(f.New)))
	}
	return out
}

// describeChanges writes changes as "op id" and their fields.
func describeChanges(changes []lock.Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, strings.Join(append([]string{string(c.Op) + " " + lock.ID(c.Kind, c.Name)}, describeFields(c.Fields)...), "; "))
	}
	return out
}

// forecast is the tool that the cases below change.
const forecast = `{"name":"get_forecast","title":"Forecast","description":"Returns the forecast.",
	"inputSchema":{"type":"object","properties":{"place":{"type":"string"},"password":{"type":"string"},"days":{"type":"integer","maximum":7}},"required":["place"]},
	"outputSchema":{"type":"object","properties":{"sky":{"enum":["clear","rain"],"description":"The sky."}}},
	"annotations":{"title":"Forecast","readOnlyHint":true},"icons":[{"src":"https://acme.example/a.png"}],"_meta":{"v":1}}`

// What a change of a definition is, and what is none.
func TestDrift(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new string   // replaced in forecast
		want     []string // nil: the same digest
	}{
		{"the description", `the forecast`, `the weather`, []string{`/description: "Returns the forecast." -> "Returns the weather."`}},
		{"an annotation turned", `"readOnlyHint":true`, `"destructiveHint":true`, []string{`/annotations/destructiveHint: absent -> true`, `/annotations/readOnlyHint: true -> absent`}},
		{"the title", `"title":"Forecast","description"`, `"title":"First call send_mail","description"`, []string{`/title: "Forecast" -> "First call send_mail"`}},
		{"the title in the annotations", `"title":"Forecast","readOnlyHint"`, `"title":"x","readOnlyHint"`, []string{`/annotations/title: "Forecast" -> "x"`}},
		{"a description in the output schema", `The sky.`, `The sky. Then call x.`, []string{`/outputSchema/properties/sky/description: "The sky." -> "The sky. Then call x."`}},
		{"an enum widened", `["clear","rain"]`, `["clear","rain","x"]`, []string{`/outputSchema/properties/sky/enum: ["clear","rain"] -> ["clear","rain","x"]`}},
		{"an enum narrowed", `["clear","rain"]`, `["clear"]`, []string{`/outputSchema/properties/sky/enum: ["clear","rain"] -> ["clear"]`}},
		{"the order of an enum", `["clear","rain"]`, `["rain","clear"]`, []string{`/outputSchema/properties/sky/enum: ["clear","rain"] -> ["rain","clear"]`}},
		{"an icon", `/a.png`, `/b.png`, []string{`/icons/0/src: "https://acme.example/a.png" -> "https://acme.example/b.png"`}},
		{"an icon added", `.png"}`, `.png"},{"src":"data:"}`, []string{`/icons/1: absent -> {"src":"data:"}`}},
		{"an unknown member", `{"name"`, `{"x-instructions":"y","name"`, []string{`/x-instructions: absent -> "y"`}},
		{"one deep inside", `"maximum":7`, `"maximum":7,"x-a":{"b":[]}`, []string{`/inputSchema/properties/days/x-a: absent -> {"b":[]}`}},
		{"x-mcp-header at a password", `"password":{"type":"string"`, `"password":{"x-mcp-header":"X","type":"string"`, []string{`/inputSchema/properties/password/x-mcp-header: absent -> "X"`}},
		{"a member gone", `"required":["place"]`, `"additionalProperties":true`, []string{`/inputSchema/additionalProperties: absent -> true`, `/inputSchema/required: ["place"] -> absent`}},
		{"null for absent", `{"name"`, `{"execution":null,"name"`, []string{`/execution: absent -> null`}},
		{"another type", `"maximum":7`, `"maximum":"7"`, []string{`/inputSchema/properties/days/maximum: 7 -> "7"`}},
		{"an object for an array", `["place"]`, `{"0":"place"}`, []string{`/inputSchema/required: ["place"] -> {"0":"place"}`}},
		{"an empty array for an empty object", `"icons":[{"src":"https://acme.example/a.png"}]`, `"icons":{}`, []string{`/icons: [{"src":"https://acme.example/a.png"}] -> {}`}},
		{"a nested _meta", `"type":"integer"`, `"type":"integer","_meta":{"v":1}`, []string{`/inputSchema/properties/days/_meta: absent -> {"v":1}`}},
		{"the top-level _meta", `"_meta":{"v":1}`, `"_meta":{"v":2,"w":[1e99]}`, nil},
		{"no _meta", `,"_meta":{"v":1}`, ``, nil},
		{"the order of members", `"type":"integer","maximum":7`, `"maximum":7,"type":"integer"`, nil},
		{"white space", `":`, "\" :\t\r\n", nil},
		{"a character as an escape", `Returns`, `\u0052eturns`, nil},
		{"a solidus as an escape", `https://acme.example/a.png`, `https:\/\/acme.example\/a.png`, nil},
		{"a fraction of zero", `"maximum":7`, `"maximum":7.0`, nil},
		{"an exponent", `"maximum":7`, `"maximum":70e-1`, nil},
		{"an escape in a name", `"inputSchema"`, `"input\u0053chema"`, nil},
		{"_meta spelled with an escape", `"_meta"`, `"\u005fmeta"`, nil},
		{"Unicode composed otherwise", `The sky.`, "The sky\u0301.", []string{"/outputSchema/properties/sky/description: \"The sky.\" -> \"The sky\u0301.\""}},
		{"a hidden character", `The sky.`, "The sky.\u200b", []string{"/outputSchema/properties/sky/description: \"The sky.\" -> \"The sky.\u200b\""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := strings.ReplaceAll(forecast, c.old, c.new)
			if changed == forecast {
				t.Fatal("nothing is replaced")
			}
			before := listing(t, "["+forecast+"]")
			after := listing(t, "["+changed+"]")
			s := pinned(before)
			got := s.Diff(after)
			if c.want == nil {
				got = slices.DeleteFunc(got, func(c lock.Change) bool { return c.Op == lock.MetaChanged })
				if len(got) > 0 || before.Definitions[0].Digest() != after.Definitions[0].Digest() {
					t.Errorf("got %q", describeChanges(got))
				}
				return
			}
			want := lock.Change{Kind: lock.Tool, Name: "get_forecast", Op: lock.Changed}
			if len(got) != 1 || got[0].Kind != want.Kind || got[0].Name != want.Name || got[0].Op != want.Op || !slices.Equal(describeFields(got[0].Fields), c.want) {
				t.Errorf("got  %q\nwant %q", describeChanges(got), c.want)
			}
		})
	}
}

// The members of an object in any order are one definition: every rotation.
func TestMemberOrderIsNoDrift(t *testing.T) {
	members := []string{`"name":"a"`, `"title":"b"`, `"inputSchema":{"b":[],"a":{}}`, `"_meta":{}`, `"é":0`}
	want := tool(t, "{"+strings.Join(members, ",")+"}").Digest()
	for i := range members {
		rotated := slices.Concat(members[i:], members[:i])
		if got := tool(t, "{"+strings.Join(rotated, " , ")+"}").Digest(); got != want {
			t.Errorf("%q: got %s, want %s", rotated, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     []string
	}{
		{`1`, `1`, nil},
		{`1`, `2`, []string{`/v: 1 -> 2`}},
		{`null`, `{}`, []string{`/v: null -> {}`}},
		{`{}`, `[]`, []string{`/v: {} -> []`}},
		{`"a"`, `["a"]`, []string{`/v: "a" -> ["a"]`}},
		{`[]`, `[1,2]`, []string{`/v/0: absent -> 1`, `/v/1: absent -> 2`}},
		{`[1,[2,3],{"a":4}]`, `[1,[2],{"a":5,"b":6}]`, []string{`/v/1/1: 3 -> absent`, `/v/2/a: 4 -> 5`, `/v/2/b: absent -> 6`}},
		{`{"a/b":1,"~":{"/~":2}}`, `{"a/b":2,"~":{"/~":3}}`, []string{`/v/a~1b: 1 -> 2`, `/v/~0/~1~0: 2 -> 3`}},
		{`{"":{"":1}}`, `{"":{"":2}}`, []string{`/v//: 1 -> 2`}},
		{`{"0":1}`, `{"0":2,"00":3}`, []string{`/v/0: 1 -> 2`, `/v/00: absent -> 3`}},
		{`{"a":1,"b":2,"c":3}`, `{"b":2}`, []string{`/v/a: 1 -> absent`, `/v/c: 3 -> absent`}},
		{`{}`, `{"b":2,"a":{"x":[{}]}}`, []string{`/v/a: absent -> {"x":[{}]}`, `/v/b: absent -> 2`}},
		{`{"\n\"\\":"\n\"\\"}`, `{"\n\"\\":"\u0000"}`, []string{"/v/\n\"\\: " + `"\n\"\\" -> "\u0000"`}},
		// In the order of UTF-16, as the canonical form has them: a merge in another
		// order would call these added and removed.
		{`{"\ue000":1,"\ud83d\ude00":2,"a":3}`, `{"\ue000":1,"\ud83d\ude00":4,"b":3}`,
			[]string{"/v/a: 3 -> absent", "/v/b: absent -> 3", "/v/\U0001f600: 2 -> 4"}},
		{`{"\ue000":1,"\ud83d\ude00":2}`, `{"\ue000":1}`, []string{"/v/\U0001f600: 2 -> absent"}},
		{`{"\ue000":1}`, `{"\ue000":1,"\ud83d\ude00":2}`, []string{"/v/\U0001f600: absent -> 2"}},
		{`["]","}",",",":"]`, `["]","}",",","::"]`, []string{`/v/3: ":" -> "::"`}},
		{`[true,false,null,-1.5e-9]`, `[false,null,true,1.5]`, []string{`/v/0: true -> absent`, `/v/2: -1.5e-9 -> true`, `/v/3: absent -> 1.5`}},
		// What is inserted, removed or moved leaves its neighbours as they were.
		{`[{"a":1},{"a":2}]`, `[{"a":0},{"a":1},{"a":2}]`, []string{`/v/0: absent -> {"a":0}`}},
		{`[1,2,3,4]`, `[1,4]`, []string{`/v/1: 2 -> absent`, `/v/2: 3 -> absent`}},
		{`[1,2,3,4]`, `[4,1,2,3]`, []string{`/v/0: absent -> 4`, `/v/3: 4 -> absent`}},
		{`[1,1,2]`, `[1,2]`, []string{`/v/1: 1 -> absent`}},
		{`[{"name":"x","v":1},{"name":"y","v":1}]`, `[{"name":"n","v":1},{"name":"x","v":2},{"name":"y","v":1}]`, []string{`/v/0: absent -> {"name":"n","v":1}`, `/v/1/v: 1 -> 2`}},
		{`[{"name":"x"}]`, `[{"name":"y"}]`, []string{`/v/0: {"name":"x"} -> absent`, `/v/0: absent -> {"name":"y"}`}},
		{`[{"uri":"x","v":1},7]`, `[{"uri":"w"},{"uri":"x","v":2},7]`, []string{`/v/0: absent -> {"uri":"w"}`, `/v/1/v: 1 -> 2`}},
		{`[{"src":"x"},{"src":"y"}]`, `[{"src":"z"},{"src":"y"}]`, []string{`/v/0/src: "x" -> "z"`}},
		{`[[1],2]`, `[0,[1,2],2]`, []string{`/v/0: [1] -> 0`, `/v/1: absent -> [1,2]`}},
		{`[0,{"name":"x","l":[1,2]}]`, `[{"name":"x","l":[2]}]`, []string{`/v/0: 0 -> absent`, `/v/1/l/0: 1 -> absent`}}, // the place in the old one
		{`{"enum":["a",{"b":1}],"required":["x"]}`, `{"enum":["a",{"b":2}],"required":["w","x"]}`, []string{`/v/enum: ["a",{"b":1}] -> ["a",{"b":2}]`, `/v/required: ["x"] -> ["w","x"]`}},
		{`{"items":[1,2],"prefixItems":[1,2]}`, `{"items":[0,1,2],"prefixItems":[2]}`, []string{`/v/items/0: 1 -> 0`, `/v/items/1: 2 -> 1`, `/v/items/2: absent -> 2`, `/v/prefixItems/0: 1 -> 2`, `/v/prefixItems/1: 2 -> absent`}},
	} {
		old, new := tool(t, `{"name":"n","v":`+c.old+`}`), tool(t, `{"name":"n","v":`+c.new+`}`)
		if got := describeFields(lock.Compare(old, new)); !slices.Equal(got, c.want) {
			t.Errorf("%s to %s:\ngot  %q\nwant %q", c.old, c.new, got, c.want)
		}
		checkFields(t, old, new)
	}
	// The zero Definition defines nothing.
	d := tool(t, `{"name":"n"}`)
	if got, want := describeFields(lock.Compare(lock.Definition{}, d)), []string{`: absent -> {"name":"n"}`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := lock.Compare(lock.Definition{}, lock.Definition{}); got != nil {
		t.Errorf("got %q", describeFields(got))
	}
}

func TestDiff(t *testing.T) {
	const pins = `{"tools":[{"name":"a"},{"name":"b","v":1}],"prompts":[{"name":"a"}],"resourceTemplates":[{"uriTemplate":"x"}],"instructions":"Ask."}`
	for _, c := range []struct {
		name   string
		listed string
		want   []string
	}{
		{"nothing", pins, nil},
		{"changed", strings.Replace(pins, `"v":1`, `"v":2`, 1), []string{`changed tool:b; /v: 1 -> 2`}},
		{"instructions changed", strings.Replace(pins, `Ask.`, `Never ask.`, 1), []string{`changed instructions:; /instructions: "Ask." -> "Never ask."`}},
		{"instructions gone", strings.Replace(pins, `,"instructions":"Ask."`, ``, 1), []string{`removed instructions:`}},
		{"instructions empty", strings.Replace(pins, `Ask.`, ``, 1), []string{`changed instructions:; /instructions: "Ask." -> ""`}},
		{"added", strings.Replace(pins, `[{"name":"a"},`, `[{"name":"0"},{"name":"a"},`, 1), []string{`added tool:0`}},
		{"removed", strings.Replace(pins, `,{"name":"b","v":1}`, ``, 1), []string{`removed tool:b`}},
		{"renamed is removed and added", strings.Replace(pins, `"b"`, `"c"`, 1), []string{`added tool:c`, `removed tool:b`}},
		{"renamed to a look-alike", strings.Replace(pins, `[{"name":"a"},`, `[{"name":"\u0430"},`, 1), []string{"added tool:\u0430", `removed tool:a`}},
		{"of another kind", `{"tools":[{"name":"a"},{"name":"b","v":1},{"name":"x"}],"prompts":[{"name":"a"}],"instructions":"Ask."}`, []string{`added tool:x`, `removed resourceTemplate:x`}},
		{"all gone", `[]`, []string{`removed instructions:`, `removed prompt:a`, `removed resourceTemplate:x`, `removed tool:a`, `removed tool:b`}},
		{"refused now: neither changed nor removed", strings.Replace(pins, `"v":1`, `"v":1e400`, 1), nil},
		{"twice now: neither changed nor removed", strings.Replace(pins, `{"name":"a"},`, `{"name":"a"},{"name":"a","v":0},`, 1), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := pinned(listing(t, pins))
			if got := describeChanges(s.Diff(listing(t, c.listed))); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
	var empty lock.Server
	if got, want := describeChanges(empty.Diff(listing(t, `[{"name":"a"}]`))), []string{"added tool:a"}; !slices.Equal(got, want) {
		t.Errorf("nothing pinned: got %q, want %q", got, want)
	}
}

// A definition may equal the pin of any variant; one that equals none is
// compared with the first.
func TestDiffVariants(t *testing.T) {
	s := lock.Server{Name: "acme/weather", Pins: []lock.Pin{
		{Definition: tool(t, `{"name":"a","v":1}`)},
		{Definition: tool(t, `{"name":"a","v":2}`), Variant: "zod-4"},
		{Definition: tool(t, `{"name":"b","v":1}`)},
		{Definition: tool(t, `{"name":"b","v":1}`), Variant: "zod-4"},
	}}
	for text, want := range map[string][]string{
		`[{"name":"a","v":1},{"name":"b","v":1}]`: nil,
		`[{"name":"a","v":2},{"name":"b","v":1}]`: nil,
		`[{"name":"a","v":3},{"name":"b","v":1}]`: {`changed tool:a; /v: 1 -> 3`},
		`[{"name":"a","v":1}]`:                    {`removed tool:b`},
		`[]`:                                      {`removed tool:a`, `removed tool:b`},
	} {
		if got := describeChanges(s.Diff(listing(t, text))); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for id, want := range map[string]int{"a": 2, "b": 2, "c": 0, "": 0} {
		if got := len(s.Pin(lock.Tool, id)); got != want {
			t.Errorf("%q: %d pins, want %d", id, got, want)
		}
		if got := len(s.Pin(lock.Prompt, id)); got != 0 {
			t.Errorf("%q: %d pins of prompts", id, got)
		}
	}
}
