package verify

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/digitorus/timestamp"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// An Unverified is what a bundle claims. Nothing of it was checked; it is for
// people to look at, and no decision takes it. Texts are as they are in the
// bundle: show them with lock.Visible.
type Unverified struct {
	MediaType    string
	Key          string         // "sha256:HEX" or the hint as it is, for a key
	Certificates []*Certificate // leaf first, for a certificate
	Timestamps   []time.Time    // of RFC 3161 timestamps that could be read
	LogEntries   []LogEntry
	PayloadType  string
	Payload      []byte            // what is signed
	Statement    *attest.Statement // of any kind, nil if the payload is none
	Problem      error             // why Statement is nil
}

// A Certificate is what a certificate in a bundle says.
type Certificate struct {
	Subject, Issuer     string
	Names               []string // subject alternative names: URIs and e-mail addresses
	OIDCIssuer          string   // Fulcio's extension
	NotBefore, NotAfter time.Time
}

// A LogEntry is a transparency log's entry in a bundle.
type LogEntry struct {
	Log   string // the log's ID in hexadecimal digits
	Index int64
	Time  time.Time // zero if the entry has none
}

// Inspect reads a bundle without verifying anything.
func Inspect(data []byte) (*Unverified, error) {
	b, no := load(data)
	if no != nil {
		return nil, no.err
	}
	u := &Unverified{
		MediaType:   b.GetMediaType(),
		PayloadType: b.GetDsseEnvelope().GetPayloadType(),
		Payload:     b.GetDsseEnvelope().GetPayload(),
	}
	u.Statement, u.Problem = attest.ParseAny(u.Payload)
	if leaf := b.content.Certificate(); leaf != nil {
		for _, c := range append([]*x509.Certificate{leaf}, b.content.Intermediates()...) {
			u.Certificates = append(u.Certificates, describe(c))
		}
	} else {
		u.Key = describeHint(b.content.PublicKey().Hint())
	}
	for _, raw := range stamps(b) {
		if ts, err := timestamp.ParseResponse(raw); err == nil {
			u.Timestamps = append(u.Timestamps, ts.Time.UTC())
		}
	}
	for _, e := range b.GetVerificationMaterial().GetTlogEntries() {
		entry := LogEntry{Log: fmt.Sprintf("%x", e.GetLogId().GetKeyId()), Index: e.GetLogIndex()}
		if s := e.GetIntegratedTime(); s != 0 {
			entry.Time = time.Unix(s, 0).UTC()
		}
		u.LogEntries = append(u.LogEntries, entry)
	}
	return u, nil
}

func describe(c *x509.Certificate) *Certificate {
	d := &Certificate{Subject: c.Subject.String(), Issuer: c.Issuer.String(), NotBefore: c.NotBefore, NotAfter: c.NotAfter}
	d.Names = append(d.Names, c.EmailAddresses...)
	for _, u := range c.URIs {
		d.Names = append(d.Names, u.String())
	}
	if extensions, err := certificate.ParseExtensions(c.Extensions); err == nil {
		d.OIDCIssuer = extensions.Issuer
	}
	return d
}

// CertificateIdentity returns whom a certificate of Fulcio names, as a policy
// would. The zero Identity, whose String is empty, says that no policy can. The
// certificate is not verified.
func CertificateIdentity(leaf *x509.Certificate) (Identity, error) {
	name, err := subject(leaf)
	if err != nil {
		return Identity{}, err
	}
	x, err := certificate.ParseExtensions(leaf.Extensions)
	if err != nil {
		return Identity{}, clean("certificate", err)
	}
	s, err := openIDSigner(leaf, x, name)
	if err != nil {
		return Identity{}, err
	}
	return IdentityOf(s), nil
}

func describeHint(hint string) string {
	if d, err := decodeHint(hint); err == nil {
		return d.String()
	}
	return lock.Visible(hint)
}

// stamps returns the RFC 3161 timestamps of b.
func stamps(b *entity) [][]byte {
	var all [][]byte
	for _, s := range b.GetVerificationMaterial().GetTimestampVerificationData().GetRfc3161Timestamps() {
		all = append(all, s.GetSignedTimestamp())
	}
	return all
}

// TimestampAuthorities returns the topmost certificate that each RFC 3161
// timestamp of a bundle brings along: what one has to trust for the timestamp
// to verify. Nothing was checked.
func TimestampAuthorities(bundle []byte) ([]*x509.Certificate, error) {
	b, no := load(bundle)
	if no != nil {
		return nil, no.err
	}
	var tops []*x509.Certificate
	for _, raw := range stamps(b) {
		ts, err := timestamp.ParseResponse(raw)
		if err != nil {
			return nil, clean("timestamp", err)
		}
		if len(ts.Certificates) == 0 {
			return nil, errors.New("a timestamp brings no certificates")
		}
		tops = append(tops, topmost(ts.Certificates))
	}
	return tops, nil
}

// topmost returns a certificate that none of the others has issued.
func topmost(cs []*x509.Certificate) *x509.Certificate {
	for _, c := range cs {
		issued := false
		for _, issuer := range cs {
			issued = issued || issuer != c && c.CheckSignatureFrom(issuer) == nil
		}
		if !issued && c.IsCA {
			return c
		}
	}
	return cs[0]
}
