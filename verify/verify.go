// Package verify decides which definitions of a server may reach a model. It
// checks Sigstore bundles with in-toto statements about definitions, compares
// a listing with what they vouch for and with the lock entry, and applies a
// policy.
//
//	v, err := verify.New(policy, trust)
//	d := v.Decide(verify.Request{Server: name, Listing: listing, Lock: entry, Bundles: bundles, At: time.Now()})
//	response, err = lock.Filter(response, d.Allows)
//
// sigstore-go verifies signatures, certificates, log entries and timestamps;
// whatever of these a bundle contains must verify. Names, kinds, the statement
// and predicate type, sequence, expiry, completeness and who may sign are
// judged here: sigstore-go checks none of them.
//
// Nothing outside a verified signature can permit anything under a rule that
// asks for signatures; the lock entry can only forbid. The zero Verdict denies.
//
// The package does no I/O and reads no clock.
package verify

import (
	"crypto/sha256"
	"sync"

	"github.com/mcpsign/mcpsign/lock"
)

// A Verifier decides by one policy with one set of trust material. It is safe
// for use by several goroutines.
type Verifier struct {
	policy   *Policy // nil: the built-in rule
	material *material

	mu       sync.Mutex
	verified map[lock.Digest]checked // by the bundle's digest
	kept     int                     // bytes of the bundles in verified that are good
}

// A checked is the outcome for a bundle, which no request changes.
type checked struct {
	evidence *evidence
	bad      *badEvidence
}

// The limits of the outcomes that are kept: how many, and the bytes of the
// good bundles among them.
const (
	maxCached = 4096
	maxKept   = 16 << 20
)

// New returns a Verifier. A nil policy stands for the built-in rule: what was
// approved, by the signer recorded then. The error is a *TrustError.
func New(p *Policy, t Trust) (*Verifier, error) {
	m, err := newMaterial(t)
	if err != nil {
		return nil, err
	}
	return &Verifier{policy: p, material: m, verified: make(map[lock.Digest]checked)}, nil
}

// Material returns the bytes of a key (PKIX DER), a certificate (DER) or a
// trusted root (as given) that v trusts, by their SHA-256; nil if it has none.
func (v *Verifier) Material(d lock.Digest) []byte { return v.material.bytes[d] }

// check verifies a bundle, once; id is its digest.
func (v *Verifier) check(id lock.Digest, data []byte) checked {
	v.mu.Lock()
	c, ok := v.verified[id]
	v.mu.Unlock()
	if ok {
		return c
	}
	c.evidence, c.bad = v.material.verify(data)
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.verified) >= maxCached || v.kept >= maxKept {
		clear(v.verified)
		v.kept = 0
	}
	if c.bad == nil {
		v.kept += len(data)
	}
	v.verified[id] = c
	return c
}

// Signer returns who signed a bundle about definitions, verified with the
// trust material alone: no policy says that they may. The error is a
// *TrustError if nothing can be said.
func (v *Verifier) Signer(bundle []byte) (lock.Signer, error) {
	c := v.check(sha256.Sum256(bundle), bundle)
	if c.bad != nil {
		if c.bad.reason == TrustMissing {
			return lock.Signer{}, &TrustError{c.bad.err}
		}
		return lock.Signer{}, c.bad
	}
	return c.evidence.signer, nil
}
