// Package sign turns statements into Sigstore bundles.
//
// There are three ways: [Keyless] (a certificate from Fulcio for an OIDC
// identity, logged in Rekor), [PKI] (a certificate of one's own PKI, with an
// RFC 3161 timestamp) and [Key] (a bare key). All of them give one Sigstore
// bundle v0.3 with one DSSE envelope of the payload type
// application/vnd.in-toto+json, whose payload is exactly the bytes of the
// statement.
//
// The package reads no clock and dials nothing by itself: every request goes
// through [Services].Client, and the time by which services are selected is
// [Services].Now. Bundles are not verified here, but for the one check that
// [Services].TrustedRoot asks for: whoever signs should verify the result as a
// host would before publishing it.
package sign

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"

	"github.com/mcpsign/mcpsign/attest"
)

// Services says which services take part in a signature and how they are
// reached. The zero Services name none, which is enough for [Key] only.
type Services struct {
	// SigningConfig is a Sigstore signing configuration v0.2 in JSON. Keyless
	// signing needs one. With PKI and Key it is optional, and the signature is
	// logged and stamped by the services that it names.
	SigningConfig []byte

	// TrustedRoot is a Sigstore trusted_root.json. If there is one, a keyless
	// bundle that does not verify against it is an error: signature,
	// certificate chain, SCTs, log entries and timestamps are checked, the
	// identity is not. If it does not know the services the error is a
	// *RootError, before anything is logged. PKI and Key do not use it.
	TrustedRoot []byte

	// Accept, if not nil, is asked about each certificate that Fulcio issued, before
	// anything is sent to a log of signatures. Its error ends the signature.
	Accept func(leaf *x509.Certificate) error

	// TSA is the URL of an RFC 3161 timestamp authority. It takes the place of
	// those in SigningConfig.
	TSA string

	// NoTimestamp asks for a signature without an RFC 3161 timestamp. A
	// certificate of one's own PKI then proves nothing once it has expired.
	NoTimestamp bool

	// Client makes the requests. Nil is an error if any service is named. Its
	// Timeout bounds one attempt; zero means 30 seconds. Redirects are not
	// followed, whatever its CheckRedirect says.
	Client *http.Client

	// Now selects the services of SigningConfig that are valid. The zero time
	// is an error if there is a SigningConfig.
	Now time.Time

	// Attempts bounds how often a request is made until it succeeds, Backoff
	// is the pause after the first attempt, doubled with each. Zero means 3
	// attempts and 1 second. Only broken connections, 429 and 5xx are tried
	// again.
	Attempts int
	Backoff  time.Duration
}

// A Signer makes signatures in one way. It is safe for concurrent use if its
// key is.
type Signer struct {
	key   *keypair            // nil for keyless
	chain []*x509.Certificate // nil but for PKI
	token func(context.Context) (string, error)

	services plan
	now      time.Time
	accept   func(*x509.Certificate) error // nil: every certificate is
	root     sgroot.TrustedMaterial        // nil: not verified
	http     caller
}

// Keyless returns a Signer that makes a P-256 key for each signature and has
// Fulcio certify it for the identity that the OIDC token names. token is called
// for each key. The services are those of s.SigningConfig: one Fulcio, at
// least one Rekor log and, where the log is a Rekor v2, a timestamp authority.
func Keyless(token func(context.Context) (string, error), s Services) (*Signer, error) {
	if token == nil {
		return nil, errors.New("no source of identity tokens")
	}
	if len(s.SigningConfig) == 0 {
		return nil, errors.New("keyless signing needs a signing config")
	}
	signer, err := s.signer(true, rekorVersions)
	if err != nil {
		return nil, err
	}
	if err := signer.services.checkKeyless(); err != nil {
		return nil, err
	}
	if len(s.TrustedRoot) > 0 {
		if signer.root, err = sgroot.NewTrustedRootFromJSON(s.TrustedRoot); err != nil {
			return nil, fmt.Errorf("trusted root: %w", err)
		}
	}
	signer.token = token
	return signer, nil
}

// PKI returns a Signer for k and its certificate: chain has the leaf first,
// then the intermediates in order, without the root. The leaf must be for k
// (P-256, P-384 or Ed25519), carry the digitalSignature usage, the codeSigning
// extended usage and exactly one URI or e-mail name; each certificate must be
// signed by the next. Validity, revocation and the root are not checked: there
// is no clock here and no trust.
//
// s.TSA or s.SigningConfig must name a timestamp authority, unless
// s.NoTimestamp is set.
func PKI(k crypto.Signer, chain []*x509.Certificate, s Services) (*Signer, error) {
	key, err := newKeypair(k)
	if err != nil {
		return nil, err
	}
	if err := checkChain(k.Public(), chain); err != nil {
		return nil, err
	}
	signer, err := s.signer(false, key.rekorVersions())
	if err != nil {
		return nil, err
	}
	if len(signer.services.tsas) == 0 && !s.NoTimestamp {
		return nil, errors.New("signing with a certificate needs a timestamp authority")
	}
	signer.key, signer.chain = key, slices.Clone(chain)
	return signer, nil
}

// Key returns a Signer for the bare key k: ECDSA P-256 or P-384, or Ed25519.
// The bundle names the key by the hint base64(SHA-256(PKIX DER)). A timestamp
// or log entry is added if s names a service for it. Ed25519 signatures can't
// be logged, and P-384 signatures not in Rekor v1: both are refused here.
func Key(k crypto.Signer, s Services) (*Signer, error) {
	key, err := newKeypair(k)
	if err != nil {
		return nil, err
	}
	signer, err := s.signer(false, key.rekorVersions())
	if err != nil {
		return nil, err
	}
	signer.key = key
	return signer, nil
}

// signer returns a Signer without a key for the services of s, whose logs must
// have one of the given major versions.
func (s Services) signer(keyless bool, versions logVersions) (*Signer, error) {
	p, err := s.plan(keyless, versions)
	if err != nil {
		return nil, err
	}
	if s.Client == nil && !p.empty() {
		return nil, errors.New("no HTTP client for the signing services")
	}
	return &Signer{services: p, now: s.Now, accept: s.Accept, http: newCaller(s)}, nil
}

// Sign signs st and returns the bundle as one line of JSON, without a newline.
// The error is a *ServiceError if a service did not do its part, a *TokenError if
// the identity token would be refused. If ctx is
// canceled the error is that of ctx; if its deadline passes while a service is
// waited for, it is both.
//
// A signature that fails may be in a log already. Signing again does no harm.
func (s *Signer) Sign(ctx context.Context, st *attest.Statement) (bundle []byte, err error) {
	if st == nil {
		return nil, errors.New("nothing to sign")
	}
	return s.signPayload(ctx, st.Bytes())
}
