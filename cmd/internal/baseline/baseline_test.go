package baseline_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/baseline"
	"github.com/mcpsign/mcpsign/lock"
)

// testdata/*.lock.json are made from testdata/listing.jsonl by the programs beside them, which share nothing with this
// package.
const (
	pinCheckFile = "pincheck.lock.json"
	mcpTrustFile = "mcptrust.lock.json"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parse(t testing.TB, name string) *baseline.Baseline {
	t.Helper()
	b, err := baseline.Parse(read(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func listing(t testing.TB, text []byte) *lock.Listing {
	t.Helper()
	l, err := lock.ParseListing(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// summary spells results out, without those that match.
func summary(results []baseline.Result) string {
	var lines []string
	for _, r := range results {
		if r.State == baseline.Match {
			continue
		}
		line := fmt.Sprintf("%s %s", lock.ID(r.Kind, r.Name), r.State)
		if r.Detail != "" {
			line += " (" + r.Detail + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

const (
	pinCheckUncovered = "instructions: uncovered; prompt:none uncovered; prompt:nothing uncovered; prompt:review uncovered; " +
		"resourceTemplate:db://{t} uncovered; resourceTemplate:file:///{path} uncovered"
	mcpTrustUncovered = "instructions: uncovered"
)

func TestMatch(t *testing.T) {
	l := listing(t, read(t, "listing.jsonl"))
	tests := []struct {
		file, tool, version, server, want string
		pins                              int
	}{
		{pinCheckFile, baseline.PinCheck, "1", "acme", pinCheckUncovered, 6},
		{mcpTrustFile, baseline.MCPTrust, "3.0", "acme", mcpTrustUncovered, 11},
	}
	for _, tt := range tests {
		b := parse(t, tt.file)
		if b.Tool != tt.tool || b.Version != tt.version || len(b.Servers) != 1 || b.Servers[0].Name != tt.server || len(b.Servers[0].Pins) != tt.pins {
			t.Fatalf("%s: got %+v", tt.file, b)
		}
		results := b.Servers[0].Check(l)
		matches := len(slices.DeleteFunc(slices.Clone(results), func(r baseline.Result) bool { return r.State != baseline.Match }))
		if got := summary(results); got != tt.want || matches != tt.pins {
			t.Errorf("%s: %d match, others are %s", tt.file, matches, got)
		}
		if len(b.Uncovered()) < 3 || !strings.Contains(strings.Join(b.Uncovered(), "\n"), "outputSchema") {
			t.Errorf("%s: uncovered is %q", tt.file, b.Uncovered())
		}
	}
}

// TestChanges changes the listing in one place each. An empty want says that everything matches as before.
func TestChanges(t *testing.T) {
	tests := []struct{ name, old, new, pinCheck, mcpTrust string }{
		{"description", `"Does it"`, `"Does more"`, "tool:plain differs (description)", "tool:plain differs (description)"},
		{"schema", `"maxLength":200`, `"maxLength":201`, "tool:plain differs (inputSchema)", "tool:plain differs (inputSchema)"},
		{"annotations", `"readOnlyHint":true`, `"readOnlyHint":false`, "tool:plain differs (annotations)", ""},
		{"annotations gone", `"annotations":{"readOnlyHint":true,"title":"P"},`, ``, "tool:plain differs (annotations)", ""},
		{"annotations come", `{"name":"bare"}`, `{"name":"bare","annotations":{}}`, "tool:bare differs (annotations)", ""},
		{"all of it", `"Does it","inputSchema":{"type":"object"`, `"It","inputSchema":{"type":"string"`, "tool:plain differs (description, inputSchema)", "tool:plain differs (description, inputSchema)"},
		{"title", `"title":"Plain"`, `"title":"Other"`, "", ""},
		{"output schema", `"outputSchema":{"type":"object"}`, `"outputSchema":{}`, "", ""},
		{"_meta", `"_meta":{"v":1}`, `"_meta":{"v":2}`, "", ""},
		{"spelling", `{"q":{"type":"string","maxLength":200}}`, `{ "q": {"maxLength": 2e2, "type": "\u0073tring"} }`, "", ""},
		{"absent as empty", `{"name":"bare"}`, `{"name":"bare","description":"","inputSchema":{}}`, "", ""},
		{"empty as null", `"description":"x","inputSchema":{},"annotations":{}`, `"description":"x","inputSchema":null,"annotations":{}`, "", ""},
		{"renamed", `{"name":"bare"}`, `{"name":"bear"}`, "tool:bare missing; tool:bear new", "tool:bare missing; tool:bear new"},
		{"removed", `{"name":"bare"},`, ``, "tool:bare missing", "tool:bare missing"},
		{"twice", `{"name":"bare"}`, `{"name":"bare"},{"name":"bare"}`, "tool:bare differs (it has no digest: duplicate_name: the listing has several of this kind and name)", "tool:bare differs (it has no digest: duplicate_name: the listing has several of this kind and name)"},
		{"no digest", `"maxLength":200`, `"maxLength":1e20`, "tool:plain differs (it has no digest: number_out_of_range", "tool:plain differs (it has no digest: number_out_of_range"},
		{"new without digest", `{"name":"bare"}`, `{"name":"bare"},{"name":"b","x":1e20}`, "tool:b new (it has no digest", "tool:b new (it has no digest"},
		{"new without name", `{"name":"bare"}`, `{"name":"bare"},{}`, "tool: new (it has no digest: missing_name", "tool: new (it has no digest: missing_name"},
		{"description no string", `"Does it"`, `["Does it"]`, "tool:plain differs (description is no string)", "tool:plain differs (description is no string)"},
		{"schema no object", `"inputSchema":{},`, `"inputSchema":[],`, "tool:empty differs (inputSchema is no object)", "tool:empty differs (inputSchema is no object)"},
		{"annotations no object", `"annotations":{}`, `"annotations":[]`, "tool:empty differs (annotations is no object)", ""},
		{"another case", `{"name":"bare"}`, `{"name":"bare","Description":"x"}`, "", "tool:bare differs (member Description would be read as description)"},
		{"control characters", `\u0001`, `\u0002`, "tool:text differs (inputSchema)", "tool:text differs (inputSchema)"},

		{"prompt's description", `first  \r\n`, `last  \r\n`, "", "prompt:review differs (description)"},
		{"prompt's description comes", `{"name":"none"}`, `{"name":"none","description":"x"}`, "", "prompt:none differs (description)"},
		{"prompt's blanks", `first  \r\nsecond\t\rthird `, `first\nsecond\r\nthird`, "", ""},
		{"prompt's title", `"title":"R"`, `"title":"S"`, "", ""},
		{"argument required", `"required":false`, `"required":true`, "", "prompt:review differs (arguments)"},
		{"argument not required", `,"required":false`, ``, "", ""},
		{"argument's order", `{"name":"z","required":true,"title":"Z"},{"name":"a","description":"<a>","required":false}`, `{"name":"a","description":"<a>"},{"name":"z","required":true}`, "", ""},
		{"argument's name", `{"name":"z"`, `{"name":"y"`, "", "prompt:review differs (arguments)"},
		{"argument's name no string", `{"name":"z"`, `{"name":1`, "", "prompt:review differs (name is no string)"},
		{"argument in another case", `{"name":"é"}`, `{"name":"é","Required":true}`, "", "prompt:review differs (member Required would be read as required)"},
		{"template's type no string", `"text/plain"`, `["text/plain"]`, "", "resourceTemplate:file:///{path} differs (mimeType is no string)"},
		{"argument's title", `"title":"Z"`, `"title":"Y"`, "", ""},
		{"argument added", `"arguments":[]`, `"arguments":[{"name":"a"}]`, "", "prompt:nothing differs (arguments)"},
		{"argument no object", `"arguments":[]`, `"arguments":[null]`, "", "prompt:nothing differs (an argument is no object)"},
		{"required no boolean", `"required":false`, `"required":0`, "", "prompt:review differs (required of an argument is neither true nor false)"},

		{"template's name", `"Files "`, `"Filez"`, "", "resourceTemplate:file:///{path} differs (name)"},
		{"template's blanks", `"Files "`, `"Files"`, "", ""},
		{"template's description", `all & more`, `all`, "", "resourceTemplate:file:///{path} differs (description)"},
		{"template's type", `text/plain`, `text/html`, "", "resourceTemplate:file:///{path} differs (mimeType)"},
		{"template's type comes", `"name":"Tables"`, `"name":"Tables","mimeType":"a/b"`, "", "resourceTemplate:db://{t} differs (mimeType)"},
		{"template's annotations", `"priority":1`, `"priority":2`, "", ""},
		{"instructions", `Be kind.`, `Be evil.`, "", ""},
	}
	text := read(t, "listing.jsonl")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			changed := bytes.Replace(text, []byte(tt.old), []byte(tt.new), 1)
			if bytes.Equal(changed, text) {
				t.Fatalf("the listing has no %s", tt.old)
			}
			l := listing(t, changed)
			for file, want := range map[string]string{pinCheckFile: tt.pinCheck, mcpTrustFile: tt.mcpTrust} {
				// What changes nothing for the tool leaves what it does not cover.
				others := map[string]string{pinCheckFile: pinCheckUncovered, mcpTrustFile: mcpTrustUncovered}[file]
				got := summary(parse(t, file).Servers[0].Check(l))
				if want == "" && got != others || !strings.Contains(got, want) {
					t.Errorf("%s: got %q, want %q", file, got, want)
				}
			}
		})
	}
}

// A listing of tools only says nothing of the prompts.
func TestPartOfAListing(t *testing.T) {
	l := listing(t, []byte(`{"tools": [{"name": "bare"}]}`))
	got := summary(parse(t, mcpTrustFile).Servers[0].Check(l))
	if !strings.HasPrefix(got, "prompt:none missing (nothing of its kind was listed, or not all of it); ") || !strings.HasSuffix(got, "; tool:plain missing; tool:text missing") {
		t.Errorf("got %s", got)
	}
}

func TestParseErrors(t *testing.T) {
	const empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	pin, trust := string(read(t, pinCheckFile)), string(read(t, mcpTrustFile))
	replaced := func(text, old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("there is no %s", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	trusted := func(prompts, templates, tools string) string {
		return `{"lockFileVersion": "3.0", "prompts": {"definitions": ` + prompts + `}, "resources": {"templates": ` + templates + `}, "tools": ` + tools + `}`
	}
	tests := []struct{ name, text, want string }{
		{"nothing", "", "json_syntax"},
		{"no object", "[]", "expected an object"},
		{"another tool's", `{"version": 1, "servers": []}`, "no lockfile of a tool that is known"},
		{"ours", string(`{"version": 1}`), "no lockfile of a tool that is known"},
		{"both tools'", `{"lockfile_version": 1, "lockFileVersion": "3.0"}`, "no lockfile of a tool that is known"},
		{"byte order mark", "\ufeff" + pin, "bom"},
		{"trailing text", pin + "x", "trailing_data"},
		{"too large", strings.Repeat(" ", baseline.MaxFile+1), "more than 67108864 bytes"},
		{"version twice", replaced(pin, `"lockfile_version": 1`, `"lockfile_version": 1, "lockfile_version": 1`), "duplicate_key"},

		{"version 2", replaced(pin, `"lockfile_version": 1`, `"lockfile_version": 2`), "lockfile_version 2 is not known"},
		{"version as text", replaced(pin, `"lockfile_version": 1`, `"lockfile_version": "1"`), "expected a number"},
		{"no tools", `{"lockfile_version": 1, "tools": []}`, "pins nothing"},
		{"tools absent", `{"lockfile_version": 1}`, "has no tools"},
		{"unknown member", replaced(pin, `"source"`, `"sources"`), `unknown member \"sources\"`},
		{"unknown member of a tool", replaced(pin, `"sha256"`, `"sha512"`), "unknown member"},
		{"definition changed", replaced(pin, `"Does it"`, `"Does more"`), "tool plain: the definition has the hash"},
		{"hash changed", replaced(pin, `"sha256": "`, `"sha256": "0`), "is not 64 lower-case hexadecimal digits"},
		{"1 for 1.0", replaced(pin, `1.0,`, `1,`), "tool numbers: the definition has the hash"},
		{"name changed", replaced(pin, "\"name\": \"bare\",\n      \"sha256\"", "\"name\": \"b\",\n      \"sha256\""), "its definition has another name"},
		{"member twice", replaced(pin, `"Does it"`, `"Does it", "description": "Does it"`), "duplicate_key"},
		{"not finite", replaced(pin, `1.0,`, `1e999,`), "is no double"},
		{"half a character", replaced(pin, `"Does it"`, `"\ud800"`), "lone_surrogate"},
		{"no definition", `{"lockfile_version": 1, "tools": [{"name": "a", "sha256": "` + empty[7:] + `"}]}`, "no name or no definition"},
		{"definition of another release", `{"lockfile_version": 1, "tools": [{"name": "a", "definition": {"description": "", "inputSchema": {}, "name": "a", "title": "t"}, "sha256": "5ecb05ca6088c8edf0ae7239cb206b237cc5ad10d8e545788ee111461cf3cb0b"}]}`, "unknown member \"title\""},
		{"pinned twice", strings.Replace(pin, `"tools": [`, `"tools": [`+pin[strings.Index(pin, `"tools": [`)+len(`"tools": [`):strings.LastIndex(pin, "]")]+",", 1), "is pinned twice"},

		{"version 2.0", replaced(trust, `"lockFileVersion": "3.0"`, `"lockFileVersion": "2.0"`), `lockFileVersion "2.0" is not known`},
		{"version as number", replaced(trust, `"lockFileVersion": "3.0"`, `"lockFileVersion": 3.0`), "expected a string"},
		{"nothing pinned", trusted(`{}`, `[]`, `{}`), "pins nothing"},
		{"nulls", trusted(`null`, `null`, `null`), "pins nothing"},
		{"no prompts", `{"lockFileVersion": "3.0", "resources": {"templates": []}, "tools": {}}`, "has no prompts"},
		{"no definitions", `{"lockFileVersion": "3.0", "prompts": {}, "resources": {"templates": []}, "tools": {}}`, "has no definitions"},
		{"unknown member", replaced(trust, `"meta"`, `"metadata"`), "unknown member"},
		{"unknown member of the server", replaced(trust, `"server": {`, `"server": {"url": "x", `), "unknown member"},
		{"unknown member of a prompt", trusted(`{"a": {"argumentsHash": "`+empty+`", "titleHash": "`+empty+`"}}`, `[]`, `{}`), "unknown member"},
		{"prompt without a hash", trusted(`{"a": {}}`, `[]`, `{}`), "prompt:a: has no argumentsHash"},
		{"tool without a hash", trusted(`{}`, `[]`, `{"a": {"input_schema_hash": ""}}`), "tool:a: has no description_hash"},
		{"tool with an empty hash", trusted(`{}`, `[]`, `{"a": {"description_hash": "", "input_schema_hash": ""}}`), "tool:a: description_hash: digest"},
		{"upper-case hash", trusted(`{}`, `[]`, `{"a": {"description_hash": "`+strings.ToUpper(empty)+`", "input_schema_hash": ""}}`), "tool:a: description_hash: digest"},
		{"tool twice", trusted(`{}`, `[]`, `{"a": {"description_hash": "`+empty+`", "input_schema_hash": ""}, "a": {}}`), "duplicate_key"},
		{"tool without a name", trusted(`{}`, `[]`, `{"": {"description_hash": "`+empty+`", "input_schema_hash": ""}}`), "has no name"},
		{"template without a name", trusted(`{}`, `[{"uriTemplate": "", "templateHash": "`+empty+`"}]`, `{}`), "has no name"},
		{"template twice", trusted(`{}`, `[{"uriTemplate": "a", "templateHash": "`+empty+`"}, {"uriTemplate": "a", "templateHash": "`+empty+`"}]`, `{}`), "resourceTemplate:a is pinned twice"},
		{"too many", trusted(`{}`, `[`+strings.TrimSuffix(strings.Repeat(`{"uriTemplate": "a", "templateHash": "`+empty+`"},`, lock.MaxDefinitions+1), ",")+`]`, `{}`), "more than 10000 pins"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := baseline.Parse([]byte(tt.text))
			if err == nil || b != nil || !strings.Contains(err.Error(), strings.ReplaceAll(tt.want, `\"`, `"`)) {
				t.Errorf("got %v, %v, want %s", b, err, tt.want)
			}
		})
	}
}

// TestOutOfRange: a number that no digest covers is no fault of the file, and matches nothing.
func TestOutOfRange(t *testing.T) {
	// python3: hashlib.sha256(b'{"description":"","inputSchema":{"n":100000000000000000000},"name":"a"}')
	b, err := baseline.Parse([]byte(`{"lockfile_version": 1, "tools": [{"name": "a",
		"definition": {"description": "", "inputSchema": {"n": 100000000000000000000}, "name": "a"},
		"sha256": "2f46c2674948df823e2f03ea1c8dfe21da4fbd6f365817107f0bd320887f8951"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := summary(b.Servers[0].Check(listing(t, []byte(`[{"name": "a", "inputSchema": {"n": 1}}]`))))
	if !strings.HasPrefix(got, "tool:a differs (what is pinned can't be compared: inputSchema: number_out_of_range") {
		t.Errorf("got %s", got)
	}
}

func TestEmptyListing(t *testing.T) {
	results := parse(t, pinCheckFile).Servers[0].Check(listing(t, []byte(`[]`)))
	if len(results) != 6 || slices.ContainsFunc(results, func(r baseline.Result) bool { return r.State != baseline.Missing }) {
		t.Errorf("got %s", summary(results))
	}
}
