package verify

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/digitorus/timestamp"
	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/mcpsign/mcpsign/internal/certchain"
	"github.com/mcpsign/mcpsign/lock"
)

// A Material is a kind of file with trust material.
type Material string

// The kinds of trust material. They are stable.
const (
	KeyFile         Material = "key"          // a public key
	RootsFile       Material = "roots"        // certificates of private PKI: roots, and intermediates that bundles lack
	TSARootsFile    Material = "tsa_roots"    // certificates of timestamp authorities: roots, and what timestamps lack below them
	TrustedRootFile Material = "trusted_root" // Sigstore trusted_root.json
)

// A MissingError is the cause of a Diagnostic with the reason TrustMissing:
// the evidence may be good, and a file of the kind Need would tell.
type MissingError struct {
	Need Material
	Err  error
}

func (e *MissingError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Err }

func lacks(need Material, format string, args ...any) *badEvidence {
	return &badEvidence{reason: TrustMissing, err: &MissingError{need, fmt.Errorf(format, args...)}}
}

// missing reports material that the bundle needs and that is not there at all,
// so that nothing can be said about it.
func (m *material) missing(b *entity) *badEvidence {
	if len(stamps(b)) > 0 && len(m.tsas) == 0 {
		return lacks(TSARootsFile, "the bundle has a timestamp, and no timestamp authority is trusted")
	}
	for _, entry := range b.GetVerificationMaterial().GetTlogEntries() {
		id := fmt.Sprintf("%x", entry.GetLogId().GetKeyId())
		if _, ok := m.RekorLogs()[id]; !ok {
			return lacks(TrustedRootFile, "the bundle has an entry of transparency log %s, which no trusted root has", shown(id))
		}
	}
	return nil
}

// A supplied is trust material together with what a bundle itself would have to
// be trusted for. It tells evidence that is broken from evidence of which the
// authority is unknown, and never makes a signature count.
type supplied struct {
	sgroot.TrustedMaterial
	tsas []sgroot.TimestampingAuthority
	cas  []sgroot.CertificateAuthority
	noCT bool // the issuer of the certificate, or its CT log, is unknown
}

// TimestampingAuthorities implements sigstore-go's TrustedMaterial.
func (s *supplied) TimestampingAuthorities() []sgroot.TimestampingAuthority {
	return slices.Concat(s.TrustedMaterial.TimestampingAuthorities(), s.tsas)
}

// FulcioCertificateAuthorities implements sigstore-go's TrustedMaterial.
func (s *supplied) FulcioCertificateAuthorities() []sgroot.CertificateAuthority {
	return slices.Concat(s.TrustedMaterial.FulcioCertificateAuthorities(), s.cas)
}

// CTLogs implements sigstore-go's TrustedMaterial.
func (s *supplied) CTLogs() map[string]*sgroot.TransparencyLog {
	if s.noCT {
		return nil
	}
	return s.TrustedMaterial.CTLogs()
}

// supply adds the authorities of timestamps that are unknown, and says what is
// missing; nil if each is known.
func (s *supplied) supply(b *entity) *badEvidence {
	var no *badEvidence
	for _, raw := range stamps(b) {
		ts, err := timestamp.ParseResponse(raw)
		if err != nil || !unknownStamp(s.TrustedMaterial.TimestampingAuthorities(), raw, b.envelope.Signature(), len(ts.Certificates) > 0) {
			continue
		}
		if len(ts.Certificates) == 0 {
			s.tsas = append(s.tsas, bareStamps{})
			no = lacks(TSARootsFile, "the timestamp does not carry the certificate that signed it, and no trusted timestamp authority has signed it")
			continue
		}
		roots, below := certchain.Split(ts.Certificates)
		for _, root := range roots {
			s.tsas = append(s.tsas, newStampAuthority(root, below))
		}
		no = lacks(TSARootsFile, "timestamp: certificate signed by unknown authority: the issuer %s is not among the trusted certificates", nameOf(roots[0].Issuer))
	}
	return no
}

