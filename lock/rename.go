package lock

import (
	"crypto/sha256"

	"github.com/mcpsign/mcpsign/internal/canonical"
)

// renames sets Renamed of those changes where one removed and one added
// definition of a kind are the same but for the name. Its work is linear in
// the size of what was added and removed.
func (s *Server) renames(l *Listing, changes []Change) {
	removed := make(map[Digest][]int) // indices of changes by what nameless returns
	for i, c := range changes {
		if c.Op != Removed {
			continue
		}
		for _, p := range s.Pin(c.Kind, c.Name) {
			key := nameless(p.Definition)
			if at := removed[key]; len(at) == 0 || at[len(at)-1] != i { // variants may be alike
				removed[key] = append(at, i)
			}
		}
	}
	if len(removed) == 0 {
		return
	}
	added := make(map[Digest][]int)
	next := 0 // changes are in the order of the listing
	for i, c := range changes {
		if c.Op != Added {
			continue
		}
		for l.Definitions[next].kind != c.Kind || l.Definitions[next].name != c.Name {
			next++
		}
		key := nameless(l.Definitions[next])
		added[key] = append(added[key], i)
	}
	candidates := make(map[int][]int) // of a removed one, whose variants may live on as several
	for key, a := range added {
		if r := removed[key]; len(a) == 1 && len(r) == 1 {
			candidates[r[0]] = append(candidates[r[0]], a[0])
		}
	}
	for r, a := range candidates {
		if len(a) == 1 {
			changes[a[0]].Renamed, changes[r].Renamed = changes[r].Name, changes[a[0]].Name
		}
	}
}

// nameless identifies a definition but for its name.
func nameless(d Definition) Digest {
	h := sha256.New()
	h.Write([]byte(d.kind))
	v := newValue(d.form)
	for i, name := range v.members() {
		if name != d.kind.naming() {
			h.Write(canonical.AppendString(nil, name))
			h.Write(v.kids[i].form)
		}
	}
	var key Digest
	h.Sum(key[:0])
	return key
}
