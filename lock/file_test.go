package lock_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// number returns a digest that is easy to tell from others.
func number(n byte) lock.Digest { return lock.Digest{31: n} }

// fixture returns a lockfile with something of everything in it.
func fixture(t testing.TB) *lock.File {
	t.Helper()
	l := listing(t, `{"instructions":"Ask\u202e first.","prompts":[{"name":"a"}],"resourceTemplates":[{"uriTemplate":"x://{y}"}],
		"tools":[{"name":"a","v":[[],{},[{}],1.5,-1e-7,true,null,"\n\u0001\"\\"],"_meta":{"t":1e99}},{"name":"pay\u200b","\udb40\udc41":{"\u00a0":"é日\u0430"}}]}`)
	unsigned := pinned(l)
	unsigned.Name = "local"

	one, two := tool(t, `{"name":"forecast","days":1}`), tool(t, `{"name":"forecast","days":2,"_meta":{"v":1}}`)
	signed := lock.Server{
		Name: "io.github.acme/weather",
		Evidence: []lock.Evidence{
			{Sequence: lock.MaxSequence, Signer: ci("refs/tags/v1.4.2"), Bundle: number(3), Trust: []lock.Digest{number(4), number(5)}},
			{Sequence: 17, Signer: lock.Signer{Key: number(1).String()}, Bundle: number(2)},
			{Variant: "zod-4\u200b", Sequence: 17, Signer: lock.Signer{Root: number(6).String(), Subject: "https://acme.example/release"}, Bundle: number(2), Trust: []lock.Digest{number(7)}},
		},
		Pins: []lock.Pin{
			{Definition: one},
			{Definition: two, Variant: "zod-4\u200b"},
			{Definition: tool(t, `{"name":"local"}`), Unsigned: true},
		},
	}
	f := &lock.File{}
	f.Put(unsigned)
	f.Put(signed)
	return f
}

// smallest is a lockfile as it is written.
const smallest = `{
  "version": 1,
  "servers": [
    {
      "name": "io.github.acme/weather",
      "signed": [
        {
          "sequence": 17,
          "signer": {
            "key": "sha256:0000000000000000000000000000000000000000000000000000000000000001"
          },
          "bundle": "sha256:0000000000000000000000000000000000000000000000000000000000000002",
          "trust": []
        }
      ],
      "pins": [
        {
          "kind": "tool",
          "name": "a",
          "digest": "sha256:8e29ffbc29cd069803ce764c45218e5a915bc63715d9339edeb157763d6fa791",
          "definition": {
            "inputSchema": {
              "required": [
                "x"
              ],
              "type": "object"
            },
            "name": "a"
          }
        },
        {
          "kind": "tool",
          "name": "b",
          "unsigned": true,
          "digest": "sha256:f11c6a1404076e85e3078b5c0be22293432afc2ac699f9a6f1b454897c5d1aeb",
          "meta": "sha256:0000000000000000000000000000000000000000000000000000000000000003",
          "definition": {
            "name": "b",
            "\u200b": []
          }
        }
      ]
    }
  ]
}
`

// The format, to the byte. A change here is a new version of it.
func TestFormat(t *testing.T) {
	f, err := lock.Parse([]byte(smallest))
	if err != nil {
		t.Fatal(err)
	}
	out := must[[]byte](t)(f.Format())
	if string(out) != smallest {
		t.Errorf("got\n%s", out)
	}
	s := f.Find("io.github.acme/weather")
	if s == nil || f.Find("weather") != nil || f.Find("") != nil {
		t.Fatalf("got %v", s)
	}
	if got := s.Sequence(); got != 17 {
		t.Errorf("sequence %d", got)
	}
	a, b := s.Pins[0], s.Pins[1]
	if a.Definition.ID() != "tool:a" || a.Unsigned || string(a.Definition.Canonical()) != `{"inputSchema":{"required":["x"],"type":"object"},"name":"a"}` {
		t.Errorf("got %+v", a)
	}
	if b.Definition.ID() != "tool:b" || !b.Unsigned || b.Definition.MetaDigest() != number(3) {
		t.Errorf("got %+v", b)
	}
}

