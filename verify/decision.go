package verify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// A Verdict says what is to be done with a definition. The zero Verdict
// denies.
type Verdict uint8

const (
	Deny      Verdict = iota // keep it from the model
	Undecided                // keep it from the model; someone may approve it
	Allow
)

// String returns "deny", "undecided" or "allow".
func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Undecided:
		return "undecided"
	}
	return "deny"
}

// A Reason is why a definition has its verdict, or why a bundle does not count.
// Reasons are stable.
type Reason string

const (
	Verified      Reason = "verified"       // signed as the rule asks
	Pinned        Reason = "pinned"         // equals the lock, and the rule asks no more
	Drift         Reason = "drift"          // differs from the pin
	NotLocked     Reason = "not_locked"     // not pinned
	Missing       Reason = "missing"        // pinned or part of a complete statement, and not listed
	NoDigest      Reason = "no_digest"      // see lock.DigestError
	DuplicateName Reason = "duplicate_name" // listed twice under one kind and name
	Unsigned      Reason = "unsigned"       // no applicable evidence
	BadSignature  Reason = "bad_signature"  // evidence that does not verify
	WrongSigner   Reason = "wrong_signer"   // valid, by someone else
	WrongServer   Reason = "wrong_server"   // valid, for another server
	WrongKind     Reason = "wrong_kind"     // valid, and not about definitions
	Rollback      Reason = "rollback"       // older than what was seen
	Equivocation  Reason = "equivocation"   // two statements of one release contradict each other
	Expired       Reason = "expired"        // the statement's expiresAt, or the key's time, is past
	NoRule        Reason = "no_rule"        // the policy has no rule for the server
	Blocked       Reason = "blocked"        // another definition is denied, and the rule blocks the server then
	TrustMissing  Reason = "trust_missing"  // nothing can be said: a key, root or log is not known
	FirstContact  Reason = "first_contact"  // information: no earlier sequence is known
)

// A Result is the verdict on one definition.
type Result struct {
	Kind    lock.Kind
	Name    string
	Digest  lock.Digest // zero if it has none, or is missing
	Verdict Verdict
	Reasons []Reason      // at least one
	Signers []lock.Signer // who vouches for it as the rule asks; verified

	Pinned  lock.Digest       // what the lock has under the name, zero if nothing
	Signed  lock.Digest       // what the statement that counts has under the name, zero if nothing
	Refused *lock.DigestError // for NoDigest and DuplicateName
}

// Has reports whether r is among the reasons.
func (x Result) Has(r Reason) bool { return slices.Contains(x.Reasons, r) }

// A Diagnostic says why a bundle does not count.
type Diagnostic struct {
	Bundle lock.Digest
	Reason Reason
	Signer lock.Signer // zero if not known; for WrongSigner by an unknown key as the bundle claims
	Err    error
}

// A HighWater is the highest sequence of a signer that was seen.
type HighWater struct {
	Signer   lock.Signer
	Sequence uint64
}

// A Request is what a decision depends on, besides policy and trust.
type Request struct {
	Server  string // the name by which the operator knows the server
	Listing *lock.Listing
	Lock    *lock.Server // nil: nothing is pinned
	Bundles [][]byte     // candidates in any order, before those of the listing; 64 in all are looked at
	Seen    []HighWater  // of this server, from earlier decisions
	At      time.Time    // now; the zero time is an error
}

func (r *Request) check() error {
	if err := lock.CheckName(r.Server); err != nil {
		return err
	}
	switch {
	case r.Listing == nil:
		return errors.New("there is no listing to decide on")
	case r.At.IsZero():
		return errors.New("there is no time to decide at")
	case r.Lock != nil && r.Lock.Name != r.Server:
		return fmt.Errorf("lock entry of %s used for %s", lock.Visible(r.Lock.Name), r.Server)
	}
	return nil
}

// A Decision is the outcome of one Request. The zero Decision allows nothing.
type Decision struct {
	server      string
	info        lock.Info // what the server says of itself
	rule        string
	expected    []string
	results     []Result
	diagnostics []Diagnostic
	used        []*evidence
	signatures  bool // the rule asks for signatures
	err         error
}

// Results returns a verdict for every definition of the listing and for every
// missing one, sorted by kind and name.
func (d *Decision) Results() []Result { return slices.Clone(d.results) }

// Diagnostics says which bundles do not count and why.
func (d *Decision) Diagnostics() []Diagnostic { return d.diagnostics }

// Rule names the rule that decided: "FILE:LINE", or a phrase for one that no
// policy file has.
func (d *Decision) Rule() string { return d.rule }

// Expected names the identities of which one has to sign; none if the rule
// asks for no signature.
func (d *Decision) Expected() []string { return d.expected }

// Allows reports whether x, with exactly its digest, is allowed.
func (d *Decision) Allows(x lock.Definition) bool {
	r := d.find(x)
	return d.err == nil && r != nil && r.Verdict == Allow
}

