package attest

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestValue(t *testing.T) {
	p := foreignOf(t, goodForeign)
	for _, tt := range []struct{ pointer, want string }{
		{"/n", `1`},
		{"/builder", `{"id":"https://b.example"}`},
		{"/builder/id", `"https://b.example"`},
		{"/list", `["a",{"b~/c":null}]`},
		{"/list/0", `"a"`},
		{"/list/1/b~0~1c", `null`},
	} {
		form, err := p.Value(tt.pointer)
		if err != nil || string(form) != tt.want {
			t.Errorf("Value(%s) = %s, %v, want %s", tt.pointer, form, err, tt.want)
		}
	}
	for _, pointer := range []string{
		"/", "/x", "/N", "/builder/", "/builder/id/", "/builder/id/0", "/list/2", "/list/-", "/list/-1", "/list/00", "/list/01",
		"/list/+1", "/list/1e0", "/list/ 1", "/list/a", "/list/99999999999999999999", "/list/1/b~1~0c", "/n/0", "/subject", "/predicate",
		"/list/1/b~0~1c/x", strings.Repeat("/a", 64), "/" + strings.Repeat("a", 4095),
	} {
		if form, err := p.Value(pointer); err != ErrNoValue || form != nil {
			t.Errorf("Value(%s) = %s, %v, want ErrNoValue", pointer, form, err)
		}
	}
	// What has no RFC 8785 form equals nothing, and is not missing either.
	for _, pointer := range []string{"/big", ""} {
		form, err := p.Value(pointer)
		wantError(t, err, "number_out_of_range")
		if form != nil || errors.Is(err, ErrNoValue) {
			t.Errorf("Value(%s) = %s, %v", pointer, form, err)
		}
	}
}

// The forms of RFC 6901 section 5.
func TestValueOfRFC6901(t *testing.T) {
	const document = `{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}`
	p := foreignOf(t, `{"_type":"https://in-toto.io/Statement/v1","predicateType":"x","subject":[{}],"predicate":`+document+`}`)
	for pointer, want := range map[string]string{
		"/foo": `["bar","baz"]`, "/foo/0": `"bar"`, "/": `0`, "/a~1b": `1`, "/c%d": `2`, "/e^f": `3`, "/g|h": `4`,
		`/i\j`: `5`, `/k"l`: `6`, "/ ": `7`, "/m~0n": `8`,
	} {
		if form, err := p.Value(pointer); err != nil || string(form) != want {
			t.Errorf("Value(%s) = %s, %v, want %s", pointer, form, err, want)
		}
	}
	form, err := p.Value("")
	if err != nil || !strings.HasPrefix(string(form), `{"":0," ":7,"a/b":1`) {
		t.Errorf(`Value("") = %s, %v`, form, err)
	}
}

func TestRefusePointer(t *testing.T) {
	p := foreignOf(t, goodForeign)
	for _, tt := range []struct{ pointer, want string }{
		{"builder", "does not start with a slash"},
		{"#/builder", "does not start with a slash"},
		{" ", "does not start with a slash"},
		{"/a~", "has a ~ that is neither"},
		{"/a~2", "has a ~ that is neither"},
		{"/~~0", "has a ~ that is neither"},
		{"/\xff", "is not UTF-8"},
		{"/\x1b[31m~", `"/\x1b[31m~"`},
		{"/" + strings.Repeat("a", 4096), "more than 4096 bytes"},
		{strings.Repeat("/a", 65), "more than 64 levels"},
	} {
		err := CheckPointer(tt.pointer)
		wantError(t, err, tt.want)
		form, err := p.Value(tt.pointer)
		wantError(t, err, tt.want)
		if form != nil || errors.Is(err, ErrNoValue) {
			t.Errorf("Value(%q) = %s, %v", tt.pointer, form, err)
		}
	}
	for _, pointer := range []string{"", "/", "/a~0~1", "/a//b", strings.Repeat("/a", 64)} {
		if err := CheckPointer(pointer); err != nil {
			t.Error(err)
		}
	}
}

// Each type has its place for the time.
func TestTime(t *testing.T) {
	const at = "2026-11-30T12:00:00Z"
	for typ, predicate := range map[string]string{
		VSAType: `{"timeVerified":"T"}`,
		"https://slsa.dev/verification_summary/v0.2": `{"timeVerified":"T"}`,
		"https://slsa.dev/provenance/v1":             `{"runDetails":{"metadata":{"finishedOn":"T"}}}`,
		"https://slsa.dev/provenance/v0.2":           `{"metadata":{"buildFinishedOn":"T"}}`,
		"https://in-toto.io/attestation/svr/v0.1":    `{"timeCreated":"T"}`,
		"https://in-toto.io/attestation/vulns/v0.1":  `{"metadata":{"scanFinishedOn":"T"}}`,
		"https://in-toto.io/attestation/vulns/v0.2":  `{"metadata":{"scanFinishedOn":"T"}}`,
	} {
		p := func(typ, time string) *Predicate {
			return foreignOf(t, `{"_type":"https://in-toto.io/Statement/v1","predicateType":"`+typ+`","subject":[{}],"predicate":`+strings.Replace(predicate, "T", time, 1)+`}`)
		}
		for _, same := range []string{at, "2026-11-30T13:00:00+01:00", "2026-11-30T12:00:00.0Z"} {
			if got, err := p(typ, same).Time(); err != nil || got.UTC().Format(time.RFC3339Nano) != at {
				t.Errorf("Time of %s, %s = %s, %v", typ, same, got, err)
			}
		}
		for _, none := range []string{"", "today", "2026-11-30", "2026-11-30 12:00:00Z", "2026-11-30T12:00:00", "0001-01-01T00:00:00Z"} {
			if got, err := p(typ, none).Time(); err == nil || errors.Is(err, ErrNoValue) || !got.IsZero() {
				t.Errorf("Time of %s, %q = %s, %v", typ, none, got, err)
			}
		}
		if got, err := p("https://example.com/other", at).Time(); err != ErrNoValue || !got.IsZero() {
			t.Errorf("Time of another type = %s, %v", got, err)
		}
	}
	if _, err := foreignOf(t, goodForeign).Time(); err != ErrNoValue {
		t.Error(err)
	}
}
