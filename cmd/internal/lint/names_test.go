package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
)

// pinned is a lock of servers, each "name: tool tool ...".
func pinned(t testing.TB, servers ...string) *lock.File {
	t.Helper()
	f := &lock.File{}
	for _, s := range servers {
		name, tools, _ := strings.Cut(s, ": ")
		server := lock.Server{Name: name}
		for _, tool := range strings.Fields(tools) {
			d := must[lock.Definition](t)(lock.ParseDefinition(lock.Tool, fmt.Appendf(nil, `{"name":%q}`, tool)))
			server.Pins = append(server.Pins, lock.Pin{Definition: d, Unsigned: true})
		}
		server.Sort()
		f.Put(server)
	}
	return f
}

// Names are compared with what other servers have pinned, and never with the
// server's own pins.
func TestOtherServers(t *testing.T) {
	for _, c := range []struct {
		name string
		f    *lock.File
		want string
	}{
		{"get", nil, ""},
		{"get", pinned(t, "other: put"), ""},
		{"get", pinned(t, "me: get Get"), ""},
		{"get", pinned(t, "other: get"), `shared_name it is also "get" of other`},
		{"get", pinned(t, "other: get", "third: get", "fourth: get"), `shared_name it is also "get" of fourth and 2 more`},
		{"get", pinned(t, "me: get", "other: GET"), `case_collision but for case it is "GET" of other`},
		{"list", pinned(t, "other: 1ist"), `lookalike_name it looks like "1ist" of other`},
		{"list", pinned(t, "other: list 1ist LIST"), `case_collision but for case it is "LIST" of other; lookalike_name it looks like "1ist" of other; shared_name it is also "list" of other`},
	} {
		var got []string
		for _, f := range lint.Check(listing(t, "["+tool(c.name, "")+"]"), "me", c.f) {
			got = append(got, string(f.Code)+" "+f.Detail)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// Every definition of a group says how many others there are.
func TestManyAlike(t *testing.T) {
	got := check(t, "["+tool("ab", "")+","+tool("aB", "")+","+tool("Ab", "")+"]")
	if brief(got) != "case_collision; case_collision; case_collision" {
		t.Fatalf("got %v", got)
	}
	for i, want := range []string{`but for case it is "aB" and 1 more`, `but for case it is "Ab" and 1 more`, `but for case it is "Ab" and 1 more`} {
		if got[i].Detail != want {
			t.Errorf("%s: got %q, want %q", got[i].Name, got[i].Detail, want)
		}
	}
}

// Words written in letters of another script look like the word.
func TestLookalikes(t *testing.T) {
	for _, c := range []struct{ plain, other string }{
		{"scope", "\u0455\u0441\u043e\u0440\u0435"}, // Cyrillic
		{"TAKE", "\u03a4\u0391\u039a\u0395"},        // Greek
		{"hour", "\u0570\u0585\u057dr"},             // Armenian
		{"\u0131nput", "input"},                     // Latin, dotless
		{"get_file", "\uff47\uff45\uff54_\uff46\uff49\uff4c\uff45"},
		{"get_file", "get_\ufb01le"}, // ligature
		{"run", "\U0001d42b\U0001d42e\U0001d427"},
		{"abcegijkmoprstuxy3", "авсеԍіјкморгѕтυхуз"},
		{"hdqwvl", "һԁԛԝѵӏ"},
		{"ABCEHIJKMOPSTXY", "АВСЕНІЈКМОРЅТХУ"},
		{"abenikvoptuwxyc", "αβεηικνορτυωχγϲ"},
		{"ABEZHIKMNOPTYXC", "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ"},
		{"gjnq", "ցյոզ"},
		{"abcdegnhijklmoprstuvwyz", "ᴀʙᴄᴅᴇɢɴʜɪᴊᴋʟᴍᴏᴘʀꜱᴛᴜᴠᴡʏᴢ"},
		{"O0", "00"},
		{"IlI", "1l1"},
		{"modern", "modem"},
	} {
		n := 0
		for _, f := range check(t, "["+tool(c.plain, "")+","+tool(c.other, "")+"]") {
			if f.Code == lint.LookalikeName {
				n++
			}
		}
		if n != 2 {
			t.Errorf("%s and %+q: %d findings", c.plain, c.other, n)
		}
	}
	for _, c := range []struct{ plain, other string }{
		{"get", "put"}, {"a1", "a2"}, {"search", "searches"}, {"\u65e5", "\u672c"}, {"cafe", "caf\u00e9"}, {"i", "l"},
	} {
		if got := check(t, "["+tool(c.plain, "")+","+tool(c.other, "")+"]"); strings.Contains(brief(got), "lookalike") {
			t.Errorf("%s and %s: %v", c.plain, c.other, got)
		}
	}
}
