package verify

import (
	"slices"
	"time"
)

// certificates says why the certificates of evidence do not count for a
// request: they are not valid, were revoked, or nothing says that they were not
// where the policy wants to know. It looks at what the policy's lists say and at
// what the candidates say; what revokes counts at any time, and what does not
// while it is up to date.
func (d *Decision) certificates(c counted, r *Request) *badEvidence {
	times, paths := c.times, c.paths
	if c.untimed {
		times = []time.Time{r.At}
		paths = slices.DeleteFunc(slices.Clone(paths), func(p certPath) bool { return r.At.Before(p.from) || r.At.After(p.till) })
		if len(paths) == 0 {
			return c.no(Expired, "no timestamp says when it signed, and the certificates are not all valid at %s", r.At.UTC().Format(time.RFC3339))
		}
	}
	var no, lacking *badEvidence
	for _, p := range paths {
		for i, l := range p.links {
			known := slices.DeleteFunc(slices.Concat(p.listed[i], d.statuses.about(l)), func(x *standing) bool { return !x.revoked && d.deposed(c, x.responder) })
			if x := revokedBefore(known, times); x != nil && no == nil {
				no = revoked(c, l, x)
			}
			if lacking == nil && (c.domain.required || len(p.listed[i]) > 0 || i == 0 && len(c.domain.crls) > 0) {
				lacking = c.outdated(l, known, r.At)
			}
		}
	}
	if no == nil {
		no, d.statusMissing = lacking, d.statusMissing || lacking != nil
	}
	return no
}

// deposed reports whether anything says that the certificate of a responder was
// revoked, at any time: then what it says of others is not relied on.
func (d *Decision) deposed(c counted, responder link) bool {
	if responder.cert == nil {
		return false
	}
	for _, l := range c.domain.crls {
		if x, err := l.about(responder); err == nil && x != nil && x.revoked {
			return true
		}
	}
	return slices.ContainsFunc(d.statuses.about(responder), func(x *standing) bool { return x.revoked })
}

func revoked(c counted, l link, x *standing) *badEvidence {
	when := "before it signed"
	if c.untimed {
		when = "and no timestamp says that it signed before"
	}
	return c.no(Revoked, "certificate %s was revoked from %s on, %s", l.cert.SerialNumber.Text(16), x.since.UTC().Format(time.RFC3339), when)
}

// revokedBefore returns what says that a certificate was not to be relied on at
// one of the times, or ever if there are none; nil if nothing does. Of several it
// is the one that says so of the longest time.
func revokedBefore(known []*standing, times []time.Time) *standing {
	var found *standing
	for _, x := range known {
		counts := len(times) == 0 || slices.ContainsFunc(times, func(t time.Time) bool { return !t.Before(x.since) })
		if x.revoked && counts && (found == nil || x.since.Before(found.since)) {
			found = x
		}
	}
	return found
}

// outdated says that nothing is up to date of what is known of a certificate,
// nil if something is.
func (c counted) outdated(l link, known []*standing, at time.Time) *badEvidence {
	var newest *standing
	for _, x := range known {
		if x.current(at) {
			return nil
		}
		if newest == nil || newest.unknown || !x.unknown && x.from.After(newest.from) {
			newest = x
		}
	}
	issuer := shown(l.issuer.Subject.String())
	switch {
	case newest == nil && c.domain.required:
		return c.no(TrustMissing, "there is no revocation list and no OCSP response by %s about certificate %s", issuer, l.cert.SerialNumber.Text(16))
	case newest == nil:
		return c.no(TrustMissing, "there is no revocation list by %s", issuer)
	case newest.unknown:
		return c.no(TrustMissing, "the OCSP responder of %s does not know certificate %s", issuer, l.cert.SerialNumber.Text(16))
	}
	return c.no(TrustMissing, "%s, and it is %s", newest, at.UTC().Format(time.RFC3339))
}
