package verify

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
)

// A certPath is a chain from a signing certificate to a root, as path validation
// (RFC 5280 section 6) found it.
type certPath struct {
	links      []link // from the signing certificate on
	from, till time.Time
	listed     [][]*standing // what the lists of the policy say, for each link
}

// pathsOf returns what is kept of chains to the root of the first.
func (d *domain) pathsOf(chains [][]*x509.Certificate) []certPath {
	root := chains[0][len(chains[0])-1]
	var paths []certPath
	for _, chain := range chains {
		if !chain[len(chain)-1].Equal(root) {
			continue
		}
		p := certPath{from: root.NotBefore, till: root.NotAfter}
		for i, c := range chain[:len(chain)-1] {
			l := newLink(c, chain[i+1])
			p.links, p.listed = append(p.links, l), append(p.listed, d.listed(l))
			if c.NotBefore.After(p.from) {
				p.from = c.NotBefore
			}
			if c.NotAfter.Before(p.till) {
				p.till = c.NotAfter
			}
		}
		paths = append(paths, p)
	}
	return paths
}

// listed returns what the lists of the policy say about a certificate.
func (d *domain) listed(l link) []*standing {
	var found []*standing
	for _, c := range d.crls {
		if s, err := c.about(l); err == nil && s != nil { // else it is by another of the name
			found = append(found, s)
		}
	}
	return found
}

// listedRevoked says that the lists of the policy revoke a certificate of
// evidence, at the time of the signature, or ever if that is not known; nil if
// they do not, or there is none.
func (e *evidence) listedRevoked() *badEvidence {
	for _, p := range e.paths {
		for i, l := range p.links {
			if x := revokedBefore(p.listed[i], e.times); x != nil {
				return revoked(counted{evidence: e}, l, x)
			}
		}
	}
	return nil
}

// An authority is the own PKI as sigstore-go asks for it. It checks one
// bundle's certificate: more strictly than sigstore-go, which accepts a leaf
// without extended key usage, and it keeps what sigstore-go drops: the root
// found, and the reason of a refusal.
type authority struct {
	roots         *x509.CertPool
	intermediates *x509.CertPool
	chains        [][]*x509.Certificate
	err           error
}

// Verify implements sigstore-go's CertificateAuthority.
func (a *authority) Verify(leaf *x509.Certificate, at time.Time) ([][]*x509.Certificate, error) {
	if a.err = checkLeaf(leaf); a.err != nil {
		return nil, a.err
	}
	chains, err := a.at(leaf, at)
	if err != nil {
		a.err = clean(fmt.Sprintf("certificate at the time of signing, %s", at.UTC().Format(time.RFC3339)), err)
		return nil, a.err
	}
	a.chains = chains
	return chains, nil
}

// at returns the chains that are valid at that time.
func (a *authority) at(leaf *x509.Certificate, at time.Time) ([][]*x509.Certificate, error) {
	return leaf.Verify(x509.VerifyOptions{
		Roots: a.roots, Intermediates: a.intermediates, CurrentTime: at,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	})
}

// runUntimed verifies b but for the time: a is asked for the chains of every
// time. Only with a key sigstore-go verifies a signature without a time and
// without reading the clock, so it is shown the key of the certificate.
func (d *domain) runUntimed(b *entity, a *authority) (*sgverify.VerificationResult, error) {
	leaf := b.content.Certificate()
	if a.err = a.everAfter(leaf, slices.Concat(b.content.Intermediates(), d.below, d.roots)); a.err != nil {
		return nil, a.err
	}
	v, err := signature.LoadDefaultVerifier(leaf.PublicKey)
	if err != nil {
		return nil, clean("certificate", err)
	}
	bare := &entity{Bundle: b.Bundle, content: leafKey{}, envelope: b.envelope}
	return run(bare, &leafMaterial{verifier: v}, false, sgverify.WithKey())
}

// everAfter finds the chains of leaf of all times. Each is valid from the start
// of one of its certificates on, so that these are all the times to try.
func (a *authority) everAfter(leaf *x509.Certificate, others []*x509.Certificate) error {
	times := []time.Time{leaf.NotBefore}
	for _, c := range others {
		if c.NotBefore.After(leaf.NotBefore) && !c.NotBefore.After(leaf.NotAfter) {
			times = append(times, c.NotBefore)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	if err := checkLeaf(leaf); err != nil {
		return err
	}
	var first error
	for _, at := range slices.CompactFunc(times, time.Time.Equal) {
		found, err := a.at(leaf, at)
		if err != nil && first == nil {
			first = clean("certificate", err)
		}
		for _, c := range found {
			same := func(have []*x509.Certificate) bool { return slices.EqualFunc(have, c, (*x509.Certificate).Equal) }
			if !slices.ContainsFunc(a.chains, same) {
				a.chains = append(a.chains, c)
			}
		}
	}
	if len(a.chains) > 0 {
		return nil
	}
	return first
}

// leafKey is the content of a bundle whose key is that of leafMaterial.
type leafKey struct{}

// CompareKey implements sigstore-go's VerificationContent.
func (leafKey) CompareKey(any, sgroot.TrustedMaterial) bool { return false }

// ValidAtTime implements sigstore-go's VerificationContent. No time is known.
func (leafKey) ValidAtTime(time.Time, sgroot.TrustedMaterial) bool { return true }

// Certificate implements sigstore-go's VerificationContent.
func (leafKey) Certificate() *x509.Certificate { return nil }

// Intermediates implements sigstore-go's VerificationContent.
func (leafKey) Intermediates() []*x509.Certificate { return nil }

// PublicKey implements sigstore-go's VerificationContent.
func (k leafKey) PublicKey() sgverify.PublicKeyProvider { return k }

// Hint implements sigstore-go's PublicKeyProvider.
func (leafKey) Hint() string { return "" }

// leafMaterial is the key of one certificate, which was checked.
type leafMaterial struct {
	sgroot.BaseTrustedMaterial
	verifier signature.Verifier
}

// PublicKeyVerifier implements sigstore-go's TrustedMaterial.
func (m *leafMaterial) PublicKeyVerifier(string) (sgroot.TimeConstrainedVerifier, error) {
	return &trustedKey{Verifier: m.verifier}, nil
}

// checkLeaf checks what path validation (RFC 5280 section 6) does not: that
// the certificate is for signing.
func checkLeaf(c *x509.Certificate) error {
	switch {
	case c.IsCA:
		return errors.New("the signing certificate is a certificate authority's")
	case !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageCodeSigning):
		return errors.New("the certificate lacks the extended key usage codeSigning")
	case c.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return errors.New("the certificate lacks the key usage digitalSignature")
	}
	return nil
}
