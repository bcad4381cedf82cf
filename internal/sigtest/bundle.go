package sigtest

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore/pkg/signature"
	"google.golang.org/protobuf/encoding/protojson"
)

// Unchecked is a signature that package sign would refuse to make: with a
// certificate that is not fit for it, by a key of another kind, over any
// payload.
type Unchecked struct {
	Payload     []byte
	PayloadType string // empty: that of in-toto
	Key         crypto.Signer
	Chain       []*x509.Certificate // leaf first; empty: the hint of the key
	TSA         *TSA                // nil: no timestamp
}

// Bundle returns a Sigstore bundle v0.3.
func (u Unchecked) Bundle() []byte {
	if u.PayloadType == "" {
		u.PayloadType = "application/vnd.in-toto+json"
	}
	content := &sgsign.DSSEData{Data: u.Payload, PayloadType: u.PayloadType}
	digest := content.PreAuthEncoding()
	hash := must(signature.GetDefaultAlgorithmDetails(u.Key.Public())).GetHashType()
	if hash != 0 {
		h := hash.New()
		h.Write(digest)
		digest = h.Sum(nil)
	}
	sig := must(u.Key.Sign(rand.Reader, digest, hash))

	m := &protobundle.VerificationMaterial{}
	b := &protobundle.Bundle{MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", VerificationMaterial: m}
	content.Bundle(b, sig, nil, 0)
	var certs []*protocommon.X509Certificate
	for _, c := range u.Chain {
		certs = append(certs, &protocommon.X509Certificate{RawBytes: c.Raw})
	}
	switch len(certs) {
	case 0:
		id := sha256.Sum256(must(x509.MarshalPKIXPublicKey(u.Key.Public())))
		hint := base64.StdEncoding.EncodeToString(id[:])
		m.Content = &protobundle.VerificationMaterial_PublicKey{PublicKey: &protocommon.PublicKeyIdentifier{Hint: hint}}
	case 1:
		m.Content = &protobundle.VerificationMaterial_Certificate{Certificate: certs[0]}
	default:
		m.Content = &protobundle.VerificationMaterial_X509CertificateChain{
			X509CertificateChain: &protocommon.X509CertificateChain{Certificates: certs},
		}
	}
	if u.TSA != nil {
		m.TimestampVerificationData = &protobundle.TimestampVerificationData{
			Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: u.TSA.Stamp(sig)}},
		}
	}
	return compact(must(protojson.Marshal(b)))
}

// EditBundle returns bundle as edit leaves it. The signature stays as it was.
func EditBundle(bundle []byte, edit func(*protobundle.Bundle)) []byte {
	b := new(protobundle.Bundle)
	if err := protojson.Unmarshal(bundle, b); err != nil {
		panic(err)
	}
	edit(b)
	return compact(must(protojson.Marshal(b)))
}
