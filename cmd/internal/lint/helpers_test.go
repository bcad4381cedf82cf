package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/lint"
	"github.com/mcpsign/mcpsign/lock"
)

// must fails the test on an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// listing parses a listing of texts.
func listing(t testing.TB, texts ...string) *lock.Listing {
	t.Helper()
	var raw [][]byte
	for _, s := range texts {
		raw = append(raw, []byte(s))
	}
	return must[*lock.Listing](t)(lock.ParseListing(raw...))
}

// check lints a listing by itself.
func check(t testing.TB, texts ...string) []lint.Finding {
	t.Helper()
	return lint.Check(listing(t, texts...), "", nil)
}

// tool is a tool with nothing to report but what more, further members, adds.
func tool(name, more string) string {
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"name":%q,"description":"Does it."%s}`, name, withSchema(more))
}

// withSchema adds an input schema where there is none.
func withSchema(more string) string {
	if strings.Contains(more, `"inputSchema"`) {
		return more
	}
	return more + `,"inputSchema":{"type":"object"}`
}

// schema is a tool with an input schema of further members.
func schema(members string) string {
	if members != "" {
		members = "," + members
	}
	return tool("t", `"inputSchema":{"type":"object"`+members+`}`)
}

// brief spells findings as "code pointer".
func brief(findings []lint.Finding) string {
	var out []string
	for _, f := range findings {
		out = append(out, strings.TrimSpace(string(f.Code)+" "+lock.Visible(f.Pointer)))
	}
	return strings.Join(out, "; ")
}

// corpus returns the real listings, by server, which lie beside the project
// and are no part of it. The test is skipped where they are absent.
func corpus(t testing.TB, part string) map[string]*lock.Listing {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "..", "shared", "corpus", part)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Skipf("the corpus of real listings is not there: %v", err)
	}
	listings := make(map[string]*lock.Listing)
	for _, e := range entries {
		files := []string{filepath.Join(dir, e.Name())}
		if e.IsDir() {
			files = must[[]string](t)(filepath.Glob(filepath.Join(dir, e.Name(), "*.json")))
		}
		var texts [][]byte
		for _, file := range files {
			if !strings.HasSuffix(file, "digests.json") && !strings.HasSuffix(file, "changes.json") {
				texts = append(texts, must[[]byte](t)(os.ReadFile(file)))
			}
		}
		if len(texts) > 0 {
			listings[e.Name()] = must[*lock.Listing](t)(lock.ParseListing(texts...))
		}
	}
	return listings
}