// What is written is read again as it was: Parse undoes Format.
func TestFileRoundTrip(t *testing.T) {
	f := fixture(t)
	out := must[[]byte](t)(f.Format())
	again := must[*lock.File](t)(lock.Parse(out))
	if !bytes.Equal(must[[]byte](t)(again.Format()), out) {
		t.Error("the bytes are not the same")
	}
	if len(again.Servers) != len(f.Servers) {
		t.Fatalf("%d servers", len(again.Servers))
	}
	for i, s := range f.Servers {
		got := again.Servers[i]
		if got.Name != s.Name || !reflect.DeepEqual(got.Evidence, s.Evidence) || len(got.Pins) != len(s.Pins) {
			t.Errorf("got  %+v\nwant %+v", got, s)
			continue
		}
		for j, p := range s.Pins {
			q := got.Pins[j]
			if q.Variant != p.Variant || q.Unsigned != p.Unsigned || q.Definition.ID() != p.Definition.ID() || q.Definition.Digest() != p.Definition.Digest() ||
				q.Definition.MetaDigest() != p.Definition.MetaDigest() || !bytes.Equal(q.Definition.Canonical(), p.Definition.Canonical()) {
				t.Errorf("got  %+v\nwant %+v", q, p)
			}
		}
	}
	// A reviewer sees what does not show.
	if i := bytes.IndexFunc(out, func(r rune) bool { return r != '\n' && lock.Hidden(r) }); i >= 0 {
		t.Errorf("byte %d is hidden: %q", i, out[i:i+10])
	}
	for _, want := range []string{`Ask\u202e first.`, `"pay\u200b"`, `"\udb40\udc41"`, `"\u00a0": "é日а"`, `"zod-4\u200b"`, `"\n\u0001\"\\"`} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
}

