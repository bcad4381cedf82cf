package verify

import (
	"fmt"
	"slices"
	"time"
)

// statusNeed explains the status of certificates; there is nothing to say if
// nobody who is asked about has to have one.
func (d *Decision) statusNeed() (Need, bool) {
	asks := func(p *principal) bool {
		domain := p.domain
		if domain == nil {
			domain = d.statuses.verifier.material.domain
		}
		return p.pki() && (domain.required || len(domain.crls) > 0)
	}
	if d.statuses == nil || !slices.ContainsFunc(d.need.everyone(), asks) {
		return Need{}, false
	}
	n := Need{Code: NeedStatus, Want: "an up-to-date revocation list or OCSP response that does not revoke the certificate before it signed", Met: !d.statusMissing}
	add := func(known []*standing) {
		for _, x := range known {
			text := x.String()
			switch {
			case x.revoked:
				text += ", and revokes it from " + x.since.UTC().Format(time.RFC3339) + " on"
			case x.unknown:
				text += ", and does not know it"
			}
			f := Found{text, x.current(d.request.At) && !x.revoked}
			if !slices.Contains(n.Found, f) {
				n.Found = append(n.Found, f)
			}
		}
	}
	for _, c := range d.used {
		for _, p := range c.paths {
			for _, known := range p.listed {
				add(known)
			}
		}
	}
	for _, c := range d.statuses.all {
		add(c.says)
	}
	for _, x := range d.diagnostics {
		n.Met = n.Met && x.Reason != Revoked
		if x.Type == StatusType && (x.Reason == BadSignature || x.Reason == Unsigned) {
			n.Found = append(n.Found, Found{Text: fmt.Sprintf("%s: %s: %v", x.Bundle, x.Reason, x.Err)})
		}
	}
	return n, true
}
