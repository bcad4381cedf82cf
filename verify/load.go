package verify

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	intoto "github.com/in-toto/attestation/go/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/canonical"
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

// load reads a bundle strictly and checks its shape: a DSSE envelope with an
// in-toto payload and one signature, within the limits.
func load(data []byte) (*entity, *badEvidence) {
	if len(data) > lock.MaxBundle {
		return nil, bad(BadSignature, "bundle of more than %d bytes", lock.MaxBundle)
	}
	b, err := read(data)
	if err != nil {
		return nil, &badEvidence{reason: BadSignature, err: clean("bundle", err)}
	}
	dsse := b.GetDsseEnvelope()
	switch {
	case dsse == nil:
		return nil, bad(WrongKind, "bundle signs a file, not a statement")
	case dsse.GetPayloadType() != attest.PayloadType:
		return nil, bad(WrongKind, "payload type is %s, not %s", shown(dsse.GetPayloadType()), attest.PayloadType)
	case len(dsse.GetSignatures()) != 1:
		return nil, bad(BadSignature, "envelope has %d signatures, want one", len(dsse.GetSignatures()))
	}
	if err := checkLimits(b.GetVerificationMaterial()); err != nil {
		return nil, bad(BadSignature, "bundle: %w", err)
	}
	e := &entity{Bundle: b}
	if e.content, err = b.VerificationContent(); err == nil {
		e.envelope.Envelope, err = b.Envelope()
	}
	if err != nil {
		return nil, &badEvidence{reason: BadSignature, err: clean("bundle", err)}
	}
	return e, nil
}

// read reads the JSON of a bundle of version 0.1 to 0.3. A chain of
// certificates is read in version 0.3 alone, where sigstore-go must be told so.
func read(data []byte) (*sgbundle.Bundle, error) {
	version := ""
	r := canonical.NewReader(data)
	err := r.Object(func(name string) (err error) {
		if name == "mediaType" || name == "media_type" {
			version, err = r.String()
			return err
		}
		return r.Skip()
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, err
	}
	b := new(sgbundle.Bundle)
	if version == "application/vnd.dev.sigstore.bundle.v0.3+json" || version == "application/vnd.dev.sigstore.bundle+json;version=0.3" {
		sgbundle.AllowCertificateChain()(b)
	}
	return b, b.UnmarshalJSON(data)
}

// decodeHint reads the hint under which a bundle names its key: base64 of the
// SHA-256 of the key's PKIX DER.
func decodeHint(hint string) (lock.Digest, error) {
	raw, err := base64.StdEncoding.DecodeString(hint)
	if err != nil || len(raw) != len(lock.Digest{}) || base64.StdEncoding.EncodeToString(raw) != hint {
		return lock.Digest{}, errors.New("the hint is no SHA-256")
	}
	return lock.Digest(raw), nil
}
