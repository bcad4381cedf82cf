package attest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// good is a statement with every member, which each refusal changes in one
// place.
const good = `{"_type":"https://in-toto.io/Statement/v1","predicate":{` +
	`"artifacts":[{"digest":{"sha512":"aa"},"uri":"pkg:npm/a@1"}],"complete":true,` +
	`"expiresAt":"2027-11-30T12:00:00Z","issuedAt":"2026-11-30T12:00:00Z","kinds":["prompt","tool"],` +
	`"protocolVersion":"2025-11-25","recipe":"mcp-definition/v1","sequence":1796040000,` +
	`"server":{"name":"acme/weather","origins":["https://a.example"],"purls":["pkg:npm/a@1"],"version":"1.4.2"},` +
	`"source":{"digest":{"gitCommit":"3f9c"},"uri":"git+https://a.example"},"variant":"v"},` +
	`"predicateType":"https://mcpsign.github.io/definitions/v1","subject":[` +
	`{"digest":{"sha256":"` + hexA + `"},"name":"prompt:review"},{"digest":{"sha256":"` + hexB + `"},"name":"tool:echo"}]}`

const (
	hexA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	hexB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// edited returns good with one replacement, which must be one.
func edited(t *testing.T, old, new string) string {
	t.Helper()
	return replaced(t, good, old, new)
}

func TestRefuse(t *testing.T) {
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	const notCanonical = "not in RFC 8785 form"
	for _, tt := range []struct{ name, old, new, want string }{
		// The statement.
		{"wrong _type", "Statement/v1", "Statement/v0.1", "_type is https://in-toto.io/Statement/v0.1"},
		{"_type of another case", "in-toto.io/Statement", "in-toto.io/statement", "_type is"},
		{"_type with an escape sequence", `"https://in-toto.io/Statement/v1"`, `"\u001b[31m"`, `_type is \u{1b}[31m`},
		{"_type missing", `"_type":"https://in-toto.io/Statement/v1",`, ``, "_type is"},
		{"_type is no string", `"https://in-toto.io/Statement/v1"`, `1`, "expected a string"},
		{"_type twice", `{"_type"`, `{"_type":"https://in-toto.io/Statement/v1","_type"`, "duplicate_key"},
		{"_type twice, once escaped", `{"_type"`, `{"\u005ftype":"https://in-toto.io/Statement/v1","_type"`, "duplicate_key"},
		{"unknown member", `,"subject"`, `,"statement":1,"subject"`, `unknown member "statement"`},
		{"predicate missing", good[strings.Index(good, `"predicate":{`):strings.Index(good, `"predicateType"`)], ``, `missing member "predicate"`},
		{"predicate is an array", `"predicate":{`, `"predicate":[],"x":{`, "expected an object"},
		{"predicate type missing", `"predicateType":"https://mcpsign.github.io/definitions/v1",`, ``, "predicate type ,"},
		{"not an object", good, `[]`, "expected an object"},
		{"nothing", good, ``, "json_syntax"},
		{"trailing bytes", `"name":"tool:echo"}]}`, `"name":"tool:echo"}]}{}`, "trailing_data"},
		{"byte order mark", `{"_type"`, "\ufeff" + `{"_type"`, "bom"},
		{"not UTF-8", `"version":"1.4.2"`, "\"version\":\"\xff\"", "invalid_utf8"},
		{"lone surrogate", `"version":"1.4.2"`, `"version":"\ud800"`, "lone_surrogate"},
		{"deep", `"variant":"v"`, `"variant":` + strings.Repeat("[", 100) + strings.Repeat("]", 100), "too_deep"},

		// The subjects.
		{"subjects missing", `,"subject":[`, `,"subjects":[`, "unknown member"},
		{"no subjects", good[strings.Index(good, `{"digest":{"sha256"`) : len(good)-2], ``, "no subjects"},
		{"subject is no object", `{"digest":{"sha256":"` + hexA + `"},"name":"prompt:review"}`, `"prompt:review"`, "expected an object"},
		{"name twice", `prompt:review`, `tool:echo`, "name is there twice"},
		{"name missing", `,"name":"prompt:review"`, ``, `missing member "name"`},
		{"name is no string", `"prompt:review"`, `null`, "expected a string"},
		{"name of an unknown kind", `prompt:review`, `resource:review`, "resource:review is no definition"},
		{"name without a kind", `prompt:review`, `review`, "review is no definition"},
		{"name without a name", `prompt:review`, `prompt:`, "prompt: is no definition"},
		{"name of an upper-case kind", `prompt:review`, `Prompt:review`, "Prompt:review is no definition"},
		{"name with an escape sequence", `prompt:review`, `\u001b[31m`, `\u{1b}[31m is no definition`},
		{"named instructions", `prompt:review`, `instructions:x`, "instructions:x is no definition"},
		{"digest missing", `{"digest":{"sha256":"` + hexA + `"},"name"`, `{"name"`, `missing member "digest"`},
		{"digest is a string", `{"sha256":"` + hexA + `"}`, `"` + hexA + `"`, "expected an object"},
		{"digest without sha256", `"sha256":"` + hexA + `"`, ``, `missing member "sha256"`},
		{"digest of another algorithm", `"sha256":"` + hexA + `"`, `"sha512":"` + hexA + hexA + `"`, `unknown member "sha512"`},
		{"digest of two algorithms", `"sha256":"` + hexA + `"`, `"sha256":"` + hexA + `","sha512":"` + hexB + `"`, `unknown member "sha512"`},
		{"digest twice", `"sha256":"` + hexA + `"`, `"sha256":"` + hexA + `","sha256":"` + hexA + `"`, "duplicate_key"},
		{"digest in upper case", hexA, strings.ToUpper(hexA), "64 lower-case hexadecimal digits"},
		{"digest too short", hexA, hexA[1:], "64 lower-case hexadecimal digits"},
		{"digest too long", hexA, hexA + "a", "64 lower-case hexadecimal digits"},
		{"digest is no hexadecimal", hexA, "g" + hexA[1:], "hexadecimal"},
		{"digest with a prefix", hexA, "sha256:" + hexA[7:], "hexadecimal"},
		{"digest of nothing", hexA, strings.Repeat("0", 64), "hexadecimal"},
		{"unknown member of a subject", `,"name":"prompt:review"`, `,"name":"prompt:review","uri":"x"`, `unknown member "uri"`},
		{"member of a subject twice", `,"name":"prompt:review"`, `,"name":"prompt:review","name":"prompt:review"`, "duplicate_key"},

		// The predicate.
		{"unknown member of the predicate", `"variant":"v"`, `"variant":"v","zone":1`, `unknown member "zone"`},
		{"unknown member with an escape sequence", `"variant":"v"`, `"variant":"v","\u001b[31m":1`, `unknown member "\x1b[31m"`},
		{"member of the predicate twice", `"variant":"v"`, `"variant":"v","variant":"v"`, "duplicate_key"},
		{"complete missing", `"complete":true,`, ``, `missing member "complete"`},
		{"issuedAt missing", `"issuedAt":"2026-11-30T12:00:00Z",`, ``, `missing member "issuedAt"`},
		{"kinds missing", `"kinds":["prompt","tool"],`, ``, `missing member "kinds"`},
		{"recipe missing", `"recipe":"mcp-definition/v1",`, ``, `missing member "recipe"`},
		{"sequence missing", `"sequence":1796040000,`, ``, `missing member "sequence"`},
		{"server missing", good[strings.Index(good, `"server":`):strings.Index(good, `"source":`)], ``, `missing member "server"`},
		{"variant missing", `,"variant":"v"`, ``, `missing member "variant"`},
		{"recipe of another version", "mcp-definition/v1", "mcp-definition/v2", "recipe is mcp-definition/v2"},
		{"complete is no boolean", `"complete":true`, `"complete":"true"`, "expected true or false"},
		{"complete is null", `"complete":true`, `"complete":null`, "expected true or false"},
		{"variant is null", `"variant":"v"`, `"variant":null`, "expected a string"},
		{"variant of 4 KiB", `"variant":"v"`, `"variant":"` + strings.Repeat("v", 4097) + `"`, "more than 4096 bytes"},

		{"server is a string", `"server":{`, `"server":"acme/weather","service":{`, "expected an object"},
		{"server name missing", `"name":"acme/weather",`, ``, `missing member "name"`},
		{"server name empty", `acme/weather`, ``, "server name has 0 bytes"},
		{"server name with a space", `acme/weather`, `acme/ weather`, "has the character ' '"},
		{"server name with a look-alike", `acme/weather`, "\u0430cme/weather", `has the character '\u0430'`},
		{"server name with an empty segment", `acme/weather`, `acme//weather`, "segment"},
		{"server name going up", `acme/weather`, `acme/../weather`, "segment"},
		{"unknown member of server", `"version":"1.4.2"`, `"version":"1.4.2","website":"x"`, `unknown member "website"`},
		{"member of server twice", `"version":"1.4.2"`, `"version":"1.4.2","version":"1.4.2"`, "duplicate_key"},
		{"version empty", `"version":"1.4.2"`, `"version":""`, "expected text or no member"},
		{"protocol version empty", `"protocolVersion":"2025-11-25"`, `"protocolVersion":""`, "expected text or no member"},
		{"purls empty", `"purls":["pkg:npm/a@1"]`, `"purls":[]`, "expected elements or no member"},
		{"empty purl", `"purls":["pkg:npm/a@1"]`, `"purls":[""]`, "purl or origin is empty"},
		{"purl is a number", `"purls":["pkg:npm/a@1"]`, `"purls":[1]`, "expected a string"},
		{"origins empty", `"origins":["https://a.example"]`, `"origins":[]`, "expected elements or no member"},
		{"origins is a string", `"origins":["https://a.example"]`, `"origins":"https://a.example"`, "expected an array"},

		{"sequence 0", "1796040000", "0", "not between 1 and 2^53-1"},
		{"sequence 2^53", "1796040000", "9007199254740992", "number_out_of_range"},
		{"sequence 1.5", "1796040000", "1.5", "no integer between 1 and 2^53-1"},
		{"sequence -1", "1796040000", "-1", "no integer between 1 and 2^53-1"},
		{"sequence -0", "1796040000", "-0", "not between 1 and 2^53-1"},
		{"sequence is a string", "1796040000", `"1796040000"`, "expected a number"},
		{"sequence 1e3", "1796040000", "1e3", notCanonical},
		{"sequence 1.0", "1796040000", "1.0", notCanonical},

		{"kinds empty", `["prompt","tool"]`, `[]`, "expected elements or no member"},
		{"kinds unsorted", `["prompt","tool"]`, `["tool","prompt"]`, "kinds are missing, not sorted"},
		{"kind twice", `["prompt","tool"]`, `["prompt","prompt","tool"]`, "there twice"},
		{"unknown kind", `["prompt","tool"]`, `["prompt","resource","tool"]`, "kind resource is not known"},
		{"kind of a subject missing", `["prompt","tool"]`, `["tool"]`, "its kind is not among the kinds"},

		{"issuedAt with an offset", "2026-11-30T12:00:00Z", "2026-11-30T12:00:00+00:00", "not a time"},
		{"issuedAt with a fraction", "2026-11-30T12:00:00Z", "2026-11-30T12:00:00.0Z", "not a time"},
		{"issuedAt with a lower-case z", "2026-11-30T12:00:00Z", "2026-11-30T12:00:00z", "not a time"},
		{"issuedAt with a lower-case t", "2026-11-30T12:00:00Z", "2026-11-30t12:00:00Z", "not a time"},
		{"issuedAt with a space", "2026-11-30T12:00:00Z", "2026-11-30 12:00:00Z", "not a time"},
		{"issuedAt with a leap second", "2026-11-30T12:00:00Z", "2026-12-31T23:59:60Z", "not a time"},
		{"issuedAt on no day", "2026-11-30T12:00:00Z", "2026-11-31T12:00:00Z", "not a time"},
		{"issuedAt is a number", `"2026-11-30T12:00:00Z"`, "1796040000", "expected a string"},
		{"issuedAt before 1970", "2026-11-30T12:00:00Z", "1969-12-31T23:59:59Z", "not a time"},
		{"expiresAt equal to issuedAt", "2027-11-30T12:00:00Z", "2026-11-30T12:00:00Z", "expiresAt is not after issuedAt"},
		{"expiresAt before issuedAt", "2027-11-30T12:00:00Z", "2026-11-30T11:59:59Z", "expiresAt is not after issuedAt"},
		{"expiresAt in year 1", "2027-11-30T12:00:00Z", "0001-01-01T00:00:00Z", "not a time"},
		{"expiresAt null", `"2027-11-30T12:00:00Z"`, "null", "expected a string"},

		{"source empty", `{"digest":{"gitCommit":"3f9c"},"uri":"git+https://a.example"}`, `{}`, "neither uri nor digest"},
		{"source is a string", `{"digest":{"gitCommit":"3f9c"},"uri":"git+https://a.example"}`, `"x"`, "expected an object"},
		{"unknown member of source", `"uri":"git+https://a.example"`, `"name":"x","uri":"git+https://a.example"`, `unknown member "name"`},
		{"source without a URI in it", `"uri":"git+https://a.example"`, `"uri":""`, "expected text or no member"},
		{"source digest in upper case", `"3f9c"`, `"3F9C"`, "not lower-case hexadecimal"},
		{"source digest empty", `"3f9c"`, `""`, "not lower-case hexadecimal"},
		{"source digest of no algorithm", `"gitCommit"`, `""`, "not lower-case hexadecimal"},
		{"source with an empty digest set", `{"gitCommit":"3f9c"}`, `{}`, "a digest set is empty"},
		{"artifacts empty", `[{"digest":{"sha512":"aa"},"uri":"pkg:npm/a@1"}]`, `[]`, "expected elements or no member"},
		{"artifact is empty", `{"digest":{"sha512":"aa"},"uri":"pkg:npm/a@1"}`, `{}`, "neither uri nor digest"},
		{"artifact is null", `{"digest":{"sha512":"aa"},"uri":"pkg:npm/a@1"}`, `null`, "expected an object"},

		// The form.
		{"white space before", `{"_type"`, ` {"_type"`, notCanonical},
		{"white space after", `"name":"tool:echo"}]}`, `"name":"tool:echo"}]}` + "\n", notCanonical},
		{"white space inside", `"complete":true`, `"complete": true`, notCanonical},
		{"members of a subject in another order", `{"digest":{"sha256":"` + hexA + `"},"name":"prompt:review"}`, `{"name":"prompt:review","digest":{"sha256":"` + hexA + `"}}`, notCanonical},
		{"members of the predicate in another order", `"sequence":1796040000`, `"variant":"v","sequence":1796040000`, "duplicate_key"},
		{"escaped letter", `"prompt:review"`, `"prompt:\u0072eview"`, notCanonical},
		{"escaped slash", `"acme/weather"`, `"acme\/weather"`, notCanonical},
		{"escaped member name", `"complete"`, `"\u0063omplete"`, notCanonical},
	} {
		t.Run(tt.name, func(t *testing.T) {
			payload := []byte(edited(t, tt.old, tt.new))
			s, err := Parse(payload)
			wantError(t, err, tt.want)
			if s != nil {
				t.Error("a statement came with the error")
			}
			if s, err := ParseAny(payload); err == nil || s != nil {
				t.Errorf("ParseAny = %v, %v", s, err)
			}
			if foreign := (*ForeignError)(nil); errors.As(err, &foreign) != strings.Contains(tt.want, "predicate type") {
				t.Errorf("error is %T", err)
			}
		})
	}
}

func TestRefuseSize(t *testing.T) {
	_, err := Parse([]byte(strings.Repeat(" ", MaxPayload+1)))
	wantError(t, err, "more than 1048576 bytes")

	many := make([]string, MaxSubjects+1)
	for i := range many {
		many[i] = `{"digest":{"sha256":"` + hexA + `"},"name":"tool:` + strings.Repeat("a", i+1) + `"}`
	}
	subjects := good[strings.Index(good, `{"digest":{"sha256"`) : len(good)-2]
	_, err = Parse([]byte(edited(t, subjects, strings.Join(many, ","))))
	wantError(t, err, "more than 1024 subjects")
	if _, err = Parse([]byte(edited(t, subjects, strings.Join(many[:MaxSubjects], ",")))); err != nil {
		t.Error(err)
	}

	long := listing(t, `{"tools":[{"name":"`+strings.Repeat("a", MaxPayload-100)+`"}]}`)
	_, err = Definitions(long, release())
	wantError(t, err, "at most 1048576 can be signed")
}

// A statement of another kind is told apart, whatever its predicate looks like.
func TestForeign(t *testing.T) {
	const slsa = "https://slsa.dev/provenance/v1"
	for _, payload := range []string{
		`{"_type":"https://in-toto.io/Statement/v1","predicateType":"` + slsa + `","subject":[],"predicate":{}}`,
		`{"predicateType":"` + slsa + `", "predicate":{"n":1e300,"a":null}, "x":1, "_type":"https://in-toto.io/Statement/v1"}`,
		edited(t, "https://mcpsign.github.io/definitions/v1", slsa),
	} {
		s, err := Parse([]byte(payload))
		var foreign *ForeignError
		if !errors.As(err, &foreign) || foreign.PredicateType != slsa || s != nil {
			t.Errorf("Parse(%s) = %v, %v, want a *ForeignError", payload, s, err)
		}
	}
	for _, payload := range []string{
		`{"_type":"https://in-toto.io/Statement/v0.2","predicateType":"` + slsa + `"}`,
		`{"_type":"https://in-toto.io/Statement/v1","predicateType":"` + slsa + `","predicate":{"a":1,"a":1}}`,
		`{"_type":"https://in-toto.io/Statement/v1","predicateType":"` + slsa + `"} ` + `x`,
		`{"_type":"https://in-toto.io/Statement/v1","predicateType":1}`,
	} {
		s, err := Parse([]byte(payload))
		if foreign := (*ForeignError)(nil); err == nil || errors.As(err, &foreign) || s != nil {
			t.Errorf("Parse(%s) = %v, %v, want an error that is no *ForeignError", payload, s, err)
		}
	}
	err := (&ForeignError{"\x1b[31m"}).Error()
	if !strings.Contains(err, `\u{1b}[31m`) {
		t.Errorf("error = %q", err)
	}
}

// Definitions refuses what Parse would: what is refused is not signed.
func TestRefuseRelease(t *testing.T) {
	l := listing(t, weather)
	for _, tt := range []struct {
		name string
		edit func(*Release)
		want string
	}{
		{"zero", func(r *Release) { *r = Release{} }, "server name has 0 bytes"},
		{"no server", func(r *Release) { r.Server = "" }, "server name has 0 bytes"},
		{"server with a space", func(r *Release) { r.Server = "a b" }, "has the character ' '"},
		{"server of 256 bytes", func(r *Release) { r.Server = strings.Repeat("a", 256) }, "server name has 256 bytes"},
		{"no sequence", func(r *Release) { r.Sequence = 0 }, "sequence 0"},
		{"sequence 2^53", func(r *Release) { r.Sequence = 1 << 53 }, "sequence 9007199254740992"},
		{"no kinds", func(r *Release) { r.Kinds = nil }, "kinds are missing"},
		{"kinds unsorted", func(r *Release) { slices.Reverse(r.Kinds) }, "not sorted"},
		{"kind twice", func(r *Release) { r.Kinds = append(r.Kinds, lock.Tool) }, "there twice"},
		{"unknown kind", func(r *Release) { r.Kinds = append(r.Kinds, "zoo\x1b") }, `kind zoo\u{1b} is not known`},
		{"kind of a definition missing", func(r *Release) { r.Kinds = r.Kinds[1:] }, "subject instructions:"},
		{"no issuedAt", func(r *Release) { r.IssuedAt = time.Time{} }, "issuedAt is missing"},
		{"issuedAt with a fraction", func(r *Release) { r.IssuedAt = r.IssuedAt.Add(1) }, "whole second"},
		{"issuedAt before 1970", func(r *Release) { r.IssuedAt = time.Unix(-1, 0) }, "1970"},
		{"issuedAt in year 10000", func(r *Release) { r.IssuedAt = time.Unix(253402300800, 0) }, "9999"},
		{"issuedAt in year 10000 of UTC only", func(r *Release) {
			r.IssuedAt = time.Unix(253402300800, 0).In(time.FixedZone("", -3600))
		}, "9999"},
		{"expiresAt equal to issuedAt", func(r *Release) { r.ExpiresAt = r.IssuedAt }, "expiresAt is not after"},
		{"expiresAt before issuedAt", func(r *Release) { r.ExpiresAt = r.IssuedAt.Add(-time.Second) }, "expiresAt is not after"},
		{"expiresAt with a fraction", func(r *Release) { r.ExpiresAt = r.IssuedAt.Add(time.Second / 2) }, "expiresAt is not after"},
		{"version is no UTF-8", func(r *Release) { r.Version = "\xff" }, "not UTF-8"},
		{"variant is no UTF-8", func(r *Release) { r.Variant = "\xed\xa0\x80" }, "not UTF-8"},
		{"variant too long", func(r *Release) { r.Variant = strings.Repeat("v", 4097) }, "more than 4096 bytes"},
		{"empty purl", func(r *Release) { r.PURLs = []string{"a", ""} }, "purl or origin is empty"},
		{"empty origin", func(r *Release) { r.Origins = []string{""} }, "purl or origin is empty"},
		{"purl is no UTF-8", func(r *Release) { r.PURLs = []string{"\xff"} }, "not UTF-8"},
		{"empty source", func(r *Release) { r.Source = &Resource{} }, "neither uri nor digest"},
		{"empty artifact", func(r *Release) { r.Artifacts = []Resource{{}} }, "neither uri nor digest"},
		{"artifact digest in upper case", func(r *Release) { r.Artifacts = []Resource{{Digest: map[string]string{"sha256": "AA"}}} }, "lower-case hexadecimal"},
		{"artifact digest of no algorithm", func(r *Release) { r.Artifacts = []Resource{{Digest: map[string]string{"": "aa"}}} }, "lower-case hexadecimal"},
		{"artifact URI is no UTF-8", func(r *Release) { r.Artifacts = []Resource{{URI: "\xff"}} }, "not UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st, err := Definitions(l, release(tt.edit))
			wantError(t, err, tt.want)
			if st != nil {
				t.Error("a statement came with the error")
			}
		})
	}
}

