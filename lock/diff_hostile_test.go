package lock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// Definitions made to cost as much as they can, of a megabyte each, come down
// to few fields and bounded memory.
func TestHostileDiff(t *testing.T) {
	const size = 1 << 20
	key := strings.Repeat("k", size/2)
	// fill joins what item returns for 0, 1, 2 ... up to about the given size.
	fill := func(size int, item func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(item(i))
		}
		return b.String()
	}
	members := func(n int, item func(i int) string) string {
		var list []string
		for i := range n {
			list = append(list, item(i))
		}
		return strings.Join(list, ",")
	}
	const part = size - size/16
	for _, c := range []struct{ name, old, new string }{
		{"an array turned round", `{"default":[` + fill(part, func(i int) string { return fmt.Sprint(i) }) + `]}`,
			`{"default":[` + fill(part, func(i int) string { return fmt.Sprint(200_000 - i) }) + `]}`},
		{"an array of equal elements", `{"default":[` + fill(part, func(i int) string { return "1" }) + `]}`, `{"default":[2,` + fill(part/2, func(i int) string { return "1" }) + `,3]}`},
		{"a long name above many places", `{"` + key + `":[` + fill(size/3, func(i int) string { return "[1]" }) + `]}`, `{"` + key + `":[` + fill(size/3, func(i int) string { return "[2]" }) + `]}`},
		{"a long name above many properties", `{"properties":{"` + key + `":{"properties":{}}}}`,
			`{"properties":{"` + key + `":{"properties":{` + members(9_000, func(i int) string { return fmt.Sprintf(`"%d":{"type":"null"}`, i) }) + `}}}}`},
		{"many properties added", `{"properties":{}}`, `{"properties":{` + members(9_999, func(i int) string { return fmt.Sprintf(`"%d":{"type":"null","description":"x"}`, i) }) + `}}`},
		{"many branches exchanged", `{"oneOf":[` + fill(part, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `]}`,
			`{"oneOf":[` + fill(part, func(i int) string { return fmt.Sprintf(`{"const":%d}`, -i) }) + `]}`},
		{"branches that just can be aligned", `{"oneOf":[` + members(9_999, func(i int) string { return fmt.Sprintf(`{"type":"string","const":%d}`, i) }) + `]}`,
			`{"oneOf":[` + members(9_999, func(i int) string { return fmt.Sprintf(`{"type":"string","const":%d}`, -i) }) + `]}`},
		{"many branches removed", `{"oneOf":[` + fill(part, func(i int) string { return `{"minimum":1}` }) + `]}`, `{"oneOf":[]}`},
		{"a large enum turned round", `{"enum":[` + fill(part, func(i int) string { return fmt.Sprint(i) }) + `]}`, `{"enum":[` + fill(part, func(i int) string { return fmt.Sprint(-i) }) + `]}`},
		{"deep", `{"properties":` + strings.Repeat(`{"a":{"properties":`, 28) + `{"a":[` + fill(part, func(i int) string { return `[]` }) + `]}` + strings.Repeat(`}}`, 28) + `}`,
			`{"properties":` + strings.Repeat(`{"a":{"properties":`, 28) + `{"a":[` + fill(part, func(i int) string { return `{}` }) + `]}` + strings.Repeat(`}}`, 28) + `}`},
		{"references in two circles", circle(9_000, "a"), circle(8_999, "b")},
		{"references to a large definition", `{"$defs":{"a":{"anyOf":[` + fill(part/2, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `]}},"properties":{` +
			members(6_000, func(i int) string { return fmt.Sprintf(`"%d":{"$ref":"#/$defs/a"}`, i) }) + `}}`,
			`{"$defs":{` + members(6_000, func(i int) string { return fmt.Sprintf(`"%d":{"anyOf":[{"const":0}]}`, i) }) + `},"properties":{` +
				members(6_000, func(i int) string { return fmt.Sprintf(`"%d":{"$ref":"#/$defs/%d"}`, i, i) }) + `}}`},
		{"a chain of definitions under not", chain("1"), chain("2")},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, new := tool(t, string(schemaTool(c.old))), tool(t, string(schemaTool(c.new)))
			var fields []lock.Field
			bytes := allocated(func() { fields = lock.Compare(old, new) })
			pointers, effects := 0, 0
			for _, f := range fields {
				pointers += len(f.Pointer)
				effects += len(f.Effects)
			}
			t.Logf("%d fields, %d effects, %d bytes of pointers, %d MB allocated", len(fields), effects, pointers, bytes>>20)
			if len(fields) == 0 || len(fields) > 2_000 || effects > 10_000 || pointers > 1<<20 || bytes > 512<<20 {
				t.Error("that is too much")
			}
		})
	}
}

// circle is a schema of n definitions that refer to each other in a circle.
func circle(n int, prefix string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"$ref":"#/$defs/%s0","$defs":{`, prefix)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s%d":{"items":{"$ref":"#/$defs/%s%d"}}`, prefix, i, prefix, (i+1)%n)
	}
	return b.String() + `}}`
}

// chain is a schema of definitions each of which refers to the next, twice.
func chain(maximum string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/0","$defs":{`)
	for i := range 9_000 {
		fmt.Fprintf(&b, `"%d":{"allOf":[{"$ref":"#/$defs/%d"},{"not":{"$ref":"#/$defs/%d"}}]},`, i, i+1, i+1)
	}
	return b.String() + `"9000":{"maximum":` + maximum + `}}}`
}
