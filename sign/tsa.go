package sign

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"math/big"
	"net/http"

	"github.com/digitorus/timestamp"
)

// timestamp returns an RFC 3161 response over sig. Unlike sigstore-go's client
// it asks for the certificate of the authority, so that a verifier needs to
// know no more than a root, and sends a nonce. The signature of the authority
// is verified, its certificate is not.
func (s *Signer) timestamp(ctx context.Context, url string, sig []byte) ([]byte, error) {
	ts, err := s.requestTimestamp(ctx, url, sig)
	if err != nil {
		return nil, serviceError(ctx, "tsa", url, err)
	}
	return ts, nil
}

func (s *Signer) requestTimestamp(ctx context.Context, url string, sig []byte) ([]byte, error) {
	// RFC 3161 section 2.4.1: a large random number; 63 bits keep it positive.
	nonce, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 63))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(sig)
	req := timestamp.Request{HashAlgorithm: crypto.SHA256, HashedMessage: sum[:], Certificates: true, Nonce: nonce}
	query, err := req.Marshal()
	if err != nil {
		return nil, err
	}
	a, err := s.http.do(ctx, http.MethodPost, url, http.Header{"Content-Type": {"application/timestamp-query"}}, query)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK && a.status != http.StatusCreated {
		return nil, a.err()
	}
	ts, err := timestamp.ParseResponse(a.body)
	switch {
	case err != nil:
		return nil, err
	case ts.HashAlgorithm != crypto.SHA256 || !bytes.Equal(ts.HashedMessage, sum[:]):
		return nil, errors.New("the timestamp is for something else")
	case ts.Nonce == nil || ts.Nonce.Cmp(nonce) != 0:
		return nil, errors.New("the timestamp is the answer to another request")
	case len(ts.Certificates) == 0:
		return nil, errors.New("the timestamp lacks the certificate that was asked for")
	}
	return a.body, nil
}
