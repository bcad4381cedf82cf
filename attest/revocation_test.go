package attest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// goodRevocation is a list with every member, which each refusal changes in one
// place.
const goodRevocation = `{"_type":"https://in-toto.io/Statement/v1","predicate":` + revocationPredicate +
	`,"predicateType":"https://mcpsign.github.io/revocation/v1","subject":[` + revokedSubjects + `]}`

const revocationPredicate = `{"issuedAt":"2026-11-30T12:00:00Z","nextUpdate":"2026-12-07T12:00:00Z","number":7,` +
	`"recipe":"mcp-definition/v1","servers":["acme/mail","acme/weather"]}`

const revokedSubjects = revokedOne + `,` + revokedTwo + `,` + revokedThree

const (
	revokedOne   = `{"digest":{"sha256":"` + hexC + `"},"name":"statement:` + hexC + `"}`
	revokedTwo   = `{"digest":{"sha256":"` + hexA + `"},"name":"tool:echo"}`
	revokedThree = `{"annotations":{"reason":"leaks"},"digest":{"sha256":"` + hexB + `"},"name":"tool:echo"}`
)

// emptyRevocation is a list that revokes nothing.
const emptyRevocation = `{"_type":"https://in-toto.io/Statement/v1","predicate":` + revocationPredicate +
	`,"predicateType":"https://mcpsign.github.io/revocation/v1","subject":[` + nothing + `]}`

const nothing = `{"digest":{"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},"name":"nothing:"}`

