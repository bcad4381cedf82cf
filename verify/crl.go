package verify

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
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

// A crl is a complete revocation list that says until when it is good (RFC 5280
// section 5).
type crl struct {
	*x509.RevocationList
	usersOnly bool          // it says nothing about certificate authorities
	point     asn1.RawValue // where it is published, if it says so
}

// newCRL returns l unless it can't be used: a delta, which says nothing by
// itself, one about some certificates of its issuer only, and one that does not
// say until when it is good.
func newCRL(l *x509.RevocationList) (*crl, error) {
	if !l.NextUpdate.After(l.ThisUpdate) { // zero: there is none
		return nil, errors.New("it does not say until when it is good")
	}
	c := &crl{RevocationList: l}
	for _, e := range l.Extensions {
		switch {
		case e.Id.Equal(oidDelta):
			return nil, errors.New("it is a delta, which needs the complete list: want the complete list")
		case e.Id.Equal(oidDistribution):
			var p distributionPoint
			if rest, err := asn1.Unmarshal(e.Value, &p); err != nil || len(rest) > 0 {
				return nil, errors.New("its distribution point can't be read")
			}
			if p.CAsOnly || p.Indirect || p.Attribute || p.Reasons.BitLength > 0 {
				return nil, errors.New("it is indirect, or about some certificates or reasons only: want the complete list")
			}
			c.usersOnly, c.point = p.UsersOnly, p.Point
		case e.Critical:
			return nil, fmt.Errorf("it has the critical extension %s, which is not known", e.Id)
		}
	}
	for _, entry := range l.RevokedCertificateEntries {
		if i := slices.IndexFunc(entry.Extensions, func(e pkix.Extension) bool { return e.Critical }); i >= 0 {
			return nil, fmt.Errorf("an entry has the critical extension %s, which is not known", entry.Extensions[i].Id)
		}
	}
	return c, nil
}

// about returns what the list says about a certificate, nil if it is about
// others. It is an error if the issuer of that name has not signed it.
func (c *crl) about(l link) (*standing, error) {
	if string(c.RawIssuer) != string(l.issuer.RawSubject) {
		return nil, nil
	}
	if err := c.CheckSignatureFrom(l.issuer); err != nil {
		return nil, clean("revocation list", err)
	}
	s := &standing{kind: RevocationList, issuer: l.issuer, from: c.ThisUpdate, till: c.NextUpdate}
	if s.since, s.revoked = revokedIn(c.RevocationList, l.cert.SerialNumber); s.revoked || !c.usersOnly || !l.cert.IsCA {
		return s, nil
	}
	return nil, nil
}

// covers reports whether the list is about all certificates of its issuer, or
// about those of one distribution point that the certificate names as well (RFC
// 5280 section 6.3.3): a list of others has no entry for it in any case.
func (c *crl) covers(cert *x509.Certificate) bool {
	if len(c.point.FullBytes) == 0 {
		return true
	}
	var full asn1.RawValue // DistributionPointName, of which fullName is read
	if _, err := asn1.Unmarshal(c.point.Bytes, &full); err != nil || full.Class != asn1.ClassContextSpecific || full.Tag != 0 {
		return false
	}
	for rest := full.Bytes; len(rest) > 0; {
		var name asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &name); err != nil {
			return false
		}
		if name.Class == asn1.ClassContextSpecific && name.Tag == 6 && slices.Contains(cert.CRLDistributionPoints, string(name.Bytes)) {
			return true
		}
	}
	return false
}

// includes reports whether a list is about the same certificates as an older one
// and revokes all that it does, each as early.
func (c *crl) includes(older *crl) bool {
	if c.usersOnly != older.usersOnly || !bytes.Equal(c.point.FullBytes, older.point.FullBytes) {
		return false
	}
	since := make(map[string]time.Time, len(c.RevokedCertificateEntries))
	for _, e := range c.RevokedCertificateEntries {
		since[string(e.SerialNumber.Bytes())] = notSafeSince(e.RevocationTime, e.Extensions)
	}
	return !slices.ContainsFunc(older.RevokedCertificateEntries, func(e x509.RevocationListEntry) bool {
		at, there := since[string(e.SerialNumber.Bytes())]
		return !there || at.After(notSafeSince(e.RevocationTime, e.Extensions))
	})
}

// revokedIn looks up a serial number, and returns since when its certificate is
// not to be relied on.
func revokedIn(l *x509.RevocationList, serial *big.Int) (since time.Time, revoked bool) {
	for _, entry := range l.RevokedCertificateEntries {
		if entry.SerialNumber.Cmp(serial) == 0 {
			at := notSafeSince(entry.RevocationTime, entry.Extensions)
			if !revoked || at.Before(since) {
				since = at
			}
			revoked = true
		}
	}
	return since, revoked
}

// notSafeSince returns the time of a revocation, or the invalidity date (RFC
// 5280 section 5.3.2) if that is earlier; the zero time, which is before every
// other, if it can't be read.
func notSafeSince(at time.Time, extensions []pkix.Extension) time.Time {
	for _, e := range extensions {
		var invalid time.Time
		if !e.Id.Equal(oidInvalidityDate) {
			continue
		}
		if _, err := asn1.UnmarshalWithParams(e.Value, &invalid, "generalized"); err != nil {
			return time.Time{}
		}
		if invalid.Before(at) {
			at = invalid
		}
	}
	return at
}
