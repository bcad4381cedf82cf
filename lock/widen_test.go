package lock_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// schemaTool is a tool with an input schema.
func schemaTool(schema string) []byte {
	return []byte(`{"name":"n","inputSchema":` + schema + `}`)
}

// widenings are changes of an input schema, and what they are to show: lines
// as describeEffects writes them, pointers from the schema.
var widenings = []struct {
	name     string
	old, new string
	want     string
}{
	{"property added", `{"properties":{"a":{}},"additionalProperties":false}`, `{"properties":{"a":{},"b":{}},"additionalProperties":false}`, `/properties/b high: property_added b`},
	{"property added to an open schema", `{"properties":{"a":{}}}`, `{"properties":{"a":{},"b":{}}}`, `/properties/b high: property_added b`},
	{"properties added", `{}`, `{"properties":{"a":{},"b":{}}}`, `/properties high: property_added a; property_added b`},
	{"no properties added", `{}`, `{"properties":{}}`, `/properties low: respelled`},
	{"property added that refuses all", `{}`, `{"properties":{"a":false}}`, `/properties normal: narrowed a`},
	{"property removed from a closed schema", `{"properties":{"a":{"type":"string"}},"additionalProperties":false}`, `{"properties":{},"additionalProperties":false}`, `/properties/a normal: property_removed a`},
	{"property removed from an open schema", `{"properties":{"a":{"pattern":"^/safe/"}}}`, `{"properties":{}}`, `/properties/a high: property_unconstrained a`},
	{"property removed that was free", `{"properties":{"a":{"description":"x"}}}`, `{"properties":{}}`, `/properties/a normal: property_removed a`},
	{"properties removed", `{"properties":{"a":{"type":"string"}}}`, `{}`, `/properties high: property_unconstrained a`},
	{"property opened", `{"properties":{"a":false}}`, `{"properties":{"a":true}}`, `/properties/a high: schema_opened`},
	{"property closed", `{"properties":{"a":{}}}`, `{"properties":{"a":false}}`, `/properties/a normal: narrowed`},
	{"{} for true", `{"properties":{"a":true}}`, `{"properties":{"a":{}}}`, `/properties/a low: respelled`},
	{"pattern property added", `{"additionalProperties":false}`, `{"patternProperties":{"^x":{}},"additionalProperties":false}`, `/patternProperties high: pattern_property_added ^x`},
	{"pattern property removed", `{"patternProperties":{"^x":{"type":"null"},"^y":{}}}`, `{"patternProperties":{"^y":{}}}`, `/patternProperties/^x high: property_unconstrained ^x`},
	{"pattern property changed", `{"patternProperties":{"^x":{"type":"null"}}}`, `{"patternProperties":{"^x":{}}}`, `/patternProperties/^x/type high: type_widened "null" to absent`},

	{"additionalProperties false removed", `{"additionalProperties":false}`, `{}`, `/additionalProperties high: additional_properties_opened false to absent`},
	{"additionalProperties opened", `{"additionalProperties":false}`, `{"additionalProperties":{}}`, `/additionalProperties high: additional_properties_opened false to {}`},
	{"additionalProperties opened by a schema", `{"additionalProperties":false}`, `{"additionalProperties":{"type":"string"}}`, `/additionalProperties high: additional_properties_opened false to {"type":"string"}`},
	{"additionalProperties without its schema", `{"additionalProperties":{"type":"string"}}`, `{"additionalProperties":true}`, `/additionalProperties high: additional_properties_opened {"type":"string"} to true`},
	{"additionalProperties with another schema", `{"additionalProperties":{"type":"string"}}`, `{"additionalProperties":{"type":["string","null"]}}`, `/additionalProperties/type high: type_widened "string" to ["string","null"]`},
	{"additionalProperties closed", `{}`, `{"additionalProperties":false}`, `/additionalProperties normal: narrowed`},
	{"additionalProperties true added", `{}`, `{"additionalProperties":true}`, `/additionalProperties low: respelled`},
	{"additionalProperties {} for true", `{"additionalProperties":true}`, `{"additionalProperties":{}}`, `/additionalProperties low: respelled`},
	{"additionalProperties true added where what is evaluated counts", `{"unevaluatedProperties":false}`, `{"unevaluatedProperties":false,"additionalProperties":true}`, `/additionalProperties high: may_accept_more what is evaluated`},
	{"unevaluatedProperties", `{"unevaluatedProperties":false}`, `{}`, `/unevaluatedProperties high: unevaluated_opened false to absent`},
	{"unevaluatedItems", `{"unevaluatedItems":false}`, `{"unevaluatedItems":{"type":"null"}}`, `/unevaluatedItems high: unevaluated_opened false to {"type":"null"}`},
	{"propertyNames", `{"propertyNames":{"maxLength":3}}`, `{"propertyNames":{}}`, `/propertyNames/maxLength high: property_names_opened {"maxLength":3} to {}`},
	{"propertyNames removed", `{"propertyNames":{"maxLength":3}}`, `{}`, `/propertyNames high: property_names_opened {"maxLength":3} to absent`},

	{"required removed", `{"required":["a","b","c"]}`, `{"required":["a","c"]}`, `/required high: required_removed b`},
	{"required gone", `{"required":["a"]}`, `{}`, `/required high: required_removed a`},
	{"required added", `{"required":["a"]}`, `{"required":["b","a"]}`, `/required normal: required_added b`},
	{"required exchanged", `{"required":["a"]}`, `{"required":["b"]}`, `/required high: required_removed a; required_added b`},
	{"required reordered", `{"required":["a","b"]}`, `{"required":["b","a"]}`, `/required low: respelled`},
	{"required that is none", `{"required":["a"]}`, `{"required":true}`, `/required high: may_accept_more required`},
	{"dependentRequired", `{"dependentRequired":{"a":["b","c"]}}`, `{"dependentRequired":{"a":["c"]}}`, `/dependentRequired/a/0 high: dependent_removed a: b`},
	{"dependentRequired added", `{"dependentRequired":{"a":["b"]}}`, `{"dependentRequired":{"a":["b"],"b":["c"]}}`, `/dependentRequired/b normal: narrowed b`},
	{"dependentSchemas", `{"dependentSchemas":{"a":{"type":"object"}}}`, `{"dependentSchemas":{}}`, `/dependentSchemas/a high: dependent_removed a`},
	{"dependencies", `{"dependencies":{"a":["b"]}}`, `{"dependencies":{"a":{}}}`, `/dependencies/a high: may_accept_more a`},

	{"type widened", `{"type":"integer"}`, `{"type":"number"}`, `/type high: type_widened "integer" to "number"`},
	{"type narrowed", `{"type":"number"}`, `{"type":"integer"}`, `/type normal: type_narrowed "number" to "integer"`},
	{"type nullable", `{"type":"string"}`, `{"type":["string","null"]}`, `/type high: type_widened "string" to ["string","null"]`},
	{"type removed", `{"type":"string"}`, `{}`, `/type high: type_widened "string" to absent`},
	{"type exchanged", `{"type":"string"}`, `{"type":"null"}`, `/type high: type_widened "string" to "null"; type_narrowed "string" to "null"`},
	{"type respelled", `{"type":["integer","number"]}`, `{"type":"number"}`, `/type low: respelled`},
	{"type that is none", `{"type":"string"}`, `{"type":"any"}`, `/type high: may_accept_more type "string" to "any"`},

	{"enum extended", `{"enum":["a","b"]}`, `{"enum":["x","a","b"]}`, `/enum high: enum_extended "x"`},
	{"enum with null", `{"enum":["a"]}`, `{"enum":["a",null]}`, `/enum high: enum_extended null`},
	{"enum reduced", `{"enum":["a","b"]}`, `{"enum":["b"]}`, `/enum normal: enum_reduced "a"`},
	{"enum removed", `{"enum":["a"]}`, `{}`, `/enum high: enum_removed`},
	{"enum added", `{}`, `{"enum":[1,2,3,4,5,6,7]}`, `/enum normal: narrowed one of 1, 2, 3, 4, 5 and 2 more`},
	{"enum reordered", `{"enum":["a","b"]}`, `{"enum":["b","a"]}`, `/enum low: respelled`},
	{"enum for const", `{"const":"a"}`, `{"enum":["a","b"]}`, "/const normal: \n/enum high: enum_extended \"b\""},
	{"const changed", `{"const":"a"}`, `{"const":"b"}`, `/const high: enum_extended "b"; enum_reduced "a"`},
	{"const removed", `{"const":{"k":1}}`, `{}`, `/const high: enum_removed`},
	{"enum that is none", `{"enum":["a"]}`, `{"enum":"a"}`, `/enum high: may_accept_more enum`},

	{"minimum", `{"minimum":1}`, `{"minimum":0}`, `/minimum high: bound_relaxed minimum 1 to minimum 0`},
	{"minimum raised", `{"minimum":1}`, `{"minimum":2}`, `/minimum normal: bound_tightened minimum 1 to minimum 2`},
	{"minimum gone", `{"minimum":1}`, `{}`, `/minimum high: bound_relaxed minimum 1 to no minimum`},
	{"maximum", `{"maximum":7}`, `{"maximum":1e3}`, `/maximum high: bound_relaxed maximum 7 to maximum 1000`},
	{"maximum lowered", `{"maximum":7}`, `{"maximum":-7}`, `/maximum normal: bound_tightened maximum 7 to maximum -7`},
	{"exclusiveMaximum for maximum", `{"maximum":7}`, `{"exclusiveMaximum":7}`, "/exclusiveMaximum normal: bound_tightened maximum 7 to exclusiveMaximum 7\n/maximum normal: "},
	{"maximum for exclusiveMaximum", `{"exclusiveMaximum":7}`, `{"maximum":7}`, "/exclusiveMaximum normal: \n/maximum high: bound_relaxed exclusiveMaximum 7 to maximum 7"},
	{"exclusiveMinimum", `{"exclusiveMinimum":-1.5}`, `{"exclusiveMinimum":-2}`, `/exclusiveMinimum high: bound_relaxed exclusiveMinimum -1.5 to exclusiveMinimum -2`},
	{"a limit that another one hides", `{"minimum":1,"exclusiveMinimum":5}`, `{"exclusiveMinimum":5}`, `/minimum low: respelled`},
	{"a limit of draft-04", `{"maximum":7}`, `{"maximum":7,"exclusiveMaximum":true}`, `/exclusiveMaximum high: may_accept_more maximum 7 to maximum 7, exclusiveMaximum true`},
	{"multipleOf", `{"multipleOf":4}`, `{"multipleOf":2}`, `/multipleOf high: bound_relaxed multipleOf 4 to 2`},
	{"multipleOf more", `{"multipleOf":2}`, `{"multipleOf":4}`, `/multipleOf normal: bound_tightened multipleOf 2 to 4`},
	{"multipleOf another", `{"multipleOf":2}`, `{"multipleOf":3}`, `/multipleOf high: bound_relaxed multipleOf 2 to 3`},
	{"minLength", `{"minLength":1}`, `{}`, `/minLength high: bound_relaxed minLength 1 to absent`},
	{"minLength 0", `{}`, `{"minLength":0}`, `/minLength low: respelled`},
	{"maxLength", `{"maxLength":10}`, `{"maxLength":11}`, `/maxLength high: bound_relaxed maxLength 10 to 11`},
	{"maxLength added", `{}`, `{"maxLength":11}`, `/maxLength normal: bound_tightened maxLength absent to 11`},
	{"maxLength that is none", `{"maxLength":10}`, `{"maxLength":"10"}`, `/maxLength high: bound_relaxed maxLength 10 to "10"`},
	{"minItems", `{"minItems":2}`, `{"minItems":1}`, `/minItems high: bound_relaxed minItems 2 to 1`},
	{"maxItems", `{"maxItems":2}`, `{"maxItems":1}`, `/maxItems normal: bound_tightened maxItems 2 to 1`},
	{"minProperties", `{"minProperties":2}`, `{"minProperties":1}`, `/minProperties high: bound_relaxed minProperties 2 to 1`},
	{"maxProperties", `{"maxProperties":2}`, `{}`, `/maxProperties high: bound_relaxed maxProperties 2 to absent`},
	{"uniqueItems", `{"uniqueItems":true}`, `{"uniqueItems":false}`, `/uniqueItems high: bound_relaxed uniqueItems true to false`},
	{"uniqueItems added", `{}`, `{"uniqueItems":true}`, `/uniqueItems normal: bound_tightened uniqueItems absent to true`},
	{"minContains", `{"contains":{"const":1},"minContains":2}`, `{"contains":{"const":1}}`, `/minContains high: bound_relaxed minContains 2 to absent`},
	{"maxContains", `{"contains":{"const":1},"maxContains":2}`, `{"contains":{"const":1},"maxContains":3}`, `/maxContains high: bound_relaxed maxContains 2 to 3`},

	{"pattern removed", `{"pattern":"^a$"}`, `{}`, `/pattern high: pattern_removed "^a$"`},
	{"pattern changed", `{"pattern":"^a$"}`, `{"pattern":"a"}`, `/pattern high: pattern_changed "^a$" to "a"`},
	{"pattern added", `{}`, `{"pattern":"a"}`, `/pattern normal: narrowed "a"`},
	{"format removed", `{"format":"uri"}`, `{}`, `/format high: format_removed "uri"`},
	{"format changed", `{"format":"uri"}`, `{"format":"iri"}`, `/format high: format_changed "uri" to "iri"`},

	{"items widened", `{"items":{"type":"string"}}`, `{"items":{}}`, `/items/type high: items_opened {"type":"string"} to {}`},
	{"items removed", `{"items":{"type":"string"}}`, `{}`, `/items high: items_opened {"type":"string"} to absent`},
	{"items narrowed", `{}`, `{"items":false}`, `/items normal: narrowed`},
	{"prefixItems added to a closed array", `{"prefixItems":[{}],"items":false}`, `{"prefixItems":[{},{}],"items":false}`, `/prefixItems/1 high: item_added {}`},
	{"prefixItems added to an open array", `{"prefixItems":[{}]}`, `{"prefixItems":[{},{"type":"null"}]}`, `/prefixItems/1 normal: narrowed`},
	{"prefixItems inserted", `{"prefixItems":[{"type":"null"}]}`, `{"prefixItems":[{},{"type":"null"}]}`, "/prefixItems/0/type high: type_widened \"null\" to absent\n/prefixItems/1 normal: narrowed"},
	{"prefixItems removed", `{"prefixItems":[{"type":"null"}]}`, `{}`, `/prefixItems high: items_opened {"type":"null"}`},
	{"items of draft-07", `{"items":[{"type":"null"}],"additionalItems":false}`, `{"items":[{"type":"null"}]}`, `/additionalItems high: items_opened false to absent`},
	{"contains removed", `{"contains":{"const":1}}`, `{}`, `/contains high: contains_removed`},
	{"contains added", `{}`, `{"contains":{"const":1}}`, `/contains normal: narrowed`},
	{"contains widened", `{"contains":{"enum":[1]}}`, `{"contains":{"enum":[1,2]}}`, `/contains/enum high: enum_extended 2`},
	{"contains narrowed under a maximum", `{"contains":{"enum":[1,2]},"maxContains":1}`, `{"contains":{"enum":[1]},"maxContains":1}`, `/contains/enum high: may_accept_more enum_reduced 2`},

	{"anyOf branch added", `{"anyOf":[{"type":"string"}]}`, `{"anyOf":[{"type":"null"},{"type":"string"}]}`, `/anyOf/0 high: any_of_extended {"type":"null"}`},
	{"anyOf branch removed", `{"anyOf":[{"type":"null"},{"type":"string"}]}`, `{"anyOf":[{"type":"string"}]}`, `/anyOf/0 normal: narrowed {"type":"null"}`},
	{"anyOf branch widened", `{"anyOf":[{"type":"null"},{"maxLength":1}]}`, `{"anyOf":[{"type":"null"},{"maxLength":2}]}`, `/anyOf/1/maxLength high: bound_relaxed maxLength 1 to 2`},
	{"anyOf removed", `{"anyOf":[{"type":"null"}]}`, `{}`, `/anyOf high: any_of_removed`},
	{"anyOf added", `{}`, `{"anyOf":[{"type":"null"}]}`, `/anyOf normal: narrowed`},
	{"anyOf that is none", `{"anyOf":[{"type":"null"}]}`, `{"anyOf":{}}`, `/anyOf high: may_accept_more no array`},
	{"oneOf branch added", `{"oneOf":[{"type":"string"}]}`, `{"oneOf":[{"type":"string"},{"type":"null"}]}`, `/oneOf/1 high: one_of_extended {"type":"null"}`},
	{"oneOf branch removed, each its own type", `{"oneOf":[{"type":"string"},{"type":"null"}]}`, `{"oneOf":[{"type":"string"}]}`, `/oneOf/1 normal: narrowed {"type":"null"}`},
	{"oneOf branch removed, each its own constant", `{"oneOf":[{"const":1},{"const":2}]}`, `{"oneOf":[{"const":1}]}`, `/oneOf/1 normal: narrowed {"const":2}`},
	{"oneOf branch removed that others overlap", `{"oneOf":[{"minimum":1},{"maximum":5}]}`, `{"oneOf":[{"minimum":1}]}`, `/oneOf/1 high: may_accept_more {"maximum":5}`},
	{"oneOf branch narrowed that others overlap", `{"oneOf":[{"minimum":1},{"maximum":5}]}`, `{"oneOf":[{"minimum":1},{"maximum":4}]}`, `/oneOf/1/maximum high: may_accept_more bound_tightened maximum 5 to maximum 4`},
	{"oneOf branch narrowed, each its own type", `{"oneOf":[{"type":"null"},{"type":"integer"}]}`, `{"oneOf":[{"type":"null"},{"type":"integer","maximum":4}]}`, `/oneOf/1/maximum normal: bound_tightened no maximum to maximum 4`},
	{"oneOf removed", `{"oneOf":[{"type":"null"}]}`, `{}`, `/oneOf high: one_of_removed`},
	{"allOf branch removed", `{"allOf":[{"type":"null"},{"minimum":1}]}`, `{"allOf":[{"minimum":1}]}`, `/allOf/0 high: all_of_reduced {"type":"null"}`},
	{"allOf branch removed that accepts everything", `{"allOf":[true,{"minimum":1}]}`, `{"allOf":[{"minimum":1}]}`, `/allOf/0 normal: narrowed true`},
	{"allOf branch added", `{"allOf":[{"minimum":1}]}`, `{"allOf":[{"type":"null"},{"minimum":1}]}`, `/allOf/0 normal: narrowed {"type":"null"}`},
	{"allOf removed", `{"allOf":[{"minimum":1}]}`, `{}`, `/allOf high: all_of_reduced`},

	{"not removed", `{"not":{"const":"rm"}}`, `{}`, `/not high: not_removed {"const":"rm"}`},
	{"not added", `{}`, `{"not":{"const":"rm"}}`, `/not normal: narrowed`},
	{"enum reduced under not", `{"not":{"enum":["rm","dd"]}}`, `{"not":{"enum":["rm"]}}`, `/not/enum high: may_accept_more enum_reduced "dd"`},
	{"enum extended under not", `{"not":{"enum":["rm"]}}`, `{"not":{"enum":["rm","dd"]}}`, `/not/enum normal: enum_reduced "dd"`},
	{"type removed under not", `{"not":{"type":"null"}}`, `{"not":{}}`, `/not/type normal: type_narrowed "null" to absent`},
	{"enum reduced under not under not", `{"not":{"not":{"enum":["rm","dd"]}}}`, `{"not":{"not":{"enum":["rm"]}}}`, `/not/not/enum normal: enum_reduced "dd"`},
	{"property added under not", `{"not":{"properties":{"a":{"type":"null"}}}}`, `{"not":{"properties":{"a":{"type":"null"},"b":{"type":"null"}}}}`, `/not/properties/b high: may_accept_more property_removed b`},
	{"if", `{"if":{"minimum":1},"then":{"maximum":5}}`, `{"if":{"minimum":2},"then":{"maximum":5}}`, `/if/minimum high: may_accept_more bound_tightened minimum 1 to minimum 2`},
	{"if removed", `{"if":{"minimum":1},"then":{"maximum":5}}`, `{"then":{"maximum":5}}`, `/if high: may_accept_more if`},
	{"then", `{"if":{"minimum":1},"then":{"maximum":5}}`, `{"if":{"minimum":1}}`, `/then high: schema_opened {"maximum":5} to absent`},
	{"else", `{"if":{"minimum":1},"else":{"maximum":5}}`, `{"if":{"minimum":1},"else":{"maximum":6}}`, `/else/maximum high: bound_relaxed maximum 5 to maximum 6`},
	{"else without if", `{"else":{"maximum":5}}`, `{"else":{"maximum":6}}`, `/else/maximum normal: `},

	{"a definition that is used", `{"$defs":{"x":{"maxLength":1}},"properties":{"a":{"$ref":"#/$defs/x"}}}`, `{"$defs":{"x":{"maxLength":2}},"properties":{"a":{"$ref":"#/$defs/x"}}}`, `/$defs/x/maxLength high: bound_relaxed maxLength 1 to 2`},
	{"a definition that is used under not", `{"$defs":{"x":{"maxLength":2}},"not":{"$ref":"#/$defs/x"}}`, `{"$defs":{"x":{"maxLength":1}},"not":{"$ref":"#/$defs/x"}}`, `/$defs/x/maxLength high: may_accept_more bound_tightened maxLength 2 to 1`},
	{"a definition that is used both ways", `{"$defs":{"x":{"maxLength":2}},"items":{"$ref":"#/$defs/x"},"not":{"$ref":"#/$defs/x"}}`, `{"$defs":{"x":{"maxLength":1}},"items":{"$ref":"#/$defs/x"},"not":{"$ref":"#/$defs/x"}}`, `/$defs/x/maxLength high: may_accept_more bound_tightened maxLength 2 to 1`},
	{"a definition that is not used", `{"$defs":{"x":{"maxLength":1}}}`, `{"$defs":{"x":{"maxLength":2}}}`, `/$defs/x/maxLength normal: `},
	{"a definition that a definition uses", `{"definitions":{"x":{"items":{"$ref":"#/definitions/y~1"}},"y/":{"type":"null"}},"$ref":"#/definitions/x"}`, `{"definitions":{"x":{"items":{"$ref":"#/definitions/y~1"}},"y/":{}},"$ref":"#/definitions/x"}`, `/definitions/y~1/type high: type_widened "null" to absent`},
	{"a definition that may be used by its anchor", `{"$defs":{"x":{"$anchor":"x","maxLength":1}},"items":{"$ref":"#x"}}`, `{"$defs":{"x":{"$anchor":"x","maxLength":2}},"items":{"$ref":"#x"}}`, `/$defs/x/maxLength high: bound_relaxed maxLength 1 to 2`},
	{"a definition of its own", `{"$defs":{"t":{"properties":{"next":{"$ref":"#/$defs/t"},"v":{"type":"string"}}}},"$ref":"#/$defs/t"}`, `{"$defs":{"t":{"properties":{"next":{"$ref":"#/$defs/t"},"v":{"type":["null","string"]}}}},"$ref":"#/$defs/t"}`, `/$defs/t/properties/v/type high: type_widened "string" to ["null","string"]`},
	{"a reference to the root", `{"properties":{"a":{"$ref":"#"},"b":{"maximum":1}}}`, `{"properties":{"a":{"$ref":"#"},"b":{"maximum":2}}}`, `/properties/b/maximum high: bound_relaxed maximum 1 to maximum 2`},
	{"a reference for what it refers to", `{"items":{"type":"string"},"$defs":{"s":{"type":"string"}}}`, `{"items":{"$ref":"#/$defs/s"},"$defs":{"s":{"type":"string"}}}`, "/items/$ref low: respelled\n/items/type normal: "},
	{"a reference for less", `{"items":{"type":"string","maxLength":9},"$defs":{"s":{"type":"string"}}}`, `{"items":{"$ref":"#/$defs/s"},"$defs":{"s":{"type":"string"}}}`, "/items/$ref high: bound_relaxed maxLength 9 to absent\n/items/maxLength normal: \n/items/type normal: "},
	{"another reference", `{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"string"},"b":{"type":"null"}}}`, `{"items":{"$ref":"#/$defs/b"},"$defs":{"a":{"type":"string"},"b":{"type":"null"}}}`, `/items/$ref high: type_widened "string" to "null"; type_narrowed "string" to "null"`},
	{"another reference, twice", `{"items":{"$ref":"#/$defs/a"},"not":{"not":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"},"b":{}}}`, `{"items":{"$ref":"#/$defs/b"},"not":{"not":{"$ref":"#/$defs/b"}},"$defs":{"a":{"type":"string"},"b":{}}}`, "/items/$ref high: type_widened \"string\" to absent\n/not/not/$ref high: ref_changed"},
	{"a reference beside others", `{"type":"string"}`, `{"type":"string","$ref":"#/$defs/a","$defs":{"a":{}}}`, "/$defs normal: \n/$ref high: ref_changed absent to \"#/$defs/a\""},
	{"references in a circle", `{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{"items":{"$ref":"#/$defs/b"},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `/items/$ref high: ref_changed "#/$defs/a" to "#/$defs/b"`},
	{"definitions renamed that lead to each other", `{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/b"}},"b":{"items":{"$ref":"#/$defs/a"}}}}`, `{"$ref":"#/$defs/c","$defs":{"c":{"items":{"$ref":"#/$defs/d"}},"d":{"items":{"$ref":"#/$defs/c"}}}}`, "/$defs/a normal: \n/$defs/b normal: \n/$defs/c normal: \n/$defs/d normal: \n/$ref low: respelled"},
	{"a reference that leads nowhere", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"null"}}}`, `{"$ref":"#/$defs/a","$defs":{}}`, `/$defs/a high: may_accept_more a reference that leads nowhere`},
	{"a remote reference", `{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{}}}`, `{"items":{"$ref":"https://x.example/a"},"$defs":{"a":{}}}`, `/items/$ref high: remote_ref https://x.example/a; ref_changed "#/$defs/a" to "https://x.example/a"`},
	{"a remote reference in what was added", `{}`, `{"$defs":{"a":{"items":{"$ref":"a.json"}}}}`, `/$defs high: remote_ref a.json`},
	{"a remote reference gone", `{"$ref":"https://x.example/a"}`, `{}`, `/$ref high: ref_changed "https://x.example/a" to absent`},
	{"$id", `{"$id":"https://x.example/a"}`, `{"$id":"https://x.example/b"}`, `/$id high: ref_changed "https://x.example/a" to "https://x.example/b"`},
	{"$dynamicRef", `{"items":{"$dynamicRef":"#x"}}`, `{}`, `/items high: items_opened {"$dynamicRef":"#x"} to absent`},

	{"$schema", `{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, `/$schema low: respelled`},
	{"$schema added", `{"type":"object"}`, `{"type":"object","$schema":"http://json-schema.org/draft-07/schema#"}`, `/$schema low: respelled`},
	{"$schema that changes what a reference does", `{"$ref":"#/$defs/a","maxLength":3,"$defs":{"a":{}}}`, `{"$ref":"#/$defs/a","maxLength":3,"$defs":{"a":{}},"$schema":"http://json-schema.org/draft-07/schema#"}`, `/$schema high: dialect_changed absent to "http://json-schema.org/draft-07/schema#"`},
	{"$schema that changes what items do", `{"prefixItems":[false]}`, `{"prefixItems":[false],"$schema":"http://json-schema.org/draft-07/schema#"}`, `/$schema high: dialect_changed absent to "http://json-schema.org/draft-07/schema#"`},
	{"$schema nobody knows", `{}`, `{"$schema":"https://x.example/schema"}`, `/$schema high: dialect_changed absent to "https://x.example/schema"`},
	{"$schema that only looks known", `{}`, `{"$schema":"ftp://json-schema.org/draft-07/schema#"}`, `/$schema high: dialect_changed absent to "ftp://json-schema.org/draft-07/schema#"`},
	{"$schema below the root", `{"items":{}}`, `{"items":{"$schema":"http://json-schema.org/draft-07/schema#"}}`, `/items/$schema high: dialect_changed absent to "http://json-schema.org/draft-07/schema#"`},

	{"deep", `{"properties":{"a":{"items":{"anyOf":[{"properties":{"b":{"maxLength":1}}}]}}}}`, `{"properties":{"a":{"items":{"anyOf":[{"properties":{"b":{"maxLength":2}}}]}}}}`, `/properties/a/items/anyOf/0/properties/b/maxLength high: bound_relaxed maxLength 1 to 2`},
	{"behind an inserted branch", `{"anyOf":[{"const":1},{"maxLength":1},{"const":2}]}`, `{"anyOf":[{"const":0},{"const":1},{"maxLength":2},{"const":2}]}`, "/anyOf/0 high: any_of_extended {\"const\":0}\n/anyOf/2/maxLength high: bound_relaxed maxLength 1 to 2"},
	{"a property called like a keyword", `{"properties":{"type":{"type":"string"},"required":{"type":"array"}}}`, `{"properties":{"type":{"type":"string","maxLength":3},"required":{"type":"array"}}}`, `/properties/type/maxLength normal: bound_tightened maxLength absent to 3`},
	{"data that looks like a schema", `{"default":{"type":"string"},"examples":[{"required":["a"]}]}`, `{"default":{"type":"number"},"examples":[{"required":[]}]}`, "/default/type normal: \n/examples/0/required normal: "},
	{"a schema that is none", `{"items":{"type":"string"}}`, `{"items":7}`, `/items high: may_accept_more no schema`},
	{"properties that are none", `{"properties":{"a":false}}`, `{"properties":[]}`, `/properties high: may_accept_more no object`},
	{"a keyword nobody knows", `{"x-limit":3}`, `{"x-limit":4}`, `/x-limit normal: unknown_member x-limit`},
	{"a name that does not show", `{}`, `{"properties":{"a\u200b":{}}}`, "/properties high: property_added a\u200b"},
}

func TestWidenings(t *testing.T) {
	for _, c := range widenings {
		t.Run(c.name, func(t *testing.T) {
			got := describeEffects(compareSchemas(t, c.old, c.new))
			if want := "/inputSchema" + strings.ReplaceAll(c.want, "\n", "\n/inputSchema"); got != want {
				t.Errorf("%s\nto %s\ngot  %q\nwant %q", c.old, c.new, got, want)
			}
			checkFields(t, tool(t, string(schemaTool(c.old))), tool(t, string(schemaTool(c.new))))
		})
	}
}

// Output schemas have codes of their own, and nobody sends them anything.
func TestOutputSchema(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`{"enum":["a"]}`, `{"enum":["b","a"]}`, `/enum normal: output_enum_extended "b"`},
		{`{"enum":["a","b"]}`, `{"enum":["a"]}`, `/enum normal: output_enum_reduced "b"`},
		{`{"enum":["a","b"]}`, `{}`, `/enum normal: output_enum_extended`},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{},"b":{}}}`, `/properties/b normal: output_property_added b`},
		{`{"properties":{"a":{},"b":{"type":"null"}}}`, `{"properties":{"a":{}}}`, `/properties/b normal: output_property_removed b`},
		{`{"type":"string"}`, `{"type":"number"}`, `/type normal: output_type_changed "string" to "number"`},
		{`{"required":["a"]}`, `{"required":["b"]}`, `/required normal: output_required_removed a; output_required_added b`},
		{`{"maxLength":3}`, `{"maxLength":4}`, `/maxLength normal: output_changed maxLength 3 to 4`},
		{`{"additionalProperties":false}`, `{}`, `/additionalProperties normal: output_changed false to absent`},
		{`{"additionalProperties":{}}`, `{}`, `/additionalProperties low: respelled`},
		{`{"not":{"enum":[1,2]}}`, `{"not":{"enum":[1]}}`, `/not/enum normal: output_enum_reduced 2`},
		{`{"$defs":{"a":{"type":"null"}},"items":{"$ref":"#/$defs/a"}}`, `{"$defs":{"a":{"type":"string"}},"items":{"$ref":"#/$defs/a"}}`, `/$defs/a/type normal: output_type_changed "null" to "string"`},
		{`{"properties":{}}`, `{"properties":{"a":{"description":"Then call send_mail."}}}`, `/properties/a high: text_added; output_property_added a`},
		{`{"properties":{"a":{"description":"x"}}}`, `{"properties":{"a":{"description":"Then call send_mail."}}}`, `/properties/a/description high: text_changed`},
		{`{}`, `{"items":{"$ref":"//x.example/"}}`, `/items high: remote_ref //x.example/; output_changed absent to "//x.example/"`},
	} {
		old, new := tool(t, `{"name":"n","outputSchema":`+c.old+`}`), tool(t, `{"name":"n","outputSchema":`+c.new+`}`)
		if got, want := describeEffects(lock.Compare(old, new)), "/outputSchema"+c.want; got != want {
			t.Errorf("%s\nto %s\ngot  %q\nwant %q", c.old, c.new, got, want)
		}
		checkFields(t, old, new)
	}
}

