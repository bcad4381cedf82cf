package verify

import (
	"testing"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// Of two statements that cover as much of the listing the one counts that
// serves best, whatever their names and the order in which they come.
func TestChosenVariant(t *testing.T) {
	p := newPublisher(t)
	const changed = `{"tools":[{"name":"a","x":1},{"name":"b"}]}`
	named := func(r *attest.Release) { r.PURLs = []string{"pkg:npm/weather"} }
	launch := lock.Source{Command: []string{"npx", "weather"}}
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
		good, other := variant(names[0]), variant(names[1])
		pinned := pin(t, ruleFor(t, "", p), listing(t, ab), p.sign(t, ab, good))
		third := pin(t, ruleFor(t, "", p), listing(t, ab), p.sign(t, ab, variant("z")))
		for _, tt := range []struct {
			name, options, listing string
			bundles                [][]byte
			want                   string
		}{
			{"the other is of a larger surface", complete1, ab,
				[][]byte{p.sign(t, ab, good, complete), p.sign(t, abc, other, complete)}, "tool:a allow verified; tool:b allow verified"},
			{"the other does not name the launch", "    bindSource: true\n", ab,
				[][]byte{p.sign(t, ab, good, named), p.sign(t, ab, other)}, "tool:a allow verified; tool:b allow verified"},
			{"the other is not pinned", "    updates: accept\n", changed,
				[][]byte{p.sign(t, changed, good, sequence(101)), p.sign(t, changed, other, sequence(101))}, "tool:a allow verified, updated; tool:b allow verified"},
		} {
			for range 2 {
				tt.bundles[0], tt.bundles[1] = tt.bundles[1], tt.bundles[0]
				r := ask(listing(t, tt.listing), tt.bundles...)
				if r.Lock = third; tt.name == "the other is not pinned" {
					r.Lock = pinned
				}
				if tt.name == "the other does not name the launch" {
					r.Source = launch
				}
				if got := verdicts(ruleFor(t, tt.options, p).Decide(r)); got != tt.want {
					t.Errorf("%s, as %s: %s, want %s", tt.name, names[0], got, tt.want)
				}
			}
		}
	}
}
