package verify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpsign/mcpsign/attest"
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

// A Diagnostic says why a bundle, or something about the status of
// certificates, does not count.
type Diagnostic struct {
	Bundle lock.Digest
	Reason Reason
	Signer lock.Signer // zero if not known; for WrongSigner by an unknown key as the bundle claims
	Err    error
	Type   string // the predicate type, empty unless the signature verified; or StatusType
}

// A Decision is the outcome of one Request. The zero Decision allows nothing.
type Decision struct {
	server      string
	info        lock.Info // what the server says of itself
	request     *Request
	need        *requirement // nil if there is no rule
	rule        string
	expected    []string
	results     []Result
	diagnostics []Diagnostic
	found       gathered
	used        []counted
	twins       []counted // say the same as one of used, by another signer of the same party
	high        []HighWater
	signatures  bool // the rule asks for signatures
	err         error
	parts       []*Decision // one a policy, if there are several

	statuses      *statuses // nil until something is gathered
	statusMissing bool
}

// Results returns a verdict for every definition of the listing and for every
// missing one, sorted by kind and name.
func (d *Decision) Results() []Result { return slices.Clone(d.results) }

// Diagnostics says which bundles do not count and why.
func (d *Decision) Diagnostics() []Diagnostic { return d.diagnostics }

// Rule names the rule that decided: "FILE:LINE", or a phrase for one that no
// policy file has.
func (d *Decision) Rule() string { return d.rule }

// Ruled reports whether each policy has a rule for the server.
func (d *Decision) Ruled() bool {
	return !slices.ContainsFunc(d.single(), func(p *Decision) bool { return p.need == nil })
}

// Expected names the identities of which one has to sign; none if the rule
// asks for no signature.
func (d *Decision) Expected() []string { return d.expected }

