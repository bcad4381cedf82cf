package sign

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mcpsign/mcpsign/attest"
)

const (
	mediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

	// maxBundle is the size in bytes that verifiers read of one bundle. A
	// payload takes 4/3 of its size there; the rest is for certificates,
	// timestamps and log entries.
	maxBundle  = 1 << 20
	maxPayload = (maxBundle - 128<<10) / 4 * 3
)

// signPayload signs payload, which is a statement, and returns the bundle as
// one line of JSON.
func (s *Signer) signPayload(ctx context.Context, payload []byte) ([]byte, error) {
	if len(payload) == 0 {
		return nil, errors.New("nothing to sign")
	}
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("statement of %d bytes: more than %d do not fit a bundle", len(payload), maxPayload)
	}
	b, err := s.bundle(ctx, payload)
	if errors.Is(err, errLogged) {
		// The log has an equal entry: an earlier attempt arrived, and its answer
		// was lost. Another signature makes another entry.
		b, err = s.bundle(ctx, payload)
	}
	if err != nil {
		return nil, err
	}
	if s.root != nil {
		if err := s.verify(b); err != nil {
			return nil, fmt.Errorf("the signature does not verify against the trusted root: %w", err)
		}
	}
	return encode(b)
}

func encode(b *protobundle.Bundle) ([]byte, error) {
	loose, err := protojson.Marshal(b)
	if err != nil {
		return nil, err
	}
	// protojson varies its spaces from build to build.
	var out bytes.Buffer
	if err := json.Compact(&out, loose); err != nil {
		return nil, err
	}
	if out.Len() > maxBundle {
		return nil, fmt.Errorf("bundle of %d bytes: verifiers read %d", out.Len(), maxBundle)
	}
	return out.Bytes(), nil
}

// bundle makes the signature and asks each service for its part.
func (s *Signer) bundle(ctx context.Context, payload []byte) (*protobundle.Bundle, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key, chain := s.key, s.chain
	if s.token != nil {
		var err error
		if s.root != nil {
			err = s.knowsLogs()
		}
		if err != nil {
			return nil, err
		}
		if key, chain, err = s.certify(ctx); err != nil {
			return nil, err
		}
	}
	content := &sgsign.DSSEData{Data: payload, PayloadType: attest.PayloadType}
	sig, digest, err := key.SignData(ctx, content.PreAuthEncoding())
	if err != nil {
		return nil, err
	}
	m := &protobundle.VerificationMaterial{}
	b := &protobundle.Bundle{MediaType: mediaType, VerificationMaterial: m}
	content.Bundle(b, sig, digest, key.GetHashAlgorithm())
	setKey(m, key, chain)

	for _, url := range s.services.tsas {
		ts, err := s.timestamp(ctx, url, sig)
		if err == nil && s.root != nil {
			err = s.knowsStamp(url, ts, sig)
		}
		if err != nil {
			return nil, err
		}
		if m.TimestampVerificationData == nil {
			m.TimestampVerificationData = &protobundle.TimestampVerificationData{}
		}
		d := m.TimestampVerificationData
		d.Rfc3161Timestamps = append(d.Rfc3161Timestamps, &protocommon.RFC3161SignedTimestamp{SignedTimestamp: ts})
	}
	for _, l := range s.services.logs {
		if err := s.log(ctx, l, b, key, chain); err != nil {
			return nil, err
		}
	}
	setChain(m, chain)
	return b, nil
}

// setKey names what verifies the signature: the leaf certificate or, without
// one, the hint of the key.
func setKey(m *protobundle.VerificationMaterial, key *keypair, chain []*x509.Certificate) {
	if len(chain) == 0 {
		m.Content = &protobundle.VerificationMaterial_PublicKey{
			PublicKey: &protocommon.PublicKeyIdentifier{Hint: string(key.GetHint())},
		}
		return
	}
	m.Content = &protobundle.VerificationMaterial_Certificate{
		Certificate: &protocommon.X509Certificate{RawBytes: chain[0].Raw},
	}
}

// setChain replaces the leaf certificate by the whole chain, if that is more.
// It comes last, because sigstore-go's client for Rekor v2 takes a certificate
// in a chain for a bare public key.
func setChain(m *protobundle.VerificationMaterial, chain []*x509.Certificate) {
	if len(chain) < 2 {
		return
	}
	c := &protocommon.X509CertificateChain{}
	for _, cert := range chain {
		c.Certificates = append(c.Certificates, &protocommon.X509Certificate{RawBytes: cert.Raw})
	}
	m.Content = &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: c}
}
