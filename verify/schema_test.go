package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// policySchema compiles the published schema.
func policySchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile("policy.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("policy.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("policy.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// valid reports whether the schema takes a policy.
func valid(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// beyond lists what the parser refuses and no schema can: it compares parts of
// a policy, or parses a URL.
var beyond = []string{
	"there is no publisher", "have the same signer", "principals and has", "principals and have", "is not after notBefore",
	"is there twice", "invalid URL escape", "write the host in lower case", "is not an https URL",
	"version is not 1", "want an integer", // 1.0 is an integer in JSON Schema
}

// The schema and the parser take the same policies.
func TestSchema(t *testing.T) {
	s := policySchema(t)
	check := func(text string) {
		t.Helper()
		_, parsed := ParsePolicy("policy.yaml", []byte(text))
		refused := valid(t, s, text)
		if parsed != nil && refused == nil {
			for _, part := range beyond {
				if strings.Contains(parsed.Error(), part) {
					return
				}
			}
		}
		if (parsed == nil) != (refused == nil) {
			t.Errorf("%s\nparser: %v\nschema: %v", text, parsed, refused)
		}
	}
	check(full)
	check(small)
	accepted := 0
	for _, e := range edits {
		for _, with := range e.with {
			text := strings.Replace(full, e.old, with, 1)
			if text == full {
				t.Fatalf("%s is not in the policy", e.old)
			}
			check(text)
			if _, err := ParsePolicy("policy.yaml", []byte(text)); err == nil {
				accepted++
			}
		}
	}
	if accepted < 30 {
		t.Errorf("only %d edited policies are good", accepted)
	}
	// Every member by itself: absent, and of each type.
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(full), &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	mutate(doc, func() {
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		n++
		check(string(data))
	})
	if n < 500 {
		t.Errorf("only %d mutations", n)
	}
}

// mutate calls f for each way of replacing one value in v, or removing it.
func mutate(v any, f func()) {
	others := []any{nil, true, false, "", "x", "a/b", 0, 1, 2, 1.5, -1, []any{}, []any{"x"}, []any{1}, map[string]any{}, map[string]any{"x": 1}}
	switch v := v.(type) {
	case map[string]any:
		for name, old := range v {
			for _, other := range others {
				v[name] = other
				f()
			}
			delete(v, name)
			f()
			v[name+"x"] = old
			f()
			delete(v, name+"x")
			v[name] = old
			mutate(old, f)
		}
	case []any:
		for i, old := range v {
			for _, other := range others {
				v[i] = other
				f()
			}
			if len(v) > 1 {
				v[i] = v[(i+1)%len(v)]
				f()
			}
			v[i] = old
			mutate(old, f)
		}
	}
}

// edits are changes of the full policy, good and bad.
var edits = []struct {
	old  string
	with []string
}{
	{"version: 1", []string{"version: 2", `version: "1"`, "version: true"}},
	{`servers: ["io.github.acme/*"]
    keyless`, []string{`servers: [a/**]
    keyless`, `servers: ["*/a"]
    keyless`, `servers: ["a*/b"]
    keyless`, `servers: [a, b/c]
    keyless`, `servers: [a/../b]
    keyless`, `servers: [a//b]
    keyless`}},
	{`"gitlab:acme/weather//.gitlab-ci.yml@refs/tags/v*"`, []string{
		`"gitlab:acme/group/weather//ci/release.yml@refs/heads/main?id=7"`, `"gitlab:acme//.gitlab-ci.yml@refs/tags/v1"`, `"gitlab:acme/weather/.gitlab-ci.yml@refs/tags/v1"`,
		`"gitlab:/acme/weather//f@refs/tags/v1"`, `"gitlab:acme/weather//f@v1"`, `"gitlab:acme/weather//@refs/tags/v1"`, `"gitlab:acme/weather//f@refs/tags/v1?id=x"`, `"gitlab:acme/weather//f@refs/tags/v1?id="`,
		`"gitlab:acme/*//f@refs/tags/v1"`, `"gitlab:a/b//f@refs/tags/v1?caller=a/b/c@refs/heads/main&issuer=https://gitlab.example"`, `"gitlab:a/b//f@refs/tags/v1?caller=a/b/c"`,
		`"gitlab:a/b//f@refs/tags/v1?runner=gitlab-hosted"`, `"gitlab:a/b//f@refs/tags/v1?runner=github-hosted"`, `"gitlab:a/b//f@refs/tags/v1?Id=1"`, `"gitlab:a/b//f@refs/tags/v1?id=1&id=1"`, `"gitlab:a/b//f@refs/tags/v1?id=1&"`,
		`"github:a/b/f@refs/tags/v1?trigger=push,release&environment=a%20b"`, `"github:a/b/f@refs/tags/v1?trigger=Push"`, `"github:a/b/f@refs/tags/v1?trigger=push,push"`, `"github:a/b/f@refs/tags/v1?environment="`, `"github:a/b/f@refs/tags/v1?environment=%2"`,
		`"github:a/b/f@3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d"`, `"github:a/b/f@3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1d3f9c2e1"`, `"github:a/b/f@refs/tags/v1?caller=a/b/c@refs/heads/main"`, `"github:a/b/f@refs/tags/v1?caller=a/b@refs/heads/main&caller=a/b@refs/heads/main"`,
		`"github:a/b/f@refs/tags/v1?issuer=http://x.example"`, `"github:a/b/f@refs/tags/v1?issuer=https://X.example"`, `"github:a/b/f@refs/tags/v1?issuer=https://x.example/a?b"`, `"github:a/b/f@refs/tags/v1?tag=1"`, `"github:acme/x/f@refs/tags/v1?id=1"`, `"github:acme/x@refs/tags/v1"`, `"email:a@b.example@http://127.0.0.1:1/x"`, `"email:a@b.example"`,
		`"email:a b@b.example@https://i.example"`, `"uri:spiffe://a/b@https://i.example"`, `"uri:x@https://i.example"`, `"key:sha256:` + strings.Repeat("a", 64) + `"`, `"x509:uri:https://a.example"`,
	}},
	{"uri:https://acme.example/release", []string{"email:a@b.example", "email:a@b@c", "uri:x", "uri:urn:x:y", "dns:a.example", "https://a.example"}},
	{"crls: [acme.crl], status: required, time: now", []string{
		"crls: [acme.crl]", "status: required", "time: now", "time: timestamp", "status: optional", "status: true", "status: [required]", "status:", "time: then", "time: [now]", "time:",
	}},
	{"pki/acme-root.pem", []string{"a/b/c.pem", "/a.pem", "../a.pem", "a//b.pem", "a/./b.pem", "a/", "..a.pem", ".a", `"a\\b"`, `"a:b"`, "é.pem"}},
	{"notBefore: 2026-01-01T00:00:00Z", []string{"notBefore: 2026-01-01", "notBefore: 1969-12-31T23:59:59Z", "notBefore: 2026-01-01T00:00:00z", "notBefore: 2026-01-01T00:00:00+00:00", "notBefore: 2027-06-30T00:00:00Z"}},
	{"key: [{file: one.pub}", []string{"trustedRoot: r.json\n    key: [{file: one.pub}"}},
	{"evidence: [log, timestamp]", []string{"trustedRoot: r.json", "trustedRoot: r.json\n    withoutLog: none runs", "withoutLog: none runs", "trustedRoot: r.json\n    withoutLog: ' '", "trustedRoot: [r.json]", "trustedRoot: /r.json", "trustedRoot: r.json\n    withoutLog: true",
		"evidence: [log]", "evidence: [timestamp, log]", "evidence: [log, log]", "evidence: [sct]", "evidence: []"}},
	{"revokers: [security]", []string{"revokers: []", "revokers: [security, builder]", "revokers: [nobody]", "revokers: [security, security]", `revokers: ["key:sha256:` + strings.Repeat("a", 64) + `"]`}},
	{"need: 2", []string{"need: 1", "need: 3", "need: 0", "need: 101", `need: "2"`}},
	{"maxAge: 90d", []string{"maxAge: 1h", "maxAge: 36500d", "maxAge: 36501d", "maxAge: 29999d", "maxAge: 35999d", "maxAge: 36499d", "maxAge: 99999d", "maxAge: 100000d", "maxAge: 99999h", "maxAge: 799999h", "maxAge: 869999h", "maxAge: 875999h", "maxAge: 876000h", "maxAge: 876001h", "maxAge: 880000h", "maxAge: 1000000h", "maxAge: 0d", "maxAge: 01d", "maxAge: 90", "maxAge: 90D", "maxAge: 1d2h"}},
	{"minSequence: 1796040000", []string{"minSequence: 1", "minSequence: 9007199254740991", "minSequence: 9007199254740992", "minSequence: 0"}},
	{"minSequence: 1796040000", []string{"revocations: {maxAge: 7d}", "revocations: {maxAge: 7d, by: []}", "revocations: {by: [security]}", "revocations: {maxAge: 7d, by: [security]}", "revocations: {maxAge: 7}", "revocations: 7d", "revocations: {maxAge: 7d, need: 1}"}},
	{"audience: production}\n    attested:\n      - {", []string{"audience: production}\n    attested:\n      - {of: artifact, ", "audience: production}\n    attested:\n      - {of: definitions, ", "audience: production}\n    attested:\n      - {of: package, "}},
	{"updates: accept", []string{"updates: hold", "updates: never"}},
	{"bindSource: true", []string{"bindSource: false", `bindSource: "true"`}},
	{"audience: production}\n    attested", []string{"audience: a/b}\n    attested", "audience: \"a b\"}\n    attested", "audience: é}\n    attested"}},
	{"equals: \"https://acme.example/build\"", []string{"equals: 1", "equals: true", "equals: 0", "equals: 1.5", "equals: [a]", "oneOf: [a, 1, true]", "oneOf: []", "equals: a, oneOf: [a]"}},
	{"type: https://example.com/scan", []string{"type: x", `type: ""`, "type: https://mcpsign.github.io/approval/v1", "type: https://mcpsign.github.io/definitions/v1", "type: https://mcpsign.github.io/revocation/v1"}},
	{"pointer: /buildDefinition/buildType", []string{"pointer: /a~0b~1c", "pointer: /a~2", "pointer: a", `pointer: ""`, "pointer: /", "pointer: " + strings.Repeat("/a", 64), "pointer: " + strings.Repeat("/a", 65)}},
	{"pinnedOnly: \"our own monorepo\"", []string{`pinnedOnly: " "`, "pinnedOnly: no", `pinnedOnly: "Yes"`, `pinnedOnly: " oFF "`, "pinnedOnly: on purpose", "pinnedOnly: north", `pinnedOnly: "~"`, `pinnedOnly: "."`, `pinnedOnly: "\u200b"`, "pinnedOnly: x\n    listing: complete", "pinnedOnly: x\n    need: 1", "pinnedOnly: x\n    updates: hold", "pinnedOnly: x\n    signedBy: [acme]", "pinnedOnly: x\n    signedBy: []", "pinnedOnly: x\n    refuse: block"}},
	{`servers: ["corp.internal/**"]`, []string{`servers: ["**"]`, `servers: ["*/a", b]`, "servers: []", `servers: ["a?"]`, "servers: [" + strings.Repeat("a", 256) + "]"}},
	{"signedBy: [acme, ", []string{"signedBy: [reviewers, ", "signedBy: [Acme, ", "signedBy: [acme, acme, ", `signedBy: ["acme*", `, "signedBy: [1, ", fmt.Sprintf("signedBy: [%q, ", "key:sha256:"+strings.Repeat("A", 64))}},
}

// A member that is not known is an error that names those of the schema.
func TestUnknownMembers(t *testing.T) {
	data, err := os.ReadFile("policy.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	properties := func(path ...string) map[string]any {
		at := schema
		for _, name := range append(path, "properties") {
			at, _ = at[name].(map[string]any)
		}
		return at
	}
	const rule = "version: 1\nrules:\n  - "
	const publisher = "version: 1\npublishers: {acme: "
	for _, tt := range []struct {
		text  string
		known map[string]any
	}{
		{"verson: 1\n", properties()},
		{rule + "server: [a/b]\n", properties("$defs", "rule")},
		{rule + "approvals: {froms: [a]}\n", properties("$defs", "approvals")},
		{rule + "revocations: {bye: [a]}\n", properties("$defs", "rule", "properties", "revocations")},
		{rule + "attested: [{typ: a}]\n", properties("$defs", "attestation")},
		{rule + "attested: [{where: [{point: /a}]}]\n", properties("$defs", "condition")},
		{publisher + "{keys: a}}\n", properties("$defs", "publisher")},
		{publisher + "{x509: {root: [a]}}}\n", properties("$defs", "publisher", "properties", "x509")},
		{publisher + "{key: {path: a}}}\n", properties("$defs", "key")},
	} {
		_, err := ParsePolicy("policy.yaml", []byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), "unknown member") || len(tt.known) == 0 {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		_, list, _ := strings.Cut(err.Error(), "want one of ")
		named := strings.Split(list, ", ")
		slices.Sort(named)
		if want := slices.Sorted(maps.Keys(tt.known)); !slices.Equal(named, want) {
			t.Errorf("%s: names %v, want %v", tt.text, named, want)
		}
	}
}
