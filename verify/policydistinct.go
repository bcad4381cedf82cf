package verify

import (
	"fmt"
	"maps"
	"slices"
)

// distinct reports a list of which several must sign that has one identity in
// two principals.
func (p *Policy) distinct() error {
	for i := range p.rules {
		r := &p.rules[i]
		if err := p.distinctIn(r.signedBy, r.need); err != nil {
			return err
		}
		if r.approvals != nil {
			if err := p.distinctIn(r.approvals.from, r.approvals.need); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Policy) distinctIn(refs []reference, need int) error {
	if need < 2 {
		return nil
	}
	seen := make(map[string]string) // the principal of each party
	for _, ref := range refs {
		own := make(map[string]bool)
		for _, id := range p.identities(ref) {
			own[id.party().String()] = true
		}
		for _, party := range slices.Sorted(maps.Keys(own)) {
			if other, ok := seen[party]; ok {
				return &PolicyError{p.name, max(ref.line, 1), max(ref.column, 1),
					fmt.Errorf("principals %s and %s have the same signer: %s", shown(other), shown(ref.text), shown(party))}
			}
			seen[party] = ref.text
		}
	}
	return nil
}

// identities returns those of a principal: of keys as far as they are known.
func (p *Policy) identities(ref reference) []Identity {
	b := p.publishers[ref.text]
	if b == nil {
		return []Identity{ref.id}
	}
	return b.identities()
}

func (b *namedPublisher) identities() []Identity {
	ids := slices.Clone(b.keyless)
	if b.x509 != nil {
		ids = append(ids, b.x509.san)
	}
	for _, k := range b.keys {
		if k.key != nil {
			ids = append(ids, k.id)
		}
	}
	return ids
}
