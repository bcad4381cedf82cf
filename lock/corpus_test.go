package lock_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpsign/mcpsign/lock"
)

// corpus returns the folder of real listings, which lies beside the
// project and is no part of it. The test is skipped where it is absent.
func corpus(t testing.TB, part string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", "corpus", part)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the corpus of real listings is not there: %v", err)
	}
	return dir
}

// read reads a file.
func read(t testing.TB, path string) []byte {
	t.Helper()
	return must[[]byte](t)(os.ReadFile(path))
}

// readJSON reads what was recorded about listings. It is no listing: the
// general library will do.
func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	if err := json.Unmarshal(read(t, path), v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// listingFiles returns the files of a server's listing: those in the folder,
// or the one file.
func listingFiles(t testing.TB, path string) (texts [][]byte) {
	t.Helper()
	if strings.HasSuffix(path, ".json") {
		return [][]byte{read(t, path)}
	}
	files := must[[]string](t)(filepath.Glob(filepath.Join(path, "*.json")))
	for _, file := range files {
		if name := filepath.Base(file); name != "digests.json" && name != "changes.json" {
			texts = append(texts, read(t, file))
		}
	}
	return texts
}

// generalDigests splits listings with jsontext and computes the digest of each
// definition as generally does, by ID.
func generalDigests(t testing.TB, texts [][]byte) map[string]lock.Digest {
	t.Helper()
	digests := make(map[string]lock.Digest)
	for _, text := range texts {
		for _, k := range lock.Kinds() {
			member := map[lock.Kind]string{lock.Tool: "tools", lock.Prompt: "prompts", lock.ResourceTemplate: "resourceTemplates", lock.Instructions: "instructions"}[k]
			for _, d := range valuesAt(t, text, jsontext.Pointer("/result/"+member), jsontext.Pointer("/"+member)) {
				if k == lock.Instructions {
					_, digests["instructions:"] = generally(t, append(append([]byte(`{"instructions":`), d...), '}'))
					continue
				}
				var named struct{ Name, URITemplate string }
				if err := json.Unmarshal(d, &named); err != nil {
					t.Fatal(err)
				}
				if k == lock.ResourceTemplate {
					named.Name = named.URITemplate
				}
				id := lock.ID(k, named.Name)
				if _, dup := digests[id]; dup {
					t.Fatalf("%s twice", id)
				}
				_, digests[id] = generally(t, d)
			}
		}
	}
	return digests
}

// valuesAt returns the elements of the arrays, or the other values, that stand
// at one of the pointers.
func valuesAt(t testing.TB, text []byte, pointers ...jsontext.Pointer) (values []jsontext.Value) {
	t.Helper()
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return values
		}
		if kind, _ := d.StackIndex(d.StackDepth()); kind != '{' || token.Kind() != '"' || !slices.Contains(pointers, d.StackPointer()) {
			continue
		}
		if d.PeekKind() != '[' {
			values = append(values, must[jsontext.Value](t)(d.ReadValue()).Clone())
			continue
		}
		d.ReadToken()
		for d.PeekKind() != ']' {
			values = append(values, must[jsontext.Value](t)(d.ReadValue()).Clone())
		}
	}
}

// checkListing compares a listing with digests computed without our code.
func checkListing(t *testing.T, path string, texts [][]byte, want map[string]lock.Digest) (l *lock.Listing, n map[lock.Kind]int) {
	t.Helper()
	l, err := lock.ParseListing(texts...)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(l.Refused) > 0 || len(l.Definitions) != len(want) {
		t.Errorf("%s: %d definitions and %d refused, want %d", path, len(l.Definitions), len(l.Refused), len(want))
	}
	n = make(map[lock.Kind]int)
	for _, d := range l.Definitions {
		n[d.Kind()]++
		if want[d.ID()] != d.Digest() {
			t.Errorf("%s: %s has digest %s, want %s", path, d.ID(), d.Digest(), want[d.ID()])
		}
	}
	return l, n
}

