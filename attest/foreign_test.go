package attest

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// goodForeign is a statement as others make them: indented, with members that
// nobody here knows, subjects that are no definitions, and numbers of any size.
const goodForeign = `{
  "predicateType": "https://slsa.dev/provenance/v1",
  "_type": "https://in-toto.io/Statement/v1",
  "subject": [
    {"name": "tool:echo", "digest": {"sha512": "ff", "sha256": "` + hexB + `"}, "annotations": {"a": 1e300}},
    {"name": "prompt:review", "uri": "https://a.example", "digest": {"sha256": "` + hexA + `"}},
    {"name": "weather.tgz", "digest": {"sha256": "` + hexC + `"}},
    {"digest": {"gitCommit": "3f9c"}},
    {"name": "tool:other", "digest": {"sha512": "aa"}}
  ],
  "predicate": {"big": 1e300, "n": 1.0, "builder": {"id": "https://b.example"}, "list": ["a", {"b~/c": null}]},
  "x-extension": {"y": -0}
}`

func foreignOf(t testing.TB, text string) *Predicate {
	t.Helper()
	p, ok := made(t)(ParseAny([]byte(text))).Foreign()
	if !ok {
		t.Fatal("not foreign")
	}
	return p
}

// A foreign statement is about the definitions it names with a SHA-256.
func TestForeignSubjects(t *testing.T) {
	p := foreignOf(t, goodForeign)
	want := []Subject{{lock.Prompt, "review", digest(t, "a")}, {lock.Tool, "echo", digest(t, "b")}}
	if got := p.Subjects(); !slices.Equal(got, want) {
		t.Errorf("subjects = %v, want %v", got, want)
	}
	p.Subjects()[0].Name = "other"
	for _, s := range want {
		if got, ok := p.Find(s.Kind, s.Name); !ok || got != s {
			t.Errorf("Find(%s) = %v, %v", s.ID(), got, ok)
		}
	}
	for _, id := range []string{"weather.tgz", "other", ""} {
		if got, ok := p.Find(lock.Tool, id); ok || got != (Subject{}) {
			t.Errorf("Find(tool:%s) = %v", id, got)
		}
	}
	if p := foreignOf(t, replaced(t, goodForeign, "tool:echo", "tool.echo")); len(p.Subjects()) != 1 {
		t.Errorf("subjects = %v", p.Subjects())
	}
	none := foreignOf(t, `{"_type":"https://in-toto.io/Statement/v1","predicateType":"x","subject":[{}]}`)
	if got := none.Subjects(); len(got) != 0 {
		t.Errorf("subjects = %v", got)
	}
	if form, err := none.Value(""); err != nil || string(form) != "{}" {
		t.Errorf("a predicate left out is %s, %v", form, err)
	}
}

func TestRefuseForeign(t *testing.T) {
	const tool = `{"name": "tool:echo", "digest": {"sha512": "ff", "sha256": "` + hexB + `"}, "annotations": {"a": 1e300}}`
	wantRefused(t, goodForeign, []refusal{
		{"wrong _type", "Statement/v1", "Statement/v0.2", "_type is"},
		{"_type missing", `"_type": "https://in-toto.io/Statement/v1",`, ``, "_type is"},
		{"_type twice", `"_type":`, `"_type": "https://in-toto.io/Statement/v1", "_type":`, "duplicate_key"},
		{"no predicate type", `"predicateType": "https://slsa.dev/provenance/v1",`, ``, "no predicate type"},
		{"empty predicate type", `"https://slsa.dev/provenance/v1"`, `""`, "expected text"},
		{"predicate type is no string", `"https://slsa.dev/provenance/v1"`, `[]`, "expected a string"},
		{"predicate type twice", `"predicateType"`, `"predicateType": "https://slsa.dev/provenance/v1", "predicateType"`, "duplicate_key"},
		{"predicate type twice, one of them ours", `"_type"`, `"predicateType": "https://mcpsign.github.io/definitions/v1", "_type"`, "duplicate_key"},
		{"predicate is an array", `"predicate": {"big"`, `"predicate": [], "p": {"big"`, "expected an object"},
		{"predicate is null", `"predicate": {"big"`, `"predicate": null, "p": {"big"`, "expected an object"},
		{"predicate twice", `"x-extension"`, `"predicate": {}, "x-extension"`, "duplicate_key"},
		{"member of the predicate twice", `{"big"`, `{"big": 1, "big"`, "duplicate_key"},
		{"member of an extension twice", `{"y": -0}`, `{"y": 0, "\u0079": 0}`, "duplicate_key"},
		{"not UTF-8", `"x-extension"`, "\"\xff\"", "invalid_utf8"},
		{"lone surrogate", `"x-extension"`, `"\ud800"`, "lone_surrogate"},
		{"deep", `{"y": -0}`, strings.Repeat("[", 100) + strings.Repeat("]", 100), "too_deep"},
		{"trailing bytes", `{"y": -0}` + "\n}", `{"y": -0}}{}`, "trailing_data"},
		{"cut off", `{"y": -0}` + "\n}", ``, "json_syntax"},
		{"byte order mark", `{` + "\n" + `  "predicateType"`, "\ufeff{" + `"predicateType"`, "bom"},

		{"no subjects", between(goodForeign, "{\"name\": \"tool:echo\"", "\n  ],"), ``, "no subjects"},
		{"subjects missing", `"subject"`, `"subjects"`, "no subjects"},
		{"subject is an object", `"subject": [`, `"subject": {}, "s": [`, "expected an array"},
		{"subject is a string", tool, `"tool:echo"`, "expected an object"},
		{"name is no string", `"tool:echo"`, `1`, "expected a string"},
		{"name twice in a subject", `"name": "tool:echo"`, `"name": "tool:echo", "name": "tool:echo"`, "duplicate_key"},
		{"digest is a string", `{"gitCommit": "3f9c"}`, `"3f9c"`, "expected an object"},
		{"digest is no string", `"3f9c"`, `1`, "expected a string"},
		{"digest of a definition in upper case", hexB, strings.ToUpper(hexB), "64 lower-case hexadecimal digits"},
		{"digest of a definition too short", hexB, hexB[1:], "64 lower-case hexadecimal digits"},
		{"digest of a definition empty", hexB, "", "64 lower-case hexadecimal digits"},
		{"digest of a definition of nothing", hexB, strings.Repeat("0", 64), "hexadecimal"},
		{"definition twice", tool, tool + "," + tool, "is there twice"},
		{"definition twice with another digest", "prompt:review", "tool:echo", "is there twice"},
		{"too many subjects", tool, strings.Repeat("{},", MaxSubjects) + tool, "more than 1024 subjects"},
	})
	_, err := ParseAny([]byte(strings.Repeat(" ", MaxPayload+1)))
	wantError(t, err, "more than 1048576 bytes")
}

