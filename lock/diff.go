package lock

// A Change is one difference between what was there and what is listed.
type Change struct {
	Kind     Kind
	Name     string
	Op       Op
	Fields   []Field  // for Changed: at least one, in the order of the canonical form
	Severity Severity // the highest of Fields; High for Added, Normal for Removed, Low for MetaChanged
	Meta     bool     // the top-level _meta, which is not hashed, differs as well; for MetaChanged it is all that does

	// Renamed is, for Added, the name of the one definition of the kind that was
	// removed and is the same but for its name; for Removed it is the new name.
	// It is empty if there is none, and if several could be meant. It is a
	// remark: the definition under its new name is as new as any other.
	Renamed string

	// Spelling is set for Changed if every field is spelling only, see
	// Field.Spelling: the definition means what it meant.
	Spelling bool
}

// An Op is a way in which a definition differs.
type Op string

const (
	Added   Op = "added"
	Removed Op = "removed"
	Changed Op = "changed"

	// MetaChanged has the same digest and another top-level _meta, which nobody
	// signs: it is for information, no drift and no reason to refuse anything.
	MetaChanged Op = "meta_changed"
)

// Diff compares a listing with the pins of s. A definition that equals the pin
// of any variant has not changed, but for its _meta if no such pin has that;
// one that equals none is compared with the first. Definitions without a digest
// are neither changed nor removed: they are in the listing's Refused. Changes
// are in the order of the listing, followed by what was removed, in the order
// of the pins.
func (s *Server) Diff(l *Listing) []Change {
	changes := append(s.changes(l), s.removed(l)...)
	s.renames(l, changes)
	return changes
}

// Diff compares two listings, without any pins, as Server.Diff does. What old
// refuses counts as not there.
func Diff(old, new *Listing) []Change { return serverOf(old).Diff(new) }

// serverOf returns a server with all of l as its pins.
func serverOf(l *Listing) *Server {
	s := &Server{Pins: make([]Pin, len(l.Definitions))}
	for i, d := range l.Definitions {
		s.Pins[i].Definition = d
	}
	return s
}

// changes returns what is listed and not pinned as it is.
func (s *Server) changes(l *Listing) []Change {
	var changes []Change
	for _, d := range l.Definitions {
		var pins []Pin
		if s != nil {
			pins = s.Pin(d.kind, d.name)
		}
		if len(pins) == 0 {
			changes = append(changes, Change{Kind: d.kind, Name: d.name, Op: Added, Severity: High})
			continue
		}
		if same, meta := pinned(pins, d); same {
			if !meta {
				changes = append(changes, Change{Kind: d.kind, Name: d.name, Op: MetaChanged, Severity: Low, Meta: true})
			}
			continue
		}
		old := pins[0].Definition
		c := Change{Kind: d.kind, Name: d.name, Op: Changed, Fields: Compare(old, d), Severity: Low, Meta: old.meta != d.meta, Spelling: true}
		for _, f := range c.Fields {
			c.Severity = max(c.Severity, f.Severity)
			c.Spelling = c.Spelling && f.Spelling()
		}
		changes = append(changes, c)
	}
	return changes
}

// removed returns what is pinned and not listed.
func (s *Server) removed(l *Listing) []Change {
	if s == nil || len(s.Pins) == 0 {
		return nil
	}
	type id struct {
		kind Kind
		name string
	}
	listed := make(map[id]bool, len(l.Definitions)+len(l.Refused))
	for _, d := range l.Definitions {
		listed[id{d.kind, d.name}] = true
	}
	for _, r := range l.Refused {
		listed[id{r.Kind, r.Name}] = true
	}
	var changes []Change
	for _, p := range s.Pins {
		if x := (id{p.Definition.kind, p.Definition.name}); !listed[x] {
			listed[x] = true // another variant's pin is the same removal
			changes = append(changes, Change{Kind: x.kind, Name: x.name, Op: Removed, Severity: Normal})
		}
	}
	return changes
}

// pinned reports whether d equals a pin, and whether one such has its _meta too.
func pinned(pins []Pin, d Definition) (same, meta bool) {
	for _, p := range pins {
		if p.Definition.digest == d.digest {
			same = true
			meta = meta || p.Definition.meta == d.meta
		}
	}
	return same, meta
}
