package verify

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/mcpsign/mcpsign/internal/certchain"
	"github.com/mcpsign/mcpsign/lock"
)

// A domain is one PKI, with which certificates that are not of Sigstore are
// checked.
type domain struct {
	*material                // with the timestamp authorities that count here
	pool      *x509.CertPool // nil if there are no roots
	roots     []*x509.Certificate
	below     []*x509.Certificate // what the roots have issued, for bundles that lack it
	ids       map[string]bool
	crls      []*crl
	required  bool // the status of every certificate
	ownTSAs   bool // no timestamp authorities but the publisher's count
	untimed   bool // a signature without a time counts while its certificates are valid
}

// newDomain returns the PKI of t. Timestamp authorities are those of m.
func (m *material) newDomain(t Trust) (*domain, error) {
	d := &domain{material: m, ids: make(map[string]bool)}
	if slices.Contains(t.Roots, nil) || slices.Contains(t.CRLs, nil) {
		return nil, &TrustError{errors.New("a root is no certificate, or a revocation list is none")}
	}
	d.roots, d.below = certchain.Split(t.Roots)
	for _, c := range d.below {
		m.keep(c.Raw)
	}
	for _, c := range d.roots {
		if !c.IsCA {
			return nil, &TrustError{fmt.Errorf("root %s is not a certificate authority", lock.Visible(c.Subject.String()))}
		}
		if d.pool == nil {
			d.pool = x509.NewCertPool()
		}
		d.pool.AddCert(c)
		d.ids[m.keep(c.Raw).String()] = true
	}
	for _, l := range t.CRLs {
		c, err := newCRL(l)
		if err != nil {
			return nil, &TrustError{fmt.Errorf("revocation list by %s: %w", lock.Visible(l.Issuer.String()), err)}
		}
		d.crls = append(d.crls, c)
	}
	return d, nil
}

// newPublisherDomain returns the PKI of a publisher, who may have timestamp
// authorities of its own: then no others count.
func (m *material) newPublisherDomain(x *x509Form) (*domain, error) {
	own := *m
	if len(x.material.TSAs) > 0 {
		own.tsas = nil
		own.addTSAs(x.material.TSAs)
	}
	d, err := own.newDomain(*x.material)
	if err == nil {
		d.required, d.untimed, d.ownTSAs = x.required, x.untimed, len(x.material.TSAs) > 0
	}
	return d, err
}

// pki is the material for one bundle of own PKI.
type pki struct {
	sgroot.TrustedMaterial
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
		return nil, lacks(RootsFile, "the signature is made with an X.509 certificate, and no root is trusted")
	}
	if no := d.missing(b); no != nil {
		return nil, no
	}
	name, err := subject(b.content.Certificate())
	if err != nil {
		return nil, &badEvidence{reason: BadSignature, err: err}
	}
	e.untimed = d.untimed && len(b.GetVerificationMaterial().GetTlogEntries())+len(stamps(b)) == 0
	ca := d.authority(b, d.roots)
	result, err := d.runPKI(b, d.material, ca, e.untimed)
	if err != nil {
		more := &supplied{TrustedMaterial: d.material}
		unknown, trial := more.supply(b), d.authority(b, d.roots)
		if no := d.unknownIssuer(b, ca); no != nil {
			unknown, trial = no, d.authority(b, append(b.content.Intermediates(), b.content.Certificate()))
		}
		return nil, failed(err, unknown, func() error {
			_, err := d.runPKI(b, more, trial, e.untimed)
			return err
		})
	}
	chain := ca.chains[0]
	root := certificateID(chain[len(chain)-1])
	e.trust = append(d.fromBelow(chain, b.content.Intermediates()), root)
	e.signer = lock.Signer{Root: root.String(), Subject: name}
	e.domain, e.paths = d, d.pathsOf(ca.chains)
	return result, nil
}

// authority returns the certificate authorities of one bundle with the roots given.
func (d *domain) authority(b *entity, roots []*x509.Certificate) *authority {
	return &authority{roots: poolOf(roots), intermediates: poolOf(slices.Concat(d.below, b.content.Intermediates()))}
}

// runPKI verifies b with ca, and reports an error of ca rather than that
// something is wrong.
func (d *domain) runPKI(b *entity, material sgroot.TrustedMaterial, ca *authority, untimed bool) (*sgverify.VerificationResult, error) {
	var result *sgverify.VerificationResult
	var err error
	if untimed {
		result, err = d.runUntimed(b, ca)
	} else {
		result, err = run(b, &pki{material, ca}, false, sgverify.WithoutIdentitiesUnsafe())
	}
	switch {
	case ca.err != nil:
		return nil, ca.err
	case err != nil:
		return nil, err
	case len(ca.chains) == 0:
		return nil, errors.New("the certificate was not checked")
	}
	return result, nil
}

// unknownIssuer says that none of the certificates that are trusted, or that the
// bundle brings, leads from its certificate to a root; nil if one does, or if one
// claims to have been issued by another that has not.
func (d *domain) unknownIssuer(b *entity, ca *authority) *badEvidence {
	leaf := b.content.Certificate()
	chain := append([]*x509.Certificate{leaf}, b.content.Intermediates()...)
	known := slices.Concat(d.roots, d.below, chain[1:])
	if _, err := ca.at(leaf, leaf.NotBefore); !isUnknown(err) || slices.ContainsFunc(chain, func(c *x509.Certificate) bool { return forged(c, known) }) {
		return nil
	}
	top := chain[len(chain)-1]
	return lacks(RootsFile, "certificate signed by unknown authority: the issuer %s is not among the trusted certificates", nameOf(top.Issuer))
}

// fromBelow returns what of a chain neither the bundle brings nor is the root.
func (d *domain) fromBelow(chain, brought []*x509.Certificate) []lock.Digest {
	var ids []lock.Digest
	for _, c := range chain[1:max(1, len(chain)-1)] {
		if !slices.ContainsFunc(brought, c.Equal) {
			ids = append(ids, certificateID(c))
		}
	}
	return ids
}

// certificateID returns the SHA-256 of a certificate.
func certificateID(c *x509.Certificate) lock.Digest { return sha256.Sum256(c.Raw) }

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
