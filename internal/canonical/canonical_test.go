package canonical_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gowebpki/jcs"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// fault returns the *canonical.Error that err is, and fails if it is none.
func fault(t *testing.T, err error) *canonical.Error {
	t.Helper()
	var e *canonical.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v of type %T, want a *canonical.Error", err, err)
	}
	return e
}

// wantFault checks all that can be relied on in an error.
func wantFault(t *testing.T, err error, code canonical.Code, pointer string, offset int) {
	t.Helper()
	e := fault(t, err)
	if e.Code != code || e.Pointer != pointer || e.Offset != offset {
		t.Errorf("got %s at %q, byte %d; want %s at %q, byte %d", e.Code, e.Pointer, e.Offset, code, pointer, offset)
	}
}

// accepted are texts with their RFC 8785 form. The vectors in testdata hold
// many more, of definitions; these are of any shape.
var accepted = []struct{ in, want string }{
	{`null`, `null`},
	{` true `, `true`},
	{"\tfalse\r\n", `false`},
	{`0`, `0`},
	{`-0.0`, `0`},
	{` 1e2`, `100`},
	{`9007199254740991`, `9007199254740991`},
	{`1e-7`, `1e-7`},
	{`0.000001`, `0.000001`},
	{`123.456e-10`, `1.23456e-8`},
	{`""`, `""`},
	{`"\u0041\/\"\\\b\f\n\r\t\u0000\u001F"`, `"A/\"\\\b\f\n\r\t\u0000\u001f"`},
	{`"\ud83d\ude00"`, `"😀"`},
	{"\"\x7f\u2028<>&\"", "\"\x7f\u2028<>&\""},
	{`[]`, `[]`},
	{`[ 1 , [ ] , { } ]`, `[1,[],{}]`},
	{`{}`, `{}`},
	{`{"b":1,"a":{"d":[{"f":1,"e":2}],"c":3}}`, `{"a":{"c":3,"d":[{"e":2,"f":1}]},"b":1}`},
	{`{"\ue000":1,"\ud800\udc00":2,"z":3}`, "{\"z\":3,\"\U00010000\":2,\"\ue000\":1}"},
	{`{"_meta":{"b":1,"a":2},"":0}`, `{"":0,"_meta":{"a":2,"b":1}}`},
	{`{"aaaaaaaab":1,"aaaaaaaaa":2,"aaaaaaaa":3}`, `{"aaaaaaaa":3,"aaaaaaaaa":2,"aaaaaaaab":1}`},
}

// rejected are texts without such a form.
var rejected = []struct {
	in      string
	code    canonical.Code
	pointer string
	offset  int
}{
	{``, canonical.Syntax, "", 0},
	{` `, canonical.Syntax, "", 1},
	{"\ufeff1", canonical.BOM, "", 0},
	{"\uff11", canonical.Syntax, "", 0},
	{"\xef\xbb", canonical.InvalidUTF8, "", 0},
	{`1 2`, canonical.TrailingData, "", 2},
	{`tru`, canonical.Syntax, "", 3},
	{`trux`, canonical.Syntax, "", 0},
	{`-`, canonical.Syntax, "", 1},
	{`01`, canonical.Syntax, "", 0},
	{`[1,]`, canonical.Syntax, "/1", 3},
	{`[1e16]`, canonical.NumberOutOfRange, "/0", 1},
	{`{"_meta":1e16}`, canonical.NumberOutOfRange, "/_meta", 9},
	{`[0,{"a":[0,0,{"b":1,"c":2,"b":3}]}]`, canonical.DuplicateKey, "/1/a/2/b", 26},
	{`{"a~/":"\ud800"}`, canonical.LoneSurrogate, "/a~0~1", 8},
	{"[\"\xff\"]", canonical.InvalidUTF8, "/0", 2},
	{`{"":{"":x}}`, canonical.Syntax, "//", 8},
}

