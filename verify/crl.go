package verify

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// Extensions of revocation lists and of their entries (RFC 5280 sections 5.2
// and 5.3).
var (
	oidInvalidityDate = asn1.ObjectIdentifier{2, 5, 29, 24}
	oidDelta          = asn1.ObjectIdentifier{2, 5, 29, 27}
	oidDistribution   = asn1.ObjectIdentifier{2, 5, 29, 28}
)

// A distributionPoint says which certificates a list is about (RFC 5280
// section 5.2.5).
type distributionPoint struct {
	Point     asn1.RawValue  `asn1:"optional,tag:0"`
	UsersOnly bool           `asn1:"optional,tag:1"`
	CAsOnly   bool           `asn1:"optional,tag:2"`
	Reasons   asn1.BitString `asn1:"optional,tag:3"`
	Indirect  bool           `asn1:"optional,tag:4"`
	Attribute bool           `asn1:"optional,tag:5"`
}

// checkList reports a revocation list that can't be used: a delta, which says
// nothing by itself, one about some certificates of its issuer only, and one
// that does not say until when it is good.
func checkList(l *x509.RevocationList) error {
	if l.NextUpdate.IsZero() || l.ThisUpdate.IsZero() || !l.NextUpdate.After(l.ThisUpdate) {
		return errors.New("it does not say until when it is good")
	}
	for _, e := range l.Extensions {
		switch {
		case e.Id.Equal(oidDelta):
			return errors.New("it is a delta, which needs the complete list: want the complete list")
		case e.Id.Equal(oidDistribution):
			var p distributionPoint
			if rest, err := asn1.Unmarshal(e.Value, &p); err != nil || len(rest) > 0 {
				return errors.New("its distribution point can't be read")
			}
			if p.CAsOnly || p.Indirect || p.Attribute || p.Reasons.BitLength > 0 {
				return errors.New("it is indirect, or about some certificates or reasons only: want the complete list")
			}
		case e.Critical:
			return fmt.Errorf("it has the critical extension %s, which is not known", e.Id)
		}
	}
	for _, entry := range l.RevokedCertificateEntries {
		if i := slices.IndexFunc(entry.Extensions, func(e pkix.Extension) bool { return e.Critical }); i >= 0 {
			return fmt.Errorf("an entry has the critical extension %s, which is not known", entry.Extensions[i].Id)
		}
	}
	return nil
}

// An errRevoked says that a certificate was revoked when it signed.
type errRevoked struct {
	serial string
	at     time.Time
}

func (e *errRevoked) Error() string {
	return fmt.Sprintf("certificate %s was revoked from %s on, before it signed", e.serial, e.at.UTC().Format(time.RFC3339))
}

// An errNoList says that there is no revocation list to ask, though lists are
// asked for.
type errNoList struct{ issuer string }

func (e *errNoList) Error() string {
	return fmt.Sprintf("there is no revocation list by %s", lock.Visible(e.issuer))
}

// A listWindow is the time in which the revocation lists that were asked may
// be relied on.
type listWindow struct {
	issuer     string
	from, till time.Time
}

// askLists looks up every certificate of the chains in the lists. There must
// be one by the issuer of each leaf. Each of the times is one at which the leaf
// verifiably signed; what was revoked later is no matter, unless the list says
// that its key was not safe any more.
func askLists(lists []*x509.RevocationList, chains [][]*x509.Certificate, times []time.Time) ([]listWindow, error) {
	var windows []listWindow
	for _, chain := range chains {
		for i, c := range chain[:len(chain)-1] {
			asked, newest := false, listWindow{}
			for _, l := range lists {
				if !issuedBy(l, chain[i+1]) {
					continue
				}
				asked = true
				if l.ThisUpdate.After(newest.from) {
					newest = listWindow{chain[i+1].Subject.String(), l.ThisUpdate, l.NextUpdate}
				}
				if err := revokedIn(l, c, times); err != nil {
					return nil, err
				}
			}
			if asked {
				windows = append(windows, newest)
			} else if i == 0 {
				return nil, &errNoList{chain[1].Subject.String()}
			}
		}
	}
	return windows, nil
}

func issuedBy(l *x509.RevocationList, issuer *x509.Certificate) bool {
	return string(l.RawIssuer) == string(issuer.RawSubject) && l.CheckSignatureFrom(issuer) == nil
}

func revokedIn(l *x509.RevocationList, c *x509.Certificate, times []time.Time) error {
	for _, entry := range l.RevokedCertificateEntries {
		if entry.SerialNumber.Cmp(c.SerialNumber) != 0 {
			continue
		}
		from := entry.RevocationTime
		for _, e := range entry.Extensions {
			var invalid time.Time
			if !e.Id.Equal(oidInvalidityDate) {
				continue
			}
			if _, err := asn1.UnmarshalWithParams(e.Value, &invalid, "generalized"); err != nil {
				return &errRevoked{c.SerialNumber.Text(16), time.Time{}}
			}
			if invalid.Before(from) {
				from = invalid
			}
		}
		if slices.ContainsFunc(times, func(t time.Time) bool { return !t.Before(from) }) {
			return &errRevoked{c.SerialNumber.Text(16), from}
		}
	}
	return nil
}
