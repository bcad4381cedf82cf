package lock_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

const (
	toolsPage     = `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"b"},{"name":"a"}]}}`
	promptsPage   = `{"jsonrpc":"2.0","id":3,"result":{"prompts":[{"name":"a"}]}}`
	templatesPage = `{"jsonrpc":"2.0","id":4,"result":{"resourceTemplates":[{"uriTemplate":"x:{y}","name":"z"}]}}`
	initialize    = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{}},` +
		`"serverInfo":{"name":"weather","version":"1.4.2","title":"Weather"},"instructions":"Ask first."}}`
	discover = `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"Ask first.",` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"weather","version":"2.0.0"},"other":[1e99]}}}`
	noMethod = `{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}`
)

// Every form in which a listing comes.
func TestParseListing(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts []string
		want  string // as summary writes it
		kinds string // those listed whole
	}{
		{"a response", []string{toolsPage}, "tool:a tool:b", "tool"},
		{"a result", []string{`{"tools":[{"name":"a"}]}`}, "tool:a", "tool"},
		{"an array", []string{` [ {"name":"a"} ] `}, "tool:a", "tool"},
		{"an empty array", []string{`[]`}, "", "tool"},
		{"a response without tools in it", []string{`{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`}, "", "tool"},
		{"all kinds in one result", []string{`{"tools":[{"name":"a"}],"prompts":[{"name":"a"}],"resourceTemplates":[{"uriTemplate":"a"}],"instructions":""}`},
			"instructions: prompt:a resourceTemplate:a tool:a", "instructions prompt resourceTemplate tool"},
		{"a response of each kind, as files", []string{initialize, promptsPage, templatesPage, toolsPage},
			"instructions: prompt:a resourceTemplate:x:{y} tool:a tool:b", "instructions prompt resourceTemplate tool"},
		{"as lines of one file, in another order", []string{toolsPage + "\n" + templatesPage + "\r\n" + initialize + "\n\n" + promptsPage + "\n"},
			"instructions: prompt:a resourceTemplate:x:{y} tool:a tool:b", "instructions prompt resourceTemplate tool"},
		{"without line ends", []string{toolsPage + promptsPage}, "prompt:a tool:a tool:b", "prompt tool"},
		{"two pages", []string{`{"tools":[{"name":"c"}],"nextCursor":"x"}`, `{"tools":[{"name":"a"},{"name":"b"}]}`}, "tool:a tool:b tool:c", "tool"},
		{"two pages and no end", []string{`{"tools":[{"name":"c"}],"nextCursor":"x"}`, `{"tools":[{"name":"a"}],"nextCursor":""}`}, "tool:a tool:c", ""},
		{"one page of another kind is not the last", []string{promptsPage, `{"nextCursor":"x","tools":[{"name":"c"}]}`}, "prompt:a tool:c", "prompt"},
		{"a null cursor", []string{`{"tools":[{"name":"c"}],"nextCursor":null}`}, "tool:c", "tool"},
		{"initialize without instructions", []string{`{"result":{"protocolVersion":"2025-06-18","serverInfo":{}}}`, toolsPage}, "tool:a tool:b", "instructions tool"},
		{"initialize beside tools", []string{`{"initialize":{"instructions":"Ask."},"tools":[{"name":"a"}]}`}, "instructions: tool:a", "instructions tool"},
		{"initialize in the response of tools", []string{`{"id":1,"result":{"initialize":{"instructions":"Ask."},"tools":[{"name":"a"}]}}`}, "instructions: tool:a", "instructions tool"},
		{"the response to initialize beside tools", []string{`{"tools":[{"name":"a"}],"initialize":` + initialize + `}`}, "instructions: tool:a", "instructions tool"},
		{"discover", []string{discover}, "instructions:", "instructions"},
		{"a method the server does not have", []string{toolsPage, noMethod}, "tool:a tool:b", "tool"},
		{"the code spelled otherwise", []string{toolsPage, `{"error":{"code":-3.2601e4,"message":""}}`}, "tool:a tool:b", "tool"},
		{"other members of a result", []string{`{"tools":[{"name":"a"}],"ttlMs":5,"cacheScope":"private","_meta":{"a":{"tools":[]}},"x":[null]}`}, "tool:a", "tool"},
		{"the envelope spelled with escapes", []string{`{"\u0072esult":{"\u0074ools":[{"\u006eame":"\u0061"}]}}`}, "tool:a", "tool"},
		{"a line that is no response", []string{`{"level":"info","message":"started"}` + "\n" + toolsPage}, "tool:a tool:b", "tool"},
		{"a notification does not list", []string{`{"jsonrpc":"2.0","method":"x","params":{"tools":[{"name":"c"}]}}`, toolsPage}, "tool:a tool:b", "tool"},
		{"names of all sorts", []string{`[{"name":"\u200b"},{"name":"a/b"},{"name":"A"},{"name":"\ud83d\ude00"},{"name":"\ue000"}]`},
			"tool:A tool:a/b tool:\u200b tool:\ue000 tool:\U0001f600", "tool"},
		{"a batch is an array of no tools", []string{`[{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}]`}, "| missing_name tool:#0", "tool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := listing(t, c.texts...)
			if got := summary(l); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			var kinds []string
			for _, k := range l.Kinds {
				kinds = append(kinds, string(k))
			}
			if got := strings.Join(kinds, " "); got != c.kinds {
				t.Errorf("listed whole: got %q, want %q", got, c.kinds)
			}
		})
	}
}

