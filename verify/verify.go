// Package verify decides which definitions of a server may reach a model. It
// checks Sigstore bundles with in-toto statements about definitions, compares
// a listing with what they vouch for and with the lock entry, and applies one
// policy or several.
//
//	policy, err := verify.ParsePolicy(name, data)
//	policy, err = policy.With(files) // the contents of policy.Files()
//	v, err := verify.New(policy, trust)
//	d := v.Decide(verify.Request{Server: name, Listing: listing, Lock: entry, Bundles: bundles, At: time.Now()})
//	response, err = lock.Filter(response, d.Allows)
//
// sigstore-go verifies signatures, certificates, log entries and timestamps;
// whatever of these a bundle contains must verify. Names, kinds, the statement
// and predicate type, sequence, expiry, completeness, revocation and who may
// sign are judged here: sigstore-go checks none of them. Certificates are judged
// at the verified time of the signature, or of own PKI at the time of the request
// where the policy says so; statements and approvals now.
//
// Nothing outside a verified signature can permit anything under a rule that
// asks for signatures; the lock entry can only forbid. What was signed once is
// not taken unsigned under any rule. The zero Verdict denies.
//
// Evidence that is taken away brings no yes, provided that what a Decision says
// of HighWater, Lists and Latest is kept and given the next time.
//
// A revocation list or OCSP response that revokes a certificate has to stay at
// hand: without it an older one that is still up to date says nothing of that.
//
// The package does no I/O and reads no clock.
package verify

import (
	"crypto/sha256"
	"maps"
	"slices"
	"sync"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// A Verifier decides by one policy or several with one set of trust material.
// It is safe for use by several goroutines.
type Verifier struct {
	sets     []*ruleset // none: the built-in rule
	material *material

	mu       sync.Mutex
	verified map[outcomeOf]checked
	stood    map[statusOf]stood
	kept     int // bytes of the bundles in verified that are good
}

// An outcomeOf names what is kept: the outcome of a bundle, by its digest, under
// trusted roots and in one PKI.
type outcomeOf struct {
	bundle   lock.Digest
	material *material
	domain   *domain
}

// A checked is the outcome for a bundle, which no request changes.
type checked struct {
	evidence *evidence
	bad      *badEvidence
	pki      bool // it depends on the PKI
}

// The limits of the outcomes that are kept: how many, and the bytes of the
// statements among them, as many as the bundles of one decision can have.
const (
	maxCached = 4096
	maxKept   = lock.MaxBundles * lock.MaxBundle
)

// New returns a Verifier by a policy, which may be nil, and by every one of
// also, as a system's that holds besides the user's: a definition must be
// allowed by each. Without any, the built-in rule decides: what was approved, by
// the signer recorded then. The error is a *TrustError, also for a policy that
// lacks its files, see Policy.With.
func New(p *Policy, t Trust, also ...*Policy) (*Verifier, error) {
	m, err := newMaterial(t)
	if err != nil {
		return nil, err
	}
	v := &Verifier{material: m, verified: make(map[outcomeOf]checked), stood: make(map[statusOf]stood)}
	for _, p := range append([]*Policy{p}, also...) {
		if p == nil {
			continue
		}
		set, err := newRuleset(p, m)
		if err != nil {
			return nil, err
		}
		v.sets = append(v.sets, set)
	}
	return v, nil
}

// Material returns the bytes of a key (PKIX DER), a certificate (DER) or a
// trusted root (as given) that v trusts, by their SHA-256; nil if it has none.
func (v *Verifier) Material(d lock.Digest) []byte { return v.material.bytes[d] }

// check verifies a bundle, once for each PKI that matters; id is its digest.
func (v *Verifier) check(id lock.Digest, data []byte, d *domain) checked {
	return v.checkWith(id, data, v.material, d)
}

// checkWith is check under the trusted roots of m.
func (v *Verifier) checkWith(id lock.Digest, data []byte, m *material, d *domain) checked {
	if d != m.domain {
		if c := v.checkWith(id, data, m, m.domain); !c.pki {
			return c
		}
	}
	at := outcomeOf{id, m, d}
	v.mu.Lock()
	c, ok := v.verified[at]
	v.mu.Unlock()
	if ok {
		return c
	}
	c = m.verify(data, d)
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.verified) >= maxCached || v.kept >= maxKept {
		clear(v.verified)
		v.kept = 0
	}
	if c.bad == nil {
		v.kept += len(c.evidence.statement.Bytes())
	}
	v.verified[at] = c
	return c
}

// Signer returns who signed a bundle about definitions, verified with the
// trust material alone: no policy says that they may. The error is a
// *TrustError if nothing can be said.
func (v *Verifier) Signer(bundle []byte) (lock.Signer, error) {
	s, st, err := v.Statement(bundle)
	if err == nil && st.PredicateType() != attest.PredicateType {
		return lock.Signer{}, &attest.ForeignError{PredicateType: st.PredicateType()}
	}
	return s, err
}

// Statement returns who signed a bundle and what it says, of any predicate
// type, verified with the trust material and the publishers' alone: no policy
// says that they may. A stated time later than the verified time of the signature
// is an error, see CheckDate for the time of now. A certificate that the revocation lists there say was
// revoked before it signed, or ever if no timestamp says when that was, is an
// error; that there is no list, or none that is up to date, is not, nor is a
// certificate that has ended. The error is a *TrustError if nothing can be said, with
// a *FormatError as its cause if the bundle can't be read, and a *MissingError if it
// is known what kind of file is missing, as that of the key.
func (v *Verifier) Statement(bundle []byte) (lock.Signer, *attest.Statement, error) {
	c := v.anywhere(bundle)
	if c.bad == nil {
		c.bad = c.evidence.postdated()
	}
	if c.bad == nil {
		c.bad = c.evidence.listedRevoked()
	}
	switch {
	case c.bad == nil:
		return c.evidence.signer, c.evidence.statement, nil
	case c.bad.reason == TrustMissing, c.bad.reason == Unreadable:
		return lock.Signer{}, nil, &TrustError{c.bad.err}
	case c.bad.reason == WrongSigner: // by a key that is not there
		return lock.Signer{}, nil, &TrustError{&MissingError{KeyFile, c.bad.err}}
	}
	return lock.Signer{}, nil, c.bad
}

// anywhere verifies a bundle with the trust material, and where that does not know
// its certificate with that of the publishers.
func (v *Verifier) anywhere(bundle []byte) checked {
	id := lock.Digest(sha256.Sum256(bundle))
	c := v.check(id, bundle, v.material.domain)
	for _, d := range v.domains() {
		if c.pki && c.bad != nil {
			c = v.check(id, bundle, d)
		}
	}
	for _, m := range v.ownRoots() {
		if !c.pki && c.bad != nil {
			c = v.checkWith(id, bundle, m, m.domain)
		}
	}
	return c
}

// ownRoots returns the material of the publishers with trusted roots of their
// own, in order.
func (v *Verifier) ownRoots() []*material {
	var all []*material
	for _, set := range v.sets {
		for _, name := range slices.Sorted(maps.Keys(set.byName)) {
			if m := set.byName[name].material; m != nil {
				all = append(all, m)
			}
		}
	}
	return all
}

// domains returns the PKIs of the publishers, in order.
func (v *Verifier) domains() []*domain {
	var all []*domain
	for _, set := range v.sets {
		for _, name := range slices.Sorted(maps.Keys(set.byName)) {
			if d := set.byName[name].domain; d != nil {
				all = append(all, d)
			}
		}
	}
	return all
}