func TestAppend(t *testing.T) {
	for _, c := range accepted {
		got, err := canonical.Append([]byte("before "), []byte(c.in))
		if err != nil || string(got) != "before "+c.want {
			t.Errorf("%q: got %q, %v; want %q", c.in, got, err, c.want)
		}
		if again, err := canonical.Append(nil, []byte(c.want)); err != nil || string(again) != c.want {
			t.Errorf("%q: the canonical form of a canonical form is %q, %v", c.want, again, err)
		}
	}
	for _, c := range rejected {
		t.Run(c.in, func(t *testing.T) {
			got, err := canonical.Append([]byte("before "), []byte(c.in))
			wantFault(t, err, c.code, c.pointer, c.offset)
			if string(got) != "before " {
				t.Errorf("got %q with an error", got)
			}
		})
	}
}

// A text that is cut off anywhere is no JSON, and the place is its end. So a
// page that is cut at its limit can be told from one that is broken.
func TestCutOff(t *testing.T) {
	texts := []string{
		`{"name":"n","v":[true,false,null,-1.5e+10,0.25,{"a":{}},[]],"w":{"x":"y"}}`,
		`["\u0041\ud83d\ude00\n\\ é\u00e9", {"\u0061\ud83d\ude00":""}]`,
		"{\"\U0001f600\": \"\ufffd\U0001f600\" , \"_meta\": [ 1e99 ] }",
		strings.Repeat("[", 70) + `{"a":[1,{"b":true}]}` + strings.Repeat("]", 70),
	}
	n := 0
	for _, text := range texts {
		for i := range len(text) {
			_, err := canonical.Append(nil, []byte(text[:i]))
			if e := fault(t, err); e.Code != canonical.Syntax || e.Offset != i {
				t.Errorf("%q: got %v", text[:i], e)
			}
			n++
		}
	}
	t.Logf("%d texts", n)
}

