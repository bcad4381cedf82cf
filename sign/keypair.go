package sign

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"

	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore/pkg/signature"
)

// A keypair is a crypto.Signer as sigstore-go wants it.
type keypair struct {
	signer crypto.Signer
	alg    signature.AlgorithmDetails
	pkix   []byte
}

var _ sgsign.Keypair = (*keypair)(nil)

// newKeypair refuses keys that verifiers do not take for DSSE envelopes.
// The hash goes with the curve: SHA-256 for P-256 and SHA-384 for P-384, which
// is what sigstore-go verifies first.
func newKeypair(k crypto.Signer) (*keypair, error) {
	if k == nil {
		return nil, errors.New("no signing key")
	}
	var details protocommon.PublicKeyDetails
	switch pub := k.Public().(type) {
	case *ecdsa.PublicKey:
		switch pub.Curve {
		case elliptic.P256():
			details = protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256
		case elliptic.P384():
			details = protocommon.PublicKeyDetails_PKIX_ECDSA_P384_SHA_384
		default:
			return nil, fmt.Errorf("ECDSA keys on %s are not supported: use P-256, P-384 or Ed25519", pub.Curve.Params().Name)
		}
	case ed25519.PublicKey:
		details = protocommon.PublicKeyDetails_PKIX_ED25519
	case *rsa.PublicKey:
		return nil, errors.New("RSA keys are not supported: use ECDSA P-256, P-384 or Ed25519")
	default:
		return nil, fmt.Errorf("keys of type %T are not supported: use ECDSA P-256, P-384 or Ed25519", pub)
	}
	alg, err := signature.GetAlgorithmDetails(details)
	if err != nil {
		return nil, err
	}
	pkix, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	return &keypair{k, alg, pkix}, nil
}

// rekorVersions returns the logs that take signatures of this key. Rekor v1
// verifies every DSSE envelope with SHA-256; Rekor v2 takes Ed25519 only
// prehashed, which DSSE envelopes are not.
func (k *keypair) rekorVersions() logVersions {
	switch k.alg.GetSignatureAlgorithm() {
	case protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256:
		return rekorVersions
	case protocommon.PublicKeyDetails_PKIX_ECDSA_P384_SHA_384:
		return logVersions{2}
	}
	return nil
}

func (k *keypair) GetHashAlgorithm() protocommon.HashAlgorithm { return k.alg.GetProtoHashType() }
func (k *keypair) GetSigningAlgorithm() protocommon.PublicKeyDetails {
	return k.alg.GetSignatureAlgorithm()
}
func (k *keypair) GetPublicKey() crypto.PublicKey { return k.signer.Public() }

// GetHint returns base64(SHA-256(PKIX DER)).
func (k *keypair) GetHint() []byte {
	sum := sha256.Sum256(k.pkix)
	return []byte(base64.StdEncoding.EncodeToString(sum[:]))
}

// GetKeyAlgorithm returns the name that Fulcio has for the kind of key.
func (k *keypair) GetKeyAlgorithm() string {
	if k.alg.GetKeyType() == signature.ED25519 {
		return "ED25519"
	}
	return "ECDSA"
}

func (k *keypair) GetPublicKeyPem() (string, error) {
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.pkix})), nil
}

// SignData returns the signature over data and what was given to the key: the
// digest or, for Ed25519, data itself. The signature is checked, because a
// signer can be a device or a remote service with another key than it says.
func (k *keypair) SignData(ctx context.Context, data []byte) (sig, digest []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	h := k.alg.GetHashType()
	digest = data
	if h != crypto.Hash(0) {
		w := h.New()
		w.Write(data)
		digest = w.Sum(nil)
	}
	if sig, err = k.signer.Sign(rand.Reader, digest, h); err != nil {
		return nil, nil, fmt.Errorf("signing with the key: %w", err)
	}
	var ok bool
	switch pub := k.signer.Public().(type) {
	case *ecdsa.PublicKey:
		ok = ecdsa.VerifyASN1(pub, digest, sig)
	case ed25519.PublicKey:
		ok = ed25519.Verify(pub, digest, sig)
	}
	if !ok {
		return nil, nil, errors.New("signing with the key: the signature does not verify with its public key")
	}
	return sig, digest, nil
}
