package verify

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// The limits of what a request brings along of the status of certificates.
const (
	MaxStatus      = 1 << 20 // bytes of a revocation list or an OCSP response
	MaxStatusCount = 64      // of them are looked at
)

// A StatusKind is one of the two ways in which an issuer tells the status of
// the certificates it issued.
type StatusKind string

const (
	RevocationList StatusKind = "crl"  // RFC 5280 section 5
	OCSPResponse   StatusKind = "ocsp" // RFC 6960
)

func (k StatusKind) String() string {
	if k == OCSPResponse {
		return "OCSP response"
	}
	return "revocation list"
}

// StatusType is the Type of a Diagnostic about the status of certificates,
// which is no bundle.
const StatusType = "certificate status"

// A link is a certificate and the one that issued it: what a status is about.
type link struct {
	cert, issuer *x509.Certificate
	id           lock.Digest // of both
}

func newLink(cert, issuer *x509.Certificate) link {
	return link{cert, issuer, sha256.Sum256(slices.Concat(cert.Raw, issuer.Raw))}
}

// A standing is what a revocation list or an OCSP response says about a
// certificate. It is verified, and may be out of date.
type standing struct {
	kind       StatusKind
	issuer     *x509.Certificate
	from, till time.Time // when it may be relied on for what is not revoked
	unknown    bool      // the responder does not know the certificate
	revoked    bool
	since      time.Time // from when on the certificate is not to be relied on
	responder  link      // whom the issuer has certified to say it; zero if it was the issuer
}

// current reports whether s is good for saying, at that time, that a
// certificate is not revoked.
func (s *standing) current(at time.Time) bool {
	return !s.unknown && !at.After(s.till) && !at.Add(skew).Before(s.from)
}

func (s *standing) String() string {
	return fmt.Sprintf("the %s by %s is of %s to %s", s.kind, shown(s.issuer.Subject.String()),
		s.from.UTC().Format(time.RFC3339), s.till.UTC().Format(time.RFC3339))
}

// A statusSource is a revocation list or an OCSP response. Nothing of it is
// verified but what about returns.
type statusSource interface {
	about(link) (*standing, error)
}

