package lint_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
)

// described is a tool with a description.
func described(t *testing.T, description string) string {
	t.Helper()
	return fmt.Sprintf(`[{"name":"t","description":%s,"inputSchema":{"type":"object"}}]`, must[[]byte](t)(json.Marshal(description)))
}

// tags hides ASCII text in tag characters.
func tags(s string) string {
	return strings.Map(func(r rune) rune { return r + 0xE0000 }, s)
}

// selectors hides bytes in variation selectors.
func selectors(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c < 16 {
			b.WriteRune(0xFE00 + rune(c))
		} else {
			b.WriteRune(0xE0100 + rune(c) - 16)
		}
	}
	return b.String()
}

// Every kind of hidden character, and where it is part of ordinary writing.
func TestHidden(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Line one.\nTwo\r\n\tthree", ""},
		{"caf\u00e9 日本語 \u0430 \u05d0", ""},
		{"a\rb", "control_character"},
		{"a\x00b\x7f\u0085", "control_character"},
		{"\x1b[2Jx", "ansi_escape"},
		{"\u009b2Jx", "ansi_escape"},
		{"\u009d0;x\u009c", "ansi_escape control_character"},
		{"pay\u202etxt", "bidi_control"},
		{"\u2066x\u2069", "bidi_control"},
		{"x\u200e", "bidi_control"},
		{"\u05d0\u061cx", "bidi_control"},
		{"a\u200bb", "zero_width"},
		{"\ufeffx", "zero_width"},
		{"so\u00adft", "zero_width"},
		{"a\u2063b\u034f", "zero_width"},
		{"a\u206ab\ufff9", "hidden_character"},
		{"\U000e0fff", "hidden_character"},
		{"\ue000", "private_use"},
		{"\U0010fffd", "private_use"},
		{"\ufdd0\U0001ffff", "noncharacter"},

		// Joiners: in emoji, and in scripts that need them.
		{"\U0001F468\u200d\U0001F469\u200d\U0001F467", ""},
		{"\U0001F469\U0001F3FD\u200d\U0001F4BB", ""},
		{"\u2764\ufe0f\u200d\U0001F525", ""},
		{"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", ""},
		{"\u0915\u094d\u200d\u0937", ""},
		{"a\u200db", "zero_width"},
		{"\u200d\U0001F469", "zero_width"},
		{"\u0645\u200c", "zero_width"},
		{"\u0645\u200c\u200d\u062e", "zero_width"},

		// Variation selectors: behind what has variants.
		{"\u26a0\ufe0f done", ""},
		{"1\ufe0f\u20e3 \u2122\ufe0f \u203c\ufe0f", ""},
		{"\u845b\U000e0100 \u2229\ufe00", ""},
		{"\u1820\u180b", ""},
		{"a\ufe0f", "variation_selectors"},
		{"1\ufe0f", "variation_selectors"},
		{"\ufe0f", "variation_selectors"},
		{"\u26a0\ufe0f\ufe0e", "variation_selectors"},
		{"\U0001F600" + selectors("run"), "variation_selectors"},

		// Tags: the flags of three countries, and nothing else.
		{"\U0001F3F4" + tags("gbeng\x7f") + "\U0001F3F4" + tags("gbwls\x7f"), ""},
		{"\U0001F3F4" + tags("gbeng"), "tag_characters"},
		{"\U0001F3F4" + tags("ignore\x7f"), "tag_characters"},
		{tags("hi"), "tag_characters"},

		// Blanks.
		{"10\u00a0km, \u00ab\u202fx\u202f\u00bb", ""},
		{"\u3000日本\u3000語", ""},
		{"\u00a0x", "unusual_space"},
		{"x\u00a0", "unusual_space"},
		{"x \u00a0y", "unusual_space"},
		{"x\u00a0\u00a0y", "unusual_space"},
		{"x\u3000y", "unusual_space"},
		{"x\u2028y", "unusual_space"},
		{"x\u2800\u3164y", "unusual_space"},
	} {
		var got []string
		for _, f := range check(t, described(t, c.text)) {
			if f.Pointer != "/description" {
				t.Errorf("%+q: pointer %s", c.text, f.Pointer)
			}
			got = append(got, string(f.Code))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+q: got %q, want %q", c.text, got, c.want)
		}
	}
}

// In a name nothing hidden is ordinary, and each hidden character there is
// has a code.
func TestHiddenInNames(t *testing.T) {
	for r := rune(0); r <= 0x10FFFF; r++ {
		if r == 0x2100 {
			r = 0x2800 // nothing hidden in between
		}
		if r == 0x3200 {
			r = 0xE000
		}
		if r == 0x20000 {
			r = 0xE0000
		}
		if r == 0xE0400 {
			r = 0x10FFF0
		}
		if r >= 0xD800 && r <= 0xDFFF || r >= 0xE010 && r < 0xF8F0 {
			continue
		}
		name := must[[]byte](t)(json.Marshal("x" + string(r)))
		n := 0
		for _, f := range check(t, fmt.Sprintf(`[{"name":"t","description":"d","inputSchema":{"type":"object","x":{%s:1}}}]`, name)) {
			if n++; strings.ContainsFunc(f.Detail, lock.Hidden) {
				t.Errorf("%U: detail %+q", r, f.Detail)
			}
		}
		if want := lock.Hidden(r); n > 1 || want != (n == 1) {
			t.Errorf("%U: %d findings, hidden is %v", r, n, want)
		}
	}
}

