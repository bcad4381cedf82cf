package sigtest

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"io"
	"net/http"

	"github.com/digitorus/timestamp"
)

// A TSA is a timestamp authority (RFC 3161) with a root, an intermediate and a
// leaf of its own. It answers a POST to any path.
type TSA struct {
	service
	Clock *Clock
	CA    *CA // the root

	// Stray makes it stamp another message than the one it was asked to.
	Stray bool
	// NoNonce makes it leave out the nonce of the request, NoCertificate the
	// certificates that were asked for.
	NoNonce, NoCertificate bool
	// LeafOnly makes it leave out all certificates but its own.
	LeafOnly bool

	leaf *Leaf
}

// NewTSA returns a timestamp authority that goes by c.
func NewTSA(c *Clock) *TSA {
	root := NewCA("tsa root")
	sub := root.Sub("tsa intermediate", EKU(x509.ExtKeyUsageTimeStamping))
	return &TSA{Clock: c, CA: root, leaf: sub.Leaf(P256(), timeStamping)}
}

// timeStamping makes the certificate one for timestamps. The usage must be
// critical (RFC 3161 section 2.3), which crypto/x509 has no field for.
func timeStamping(c *x509.Certificate) {
	c.Subject.CommonName = "tsa leaf"
	c.ExtKeyUsage = nil
	c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{
		Id:       asn1.ObjectIdentifier{2, 5, 29, 37},
		Critical: true,
		Value:    must(asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}})),
	})
}

// Chain returns the certificates of t: leaf, intermediate, root.
func (t *TSA) Chain() []*x509.Certificate {
	return append(append([]*x509.Certificate(nil), t.leaf.Chain...), t.CA.Certificate)
}

// ServeHTTP answers a timestamp request.
func (t *TSA) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.serve(w, r, t.answer) }

func (t *TSA) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req, err := timestamp.ParseRequest(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/timestamp-reply")
	w.WriteHeader(http.StatusCreated)
	w.Write(t.respond(req))
}

// Stamp returns a timestamp response over message, with certificates. A
// signature is what bundles have stamped.
func (t *TSA) Stamp(message []byte) []byte {
	sum := sha256.Sum256(message)
	return t.respond(&timestamp.Request{HashAlgorithm: crypto.SHA256, HashedMessage: sum[:], Certificates: true})
}

func (t *TSA) respond(req *timestamp.Request) []byte {
	ts := timestamp.Timestamp{
		HashAlgorithm:     req.HashAlgorithm,
		HashedMessage:     req.HashedMessage,
		Nonce:             req.Nonce,
		Time:              t.Clock.Now(),
		Policy:            asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 2},
		AddTSACertificate: req.Certificates && !t.NoCertificate,
		Certificates:      t.leaf.Chain[1:],
	}
	if t.LeafOnly {
		ts.Certificates = nil
	}
	if t.Stray {
		ts.HashedMessage = make([]byte, len(req.HashedMessage))
	}
	if t.NoNonce {
		ts.Nonce = nil
	}
	return must(ts.CreateResponseWithOpts(t.leaf.Certificate(), t.leaf.Key, crypto.SHA256))
}
