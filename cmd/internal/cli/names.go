package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
)

// lookUp returns the server that NAME stands for, nil if the lockfile does not
// have it. Where a policy, --signer or --key decides, NAME is taken as written:
// it selects the rule, and a lockfile that comes with a checkout must not lead
// to another one. Flags are nil for a command that no rule decides.
func (s *store) lookUp(name string, flags *trustFlags) (string, *lock.Server, error) {
	if flags != nil {
		if ruled, err := flags.ruled(); err != nil {
			return "", nil, err
		} else if ruled {
			return name, s.file.Find(name), checkNAME(name)
		}
	}
	return s.resolve(name)
}

// nameTargets gives targets the names of the servers that they are decided as.
func (s *store) nameTargets(targets []target, flags *trustFlags) {
	for i, t := range targets {
		name, _, err := s.lookUp(t.name, flags)
		if err == nil {
			targets[i].name = name
		} else if t.err == nil {
			targets[i].err = err
		}
	}
}

func checkNAME(name string) error {
	return fail(ExitUsage, lock.CheckName(name), "NAME is the server's name in its publisher's words, such as io.github.acme/weather")
}

// resolve returns the server that name stands for: its name, or a last segment
// that is one server's only. A name that is not in the lockfile stands for
// itself.
func (s *store) resolve(name string) (string, *lock.Server, error) {
	if err := checkNAME(name); err != nil {
		return "", nil, err
	}
	if found := s.file.Find(name); found != nil {
		return name, found, nil
	}
	var found *lock.Server
	for i := range s.file.Servers {
		if !shortFor(name, s.file.Servers[i].Name) {
			continue
		}
		if found != nil {
			return "", nil, usage("write the whole name", fmt.Sprintf("%s is the last segment of %s and %s", name, found.Name, s.file.Servers[i].Name))
		}
		found = &s.file.Servers[i]
	}
	if found == nil {
		return name, nil, nil
	}
	return found.Name, found, nil
}

// shortFor reports whether name is the last segment of a longer one.
func shortFor(name, whole string) bool {
	return !strings.Contains(name, "/") && strings.HasSuffix(whole, "/"+name)
}

// notPinned says that the lockfile does not have a server, and which it has.
func (s *store) notPinned(name string) string {
	text := fmt.Sprintf("%s is not in %s", lock.Visible(name), lock.Visible(s.path))
	if names := s.closest(name); len(names) > 0 {
		text += ", which has " + listed(names, len(s.file.Servers))
	}
	return text
}

// misnamed is notPinned where it is likely that another server was meant: one
// whose last segment is the name, or with a name that looks like it. Else it is
// empty, as for a server of the lockfile.
func (s *store) misnamed(name string) string {
	if s.file.Find(name) != nil {
		return ""
	}
	for _, c := range s.closest(name) {
		if shortFor(name, c) || unlike(name, c) <= min(2, len(name)/4) {
			return s.notPinned(name)
		}
	}
	return ""
}

// noteMisnamed prints misnamed, for a command that goes on all the same.
func (a *app) noteMisnamed(s *store, name string) {
	if text := s.misnamed(name); text != "" {
		a.note(text)
	}
}

// The limits of names that are proposed: how many, and how many are compared
// character by character.
const (
	maxNames    = 5
	maxCompared = 100
)

// closest returns the names of servers of the lockfile, at most maxNames, those
// that are most like name first. Of very many only those are compared in full
// that begin and end like it.
func (s *store) closest(name string) []string {
	var names []string
	for i := range s.file.Servers {
		names = append(names, s.file.Servers[i].Name)
	}
	return closest(name, names)
}

// closest returns the names that are most like one, at most maxNames of them, as
// store.closest does.
func closest(name string, all []string) []string {
	type candidate struct {
		name  string
		apart int
	}
	var found []candidate
	for _, whole := range all {
		apart := between(name, whole)
		if shortFor(name, whole) {
			apart = -1
		}
		found = append(found, candidate{whole, apart})
	}
	byDistance := func(a, b candidate) int { return cmp.Or(a.apart-b.apart, strings.Compare(a.name, b.name)) }
	slices.SortFunc(found, byDistance)
	found = found[:min(len(found), maxCompared)]
	for i, c := range found {
		if c.apart >= 0 {
			last := c.name[strings.LastIndex(c.name, "/")+1:]
			found[i].apart = min(unlike(name, c.name), 1+unlike(name, last))
		}
	}
	slices.SortFunc(found, byDistance)
	var names []string
	for _, c := range found[:min(len(found), maxNames)] {
		names = append(names, c.name)
	}
	return names
}

// listed joins names, the first of total.
func listed(names []string, total int) string {
	text := strings.Join(visible(names), ", ")
	if more := total - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// between returns how many bytes of the longer of two texts lie between the
// beginning and the end that they share: never less than unlike.
func between(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	a, b = a[n:], b[n:]
	n = 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return max(len(a), len(b)) - n
}

// unlike returns how many bytes have to be put in, left out or replaced to make
// one text the other (Levenshtein). Names have at most 255.
func unlike(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// notListed says that a listing does not have a definition, and which it has.
func notListed(l *lock.Listing, id string) string {
	var ids []string
	for _, d := range l.Definitions {
		ids = append(ids, lock.ID(d.Kind(), d.Name()))
	}
	text := lock.Visible(id) + " is not in the listing"
	if names := closest(id, ids); len(names) > 0 {
		text += ", which has " + listed(names, len(ids))
	}
	return text
}