// A listing must have definitions, and every one a digest.
func TestRefuseListing(t *testing.T) {
	for _, tt := range []struct{ name, listing, want string }{
		{"empty", `{"tools":[]}`, "no subjects"},
		{"a number out of range", `{"tools":[{"name":"a"},{"name":"b","n":1e400}]}`, "1 definitions have no digest; the first is tool:b: number_out_of_range"},
		{"a name twice", `{"tools":[{"name":"a"},{"name":"a"}]}`, "2 definitions have no digest; the first is tool:a: duplicate_name"},
		{"a name that hides", `{"tools":[{"name":"a\u001b[31m","n":1e400}]}`, `the first is tool:a\u{1b}[31m`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st, err := Definitions(listing(t, tt.listing), release())
			wantError(t, err, tt.want)
			if st != nil {
				t.Error("a statement came with the error")
			}
		})
	}
	for _, l := range []*lock.Listing{nil, {}} {
		if st, err := Definitions(l, release()); err == nil || st != nil {
			t.Errorf("Definitions(%v) = %v, %v", l, st, err)
		}
	}
	twice := listing(t, `{"tools":[{"name":"a"}]}`)
	twice.Definitions = append(twice.Definitions, listing(t, `{"tools":[{"name":"a","x":1}]}`).Definitions...)
	_, err := Definitions(twice, release())
	wantError(t, err, "name is there twice")
}