// Servers are kept in order, and replaced by name.
func TestFilePut(t *testing.T) {
	f := &lock.File{}
	for _, name := range []string{"b", "c", "a", "b"} {
		s := pinned(listing(t, `[{"name":"`+name+`"}]`))
		s.Name = name
		f.Put(s)
	}
	var names []string
	for _, s := range f.Servers {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "a b c" {
		t.Errorf("got %s", got)
	}
	must[[]byte](t)(f.Format())
}

// Sort makes the order that Format asks for.
func TestServerSort(t *testing.T) {
	f := fixture(t)
	want := must[[]byte](t)(f.Format())
	for i := range f.Servers {
		slices.Reverse(f.Servers[i].Pins)
		slices.Reverse(f.Servers[i].Evidence)
	}
	if out, err := f.Format(); err == nil {
		t.Errorf("wrote what is not in order: %s", out)
	}
	for i := range f.Servers {
		f.Servers[i].Sort()
	}
	if out := must[[]byte](t)(f.Format()); !bytes.Equal(out, want) {
		t.Errorf("got %s", out)
	}
}

// Everything that Parse refuses, with the line it names. Each case replaces
// something in smallest, or is a text of its own.
func TestParseRefuses(t *testing.T) {
	const (
		digest = "8e29ffbc29cd069803ce764c45218e5a915bc63715d9339edeb157763d6fa791"
		pinB   = `        {
          "kind": "tool",
          "name": "b",`
	)
	for _, c := range []struct {
		name     string
		old, new string
		want     string
	}{
		{"empty", smallest, "", "unexpected end"},
		{"no object", smallest, "[]\n", "expected an object"},
		{"no version", "  \"version\": 1,\n", "", "version is missing"},
		{"another version", `"version": 1`, `"version": 2`, "version 2 is not known"},
		{"a version that is no number", `"version": 1`, `"version": "1"`, "expected a number"},
		{"a version in another spelling", `"version": 1`, `"version": 1.0`, "not in the form"},
		{"10,001 servers", `"servers": [`, `"servers": [` + strings.Repeat("{},", 10_000), "more than 10000 servers"},
		{"no servers", smallest, "{\n  \"version\": 1,\n  \"servers\": []\n}\n", "no servers"},
		{"servers missing", smallest, "{\n  \"version\": 1\n}\n", "no servers"},
		{"unknown member", `"version": 1,`, `"version": 1, "x": 2,`, `unknown member "x"`},
		{"unknown member of a server", `"signed": [`, `"note": "x", "signed": [`, `unknown member "note"`},
		{"unknown member of a signature", `"sequence": 17,`, `"sequence": 17, "x": 2,`, `unknown member "x"`},
		{"unknown member of a signer", `"signer": {`, `"signer": {"x": "y",`, `unknown member "x"`},
		{"unknown member of a pin", `"unsigned": true,`, `"unsigned": true, "score": 9,`, `unknown member "score"`},
		{"65 signatures", `"signed": [`, `"signed": [` + strings.Repeat("{},", 64), "more than 64 signatures"},
		{"17 keys of a signature", `"trust": []`, `"trust": [` + strings.Repeat(`"sha256:`+digest+`",`, 17) + `]`, "more than 16 keys and roots"},
		{"a member twice", `"sequence": 17,`, `"sequence": 17, "sequence": 18,`, "duplicate_key"},
		{"a conflict, ours", pinB, "<<<<<<< HEAD\n" + pinB, "conflict"},
		{"a conflict, theirs", pinB, ">>>>>>> theirs\n" + pinB, "conflict"},
		{"a conflict, between", pinB, "=======\n" + pinB, "conflict"},
		{"a conflict in the first line", "{\n  \"version\"", "<<<<<<< HEAD\n{\n  \"version\"", "conflict"},
		{"CRLF", "\n", "\r\n", "CRLF"},
		{"no line end", "  ]\n}\n", "  ]\n}", "not in the form"},
		{"two", "  ]\n}\n", "  ]\n}\n\n", "not in the form"},
		{"something behind it", "  ]\n}\n", "  ]\n}\n{}\n", "trailing_data"},
		{"a byte order mark", "{\n  \"version\"", "\ufeff{\n  \"version\"", "bom"},
		{"a tab", `  "version"`, "\t\"version\"", "not in the form"},
		{"on fewer lines", "\n                \"x\"\n              ", `"x"`, "not in the form"},
		{"another order of members", `"kind": "tool",
          "name": "a",`, `"name": "a",
          "kind": "tool",`, "not in the form"},
		{"members of the definition in another order", `"inputSchema": {
              "required"`, `"name": "a", "inputSchema": {
              "required"`, "duplicate_key"},
		{"a hidden character as it is", `"\u200b"`, "\"\u200b\"", "not in the form"},
		{"an escape that is not needed", `"name": "b"`, `"name": "\u0062"`, "not in the form"},
		{"the definition edited", `"type": "object"`, `"type": "array"`, "says digest"},
		{"the digest edited", "8e29ffbc", "8e29ffb0", "says digest"},
		{"no digest", `          "digest": "sha256:` + digest + "\",\n", "", "says digest"},
		{"a digest of another algorithm", "sha256:8e29", "sha512:8e29", "says digest"},
		{"a digest in capitals", digest, strings.ToUpper(digest), "says digest"},
		{"the name edited", `"name": "a",`, `"name": "c",`, "holds a definition called a"},
		{"no name", "          \"name\": \"a\",\n", "", "holds a definition called a"},
		{"no definition", `,
          "definition": {
            "name": "b",
            "\u200b": []
          }`, "", "no definition"},
		{"a definition that is none", `{
            "name": "b",
            "\u200b": []
          }`, `null`, "not_an_object"},
		{"a definition without a digest", `"\u200b": []`, `"\u200b": 1e400`, "number_out_of_range"},
		{"a definition with a _meta", `"\u200b": []`, `"\u200b": [], "_meta": {}`, "not in the form"},
		{"another kind", `"kind": "tool",
          "name": "a"`, `"kind": "resourceTemplate",
          "name": "a"`, "missing_name"},
		{"an unknown kind", `"kind": "tool",
          "name": "a"`, `"kind": "tools",
          "name": "a"`, "before a known kind"},
		{"the kind behind the definition", `"kind": "tool",
          "name": "a",`, `"name": "a",`, "before a known kind"},
		{"pins out of order", `"name": "a"`, `"name": "c"`, "says digest"},
		{"unsigned with a variant", `"unsigned": true,`, `"variant": "x",
          "unsigned": true,`, "unsigned and has a variant"},
		{"neither signed nor unsigned", `"unsigned": true,`, `"variant": "x",`, `nothing signed covers variant "x"`},
		{"unsigned: false", `          "unsigned": true,
`, `          "unsigned": false,
`, "not in the form"},
		{"unsigned: null", `"unsigned": true`, `"unsigned": null`, "expected true or false"},
		{"an empty variant", `"unsigned": true,`, `"variant": "", "unsigned": true,`, "not in the form"},
		{"an empty meta", `"meta": "sha256:0000000000000000000000000000000000000000000000000000000000000003"`, `"meta": ""`, "not in the form"},
		{"a meta that is no digest", `"meta": "sha256:0`, `"meta": "sha256:g`, "meta"},
		{"no pins", smallest, "{\n  \"version\": 1,\n  \"servers\": [\n    {\n      \"name\": \"a\",\n      \"pins\": []\n    }\n  ]\n}\n", "has 0 pins"},
		{"a bad name of a server", "io.github.acme/weather", "io.github.acme//weather", "segment"},
		{"no name of a server", `      "name": "io.github.acme/weather",
`, "", "0 bytes"},
		{"no signer", `"key": "sha256:0000000000000000000000000000000000000000000000000000000000000001"`, ``, "one of key, root and issuer"},
		{"a key that is no digest", `"key": "sha256:0`, `"key": "sha256:g`, "digest"},
		{"two kinds of signer", `"key":`, `"issuer": "https://x", "subject": "y", "key":`, "one of key, root and issuer"},
		{"a key with a subject", `"key":`, `"subject": "y", "key":`, "a key or a subject"},
		{"an issuer without a subject", `"key": "sha256:0000000000000000000000000000000000000000000000000000000000000001"`, `"issuer": "https://x"`, "a key or a subject"},
		{"sequence zero", `"sequence": 17`, `"sequence": 0`, "sequence 0 is not between"},
		{"sequence negative", `"sequence": 17`, `"sequence": -1`, "sequence is no integer"},
		{"sequence with a fraction", `"sequence": 17`, `"sequence": 17.5`, "sequence is no integer"},
		{"sequence 2^53", `"sequence": 17`, `"sequence": 9007199254740992`, "number_out_of_range"},
		{"sequence in another spelling", `"sequence": 17`, `"sequence": 1.7e1`, "not in the form"},
		{"no sequence", "          \"sequence\": 17,\n", "", "sequence 0"},
		{"a bundle that is no digest", `"bundle": "sha256:0`, `"bundle": "sha256:x`, "not a digest"},
		{"no bundle", `"bundle": "sha256:0000000000000000000000000000000000000000000000000000000000000002",`, ``, "names no bundle"},
		{"trust that is no digest", `"trust": []`, `"trust": ["x"]`, "not a digest"},
		{"trust of nothing", `"trust": []`, `"trust": ["sha256:` + strings.Repeat("0", 64) + `"]`, "not a digest"},
		{"trust out of order", `"trust": []`, `"trust": ["` + number(2).String() + `","` + number(1).String() + `"]`, "trust is not in order"},
		{"an empty list of signatures", smallest[strings.Index(smallest, "      \"signed\""):strings.Index(smallest, "      \"pins\"")], "      \"signed\": [],\n", "nothing signed covers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.ReplaceAll(smallest, c.old, c.new)
			if text == smallest {
				t.Fatal("nothing is replaced")
			}
			f, err := lock.Parse([]byte(text))
			var e *lock.ParseError
			if f != nil || !errors.As(err, &e) {
				t.Fatalf("got %v, %v", f, err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want %q", err, c.want)
			}
			if strings.ContainsFunc(err.Error(), lock.Hidden) {
				t.Errorf("the message %q holds what does not show", err)
			}
		})
	}
}

// The line that an error names, by what stands there.
func TestParseLine(t *testing.T) {
	for _, c := range []struct {
		name         string
		old, new, at string
	}{
		{"syntax", `"version": 1,`, `"version": 1`, `"servers"`},
		{"an unknown member", `"unsigned": true,`, `"unsigned": true, "score": 9,`, `"score"`},
		{"a merge conflict", `        {
          "kind": "tool",
          "name": "b",`, `=======
        {
          "kind": "tool",
          "name": "b",`, `=======`},
		{"a form that is not written", `"unsigned": true`, `"unsigned": false`, `"unsigned"`},
		{"a hidden character", `"\u200b"`, "\"\u200b\"", "\u200b"},
		{"CRLF", "\"servers\": [\n", "\"servers\": [\r\n", "\"servers\""},
		{"the end of a pin whose digest is not right", `"type": "object"`, `"type": "array"`, `        },`},
	} {
		text := strings.Replace(smallest, c.old, c.new, 1)
		_, err := lock.Parse([]byte(text))
		var e *lock.ParseError
		if !errors.As(err, &e) || e.Line < 1 {
			t.Errorf("%s: got %v", c.name, err)
			continue
		}
		if got := strings.Split(text, "\n")[e.Line-1]; !strings.Contains(got, c.at) {
			t.Errorf("%s: got %v; that line is %q", c.name, err, got)
		}
	}
	// What concerns more than one line names none.
	_, err := lock.Parse([]byte(strings.Replace(smallest, `"sequence": 17`, `"sequence": 0`, 1)))
	if want := "lockfile: server io.github.acme/weather: sequence 0 is not between 1 and 2^53-1"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// What Parse refuses because of its order, however it is written.
func TestParseOrder(t *testing.T) {
	a, b, v := tool(t, `{"name":"a"}`), tool(t, `{"name":"b"}`), tool(t, `{"name":"a","v":1}`)
	evidence := func(variant string, key byte) lock.Evidence {
		return lock.Evidence{Variant: variant, Sequence: 1, Signer: lock.Signer{Key: number(key).String()}, Bundle: number(9)}
	}
	server := func(change func(s *lock.Server)) *lock.File {
		s := lock.Server{
			Name:     "x",
			Evidence: []lock.Evidence{evidence("", 1), evidence("", 2), evidence("v", 1)},
			Pins:     []lock.Pin{{Definition: a}, {Definition: v, Variant: "v"}, {Definition: b, Unsigned: true}},
		}
		change(&s)
		return &lock.File{Servers: []lock.Server{s}}
	}
	must[[]byte](t)(server(func(*lock.Server) {}).Format())
	two := func(first, second string) *lock.File {
		f := &lock.File{}
		for _, name := range []string{first, second} {
			f.Servers = append(f.Servers, lock.Server{Name: name, Pins: []lock.Pin{{Definition: a, Unsigned: true}}})
		}
		return f
	}
	must[[]byte](t)(two("a", "b").Format())
	for name, f := range map[string]*lock.File{
		"no servers":                  {},
		"servers":                     two("b", "a"),
		"a server twice":              two("a", "a"),
		"a name that is bad":          two("a", "b c"),
		"pins":                        server(func(s *lock.Server) { s.Pins[0], s.Pins[2] = s.Pins[2], s.Pins[0] }),
		"variants of a pin":           server(func(s *lock.Server) { s.Pins[0], s.Pins[1] = s.Pins[1], s.Pins[0] }),
		"a pin twice":                 server(func(s *lock.Server) { s.Pins[1].Variant = "" }),
		"no pins":                     server(func(s *lock.Server) { s.Pins = nil }),
		"too many pins":               server(func(s *lock.Server) { s.Pins = manyPins(t, lock.MaxDefinitions+1) }),
		"a pin of nothing":            server(func(s *lock.Server) { s.Pins[0].Definition = lock.Definition{} }),
		"an unsigned variant":         server(func(s *lock.Server) { s.Pins[1].Unsigned = true }),
		"an uncovered pin":            server(func(s *lock.Server) { s.Evidence = s.Evidence[:2] }),
		"signatures":                  server(func(s *lock.Server) { s.Evidence[0], s.Evidence[1] = s.Evidence[1], s.Evidence[0] }),
		"a signature twice":           server(func(s *lock.Server) { s.Evidence[1] = s.Evidence[0] }),
		"nobody signed":               server(func(s *lock.Server) { s.Evidence[0].Signer = lock.Signer{} }),
		"sequence zero":               server(func(s *lock.Server) { s.Evidence[0].Sequence = 0 }),
		"sequence 2^53":               server(func(s *lock.Server) { s.Evidence[0].Sequence = lock.MaxSequence + 1 }),
		"no bundle":                   server(func(s *lock.Server) { s.Evidence[0].Bundle = lock.Digest{} }),
		"trust":                       server(func(s *lock.Server) { s.Evidence[0].Trust = []lock.Digest{number(2), number(1)} }),
		"trust in nothing":            server(func(s *lock.Server) { s.Evidence[0].Trust = []lock.Digest{{}} }),
		"a variant that is no UTF-8":  server(func(s *lock.Server) { s.Evidence[2].Variant, s.Pins[1].Variant = "v\xff", "v\xff" }),
		"a subject that is no UTF-8":  server(func(s *lock.Server) { s.Evidence[0].Signer = lock.Signer{Issuer: "https://x", Subject: "\xff"} }),
		"an issuer that is no UTF-8":  server(func(s *lock.Server) { s.Evidence[0].Signer = lock.Signer{Issuer: "\xff", Subject: "x"} }),
		"a repository and no subject": server(func(s *lock.Server) { s.Evidence[0].Signer = lock.Signer{Issuer: "https://x", Repository: "y"} }),
	} {
		if out, err := f.Format(); err == nil || out != nil {
			t.Errorf("%s: got %s, %v", name, out, err)
		}
	}
}

// manyPins returns n unsigned pins in order.
func manyPins(t testing.TB, n int) []lock.Pin {
	t.Helper()
	pins := make([]lock.Pin, n)
	for i := range pins {
		pins[i] = lock.Pin{Definition: tool(t, fmt.Sprintf(`{"name":"t%05d"}`, i)), Unsigned: true}
	}
	return pins
}

// Indentation makes a definition longer, but no shorter definition fits into a
// lockfile than into a listing; a file beyond the limit is not written, and not
// read, in bounded memory.
func TestFileLimits(t *testing.T) {
	wide := func(levels, elements int) lock.Definition {
		return tool(t, `{"name":"a","v":`+strings.Repeat("[", levels)+strings.Repeat("1,", elements)+"1"+strings.Repeat("]", levels)+`}`)
	}
	file := func(ds ...lock.Definition) *lock.File {
		s := lock.Server{Name: "x"}
		for _, d := range ds {
			s.Pins = append(s.Pins, lock.Pin{Definition: d, Unsigned: true})
		}
		return &lock.File{Servers: []lock.Server{s}}
	}
	// 800 KB that become 7 MB.
	out := must[[]byte](t)(file(wide(1, 400_000)).Format())
	must[*lock.File](t)(lock.Parse(out))
	// 1 MB that would become 70 MB.
	deep := wide(60, 500_000)
	if out, err := file(deep).Format(); err == nil {
		t.Errorf("wrote %d bytes", len(out))
	}
	if _, err := lock.Parse(make([]byte, lock.MaxLockfile+1)); err == nil || !strings.Contains(err.Error(), "too_large") {
		t.Errorf("a file of more than 32 MiB: %v", err)
	}
	for what, change := range map[string]func(s *lock.Server){
		"64 signatures": func(s *lock.Server) {
			for i := range 65 {
				s.Evidence = append(s.Evidence, lock.Evidence{Variant: fmt.Sprintf("v%02d", i), Sequence: 1, Signer: ci("refs/tags/v1"), Bundle: number(2)})
			}
		},
		"200,000 pins of variants": func(s *lock.Server) {
			s.Pins = manyPins(t, 3200)
			for i := range 64 {
				variant := fmt.Sprintf("v%02d", i)
				s.Evidence = append(s.Evidence, lock.Evidence{Variant: variant, Sequence: 1, Signer: ci("refs/tags/v1"), Bundle: number(2)})
				s.Pins = append(s.Pins, lock.Pin{Definition: tool(t, `{"name":"z"}`), Variant: variant})
			}
		},
		"16 keys": func(s *lock.Server) {
			e := lock.Evidence{Sequence: 1, Signer: ci("refs/tags/v1"), Bundle: number(2)}
			for i := range 17 {
				e.Trust = append(e.Trust, number(byte(i+1)))
			}
			s.Evidence = []lock.Evidence{e}
		},
	} {
		f := file(tool(t, `{"name":"a"}`))
		change(&f.Servers[0])
		if _, err := f.Format(); err == nil {
			t.Errorf("more than %s: written", what)
		}
	}
	// A small file that would be a large one, were it in the form.
	hostile := fmt.Appendf(nil, `{"version":1,"servers":[{"name":"x","pins":[{"kind":"tool","name":"a","unsigned":true,"digest":%q,"definition":%s}]}]}`,
		deep.Digest(), deep.Canonical())
	var err error
	used := allocated(func() { _, err = lock.Parse(hostile) })
	if err == nil || !strings.Contains(err.Error(), "not in the form") {
		t.Errorf("got %v", err)
	}
	if used > uint64(16*len(hostile)) {
		t.Errorf("allocated %d MiB for a file of %d MiB", used>>20, len(hostile)>>20)
	}
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "weather", "io.github.acme/weather", "A-b_c~d@1.0+e:f", "@scope/name", "a/b/c", "...", "a..b", strings.Repeat("x", 255)} {
		if err := lock.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a/.", "a b", "a\n", "a\x00", "a\\b", "a*", "a?", "a#b", "a%2fb", "a=b", `"a"`,
		"p\u0430y", "caf\u00e9", "\uff41", "a\u200b", "a\u202e", "\xff", strings.Repeat("x", 256),
	} {
		err := lock.CheckName(name)
		if err == nil || strings.ContainsFunc(err.Error(), lock.Hidden) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestSourceRoundTrip(t *testing.T) {
	long := make([]string, 1001)
	for i := range long {
		long[i] = "x"
	}
	hex128 := strings.Repeat("0a", 64)
	sum := map[string]string{"sha256": hex128[:64]}
	for _, test := range []struct {
		name   string
		source lock.Source
		ok     bool
	}{
		{"none", lock.Source{}, true},
		{"command", lock.Source{Command: []string{"npx", "-y", "@acme/weather-mcp@1.4.2", "", "\u202e"}}, true},
		{"entry", lock.Source{Client: "cursor/weather", Command: []string{"uvx", "${env:X}"}, Env: []string{"A", "B"}}, true},
		{"entry with a working directory", lock.Source{Client: "cursor/weather", Command: []string{"uvx"}, Dir: "${workspaceFolder}/\u202es", Env: []string{"A"}}, true},
		{"working directory without an entry", lock.Source{Command: []string{"uvx"}, Dir: "s"}, false},
		{"working directory of a URL", lock.Source{Client: "cursor/weather", URL: "https://a.example/", Dir: "s"}, false},
		{"working directory alone", lock.Source{Dir: "s"}, false},
		{"working directory with NUL", lock.Source{Client: "cursor/weather", Command: []string{"uvx"}, Dir: "a\x00"}, false},
		{"working directory of no UTF-8", lock.Source{Client: "cursor/weather", Command: []string{"uvx"}, Dir: "a\xff"}, false},
		{"url", lock.Source{URL: "https://weather.acme.example:8443/mcp", Env: []string{"TOKEN"}, Headers: []lock.Header{{"Authorization", "Bearer ${TOKEN}"}}}, true},
		{"both", lock.Source{Command: []string{"x"}, URL: "https://a.example/"}, false},
		{"neither", lock.Source{Client: "cursor/weather"}, false},
		{"no program", lock.Source{Command: []string{""}}, false},
		{"NUL", lock.Source{Command: []string{"a\x00"}}, false},
		{"no UTF-8", lock.Source{Command: []string{"a\xff"}}, false},
		{"many", lock.Source{Command: long}, false},
		{"client without a server", lock.Source{Client: "cursor", Command: []string{"x"}}, false},
		{"header of a command", lock.Source{Command: []string{"x"}, Headers: []lock.Header{{"A", "b"}}}, false},
		{"user", lock.Source{URL: "https://me:pw@a.example/"}, false},
		{"query", lock.Source{URL: "https://a.example/?key=1"}, false},
		{"empty query", lock.Source{URL: "https://a.example/?"}, false},
		{"fragment", lock.Source{URL: "https://a.example/#a"}, false},
		{"scheme", lock.Source{URL: "ftp://a.example/"}, false},
		{"no host", lock.Source{URL: "https:///a"}, false},
		{"value", lock.Source{Command: []string{"x"}, Env: []string{"A=b"}}, false},
		{"env order", lock.Source{Command: []string{"x"}, Env: []string{"B", "A"}}, false},
		{"env twice", lock.Source{Command: []string{"x"}, Env: []string{"A", "A"}}, false},
		{"header name", lock.Source{URL: "https://a.example/", Headers: []lock.Header{{"A B", "c"}}}, false},
		{"header line", lock.Source{URL: "https://a.example/", Headers: []lock.Header{{"A", "b\r\nC: d"}}}, false},
		{"artifacts", lock.Source{Command: []string{"npx", "a"}, Artifacts: []lock.Artifact{
			{PURL: "pkg:npm/a@1", Digest: map[string]string{"sha512": hex128, "sha256": hex128[:64]}}, {File: "./a\u202e.js", Digest: map[string]string{"sha384": hex128[:96]}}}}, true},
		{"artifacts at a URL", lock.Source{URL: "https://a.example/", Artifacts: artifacts(1, lock.Artifact{File: "a", Digest: sum})}, false},
		{"many artifacts", lock.Source{Command: []string{"a"}, Artifacts: artifacts(17, lock.Artifact{File: "a", Digest: sum})}, false},
		{"as many artifacts as may be", lock.Source{Command: []string{"a"}, Artifacts: artifacts(16, lock.Artifact{File: "a", Digest: sum})}, true},
		{"purl and file", lock.Source{Command: []string{"a"}, Artifacts: artifacts(1, lock.Artifact{PURL: "pkg:npm/a", File: "a", Digest: sum})}, false},
		{"neither purl nor file", lock.Source{Command: []string{"a"}, Artifacts: artifacts(1, lock.Artifact{Digest: sum})}, false},
		{"no purl", lock.Source{Command: []string{"a"}, Artifacts: artifacts(1, lock.Artifact{PURL: "npm/a", Digest: sum})}, false},
		{"file with NUL", lock.Source{Command: []string{"a"}, Artifacts: artifacts(1, lock.Artifact{File: "a\x00", Digest: sum})}, false},
		{"no digest", lock.Source{Command: []string{"a"}, Artifacts: artifacts(1, lock.Artifact{File: "a"})}, false},
		{"short digest", lock.Source{Command: []string{"a"}, Artifacts: artifacts(1, lock.Artifact{File: "a", Digest: map[string]string{"sha256": hex128[:62]}})}, false},
		{"upper-case digest", lock.Source{Command: []string{"a"}, Artifacts: artifacts(1, lock.Artifact{File: "a", Digest: map[string]string{"sha256": strings.ToUpper(hex128[:64])}})}, false},
		{"other digest", lock.Source{Command: []string{"a"}, Artifacts: artifacts(1, lock.Artifact{File: "a", Digest: map[string]string{"sha1": hex128[:40]}})}, false},
		{"header order", lock.Source{URL: "https://a.example/", Headers: []lock.Header{{"B", "b"}, {"A", "a"}}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := pinned(listing(t, `{"tools":[{"name":"a"}]}`))
			s.Name, s.Source, s.Info = "local", test.source, lock.Info{Name: "\u202ea", ProtocolVersion: "2025-11-25"}
			out, err := (&lock.File{Servers: []lock.Server{s}}).Format()
			if (err == nil) != test.ok {
				t.Fatalf("got error %v", err)
			}
			if !test.ok {
				return
			}
			again := must[*lock.File](t)(lock.Parse(out)).Find("local")
			if !reflect.DeepEqual(again.Source, test.source) || again.Info != s.Info {
				t.Errorf("got %+v %+v", again.Source, again.Info)
			}
		})
	}
}

func artifacts(n int, a lock.Artifact) []lock.Artifact { return slices.Repeat([]lock.Artifact{a}, n) }

func TestSourceSame(t *testing.T) {
	command := lock.Source{Command: []string{"npx", "a"}}
	read := lock.Source{Command: command.Command, Artifacts: artifacts(1, lock.Artifact{File: "a", Digest: map[string]string{"sha256": strings.Repeat("a", 64)}})}
	url := lock.Source{URL: "https://a.example/mcp"}
	entry := lock.Source{Client: "cursor/a", Command: command.Command, Dir: "s", Env: []string{"A", "B"}}
	for _, test := range []struct {
		a, b lock.Source
		want bool
	}{
		{command, lock.Source{Client: "cursor/a", Command: []string{"npx", "a"}}, true},
		{command, lock.Source{Command: command.Command, Env: []string{}}, true},
		{command, lock.Source{Client: "cursor/a", Command: command.Command, Env: []string{"A"}}, false},
		{command, lock.Source{Client: "cursor/a", Command: command.Command, Dir: "s"}, false},
		{entry, entry, true},
		{entry, lock.Source{Client: "vscode/b", Command: command.Command, Dir: "s", Env: []string{"A", "B"}}, true},
		{entry, lock.Source{Client: "cursor/a", Command: command.Command, Dir: "t", Env: []string{"A", "B"}}, false},
		{entry, lock.Source{Client: "cursor/a", Command: command.Command, Dir: "s", Env: []string{"A", "C"}}, false},
		{entry, lock.Source{Client: "cursor/a", Command: command.Command, Dir: "s", Env: []string{"A"}}, false},
		{command, lock.Source{Command: []string{"npx", "a", "b"}}, false},
		{command, read, true},
		{command, lock.Source{Command: []string{"npx a"}}, false},
		{url, lock.Source{URL: "https://a.example/mcp", Headers: []lock.Header{{"A", "b"}}}, true},
		{url, lock.Source{URL: "https://a.example/mcp", Env: []string{"TOKEN"}}, true},
		{url, lock.Source{URL: "https://a.example/other"}, false},
		{url, lock.Source{URL: "http://a.example/mcp"}, false},
		{url, lock.Source{URL: "https://a.example:8443/mcp"}, false},
		{url, command, false},
		{lock.Source{}, lock.Source{}, false},
	} {
		if got := test.a.Same(test.b); got != test.want || test.b.Same(test.a) != got {
			t.Errorf("%+v and %+v: same is %v", test.a, test.b, got)
		}
	}
}

// The line of an entry is the one on which its object opens.
func TestLines(t *testing.T) {
	f := fixture(t)
	lines := f.Lines()
	text := strings.Split(string(must[[]byte](t)(f.Format())), "\n")
	for _, s := range f.Servers {
		at := lines.Line(s.Name, lock.Tool, "not there")
		if !strings.Contains(text[at], `"name": "`+s.Name+`"`) {
			t.Errorf("line %d is %s", at, text[at])
		}
		for _, p := range s.Pins {
			at := lines.Line(s.Name, p.Definition.Kind(), p.Definition.Name())
			if strings.TrimSpace(text[at-1]) != "{" || !strings.Contains(text[at], `"kind": "`+string(p.Definition.Kind())) {
				t.Errorf("%s: line %d is %s", p.Definition.ID(), at, text[at])
			}
		}
	}
	if got := lines.Line("nobody", lock.Tool, "a"); got != 1 {
		t.Errorf("line %d", got)
	}
}
