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

	"github.com/mcpsign/mcpsign/lock"
)

// A domain is one PKI, with which certificates that are not of Sigstore are
// checked.
type domain struct {
	*material                // with the timestamp authorities that count here
	pool      *x509.CertPool // nil if there are no roots
	roots     []*x509.Certificate
	ids       map[string]bool
	crls      []*crl
	required  bool // the status of every certificate
	ownTSAs   bool // no timestamp authorities but the publisher's count
	untimed   bool // a signature without a time counts while its certificates are valid
}

// newDomain returns the PKI of t. Timestamp authorities are those of m.
func (m *material) newDomain(t Trust) (*domain, error) {
	d := &domain{material: m, ids: make(map[string]bool), roots: t.Roots}
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
	ca := &authority{roots: d.pool, intermediates: x509.NewCertPool()}
	for _, c := range b.content.Intermediates() {
		ca.intermediates.AddCert(c)
	}
	var result *sgverify.VerificationResult
	if e.untimed = d.untimed && len(b.GetVerificationMaterial().GetTlogEntries())+len(stamps(b)) == 0; e.untimed {
		result, err = d.runUntimed(b, ca)
	} else {
		result, err = run(b, &pki{d.material, ca}, false, sgverify.WithoutIdentitiesUnsafe())
	}
	switch {
	case ca.err != nil:
		return nil, &badEvidence{reason: BadSignature, err: ca.err}
	case err != nil:
		return nil, &badEvidence{reason: BadSignature, err: err}
	case len(ca.chains) == 0:
		return nil, bad(BadSignature, "the certificate was not checked")
	}
	chain := ca.chains[0]
	root := lock.Digest(sha256.Sum256(chain[len(chain)-1].Raw))
	e.trust = []lock.Digest{root}
	e.signer = lock.Signer{Root: root.String(), Subject: name}
	e.domain, e.paths = d, d.pathsOf(ca.chains)
	return result, nil
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