// unknownStamp reports whether none of the authorities knows the one that made a
// timestamp. One that is known, and was not to be relied on then, is not unknown.
func unknownStamp(tsas []sgroot.TimestampingAuthority, raw, signature []byte, certified bool) bool {
	return !slices.ContainsFunc(tsas, func(a sgroot.TimestampingAuthority) bool {
		if _, err := a.Verify(raw, signature); err == nil {
			return true
		} else if !certified || isUnknown(err) {
			return false
		}
		if s, ok := a.(*sgroot.SigstoreTimestampingAuthority); ok && s.Leaf != nil {
			other := *s // which may have got another certificate since
			other.Leaf = nil
			_, err := other.Verify(raw, signature)
			return err != nil && !isUnknown(err)
		}
		return true
	})
}

func isUnknown(err error) bool {
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &unknown)
}

// bareStamps takes every timestamp of the signature that brings no certificate.
type bareStamps struct{}

// Verify implements sigstore-go's TimestampingAuthority.
func (bareStamps) Verify(raw, signature []byte) (*sgroot.Timestamp, error) {
	ts, err := timestamp.ParseResponse(raw)
	if err != nil || len(ts.Certificates) > 0 || !ts.HashAlgorithm.Available() {
		return nil, errors.New("not a timestamp without certificates")
	}
	h := ts.HashAlgorithm.New()
	h.Write(signature)
	if !bytes.Equal(h.Sum(nil), ts.HashedMessage) {
		return nil, errors.New("the timestamp is of something else")
	}
	return &sgroot.Timestamp{Time: ts.Time, URI: "none"}, nil
}

// A stampAuthority is a root of timestamp authorities, with what is known below
// it. The URI of its timestamps lists the digests of what they rest on.
type stampAuthority struct {
	root        *x509.Certificate
	authorities []*x509.Certificate // intermediates
	leaves      []*x509.Certificate // for timestamps that do not bring theirs
}

func newStampAuthority(root *x509.Certificate, certs []*x509.Certificate) *stampAuthority {
	a := &stampAuthority{root: root}
	for _, c := range certchain.Under(root, certs) {
		if c.IsCA {
			a.authorities = append(a.authorities, c)
		} else {
			a.leaves = append(a.leaves, c)
		}
	}
	if !root.IsCA {
		a.leaves = append(a.leaves, root)
	}
	return a
}

// Verify implements sigstore-go's TimestampingAuthority.
func (a *stampAuthority) Verify(raw, signature []byte) (*sgroot.Timestamp, error) {
	ts, err := a.with(nil, nil, raw, signature)
	if err != nil && len(a.authorities) > 0 {
		ts, err = a.with(a.authorities, nil, raw, signature)
	}
	for _, leaf := range a.leaves {
		if err == nil {
			break
		}
		if got, no := a.with(a.authorities, leaf, raw, signature); no == nil {
			ts, err = got, nil
		}
	}
	return ts, err
}

func (a *stampAuthority) with(authorities []*x509.Certificate, leaf *x509.Certificate, raw, signature []byte) (*sgroot.Timestamp, error) {
	used := append([]*x509.Certificate{a.root}, authorities...)
	if leaf != nil && !leaf.Equal(a.root) {
		used = append(used, leaf)
	}
	var ids []string
	for _, c := range used {
		ids = append(ids, certificateID(c).String())
	}
	one := &sgroot.SigstoreTimestampingAuthority{Root: a.root, Intermediates: authorities, Leaf: leaf, URI: strings.Join(ids, " ")}
	return one.Verify(raw, signature)
}

// restsOn returns the digests that the URI of a timestamp lists, or of the
// trusted root where it is none of a stampAuthority.
func (m *material) restsOn(uri string) []lock.Digest {
	var ids []lock.Digest
	for id := range strings.FieldsSeq(uri) {
		d, err := lock.ParseDigest(id)
		if err != nil {
			return []lock.Digest{m.rootDigest}
		}
		ids = append(ids, d)
	}
	if len(ids) == 0 {
		return []lock.Digest{m.rootDigest}
	}
	return ids
}

// forged reports whether a certificate names one of the issuers by name and key
// and was not signed with that key.
func forged(c *x509.Certificate, issuers []*x509.Certificate) bool {
	return slices.ContainsFunc(issuers, func(issuer *x509.Certificate) bool {
		return bytes.Equal(c.RawIssuer, issuer.RawSubject) && len(c.AuthorityKeyId) > 0 &&
			bytes.Equal(c.AuthorityKeyId, issuer.SubjectKeyId) && c.CheckSignatureFrom(issuer) != nil
	})
}