// A page whose next one is missing is said; one that repeats an earlier page and
// its cursor is the end.
func TestParseListingPages(t *testing.T) {
	const a, b, null = `{"name":"a","x":{"y":1,"z":2}}`, `{"name":"b"}`, `{"name":""}`
	for _, c := range []struct {
		name, want, partial string
		texts               []string
	}{
		{"no end", "tool:a tool:b", "tool", []string{`{"tools":[` + a + `],"nextCursor":"x"}`, `{"tools":[` + b + `],"nextCursor":"y"}`}},
		{"an end", "tool:a tool:b", "", []string{`{"tools":[` + a + `],"nextCursor":"x"}`, `{"tools":[` + b + `]}`}},
		{"the end first", "tool:a tool:b", "", []string{`{"tools":[` + b + `]}`, `{"tools":[` + a + `],"nextCursor":"x"}`}},
		{"two kinds", "prompt:p tool:a", "prompt", []string{`{"tools":[` + a + `]}`, `{"prompts":[{"name":"p"}],"nextCursor":""}`}},
		{"instructions have no pages", "instructions: tool:a", "tool", []string{`{"tools":[` + a + `],"instructions":"","nextCursor":""}`}},
		{"repeated", "tool:a tool:b", "", []string{`{"tools":[` + a + `,` + b + `],"nextCursor":""}`, `{"nextCursor":"","tools":[` + b + `,{"x":{"z":2,"y":1},"name":"a","_meta":{}}]}`}},
		{"repeated in another spelling", "tool:a", "", []string{`{"tools":[` + a + `],"nextCursor":"x"}`, `{"tools":[` + a + `],"nextCursor":"\u0078"}`}},
		{"repeated with what has no digest", "| missing_name tool:#0", "", []string{`{"tools":[` + null + `],"nextCursor":""}`, `{"tools":[` + null + `],"nextCursor":""}`}},
		{"repeated later", "tool:a tool:b", "", []string{`{"tools":[` + a + `],"nextCursor":"1"}`, `{"tools":[` + b + `],"nextCursor":"2"}`, `{"tools":[` + a + `],"nextCursor":"1"}`}},
		{"another cursor", "| duplicate_name tool:a#0 duplicate_name tool:a#1", "tool", []string{`{"tools":[` + a + `],"nextCursor":""}`, `{"tools":[` + a + `],"nextCursor":"x"}`}},
		{"another page", "tool:a tool:b", "tool", []string{`{"tools":[` + a + `],"nextCursor":""}`, `{"tools":[` + b + `],"nextCursor":""}`}},
		{"no cursor", "| duplicate_name tool:a#0 duplicate_name tool:a#1", "", []string{`{"tools":[` + a + `]}`, `{"tools":[` + a + `]}`}},
		{"of another kind", "prompt:b tool:b", "prompt tool", []string{`{"tools":[` + b + `],"nextCursor":""}`, `{"prompts":[` + b + `],"nextCursor":""}`}},
	} {
		l := listing(t, c.texts...)
		if got := summary(l); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		var partial []string
		for _, k := range l.Partial {
			partial = append(partial, string(k))
		}
		if got := strings.Join(partial, " "); got != c.partial {
			t.Errorf("%s: partial %q, want %q", c.name, got, c.partial)
		}
	}
}

