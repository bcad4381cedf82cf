package verify

import (
	"bytes"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/crypto/ocsp"
)

var oidNonce = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 48, 1, 2} // RFC 9654

// A rawOCSP is an OCSP response (RFC 6960 section 4.2.1), as far as package
// ocsp does not tell what is in it.
type rawOCSP struct {
	Status asn1.Enumerated
	Bytes  struct {
		Type     asn1.ObjectIdentifier
		Response []byte
	} `asn1:"explicit,tag:0,optional"`
}

type rawBasicOCSP struct {
	Data struct {
		Version    int `asn1:"optional,default:0,explicit,tag:0"`
		Responder  asn1.RawValue
		ProducedAt time.Time `asn1:"generalized"`
		Responses  []struct{ ID certID }
		Extensions []pkix.Extension `asn1:"explicit,tag:1,optional"`
	}
	Algorithm    pkix.AlgorithmIdentifier
	Signature    asn1.BitString
	Certificates []asn1.RawValue `asn1:"explicit,tag:0,optional"`
}

// A certID names a certificate (RFC 6960 section 4.1.1).
type certID struct {
	Hash              pkix.AlgorithmIdentifier
	NameHash, KeyHash []byte
	Serial            asn1.RawValue
}

// An ocspStatus is an OCSP response within the limits. Nothing of it is
// verified.
type ocspStatus struct {
	der   []byte
	ids   []certID
	nonce []byte // nil if there is none
}

// parseOCSP reads a response that says something, within the limits of the work
// to verify it.
func parseOCSP(der []byte) (*ocspStatus, error) {
	var outer rawOCSP
	if rest, err := asn1.Unmarshal(der, &outer); err != nil || len(rest) > 0 {
		return nil, errors.New("is no OCSP response in DER")
	}
	if outer.Status != 0 {
		return nil, fmt.Errorf("is an OCSP response without an answer: %s", ocsp.ResponseStatus(outer.Status))
	}
	var basic rawBasicOCSP
	if rest, err := asn1.Unmarshal(outer.Bytes.Response, &basic); err != nil || len(rest) > 0 {
		return nil, errors.New("is no OCSP response of the basic type in DER")
	}
	if basic.Data.Version != 0 {
		return nil, fmt.Errorf("is an OCSP response of version %d, want 1", basic.Data.Version+1)
	}
	s := &ocspStatus{der: der}
	for _, r := range basic.Data.Responses {
		s.ids = append(s.ids, r.ID)
	}
	for _, e := range basic.Data.Extensions {
		switch {
		case e.Id.Equal(oidNonce):
			if _, err := asn1.Unmarshal(e.Value, &s.nonce); err != nil {
				return nil, errors.New("has a nonce that can't be read")
			}
		case e.Critical:
			return nil, fmt.Errorf("has the critical extension %s, which is not known", e.Id)
		}
	}
	var certs []byte
	for _, c := range basic.Certificates {
		certs = append(certs, c.FullBytes...)
	}
	if err := checkCertificates(certs); err != nil {
		return nil, err
	}
	return s, nil
}

// about returns what the response says about a certificate, nil if it is about
// others. It is an error if it is about it, and neither its issuer nor one whom
// that issuer made a responder has signed it.
func (s *ocspStatus) about(l link) (*standing, error) {
	serial, err := asn1.Marshal(l.cert.SerialNumber)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(s.ids, func(id certID) bool { return bytes.Equal(id.Serial.FullBytes, serial) })
	if i < 0 {
		return nil, nil
	}
	// Package ocsp looks at the serial number alone, and takes the first.
	r, err := ocsp.ParseResponseForCert(s.der, l.cert, nil)
	if err != nil {
		return nil, clean("OCSP response", err)
	}
	if same, err := s.ids[i].names(l, r); err != nil || !same {
		return nil, err
	}
	if slices.ContainsFunc(s.ids[i+1:], func(id certID) bool { return bytes.Equal(id.Serial.FullBytes, serial) }) {
		return nil, errors.New("the OCSP response has two answers about one serial number")
	}
	if !r.NextUpdate.After(r.ThisUpdate) { // zero: there is none
		return nil, errors.New("the OCSP response does not say until when it is good")
	}
	x := &standing{kind: OCSPResponse, issuer: l.issuer, from: r.ThisUpdate, till: r.NextUpdate, unknown: r.Status == ocsp.Unknown}
	if r.Status == ocsp.Revoked {
		if r.RevokedAt.IsZero() { // package ocsp takes what is neither good nor unknown for that
			return nil, errors.New("the OCSP response does not say when the certificate was revoked")
		}
		x.revoked, x.since = true, notSafeSince(r.RevokedAt, r.Extensions)
	}
	if err := x.signedBy(r, l.issuer); err != nil {
		return nil, err
	}
	return x, nil
}

