package attest

import (
	"path/filepath"
	"testing"
)

// checkParsed checks what holds for whatever Parse accepts: the bytes are kept,
// and written again they are the same but for the order of the subjects.
func checkParsed(t *testing.T, payload []byte, s *Statement) {
	t.Helper()
	if string(s.Bytes()) != string(payload) {
		t.Fatalf("Parse keeps %q of %q", s.Bytes(), payload)
	}
	written, err := s.encode()
	if err != nil {
		t.Fatalf("%q is parsed, and can't be written: %v", payload, err)
	}
	again, err := Parse(written)
	if err != nil || len(written) != len(payload) || !sameMeaning(s, again) {
		t.Fatalf("%q is written as %q, %v", payload, written, err)
	}
}

// Whatever byte is changed: the statement is refused, or it says something
// else. No two spellings are one statement.
func TestMangle(t *testing.T) {
	original, err := Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	try := func(payload string) {
		s, err := Parse([]byte(payload))
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
	if accepted < 1000 {
		t.Errorf("only %d mangled statements are statements: texts and digests may change", accepted)
	}
}

func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "fuzz", "FuzzParse", "*"))
	if err != nil || len(seeds) < 10 {
		f.Fatalf("%d seeds are there, want at least 10: %v", len(seeds), err)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		s, err := Parse(payload)
		if (err == nil) == (s == nil) {
			t.Fatalf("Parse = %v, %v", s, err)
		}
		if err == nil {
			checkParsed(t, payload, s)
		}
	})
}
