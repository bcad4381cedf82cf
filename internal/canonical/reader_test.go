package canonical_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// walk reads a whole text through every method of Reader and returns what it
// met, one line a value.
func walk(text string) ([]string, error) {
	r := canonical.NewReader([]byte(text))
	var seen []string
	note := func(format string, args ...any) {
		seen = append(seen, r.Pointer()+" "+fmt.Sprintf(format, args...))
	}
	var value func() error
	value = func() error {
		switch r.Peek() {
		case '{':
			note("object")
			return r.Object(func(string) error { return value() })
		case '[':
			note("array")
			return r.Array(func(int) error { return value() })
		case '"':
			s, err := r.String()
			if err == nil {
				note("%q", s)
			}
			return err
		case 't', 'f':
			b, err := r.Bool()
			if err == nil {
				note("%t", b)
			}
			return err
		case 'n':
			raw, err := r.Raw()
			if err == nil {
				note("%s", raw)
			}
			return err
		}
		n, err := r.Number()
		if err == nil {
			note("%s", n)
		}
		return err
	}
	if err := value(); err != nil {
		return seen, err
	}
	return seen, r.End()
}

func TestReaderWalk(t *testing.T) {
	got, err := walk(` { "a" : [ 1.0 , "x\u0041\n" , { } , [ ] , true, null ] , "b~/" : { "" : false } } `)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		" object", "/a array", "/a/0 1", `/a/1 "xA\n"`, "/a/2 object", "/a/3 array", "/a/4 true", "/a/5 null",
		"/b~0~1 object", "/b~0~1/ false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A walk finds the faults that reading in one go finds, in the same places.
func TestReaderWalkFaults(t *testing.T) {
	for _, c := range rejected {
		t.Run(c.in, func(t *testing.T) {
			_, err := walk(c.in)
			wantFault(t, err, c.code, c.pointer, c.offset)
		})
	}
	for _, c := range accepted {
		if _, err := walk(c.in); err != nil {
			t.Errorf("%q: %v", c.in, err)
		}
	}
}

// The walk has the limits of a value, one level at a time.
func TestReaderLimits(t *testing.T) {
	var b strings.Builder
	for i := range canonical.MaxMembers + 1 {
		fmt.Fprintf(&b, `,"m%d":0`, i)
	}
	for _, c := range []struct {
		name, text string
		code       canonical.Code
	}{
		{"64 levels", strings.Repeat("[", 64) + strings.Repeat("]", 64), ""},
		{"65 arrays", strings.Repeat("[", 65) + strings.Repeat("]", 65), canonical.TooDeep},
		{"65 objects", strings.Repeat(`{"a":`, 65) + "0" + strings.Repeat("}", 65), canonical.TooDeep},
		{"a million arrays", strings.Repeat("[", 1_000_000), canonical.TooDeep},
		{"10,001 members", "{" + b.String()[1:] + "}", canonical.TooMany},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := walk(c.text)
			if c.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e := fault(t, err); e.Code != c.code {
				t.Errorf("got %v, want %s", e, c.code)
			}
		})
	}
}

// A value of another type is an error that says where the value starts.
func TestReaderMismatch(t *testing.T) {
	methods := map[string]func(*canonical.Reader) error{
		"an object":     func(r *canonical.Reader) error { return r.Object(func(string) error { return r.Skip() }) },
		"an array":      func(r *canonical.Reader) error { return r.Array(func(int) error { return r.Skip() }) },
		"a string":      func(r *canonical.Reader) error { _, err := r.String(); return err },
		"a number":      func(r *canonical.Reader) error { _, err := r.Number(); return err },
		"true or false": func(r *canonical.Reader) error { _, err := r.Bool(); return err },
	}
	values := map[string]string{"an object": `{"x":[]}`, "an array": `[{}]`, "a string": `"{"`, "a number": `-1`, "true or false": `false`, "": `null`}
	for want, method := range methods {
		for is, value := range values {
			r := canonical.NewReader([]byte(`{"a": ` + value + `, "b": 0}`))
			err := r.Object(func(name string) error {
				if name == "a" {
					return method(r)
				}
				return r.Skip()
			})
			if is == want {
				if err != nil {
					t.Errorf("%s: %v", value, err)
				}
				continue
			}
			wantFault(t, err, canonical.Syntax, "/a", len(`{"a": `))
			if e := fault(t, err); e.Detail != "expected "+want+", found "+cmp.Or(is, "null") {
				t.Errorf("%s: got %q", value, e.Detail)
			}
		}
	}
	// A broken value is its own fault.
	r := canonical.NewReader([]byte(`[`))
	_, err := r.String()
	wantFault(t, err, canonical.Syntax, "/0", 1)
}

