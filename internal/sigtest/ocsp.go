package sigtest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"io"
	"math/big"
	"net/http"
	"sync"
	"time"

	"golang.org/x/crypto/ocsp"
)

// OCSPAt adds URLs of OCSP responders.
func OCSPAt(urls ...string) Edit {
	return func(c *x509.Certificate) { c.OCSPServer = append(c.OCSPServer, urls...) }
}

// CRLAt adds URLs of revocation lists.
func CRLAt(urls ...string) Edit {
	return func(c *x509.Certificate) {
		c.CRLDistributionPoints = append(c.CRLDistributionPoints, urls...)
	}
}

// Responder returns a certificate under c for answers about its certificates.
func (c *CA) Responder(edits ...Edit) *Leaf {
	named := func(t *x509.Certificate) { t.Subject.CommonName = "responder" }
	return c.Leaf(P256(), append([]Edit{named, EKU(x509.ExtKeyUsageOCSPSigning)}, edits...)...)
}

// An OCSPAnswer is a response (RFC 6960 section 4.2.1) about certificates of
// one issuer, which are good unless something else is said.
type OCSPAnswer struct {
	Issuer     *CA
	Responder  *Leaf // nil: Issuer itself
	Bare       bool  // without the certificate of the responder
	ByKey      bool  // the responder is named by the SHA-1 of its key
	As         *CA   // the responder is named so; nil: as it is
	Serials    []*big.Int
	Revoked    time.Time // from then on
	Invalid    time.Time // invalidity date, if it was revoked
	Unknown    bool
	ThisUpdate time.Time
	NextUpdate time.Time // zero: none
	ProducedAt time.Time // zero: ThisUpdate
	Nonce      []byte
	Critical   bool // an unknown critical extension
	Extension  bool // an unknown one that is not critical
	SHA1       bool // the signature is over a SHA-1
	SHA256     bool // the certificates are named by SHA-256, not by SHA-1

	Version  int    // of the response, which counts from 0
	RawNonce []byte // the nonce extension has this value
	NoStatus bool   // neither good nor revoked nor unknown
	NameOf   *CA    // the certificates are issued in its name, with the key of Issuer; nil: Issuer
}

type (
	ocspCertID struct {
		Hash              pkix.AlgorithmIdentifier
		NameHash, KeyHash []byte
		Serial            *big.Int
	}
	ocspSingle struct {
		ID         ocspCertID
		Status     asn1.RawValue    `asn1:"optional"`
		ThisUpdate time.Time        `asn1:"generalized"`
		NextUpdate time.Time        `asn1:"generalized,explicit,tag:0,optional"`
		Extensions []pkix.Extension `asn1:"explicit,tag:1,optional"`
	}
	ocspData struct {
		Version    int `asn1:"explicit,tag:0,optional,default:0"`
		Responder  asn1.RawValue
		ProducedAt time.Time `asn1:"generalized"`
		Responses  []ocspSingle
		Extensions []pkix.Extension `asn1:"explicit,tag:1,optional"`
	}
	ocspBasic struct {
		Data         asn1.RawValue
		Algorithm    pkix.AlgorithmIdentifier
		Signature    asn1.BitString
		Certificates []asn1.RawValue `asn1:"explicit,tag:0,optional"`
	}
	ocspBytes struct {
		Type     asn1.ObjectIdentifier
		Response []byte
	}
	ocspResponse struct {
		Status asn1.Enumerated
		Bytes  ocspBytes `asn1:"explicit,tag:0"`
	}
)

var oidNonce = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 48, 1, 2} // RFC 8954 section 2.1

// DER returns the signed response.
func (a OCSPAnswer) DER() []byte {
	signer, key := a.Issuer.Certificate, a.Issuer.key
	if a.Responder != nil {
		signer, key = a.Responder.Certificate(), a.Responder.Key
	}
	data := ocspData{Version: a.Version, Responder: a.responder(signer), ProducedAt: a.ProducedAt.UTC()}
	if a.ProducedAt.IsZero() {
		data.ProducedAt = a.ThisUpdate.UTC()
	}
	for _, serial := range a.Serials {
		data.Responses = append(data.Responses, a.single(serial))
	}
	if a.Nonce != nil {
		data.Extensions = append(data.Extensions, pkix.Extension{Id: oidNonce, Value: must(asn1.Marshal(a.Nonce))})
	}
	if a.RawNonce != nil {
		data.Extensions = append(data.Extensions, pkix.Extension{Id: oidNonce, Value: a.RawNonce})
	}
	if a.Critical || a.Extension {
		data.Extensions = append(data.Extensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: a.Critical, Value: []byte{5, 0}})
	}
	tbs := must(asn1.Marshal(data))
	algorithm, sum := asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}, sha256.Sum256(tbs) // ecdsa-with-SHA256
	digest := sum[:]
	if a.SHA1 {
		sum := sha1.Sum(tbs)
		algorithm, digest = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 1}, sum[:] // ecdsa-with-SHA1
	}
	signature := must(ecdsa.SignASN1(rand.Reader, key.(*ecdsa.PrivateKey), digest))
	basic := ocspBasic{
		Data:      asn1.RawValue{FullBytes: tbs},
		Algorithm: pkix.AlgorithmIdentifier{Algorithm: algorithm},
		Signature: asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)},
	}
	if a.Responder != nil && !a.Bare {
		basic.Certificates = []asn1.RawValue{{FullBytes: signer.Raw}}
	}
	return must(asn1.Marshal(ocspResponse{0, ocspBytes{asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 48, 1, 1}, must(asn1.Marshal(basic))}}))
}

