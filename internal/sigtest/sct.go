package sigtest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"

	ct "github.com/google/certificate-transparency-go"
	"github.com/google/certificate-transparency-go/tls"
	"github.com/google/certificate-transparency-go/x509util"
)

// A CTLog signs certificate timestamps (RFC 6962 section 3.2). It keeps no
// entries.
type CTLog struct {
	Clock *Clock
	key   *ecdsa.PrivateKey
}

// NewCTLog returns a log that goes by c.
func NewCTLog(c *Clock) *CTLog { return &CTLog{c, P256()} }

// LogID returns the SHA-256 of the public key in PKIX DER.
func (l *CTLog) LogID() []byte { return keyID(l.key.Public()) }

// embed returns the template t with a timestamp for the certificate that ca
// would issue from it to key: the signature is over the certificate without
// the timestamps, which is what issuing without them gives.
func (l *CTLog) embed(ca *CA, pub any, t *x509.Certificate) *x509.Certificate {
	plain := must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, t, ca.Certificate, pub, ca.key))))
	sct := ct.SignedCertificateTimestamp{
		SCTVersion: ct.V1,
		LogID:      ct.LogID{KeyID: [32]byte(l.LogID())},
		Timestamp:  uint64(l.Clock.Now().UnixMilli()),
	}
	signed := must(ct.SerializeSCTSignatureInput(sct, ct.LogEntry{Leaf: ct.MerkleTreeLeaf{
		Version:  ct.V1,
		LeafType: ct.TimestampedEntryLeafType,
		TimestampedEntry: &ct.TimestampedEntry{
			EntryType: ct.PrecertLogEntryType,
			Timestamp: sct.Timestamp,
			PrecertEntry: &ct.PreCert{
				IssuerKeyHash:  sha256.Sum256(ca.Certificate.RawSubjectPublicKeyInfo),
				TBSCertificate: plain.RawTBSCertificate,
			},
		},
	}}))
	sct.Signature = ct.DigitallySigned(must(tls.CreateSignature(*l.key, tls.SHA256, signed)))

	list := must(x509util.MarshalSCTsIntoSCTList([]*ct.SignedCertificateTimestamp{&sct}))
	with := *t
	with.ExtraExtensions = append(with.ExtraExtensions[:len(with.ExtraExtensions):len(with.ExtraExtensions)], pkix.Extension{
		Id:    asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2},
		Value: must(asn1.Marshal(must(tls.Marshal(*list)))),
	})
	return &with
}
