package attest

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
)

// checkParsed checks what holds for whatever ParseAny accepts: the bytes are
// kept; in a format of our own they are, written again, the same but for the
// order of a release's subjects.
func checkParsed(t *testing.T, payload []byte, s *Statement) {
	t.Helper()
	if string(s.Bytes()) != string(payload) {
		t.Fatalf("ParseAny keeps %q of %q", s.Bytes(), payload)
	}
	wantKind(t, s, s.PredicateType())
	c, ok := s.content.(own)
	if !ok {
		return
	}
	written, err := encode(c.predicateType(), c.list(), c.write)
	if err != nil {
		t.Fatalf("%q is parsed, and can't be written: %v", payload, err)
	}
	again, err := ParseAny(written)
	if err != nil || len(written) != len(payload) || !sameMeaning(s, again) {
		t.Fatalf("%q is written as %q, %v", payload, written, err)
	}
	if _, release := c.(*definitions); !release && string(written) != string(payload) {
		t.Fatalf("%q is written as %q", payload, written)
	}
}

// Whatever byte is changed: the statement is refused, or it says something
// else. No two spellings are one statement.
func TestMangle(t *testing.T) {
	for _, tt := range []struct {
		name, good string
		least      int // mangled statements that are statements
	}{
		{"definitions", good, 1000},
		{"approval", goodApproval, 1000},
		{"revocation", goodRevocation, 500},
		{"empty revocation", emptyRevocation, 300},
	} {
		t.Run(tt.name, func(t *testing.T) { mangle(t, tt.good, tt.least) })
	}
}

func mangle(t *testing.T, good string, least int) {
	original, err := ParseAny([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	try := func(payload string) {
		s, err := ParseAny([]byte(payload))
		if err != nil || payload == good {
			return
		}
		accepted++
		checkParsed(t, []byte(payload), s)
		if sameMeaning(s, original) {
			t.Errorf("%s\nmeans the same as\n%s", payload, good)
		}
	}
	for i := range len(good) {
		before, c, after := good[:i], good[i], good[i+1:]
		try(before)
		try(before + after)
		try(before + string(c) + string(c) + after)
		for bit := range 8 {
			try(before + string([]byte{c ^ 1<<bit}) + after)
		}
		for _, x := range []string{"\x00", "\t", " ", "\n", `"`, `\`, "/", "0", "9", "a", "A", ",", "{}", "[]", "\x7f", "\xff", "\u200b", "\ufeff", `\u0061`, `"x":1,`} {
			try(before + x + after)
			try(before + x + string(c) + after)
		}
	}
	if accepted < least {
		t.Errorf("only %d mangled statements are statements: texts and digests may change", accepted)
	}
}

func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "fuzz", "FuzzParse", "*"))
	if err != nil || len(seeds) < 20 {
		f.Fatalf("%d seeds are there, want at least 20: %v", len(seeds), err)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		s, err := ParseAny(payload)
		if (err == nil) == (s == nil) {
			t.Fatalf("ParseAny = %v, %v", s, err)
		}
		release, err := Parse(payload)
		if (err == nil) == (release == nil) || (release != nil) != (s != nil && s.PredicateType() == PredicateType) {
			t.Fatalf("Parse = %v, %v, and ParseAny %v", release, err, s)
		}
		if s != nil {
			checkParsed(t, payload, s)
		}
	})
}

// What Value returns is what Go's encoding/json finds by the same steps.
func FuzzValue(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "fuzz", "FuzzValue", "*"))
	if err != nil || len(seeds) < 5 {
		f.Fatalf("%d seeds are there, want at least 5: %v", len(seeds), err)
	}
	f.Fuzz(func(t *testing.T, predicate []byte, pointer string) {
		payload := `{"_type":"https://in-toto.io/Statement/v1","predicateType":"a:b","subject":[{}],"predicate":` + string(predicate) + `}`
		s, err := ParseAny([]byte(payload))
		if err != nil {
			return
		}
		p, ok := s.Foreign()
		if !ok || string(p.raw) != strings.Trim(string(predicate), " \t\r\n") {
			return // the text ended the member early, and began others
		}
		form, err := p.Value(pointer)
		want, found := resolve(t, p.raw, pointer)
		if err != nil {
			if errors.Is(err, ErrNoValue) && found {
				t.Fatalf("Value(%q) of %s = %v, want %s", pointer, p.raw, err, want)
			}
			return
		}
		if !found || string(form) != string(want) {
			t.Fatalf("Value(%q) of %s = %s, want %s, %v", pointer, p.raw, form, want, found)
		}
	})
}

// resolve returns the RFC 8785 form of what encoding/json finds at a pointer.
func resolve(t *testing.T, raw []byte, pointer string) ([]byte, bool) {
	t.Helper()
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		var object map[string]json.RawMessage
		var array []json.RawMessage
		switch raw = bytes.TrimSpace(raw); raw[0] {
		case '{':
			if err := json.Unmarshal(raw, &object); err != nil {
				t.Fatal(err)
			}
			value, ok := object[token]
			if !ok {
				return nil, false
			}
			raw = value
		case '[':
			if err := json.Unmarshal(raw, &array); err != nil {
				t.Fatal(err)
			}
			i, err := strconv.ParseUint(token, 10, 31)
			if err != nil || int(i) >= len(array) || len(token) > 1 && token[0] == '0' {
				return nil, false
			}
			raw = array[i]
		default:
			return nil, false
		}
	}
	form, err := jcs.Transform(append(append([]byte("["), raw...), ']'))
	if err != nil {
		return nil, true // a form that is none is the other test's
	}
	return form[1 : len(form)-1], true
}