// What a callback returns comes back as it is.
func TestReaderCallbackError(t *testing.T) {
	mine := errors.New("mine")
	for text, read := range map[string]func(*canonical.Reader) error{
		`{"a":1}`: func(r *canonical.Reader) error { return r.Object(func(string) error { return mine }) },
		`[1]`:     func(r *canonical.Reader) error { return r.Array(func(int) error { return mine }) },
	} {
		if err := read(canonical.NewReader([]byte(text))); err != mine {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// Raw returns the bytes as received and Skip forgets them; both accept numbers
// of any size, which Value does not.
func TestReaderRaw(t *testing.T) {
	text := `[ {"b" : 1e999, "a":[ "\u0041" ]} , 12345678901234567890, 1e99]`
	r := canonical.NewReader([]byte(text))
	err := r.Array(func(i int) error {
		switch i {
		case 0:
			raw, err := r.Raw()
			if want := `{"b" : 1e999, "a":[ "\u0041" ]}`; string(raw) != want {
				t.Errorf("got %q, %v", raw, err)
			}
			return err
		case 1:
			return r.Skip()
		}
		_, err := r.Value()
		return err
	})
	wantFault(t, err, canonical.NumberOutOfRange, "/2", strings.LastIndex(text, "1e99"))
	// Skipping is no less strict otherwise.
	for _, text := range []string{`{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `01`, strings.Repeat("[", 70) + strings.Repeat("]", 70)} {
		if err := canonical.NewReader([]byte(text)).Skip(); err == nil {
			t.Errorf("%.20q was skipped", text)
		}
	}
}

// A read definition as text.
func describe(d canonical.Definition, refused *canonical.Error, err error) string {
	switch {
	case err != nil:
		return "error " + err.Error()
	case refused != nil:
		return fmt.Sprintf("%s refused: %v", d.Name, refused)
	case d.Meta != nil:
		return fmt.Sprintf("%s %s meta %s", d.Name, d.Canonical, d.Meta)
	}
	return fmt.Sprintf("%s %s", d.Name, d.Canonical)
}

// A list of definitions, of which every second one is refused for another
// reason: the others are read.
func TestReaderDefinitions(t *testing.T) {
	cases := []struct{ text, want string }{
		{`{"name":"a","v":1.0}`, `"a" {"name":"a","v":1}`},
		{`{"name":"b","v":1e400}`, `"b" refused: number_out_of_range: magnitude of 2^53 or more at "/v", byte 16`},
		{`{"v":{"b":1,"a":2},"name":"c","_meta":{"z":1e400,"y":1.0}}`, `"c" {"name":"c","v":{"a":2,"b":1}} meta {"y":1,"z":1e400}`},
		{`{"name":"d","v":{"x":1,"y":2,"x":3}}`, `"d" refused: duplicate_key at "/v/x", byte 29`},
		{`{"_meta":null,"name":"e"}`, `"e" {"name":"e"} meta null`},
		{`{"name":"f","v":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, `"f" refused: too_deep: more than 64 levels at "/v` + strings.Repeat("/0", 63) + `", byte 79`},
		{`{"name":"g"}`, `"g" {"name":"g"}`},
		{`{"v":"\ud800","name":"h"}`, `"h" refused: lone_surrogate at "/v", byte 6`},
		{`{"name":"i\ud800"}`, "\"i\ufffd\" refused: lone_surrogate at \"/name\", byte 10"},
		{"{\"name\":\"j\xff\xfek\"}", "\"j\ufffd\ufffdk\" refused: invalid_utf8 at \"/name\", byte 10"},
		{`{"name":7}`, ` refused: missing_name at "/name", byte 1`},
		{`{"title":"x", "name":""}`, `"" refused: missing_name at "/name", byte 14`},
		{`{}`, ` refused: missing_name at "/name", byte 0`},
		{`["name"]`, ` refused: not_an_object: expected an object, found an array at byte 0`},
		{`null`, ` refused: not_an_object: expected an object, found null at byte 0`},
		{`{"name":"k","v":"` + strings.Repeat("x", canonical.MaxSize) + `"}`, `"k" refused: too_large: more than 1048576 bytes at byte 0`},
		{`{"\u006eame":"l\u0041"}`, `"lA" {"name":"lA"}`},
	}
	var b strings.Builder
	for i, c := range cases {
		b.WriteString([]string{" [ ", " ,\n "}[min(i, 1)] + c.text)
	}
	r := canonical.NewReader([]byte(b.String() + " ] "))
	err := r.Array(func(i int) error {
		d, refused, err := r.Definition("name")
		if got := describe(d, refused, err); got != cases[i].want {
			t.Errorf("%.60s:\ngot  %.200s\nwant %.200s", cases[i].text, got, cases[i].want)
		}
		return err
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Broken text inside a definition ends the walk: nobody knows where the next
// definition starts.
func TestReaderDefinitionSyntax(t *testing.T) {
	for _, text := range []string{`[{"name":"a"},{"name":"b",},{"name":"c"}]`, `[{"name":"a"},{"name":"b","v":1e400,"w":tru}]`} {
		r := canonical.NewReader([]byte(text))
		n := 0
		err := r.Array(func(int) error {
			_, _, err := r.Definition("name")
			n++
			return err
		})
		if e := fault(t, err); e.Code != canonical.Syntax || !strings.HasPrefix(e.Pointer, "/1") || n != 2 {
			t.Errorf("got %v after %d definitions", e, n)
		}
	}
}

func TestReaderText(t *testing.T) {
	for text, want := range map[string]string{
		`"a\u0041"`: `"aA"`,
		`""`:        `""`,
		`"\ud800"`:  "lone_surrogate at byte 1",
		`1e400`:     "number_out_of_range: magnitude of 2^53 or more at byte 0",
		`null`:      `missing_name: expected a string, found null at byte 0`,
		`["a"]`:     `missing_name: expected a string, found an array at byte 0`,
		`"` + strings.Repeat("x", canonical.MaxSize) + `"`: "too_large: more than 1048576 bytes at byte 0",
	} {
		r := canonical.NewReader([]byte(text))
		form, refused, err := r.Text()
		if err != nil {
			t.Errorf("%.20s: %v", text, err)
			continue
		}
		got := string(form)
		if refused != nil {
			got = refused.Error()
		}
		if got != want {
			t.Errorf("%.20s: got %q, want %q", text, got, want)
		}
	}
}

// White space that we added does not count, the canonical form does.
func TestReaderIndented(t *testing.T) {
	spaced := `{"name":` + strings.Repeat(" ", canonical.MaxSize) + `"n"}`
	long := `{"name":"n","v":"` + strings.Repeat("x", canonical.MaxSize) + `"}`
	grows := `{"name":"n","v":[0` + strings.Repeat(",1e15", canonical.MaxSize/16) + `]}`
	for _, c := range []struct {
		text     string
		indented bool
		refused  bool
	}{
		{spaced, false, true}, {spaced, true, false}, {long, false, true}, {long, true, true}, {grows, false, true}, {grows, true, true},
	} {
		r := canonical.NewReader([]byte(c.text))
		r.Indented = c.indented
		_, refused, err := r.Definition("name")
		if err != nil {
			t.Fatal(err)
		}
		if got := refused != nil && refused.Code == canonical.TooLarge; got != c.refused {
			t.Errorf("%.20s..., indented %t: got %v", c.text, c.indented, refused)
		}
	}
}

// Reset leaves nothing of the text before, whatever happened in it, and makes
// a digest free of allocations.
func TestReaderReset(t *testing.T) {
	r := canonical.NewReader(nil)
	for _, before := range []string{`[[[`, `{"_meta":{"a":tru`, `{"name":"x","v":1e400}`, `{"name":"x","_meta":1,"_meta":2}`, `"\ud800`, `{"b":1,"a":{"c":`} {
		r.Reset([]byte(before))
		r.Definition("name")
		r.Reset([]byte(` {"b":1e2,"name":"n","a":{"z":[],"y":"\u0041"}} `))
		got := describe(r.Definition("name"))
		if want := `"n" {"a":{"y":"A","z":[]},"b":100,"name":"n"}`; got != want {
			t.Errorf("after %s: got %s", before, got)
		}
		if err := r.End(); err != nil {
			t.Errorf("after %s: %v", before, err)
		}
	}
	d := definition("tool", 1700)
	if n := testing.AllocsPerRun(100, func() {
		r.Reset(d)
		if _, refused, err := r.Definition("name"); refused != nil || err != nil {
			t.Fatal(refused, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a definition", n)
	}
}
