package sign

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
)

// maxChain bounds the certificates of a chain, the leaf included.
const maxChain = 8

// checkChain says whether chain can stand in a bundle for a signature of the
// key pub, and whether verifiers will find the one name they need in the leaf.
// Dates, revocation, path length, name constraints and the root are theirs.
func checkChain(pub crypto.PublicKey, chain []*x509.Certificate) error {
	if len(chain) == 0 || slices.Contains(chain, nil) {
		return errors.New("no certificate for the key")
	}
	if len(chain) > maxChain {
		return fmt.Errorf("chain of %d certificates: at most %d", len(chain), maxChain)
	}
	leaf := chain[0]
	if k, ok := leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !k.Equal(pub) {
		return fmt.Errorf("the first certificate (%s) is not for the signing key", leaf.Subject)
	}
	for i, c := range chain {
		if selfSigned(c) {
			if i == 0 {
				return fmt.Errorf("the certificate (%s) is self-signed: a PKI needs a root of its own", c.Subject)
			}
			return fmt.Errorf("certificate %d (%s) is a root: the chain ends below it", i+1, c.Subject)
		}
		if i > 0 {
			if err := chain[i-1].CheckSignatureFrom(c); err != nil {
				return fmt.Errorf("certificate %d (%s) did not issue certificate %d: %w", i+1, c.Subject, i, err)
			}
		}
	}
	return checkLeaf(leaf)
}

func selfSigned(c *x509.Certificate) bool {
	return bytes.Equal(c.RawSubject, c.RawIssuer) && c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

func checkLeaf(leaf *x509.Certificate) error {
	names := len(leaf.URIs) + len(leaf.EmailAddresses)
	switch {
	case leaf.IsCA:
		return fmt.Errorf("the certificate (%s) is that of a CA", leaf.Subject)
	case leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return fmt.Errorf("the certificate (%s) lacks the key usage digitalSignature", leaf.Subject)
	case !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageCodeSigning):
		return fmt.Errorf("the certificate (%s) lacks the extended key usage codeSigning", leaf.Subject)
	case names == 0:
		return fmt.Errorf("the certificate (%s) has no URI or e-mail address as subject alternative name", leaf.Subject)
	case names > 1:
		// Verifiers look at the first one only.
		return fmt.Errorf("the certificate (%s) has %d URIs and e-mail addresses as subject alternative names: one is needed", leaf.Subject, names)
	case len(leaf.UnhandledCriticalExtensions) > 0:
		return fmt.Errorf("the certificate (%s) has a critical extension that verifiers do not know: %v", leaf.Subject, leaf.UnhandledCriticalExtensions[0])
	}
	return nil
}