func TestParseListingServer(t *testing.T) {
	for _, c := range []struct{ text, name, version, protocol string }{
		{initialize, "weather", "1.4.2", "2025-11-25"},
		{discover, "weather", "2.0.0", "2026-07-28"},
		{toolsPage, "", "", ""},
		{`{"protocolVersion":7,"serverInfo":{"name":null,"version":[],"x":{"name":"y"}},"tools":[]}`, "", "", ""},
		{`{"serverInfo":"weather","_meta":[],"tools":[]}`, "", "", ""},
		{`{"initialize":` + initialize + `,"tools":[]}`, "weather", "1.4.2", "2025-11-25"},
		{`{"tools":[],"initialize":{"serverInfo":{"name":"w"},"protocolVersion":"2025-06-18"}}`, "w", "", "2025-06-18"},
		{`{"result":{"tools":[],"initialize":` + initialize + `}}`, "weather", "1.4.2", "2025-11-25"},
		{`{"result":{"tools":[],"initialize":{"initialize":{"serverInfo":{"name":"w"}}}}}`, "", "", ""},
		{`{"tools":[],"protocolVersion":"2025-06-18","serverInfo":{"name":"w"}}`, "w", "", "2025-06-18"},
		{`{"result":{"tools":[],"protocolVersion":"2025-06-18","serverInfo":{"name":"w"}}}`, "w", "", "2025-06-18"},
		{`{"tools":[],"initialize":{"initialize":{"serverInfo":{"name":"w"}}}}`, "", "", ""},
	} {
		l := listing(t, c.text)
		if l.ServerName != c.name || l.ServerVersion != c.version || l.ProtocolVersion != c.protocol {
			t.Errorf("%s:\ngot %q %q %q", c.text, l.ServerName, l.ServerVersion, l.ProtocolVersion)
		}
	}
}