// supplyIssuer makes the certificate of a keyless signature one that counts by
// itself, if no certificate authority of the trusted root has issued it or its CT
// log is unknown, and says what is missing.
func (s *supplied) supplyIssuer(b *entity) *badEvidence {
	leaf := b.content.Certificate()
	known := slices.ContainsFunc(s.TrustedMaterial.FulcioCertificateAuthorities(), func(a sgroot.CertificateAuthority) bool {
		f, ok := a.(*sgroot.FulcioCertificateAuthority)
		if !ok {
			return true
		}
		chain := slices.Concat(f.Intermediates, b.content.Intermediates())
		_, err := verifyChain(leaf, []*x509.Certificate{f.Root}, chain, leaf.NotBefore)
		return !isUnknown(err) || forged(leaf, append(chain, f.Root))
	})
	if !known {
		s.cas, s.noCT = append(s.cas, selfTrusted{}), true
		return lacks(TrustedRootFile, "certificate signed by unknown authority: the trusted root does not have the issuer %s", nameOf(leaf.Issuer))
	}
	logs := ctLogs(leaf)
	if len(logs) > 0 && len(s.TrustedMaterial.CTLogs()) > 0 && !slices.ContainsFunc(logs, func(id string) bool { return s.TrustedMaterial.CTLogs()[id] != nil }) {
		s.noCT = true
		return lacks(TrustedRootFile, "the certificate has an SCT of certificate transparency log %s, which the trusted root does not have", logs[0])
	}
	return nil
}

// nameOf returns the name of a certificate's subject or issuer, fit for a
// terminal.
func nameOf(name pkix.Name) string {
	if text := name.String(); text != "" {
		return shown(text)
	}
	return "without a name"
}

// selfTrusted is a certificate authority that takes every certificate that is
// valid at the time of signing.
type selfTrusted struct{}

// Verify implements sigstore-go's CertificateAuthority.
func (selfTrusted) Verify(leaf *x509.Certificate, at time.Time) ([][]*x509.Certificate, error) {
	return verifyChain(leaf, []*x509.Certificate{leaf}, nil, at)
}

func verifyChain(leaf *x509.Certificate, roots, intermediates []*x509.Certificate, at time.Time) ([][]*x509.Certificate, error) {
	return leaf.Verify(x509.VerifyOptions{Roots: poolOf(roots), Intermediates: poolOf(intermediates), CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}})
}

func poolOf(certs []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool
}

// ctLogs returns the IDs of the logs of the SCTs that a certificate has (RFC 6962
// section 3.3), in hexadecimal digits; none if they can't be read.
func ctLogs(c *x509.Certificate) []string {
	i := slices.IndexFunc(c.Extensions, func(e pkix.Extension) bool { return e.Id.String() == "1.3.6.1.4.1.11129.2.4.2" })
	var list []byte
	if i < 0 {
		return nil
	}
	if rest, err := asn1.Unmarshal(c.Extensions[i].Value, &list); err != nil || len(rest) > 0 || len(list) < 2 {
		return nil
	}
	var ids []string
	for list = list[2:]; len(list) >= 2; {
		n := int(list[0])<<8 | int(list[1])
		if list = list[2:]; n < 33 || n > len(list) {
			return nil
		}
		ids = append(ids, fmt.Sprintf("%x", list[1:33]))
		list = list[n:]
	}
	return ids
}

// signs reports whether the envelope is signed with the key of the bundle's
// certificate, or with the trusted key that it names. Nothing else is verified.
func (m *material) signs(b *entity) error {
	bare, material := &entity{Bundle: b.Bundle, content: b.content, envelope: b.envelope}, sgroot.TrustedMaterial(m)
	if leaf := b.content.Certificate(); leaf != nil {
		v, err := signature.LoadDefaultVerifier(leaf.PublicKey)
		if err != nil {
			return clean("certificate", err)
		}
		bare.content, material = leafKey{}, &leafMaterial{verifier: v}
	}
	v, err := sgverify.NewVerifier(material, sgverify.WithNoObserverTimestamps())
	if err == nil {
		_, err = v.Verify(bare, sgverify.NewPolicy(sgverify.WithoutArtifactUnsafe(), sgverify.WithKey()))
	}
	if err != nil {
		return clean("bundle", err)
	}
	return nil
}
