package lock_test

import (
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// hexits are the digits of a digest that is not zero.
var hexits = strings.Repeat("0123456789abcdef", 4)

func TestParseDigest(t *testing.T) {
	d := must[lock.Digest](t)(lock.ParseDigest("sha256:" + hexits))
	if d.String() != "sha256:"+hexits || d.Hex() != hexits || d.IsZero() {
		t.Errorf("got %s, %s, zero %t", d, d.Hex(), d.IsZero())
	}
	if !(lock.Digest{}).IsZero() {
		t.Error("the zero digest is not zero")
	}
	for _, s := range []string{
		"", "sha256:", hexits, "SHA256:" + hexits, "sha512:" + hexits, "sha256=" + hexits, "sha256-" + hexits,
		"sha256:" + hexits[1:], "sha256:" + hexits + "0", "sha256:" + strings.ToUpper(hexits), "sha256:A" + hexits[1:],
		"sha256:g" + hexits[1:], "sha256: " + hexits[1:], " sha256:" + hexits, "sha256:" + hexits + "\n", "sha256:sha256:" + hexits[7:],
		"sha256:\u212a" + hexits[3:], // KELVIN SIGN, whose lower case is shorter
		"sha256:" + strings.Repeat("0", 64),
	} {
		if d, err := lock.ParseDigest(s); err == nil || !d.IsZero() {
			t.Errorf("%q: got %s, %v", s, d, err)
		}
		rest, ok := strings.CutPrefix(s, "sha256:")
		if !ok {
			continue
		}
		if d, err := lock.ParseHex(rest); err == nil || !d.IsZero() {
			t.Errorf("hexadecimal %q: got %s, %v", rest, d, err)
		}
	}
	// The message can be shown on a terminal.
	if _, err := lock.ParseDigest("\x1b[2J"); strings.ContainsRune(err.Error(), '\x1b') {
		t.Errorf("got %q", err)
	}
}

func TestParseID(t *testing.T) {
	for _, c := range []struct {
		id   string
		kind lock.Kind
		name string
	}{
		{"tool:a", lock.Tool, "a"},
		{"tool:a:b", lock.Tool, "a:b"},
		{"tool: ", lock.Tool, " "},
		{"prompt:\u200b", lock.Prompt, "\u200b"},
		{"resourceTemplate:x://{y}", lock.ResourceTemplate, "x://{y}"},
		{"instructions:", lock.Instructions, ""},
	} {
		kind, name, err := lock.ParseID(c.id)
		if err != nil || kind != c.kind || name != c.name {
			t.Errorf("%q: got %q, %q, %v", c.id, kind, name, err)
		}
		if got := lock.ID(kind, name); got != c.id {
			t.Errorf("%q: ID gives %q", c.id, got)
		}
	}
	for _, id := range []string{"", ":", "tool", "tool:", "prompt:", "resourceTemplate:", "instructions", "instructions:x", "Tool:a", "tools:a", "resource:a", " tool:a", ":a"} {
		if kind, name, err := lock.ParseID(id); err == nil || kind != "" || name != "" {
			t.Errorf("%q: got %q, %q, %v", id, kind, name, err)
		}
	}
}

func TestKinds(t *testing.T) {
	kinds := lock.Kinds()
	for i, k := range kinds {
		if !k.Valid() || i > 0 && kinds[i-1] >= k {
			t.Errorf("%v: %s is not valid or not in order", kinds, k)
		}
	}
	for _, k := range []lock.Kind{"", "tools", "Tool", "resource"} {
		if k.Valid() {
			t.Errorf("%q is valid", k)
		}
	}
}

// The digest of the _meta is apart, and counts numbers out of range by their
// spelling.
func TestMetaDigest(t *testing.T) {
	for _, c := range []struct {
		text string
		want lock.Digest
	}{
		{`{"name":"n"}`, lock.Digest{}},
		{`{"name":"n","v":{"_meta":1}}`, lock.Digest{}},
		{`{"name":"n","_meta":null}`, digestOf(`null`)},
		{`{"name":"n","_meta":{}}`, digestOf(`{}`)},
		{`{"_meta":{ "b":1.0, "a":"\u0041" },"name":"n"}`, digestOf(`{"a":"A","b":1}`)},
		{`{"name":"n","\u005fmeta":{"time":1796040000000000001,"big":1E400}}`, digestOf(`{"big":1E400,"time":1796040000000000001}`)},
	} {
		d := tool(t, c.text)
		if d.MetaDigest() != c.want {
			t.Errorf("%s: got %s, want %s", c.text, d.MetaDigest(), c.want)
		}
		if c.text[2:4] != "na" || strings.Contains(c.text, `"v"`) {
			continue
		}
		if d.Digest() != tool(t, `{"name":"n"}`).Digest() {
			t.Errorf("%s: _meta is part of the digest", c.text)
		}
	}
}

func TestDigestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  lock.DigestError
		want string
	}{
		{lock.DigestError{Code: lock.BOM}, "bom (byte 0)"},
		{lock.DigestError{Code: lock.Syntax, Pointer: "/a", Offset: 7, Detail: "expected ':'"}, "json_syntax: expected ':' at /a (byte 7)"},
		{lock.DigestError{Code: lock.TooDeep, Pointer: "/\x1b[2J\u202e", Offset: 1}, `too_deep at /\u{1b}[2J\u{202e} (byte 1)`},
		{lock.DigestError{Code: lock.DuplicateName, Detail: "two"}, "duplicate_name: two"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestParseDefinitionKind holds that what nothing else knows is no definition.
func TestParseDefinitionKind(t *testing.T) {
	for _, kind := range []lock.Kind{"", "gadget", "Tool", "tool "} {
		if d, err := lock.ParseDefinition(kind, []byte(`{"name":"a"}`)); err == nil || !d.Digest().IsZero() {
			t.Errorf("kind %q: got %v, %v", kind, d.Digest(), err)
		}
	}
}

// TestDiffOfNothing holds that everything is new where nothing is pinned.
func TestDiffOfNothing(t *testing.T) {
	l, err := lock.ParseListing([]byte(`{"tools":[{"name":"a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	changes := (*lock.Server)(nil).Diff(l)
	if len(changes) != 1 || changes[0].Op != lock.Added || changes[0].Name != "a" {
		t.Errorf("got %v, want one added tool a", changes)
	}
}