func (a OCSPAnswer) responder(signer *x509.Certificate) asn1.RawValue {
	if a.As != nil {
		signer = a.As.Certificate
	}
	id := asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, IsCompound: true, Bytes: signer.RawSubject}
	if a.ByKey {
		id.Tag, id.Bytes = 2, must(asn1.Marshal(keyHash(signer)))
	}
	return id
}

func keyHash(c *x509.Certificate) []byte {
	sum := sha1.Sum(keyOf(c))
	return sum[:]
}

// keyOf returns the key of c without its algorithm.
func keyOf(c *x509.Certificate) []byte {
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	_ = must(asn1.Unmarshal(c.RawSubjectPublicKeyInfo, &info))
	return info.Key.Bytes
}

func (a OCSPAnswer) single(serial *big.Int) ocspSingle {
	named := a.Issuer
	if a.NameOf != nil {
		named = a.NameOf
	}
	name := sha1.Sum(named.Certificate.RawSubject)
	s := ocspSingle{
		ID: ocspCertID{
			pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 3, 14, 3, 2, 26}}, // SHA-1, as everyone does
			name[:], keyHash(a.Issuer.Certificate), serial,
		},
		Status:     asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0},
		ThisUpdate: a.ThisUpdate.UTC(), NextUpdate: a.NextUpdate.UTC(),
	}
	switch {
	case a.NoStatus:
		s.Status = asn1.RawValue{}
	case a.Unknown:
		s.Status.Tag = 2
	case !a.Revoked.IsZero():
		s.Status = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, IsCompound: true, Bytes: generalized(a.Revoked)}
	}
	if a.SHA256 {
		name, key := sha256.Sum256(named.Certificate.RawSubject), sha256.Sum256(keyOf(a.Issuer.Certificate))
		s.ID = ocspCertID{pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}}, name[:], key[:], serial}
	}
	if !a.Invalid.IsZero() {
		s.Extensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 24}, Value: generalized(a.Invalid)}}
	}
	return s
}

func generalized(t time.Time) []byte { return must(asn1.MarshalWithParams(t.UTC(), "generalized")) }

// An OCSP is a responder for the certificates of one authority. It answers a
// POST to any path, for an hour from its time on.
type OCSP struct {
	service
	Clock     *Clock
	CA        *CA
	Responder *Leaf

	NoNonce    bool // leave out the nonce of the request
	WrongNonce bool

	mu      sync.Mutex
	revoked map[string]time.Time
}

// NewOCSP returns a responder with a certificate of its own that goes by c.
func NewOCSP(c *Clock, ca *CA) *OCSP {
	return &OCSP{Clock: c, CA: ca, Responder: ca.Responder(), revoked: map[string]time.Time{}}
}

// Revoke makes a certificate one that was revoked at that time.
func (o *OCSP) Revoke(c *x509.Certificate, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.revoked[c.SerialNumber.String()] = at
}

// ServeHTTP answers a request about one certificate.
func (o *OCSP) ServeHTTP(w http.ResponseWriter, r *http.Request) { o.serve(w, r, o.answer) }

func (o *OCSP) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	der, err := o.Answer(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/ocsp-response")
	w.Write(der)
}

// Answer returns the response to a request.
func (o *OCSP) Answer(der []byte) ([]byte, error) {
	request, err := ocsp.ParseRequest(der)
	if err != nil {
		return nil, err
	}
	var asked struct {
		Data struct {
			Requests   []asn1.RawValue
			Extensions []pkix.Extension `asn1:"explicit,tag:2,optional"`
		}
	}
	if _, err := asn1.Unmarshal(der, &asked); err != nil {
		return nil, err
	}
	o.mu.Lock()
	revoked := o.revoked[request.SerialNumber.String()]
	o.mu.Unlock()
	now := o.Clock.Now()
	a := OCSPAnswer{Issuer: o.CA, Responder: o.Responder, Serials: []*big.Int{request.SerialNumber}, Revoked: revoked, ThisUpdate: now, NextUpdate: now.Add(time.Hour)}
	if len(asked.Data.Extensions) > 0 && !o.NoNonce {
		if _, err := asn1.Unmarshal(asked.Data.Extensions[0].Value, &a.Nonce); err != nil {
			return nil, err
		}
	}
	if o.WrongNonce {
		a.Nonce = []byte("another")
	}
	return a.DER(), nil
}