// ExpectedOf names those of which one has to sign a statement of a predicate type:
// reviewers for an approval, the signers of an attestation, as the policy names
// them; Expected for everything else.
func (d *Decision) ExpectedOf(predicateType string) []string {
	var names []string
	add := func(ps []*principal) {
		for _, p := range ps {
			names = appendNew(names, p.name)
		}
	}
	for _, p := range d.single() {
		if p.need == nil {
			continue
		}
		if predicateType == attest.ApprovalType {
			add(p.need.approvers)
		}
		for i, a := range p.need.attested {
			if a.predicate == predicateType {
				add(p.need.attesters[i])
			}
		}
	}
	if len(names) == 0 {
		return d.Expected()
	}
	return names
}

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
		if !r.informs(e.First) {
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
	if len(d.parts) > 0 {
		return d.partsSigned()
	}
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

// HighWater returns the newest sequence of everyone who may sign, and what was
// signed with it, contradictions included. It is to be stored before anything
// is forwarded, and given as Seen the next time: of a signer what has the
// highest sequence, and of one sequence all surfaces.
func (d *Decision) HighWater() []HighWater { return slices.Clone(d.high) }

// Evidence returns the statements that counted, as a lock entry records them:
// one for each signer who signed the same release.
func (d *Decision) Evidence() []lock.Evidence {
	var all []lock.Evidence
	for _, c := range slices.Concat(d.used, d.twins) {
		all = append(all, c.record())
	}
	return all
}

func (c counted) record() lock.Evidence {
	rel := c.statement.Release()
	return lock.Evidence{Variant: rel.Variant, Sequence: rel.Sequence, Signer: c.signer, Bundle: c.bundle, Trust: c.trust}
}

// SameParty reports whether two signers count as one under the rule: see
// lock.Signer.Same, or both belong to one publisher that it names.
func (d *Decision) SameParty(a, b lock.Signer) bool {
	return a.Same(b) || slices.ContainsFunc(d.single(), func(one *Decision) bool {
		return one.need != nil && slices.ContainsFunc(one.need.signers, func(p *principal) bool { return p.same(a, b) })
	})
}

// Lists returns the numbers of the revocation lists that counted, and which they
// are. They are to be stored and given as SeenLists the next time: of a signer
// the highest number, and of one number all statements.
func (d *Decision) Lists() []ListMark {
	var marks []ListMark
	for _, l := range d.found.lists {
		i := slices.IndexFunc(marks, func(m ListMark) bool { return m.Signer == l.signer && m.Number == l.number })
		if i < 0 {
			i, marks = len(marks), append(marks, ListMark{Signer: l.signer, Number: l.number})
		}
		marks[i].Statements = appendNew(marks[i].Statements, l.statement.Digest())
	}
	return marks
}

// Latest returns the latest time that evidence which counted verifiably has;
// the zero time if it has none. It is to be stored, and the latest of all given
// as Latest the next time.
func (d *Decision) Latest() time.Time {
	var latest time.Time
	for _, p := range d.single() {
		for _, c := range slices.Concat(append(slices.Clone(p.found.attested), p.found.releases, p.found.approvals)...) {
			for _, t := range c.times {
				if t.After(latest) {
					latest = t
				}
			}
		}
	}
	return latest
}

// StatusMissing reports whether evidence does not count for lack of an
// up-to-date status of its certificates, which a Request can bring along.
func (d *Decision) StatusMissing() bool { return d.statusMissing }

// Bundle returns the bytes of a bundle that counted, by their SHA-256; nil for
// any other.
func (d *Decision) Bundle(digest lock.Digest) []byte {
	for _, e := range slices.Concat(d.used, d.twins) {
		if e.bundle == digest {
			return e.raw
		}
	}
	return nil
}

// Supporting returns the bundles that count for xs besides those of Evidence:
// the approvals and attestations that the rule asks for. A host that pins xs
// keeps them too, since the rule asks again the next time.
func (d *Decision) Supporting(xs ...lock.Definition) [][]byte {
	bundles := make(map[lock.Digest][]byte)
	for _, p := range d.single() {
		if p.need == nil {
			continue
		}
		for _, x := range xs {
			subject := subjectOf(x)
			support := p.approving(subject)
			for i := range p.need.attested {
				support = append(support, p.attestations(i, subject)...)
			}
			for _, c := range support {
				bundles[c.bundle] = c.raw
			}
		}
	}
	var sorted [][]byte
	for _, id := range inOrder(bundles) {
		sorted = append(sorted, bundles[id])
	}
	return sorted
}

// single returns the decisions of the policies that d was merged from, d itself
// if there is one.
func (d *Decision) single() []*Decision {
	if len(d.parts) > 0 {
		return d.parts
	}
	return []*Decision{d}
}

// Pin returns a lock entry with exactly the definitions xs, which someone has
// approved. What the server says of itself is taken from the listing; where that
// has no name, the name in the Lock of the Request stays. It is an error if one was not decided on, is denied, or lacks the
// signature that the rule asks for.
func (d *Decision) Pin(xs ...lock.Definition) (*lock.Server, error) {
	if d.err != nil {
		return nil, d.err
	}
	if len(xs) == 0 {
		return nil, errNothing
	}
	for _, part := range d.parts {
		if _, err := part.Pin(xs...); err != nil {
			return nil, err
		}
	}
	s := &lock.Server{Name: d.server, Info: d.info, Source: d.request.Source}
	if old := d.request.Lock; old != nil {
		s.Info = old.Info.Updated(d.info)
	}
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
	vouching := d.vouching(subjectOf(x))
	variant := ""
	if len(vouching) > 0 {
		variant = vouching[0].statement.Release().Variant
	}
	for _, c := range d.twins {
		if slices.ContainsFunc(vouching, func(v counted) bool { return v.by == c.by }) {
			vouching = append(vouching, c)
		}
	}
	for _, c := range vouching {
		entry := c.record()
		if !slices.ContainsFunc(s.Evidence, func(have lock.Evidence) bool { return have.Bundle == c.bundle }) {
			s.Evidence = append(s.Evidence, entry)
		}
	}
	return lock.Pin{Definition: x, Variant: variant}, nil
}
