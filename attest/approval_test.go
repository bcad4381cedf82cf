package attest

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// goodApproval is an approval with every member, which each refusal changes in
// one place.
const goodApproval = `{"_type":"https://in-toto.io/Statement/v1","predicate":{` +
	`"audience":"prod.corp.example","expiresAt":"2027-05-30T12:00:00Z","issuedAt":"2026-11-30T12:00:00Z",` +
	`"notes":"read in full","recipe":"mcp-definition/v1",` +
	`"replaces":{"tool:echo":{"sha256":"` + hexC + `"}},"server":{"name":"acme/weather"}},` +
	`"predicateType":"https://mcpsign.github.io/approval/v1","subject":[` +
	`{"digest":{"sha256":"` + hexA + `"},"name":"prompt:review"},{"digest":{"sha256":"` + hexB + `"},"name":"tool:echo"}]}`

const hexC = "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

func TestRefuseApproval(t *testing.T) {
	const first = `{"digest":{"sha256":"` + hexA + `"},"name":"prompt:review"}`
	const second = `{"digest":{"sha256":"` + hexB + `"},"name":"tool:echo"}`
	many := make([]string, MaxSubjects+1)
	for i := range many {
		many[i] = `"tool:` + strings.Repeat("a", i+1) + `":{"sha256":"` + hexA + `"}`
	}
	wantRefused(t, goodApproval, []refusal{
		{"audience missing", `"audience":"prod.corp.example",`, ``, `missing member "audience"`},
		{"expiresAt missing", `"expiresAt":"2027-05-30T12:00:00Z",`, ``, `missing member "expiresAt"`},
		{"issuedAt missing", `"issuedAt":"2026-11-30T12:00:00Z",`, ``, `missing member "issuedAt"`},
		{"recipe missing", `"recipe":"mcp-definition/v1",`, ``, `missing member "recipe"`},
		{"server missing", `,"server":{"name":"acme/weather"}`, ``, `missing member "server"`},
		{"server name missing", `{"name":"acme/weather"}`, `{}`, `missing member "name"`},
		{"predicate missing", between(goodApproval, `"predicate":{`, `"predicateType"`), ``, `missing member "predicate"`},
		{"subjects missing", between(goodApproval, `,"subject":[`, `]}`) + `]`, ``, `missing member "subject"`},

		{"unknown member", `"notes"`, `"node":1,"notes"`, `unknown member "node"`},
		{"member of another predicate", `"notes"`, `"kinds":["tool"],"notes"`, `unknown member "kinds"`},
		{"unknown member with an escape sequence", `"notes"`, `"\u001b[31m":1,"notes"`, `unknown member "\x1b[31m"`},
		{"unknown member of server", `{"name":"acme/weather"}`, `{"name":"acme/weather","version":"1"}`, `unknown member "version"`},
		{"unknown member of the statement", `,"subject"`, `,"subjects":[],"subject"`, `unknown member "subjects"`},
		{"unknown member of a subject", first, `{"annotations":{"reason":"x"},` + first[1:], `unknown member "annotations"`},
		{"audience twice", `"expiresAt"`, `"audience":"prod.corp.example","expiresAt"`, "duplicate_key"},
		{"server twice", `"server":{`, `"server":{"name":"acme/weather"},"server":{`, "duplicate_key"},
		{"notes twice, once escaped", `"notes":`, `"\u006eotes":"x","notes":`, "duplicate_key"},

		{"audience is no string", `"prod.corp.example"`, `["prod.corp.example"]`, "expected a string"},
		{"audience is null", `"prod.corp.example"`, `null`, "expected a string"},
		{"audience empty", `"prod.corp.example"`, `""`, "audience has 0 bytes"},
		{"audience of 256 bytes", `prod.corp.example`, strings.Repeat("a", 256), "audience has 256 bytes"},
		{"audience with a space", `prod.corp.example`, `prod corp`, "audience prod corp has a space"},
		{"audience with a look-alike", `prod.corp.example`, "prod.c\u043erp.example", "not visible ASCII"},
		{"audience with an escape sequence", `prod.corp.example`, `\u001b[31m`, `audience \u{1b}[31m has`},
		{"audience with DEL", `prod.corp.example`, "prod\x7f", `audience prod\u{7f} has`},
		{"notes are no string", `"read in full"`, `{}`, "expected a string"},
		{"notes empty", `"read in full"`, `""`, "expected text or no member"},
		{"notes of 4,097 bytes", `read in full`, strings.Repeat("n", 4097), "the text of notes has more than 4096 bytes"},
		{"server is a string", `{"name":"acme/weather"}`, `"acme/weather"`, "expected an object"},
		{"server name empty", `acme/weather`, ``, "server name has 0 bytes"},
		{"server name is a pattern", `acme/weather`, `acme/*`, "has the character '*'"},
		{"server name is no string", `"acme/weather"`, `1`, "expected a string"},
		{"recipe of another version", "mcp-definition/v1", "mcp-definition/v2", "recipe is mcp-definition/v2"},
		{"recipe is no string", `"mcp-definition/v1"`, `1`, "expected a string"},

		{"issuedAt with an offset", "2026-11-30T12:00:00Z", "2026-11-30T12:00:00+00:00", "not a time"},
		{"issuedAt with a fraction", "2026-11-30T12:00:00Z", "2026-11-30T12:00:00.5Z", "not a time"},
		{"issuedAt is a number", `"2026-11-30T12:00:00Z"`, "1796040000", "expected a string"},
		{"expiresAt null", `"2027-05-30T12:00:00Z"`, "null", "expected a string"},
		{"expiresAt on no day", "2027-05-30", "2027-02-30", "not a time"},
		{"expiresAt equal to issuedAt", "2027-05-30T12:00:00Z", "2026-11-30T12:00:00Z", "expiresAt is not after issuedAt"},
		{"expiresAt before issuedAt", "2027-05-30T12:00:00Z", "2026-11-30T11:59:59Z", "expiresAt is not after issuedAt"},

		{"replaces is an array", `{"tool:echo":{"sha256":"` + hexC + `"}}`, `[]`, "expected an object"},
		{"replaces empty", `{"tool:echo":{"sha256":"` + hexC + `"}}`, `{}`, "expected elements or no member"},
		{"replaces a digest with a prefix", hexC, "sha256:" + hexC[7:], "hexadecimal"},
		{"replaces a digest in upper case", hexC, strings.ToUpper(hexC), "64 lower-case hexadecimal digits"},
		{"replaces a string", `{"sha256":"` + hexC + `"}`, `"` + hexC + `"`, "expected an object"},
		{"replaces another algorithm", `"sha256":"` + hexC + `"`, `"sha512":"` + hexC + `"`, `unknown member "sha512"`},
		{"replaces no digest", `"sha256":"` + hexC + `"`, ``, `missing member "sha256"`},
		{"replaces itself", hexC, hexB, "or that of the subject itself"},
		{"replaces no subject", `"replaces":{"tool:echo"`, `"replaces":{"tool:other"`, "replaces names tool:other, which is no subject"},
		{"replaces an escape sequence", `"replaces":{"tool:echo"`, `"replaces":{"\u001b[31m"`, `replaces names \u{1b}[31m`},
		{"replaces a name of 100,000 bytes", `"replaces":{"tool:echo"`, `"replaces":{"` + strings.Repeat("x", 100_000) + `"`, strings.Repeat("x", 400) + "..., which is no subject"},
		{"replaces a subject twice", `"replaces":{`, `"replaces":{"tool:echo":{"sha256":"` + hexA + `"},`, "duplicate_key"},
		{"replaces too many", `"tool:echo":{"sha256":"` + hexC + `"}`, strings.Join(many, ","), "more than 1024 subjects"},

		{"no subjects", first + "," + second, ``, "no subjects"},
		{"subjects in another order", first + "," + second, second + "," + first, "there twice"},
		{"subject twice", first, first + "," + first, "there twice"},
		{"subject of two digests", first, first + "," + strings.Replace(first, hexA, hexC, 1), "there twice"},
		{"subject of no kind", "prompt:review", "statement:" + hexA, "is no definition"},
		{"subject that stands for nothing", "prompt:review", "nothing:", "is no definition"},
		{"subject digest in upper case", hexA, strings.ToUpper(hexA), "64 lower-case hexadecimal digits"},
		{"subject digest missing", `"digest":{"sha256":"` + hexA + `"},`, ``, `missing member "digest"`},
		{"subject without sha256", `{"sha256":"` + hexA + `"}`, `{"sha512":"` + hexA + `"}`, `unknown member "sha512"`},

		{"wrong _type", "Statement/v1", "Statement/v0.1", "_type is"},
		{"trailing bytes", `"name":"tool:echo"}]}`, `"name":"tool:echo"}]} {}`, "trailing_data"},
		{"white space", `"notes":"`, `"notes": "`, "not in RFC 8785 form"},
		{"members in another order", `"audience":"prod.corp.example","expiresAt":"2027-05-30T12:00:00Z"`,
			`"expiresAt":"2027-05-30T12:00:00Z","audience":"prod.corp.example"`, "not in RFC 8785 form"},
		{"escaped letter", `"read in full"`, `"\u0072ead in full"`, "not in RFC 8785 form"},
	})
}