// names reports whether the ID is that of the certificate: under the name and
// the key of its issuer.
func (id certID) names(l link, r *ocsp.Response) (bool, error) {
	der, err := ocsp.CreateRequest(l.cert, l.issuer, &ocsp.RequestOptions{Hash: r.IssuerHash})
	if err != nil {
		return false, clean("OCSP response", err)
	}
	want, err := ocsp.ParseRequest(der)
	if err != nil {
		return false, clean("OCSP response", err)
	}
	return bytes.Equal(id.NameHash, want.IssuerNameHash) && bytes.Equal(id.KeyHash, want.IssuerKeyHash), nil
}

// signedBy checks that the issuer signed r, or a responder of its own making
// (RFC 6960 section 4.2.2.2), who is not relied on beyond the certificate.
func (x *standing) signedBy(r *ocsp.Response, issuer *x509.Certificate) error {
	if !isSafe(r.SignatureAlgorithm) {
		return errors.New("the OCSP response is signed with an algorithm that is not safe, or not known")
	}
	responder := issuer
	if c := r.Certificate; c != nil && !c.Equal(issuer) {
		responder, x.responder = c, newLink(c, issuer)
		if err := c.CheckSignatureFrom(issuer); err != nil || !bytes.Equal(c.RawIssuer, issuer.RawSubject) {
			return errors.New("the OCSP response is by a responder of another issuer")
		}
		switch {
		case !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning):
			return errors.New("the OCSP response is by a certificate that lacks the extended key usage OCSPSigning")
		case c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageDigitalSignature == 0, len(c.UnhandledCriticalExtensions) > 0:
			return errors.New("the OCSP response is by a certificate that is not for that")
		case r.ProducedAt.Before(c.NotBefore) || r.ProducedAt.After(c.NotAfter):
			return errors.New("the OCSP response is by a certificate that was not valid then")
		}
		if x.from.Before(c.NotBefore) {
			x.from = c.NotBefore
		}
		if x.till.After(c.NotAfter) {
			x.till = c.NotAfter
		}
	}
	if err := r.CheckSignatureFrom(responder); err != nil {
		return clean("OCSP response", err)
	}
	return isResponder(r, responder)
}

// isResponder checks that a response says that it is by whoever signed it.
func isResponder(r *ocsp.Response, c *x509.Certificate) error {
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(c.RawSubjectPublicKeyInfo, &info); err != nil {
		return clean("responder's key", err)
	}
	key := sha1.Sum(info.Key.RightAlign()) // RFC 6960 section 4.2.1 knows no other
	if bytes.Equal(r.RawResponderName, c.RawSubject) || bytes.Equal(r.ResponderKeyHash, key[:]) {
		return nil
	}
	return errors.New("the OCSP response says that it is by someone else than who signed it")
}

// ocspRequest makes a request about a certificate (RFC 6960 section 4.1.1),
// with a nonce unless that is empty.
func ocspRequest(l link, nonce []byte) ([]byte, error) {
	der, err := ocsp.CreateRequest(l.cert, l.issuer, nil)
	if err != nil || len(nonce) == 0 {
		return der, err
	}
	var request struct {
		Data struct {
			Requests   []asn1.RawValue
			Extensions []pkix.Extension `asn1:"explicit,tag:2,optional"`
		}
	}
	if _, err := asn1.Unmarshal(der, &request); err != nil {
		return nil, err
	}
	value, err := asn1.Marshal(nonce)
	if err != nil {
		return nil, err
	}
	request.Data.Extensions = []pkix.Extension{{Id: oidNonce, Value: value}}
	return asn1.Marshal(request)
}
