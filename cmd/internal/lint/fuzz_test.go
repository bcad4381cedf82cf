package lint_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
)

// FuzzCheck checks that what is said of any listing is bounded, safe to print,
// in order, and about something that is there.
func FuzzCheck(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte("[" + c.text + "]"))
	}
	for name, members := range hostile {
		f.Add([]byte("[" + tool(name, members(500)) + "]"))
	}
	known := lint.Codes()
	other := pinned(f, "other: t get GET paypa1")
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := lock.ParseListing(text)
		if err != nil {
			return
		}
		findings := lint.Check(l, "me", other)
		if !slices.IsSortedFunc(findings, func(a, b lint.Finding) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code))
		}) {
			t.Errorf("not sorted: %v", findings)
		}
		counts := make(map[lint.Finding]int)
		for _, f := range findings {
			key := lint.Finding{Code: f.Code, Kind: f.Kind, Name: f.Name}
			if counts[key]++; counts[key] > lint.MaxEach+1 {
				t.Errorf("%d findings %v", counts[key], key)
			}
			if f.Code == lint.NotChecked || !slices.ContainsFunc(known, func(i lint.Info) bool { return i.Code == f.Code }) {
				t.Errorf("code of %+v", f)
			}
			checkFinding(t, l, f)
		}
	})
}

func checkFinding(t *testing.T, l *lock.Listing, f lint.Finding) {
	t.Helper()
	if f.Detail == "" || len(f.Detail) >= 2048 || !utf8.ValidString(f.Detail) || strings.ContainsFunc(f.Detail, lock.Hidden) {
		t.Errorf("detail of %+q", f)
	}
	i := slices.IndexFunc(l.Definitions, func(d lock.Definition) bool { return d.Kind() == f.Kind && d.Name() == f.Name })
	if i < 0 {
		t.Fatalf("no definition for %+v", f)
	}
	if len(f.Pointer) > 256 || !leads(l.Definitions[i].Canonical(), f.Pointer) {
		t.Errorf("%s has nothing at %s", l.Definitions[i].Canonical(), f.Pointer)
	}
}

// leads reports whether the general library finds a value at pointer.
func leads(form []byte, pointer string) bool {
	var v any
	if err := json.Unmarshal(form, &v); err != nil {
		return false
	}
	for token := range jsontext.Pointer(pointer).Tokens() {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[token]
			if !ok {
				return false
			}
			v = next
		case []any:
			var index int
			if json.Unmarshal([]byte(token), &index) != nil || index >= len(x) {
				return false
			}
			v = x[index]
		default:
			return false
		}
	}
	return true
}