// Every byte at every place of a short and a long string, escaped and raw:
// the scan goes by words of eight bytes.
func TestStringBytes(t *testing.T) {
	n := 0
	for c := range 256 {
		for at := range 20 {
			for _, escape := range []string{"", `\`} {
				text := []byte(`"abcdefghijklmnopqrst"`)
				text = append(text[:1+at], append([]byte(escape+string([]byte{byte(c)})), text[1+at:]...)...)
				got, err := canonical.Append(nil, text)
				want, wantErr := jcs.Transform(text)
				if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
					t.Errorf("%q: got %q, %v; jcs has %q, %v", text, got, err, want, wantErr)
				}
				n++
			}
		}
	}
	t.Logf("%d strings", n)
}

// Every character, raw and as an escape, alone and beside others.
func TestCharacters(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if r > 0x3000 && r < 0xD000 || r > 0x11000 && r&0xFFFF < 0xFF00 {
			continue // no border there
		}
		escaped := fmt.Sprintf(`\u%04x`, r)
		if r > 0xFFFF {
			v := r - 0x10000
			escaped = fmt.Sprintf(`\u%04X\u%04x`, 0xD800+v>>10, 0xDC00+v&0x3FF)
		}
		got, err := canonical.Append(nil, []byte(`"x`+escaped+`y"`))
		if 0xD800 <= r && r <= 0xDFFF {
			if e := fault(t, err); e.Code != canonical.LoneSurrogate || e.Offset != 2 {
				t.Fatalf("%U: %v", r, e)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%U: %v", r, err)
		}
		if want := canonical.AppendString(nil, "x"+string(r)+"y"); !bytes.Equal(got, want) {
			t.Fatalf("%U: got %q, AppendString has %q", r, got, want)
		}
		if s := canonical.Unquote(got); s != "x"+string(r)+"y" {
			t.Fatalf("%U: Unquote gives %q", r, s)
		}
		if r < 0x20 || r == '"' || r == '\\' {
			continue
		}
		if raw, err := canonical.Append(nil, []byte(`"x`+string(r)+`y"`)); err != nil || !bytes.Equal(raw, got) {
			t.Fatalf("%U: raw %q, %v, escaped %q", r, raw, err, got)
		}
	}
}

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  canonical.Error
		want string
	}{
		{canonical.Error{Code: canonical.BOM}, "bom at byte 0"},
		{canonical.Error{Code: canonical.Syntax, Pointer: "/a", Offset: 7, Detail: "expected ':'"}, `json_syntax: expected ':' at "/a", byte 7`},
		// What the server wrote can't move the cursor of a terminal.
		{canonical.Error{Code: canonical.TooDeep, Pointer: "/\x1b[2J\u202e", Offset: 1}, `too_deep at "/\x1b[2J\u202e", byte 1`},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestChild(t *testing.T) {
	for token, want := range map[string]string{"": "/p/", "a": "/p/a", "a/b": "/p/a~1b", "~": "/p/~0", "~1/": "/p/~01~1", "é": "/p/é"} {
		if got := canonical.Child("/p", token); got != want {
			t.Errorf("%q: got %q, want %q", token, got, want)
		}
	}
}

// The work for a text is in proportion to its size, whatever it is made of.
// Memory is bounded by a small factor, and nothing recurses.
func TestHostile(t *testing.T) {
	members := func(n int, name func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`,"` + name(i) + `":0`)
		}
		return "{" + b.String()[1:] + "}"
	}
	reversed := func(i int) string { return strconv.Itoa(1_000_000 - i) }
	for _, c := range []struct {
		name string
		text string
		code canonical.Code // empty: accepted
	}{
		{"a million arrays", strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000), canonical.TooDeep},
		{"a million arrays that never end", strings.Repeat("[", 1_000_000), canonical.Syntax},
		{"a million objects", strings.Repeat(`{"a":`, 1_000_000) + "1" + strings.Repeat("}", 1_000_000), canonical.TooDeep},
		{"brackets that do not match, deep down", strings.Repeat(`[{"a":`, 500_000) + "1" + strings.Repeat("]}", 500_000), canonical.Syntax},
		{"20,000 members", members(20_000, reversed), canonical.TooMany},
		{"20,000 members of one name", members(20_000, func(int) string { return "a" }), canonical.TooMany},
		{"10,000 members", members(10_000, reversed), ""},
		{"10,000 members of one name", members(10_000, func(int) string { return "a" }), canonical.DuplicateKey},
		{"10,000 escaped names in reverse", members(10_000, func(i int) string { return `\n\ud83d\ude00` + reversed(i) }), ""},
		{"a number of a million digits", "0." + strings.Repeat("3", 1_000_000), ""},
		{"100,000 numbers that are hard to round", "[" + strings.Repeat("1.00000000000000011102230246251565404,", 100_000) + "0]", ""},
		{"a million escapes", `"` + strings.Repeat(`\u0001`, 1_000_000) + `"`, ""},
		{"a million lone surrogates", `"` + strings.Repeat(`\ud800`, 1_000_000) + `"`, canonical.LoneSurrogate},
		{"sixty levels to sort", nested(60, 15_000), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			used := allocated(func() { _, err = canonical.Append(nil, []byte(c.text)) })
			if c.code == "" && err != nil {
				t.Error(err)
			}
			if c.code != "" {
				if e := fault(t, err); e.Code != c.code {
					t.Errorf("got %v, want %s", e, c.code)
				}
			}
			// Growing by doubling allocates about four times what is kept.
			if limit := uint64(16*len(c.text) + 1<<20); used > limit {
				t.Errorf("allocated %d bytes for a text of %d", used, len(c.text))
			}
		})
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// nested returns objects in each other whose members are in the wrong order
// at every level, with text inside.
func nested(levels, text int) string {
	return strings.Repeat(`{"b":1,"a":`, levels) + `"` + strings.Repeat("x", text) + `"` + strings.Repeat("}", levels)
}
