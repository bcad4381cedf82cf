package lock_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// only keeps the definitions with these IDs.
func only(ids ...string) func(lock.Definition) bool {
	return func(d lock.Definition) bool { return slices.Contains(ids, d.ID()) }
}

func all(lock.Definition) bool { return true }

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		name     string
		response string
		keep     func(lock.Definition) bool
		want     string
	}{
		{"all", toolsPage, all, toolsPage},
		{"one", toolsPage, only("tool:a"), `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"}]}}`},
		{"none", toolsPage, only(), `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`},
		{"a name is not enough: the kind counts", toolsPage, only("prompt:a"), `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`},
		{"a bare result", `{"tools":[{"name":"a"},{"name":"b"}]}`, only("tool:b"), `{"tools":[{"name":"b"}]}`},
		{"order stays", `{"tools":[{"name":"c"},{"name":"a"},{"name":"b"}]}`, all, `{"tools":[{"name":"c"},{"name":"a"},{"name":"b"}]}`},
		{"all kinds", `{"prompts":[{"name":"a"}],"resourceTemplates":[{"uriTemplate":"a"}],"tools":[{"name":"a"}],"instructions":"x"}`,
			only("resourceTemplate:a"), `{"prompts":[],"resourceTemplates":[{"uriTemplate":"a"}],"tools":[]}`},
		{"what is kept is canonical", `{"tools":[{"v":1.0,"name":"\u0061","inputSchema":{"b":1,"a":2}}]}`, all, `{"tools":[{"inputSchema":{"a":2,"b":1},"name":"a","v":1}]}`},
		{"without its _meta", `{"tools":[{"name":"a","_meta":{"x":"do this"},"v":{"_meta":1}}]}`, all, `{"tools":[{"name":"a","v":{"_meta":1}}]}`},
		{"what has no digest goes", `{"tools":[{"name":"a","v":1e400},{"name":"b"},{"title":"c"},null,{"name":"d","d":1,"d":2}]}`, all, `{"tools":[{"name":"b"}]}`},
		{"other members stay as they are", "{ \"tools\" :\t[ { \"name\":\"a\" } ], \"nextCursor\" : \"x\\u0041\" , \"_meta\": { \"b\" : 1e400, \"a\": [ ] } , \"ttlMs\": 0.50 }", all,
			"{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"x\\u0041\",\"_meta\":{ \"b\" : 1e400, \"a\": [ ] },\"ttlMs\":0.50}"},
		{"members between what goes", `{"a":1,"instructions":"x","b":2}`, only(), `{"a":1,"b":2}`},
		{"the first one goes", `{"instructions":"x","b":2}`, only(), `{"b":2}`},
		{"the last one goes", `{"a":1,"instructions":"x"}`, only(), `{"a":1}`},
		{"nothing is left", `{"instructions":"x"}`, only(), `{}`},
		{"instructions stay", `{"result":{"instructions":"x\u0041","serverInfo":{}}}`, only("instructions:"), `{"result":{"instructions":"xA","serverInfo":{}}}`},
		{"instructions that are no string go", `{"result":{"instructions":null,"a":1}}`, all, `{"result":{"a":1}}`},
		{"instructions without a digest go", `{"result":{"instructions":"\ud800"}}`, all, `{"result":{}}`},
		{"escaped members of the envelope", `{"\u0072esult":{"\u0074ools":[{"name":"a"},{"name":"b"}]}}`, only("tool:b"), `{"result":{"tools":[{"name":"b"}]}}`},
		{"an error passes", noMethod, all, noMethod},
		{"what is deeper is no listing", `{"result":{"x":{"tools":[{"name":"a"}]}}}`, only(), `{"result":{"x":{"tools":[{"name":"a"}]}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.response)
			got, err := lock.Filter(in, c.keep)
			if err != nil || string(got) != c.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
			}
			if string(in) != c.response {
				t.Error("the input was changed")
			}
			again, err := lock.Filter(got, c.keep)
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("filtered again: %s, %v", again, err)
			}
		})
	}
}

// What keep is shown is what ParseListing has, so that a decision on one holds
// for the other.
func TestFilterShows(t *testing.T) {
	for _, text := range []string{toolsPage, initialize, templatesPage, `{"tools":[{"name":"b","_meta":1},{"v":1.0,"name":"a"},{"title":"x"}],"prompts":[{"name":"p"}]}`} {
		want := make(map[string]lock.Digest)
		for _, d := range listing(t, text).Definitions {
			want[d.ID()] = d.Digest()
		}
		_, err := lock.Filter([]byte(text), func(d lock.Definition) bool {
			if want[d.ID()] != d.Digest() {
				t.Errorf("%s: %s has digest %s, in the listing %s", text, d.ID(), d.Digest(), want[d.ID()])
			}
			delete(want, d.ID())
			return true
		})
		if err != nil || len(want) > 0 {
			t.Errorf("%s: %v was not shown, %v", text, want, err)
		}
	}
}

func TestFilterError(t *testing.T) {
	for _, c := range []struct {
		name     string
		response string
		code     lock.Code
	}{
		{"empty", "", lock.Syntax},
		{"an array", `[{"name":"a"}]`, lock.Syntax},
		{"a byte order mark", "\ufeff{}", lock.BOM},
		{"two texts", "{}\n{}", lock.TrailingData},
		{"cut off", toolsPage[:len(toolsPage)-1], lock.Syntax},
		{"broken in a definition", `{"tools":[{"name":"a",}]}`, lock.Syntax},
		{"tools twice", `{"tools":[],"tools":[{"name":"a"}]}`, lock.DuplicateKey},
		{"result twice", `{"result":{},"\u0072esult":{}}`, lock.DuplicateKey},
		{"a repeated member somewhere else", `{"result":{"x":{"a":1,"a":2}}}`, lock.DuplicateKey},
		{"null for tools", `{"tools":null}`, lock.Syntax},
		{"null for a result", `{"result":null}`, lock.Syntax},
		{"another spelling", `{"result":{"tools":[],"TOOLS":[{"name":"a"}]}}`, lock.Syntax},
		{"another spelling of result", `{"result":{"tools":[]},"RESULT":{"tools":[{"name":"a"}]}}`, lock.Syntax},
		{"a lone surrogate outside of definitions", `{"tools":[],"nextCursor":"\ud800"}`, lock.LoneSurrogate},
		{"too large", strings.Repeat(" ", lock.MaxPage) + "{}", lock.TooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := lock.Filter([]byte(c.response), all)
			if got != nil {
				t.Errorf("got %s with an error", got)
			}
			if e := digestError(t, err); e.Code != c.code {
				t.Errorf("got %v, want %s", e, c.code)
			}
		})
	}
}