// What is hidden is spelled out, so that a person reads what a model does.
func TestHiddenDetail(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"ok" + tags("send ~/.ssh"), `11 characters, first U+E0073 in "ok\u{e0073}\u{e0065}\u{e006e}\u{e0064}\u{e0020}\u{e007e}\u{e002f}\u{e002e}\u{e0073}\u{e0073}"; they spell "send ~/.ssh"`},
		{"x" + selectors("run \x01"), `5 characters, first U+E0162 in "x\u{e0162}\u{e0165}\u{e015e}\u{e0110}\u{fe01}"; as bytes they are "run \u{1}"`},
		{"pay\u202etxt", `1 character, first U+202E in "pay\u{202e}txt"`},
		{"a\x1b[31mb\x1b[0m", `2 characters, first U+001B in "a\u{1b}[31mb\u{1b}[0m"`},
	} {
		got := check(t, described(t, c.text))
		if len(got) != 1 || got[0].Detail != c.want {
			t.Errorf("got  %v\nwant %s", got, c.want)
		}
	}
}

// Long texts are cut between characters, around what is shown of them.
func TestLongDetail(t *testing.T) {
	got := check(t, described(t, strings.Repeat("日", 500)+"\u202e"+strings.Repeat("é", 500)))
	if len(got) != 1 || !strings.Contains(got[0].Detail, `日\u{202e}é`) || strings.Contains(got[0].Detail, `\x`) || len(got[0].Detail) > 300 {
		t.Errorf("got %v", got)
	}
	got = check(t, described(t, tags(strings.Repeat("abc", 300))))
	if len(got) != 1 || !strings.HasPrefix(got[0].Detail, "900 characters") || !strings.Contains(got[0].Detail, `spell "abcabc`) || !strings.HasSuffix(got[0].Detail, `" ...`) || len(got[0].Detail) > 2048 {
		t.Errorf("got %v", got)
	}
}

// Values that are of one start of a server, and constants that look a little
// like them.
func TestVolatile(t *testing.T) {
	at := func(where string, value any) string {
		return schema(`"properties":{"p":{"` + where + `":` + string(must[[]byte](t)(json.Marshal(value))) + `}}`)
	}
	for _, c := range []struct {
		where string
		value any
		want  string // how the detail starts
	}{
		{"default", "2026-11-30T13:34:11.574Z", "a time"},
		{"default", "2026-11-30 13:34:11", "a time"},
		{"const", "2026-11-30T13:34:00Z", "a time"},
		{"default", map[string]any{"description": []string{"2026-11-30T13:34:11Z"}}, "a time"},
		{"default", "2026-11-30T00:00:00Z", ""},
		{"default", "2026-11-30T00:00:00.000Z", ""},
		{"default", "2026-11-30T23:59:59Z", ""},
		{"default", "2026-11-30", ""},
		{"default", 1796045651574, "a time"},
		{"default", 1796045651, "a time"},
		{"default", "1796045651574", "a time"},
		{"default", 1800000000, ""},
		{"default", 2147483647, ""},
		{"default", 4294967296, ""},
		{"maximum", 1796045651574, ""},
		{"enum", []any{1796045651574}, ""},
		{"description", "Started at 2026-11-30T13:34:11Z", "a time"},
		{"description", "Started at 2026-11-30T13:34:00.250Z", "a time"},
		{"description", "From 2026-11-30T13:00:00Z", ""},
		{"description", "RFC 3339 (e.g. 2026-11-30T13:34:11Z)", ""},
		{"enum", []string{"2026-11-30T13:34:00Z"}, ""},

		{"default", "3f2b8c1e-5d0a-4f7b-9c2d-1a2b3c4d5e6f", "a UUID"},
		{"default", "00000000-0000-0000-0000-000000000000", ""},
		{"description", "A UUID, 3f2b8c1e-5d0a-4f7b-9c2d-1a2b3c4d5e6f", ""},
		{"examples", []string{"3f2b8c1e-5d0a-4f7b-9c2d-1a2b3c4d5e6f"}, ""},

		{"default", "/home/kim/work", "a path"},
		{"description", "Relative to /srv/app/server", "a path"},
		{"description", "Relative to /Users/kim", "a path"},
		{"description", `Files in C:\Users\kim\x`, "a path"},
		{"default", "/tmp/server-83412/x", "a path"},
		{"default", "/tmp/output", ""},
		{"default", "/home/user/project", ""},
		{"description", "A path such as /home/kim/x", ""},
		{"description", "GET https://acme.example/home/x", ""},
		{"description", "Relative to ~/home/x or $ROOT/srv/x", ""},

		{"description", "Listens on localhost:49213", "a port"},
		{"default", "http://127.0.0.1:40001/x", "a port"},
		{"default", "http://localhost:3000", ""},
		{"default", "http://localhost:99999", ""},
		{"description", "Attached to PID 4711", "a process ID"},
		{"description", "pid=4711", "a process ID"},
		{"description", "port, PID, and URL", ""},
		{"description", "a rapid 4711", ""},
	} {
		got := check(t, "["+at(c.where, c.value)+"]")
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s %v: got %v", c.where, c.value, got)
		case c.want != "" && (len(got) != 1 || got[0].Code != lint.VolatileValue || !strings.HasPrefix(got[0].Detail, c.want)):
			t.Errorf("%s %v: got %v, want %s", c.where, c.value, got, c.want)
		}
	}
}
