package verify

import (
	"slices"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
)

// merge makes one decision of those by several policies: a definition must be
// allowed by each.
func merge(parts []*Decision) *Decision {
	if len(parts) == 1 {
		return parts[0]
	}
	first := parts[0]
	d := &Decision{server: first.server, info: first.info, request: first.request, parts: parts}
	var rules []string
	at := make(map[resultID]int)
	for _, p := range parts {
		rules = append(rules, p.rule)
		d.signatures = d.signatures || p.signatures
		d.statusMissing = d.statusMissing || p.statusMissing
		d.expected = appendNew(d.expected, p.expected...)
		for _, x := range p.diagnostics {
			if !slices.ContainsFunc(d.diagnostics, func(y Diagnostic) bool { return x.Bundle == y.Bundle && x.Reason == y.Reason }) {
				d.diagnostics = append(d.diagnostics, x)
			}
		}
		d.used = appendBundles(d.used, p.used)
		d.twins = appendBundles(d.twins, p.twins)
		for _, h := range p.high {
			if !slices.ContainsFunc(d.high, func(have HighWater) bool { return have.Signer.Same(h.Signer) && have.Sequence == h.Sequence }) {
				d.high = append(d.high, h)
			}
		}
		d.found.lists = append(d.found.lists, p.found.lists...)
		if d.err == nil {
			d.err = p.err
		}
		for _, x := range p.results {
			id := resultID{lock.ID(x.Kind, x.Name), x.Digest}
			i, there := at[id]
			if !there {
				at[id], x.Reasons = len(d.results), slices.Clone(x.Reasons)
				d.results = append(d.results, x)
				continue
			}
			d.results[i].worsen(x)
		}
	}
	d.rule = strings.Join(rules, " and ")
	d.sort()
	return d
}

// appendBundles adds the evidence of bundles that is not among to.
func appendBundles(to, from []counted) []counted {
	for _, c := range from {
		if !slices.ContainsFunc(to, func(have counted) bool { return have.bundle == c.bundle }) {
			to = append(to, c)
		}
	}
	return to
}

type resultID struct {
	id     string
	digest lock.Digest
}

// worsen makes x what it is with a second verdict. Whoever is denied by one
// policy is not said to be verified by the other.
func (x *Result) worsen(y Result) {
	x.Verdict = min(x.Verdict, y.Verdict)
	x.Reasons = appendNew(x.Reasons, y.Reasons...)
	x.Signers = appendNew(x.Signers, y.Signers...)
	if x.Pinned.IsZero() {
		x.Pinned = y.Pinned
	}
	if x.Signed.IsZero() {
		x.Signed = y.Signed
	}
	if x.Verdict == Deny {
		x.Signers = nil
		all := Result{Reasons: slices.Clone(x.Reasons)}
		x.Reasons = slices.DeleteFunc(x.Reasons, func(r Reason) bool { return r.informs(all) })
	}
}

// partsSigned is SignedErr of several policies: of those that ask for
// signatures, of which there must be one, and the others deny nothing.
func (d *Decision) partsSigned() error {
	if !d.signatures {
		return d.unless(func(Result) bool { return false })
	}
	for _, p := range d.parts {
		err := p.unless(func(r Result) bool { return r.Verdict != Deny })
		if p.signatures {
			err = p.SignedErr()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func appendNew[T comparable](to []T, from ...T) []T {
	for _, x := range from {
		if !slices.Contains(to, x) {
			to = append(to, x)
		}
	}
	return to
}