func TestRefuseRevocation(t *testing.T) {
	many := make([]string, MaxSubjects+1)
	names := make([]string, MaxSubjects+1)
	for i := range many {
		many[i] = fmt.Sprintf(`{"digest":{"sha256":"%s"},"name":"tool:t%04d"}`, hexA, i)
		names[i] = fmt.Sprintf(`"acme/s%04d"`, i)
	}
	wantRefused(t, goodRevocation, []refusal{
		{"issuedAt missing", `"issuedAt":"2026-11-30T12:00:00Z",`, ``, `missing member "issuedAt"`},
		{"nextUpdate missing", `"nextUpdate":"2026-12-07T12:00:00Z",`, ``, `missing member "nextUpdate"`},
		{"number missing", `"number":7,`, ``, `missing member "number"`},
		{"recipe missing", `"recipe":"mcp-definition/v1",`, ``, `missing member "recipe"`},
		{"servers missing", `,"servers":["acme/mail","acme/weather"]`, ``, `missing member "servers"`},
		{"subjects missing", `,"subject":[` + revokedSubjects + `]`, ``, `missing member "subject"`},
		{"unknown member", `"number"`, `"node":1,"number"`, `unknown member "node"`},
		{"member of another predicate", `"number"`, `"audience":"x","number"`, `unknown member "audience"`},
		{"number twice", `"number":7`, `"number":7,"number":8`, "duplicate_key"},
		{"servers twice", `"servers":[`, `"servers":["a"],"servers":[`, "duplicate_key"},

		{"number 0", `"number":7`, `"number":0`, "not between 1 and 2^53-1"},
		{"number -1", `"number":7`, `"number":-1`, "number is no integer between"},
		{"number 1.5", `"number":7`, `"number":1.5`, "number is no integer between"},
		{"number 2^53", `"number":7`, `"number":9007199254740992`, "number_out_of_range"},
		{"number 7.0", `"number":7`, `"number":7.0`, "not in RFC 8785 form"},
		{"number is a string", `"number":7`, `"number":"7"`, "expected a number"},
		{"recipe of another version", "mcp-definition/v1", "mcp-definition/v0", "recipe is"},

		{"servers empty", `["acme/mail","acme/weather"]`, `[]`, "expected elements"},
		{"servers is a string", `["acme/mail","acme/weather"]`, `"acme/mail"`, "expected an array"},
		{"servers unsorted", `["acme/mail","acme/weather"]`, `["acme/weather","acme/mail"]`, "not sorted"},
		{"server twice", `["acme/mail"`, `["acme/mail","acme/mail"`, "there twice"},
		{"too many servers", `"acme/mail","acme/weather"`, strings.Join(names, ","), "more than 1024"},
		{"server is a pattern", `"acme/mail"`, `"acme/*"`, "has the character '*'"},
		{"server is no string", `"acme/mail"`, `{"name":"acme/mail"}`, "expected a string"},
		{"server empty", `"acme/mail"`, `""`, "server name has 0 bytes"},

		{"issuedAt with an offset", "2026-11-30T12:00:00Z", "2026-11-30T12:00:00+00:00", "not a time"},
		{"issuedAt is a number", `"2026-11-30T12:00:00Z"`, "1796040000", "expected a string"},
		{"nextUpdate null", `"2026-12-07T12:00:00Z"`, "null", "expected a string"},
		{"nextUpdate with a fraction", "2026-12-07T12:00:00Z", "2026-12-07T12:00:00.1Z", "not a time"},
		{"nextUpdate equal to issuedAt", "2026-12-07T12:00:00Z", "2026-11-30T12:00:00Z", "nextUpdate is not after issuedAt"},
		{"nextUpdate before issuedAt", "2026-12-07T12:00:00Z", "2026-11-29T12:00:00Z", "nextUpdate is not after issuedAt"},

		{"no subjects", revokedSubjects, ``, "no subjects"},
		{"too many subjects", revokedSubjects, strings.Join(many, ","), "more than 1024 subjects"},
		{"subject twice", revokedTwo, revokedTwo + "," + revokedTwo, "there twice"},
		{"subject twice with another reason", revokedThree, revokedThree + "," + strings.Replace(revokedThree, "leaks", "lies", 1), "there twice"},
		{"subjects in another order", revokedTwo + "," + revokedThree, revokedThree + "," + revokedTwo, "not in order"},
		{"statement after a definition", revokedOne + "," + revokedTwo, revokedTwo + "," + revokedOne, "not in order"},
		{"nothing beside something", revokedOne, nothing + "," + revokedOne, "nothing: is no definition"},
		{"nothing twice", revokedSubjects, nothing + "," + nothing, "nothing: is no definition"},
		{"nothing of another digest", revokedSubjects, strings.Replace(nothing, "e3b0", "e3b1", 1), "nothing: is no definition"},
		{"nothing with a reason", revokedSubjects, `{"annotations":{"reason":"x"},` + nothing[1:], "nothing: is no definition"},
		{"nothing with a name", revokedSubjects, strings.Replace(nothing, "nothing:", "nothing:x", 1), "nothing:x is no definition"},
		{"statement of another digest", "statement:" + hexC, "statement:" + hexB, "has another digest than its name"},
		{"statement without a digest", "statement:" + hexC, "statement:", "has another digest than its name"},
		{"statement in upper case", "statement:" + hexC, "statement:" + strings.ToUpper(hexC), "has another digest than its name"},
		{"statement with an escape sequence", "statement:" + hexC, `statement:\u001b[31m`, `statement:\u{1b}[31m has`},
		{"subject of an unknown kind", `"digest":{"sha256":"` + hexA + `"},"name":"tool:echo"`, `"digest":{"sha256":"` + hexA + `"},"name":"resource:echo"`, "is no definition"},
		{"subject digest in upper case", hexA, strings.ToUpper(hexA), "64 lower-case hexadecimal digits"},
		{"subject digest of nothing", hexA, strings.Repeat("0", 64), "hexadecimal"},
		{"subject without a digest", `"digest":{"sha256":"` + hexA + `"},`, ``, `missing member "digest"`},

		{"reason empty", `"leaks"`, `""`, "expected text or no member"},
		{"reason is no string", `"leaks"`, `["leaks"]`, "expected a string"},
		{"reason of 4,097 bytes", `leaks`, strings.Repeat("r", 4097), "a reason has more than 4096 bytes"},
		{"annotations empty", `{"reason":"leaks"}`, `{}`, `missing member "reason"`},
		{"annotations is a string", `{"reason":"leaks"}`, `"leaks"`, "expected an object"},
		{"unknown annotation", `{"reason":"leaks"}`, `{"reason":"leaks","severity":"high"}`, `unknown member "severity"`},
		{"reason twice", `{"reason":"leaks"}`, `{"reason":"leaks","reason":"leaks"}`, "duplicate_key"},

		{"white space", `"number":7`, `"number": 7`, "not in RFC 8785 form"},
	})
}

