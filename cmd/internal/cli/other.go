package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/cmd/internal/baseline"
	"github.com/mcpsign/mcpsign/lock"
)

// compareOther compares a listing with what another tool pinned, and returns
// what there is to say about it. It is an error if something is not as it was
// pinned there: what has changed since is to be read before it is pinned anew.
func compareOther(name, server string, l *lock.Listing) ([]string, error) {
	data, err := readFile(name, baseline.MaxFile)
	if err != nil {
		return nil, fail(ExitUsage, err, "")
	}
	b, err := baseline.Parse(data)
	if err != nil {
		return nil, fail(ExitUsage, fmt.Errorf("%s: %w", lock.Visible(name), err), "--from reads the lockfiles of other pinning tools as they were written")
	}
	pinned, err := pickServer(b, server)
	if err != nil {
		return nil, err
	}
	var lines []string
	counts := map[baseline.State]int{}
	code := ExitYes
	for _, r := range pinned.Check(l) {
		counts[r.State]++
		switch r.State {
		case baseline.Match, baseline.Uncovered:
			continue
		case baseline.New:
			code = worst(code, ExitUnpinned)
		default:
			code = worst(code, ExitDrift)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%-8s %s  %s", r.State, show(r.Kind, r.Name), r.Detail)))
	}
	lines = append(lines, fmt.Sprintf("from     %s %s: %d definitions are as they were pinned there", b.Tool, lock.Visible(b.Version), counts[baseline.Match]))
	for _, u := range b.Uncovered() {
		lines = append(lines, "from     "+u)
	}
	if code == ExitYes && counts[baseline.Match] == 0 {
		code = ExitUnpinned
	}
	if code == ExitYes {
		return lines, nil
	}
	no := counts[baseline.Differs] + counts[baseline.Missing] + counts[baseline.New]
	return lines, fail(code, fmt.Errorf("%s: %d definitions are not as %s pinned them: nothing is pinned", server, no, lock.Visible(name)),
		"read what changed; to pin what is there now, leave --from out")
}

// pickServer returns the server of another tool's lockfile: the only one, or the
// one that has the name or its last segment.
func pickServer(b *baseline.Baseline, name string) (*baseline.Server, error) {
	if len(b.Servers) == 1 {
		return &b.Servers[0], nil
	}
	last := name[strings.LastIndex(name, "/")+1:]
	for _, want := range []string{name, last} {
		i := slices.IndexFunc(b.Servers, func(s baseline.Server) bool { return s.Name == want })
		if i >= 0 {
			return &b.Servers[i], nil
		}
	}
	var names []string
	for _, s := range b.Servers {
		names = append(names, lock.Visible(s.Name))
	}
	return nil, usage("the names there are "+strings.Join(names, ", "), fmt.Sprintf("the file has %d servers, and none called %s or %s", len(names), name, last))
}
