package baseline_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/baseline"
	"github.com/mcpsign/mcpsign/lock"
)

// Seeds are committed, in testdata/fuzz. Without them a fuzz target run as a test would test little.
func TestFuzzSeeds(t *testing.T) {
	for _, target := range []string{"FuzzParse", "FuzzGolang"} {
		seeds, err := filepath.Glob(filepath.Join("testdata", "fuzz", target, "*"))
		if err != nil || len(seeds) < 5 {
			t.Errorf("%s has %d seeds, %v", target, len(seeds), err)
		}
	}
}

// FuzzParse reads a file and holds a listing against it: every definition on either side has its result, and only what
// is pinned and listed can match.
func FuzzParse(f *testing.F) {
	l := listing(f, read(f, "listing.jsonl"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := baseline.Parse(data)
		if (b == nil) == (err == nil) {
			t.Fatalf("got %v, %v", b, err)
		}
		if err != nil {
			return
		}
		if len(b.Servers) != 1 || len(b.Servers[0].Pins) == 0 || len(b.Uncovered()) == 0 {
			t.Fatalf("got %+v", b)
		}
		checkResults(t, &b.Servers[0], l)
	})
}

func checkResults(t *testing.T, s *baseline.Server, l *lock.Listing) {
	t.Helper()
	listed, pinned := map[string]bool{}, map[string]bool{}
	for _, d := range l.Definitions {
		listed[d.ID()] = true
	}
	for _, p := range s.Pins {
		pinned[lock.ID(p.Kind, p.Name)] = true
	}
	var ids []string
	for _, r := range s.Check(l) {
		id := lock.ID(r.Kind, r.Name)
		ids = append(ids, id)
		both := r.State == baseline.Match || r.State == baseline.Differs
		if both != (pinned[id] && listed[id]) || (r.State == baseline.Missing) != (pinned[id] && !listed[id]) {
			t.Errorf("%s is %s, pinned %t, listed %t", id, r.State, pinned[id], listed[id])
		}
		delete(pinned, id)
		delete(listed, id)
	}
	if len(listed)+len(pinned) > 0 {
		t.Errorf("no result for %v, %v", listed, pinned)
	}
	for i := 1; i < len(ids); i++ {
		if slices.Contains(ids[:i], ids[i]) {
			t.Errorf("%s has two results", ids[i])
		}
	}
}
