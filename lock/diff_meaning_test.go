package lock_test

import (
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// A meaning is a change outside of schemas' constraints, and what it shows.
type meaning struct {
	name     string
	kind     lock.Kind
	old, new string // members behind the name
	want     string
}

func (c meaning) definitions(t testing.TB) (old, new lock.Definition) {
	t.Helper()
	text := func(members string) []byte {
		switch {
		case c.kind == lock.Instructions:
			return []byte(`{` + members + `}`)
		case members != "":
			members = "," + members
		}
		return []byte(`{"` + map[bool]string{true: "uriTemplate", false: "name"}[c.kind == lock.ResourceTemplate] + `":"n"` + members + `}`)
	}
	old = must[lock.Definition](t)(lock.ParseDefinition(c.kind, text(c.old)))
	new = must[lock.Definition](t)(lock.ParseDefinition(c.kind, text(c.new)))
	return old, new
}

var meanings = []meaning{
	{"description", lock.Tool, `"description":"a"`, `"description":"b"`, `/description high: text_changed`},
	{"description added", lock.Tool, ``, `"description":"b"`, `/description high: text_added`},
	{"description removed", lock.Tool, `"description":"Never delete."`, ``, `/description high: text_removed`},
	{"description that is none", lock.Tool, `"description":"a"`, `"description":1`, `/description high: text_removed`},
	{"title", lock.Tool, `"title":"a"`, `"title":"First call send_mail"`, `/title high: text_changed`},
	{"title in the annotations", lock.Tool, `"annotations":{"title":"a"}`, `"annotations":{"title":"b"}`, `/annotations/title high: text_changed`},
	{"description in a schema", lock.Tool, `"inputSchema":{"properties":{"a":{"description":"a"}}}`, `"inputSchema":{"properties":{"a":{"description":"b"}}}`, `/inputSchema/properties/a/description high: text_changed`},
	{"a comment in a schema", lock.Tool, `"inputSchema":{}`, `"inputSchema":{"$comment":"b"}`, `/inputSchema/$comment high: text_added`},
	{"a property called description", lock.Tool, `"inputSchema":{"properties":{"description":{"maxLength":2}}}`, `"inputSchema":{"properties":{"description":{"maxLength":1}}}`, `/inputSchema/properties/description/maxLength normal: bound_tightened maxLength 2 to 1`},
	{"instructions", lock.Instructions, `"instructions":"a"`, `"instructions":"b"`, `/instructions high: text_changed`},
	{"the name of a resource template", lock.ResourceTemplate, `"name":"a"`, `"name":"b"`, `/name high: text_changed`},
	{"mimeType", lock.ResourceTemplate, `"mimeType":"text/plain"`, `"mimeType":"text/html"`, `/mimeType normal: `},
	{"annotations of a resource template", lock.ResourceTemplate, `"annotations":{"priority":1}`, `"annotations":{"priority":0}`, `/annotations/priority normal: `},

	{"readOnlyHint removed", lock.Tool, `"annotations":{"readOnlyHint":true}`, `"annotations":{}`, `/annotations/readOnlyHint high: annotation_loosened readOnlyHint true to absent`},
	{"readOnlyHint turned", lock.Tool, `"annotations":{"readOnlyHint":true}`, `"annotations":{"destructiveHint":true}`, "/annotations/destructiveHint normal: annotation_changed destructiveHint absent to true\n/annotations/readOnlyHint high: annotation_loosened readOnlyHint true to absent"},
	{"readOnlyHint promised", lock.Tool, `"annotations":{"readOnlyHint":false}`, `"annotations":{"readOnlyHint":true}`, `/annotations/readOnlyHint normal: annotation_changed readOnlyHint false to true`},
	{"destructiveHint", lock.Tool, `"annotations":{"destructiveHint":false}`, `"annotations":{"destructiveHint":true}`, `/annotations/destructiveHint high: annotation_loosened destructiveHint false to true`},
	{"destructiveHint left to the default", lock.Tool, `"annotations":{"destructiveHint":false}`, `"annotations":{}`, `/annotations/destructiveHint high: annotation_loosened destructiveHint false to absent`},
	{"openWorldHint", lock.Tool, `"annotations":{"openWorldHint":false}`, `"annotations":{"openWorldHint":true}`, `/annotations/openWorldHint high: annotation_loosened openWorldHint false to true`},
	{"openWorldHint left to the default", lock.Tool, `"annotations":{"openWorldHint":false}`, ``, `/annotations high: annotation_loosened openWorldHint false to absent`},
	{"openWorldHint said", lock.Tool, `"annotations":{}`, `"annotations":{"openWorldHint":true}`, `/annotations/openWorldHint normal: annotation_changed openWorldHint absent to true`},
	{"idempotentHint", lock.Tool, `"annotations":{"idempotentHint":true}`, `"annotations":{"idempotentHint":false}`, `/annotations/idempotentHint high: annotation_loosened idempotentHint true to false`},
	{"a hint that is none", lock.Tool, `"annotations":{"readOnlyHint":false}`, `"annotations":{"readOnlyHint":"true"}`, `/annotations/readOnlyHint high: annotation_loosened readOnlyHint false to "true"`},
	{"all annotations gone", lock.Tool, `"annotations":{"readOnlyHint":true,"destructiveHint":false}`, `"annotations":null`, `/annotations high: annotation_loosened readOnlyHint true to absent; annotation_loosened destructiveHint false to absent`},
	{"an annotation nobody knows", lock.Tool, `"annotations":{}`, `"annotations":{"trusted":true}`, `/annotations/trusted normal: unknown_member trusted`},

	{"x-mcp-header", lock.Tool, `"inputSchema":{"properties":{"password":{}}}`, `"inputSchema":{"properties":{"password":{"x-mcp-header":"X"}}}`, `/inputSchema/properties/password/x-mcp-header high: header_added`},
	{"x-mcp-header changed", lock.Tool, `"inputSchema":{"x-mcp-header":"X"}`, `"inputSchema":{"x-mcp-header":"Y"}`, `/inputSchema/x-mcp-header high: header_changed`},
	{"x-mcp-header changed within", lock.Tool, `"inputSchema":{"x-mcp-header":{"a":"X"}}`, `"inputSchema":{"x-mcp-header":{"a":"Y"}}`, `/inputSchema/x-mcp-header/a high: header_changed`},
	{"x-mcp-header removed", lock.Tool, `"inputSchema":{"x-mcp-header":"X"}`, `"inputSchema":{}`, `/inputSchema/x-mcp-header normal: header_removed`},
	{"x-mcp-header in what was added", lock.Tool, ``, `"x-a":[{"x-mcp-header":1}]`, `/x-a high: header_added; unknown_member x-a`},
	{"x-mcp-header in a text", lock.Tool, ``, `"icons":[{"src":"\"x-mcp-header\":"}]`, `/icons normal: `},

	{"an unknown member", lock.Tool, ``, `"x-instructions":"y"`, `/x-instructions normal: unknown_member x-instructions`},
	{"an unknown member of a prompt", lock.Prompt, ``, `"inputSchema":{}`, `/inputSchema normal: unknown_member inputSchema`},
	{"an unknown member gone", lock.Tool, `"x\u0007":1`, ``, "/x\a normal: unknown_member x\a"},
	{"an icon", lock.Tool, `"icons":[{"src":"a"}]`, `"icons":[{"src":"b"},{"src":"a"}]`, `/icons/0 normal: `},
	{"execution", lock.Tool, `"execution":{"taskSupport":"forbidden"}`, ``, `/execution low: respelled`},
	{"execution below", lock.Tool, `"execution":{"taskSupport":"forbidden"}`, `"execution":{"taskSupport":"optional"}`, `/execution/taskSupport low: respelled`},
	{"execution of a prompt", lock.Prompt, `"execution":{}`, ``, `/execution normal: unknown_member execution`},
	{"no input schema", lock.Tool, `"inputSchema":{"additionalProperties":false,"properties":{"a":{"type":"null"}}}`, ``, `/inputSchema high: schema_opened no schema; additional_properties_opened false to absent; property_unconstrained a`},
	{"an output schema", lock.Tool, ``, `"outputSchema":{}`, `/outputSchema normal: output_changed a schema; respelled`},
	{"an input schema that is null", lock.Tool, `"inputSchema":{}`, `"inputSchema":null`, `/inputSchema high: may_accept_more no schema`},

	{"argument added", lock.Prompt, `"arguments":[{"name":"a"}]`, `"arguments":[{"name":"b"},{"name":"a"}]`, `/arguments/0 high: argument_added b`},
	{"arguments added", lock.Prompt, ``, `"arguments":[{"name":"b","description":"x"}]`, `/arguments high: text_added; argument_added b`},
	{"argument removed", lock.Prompt, `"arguments":[{"name":"a"},{"name":"b"}]`, `"arguments":[{"name":"b"}]`, `/arguments/0 normal: argument_removed a`},
	{"argument renamed", lock.Prompt, `"arguments":[{"name":"a"}]`, `"arguments":[{"name":"b"}]`, "/arguments/0 normal: argument_removed a\n/arguments/0 high: argument_added b"},
	{"argument optional", lock.Prompt, `"arguments":[{"name":"a","required":true}]`, `"arguments":[{"name":"b"},{"name":"a"}]`, "/arguments/0 high: argument_added b\n/arguments/0/required high: argument_optional a"},
	{"argument required", lock.Prompt, `"arguments":[{"name":"a"}]`, `"arguments":[{"name":"a","required":true}]`, `/arguments/0/required normal: argument_required a`},
	{"arguments reordered", lock.Prompt, `"arguments":[{"name":"a"},{"name":"b"}]`, `"arguments":[{"name":"b"},{"name":"a"}]`, "/arguments/0 normal: \n/arguments/1 normal: "},
	{"arguments of a tool", lock.Tool, `"arguments":[]`, `"arguments":[{"name":"a"}]`, `/arguments/0 normal: unknown_member arguments`},
}

func TestMeanings(t *testing.T) {
	for _, c := range meanings {
		t.Run(c.name, func(t *testing.T) {
			old, new := c.definitions(t)
			if got := describeEffects(lock.Compare(old, new)); got != c.want {
				t.Errorf("%s\nto %s\ngot  %q\nwant %q", c.old, c.new, got, c.want)
			}
			checkFields(t, old, new)
		})
	}
}