// Approve and ParseAny are a pair, with and without each optional member.
func TestApproveRoundTrip(t *testing.T) {
	l := listing(t, weather)
	for name, edit := range map[string]func(*Approval){
		"all members":         func(*Approval) {},
		"no notes":            func(a *Approval) { a.Notes = "" },
		"no replaced":         func(a *Approval) { a.Replaces = nil },
		"empty map":           func(a *Approval) { a.Replaces = map[string]lock.Digest{} },
		"longest audience":    func(a *Approval) { a.Audience = strings.Repeat("~", 255) },
		"longest notes":       func(a *Approval) { a.Notes = strings.Repeat("\x00", 4096) },
		"shortest life":       func(a *Approval) { a.ExpiresAt = a.IssuedAt.Add(time.Second) },
		"first and last time": func(a *Approval) { a.IssuedAt, a.ExpiresAt = time.Unix(0, 0).UTC(), time.Unix(253402300799, 0).UTC() },
	} {
		t.Run(name, func(t *testing.T) {
			a := approvalOf(t)
			edit(&a)
			s := made(t)(Approve(l.Definitions, a))
			again := made(t)(ParseAny(s.Bytes()))
			if string(again.Bytes()) != string(s.Bytes()) || !sameMeaning(s, again) {
				t.Errorf("ParseAny gives %s", again.Bytes())
			}
			if len(a.Replaces) == 0 {
				a.Replaces = nil
			}
			if got, ok := again.Approval(); !ok || !reflect.DeepEqual(got, a) {
				t.Errorf("approval = %+v, %v\nwant       %+v", got, ok, a)
			}
			if got := again.Approved(); !slices.Equal(got, subjectsOf(l.Definitions)) {
				t.Errorf("approved = %v", got)
			}
		})
	}
}

