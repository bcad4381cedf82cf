package verify

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	intoto "github.com/in-toto/attestation/go/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/mcpsign/mcpsign/lock"
)

// A badEvidence says why a bundle is no evidence.
type badEvidence struct {
	reason Reason
	signer lock.Signer // who signed, where that verified or is claimed by a key's hint
	err    error
}

func (b *badEvidence) Error() string { return b.err.Error() }

func bad(reason Reason, format string, args ...any) *badEvidence {
	return &badEvidence{reason: reason, err: fmt.Errorf(format, args...)}
}

// clean makes an error of a library, which may quote a bundle, fit for a
// terminal: one line of visible text of bounded length.
func clean(what string, err error) error {
	text := strings.NewReplacer("\n", "; ", "\u00a0", " ").Replace(err.Error())
	return fmt.Errorf("%s: %s", what, shown(text))
}

// shown returns the start of text that a bundle brings along, fit for a
// terminal.
func shown(text string) string {
	const limit = 400
	if len(text) > limit {
		return lock.Visible(strings.ToValidUTF8(text[:limit], "")) + "..."
	}
	return lock.Visible(text)
}

// An entity is a bundle as sigstore-go asks for it: several times, so that its
// parts are kept.
type entity struct {
	*sgbundle.Bundle
	content  sgverify.VerificationContent
	envelope envelope
}

// VerificationContent implements sigstore-go's SignedEntity.
func (e *entity) VerificationContent() (sgverify.VerificationContent, error) { return e.content, nil }

// SignatureContent implements sigstore-go's SignedEntity.
func (e *entity) SignatureContent() (sgverify.SignatureContent, error) { return e.envelope, nil }

// Version implements sigstore-go's SignedEntity. For the versions that exist
// sigstore-go tries P-384 with SHA-256 as well, which old clients made, and says
// so on standard error.
func (e *entity) Version() (string, error) { return "", nil }

// An envelope is one whose statement sigstore-go does not read: we do, and
// strictly.
type envelope struct{ *sgbundle.Envelope }

// EnvelopeContent implements sigstore-go's SignatureContent.
func (e envelope) EnvelopeContent() sgverify.EnvelopeContent { return e }

// Statement implements sigstore-go's EnvelopeContent.
func (e envelope) Statement() (*intoto.Statement, error) { return nil, nil }

// decodeHint reads the hint under which a bundle names its key: base64 of the
// SHA-256 of the key's PKIX DER.
func decodeHint(hint string) (lock.Digest, error) {
	raw, err := base64.StdEncoding.DecodeString(hint)
	if err != nil || len(raw) != len(lock.Digest{}) || base64.StdEncoding.EncodeToString(raw) != hint {
		return lock.Digest{}, errors.New("the hint is no SHA-256")
	}
	return lock.Digest(raw), nil
}
