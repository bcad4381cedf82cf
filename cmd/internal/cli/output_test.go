package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

func TestOneLine(t *testing.T) {
	for message, want := range map[string]string{
		"":                                 "",
		"tool:a is not in the listing":     "tool:a is not in the listing",
		"two\nlines\r":                     `two\nlines\u{d}`,
		"\x1b[2J \u202e \U000E0041 \u009b": `\u{1b}[2J \u{202e} \u{e0041} \u{9b}`,
		"no UTF-8: \xff":                   `no UTF-8: \xff`,
		`escaped once: \u{1b} and \\`:      `escaped once: \u{1b} and \\`,
		"proto:\u00a0syntax error":         "proto: syntax error",
	} {
		if got := oneLine(message); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", message, got, want)
		}
	}
}

// TestWriteJSON checks that JSON is the same value in a spelling that shows.
func TestWriteJSON(t *testing.T) {
	const name = "get\x1b[31m\u202e\u200b\U000E0041\u009b\\<é>\n"
	var out bytes.Buffer
	a := &app{command: "list"}
	w := bufio.NewWriter(&out)
	if err := errors.Join(a.writeJSON(w, map[string]string{"name": name}), w.Flush()); err != nil {
		t.Fatal(err)
	}
	for _, r := range out.String() {
		if r != '\n' && lock.Hidden(r) {
			t.Errorf("%q has the character %U", out.String(), r)
		}
	}
	var got map[string]string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got["name"] != name || got["command"] != "list" {
		t.Errorf("%q: %q, %v", out.String(), got["name"], err)
	}
}

// TestManyDocs checks that documents written one by one are the same JSON as all
// at once.
func TestManyDocs(t *testing.T) {
	for n := range 3 {
		type doc struct {
			Name string         `json:"name"`
			More map[string]any `json:"more"`
		}
		docs := []doc{{"a\u202e", map[string]any{"x": []int{1, 2}}}, {"b", map[string]any{}}}[:n]
		var one, all bytes.Buffer
		a := &app{command: "verify"}
		for out, v := range map[*bytes.Buffer]any{
			&one: &manyDocs{n, func(i int) any { return docs[i] }},
			&all: struct {
				Servers []doc `json:"servers"`
			}{docs},
		} {
			w := bufio.NewWriter(out)
			if err := errors.Join(a.writeJSON(w, v), w.Flush()); err != nil {
				t.Fatal(err)
			}
		}
		if one.String() != all.String() {
			t.Errorf("%d documents: got\n%swant\n%s", n, one.String(), all.String())
		}
	}
}

func TestCombine(t *testing.T) {
	drift := fail(ExitDrift, errors.New("drift"), "read it")
	invalid := fail(ExitInvalid, errors.New("invalid"), "fetch it")
	trust := fail(ExitTrust, errors.New("trust"), "name it")
	for _, test := range []struct {
		outcomes []error
		code     ExitCode
		text     string
	}{
		{nil, ExitYes, ""},
		{[]error{nil, nil}, ExitYes, ""},
		{[]error{nil, drift, nil}, ExitDrift, "drift"},
		{[]error{drift, invalid}, ExitInvalid, "2 of 2 servers are not good; the worst: invalid"},
		{[]error{invalid, nil, drift}, ExitInvalid, "2 of 3 servers are not good; the worst: invalid"},
		{[]error{trust, drift, trust}, ExitDrift, "3 of 3 servers are not good; the worst: drift"},
		{[]error{errors.New("plain"), nil}, ExitInternal, "plain"},
	} {
		err := combine(test.outcomes)
		switch {
		case err == nil && test.code != ExitYes:
			t.Errorf("combine(%v) is a yes", test.outcomes)
		case err != nil && (codeOf(err) != test.code || err.Error() != test.text):
			t.Errorf("combine(%v) = %d, %q, want %d, %q", test.outcomes, codeOf(err), err, test.code, test.text)
		}
	}
}

// TestCreateFile checks that a key does not take the place of a file that came
// after it was looked for.
func TestCreateFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "acme.key")
	if err := createFile(name, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := createFile(name, []byte("second"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	if data := readText(t, name); data != "first" {
		t.Errorf("the file has %q", data)
	}
}
