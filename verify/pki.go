package verify

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/mcpsign/mcpsign/lock"
)

// A domain is one PKI, with which certificates that are not of Sigstore are
// checked.
type domain struct {
	*material                // with the timestamp authorities that count here
	pool      *x509.CertPool // nil if there are no roots
	ids       map[string]bool
	crls      []*x509.RevocationList
}

// newDomain returns the PKI of t. Timestamp authorities are those of m.
func (m *material) newDomain(t Trust) (*domain, error) {
	d := &domain{material: m, ids: make(map[string]bool), crls: t.CRLs}
	if slices.Contains(t.Roots, nil) || slices.Contains(t.CRLs, nil) {
		return nil, &TrustError{errors.New("a root is no certificate, or a revocation list is none")}
	}
	for _, c := range t.Roots {
		if !c.IsCA {
			return nil, &TrustError{fmt.Errorf("root %s is no certificate authority", lock.Visible(c.Subject.String()))}
		}
		if d.pool == nil {
			d.pool = x509.NewCertPool()
		}
		d.pool.AddCert(c)
		d.ids[m.keep(c.Raw).String()] = true
	}
	for _, l := range t.CRLs {
		if err := checkList(l); err != nil {
			return nil, &TrustError{fmt.Errorf("revocation list by %s: %w", lock.Visible(l.Issuer.String()), err)}
		}
	}
	return d, nil
}

// newPublisherDomain returns the PKI of a publisher, who may have timestamp
// authorities of its own: then no others count.
func (m *material) newPublisherDomain(t Trust) (*domain, error) {
	own := *m
	if len(t.TSAs) > 0 {
		own.tsas = nil
		own.addTSAs(t.TSAs)
	}
	return own.newDomain(t)
}

// pki is the material for one bundle of own PKI.
type pki struct {
	*material
	ca *authority
}

// FulcioCertificateAuthorities implements sigstore-go's TrustedMaterial.
func (p *pki) FulcioCertificateAuthorities() []sgroot.CertificateAuthority {
	if p.ca == nil {
		return nil
	}
	return []sgroot.CertificateAuthority{p.ca}
}

func (d *domain) verifyPKI(b *entity, e *evidence) (*sgverify.VerificationResult, *badEvidence) {
	if d.pool == nil {
		return nil, bad(TrustMissing, "the signature is made with an X.509 certificate, and no root is trusted")
	}
	if no := d.missing(b); no != nil {
		return nil, no
	}
	name, err := subject(b.content.Certificate())
	if err != nil {
		return nil, &badEvidence{reason: BadSignature, err: err}
	}
	p := &pki{d.material, &authority{roots: d.pool, intermediates: x509.NewCertPool()}}
	for _, c := range b.content.Intermediates() {
		p.ca.intermediates.AddCert(c)
	}
	result, err := run(b, p, false, sgverify.WithoutIdentitiesUnsafe())
	switch {
	case p.ca.err != nil:
		return nil, &badEvidence{reason: BadSignature, err: p.ca.err}
	case err != nil:
		return nil, &badEvidence{reason: BadSignature, err: err}
	case len(p.ca.chains) == 0:
		return nil, bad(BadSignature, "the certificate was not checked")
	}
	chain := p.ca.chains[0]
	root := lock.Digest(sha256.Sum256(chain[len(chain)-1].Raw))
	e.trust = []lock.Digest{root}
	e.signer = lock.Signer{Root: root.String(), Subject: name}
	return result, d.unrevoked(p.ca.chains, result, e)
}

// unrevoked asks the revocation lists, now that it is known who signed, and
// when.
func (d *domain) unrevoked(chains [][]*x509.Certificate, result *sgverify.VerificationResult, e *evidence) *badEvidence {
	if len(d.crls) == 0 {
		return nil
	}
	var times []time.Time
	for _, ts := range result.VerifiedTimestamps {
		times = append(times, ts.Timestamp)
	}
	windows, err := askLists(d.crls, chains, times)
	if err == nil {
		e.lists = windows
		return nil
	}
	reason := Revoked
	if none := (*errNoList)(nil); errors.As(err, &none) {
		reason = TrustMissing
	}
	return &badEvidence{reason, e.signer, err}
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
	chains, err := leaf.Verify(x509.VerifyOptions{
		Roots: a.roots, Intermediates: a.intermediates, CurrentTime: at,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	})
	if err != nil {
		a.err = clean(fmt.Sprintf("certificate at the time of signing, %s", at.UTC().Format(time.RFC3339)), err)
		return nil, a.err
	}
	a.chains = chains
	return chains, nil
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

// subject returns the one URI or e-mail address that a certificate names,
// byte for byte: crypto/x509 keeps a URI in parts and writes it anew.
func subject(c *x509.Certificate) (string, error) {
	var names []asn1.RawValue
	for _, e := range c.Extensions {
		if !e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 17}) {
			continue
		}
		if _, err := asn1.Unmarshal(e.Value, &names); err != nil {
			return "", errors.New("the subject alternative names can't be read")
		}
	}
	kinds := map[int]string{1: "email", 6: "uri"} // RFC 5280 section 4.2.1.6
	names = slices.DeleteFunc(names, func(n asn1.RawValue) bool {
		return n.Class != asn1.ClassContextSpecific || kinds[n.Tag] == ""
	})
	if len(names) != 1 {
		return "", fmt.Errorf("the certificate has %d URIs and e-mail addresses as subject alternative names, want one", len(names))
	}
	name := string(names[0].Bytes)
	return name, checkSubject(kinds[names[0].Tag], name)
}