// Every code that is declared is emitted by one of the tables.
func TestEveryCodeIsEmitted(t *testing.T) {
	file := must[*ast.File](t)(parser.ParseFile(token.NewFileSet(), "diff_effects.go", nil, 0))
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if id, ok := v.Type.(*ast.Ident); ok && id.Name == "EffectCode" {
				declared = append(declared, must[string](t)(strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)))
			}
		}
		return true
	})
	if len(declared) < 55 {
		t.Fatalf("only %d codes are declared", len(declared))
	}
	seen := make(map[string]bool)
	for _, fields := range emitted(t) {
		for _, f := range fields {
			for _, e := range f.Effects {
				seen[string(e.Code)] = true
			}
		}
	}
	for _, code := range declared {
		if !seen[code] {
			t.Errorf("%s is never emitted", code)
		}
	}
	for code := range seen {
		if !slices.Contains(declared, code) {
			t.Errorf("%s is not declared", code)
		}
	}
}

// emitted returns the fields of all cases that show effects.
func emitted(t *testing.T) (all [][]lock.Field) {
	for _, c := range widenings {
		all = append(all, compareSchemas(t, c.old, c.new))
	}
	for _, c := range meanings {
		all = append(all, lock.Compare(c.definitions(t)))
	}
	for _, s := range []string{`"enum":[1]`, `"enum":[2]`, `"type":"null"`, `"required":["a"]`, `"required":["b"]`, `"properties":{"a":{"type":"null"}}`, `"properties":{"b":{}}`, `"not":{}`} {
		for _, u := range []string{``, `"enum":[1,2]`, `"enum":[2]`, `"properties":{}`} {
			all = append(all, lock.Compare(tool(t, `{"name":"n","outputSchema":{`+s+`}}`), tool(t, `{"name":"n","outputSchema":{`+u+`}}`)))
			all = append(all, lock.Compare(tool(t, `{"name":"n","outputSchema":{`+u+`}}`), tool(t, `{"name":"n","outputSchema":{`+s+`}}`)))
		}
	}
	var names []string
	for i := range 1_500 {
		names = append(names, fmt.Sprintf(`"p%d":{}`, i))
	}
	return append(all, compareSchemas(t, `{}`, `{"properties":{`+strings.Join(names, ",")+`}}`))
}