// find returns the result for x with exactly its digest, nil if there is none.
func (d *Decision) find(x lock.Definition) *Result {
	i, ok := slices.BinarySearchFunc(d.results, Result{Kind: x.Kind(), Name: x.Name()}, compareResults)
	if !ok || x.Digest().IsZero() || d.results[i].Digest != x.Digest() {
		return nil
	}
	return &d.results[i]
}

func compareResults(a, b Result) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
}

// A DeniedError says that a decision is no yes.
type DeniedError struct {
	Server string
	First  Result // the first that is not allowed
	Others int    // how many more are not
}

func (e *DeniedError) Error() string {
	why := e.First.Reasons[0]
	for _, r := range e.First.Reasons {
		if r != Verified && r != Pinned && r != FirstContact {
			why = r
			break
		}
	}
	s := fmt.Sprintf("%s: %s is not allowed: %s", e.Server, lock.Visible(lock.ID(e.First.Kind, e.First.Name)), why)
	if e.Others > 0 {
		s += fmt.Sprintf(" (and %d more)", e.Others)
	}
	return s
}

var errNothing = errors.New("nothing was decided: the listing is empty")

// Err returns nil if at least one definition was decided and every one is
// allowed. A decision over nothing is an error, so that a lost listing can't
// pass. The error is a *DeniedError, a *TrustError, or about the Request.
func (d *Decision) Err() error {
	return d.unless(func(r Result) bool { return r.Verdict == Allow })
}

// SignedErr returns nil if at least one definition was decided and every one
// is signed as the rule asks, whether it is pinned or not.
func (d *Decision) SignedErr() error {
	return d.unless(func(r Result) bool { return r.Has(Verified) && !r.Has(Blocked) && len(r.Signers) > 0 })
}

func (d *Decision) unless(fine func(Result) bool) error {
	if d.err != nil {
		return d.err
	}
	if len(d.results) == 0 {
		return errNothing
	}
	var denied *DeniedError
	for _, r := range d.results {
		switch {
		case fine(r):
		case denied == nil:
			denied = &DeniedError{Server: d.server, First: r}
		default:
			denied.Others++
		}
	}
	if denied != nil {
		return denied
	}
	return nil
}

// HighWater returns the sequences of the statements that counted. They are to
// be stored before anything is forwarded, and given as Seen the next time.
func (d *Decision) HighWater() []HighWater {
	var high []HighWater
	for _, e := range d.used {
		high = append(high, HighWater{e.signer, e.statement.Release().Sequence})
	}
	return high
}

// Bundle returns the bytes of a bundle that counted, by their SHA-256; nil for
// any other.
func (d *Decision) Bundle(digest lock.Digest) []byte {
	for _, e := range d.used {
		if e.bundle == digest {
			return e.raw
		}
	}
	return nil
}

// Pin returns a lock entry with exactly the definitions xs, which someone has
// approved. It is an error if one was not decided on, is denied, or lacks the
// signature that the rule asks for.
func (d *Decision) Pin(xs ...lock.Definition) (*lock.Server, error) {
	if d.err != nil {
		return nil, d.err
	}
	if len(xs) == 0 {
		return nil, errNothing
	}
	s := &lock.Server{Name: d.server, Info: d.info}
	pinned := make(map[string]bool, len(xs))
	for _, x := range xs {
		pin, err := d.pin(s, x)
		if err != nil {
			return nil, err
		}
		if !pinned[x.ID()] {
			pinned[x.ID()] = true
			s.Pins = append(s.Pins, pin)
		}
	}
	s.Sort()
	return s, nil
}

// pin makes one pin and adds the evidence for it to s.
func (d *Decision) pin(s *lock.Server, x lock.Definition) (lock.Pin, error) {
	r := d.find(x)
	if r == nil {
		return lock.Pin{}, fmt.Errorf("%s was not decided on", lock.Visible(x.ID()))
	}
	if r.Verdict == Deny || d.signatures && len(r.Signers) == 0 && !r.Has(Pinned) {
		return lock.Pin{}, &DeniedError{Server: d.server, First: *r}
	}
	if len(r.Signers) == 0 {
		return lock.Pin{Definition: x, Unsigned: true}, nil
	}
	variant := ""
	for j, e := range d.covering(x) {
		rel := e.statement.Release()
		if j == 0 {
			variant = rel.Variant
		}
		entry := lock.Evidence{Variant: rel.Variant, Sequence: rel.Sequence, Signer: e.signer, Bundle: e.bundle, Trust: e.trust}
		if !slices.ContainsFunc(s.Evidence, func(have lock.Evidence) bool { return have.Bundle == e.bundle }) {
			s.Evidence = append(s.Evidence, entry)
		}
	}
	return lock.Pin{Definition: x, Variant: variant}, nil
}

// covering returns the evidence that counted and vouches for x.
func (d *Decision) covering(x lock.Definition) []*evidence {
	var es []*evidence
	for _, e := range d.used {
		if s, ok := e.statement.Find(x.Kind(), x.Name()); ok && s.Digest == x.Digest() {
			es = append(es, e)
		}
	}
	return es
}