// Revoke and ParseAny are a pair; the order of the entries given is not kept.
func TestRevokeRoundTrip(t *testing.T) {
	for name, edit := range map[string]func(*Revocation){
		"all kinds":        func(*Revocation) {},
		"nothing":          func(r *Revocation) { r.Entries = nil },
		"empty slice":      func(r *Revocation) { r.Entries = []Revoked{} },
		"only a statement": func(r *Revocation) { r.Entries = r.Entries[2:3] },
		"largest number":   func(r *Revocation) { r.Number = lock.MaxSequence },
		"smallest number":  func(r *Revocation) { r.Number = 1 },
		"longest reason":   func(r *Revocation) { r.Entries[0].Reason = strings.Repeat("é", 2048) },
		"one server":       func(r *Revocation) { r.Servers = r.Servers[:1] },
		"the digest of no bytes": func(r *Revocation) {
			r.Entries = []Revoked{{Definition: Subject{lock.Tool, "x", (&revocation{}).list()[0].digest}}}
		},
		"as many as can be": func(r *Revocation) {
			r.Entries = nil
			for i, d := range tools(t, MaxSubjects).Definitions {
				r.Entries = append(r.Entries, Revoked{Definition: Subject{d.Kind(), d.Name(), d.Digest()}, Reason: strings.Repeat("r", i%9)})
			}
			slices.Reverse(r.Entries)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := revocationOf(t)
			edit(&r)
			given := slices.Clone(r.Entries)
			s := made(t)(Revoke(r))
			if !slices.Equal(given, r.Entries) {
				t.Error("Revoke has sorted the entries it was given")
			}
			again := made(t)(ParseAny(s.Bytes()))
			if string(again.Bytes()) != string(s.Bytes()) || !sameMeaning(s, again) {
				t.Errorf("ParseAny gives %s", again.Bytes())
			}
			got, ok := again.Revocation()
			if len(got.Entries) != len(r.Entries) {
				t.Errorf("%d entries, want %d", len(got.Entries), len(r.Entries))
			}
			for _, x := range r.Entries {
				if !slices.Contains(got.Entries, x) {
					t.Errorf("%+v is lost", x)
				}
			}
			got.Entries, r.Entries = nil, nil
			if !ok || !reflect.DeepEqual(got, r) {
				t.Errorf("revocation = %+v, %v\nwant         %+v", got, ok, r)
			}
			// What a list makes of any order is the same.
			r.Entries = given
			slices.Reverse(r.Entries)
			if other := made(t)(Revoke(r)); string(other.Bytes()) != string(s.Bytes()) {
				t.Errorf("another order gives\n%s\nwant\n%s", other.Bytes(), s.Bytes())
			}
		})
	}
}

// A list revokes what it names, for the servers it names, and nothing else.
func TestRevokes(t *testing.T) {
	r := revocationOf(t)
	s := made(t)(Revoke(r))
	for _, x := range r.Entries {
		for _, server := range []string{"io.github.acme/mail", "io.github.acme/weather", "io.github.acme", "", "io.github.acme/zzz"} {
			revokes := func(x Revoked) (string, bool) {
				if x.Statement.IsZero() {
					return s.Revokes(server, x.Definition)
				}
				return s.RevokesStatement(server, x.Statement)
			}
			reason, ok := revokes(x)
			if want := slices.Contains(r.Servers, server); ok != want || want && reason != x.Reason || !want && reason != "" {
				t.Errorf("%+v of %q: %q, %v", x, server, reason, ok)
			}
			other := x
			if other.Statement.IsZero() {
				other.Definition.Digest[31] ^= 1
			} else {
				other.Statement[31] ^= 1
			}
			if reason, ok := revokes(other); ok {
				t.Errorf("%+v of %q is revoked: %q", other, server, reason)
			}
		}
	}
	if _, ok := s.RevokesStatement("io.github.acme/mail", digest(t, "d")); ok {
		t.Error("the digest of a definition revokes a statement")
	}
	if _, ok := s.RevokesStatement("io.github.acme/mail", lock.Digest{}); ok {
		t.Error("the zero digest is revoked")
	}
	if _, ok := s.Revokes("io.github.acme/mail", Subject{}); ok {
		t.Error("the zero definition is revoked")
	}
}

