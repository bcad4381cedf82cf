package lock_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mcpsign/mcpsign/lock"
)

// CASES 30: names that look alike, or like nothing.
func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"get_forecast":           "get_forecast",
		"caf\u00e9 日本 \u0430":    "caf\u00e9 日本 \u0430", // Cyrillic shows as itself: that it looks like a is the lint's matter
		"\uff47et":               "\uff47et",            // full width
		"a\u200bb":               `a\u{200b}b`,
		"a\u200db\ufeff":         `a\u{200d}b\u{feff}`,
		"pay\u202etxt":           `pay\u{202e}txt`,
		"\u2066x\u2069":          `\u{2066}x\u{2069}`,
		"ok\U000e0068\U000e007f": `ok\u{e0068}\u{e007f}`,
		"\x1b[2J\x1b]0;x\x07":    `\u{1b}[2J\u{1b}]0;x\u{7}`,
		"a\x00b\x7f\u0085":       `a\u{0}b\u{7f}\u{85}`,
		"a\nb\tc\r":              `a\nb\tc\u{d}`,
		`C:\n`:                   `C:\\n`, // can't pass for a line end
		`\u{202e}`:               `\\u{202e}`,
		"\xff\xc3x":              `\xff\xc3x`,
		"\xed\xa0\x80":           `\xed\xa0\x80`,
		"\ufffd":                 "\ufffd",
		"a\u00a0b\u3000c":        `a\u{a0}b\u{3000}c`,
		"\u2028\u2029":           `\u{2028}\u{2029}`,
		"\ue000\U00100000":       `\u{e000}\u{100000}`,
		"\ufdd0\U0001ffff":       `\u{fdd0}\u{1ffff}`,
		"\u2764\ufe0f":           "\u2764" + `\u{fe0f}`,
	} {
		if got := lock.Visible(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// Whatever the text, what Visible returns is text that shows, and two texts
// never look the same.
func TestVisibleIsInjective(t *testing.T) {
	pieces := []string{"", "a", `\`, "n", "\n", "u{a}", "\u0085", "x", "ff", "\xff", "{", "\u200b", "200b}", "\ufffd"}
	seen := make(map[string]string)
	for _, a := range pieces {
		for _, b := range pieces {
			for _, c := range pieces {
				in := a + b + c
				out := lock.Visible(in)
				if other, ok := seen[out]; ok && other != in {
					t.Errorf("%q and %q both show as %q", other, in, out)
				}
				seen[out] = in
				for _, r := range out {
					if lock.Hidden(r) {
						t.Errorf("%q shows as %q", in, out)
					}
				}
				if !utf8.ValidString(out) {
					t.Errorf("%q shows as %q", in, out)
				}
			}
		}
	}
}

// Hidden is ours, so that a lockfile does not change with a version of
// Unicode, but it is to cover what Unicode says. A version that adds such a
// character fails here: lockfiles may hold it, so whether it is to be hidden
// from then on is a decision.
func TestHidden(t *testing.T) {
	// Format characters that do show: signs that enclose digits or verses.
	shown := &unicode.RangeTable{
		R16: []unicode.Range16{{0x0600, 0x0605, 1}, {0x06DD, 0x06DD, 1}, {0x070F, 0x070F, 1}, {0x0890, 0x0891, 1}, {0x08E2, 0x08E2, 1}},
		R32: []unicode.Range32{{0x110BD, 0x110BD, 1}, {0x110CD, 0x110CD, 1}},
	}
	must := []*unicode.RangeTable{
		unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Zs,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Noncharacter_Code_Point, unicode.White_Space, unicode.Bidi_Control,
	}
	n := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := r != ' ' && unicode.In(r, must...) && !unicode.Is(shown, r)
		if want && !lock.Hidden(r) {
			t.Errorf("%U is not hidden, Unicode %s", r, unicode.Version)
		}
		// And what can be seen is left alone, so that no language turns into escapes.
		if lock.Hidden(r) && unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !unicode.In(r, must...) {
			if r != '\u2800' { // a Braille pattern of no dots
				t.Errorf("%U is hidden", r)
			}
		}
		if lock.Hidden(r) {
			n++
		}
	}
	t.Logf("%d characters of %d are hidden", n, unicode.MaxRune+1)
}

// What is shown of a server's text never carries it to the terminal raw.
func TestMessagesAreVisible(t *testing.T) {
	const evil = "\x1b[2J\u202e\U000e0041"
	l := listing(t, `[{"name":"\u001b[2J\u202e\udb40\udc41","v":1e400}]`)
	if l.Refused[0].Name != evil {
		t.Fatalf("got %q", l.Refused[0].Name)
	}
	_, noSet := l.ToolSetDigest()
	_, _, noID := lock.ParseID(evil)
	_, inName := lock.ParseDefinition(lock.Tool, []byte(`{"name":"n","v":{"\u001b[2J\u202e\udb40\udc41":1e400}}`))
	for _, err := range []error{noSet, noID, inName, lock.CheckName(evil)} {
		if err == nil || strings.ContainsFunc(err.Error(), lock.Hidden) {
			t.Errorf("got %q", err)
		}
	}
}
