package verify

import (
	"crypto/sha256"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// A CertificateStatus is what a revocation list or an OCSP response says of
// certificates that signed, verified. Whether it is up to date is not looked at.
type CertificateStatus struct {
	Kind         StatusKind
	Issuer       string    // of the certificates, fit for a terminal
	From, Till   time.Time // thisUpdate and nextUpdate, or the validity of the responder's certificate, if that is shorter
	Nonce        []byte    // of an OCSP response, if it has one
	Certificates []CertificateStanding

	list *crl // of a RevocationList
}

// Current reports whether s is good for saying, at that time, what is not
// revoked; clocks may differ by 5 minutes.
func (s *CertificateStatus) Current(at time.Time) bool {
	return (&standing{from: s.From, till: s.Till}).current(at)
}

// Supersedes reports whether s is newer than old and says all that it does. What
// revokes a certificate, at hand or not, is never superseded by what does not
// revoke it as early: it stays revoked, and the next list may leave it out when
// it has ended.
func (s *CertificateStatus) Supersedes(old *CertificateStatus) bool {
	if s.Kind != old.Kind || s.Issuer != old.Issuer || !s.From.After(old.From) || old.list != nil && !s.list.includes(old.list) {
		return false
	}
	return !slices.ContainsFunc(old.Certificates, func(c CertificateStanding) bool {
		return !slices.ContainsFunc(s.Certificates, func(n CertificateStanding) bool {
			return n.Serial == c.Serial && (!n.Unknown || c.Unknown) && (!c.Revoked || n.Revoked && !n.Since.After(c.Since))
		})
	})
}

// A CertificateStanding is what a status says about one certificate.
type CertificateStanding struct {
	Subject, Serial string // fit for a terminal; the number in hexadecimal digits
	Unknown         bool   // to the OCSP responder
	Revoked         bool
	Since           time.Time // from when on it is not to be relied on, if it was revoked
}

// A StatusError says why something is no status of the certificates at hand.
type StatusError struct {
	Reason Reason // BadSignature; WrongSigner if it is about others, TrustMissing if there are none
	Err    error
}

func (e *StatusError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StatusError) Unwrap() error { return e.Err }

// Status reads a revocation list or an OCSP response in DER, of at most 1 MiB,
// and says what it says about the certificates of own PKI in the bundles and
// those above them, but for roots. Only bundles that verify with the trust
// material, or a publisher's, count, and a certificate's own issuer must have
// signed the status, or have certified who did. No clock is read. The error is a
// *StatusError.
func (v *Verifier) Status(der []byte, bundles ...[]byte) (*CertificateStatus, error) {
	source, err := parseStatus(der)
	if err != nil {
		return nil, &StatusError{BadSignature, err}
	}
	links := v.links(bundles)
	if len(links) == 0 {
		return nil, &StatusError{TrustMissing, errNoCertificate}
	}
	var s *CertificateStatus
	var no error
	for _, l := range links {
		x, err := source.about(l)
		if err != nil {
			no = &StatusError{BadSignature, err}
		}
		if x == nil {
			continue
		}
		if s == nil {
			s = &CertificateStatus{Kind: x.kind, Issuer: shown(x.issuer.Subject.String()), From: x.from, Till: x.till}
		}
		s.Certificates = append(s.Certificates, CertificateStanding{
			shown(l.cert.Subject.String()), l.cert.SerialNumber.Text(16), x.unknown, x.revoked, x.since,
		})
	}
	switch {
	case s == nil && no != nil:
		return nil, no
	case s == nil:
		return nil, &StatusError{WrongSigner, errors.New("it is about none of the certificates at hand")}
	}
	switch source := source.(type) {
	case *ocspStatus:
		s.Nonce = source.nonce
	case candidateCRL:
		s.list = source.crl
	}
	return s, nil
}

var errNoCertificate = errors.New("there is no bundle at hand whose certificate verifies")

// A StatusQuery is where the issuer of a certificate tells its status, as that
// says, and what to ask there.
type StatusQuery struct {
	URL     string // http or https, without user and fragment; as it is in the certificate: show it with lock.Visible
	Request []byte // to be sent with POST (RFC 6960 appendix A.1); nil: a revocation list, to be fetched with GET
	Subject string // of the certificate asked about, fit for a terminal
	Serial  string // of it, in hexadecimal digits
}

// Kind returns what is to come back.
func (q StatusQuery) Kind() StatusKind {
	if q.Request != nil {
		return OCSPResponse
	}
	return RevocationList
}

// StatusQueries returns what to ask about the certificates of own PKI in the
// bundles and those above them, but for roots: of bundles that verify with the
// trust material, or a publisher's, alone, so that nobody else has a say in what
// is dialled. The nonce goes into OCSP requests, unless it is empty. The error is
// a *StatusError if no bundle verifies.
func (v *Verifier) StatusQueries(nonce []byte, bundles ...[]byte) ([]StatusQuery, error) {
	links := v.links(bundles)
	if len(links) == 0 {
		return nil, &StatusError{TrustMissing, errNoCertificate}
	}
	var all []StatusQuery
	for _, l := range links {
		q := StatusQuery{Subject: shown(l.cert.Subject.String()), Serial: l.cert.SerialNumber.Text(16)}
		for _, q.URL = range l.cert.OCSPServer {
			var err error
			if q.Request, err = ocspRequest(l, nonce); err != nil {
				return nil, err
			}
			all = appendQuery(all, q)
		}
		q.Request = nil
		for _, q.URL = range l.cert.CRLDistributionPoints {
			all = appendQuery(all, q)
		}
	}
	return all, nil
}

// appendQuery adds q if it can be asked, once.
func appendQuery(all []StatusQuery, q StatusQuery) []StatusQuery {
	u, err := url.Parse(q.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return all
	}
	if slices.ContainsFunc(all, func(x StatusQuery) bool { return x.URL == q.URL && string(x.Request) == string(q.Request) }) {
		return all
	}
	return append(all, q)
}

// links returns the certificates of the bundles that verify, with their
// issuers, each pair once.
func (v *Verifier) links(bundles [][]byte) []link {
	var all []link
	for _, data := range bundles {
		id := lock.Digest(sha256.Sum256(data))
		for _, d := range append([]*domain{v.material.domain}, v.domains()...) {
			c := v.check(id, data, d)
			if c.bad != nil {
				continue
			}
			for _, p := range c.evidence.paths {
				for _, l := range p.links {
					if !slices.ContainsFunc(all, func(have link) bool { return have.id == l.id }) {
						all = append(all, l)
					}
				}
			}
		}
	}
	return all
}