// Foreign writes the predicate in RFC 8785 form over the definitions given.
func TestForeignBytes(t *testing.T) {
	echo := listing(t, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	s := made(t)(Foreign(echo.Definitions, "https://slsa.dev/provenance/v1", []byte("{\"b\": 1.0, \"a\": [\"\\u0041\"]}\n")))
	want := `{"_type":"https://in-toto.io/Statement/v1","predicate":{"a":["A"],"b":1},"predicateType":"https://slsa.dev/provenance/v1",` +
		`"subject":[{"digest":{"sha256":"a85008edb2a361a39358ef9a40ccff45a3a4938fd90bb7d55450a050284e4723"},"name":"tool:echo"}]}`
	if string(s.Bytes()) != want {
		t.Errorf("got  %s\nwant %s", s.Bytes(), want)
	}
	l := listing(t, weather)
	p, _ := made(t)(Foreign(l.Definitions, "urn:x", []byte(`{}`))).Foreign()
	if got := p.Subjects(); !slices.Equal(got, subjectsOf(l.Definitions)) {
		t.Errorf("subjects = %v", got)
	}
}

func TestRefuseMakingForeign(t *testing.T) {
	l := listing(t, weather)
	const slsa = "https://slsa.dev/provenance/v1"
	for _, tt := range []struct {
		name            string
		ds              []lock.Definition
		typ, text, want string
	}{
		{"no definitions", nil, slsa, `{}`, "no subjects"},
		{"zero definition", make([]lock.Definition, 1), slsa, `{}`, "has no digest"},
		{"definition twice", append(l.Definitions, l.Definitions...), slsa, `{}`, "there twice"},
		{"too many", tools(t, MaxSubjects+1).Definitions, slsa, `{}`, "at most 1024"},
		{"no type", l.Definitions, ``, `{}`, "no absolute URI"},
		{"type without a scheme", l.Definitions, `slsa.dev/provenance/v1`, `{}`, "no absolute URI"},
		{"type with a space", l.Definitions, `https://slsa.dev/ provenance`, `{}`, "no absolute URI"},
		{"type with an escape sequence", l.Definitions, "x:\x1b[31m", `{}`, `"x:\x1b[31m" is no absolute URI`},
		{"type of 4,097 bytes", l.Definitions, "x:" + strings.Repeat("a", 4095), `{}`, "no absolute URI"},
		{"type of a release", l.Definitions, PredicateType, `{}`, "one of our own formats"},
		{"no predicate", l.Definitions, slsa, ``, "json_syntax"},
		{"predicate is an array", l.Definitions, slsa, `[]`, "not a JSON object"},
		{"predicate is null", l.Definitions, slsa, `null`, "not a JSON object"},
		{"member twice", l.Definitions, slsa, `{"a":1,"a":1}`, "duplicate_key"},
		{"number out of range", l.Definitions, slsa, `{"a":1e300}`, "number_out_of_range"},
		{"two values", l.Definitions, slsa, `{}{}`, "trailing_data"},
		{"an end of its own", l.Definitions, slsa, `{}},"predicateType":"x",{`, "trailing_data"},
		{"too deep for a statement", l.Definitions, slsa, `{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, "too_deep"},
		{"too large", l.Definitions, slsa, `{"a":"` + strings.Repeat("a", MaxPayload) + `"}`, "more than 1048576 bytes"},
		{"too large together", l.Definitions, slsa, `{"a":"` + strings.Repeat("a", MaxPayload-100) + `"}`, "at most 1048576 can be signed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Foreign(tt.ds, tt.typ, []byte(tt.text))
			wantError(t, err, tt.want)
			if s != nil {
				t.Error("a statement came with the error")
			}
		})
	}
}
