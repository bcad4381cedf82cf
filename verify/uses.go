package verify

import (
	"slices"

	"github.com/mcpsign/mcpsign/lock"
)

// Uses says what of Trust those are checked with whom the rules for a server
// name, whether they signed or not. What a publisher of a policy brings along is
// not part of it.
type Uses struct {
	Keys     []lock.Digest // SHA-256 of the public keys that may sign
	Roots    bool          // someone may sign with a certificate of private PKI
	TSAs     bool          // a timestamp would be checked with the roots of Trust
	Sigstore bool          // someone may sign keyless, or a bundle has an entry in a log
}

// Uses returns what of Trust the decision rests on; the zero value where no
// rule asks for a signature.
func (d *Decision) Uses() Uses {
	var u Uses
	for _, p := range d.single() {
		if p.need == nil {
			continue
		}
		for _, one := range p.need.everyone() {
			u.add(one)
		}
		logged := func(c counted) bool { return c.entries > 0 }
		for _, cs := range append([][]counted{p.found.releases, p.found.approvals}, p.found.attested...) {
			u.Sigstore = u.Sigstore || slices.ContainsFunc(cs, logged)
		}
	}
	return u
}

func (u *Uses) add(p *principal) {
	signers := slices.Clone(p.recorded)
	for _, id := range p.ids {
		s := id.want
		if id.root {
			s.Root = "any"
		}
		signers = append(signers, s)
	}
	for _, s := range signers {
		switch {
		case s.Key != "":
			if k, err := lock.ParseDigest(s.Key); err == nil {
				u.Keys = append(u.Keys, k)
			}
			u.TSAs = true
		case s.Root != "":
			u.Roots = u.Roots || p.domain == nil
			u.TSAs = u.TSAs || p.domain == nil || !p.domain.ownTSAs
		default:
			u.Sigstore, u.TSAs = u.Sigstore || p.material == nil, u.TSAs || p.material == nil
		}
	}
}
