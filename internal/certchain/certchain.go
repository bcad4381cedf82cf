// Package certchain tells apart the certificates of a file with trust material:
// the roots, and what lies below them. A timestamp server, for example, serves
// its certificate, the intermediate and the root in one file.
package certchain

import (
	"bytes"
	"crypto/x509"
)

// Split returns the certificates that none of the others has issued, which are
// to be trusted by themselves, and those that one of the others has issued,
// which help to build a chain. Where each has been issued by another one all are
// roots. Certificates are not checked otherwise.
func Split(certs []*x509.Certificate) (roots, below []*x509.Certificate) {
	for _, c := range certs {
		if issuedByAny(c, certs) {
			below = append(below, c)
		} else {
			roots = append(roots, c)
		}
	}
	if len(roots) == 0 {
		return certs, nil
	}
	return roots, below
}

// Under returns those of certs that root has issued, or one of them that is
// under root itself.
func Under(root *x509.Certificate, certs []*x509.Certificate) []*x509.Certificate {
	found := []*x509.Certificate{root}
	taken := make([]bool, len(certs))
	for i := 0; i < len(found); i++ {
		for j, c := range certs {
			if !taken[j] && issued(found[i], c) {
				taken[j], found = true, append(found, c)
			}
		}
	}
	return found[1:]
}

func issuedByAny(c *x509.Certificate, certs []*x509.Certificate) bool {
	if bytes.Equal(c.RawIssuer, c.RawSubject) && c.CheckSignatureFrom(c) == nil {
		return false
	}
	for _, issuer := range certs {
		if issued(issuer, c) {
			return true
		}
	}
	return false
}

func issued(issuer, c *x509.Certificate) bool {
	return bytes.Equal(c.RawIssuer, issuer.RawSubject) && !c.Equal(issuer) && c.CheckSignatureFrom(issuer) == nil
}
