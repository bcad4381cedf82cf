package lock

import (
	"strings"
	"testing"
)

// The second canonicalisation agrees with the first for definitions from every
// source, and one that does not agree is told.
func TestCrossCheck(t *testing.T) {
	listed, err := ParseListing([]byte(`{"instructions":"\u0041","tools":[ {"v":[1.0,"\/\ud83d\ude00"],"name":"a","\u005fmeta":{"t":1e400,"name":"b"}},
		{"name":"_meta","_META":1,"x":{"_meta":{"b":1,"a":2}}}, {"name":"only","_meta":null}]}`))
	if err != nil || len(listed.Definitions) != 4 {
		t.Fatalf("got %v, %v", listed, err)
	}
	s := Server{Name: "x"}
	for _, d := range listed.Definitions {
		s.Pins = append(s.Pins, Pin{Definition: d, Unsigned: true})
	}
	out, err := (&File{Servers: []Server{s}}).Format()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(s.Pins, f.Servers[0].Pins...) {
		if err := p.Definition.CrossCheck(); err != nil {
			t.Error(err)
		}
	}
	good := listed.Definitions[1]
	for _, c := range []struct {
		name, want string
		change     func(d *Definition)
	}{
		{"another value", "differ", func(d *Definition) { d.form = []byte(strings.Replace(string(d.form), "1", "2", 1)) }},
		{"a member lost", "differ", func(d *Definition) { d.form = []byte(`{"name":"a"}`) }},
		{"the _meta left in", "differ", func(d *Definition) { d.form = []byte(strings.Replace(string(d.form), "{", `{"_meta":{},`, 1)) }},
		{"received otherwise", "differ", func(d *Definition) { d.raw = []byte(`{"name":"a","v":[1,"x"]}`) }},
		{"a number that both refuse", "second canonicalisation failed", func(d *Definition) { d.raw = []byte(`{"name":"a","v":1e400}`) }},
		{"no JSON", "read a second time", func(d *Definition) { d.raw = []byte(`{"name":"a",}`) }},
		{"nothing", "read a second time", func(d *Definition) { d.raw = []byte(``) }},
	} {
		d := good
		c.change(&d)
		if err := d.CrossCheck(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