// Every digest of the corpus, as it was computed in Node and Python, and the
// definitions of other kinds, which have none on record, as other libraries
// compute them.
func TestCorpusDigests(t *testing.T) {
	dir := corpus(t, "dev")
	records := append(must[[]string](t)(filepath.Glob(filepath.Join(dir, "*.digests.json"))),
		must[[]string](t)(filepath.Glob(filepath.Join(dir, "*", "digests.json")))...)
	if len(records) == 0 {
		t.Fatal("no digests are on record")
	}
	recorded, total := 0, make(map[lock.Kind]int)
	for _, record := range records {
		path := strings.TrimSuffix(record, ".digests.json") + ".json"
		if filepath.Base(record) == "digests.json" {
			path = filepath.Dir(record)
		}
		texts := listingFiles(t, path)
		want := generalDigests(t, texts)
		var known struct {
			Tools []struct{ Name, Digest string }
		}
		readJSON(t, record, &known)
		for _, k := range known.Tools {
			recorded++
			if d := must[lock.Digest](t)(lock.ParseDigest(k.Digest)); want[lock.ID(lock.Tool, k.Name)] != d {
				t.Errorf("%s: %s: the other libraries have %s, on record is %s", path, k.Name, want[lock.ID(lock.Tool, k.Name)], d)
			}
			want[lock.ID(lock.Tool, k.Name)] = must[lock.Digest](t)(lock.ParseDigest(k.Digest))
		}
		l, n := checkListing(t, path, texts, want)
		if n[lock.Tool] != len(known.Tools) {
			t.Errorf("%s: %d tools, %d are on record", path, n[lock.Tool], len(known.Tools))
		}
		for k, i := range n {
			total[k] += i
		}
		// The listing as a lockfile, and as a server that lists canonical forms.
		s := pinned(l)
		f := must[*lock.File](t)(lock.Parse(must[[]byte](t)((&lock.File{Servers: []lock.Server{s}}).Format())))
		changes := f.Servers[0].Diff(listing(t, canonicalListing(l)...))
		changes = slices.DeleteFunc(changes, func(c lock.Change) bool { return c.Op == lock.MetaChanged }) // no _meta is in the canonical form
		if len(changes) > 0 {
			t.Errorf("%s: differs from its lockfile: %q", path, describeChanges(changes))
		}
	}
	t.Logf("%d servers: %d tools, all %d recorded digests compared; %d prompts, %d resource templates, %d instructions",
		len(records), total[lock.Tool], recorded, total[lock.Prompt], total[lock.ResourceTemplate], total[lock.Instructions])
}

// changes is what is on record about two versions of a server: the names of
// tools, those that changed in classes that Diff does not make, followed by the
// members that differ: "forecast[description,inputSchema]".
type changes struct {
	From, To                                                        string
	Added, Removed                                                  []string
	Unchanged                                                       int
	DescriptionOnly, AnnotationsTitleOnly, SchemaTextOnly, MetaOnly []string
	SchemaStructural, DollarSchemaOnly, Other                       []string
	Renamed                                                         []any
	CommonOrderChanged                                              bool
}

// Real versions of real servers: what Diff says is what is on record.
func TestCorpusDrift(t *testing.T) {
	dir := corpus(t, "drift")
	records := must[[]string](t)(filepath.Glob(filepath.Join(dir, "*", "changes.json")))
	if len(records) == 0 {
		t.Fatal("no changes are on record")
	}
	pairs, digests := 0, 0
	ops := make(map[lock.Op]int)
	for _, record := range records {
		var known []changes
		readJSON(t, record, &known)
		parsed := make(map[string]*lock.Listing)
		version := func(name string) *lock.Listing {
			if parsed[name] == nil {
				path := filepath.Join(filepath.Dir(record), name)
				texts := listingFiles(t, path)
				l, n := checkListing(t, path, texts, generalDigests(t, texts))
				for _, i := range n {
					digests += i
				}
				parsed[name] = l
			}
			return parsed[name]
		}
		for _, c := range known {
			pairs++
			s := pinned(version(c.From))
			got := make(map[lock.Op][]string)
			members := make(map[string][]string)
			for _, change := range s.Diff(version(c.To)) {
				if change.Kind != lock.Tool {
					continue // only tools are on record
				}
				got[change.Op] = append(got[change.Op], change.Name)
				for _, f := range change.Fields {
					member, _, _ := strings.Cut(f.Pointer[1:], "/")
					if !slices.Contains(members[change.Name], member) {
						members[change.Name] = append(members[change.Name], member)
					}
				}
			}
			want := map[lock.Op][]string{lock.Added: c.Added, lock.Removed: c.Removed}
			for _, class := range [][]string{c.DescriptionOnly, c.AnnotationsTitleOnly, c.SchemaTextOnly, c.SchemaStructural, c.DollarSchemaOnly, c.Other} {
				for _, entry := range class {
					name, list, listed := strings.Cut(strings.TrimSuffix(entry, "]"), "[")
					want[lock.Changed] = append(want[lock.Changed], name)
					if expected := strings.Split(list, ","); listed && !sameNames(members[name], expected) {
						t.Errorf("%s %s to %s: %s differs in %q, want %q", filepath.Dir(record), c.From, c.To, name, members[name], expected)
					}
				}
			}
			for _, op := range []lock.Op{lock.Added, lock.Removed, lock.Changed} {
				if !sameNames(got[op], want[op]) {
					t.Errorf("%s %s to %s: %s\ngot  %q\nwant %q", filepath.Dir(record), c.From, c.To, op, got[op], want[op])
				}
				ops[op] += len(got[op])
			}
			unchanged := -len(got[lock.Removed]) - len(got[lock.Changed])
			for _, d := range version(c.From).Definitions {
				if d.Kind() == lock.Tool {
					unchanged++
				}
			}
			if unchanged != c.Unchanged+len(c.MetaOnly) { // what changed in its _meta has the same digest
				t.Errorf("%s %s to %s: %d are unchanged, want %d and %d", filepath.Dir(record), c.From, c.To, unchanged, c.Unchanged, len(c.MetaOnly))
			}
		}
	}
	t.Logf("%d pairs of %d servers: %d added, %d removed, %d changed; %d digests compared", pairs, len(records), ops[lock.Added], ops[lock.Removed], ops[lock.Changed], digests)
}

// sameNames compares two sets of names.
func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
