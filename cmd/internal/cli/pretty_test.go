package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// What is folded is the same value, and no line is longer than it has to be.
func TestValueText(t *testing.T) {
	long := strings.Repeat("x", columns)
	for _, tt := range []struct{ value, want string }{
		{`{}`, `{}`},
		{`"a"`, `"a"`},
		{`[1,{"a":[]}]`, `[1,{"a":[]}]`},
		{"{ \"a\" :\n1 }", `{"a":1}`},
		{`{"a":"` + long + `","b":[1,2]}`, "{\n  \"a\": \"" + long + "\",\n  \"b\": [1,2]\n}"},
		{`{"x,{\"]":{"y":["` + long + `",{}]}}`, "{\n  \"x,{\\\"]\": {\n    \"y\": [\n      \"" + long + "\",\n      {}\n    ]\n  }\n}"},
		{"[\"\u200b\"]", `["\u200b"]`},
		{`no JSON`, `no JSON`},
	} {
		var out bytes.Buffer
		valueText(&out, []byte(tt.value))
		want := margin + strings.ReplaceAll(tt.want, "\n", "\n"+margin) + "\n"
		if out.String() != want {
			t.Errorf("%s is shown as\n%swant\n%s", tt.value, out.String(), want)
		}
		var before, after bytes.Buffer
		if json.Compact(&before, []byte(tt.value)) == nil && !strings.Contains(tt.value, "\u200b") {
			if err := json.Compact(&after, out.Bytes()); err != nil || after.String() != before.String() {
				t.Errorf("%s is shown as another value: %s", tt.value, after.String())
			}
		}
	}
}
