package lint_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
)

func TestSchemas(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// The root.
		{`{"name":"t","description":"d"}`, "schema_root"},
		{tool("t", `"inputSchema":null`), "schema_root /inputSchema"},
		{tool("t", `"inputSchema":true`), "schema_root /inputSchema"},
		{tool("t", `"inputSchema":{}`), "schema_root /inputSchema"},
		{tool("t", `"inputSchema":{"type":"string"}`), "schema_root /inputSchema"},
		{tool("t", `"inputSchema":{"type":["object"]}`), "schema_root /inputSchema"},
		{tool("t", `"inputSchema":{"properties":{"a":{"type":"object"}}}`), "schema_root /inputSchema"},
		{tool("t", `"outputSchema":null`), "invalid_schema /outputSchema"},

		// References.
		{schema(`"$defs":{"a":{}},"properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#"}}`), ""},
		{schema(`"properties":{"a/b~c":{},"d e":{},"x":{"$ref":"#/properties/a~1b~0c"},"y":{"$ref":"#/properties/d%20e"}}`), ""},
		{schema(`"allOf":[{},{"$ref":"#/allOf/0"}]`), ""},
		{schema(`"allOf":[{"$ref":"#/allOf/1"}]`), "unresolved_ref /inputSchema"},
		{schema(`"$defs":{"a":{}},"properties":{"x":{"$ref":"#/$defs/b"},"y":{"$ref":"#/definitions/a"},"z":{"$ref":"#/$defs/b"}}`), "unresolved_ref /inputSchema; unresolved_ref /inputSchema"},
		{schema(`"properties":{"x":{"$ref":"#/%zz"}}`), "unresolved_ref /inputSchema/properties/x/$ref"},
		{schema(`"properties":{"x":{"$ref":"#` + strings.Repeat("/a", 65) + `"}}`), "unresolved_ref /inputSchema/properties/x/$ref"},
		{schema(`"$id":"https://acme.example/s","properties":{"x":{"$ref":"#/$defs/b"}}`), "schema_id /inputSchema/$id"},
		{schema(`"properties":{"x":{"$id":"#a"}}`), ""},
		{schema(`"properties":{"x":{"$ref":"https://acme.example/s.json"},"y":{"$ref":"s.json#/a"},"z":{"$ref":""}}`), "remote_ref /inputSchema/properties/x/$ref; remote_ref /inputSchema/properties/y/$ref; remote_ref /inputSchema/properties/z/$ref"},
		{tool("t", `"outputSchema":{"items":{"$ref":"file:///etc/x"}}`), "remote_ref /outputSchema/items/$ref"},
		{schema(`"x-more":{"y":{"$ref":"//acme.example"}}`), "remote_ref /inputSchema/x-more/y/$ref"},
		{schema(`"x-more":[[{"not":{"$ref":"x.json"}}]]`), "remote_ref /inputSchema/x-more/0/0/not/$ref"},
		{schema(`"properties":{"$ref":{"type":"string"}},"default":{"$ref":"http://x"},"enum":[{"$ref":"http://x"}]`), ""},
		{schema(`"$dynamicRef":"#a"`), "dynamic_ref /inputSchema/$dynamicRef"},
		{schema(`"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#"`), "dynamic_ref /inputSchema/$recursiveRef"},

		// Dialects.
		{schema(`"$schema":"http://json-schema.org/draft-07/schema#","items":[{}]`), ""},
		{schema(`"items":[{}]`), "invalid_schema /inputSchema/items"},
		{schema(`"$schema":"http://json-schema.org/draft-04/schema#","id":"x","minimum":1,"exclusiveMinimum":true`), "schema_id /inputSchema/id"},
		{schema(`"$defs":{"a":{"items":[{}]}},"$schema":"http://json-schema.org/draft/2019-09/schema#"`), ""},
		{schema(`"$schema":"https://acme.example/dialect","minLength":-1`), "schema_dialect /inputSchema/$schema"},
		{schema(`"$schema":"http://json-schema.org/draft-03/schema#"`), "schema_dialect /inputSchema/$schema"},
		{schema(`"$schema":"ftp://json-schema.org/draft-07/schema"`), "schema_dialect /inputSchema/$schema"},
		{schema(`"$schema":7`), "invalid_schema /inputSchema/$schema"},

		// Keywords.
		{schema(`"properties":{"a":{}},"required":["b"]`), "required_unknown /inputSchema/required/0"},
		{schema(`"properties":{},"required":["b"]`), "required_unknown /inputSchema/required/0"},
		{schema(`"required":["b"]`), ""},
		{schema(`"properties":{"a":{}},"required":["b"],"patternProperties":{"^b":{}}`), ""},
		{schema(`"properties":{"a":{}},"required":["b"],"allOf":[{"properties":{"b":{}}}]`), ""},
		{schema(`"properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]`), ""},
		{schema(`"properties":{"a":{"minLength":-1,"maxItems":1.5,"multipleOf":0}}`), "invalid_schema /inputSchema/properties/a/maxItems; invalid_schema /inputSchema/properties/a/minLength; invalid_schema /inputSchema/properties/a/multipleOf"},
		{schema(`"properties":{"a":{"type":"int"},"b":7}`), "invalid_schema /inputSchema/properties/a/type; invalid_schema /inputSchema/properties/b"},
		{schema(`"properties":[{"x\u202e":"\u202e"}]`), `invalid_schema /inputSchema/properties; bidi_control /inputSchema/properties/0/x\u{202e}; bidi_control /inputSchema/properties/0/x\u{202e}`},
		{schema(`"x-more":{"properties":7,"minLength":-1},"example":{"items":7}`), ""}, // what means nothing can't be wrong

		// Patterns: of ECMA-262, which Go's engine knows a part of.
		{schema(`"pattern":"^(?!a)(?<=b)\\1\\p{L}[^]\\cA$"`), ""},
		{schema(`"pattern":"^[a-z]{1,5000}\\d+?$"`), ""},
		{schema(`"pattern":"(a"`), "invalid_schema /inputSchema/pattern"},
		{schema(`"pattern":"a)"`), "invalid_schema /inputSchema/pattern"},
		{schema(`"pattern":"[a"`), "invalid_schema /inputSchema/pattern"},
		{schema(`"pattern":"*a"`), "invalid_schema /inputSchema/pattern"},
		{schema(`"pattern":"a\\"`), "invalid_schema /inputSchema/pattern"},
	} {
		if got := brief(check(t, "["+c.text+"]")); got != c.want {
			t.Errorf("%s\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
}

// drafts are the values of $schema that are known.
var drafts = []string{
	"http://json-schema.org/draft-04/schema", "http://json-schema.org/draft-06/schema", "http://json-schema.org/draft-07/schema",
	"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
}

// noLoader refuses to fetch anything.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not to be fetched", url) }

// lenient takes the patterns that Go's engine does not know for right.
func lenient(pattern string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(pattern); err == nil {
		return re, nil
	}
	return regexp.MustCompile(""), nil
}

// metaschemas compiles the metaschemas of all drafts with a library.
func metaschemas(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(lenient)
	compiled := make(map[string]*jsonschema.Schema)
	for _, uri := range drafts {
		compiled[uri] = must[*jsonschema.Schema](t)(c.Compile(uri))
	}
	return compiled
}

// value reads JSON for the library.
func value(t testing.TB, text string) any {
	t.Helper()
	return must[any](t)(jsonschema.UnmarshalJSON(strings.NewReader(text)))
}

func reports(findings []lint.Finding, code lint.Code) bool {
	for _, f := range findings {
		if f.Code == code {
			return true
		}
	}
	return false
}

// Each keyword with values of every form, in each draft, judged by the
// metaschema and by us.
func TestKeywordsAgree(t *testing.T) {
	keywords := strings.Fields(`$id $ref $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary $comment $defs
		additionalItems additionalProperties allOf anyOf const contains contentEncoding contentMediaType contentSchema default definitions dependencies
		dependentRequired dependentSchemas deprecated description else enum examples exclusiveMaximum exclusiveMinimum format id if items maxContains maxItems
		maxLength maxProperties maximum minContains minItems minLength minProperties minimum multipleOf not oneOf pattern patternProperties prefixItems
		properties propertyNames readOnly required then title type unevaluatedItems unevaluatedProperties uniqueItems writeOnly x-other`)
	values := strings.Fields(`null true false 0 1 -1 0.5 -0.5 "x" "string" "object" [] [1] [null] ["a"] ["a","a"] ["a","b"] ["string"] ["string","null"] ["string","string"] ["string",7]
		{} {"a":{}} {"a":true} {"a":1} {"a":["b"]} {"a":["b","b"]} {"a":[]} {"a":[1]} {"a":{"type":"x"}} {"a":null} {"type":"x"} {"type":[]} {"type":[[]]} {"minimum":"x"} [{}] [true] [{"type":"x"}]
		[{},[]] {"items":{"required":7}} {"properties":{"a":{"not":[]}}} {"items":[{}]}`)
	compiled := metaschemas(t)
	judged, valid := 0, 0
	for _, uri := range drafts {
		for _, keyword := range keywords {
			for _, v := range values {
				if skipped(uri, keyword, v) {
					continue
				}
				members := fmt.Sprintf(`"$schema":%q,%q:%s`, uri, keyword, v)
				if strings.HasPrefix(keyword, "exclusive") && strings.Contains(uri, "-04") {
					members += `,"minimum":1,"maximum":1` // which draft 4 asks for beside them
				}
				err := compiled[uri].Validate(value(t, "{"+members+"}"))
				got := check(t, `[`+tool("t", `"outputSchema":{`+members+`}`)+`]`)
				if judged++; err == nil {
					valid++
				}
				if reports(got, lint.InvalidSchema) != (err != nil) {
					t.Errorf("{%s}: got %v, the metaschema says %v", members, got, err)
				}
			}
		}
	}
	if judged < 10_000 || valid < 1000 || judged-valid < 1000 {
		t.Errorf("%d schemas, %d valid", judged, valid)
	}
}

// skipped names what is not checked, or differs with a reason.
func skipped(uri, keyword, v string) bool {
	switch keyword {
	case "$vocabulary": // that the keys are URIs
		return strings.Contains(v, `"a"`) || strings.Contains(v, `":`)
	case "enum": // draft 4 and 6: that the values differ; the library's draft 7 asks for values, which the published one does not
		return v == `["a","a"]` || v == `["string","string"]` || v == "[]" && strings.Contains(uri, "-07")
	}
	return false
}

// Real schemas are judged as the library judges them.
func TestCorpusSchemasAgree(t *testing.T) {
	compiled := metaschemas(t)
	schemas, invalid := 0, 0
	for name, l := range corpus(t, "dev") {
		judged := make(map[string]bool)
		for _, f := range lint.Check(l, "", nil) {
			if f.Code == lint.InvalidSchema {
				judged[f.Name] = true
			}
		}
		for _, d := range l.Definitions {
			if d.Kind() != lock.Tool {
				continue
			}
			var tool struct {
				InputSchema, OutputSchema json.RawMessage
			}
			if err := json.Unmarshal(d.Canonical(), &tool); err != nil {
				t.Fatal(err)
			}
			bad := false
			for _, s := range []json.RawMessage{tool.InputSchema, tool.OutputSchema} {
				if len(s) > 0 {
					schemas++
					v := value(t, string(s))
					uri, _ := v.(map[string]any)["$schema"].(string)
					meta := compiled[strings.TrimSuffix(uri, "#")]
					if uri == "" {
						meta = compiled[drafts[len(drafts)-1]]
					}
					bad = bad || meta.Validate(v) != nil
				}
			}
			if bad {
				invalid++
			}
			if bad != judged[d.Name()] {
				t.Errorf("%s: tool %s: invalid is %v, the library says %v", name, d.Name(), judged[d.Name()], bad)
			}
		}
	}
	if schemas < 1400 || invalid == 0 {
		t.Errorf("%d schemas, %d invalid", schemas, invalid)
	}
}
