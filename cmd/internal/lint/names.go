package lint

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpsign/mcpsign/lock"
)

// maxName is how many characters the name of a tool may have: MCP 2025-11-25,
// Server Features, Tools, "Tool Names".
const maxName = 128

// name reads the name of the definition.
func (c *checker) name() error {
	name, err := c.r.String()
	if err != nil {
		return err
	}
	c.hidden(name, identifier)
	if c.d.Kind() == lock.ResourceTemplate {
		return nil
	}
	if n := utf8.RuneCountInString(name); n > maxName {
		c.add(NameCharset, "%d characters, more than %d", n, maxName)
	}
	for _, r := range name {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.') {
			c.add(NameCharset, "%U in %s", r, shown(name))
			break
		}
	}
	return nil
}

// A named is a definition whose name is compared.
type named struct {
	kind   lock.Kind
	name   string
	server string // "" for the listing
}

func (n named) String() string {
	if n.server == "" {
		return shown(n.name).String()
	}
	return shown(n.name).String() + " of " + lock.Visible(n.server)
}

// compareNames reports names of l that can be taken for others of l, or for
// those of other servers in f.
func compareNames(s *sink, l *lock.Listing, server string, f *lock.File) {
	same, folded, alike := make(groups), make(groups), make(groups)
	add := func(n named) {
		if n.kind == lock.Instructions {
			return
		}
		fold := strings.ToLower(n.name)
		same.add(n, n.name, n.server)
		folded.add(n, fold, n.name)
		alike.add(n, skeleton(n.name), fold)
	}
	for _, d := range l.Definitions {
		add(named{d.Kind(), d.Name(), ""})
	}
	if f != nil {
		for _, other := range f.Servers {
			for _, p := range other.Pins {
				if other.Name != server {
					add(named{p.Definition.Kind(), p.Definition.Name(), other.Name})
				}
			}
		}
	}
	for _, d := range l.Definitions {
		if d.Kind() == lock.Instructions {
			continue
		}
		n, fold := named{d.Kind(), d.Name(), ""}, strings.ToLower(d.Name())
		s.compared(n, SharedName, "it is also", same.others(n, n.name, ""))
		s.compared(n, CaseCollision, "but for case it is", folded.others(n, fold, n.name))
		s.compared(n, LookalikeName, "it looks like", alike.others(n, skeleton(n.name), fold))
	}
}

// compared reports what the name of n can be taken for.
func (s *sink) compared(n named, code Code, verb string, others []named) {
	if len(others) == 0 {
		return
	}
	detail := fmt.Sprintf("%s %s", verb, others[0])
	if len(others) > 1 {
		detail += fmt.Sprintf(" and %d more", len(others)-1)
	}
	s.findings = append(s.findings, Finding{Code: code, Kind: n.kind, Name: n.name, Detail: detail})
}

// groups holds definitions by kind and by what their names have in common;
// of those that do not differ in what sets them apart only the first.
type groups map[groupKey]*group

type groupKey struct {
	kind   lock.Kind
	common string
}

type group struct {
	at      map[string]int // of members, by what sets them apart
	members []named
}

func (g groups) add(n named, common, apart string) {
	key := groupKey{n.kind, common}
	if g[key] == nil {
		g[key] = &group{at: make(map[string]int, 1)}
	}
	if _, ok := g[key].at[apart]; !ok {
		g[key].at[apart] = len(g[key].members)
		g[key].members = append(g[key].members, n)
	}
}

// others returns the members of n's group that are set apart from it. The
// first is one of the listing if there is any; the order of the rest is open,
// since only their number is shown: a group may be as large as the listing.
func (g groups) others(n named, common, apart string) []named {
	members := g[groupKey{n.kind, common}].members
	at := g[groupKey{n.kind, common}].at[apart]
	if at == 0 {
		return members[1:]
	}
	return members[:len(members)-1]
}