// parseStatus reads a complete revocation list or an OCSP response in DER.
func parseStatus(der []byte) (statusSource, error) {
	if len(der) > MaxStatus {
		return nil, fmt.Errorf("has more than %d bytes", MaxStatus)
	}
	var outer, first asn1.RawValue
	rest, err := asn1.Unmarshal(der, &outer)
	if err == nil && len(rest) == 0 && outer.IsCompound {
		_, err = asn1.Unmarshal(outer.Bytes, &first)
	}
	if err != nil || len(rest) > 0 || !first.IsCompound && first.Tag != asn1.TagEnum {
		return nil, errors.New("is neither a revocation list nor an OCSP response in DER")
	}
	if first.Tag == asn1.TagEnum {
		s, err := parseOCSP(der)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	l, err := x509.ParseRevocationList(der)
	if err != nil {
		return nil, clean("revocation list", err)
	}
	c, err := newCRL(l)
	if err != nil {
		return nil, fmt.Errorf("revocation list: %w", err)
	}
	if !isSafe(l.SignatureAlgorithm) {
		return nil, errors.New("revocation list: it is signed with an algorithm that is not safe, or not known")
	}
	return candidateCRL{c}, nil
}

// isSafe reports whether an algorithm is known and not one that crypto/x509
// takes for revocation lists and OCSP responses though it is broken.
func isSafe(a x509.SignatureAlgorithm) bool {
	switch a {
	case x509.UnknownSignatureAlgorithm, x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
		return false
	}
	return true
}

// A candidateCRL is a list that nobody vouches for having chosen: one of many
// by its issuer may leave out what another one has.
type candidateCRL struct{ *crl }

func (c candidateCRL) about(l link) (*standing, error) {
	s, err := c.crl.about(l)
	if s != nil && !s.revoked && !c.covers(l.cert) {
		return nil, nil
	}
	return s, err
}

// statuses are the candidates of one request.
type statuses struct {
	verifier *Verifier
	all      []*candidateStatus
	tooMany  bool
}

type candidateStatus struct {
	id     lock.Digest
	data   []byte
	parsed bool
	source statusSource
	err    error       // why it is none, or what is wrong with the signature
	says   []*standing // all that was found in it
}

// newStatuses takes the first of what a request brings, each once.
func newStatuses(v *Verifier, given [][]byte) *statuses {
	s := &statuses{verifier: v}
	for _, data := range given {
		id := lock.Digest(sha256.Sum256(data))
		if slices.ContainsFunc(s.all, func(c *candidateStatus) bool { return c.id == id }) {
			continue
		}
		if s.tooMany = len(s.all) == MaxStatusCount; s.tooMany {
			break
		}
		s.all = append(s.all, &candidateStatus{id: id, data: data})
	}
	slices.SortFunc(s.all, func(a, b *candidateStatus) int { return a.id.Compare(b.id) })
	return s
}

// about returns what the candidates say about a certificate.
func (s *statuses) about(l link) []*standing {
	var found []*standing
	for _, c := range s.all {
		x, err := s.verifier.standing(c, l)
		if err != nil {
			c.err = err
		}
		if x != nil {
			found, c.says = append(found, x), append(c.says, x)
		}
	}
	return found
}

func (c *candidateStatus) parse() {
	if !c.parsed {
		c.parsed = true
		c.source, c.err = parseStatus(c.data)
	}
}

// A statusOf names what is kept: what a candidate says about a certificate.
type statusOf struct{ status, link lock.Digest }

type stood struct {
	standing *standing
	err      error
}

// standing returns what a candidate says about a certificate, verified once:
// that depends on nothing else. Of the zero link it says whether the candidate
// can be read.
func (v *Verifier) standing(c *candidateStatus, l link) (*standing, error) {
	at := statusOf{c.id, l.id}
	v.mu.Lock()
	x, ok := v.stood[at]
	v.mu.Unlock()
	if ok {
		return x.standing, x.err
	}
	if c.parse(); c.source == nil {
		x.err = c.err
	} else if l.cert != nil {
		x.standing, x.err = c.source.about(l)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.stood) >= maxCached {
		clear(v.stood)
	}
	v.stood[at] = x
	return x.standing, x.err
}

// readable returns why a candidate that says nothing is none, nil if it is about
// other certificates.
func (v *Verifier) readable(c *candidateStatus) error {
	if c.err != nil {
		return c.err
	}
	_, err := v.standing(c, link{})
	return err
}

// diagnose says of the candidates which do not count, and why.
func (s *statuses) diagnose(d *Decision, at time.Time) {
	add := func(id lock.Digest, reason Reason, err error) {
		d.diagnostics = append(d.diagnostics, Diagnostic{Bundle: id, Reason: reason, Err: err, Type: StatusType})
	}
	for _, c := range s.all {
		if len(c.says) == 0 {
			if err := s.verifier.readable(c); err != nil {
				add(c.id, BadSignature, fmt.Errorf("certificate status: %w", err))
			} else {
				add(c.id, TrustMissing, errors.New("certificate status: it is about no certificate that signed here"))
			}
			continue
		}
		good := func(x *standing) bool { return x.revoked || x.current(at) }
		if x := c.says[0]; !slices.ContainsFunc(c.says, good) && x.unknown {
			add(c.id, TrustMissing, fmt.Errorf("the OCSP responder of %s does not know the certificate", shown(x.issuer.Subject.String())))
		} else if !slices.ContainsFunc(c.says, good) {
			add(c.id, Expired, fmt.Errorf("%s, and it is %s", x, at.UTC().Format(time.RFC3339)))
		}
	}
	if s.tooMany {
		add(lock.Digest{}, Unsigned, fmt.Errorf("more than %d revocation lists and OCSP responses: the rest was not looked at", MaxStatusCount))
	}
}
