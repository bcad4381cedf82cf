package verify

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// evidence is a bundle whose signature, certificate, log entries and
// timestamps all verify. Who signed is known; whether they may is not.
type evidence struct {
	bundle    lock.Digest
	signer    lock.Signer
	statement *attest.Statement
	surface   lock.Digest   // of a statement about definitions
	times     []time.Time   // verified; empty for a key without timestamp
	trust     []lock.Digest // material it was verified with, sorted
	key       *trustedKey   // nil for a certificate
	entries   int           // of transparency logs
	stamps    int           // of timestamp authorities

	// For own PKI: where the certificate was checked, how, and whether that has
	// yet to be done for the time of the request, as no other is known.
	domain  *domain
	paths   []certPath
	untimed bool
}

// verify checks everything a bundle contains against the material: a
// certificate that is not of Sigstore against the PKI d.
func (m *material) verify(data []byte, d *domain) checked {
	b, no := load(data)
	if no != nil {
		return checked{bad: no}
	}
	leaf := b.content.Certificate()
	c := checked{pki: leaf != nil && !isKeyless(leaf)}
	c.evidence, c.bad = m.verifyEntity(b, data, d)
	for _, other := range m.others {
		if c.bad == nil {
			break
		}
		e, no := other.verifyEntity(b, data, d.under(other))
		// A root that knows what signed says more than one that does not.
		if no == nil || c.bad.reason == TrustMissing && no.reason != TrustMissing {
			c.evidence, c.bad = e, no
		}
	}
	if c.evidence != nil && c.evidence.domain != nil {
		c.evidence.domain = d
	}
	return c
}

func (m *material) verifyEntity(b *entity, data []byte, d *domain) (*evidence, *badEvidence) {
	var no *badEvidence
	e := &evidence{bundle: sha256.Sum256(data)}
	var result *sgverify.VerificationResult
	if leaf := b.content.Certificate(); leaf == nil {
		result, no = m.verifyKey(b, e)
	} else if isKeyless(leaf) {
		result, no = m.verifyKeyless(b, e)
	} else {
		result, no = d.verifyPKI(b, e)
	}
	if no != nil {
		if unsaid := no.reason == TrustMissing || no.reason == Unsigned; unsaid {
			if err := m.signs(b); err != nil {
				return nil, &badEvidence{BadSignature, lock.Signer{}, err}
			}
		}
		return nil, no
	}
	for _, ts := range result.VerifiedTimestamps {
		e.times = append(e.times, ts.Timestamp)
		e.trust = append(e.trust, m.restsOn(ts.URI)...)
		if e.key != nil && !e.key.mayUse(ts.Timestamp) {
			return nil, &badEvidence{Expired, e.signer,
				fmt.Errorf("the key was not valid when it signed, at %s", ts.Timestamp.UTC().Format(time.RFC3339))}
		}
	}
	e.entries, e.stamps = len(b.GetVerificationMaterial().GetTlogEntries()), len(stamps(b))
	if e.entries > 0 {
		e.trust = append(e.trust, m.rootDigest)
	}
	slices.SortFunc(e.trust, lock.Digest.Compare)
	e.trust = slices.Compact(e.trust)

	statement, err := attest.ParseAny(b.GetDsseEnvelope().GetPayload())
	if err != nil {
		reason := BadSignature
		if foreign := (*attest.ForeignError)(nil); errors.As(err, &foreign) {
			reason = WrongKind
		}
		return nil, &badEvidence{reason, e.signer, err}
	}
	e.statement, e.surface = statement, statement.Surface()
	return e, nil
}

// failed returns why a bundle is not evidence that does not verify: it is broken,
// or what is unknown is missing, if it verifies once that is supplied.
func failed(err error, unknown *badEvidence, again func() error) *badEvidence {
	switch {
	case errors.Is(err, ErrNoTime), errors.Is(err, ErrNoLog):
		return &badEvidence{Unsigned, lock.Signer{}, err}
	case unknown != nil && again() == nil:
		return unknown
	}
	return &badEvidence{BadSignature, lock.Signer{}, err}
}

// ErrNoTime says that nothing tells when a certificate signed: there is neither a
// timestamp nor a log entry. Only a signature from a private PKI can do without,
// see Policy. The signature itself is not broken: the reason is Unsigned.
var ErrNoTime = errors.New("there is neither an RFC 3161 timestamp nor a log entry with a signed time")

// ErrNoLog says that a keyless signature has no entry in a transparency log. A
// policy can do without for a publisher with a trusted root of its own. The
// signature itself is not broken: the reason is Unsigned.
var ErrNoLog = errors.New("there is no entry in a transparency log, which a keyless signature needs")

