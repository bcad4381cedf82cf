package cli

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// isList reports whether x is a revocation list.
func (x addition) isList() bool { return x.list.Number > 0 }

// replaceLists checks that the revocation lists among the additions are the
// newest that were seen of their signers, and finds those that they stand in
// place of among the bundles that are there, as far as one of vs knows who signed
// them.
func (a *app) replaceLists(vs []*verify.Verifier, of, here sighting, found *additions, bundles [][]byte) error {
	if !slices.ContainsFunc(found.bundles, addition.isList) {
		return nil
	}
	seen, err := a.seen(of, here)
	if err != nil {
		return err
	}
	var old []addition
	for _, data := range bundles {
		for _, v := range vs {
			if x, err := a.verifyAddition(v, of.server, data); err == nil {
				if x.isList() {
					old = append(old, x)
				}
				break
			}
		}
	}
	for i, x := range found.bundles {
		if !x.isList() {
			continue
		}
		known := seen.list(x.signer)
		for _, o := range slices.Concat(old, found.bundles[:i]) {
			if o.isList() && o.signer.Same(x.signer) {
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

// rememberAdded stores the numbers of the releases and revocation lists that were
// kept: from now on an older one is refused, whether or not the file stays.
func (a *app) rememberAdded(of sighting, found *additions) error {
	var n news
	for _, x := range found.bundles {
		if x.isList() {
			n.lists = append(n.lists, verify.ListMark{Signer: x.signer, Number: x.list.Number, Statements: []lock.Digest{x.said}})
		}
		if x.high.Sequence > 0 {
			n.high = append(n.high, x.high)
		}
	}
	if len(n.lists)+len(n.high) == 0 {
		return nil
	}
	s, err := a.state()
	if err != nil {
		return err
	}
	return s.record(of, n)
}
