package cli

import (
	"crypto/sha256"
	"fmt"

	"github.com/mcpsign/mcpsign/verify"
)

// replaceLists checks that the revocation lists among the additions are the
// newest that were seen of their signers, and finds those that they stand in
// place of among the bundles that are there.
func (a *app) replaceLists(v *verify.Verifier, of sighting, found *additions, bundles [][]byte) error {
	var old []addition
	for _, data := range bundles {
		if x, err := verifyAddition(v, of.server, data); err == nil && x.list.Number > 0 {
			old = append(old, x)
		}
	}
	seen := &sight{}
	for i, x := range found.bundles {
		if x.list.Number == 0 {
			continue
		}
		if seen.Version == 0 {
			var err error
			if seen, err = a.seen(of); err != nil {
				return err
			}
		}
		known := seen.list(x.signer)
		for _, o := range append(old, found.bundles[:i]...) {
			if o.list.Number > 0 && o.signer.Same(x.signer) {
				known = max(known, o.list.Number)
			}
		}
		if x.list.Number < known {
			return fail(ExitOutdated, fmt.Errorf("%s: the list has number %d, and number %d by %s was seen", x.place, x.list.Number, known, x.signer), "nothing was kept; ask for the newest list")
		}
		if a.Now().After(x.list.NextUpdate) {
			return fail(ExitTrust, fmt.Errorf("%s: the next list was due at %s", x.place, rfc3339(x.list.NextUpdate)), "nothing was kept; ask for the newest list")
		}
		for _, o := range old {
			if o.signer.Same(x.signer) && o.list.Number < x.list.Number {
				found.replaced = append(found.replaced, sha256.Sum256(o.data))
			}
		}
	}
	return nil
}

// rememberLists stores the numbers of revocation lists that were kept: from now
// on an older one is not as good, nor none.
func (a *app) rememberLists(of sighting, found *additions) error {
	var n news
	for _, x := range found.bundles {
		if x.list.Number > 0 {
			n.lists = append(n.lists, verify.ListMark{Signer: x.signer, Number: x.list.Number})
		}
	}
	if len(n.lists) == 0 {
		return nil
	}
	s, err := a.state()
	if err != nil {
		return err
	}
	return s.record(of, n)
}