// An approval is of the very definitions, and of no others.
func TestApproves(t *testing.T) {
	l := listing(t, weather)
	a := approvalOf(t)
	delete(a.Replaces, "tool:get_forecast")
	s := made(t)(Approve(l.Definitions[:2], a))
	for i, d := range l.Definitions {
		x := Subject{d.Kind(), d.Name(), d.Digest()}
		if s.Approves(x) != (i < 2) {
			t.Errorf("Approves(%v) = %v", x, s.Approves(x))
		}
		x.Digest[0] ^= 1
		if s.Approves(x) {
			t.Errorf("a definition of another digest is approved: %v", x)
		}
	}
	for _, x := range []Subject{{}, {Kind: lock.Tool}, {Kind: lock.Instructions}} {
		if s.Approves(x) {
			t.Errorf("Approves(%v)", x)
		}
	}
}

// Approve refuses what ParseAny would.
func TestRefuseApprove(t *testing.T) {
	l := listing(t, weather)
	twice := append(slices.Clone(l.Definitions), listing(t, `{"tools":[{"name":"get_alerts","x":1}]}`).Definitions...)
	for _, tt := range []struct {
		name string
		ds   []lock.Definition
		edit func(*Approval)
		want string
	}{
		{"zero", l.Definitions, func(a *Approval) { *a = Approval{} }, "server name has 0 bytes"},
		{"no definitions", nil, func(*Approval) {}, "no subjects"},
		{"zero definition", make([]lock.Definition, 1), func(a *Approval) { a.Replaces = nil }, "has no digest"},
		{"a name twice", twice, func(*Approval) {}, "there twice"},
		{"too many", tools(t, MaxSubjects+1).Definitions, func(*Approval) {}, "1025 subjects, at most 1024"},
		{"no audience", l.Definitions, func(a *Approval) { a.Audience = "" }, "audience has 0 bytes"},
		{"audience with a newline", l.Definitions, func(a *Approval) { a.Audience = "a\nb" }, `audience a\nb has a space`},
		{"notes are no UTF-8", l.Definitions, func(a *Approval) { a.Notes = "\xff" }, "not UTF-8"},
		{"no issuedAt", l.Definitions, func(a *Approval) { a.IssuedAt = time.Time{} }, "issuedAt is missing"},
		{"no expiresAt", l.Definitions, func(a *Approval) { a.ExpiresAt = time.Time{} }, "expiresAt is not after"},
		{"expiresAt with a fraction", l.Definitions, func(a *Approval) { a.ExpiresAt = a.ExpiresAt.Add(1) }, "no whole second"},
		{"replaces no subject", l.Definitions, func(a *Approval) { a.Replaces["tool:other"] = digest(t, "a") }, "replaces names tool:other"},
		{"replaces no digest", l.Definitions, func(a *Approval) { a.Replaces["prompt:review"] = lock.Digest{} }, "no digest for prompt:review"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := approvalOf(t)
			tt.edit(&a)
			s, err := Approve(tt.ds, a)
			wantError(t, err, tt.want)
			if s != nil {
				t.Error("a statement came with the error")
			}
		})
	}
}

// What an approval hands out does not change it, nor does what it was made of.
func TestApprovalIndependent(t *testing.T) {
	a := approvalOf(t)
	want := maps.Clone(a.Replaces)
	s := made(t)(Approve(listing(t, weather).Definitions, a))
	clear(a.Replaces)
	got, _ := s.Approval()
	clear(got.Replaces)
	s.Approved()[0].Name = "other"
	if got, _ := s.Approval(); !maps.Equal(got.Replaces, want) || s.Approved()[0].Name == "other" {
		t.Errorf("the approval has changed: %+v", got)
	}
}
