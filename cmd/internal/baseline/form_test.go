package baseline

import (
	"encoding/json"
	"testing"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// The second column is what python3 -c 'json.dumps(json.loads(x))' prints.
func TestPythonNumbers(t *testing.T) {
	tests := [][2]string{
		{`1.0`, `1.0`},
		{`100.0`, `100.0`},
		{`1e2`, `100.0`},
		{`1e15`, `1000000000000000.0`},
		{`1e16`, `1e+16`},
		{`123456789012345678.0`, `1.2345678901234568e+17`},
		{`0.0001`, `0.0001`},
		{`0.00001`, `1e-05`},
		{`1e-7`, `1e-07`},
		{`5e-324`, `5e-324`},
		{`1.5`, `1.5`},
		{`-0.0`, `-0.0`},
		{`0e5`, `0.0`},
		{`1.7976931348623157e308`, `1.7976931348623157e+308`},
		{`1E+5`, `100000.0`},
		{`9007199254740993.0`, `9007199254740992.0`},
		{`-1.25e-5`, `-1.25e-05`},
		{`1e22`, `1e+22`},
		{`0`, `0`},
		{`-0`, `0`},
		{`-12`, `-12`},
		{`123456789012345678901234567890`, `123456789012345678901234567890`},
	}
	for _, tt := range tests {
		if got, err := respell(nil, []byte(tt[0]), python()); err != nil || string(got) != tt[1] {
			t.Errorf("%s: got %s, %v, want %s", tt[0], got, err, tt[1])
		}
	}
	if got, err := respell(nil, []byte(`-1e400`), python()); err == nil {
		t.Errorf("-1e400: got %s", got)
	}
}

// Names sort by code point, where RFC 8785 has UTF-16 units.
func TestRespell(t *testing.T) {
	const text = `{ "😀": [1.0, {}, [], null, true], "～": "\u003c\u2028\u0001\/é", "a&b": {"b": 1, "a": 2} }`
	for _, tt := range []struct {
		spelling spelling
		want     string
	}{
		{python(), "{\"a&b\":{\"a\":2,\"b\":1},\"～\":\"<\u2028\\u0001/é\",\"😀\":[1.0,{},[],null,true]}"},
		{golang(), `{"a\u0026b":{"a":2,"b":1},"～":"\u003c\u2028\u0001/é","😀":[1.0,{},[],null,true]}`},
	} {
		if got, err := respell([]byte("x"), []byte(text), tt.spelling); err != nil || string(got) != "x"+tt.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
		}
	}
	for _, bad := range []string{``, `{`, `[1,]`, `{"a":1,"a":2}`, `1 2`, `"\ud800"`, `nul`} {
		if got, err := respell(nil, []byte(bad), python()); err == nil {
			t.Errorf("%s: got %s", bad, got)
		}
	}
}

// FuzzGolang holds the spelling of mcptrust's hashes to encoding/json, of which it is an imitation.
func FuzzGolang(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		form, err := canonical.Append(nil, text)
		if err != nil {
			return
		}
		got, err := respell(nil, form, golang())
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		var v any
		if err := json.Unmarshal(form, &v); err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(v)
		if err != nil || string(got) != string(want) {
			t.Errorf("got  %s\nwant %s, %v", got, want, err)
		}
		if _, err := respell(nil, form, python()); err != nil {
			t.Errorf("%s: %v", form, err)
		}
	})
}