// An error concerns the envelope, and there is no listing.
func TestParseListingError(t *testing.T) {
	const second = len(toolsPage) + 1 // where a text behind toolsPage and a line end starts
	for _, c := range []struct {
		name    string
		text    string
		code    lock.Code
		pointer string
		offset  int
	}{
		{"empty", ``, lock.Syntax, "", 0},
		{"a scalar", `5`, lock.Syntax, "", 0},
		{"a string", ` "tools"`, lock.Syntax, "", 1},
		{"a byte order mark", "\ufeff" + toolsPage, lock.BOM, "", 0},
		{"a byte order mark on the second line", toolsPage + "\n\ufeff" + promptsPage, lock.BOM, "", second},
		{"noise before it", `Server started` + "\n" + toolsPage, lock.Syntax, "", 0},
		{"noise behind it", toolsPage + "\n" + `bye`, lock.Syntax, "", second},
		{"cut off", toolsPage[:65], lock.Syntax, "/result/tools/1/name", 65},
		{"cut off in the second text", toolsPage + "\n" + promptsPage[:22], lock.Syntax, "/id", second + 22},
		{"broken inside a definition", `{"tools":[{"name":"a"},{"name":b}]}`, lock.Syntax, "/tools/1/name", 31},
		{"result twice", `{"result":{"tools":[]},"result":{"tools":[]}}`, lock.DuplicateKey, "/result", 23},
		{"jsonrpc twice", `{"jsonrpc":"2.0","jsonrpc":"2.0","result":{"tools":[]}}`, lock.DuplicateKey, "/jsonrpc", 17},
		{"id twice", `{"id":1,"id":1,"result":{"tools":[]}}`, lock.DuplicateKey, "/id", 8},
		{"tools twice", `{"result":{"tools":[],"tools":[]}}`, lock.DuplicateKey, "/result/tools", 22},
		{"tools twice, in two spellings", `{"tools":[{"name":"a"}],"\u0074ools":[]}`, lock.DuplicateKey, "/tools", 24},
		{"nextCursor twice", `{"tools":[],"nextCursor":"a","nextCursor":"b"}`, lock.DuplicateKey, "/nextCursor", 29},
		{"a repeated member somewhere else", `{"tools":[],"capabilities":{"a":1,"a":2}}`, lock.DuplicateKey, "/capabilities/a", 34},
		{"one in the _meta", `{"tools":[],"_meta":{"a":1,"a":2}}`, lock.DuplicateKey, "/_meta/a", 27},
		{"one in an attestation", `{"tools":[],"_meta":{"` + lock.AttestationKey + `":[{},{"a":1,"a":2}]}}`, lock.DuplicateKey, "/_meta/io.github.mcpsign~1attestation/1/a", 64},
		{"code twice", `{"error":{"code":-32601,"message":"","code":-32601}}`, lock.DuplicateKey, "/error/code", 37},
		{"a lone surrogate", `{"tools":[],"x":"\ud800"}`, lock.LoneSurrogate, "/x", 17},
		{"no UTF-8", "{\"tools\":[],\"x\xff\":1}", lock.InvalidUTF8, "", 14},
		{"too deep", `{"tools":[],"x":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`, lock.TooDeep, "/x" + strings.Repeat("/0", 64), 16 + 64},
		{"result and error", `{"result":{"tools":[]},"error":{"code":-32601,"message":""}}`, lock.Syntax, "", 60},
		{"result and tools", `{"result":{"tools":[]},"tools":[]}`, lock.Syntax, "", 34},
		{"tools and result", `{"tools":[{"name":"a"}],"result":{}}`, lock.Syntax, "", 36},
		{"error and tools", `{"error":{"code":-32601,"message":""},"tools":[]}`, lock.Syntax, "", 49},
		{"result and instructions", `{"instructions":"","result":{"tools":[]}}`, lock.Syntax, "", 41},
		{"initialize that is no answer", `{"tools":[],"initialize":5}`, lock.Syntax, "/initialize", 25},
		{"initialize with two results", `{"tools":[],"initialize":{"result":{},"serverInfo":{}}}`, lock.Syntax, "/initialize", 54},
		{"initialize of a response", `{"result":{},"initialize":{}}`, lock.Syntax, "", 29},
		{"initialize that is no answer in a result", `{"result":{"tools":[],"initialize":5}}`, lock.Syntax, "/result/initialize", 35},
		{"null for tools", `{"result":{"tools":null}}`, lock.Syntax, "/result/tools", 19},
		{"an object for tools", `{"tools":{"a":{}}}`, lock.Syntax, "/tools", 9},
		{"a string for prompts", `{"prompts":"a"}`, lock.Syntax, "/prompts", 11},
		{"an array for a result", `{"result":[{"name":"a"}]}`, lock.Syntax, "/result", 10},
		{"null for a result", `{"result":null}`, lock.Syntax, "/result", 10},
		{"null for an error", `{"error":null,"result":{"tools":[]}}`, lock.Syntax, "/error", 9},
		{"a string for a code", `{"error":{"code":"-32601","message":""}}`, lock.Syntax, "/error/code", 17},
		{"a number for a message", `{"error":{"code":1,"message":2}}`, lock.Syntax, "/error/message", 29},
		// A host that does not mind the case of names would take these for the others.
		{"TOOLS beside tools", `{"tools":[],"TOOLS":[{"name":"a"}]}`, lock.Syntax, "/TOOLS", 20},
		{"Tools alone", `{"result":{"Tools":[{"name":"a"}]}}`, lock.Syntax, "/result/Tools", 19},
		{"a long s", `{"tool\u017f":[]}`, lock.Syntax, "/tool\u017f", 14},
		{"Result", `{"Result":{"tools":[]}}`, lock.Syntax, "/Result", 10},
		{"Instructions", `{"instructions":"a","Instructions":"b"}`, lock.Syntax, "/Instructions", 35},
		{"resourcetemplates", `{"resourcetemplates":[]}`, lock.Syntax, "/resourcetemplates", 21},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A good text before it does not help.
			for _, texts := range [][]string{{c.text}, {promptsPage, c.text}} {
				l, err := lock.ParseListing(raw(texts)...)
				wantDigestError(t, err, c.code, c.pointer, c.offset)
				if l != nil {
					t.Error("a listing came with the error")
				}
			}
		})
	}
}

