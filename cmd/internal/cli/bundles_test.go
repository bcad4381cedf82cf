package cli

import (
	"strings"
	"testing"
)

// Each line is a bundle, blank lines are none, and what is written over several
// lines is one.
func TestSplitBundles(t *testing.T) {
	const pretty = "{\n  \"a\": [\n    {\"b\": 1}\n  ]\n}\n"
	for text, want := range map[string][]string{
		"":                           {""},
		`{"a":1}`:                    {`{"a":1}`},
		`{"a":1}` + "\n":             {`{"a":1}` + "\n"},
		`{"a":1}` + "\n\n\n":         {`{"a":1}` + "\n\n\n"},
		`{"a":1}` + "\n" + `{"b":2}`: {`{"a":1}`, `{"b":2}`},
		"\n" + `{"a":1}` + "\r\n \r\n" + `{"b":2}` + "\n": {`{"a":1}`, `{"b":2}`},
		`{"a":1}` + "\n" + `{"b":`:                        {`{"a":1}`, `{"b":`},
		`{"a":` + "\n" + `{"b":2}`:                        {`{"a":`, `{"b":2}`},
		"x\n" + `{"b":2}` + "\ny":                         {"x", `{"b":2}`, "y"},
		pretty:                                            {pretty},
		strings.TrimSuffix(pretty, "}\n"):                 {strings.TrimSuffix(pretty, "}\n")}, // a part is one as well
		"hello\nworld":                                    {"hello\nworld"},
	} {
		var got []string
		for _, b := range splitBundles([]byte(text), 4) {
			got = append(got, string(b))
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