// run verifies b with the options that its own contents call for: whatever it
// has must verify.
func run(b *entity, material sgroot.TrustedMaterial, log bool, policy sgverify.PolicyOption) (*sgverify.VerificationResult, error) {
	entries := b.GetVerificationMaterial().GetTlogEntries()
	stamps := len(b.GetVerificationMaterial().GetTimestampVerificationData().GetRfc3161Timestamps())
	var options []sgverify.VerifierOption
	integrated := 0
	for _, entry := range entries {
		if entry.GetInclusionPromise() != nil {
			integrated++
		}
	}
	if len(entries) > 0 {
		options = append(options, sgverify.WithTransparencyLog(len(entries)))
	}
	if stamps > 0 {
		options = append(options, sgverify.WithSignedTimestamps(stamps))
	}
	if integrated > 0 {
		options = append(options, sgverify.WithIntegratedTimestamps(integrated))
	}
	if stamps+integrated == 0 {
		if b.content.Certificate() != nil {
			return nil, ErrNoTime
		}
		options = append(options, sgverify.WithNoObserverTimestamps())
	}
	if log && len(entries) == 0 {
		return nil, ErrNoLog
	}
	if leaf := b.content.Certificate(); leaf != nil && isKeyless(leaf) && len(material.CTLogs()) > 0 {
		options = append(options, sgverify.WithSignedCertificateTimestamps(1))
	}
	v, err := sgverify.NewVerifier(material, options...)
	if err != nil {
		return nil, err
	}
	// Subjects and identities are ours to judge, see Decide.
	result, err := v.Verify(b, sgverify.NewPolicy(sgverify.WithoutArtifactUnsafe(), policy))
	if err != nil {
		return nil, clean("bundle", err)
	}
	return result, nil
}

func (m *material) verifyKey(b *entity, e *evidence) (*sgverify.VerificationResult, *badEvidence) {
	hint := b.content.PublicKey().Hint()
	key, ok := m.keys[hint]
	if !ok {
		no := bad(WrongSigner, "signed with a key that is not trusted")
		if raw, err := decodeHint(hint); err == nil {
			no.signer = lock.Signer{Key: raw.String()}
			no.err = fmt.Errorf("signed with key:%s, which is not trusted", raw)
		}
		return nil, no
	}
	if no := m.missing(b); no != nil {
		return nil, no
	}
	e.key, e.signer, e.trust = key, lock.Signer{Key: key.id.String()}, []lock.Digest{key.id}
	result, err := run(b, m, false, sgverify.WithKey())
	if err != nil {
		more := &supplied{TrustedMaterial: m}
		return nil, failed(err, more.supply(b), func() error {
			_, err := run(b, more, false, sgverify.WithKey())
			return err
		})
	}
	return result, nil
}

// isKeyless reports whether a certificate has an extension in which Fulcio
// names the OpenID Connect issuer: 1.3.6.1.4.1.57264.1.1 or .8.
func isKeyless(leaf *x509.Certificate) bool {
	for _, e := range leaf.Extensions {
		if id := e.Id.String(); id == "1.3.6.1.4.1.57264.1.1" || id == "1.3.6.1.4.1.57264.1.8" {
			return true
		}
	}
	return false
}

func (m *material) verifyKeyless(b *entity, e *evidence) (*sgverify.VerificationResult, *badEvidence) {
	if m.sigstore == nil {
		return nil, lacks(TrustedRootFile, "the signature is keyless, and there is no Sigstore trusted root to check it with")
	}
	if no := m.missing(b); no != nil {
		return nil, no
	}
	name, err := subject(b.content.Certificate())
	if err != nil {
		return nil, &badEvidence{reason: BadSignature, err: err}
	}
	e.trust = []lock.Digest{m.rootDigest}
	result, err := run(b, m.sigstoreAndTSAs(), !m.withoutLog, sgverify.WithoutIdentitiesUnsafe())
	if err != nil {
		more := &supplied{TrustedMaterial: m.sigstoreAndTSAs()}
		unknown := more.supply(b)
		if no := more.supplyIssuer(b); no != nil {
			unknown = no
		}
		return nil, failed(err, unknown, func() error {
			_, err := run(b, more, !m.withoutLog, sgverify.WithoutIdentitiesUnsafe())
			return err
		})
	}
	if e.signer, err = openIDSigner(b.content.Certificate(), result.Signature.Certificate.Extensions, name); err != nil {
		return nil, &badEvidence{reason: BadSignature, err: err}
	}
	return result, nil
}

// sigstoreAndTSAs returns the trusted root with the timestamp authorities that
// are trusted besides.
func (m *material) sigstoreAndTSAs() sgroot.TrustedMaterial {
	if len(m.tsas) == len(m.sigstore.TimestampingAuthorities()) {
		return m.sigstore
	}
	return sgroot.TrustedMaterialCollection{m.sigstore, &pki{&material{tsas: m.tsas[len(m.sigstore.TimestampingAuthorities()):]}, nil}}
}