// A list that revokes nothing is a list: it has a number, and an end.
func TestRevokesNothing(t *testing.T) {
	r := revocationOf(t)
	r.Entries = nil
	s := made(t)(Revoke(r))
	got, ok := s.Revocation()
	if !ok || len(got.Entries) != 0 || got.Number != 7 || got.NextUpdate.IsZero() {
		t.Errorf("revocation = %+v, %v", got, ok)
	}
	if !strings.Contains(string(s.Bytes()), `"subject":[`+nothing+`]`) {
		t.Errorf("got %s", s.Bytes())
	}
	empty := (&revocation{}).list()[0].digest
	if _, ok := s.RevokesStatement("io.github.acme/mail", empty); ok {
		t.Error("the list that revokes nothing revokes a statement")
	}
	if _, ok := s.Revokes("io.github.acme/mail", Subject{"nothing", "", empty}); ok {
		t.Error("the list that revokes nothing revokes nothing")
	}
}

// Revoke refuses what ParseAny would.
func TestRefuseRevoke(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*Revocation)
		want string
	}{
		{"zero", func(r *Revocation) { *r = Revocation{} }, "servers are missing"},
		{"servers unsorted", func(r *Revocation) { slices.Reverse(r.Servers) }, "not sorted"},
		{"server is a pattern", func(r *Revocation) { r.Servers = []string{"**"} }, "has the character '*'"},
		{"number 0", func(r *Revocation) { r.Number = 0 }, "number 0"},
		{"number 2^53", func(r *Revocation) { r.Number = 1 << 53 }, "number 9007199254740992"},
		{"no issuedAt", func(r *Revocation) { r.IssuedAt = time.Time{} }, "issuedAt is missing"},
		{"no nextUpdate", func(r *Revocation) { r.NextUpdate = time.Time{} }, "nextUpdate is not after"},
		{"nextUpdate before issuedAt", func(r *Revocation) { r.NextUpdate = r.IssuedAt.Add(-time.Second) }, "nextUpdate is not after"},
		{"entry of nothing", func(r *Revocation) { r.Entries = []Revoked{{Reason: "x"}} }, "is no definition"},
		{"entry of both", func(r *Revocation) { r.Entries[0].Statement = digest(t, "a") }, "at once"},
		{"entry without a digest", func(r *Revocation) { r.Entries[0].Definition.Digest = lock.Digest{} }, "has no digest"},
		{"entry without a name", func(r *Revocation) { r.Entries[0].Definition.Name = "" }, "is no definition"},
		{"entry of no kind", func(r *Revocation) { r.Entries[0].Definition.Kind = "nothing" }, "is no definition"},
		{"entry of a kind with a name in it", func(r *Revocation) { r.Entries[0].Definition.Kind = "tool:a" }, "has no digest"},
		{"entry twice", func(r *Revocation) { r.Entries = append(r.Entries, r.Entries[0]) }, "there twice"},
		{"entry twice with another reason", func(r *Revocation) {
			r.Entries = append(r.Entries, Revoked{Statement: r.Entries[2].Statement})
		}, "there twice"},
		{"reason is no UTF-8", func(r *Revocation) { r.Entries[0].Reason = "\xff" }, "not UTF-8"},
		{"reason too long", func(r *Revocation) { r.Entries[0].Reason = strings.Repeat("r", 4097) }, "more than 4096 bytes"},
		{"too many", func(r *Revocation) { r.Entries = make([]Revoked, MaxSubjects+1) }, "1025 subjects, at most 1024"},
		{"more than 1 MiB", func(r *Revocation) {
			r.Entries = nil
			for _, d := range tools(t, MaxSubjects).Definitions {
				r.Entries = append(r.Entries, Revoked{Definition: Subject{d.Kind(), d.Name(), d.Digest()}, Reason: strings.Repeat("r", 1000)})
			}
		}, "at most 1048576 can be signed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := revocationOf(t)
			tt.edit(&r)
			s, err := Revoke(r)
			wantError(t, err, tt.want)
			if s != nil {
				t.Error("a statement came with the error")
			}
		})
	}
}

// What a list hands out does not change it, nor does what it was made of.
func TestRevocationIndependent(t *testing.T) {
	r := revocationOf(t)
	s := made(t)(Revoke(r))
	want, _ := s.Revocation()
	r.Servers[0], r.Entries[0].Reason = "other", "other"
	got, _ := s.Revocation()
	clear(got.Servers)
	clear(got.Entries)
	if got, _ := s.Revocation(); !reflect.DeepEqual(got, want) || got.Servers[0] != "io.github.acme/mail" {
		t.Errorf("the list has changed: %+v", got)
	}
}