// An answer that is an error is no empty listing.
func TestParseListingResponseError(t *testing.T) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no\u001b[2J","data":{"tools":[]}}}`,
		toolsPage + "\n" + `{"error":{"message":"no\u001b[2J","code":-32603}}`,
	} {
		l, err := lock.ParseListing([]byte(text))
		var e *lock.ResponseError
		if l != nil || !errors.As(err, &e) || e.Code != "-32603" || e.Message != "no\x1b[2J" {
			t.Fatalf("got %v, %v", l, err)
		}
		if want := `the server answered with error -32603: no\u{1b}[2J`; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

// Texts in which nothing is listed are an error: what listed nothing by
// mistake must not pass for a server without tools.
func TestParseListingNothing(t *testing.T) {
	for _, texts := range [][]string{
		nil, {`{}`}, {noMethod}, {noMethod, noMethod}, {`{"result":{}}`}, {`{"level":"info"}`}, {`{"result":{"nextCursor":"x"}}`},
		{`{"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x"}}}`},
	} {
		l, err := lock.ParseListing(raw(texts)...)
		if l != nil || err == nil || !strings.Contains(err.Error(), "no tools") {
			t.Errorf("%q: got %v, %v", texts, l, err)
		}
	}
}

// One refused definition does not lose the listing, whatever the reason.
func TestParseListingRefused(t *testing.T) {
	for _, c := range []struct{ definition, want string }{
		{`{"name":"x","v":1e400}`, "number_out_of_range tool:x#1"},
		{`{"name":"x","v":1,"v":2}`, "duplicate_key tool:x#1"},
		{`{"name":"x","name":"x"}`, "duplicate_key tool:x#1"},
		{"{\"name\":\"x\",\"v\":\"\xff\"}", "invalid_utf8 tool:x#1"},
		{`{"name":"x","v":"\udc00"}`, "lone_surrogate tool:x#1"},
		{`{"name":"x\udc00"}`, "lone_surrogate tool:x\ufffd#1"},
		{`{"name":"x","v":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "too_deep tool:x#1"},
		{`{"v":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `,"name":"x"}`, "too_deep tool:x#1"},
		{`{"name":"x","v":"` + strings.Repeat("y", 1<<20) + `"}`, "too_large tool:x#1"},
		{`{` + strings.Repeat(`"v":0,`, 10_000) + `"name":"x"}`, "too_many tool:#1"}, // nobody read on for the name
		{`{"title":"x"}`, "missing_name tool:#1"},
		{`{"name":""}`, "missing_name tool:#1"},
		{`{"name":null}`, "missing_name tool:#1"},
		{`null`, "not_an_object tool:#1"},
		{`[]`, "not_an_object tool:#1"},
		{`"x"`, "not_an_object tool:#1"},
		{`1e400`, "number_out_of_range tool:#1"},
	} {
		for _, form := range []string{`[%s]`, `{"tools":[%s]}`, `{"jsonrpc":"2.0","result":{"tools":[%s]},"id":1}`} {
			text := fmt.Sprintf(form, `{"name":"b","v":1}, `+c.definition+` ,{"name":"a"}`)
			l := listing(t, text)
			if got, want := summary(l), "tool:a tool:b | "+c.want; got != want {
				t.Errorf("%.60s: got %q, want %q", c.definition, got, want)
			}
			// Pointer and offset are those of the definition by itself.
			_, err := lock.ParseDefinition(lock.Tool, []byte(c.definition))
			if err == nil || err.Error() != l.Refused[0].Err.Error() {
				t.Errorf("%.60s: got %v, by itself %v", c.definition, l.Refused[0].Err, err)
			}
		}
	}
	for text, want := range map[string]string{
		`{"tools":[],"instructions":null}`:                                                      "| missing_name instructions:#0",
		`{"tools":[{"name":"a"}],"instructions":["x"]}`:                                         "tool:a | missing_name instructions:#0",
		`{"tools":[{"name":"a"}],"instructions":"\ud800"}`:                                      "tool:a | lone_surrogate instructions:#0",
		`{"prompts":[{"title":"x"}],"resourceTemplates":[{"name":"y"}],"tools":[{"name":"z"}]}`: "tool:z | missing_name prompt:#0 missing_name resourceTemplate:#0",
	} {
		if got := summary(listing(t, text)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// CASES 15: of several with one kind and name every copy is refused.
func TestDuplicateNames(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts []string
		want  string
	}{
		{"other bytes", []string{`[{"name":"x","v":1},{"name":"a"},{"name":"x","v":2}]`}, "tool:a | duplicate_name tool:x#0 duplicate_name tool:x#2"},
		{"the same bytes", []string{`[{"name":"x"},{"name":"x"},{"name":"a"}]`}, "tool:a | duplicate_name tool:x#0 duplicate_name tool:x#1"},
		{"three", []string{`[{"name":"x"},{"name":"x"},{"name":"x"}]`}, "| duplicate_name tool:x#0 duplicate_name tool:x#1 duplicate_name tool:x#2"},
		{"in two spellings", []string{`[{"name":"x"},{"name":"\u0078"}]`}, "| duplicate_name tool:x#0 duplicate_name tool:x#1"},
		{"on two pages", []string{`{"tools":[{"name":"x"},{"name":"a"}],"nextCursor":"2"}`, `{"tools":[{"name":"b"},{"name":"x","v":1}]}`},
			"tool:a tool:b | duplicate_name tool:x#0 duplicate_name tool:x#3"},
		{"on two pages, the other way round", []string{`{"tools":[{"name":"b"},{"name":"x","v":1}]}`, `{"tools":[{"name":"x"},{"name":"a"}],"nextCursor":"2"}`},
			"tool:a tool:b | duplicate_name tool:x#1 duplicate_name tool:x#2"},
		{"one refused already", []string{`[{"name":"x","v":1e400},{"name":"x"},{"name":"a"}]`}, "tool:a | number_out_of_range tool:x#0 duplicate_name tool:x#1"},
		{"one refused later", []string{`[{"name":"x"},{"name":"x","v":1,"v":1}]`}, "| duplicate_name tool:x#0 duplicate_key tool:x#1"},
		{"all refused already", []string{`[{"name":"x","v":1e400},{"name":"x","v":1e400}]`}, "| number_out_of_range tool:x#0 number_out_of_range tool:x#1"},
		{"a broken name and what most readers take it for", []string{`[{"name":"x\ud800"},{"name":"x\ufffd"},{"name":"x"}]`},
			"tool:x | lone_surrogate tool:x\ufffd#0 duplicate_name tool:x\ufffd#1"},
		{"no name is no name in common", []string{`[{"title":"x"},{"title":"y"},{"name":"a"}]`}, "tool:a | missing_name tool:#0 missing_name tool:#1"},
		{"instructions twice", []string{`{"instructions":"a"}`, `{"instructions":"b"}`}, "| duplicate_name instructions:#0 duplicate_name instructions:#1"},
		{"instructions, once without a digest", []string{`{"instructions":null}`, `{"instructions":"b"}`}, "| missing_name instructions:#0 duplicate_name instructions:#1"},
		{"another kind is another name", []string{`{"tools":[{"name":"x"}],"prompts":[{"name":"x"}],"resourceTemplates":[{"uriTemplate":"x"}]}`}, "prompt:x resourceTemplate:x tool:x"},
		{"capitals, look-alikes and hidden characters make another name", []string{`[{"name":"pay"},{"name":"Pay"},{"name":"p\u0430y"},{"name":"pay\u200b"},{"name":"\uff50ay"}]`},
			"tool:Pay tool:pay tool:pay\u200b tool:p\u0430y tool:\uff50ay"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := listing(t, c.texts...)
			if got := summary(l); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			for _, r := range l.Refused {
				if r.Err == nil || r.Err.Error() == "" {
					t.Errorf("%s is refused without a reason", r.Name)
				}
			}
		})
	}
}

// What is hashed for a whole listing, spelled out.
func TestListingDigest(t *testing.T) {
	l := listing(t, `{"tools":[{"name":"b\""},{"name":"a"}],"prompts":[{"name":"a"}],"instructions":""}`)
	at := func(id string) string {
		for _, d := range l.Definitions {
			if d.ID() == id {
				return d.Digest().String()
			}
		}
		t.Fatalf("%s is not listed", id)
		return ""
	}
	form := fmt.Sprintf(`[["instructions:","%s"],["prompt:a","%s"],["tool:a","%s"],["tool:b\"","%s"]]`,
		at("instructions:"), at("prompt:a"), at("tool:a"), at(`tool:b"`))
	if got, want := must[lock.Digest](t)(l.Digest()), digestOf(form); got != want {
		t.Errorf("listing: got %s, want %s", got, want)
	}
	set := fmt.Sprintf(`["%s","%s"]`, at("tool:a"), at(`tool:b"`))
	if got, want := must[lock.Digest](t)(l.ToolSetDigest()), digestOf(set); got != want {
		t.Errorf("tool set: got %s, want %s", got, want)
	}
	// Pages and order make no difference.
	again := listing(t, `{"instructions":"","prompts":[{"name":"a"}]}`, `{"tools":[{"name":"a"}]}`, `[{"name":"b\u0022","_meta":{"x":1}}]`)
	if must[lock.Digest](t)(again.Digest()) != must[lock.Digest](t)(l.Digest()) {
		t.Error("the same definitions on other pages have another digest")
	}

	for _, c := range []struct {
		text               string
		noListing, noTools bool
	}{
		{`{"tools":[]}`, true, true},
		{`{"tools":[{"name":"a"},{"name":"a"}]}`, true, true},
		{`{"tools":[{"name":"a"},{"title":"a"}]}`, true, true},
		{`{"tools":[{"name":"a"}],"prompts":[{"title":"a"}]}`, true, false},
		{`{"prompts":[{"name":"a"}]}`, false, true},
		{`{"tools":[{"name":"a"}]}`, false, false},
	} {
		l := listing(t, c.text)
		if d, err := l.Digest(); (err != nil) != c.noListing || d.IsZero() != c.noListing {
			t.Errorf("%s: listing digest %s, %v", c.text, d, err)
		}
		if d, err := l.ToolSetDigest(); (err != nil) != c.noTools || d.IsZero() != c.noTools {
			t.Errorf("%s: tool set digest %s, %v", c.text, d, err)
		}
	}
}

func TestBundles(t *testing.T) {
	list := func(attestation string) string {
		return `{"tools":[{"name":"a"}],"_meta":{"x":1,"` + lock.AttestationKey + `":` + attestation + `}}`
	}
	many := `[0` + strings.Repeat(`,{"n":1}`, 99) + `]`
	long := `"` + strings.Repeat("x", lock.MaxBundle-2) + `"`
	for _, c := range []struct {
		name  string
		texts []string
		want  []string
	}{
		{"none", []string{toolsPage}, nil},
		{"empty", []string{list(`[]`)}, nil},
		{"as received", []string{list(`[ {"b" : 1e999,"a":[]} , {} ]`)}, []string{`{"b" : 1e999,"a":[]}`, `{}`}},
		{"on two pages", []string{list(`[1]`), `{"jsonrpc":"2.0","result":` + strings.Replace(list(`[2,3]`), `"a"`, `"b"`, 1) + `}`}, []string{`1`, `2`, `3`}},
		{"what can't be one is a candidate too", []string{list(`["x",null]`)}, []string{`"x"`, `null`}},
		{"no array", []string{list(`{"a":1}`)}, nil},
		{"a string", []string{list(`"x"`)}, nil},
		{"null", []string{list(`null`)}, nil},
		{"no _meta of the result", []string{`{"tools":[{"name":"a","_meta":{"` + lock.AttestationKey + `":[1]}}]}`}, nil},
		{"an array of tools has none", []string{`[{"name":"a"}]`}, nil},
		{"the largest", []string{list(`[` + long + `]`)}, []string{long}},
		{"too large", []string{list(`[1,"x` + long[1:] + `,2]`)}, []string{`1`, `2`}},
		{"too many", []string{list(many)}, slices.Concat([]string{`0`}, slices.Repeat([]string{`{"n":1}`}, 63))},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := listing(t, c.texts...)
			if !slices.EqualFunc(l.Bundles, c.want, func(b []byte, s string) bool { return string(b) == s }) {
				t.Errorf("got %.200q", l.Bundles)
			}
			if len(l.Definitions) == 0 {
				t.Error("the definitions are lost")
			}
		})
	}
}

// Nothing of a listing changes when its definitions are read from their
// canonical forms.
func TestCanonicalListing(t *testing.T) {
	l := listing(t, initialize, promptsPage, templatesPage, `{"tools":[{"v":[1.0,"\u0041"],"name":"\u007a","_meta":{"b":1}},{"name":"a","v":{"d":1,"c":{}}}]}`)
	again := listing(t, canonicalListing(l)...)
	if got, want := must[lock.Digest](t)(again.Digest()), must[lock.Digest](t)(l.Digest()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// canonicalListing writes the definitions of l as a server would list them.
func canonicalListing(l *lock.Listing) []string {
	members := map[lock.Kind]string{lock.Tool: "tools", lock.Prompt: "prompts", lock.ResourceTemplate: "resourceTemplates"}
	var texts []string
	for _, d := range l.Definitions {
		if d.Kind() == lock.Instructions {
			texts = append(texts, string(d.Canonical()))
			continue
		}
		texts = append(texts, fmt.Sprintf(`{"%s":[%s]}`, members[d.Kind()], d.Canonical()))
	}
	return texts
}

// The bytes of a definition stay as they are when the input is read further,
// and ParseListing leaves its input alone.
func TestParseListingInput(t *testing.T) {
	text := []byte(`{"tools":[{"v":1.0,"name":"b"},{"name":"x","v":1e400},{"name":"a"}],"_meta":{"` + lock.AttestationKey + `":[{}]}}`)
	before := bytes.Clone(text)
	l := must[*lock.Listing](t)(lock.ParseListing(text))
	if !bytes.Equal(text, before) {
		t.Error("the input was changed")
	}
	for i, want := range []string{`{"name":"a"}`, `{"name":"b","v":1}`} {
		if got := string(l.Definitions[i].Canonical()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
