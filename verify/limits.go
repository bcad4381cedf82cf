package verify

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
)

// The limits of a bundle, besides its size. Timestamps, log entries and
// certificates are worked on before the signature says whether that is worth
// it, and anyone can make them: an RSA key of 64 KiB takes ten seconds.
const (
	maxEntries      = 8        // entries of transparency logs
	maxStamps       = 8        // RFC 3161 timestamps
	maxStamp        = 16 << 10 // bytes of one, its certificates included
	maxCertificates = 10       // of the signer's chain, and of a timestamp
	maxRSA          = 8192     // bits of a key in a certificate, as in crypto/tls
)

// checkLimits reports what would take too much work to verify.
func checkLimits(m *protobundle.VerificationMaterial) error {
	stamps := m.GetTimestampVerificationData().GetRfc3161Timestamps()
	chain := m.GetX509CertificateChain().GetCertificates()
	if c := m.GetCertificate(); c != nil {
		chain = []*protocommon.X509Certificate{c}
	}
	switch {
	case len(m.GetTlogEntries()) > maxEntries:
		return fmt.Errorf("more than %d log entries", maxEntries)
	case len(stamps) > maxStamps:
		return fmt.Errorf("more than %d timestamps", maxStamps)
	case len(chain) > maxCertificates:
		return fmt.Errorf("more than %d certificates", maxCertificates)
	}
	for _, c := range chain {
		if err := checkCertificates(c.GetRawBytes()); err != nil {
			return err
		}
	}
	for _, s := range stamps {
		if err := checkStamp(s.GetSignedTimestamp()); err != nil {
			return fmt.Errorf("timestamp: %w", err)
		}
	}
	return nil
}

// A stampResponse is a TimeStampResp (RFC 3161 section 2.4.2) with a CMS
// SignedData (RFC 5652 section 5.1), as far as the limits need it.
type stampResponse struct {
	Status asn1.RawValue
	Token  struct {
		Type asn1.ObjectIdentifier
		Data struct {
			Version      int
			Algorithms   asn1.RawValue
			Content      asn1.RawValue
			Certificates asn1.RawValue   `asn1:"optional,tag:0"`
			CRLs         asn1.RawValue   `asn1:"optional,tag:1"`
			Signers      []asn1.RawValue `asn1:"set"`
		} `asn1:"explicit,tag:0"`
	}
}

// checkStamp reports what would take too much work to verify of a timestamp.
func checkStamp(der []byte) error {
	if len(der) > maxStamp {
		return fmt.Errorf("more than %d bytes", maxStamp)
	}
	var r stampResponse
	if _, err := asn1.Unmarshal(der, &r); err != nil {
		return errors.New("no RFC 3161 response that grants one, in DER")
	}
	if n := len(r.Token.Data.Signers); n != 1 {
		return fmt.Errorf("has %d signatures, want one", n)
	}
	return checkCertificates(r.Token.Data.Certificates.Bytes)
}

// checkCertificates reports certificates that can't be read, are too many, or
// have a key that is too long.
func checkCertificates(der []byte) error {
	certs, err := x509.ParseCertificates(der)
	if err != nil {
		return clean("certificate", err)
	}
	if len(certs) > maxCertificates {
		return fmt.Errorf("more than %d certificates", maxCertificates)
	}
	for _, c := range certs {
		if k, ok := c.PublicKey.(*rsa.PublicKey); ok && k.N.BitLen() > maxRSA {
			return fmt.Errorf("certificate with an RSA key of more than %d bits", maxRSA)
		}
	}
	return nil
}
