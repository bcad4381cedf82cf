package sign

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
)

// A RootError reports that the trusted root does not have a service of the
// signing config, so that nobody who has that root could verify the signature.
// Nothing was sent to a transparency log for it.
type RootError struct {
	Service string // "fulcio", "tsa" or "rekor"
	URL     string
}

func (e *RootError) Error() string {
	return fmt.Sprintf("the trusted root does not know the %s at %s: nothing was logged", e.Service, e.URL)
}

// knowsLogs checks, before anything is sent, that the trusted root has the logs:
// some, and each Rekor v2 by its host, which is in its entries.
func (s *Signer) knowsLogs() error {
	logs := s.root.RekorLogs()
	for _, l := range s.services.logs {
		known := func(log *sgroot.TransparencyLog) bool {
			return l.version < 2 || hostname(log.BaseURL) == hostname(l.url)
		}
		found := false
		for _, log := range logs {
			found = found || known(log)
		}
		if !found {
			return &RootError{"rekor", l.url}
		}
	}
	return nil
}

func hostname(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.Host
}

// knowsIssuer checks that an authority of the trusted root issued a certificate.
func (s *Signer) knowsIssuer(leaf *x509.Certificate) error {
	if slices.ContainsFunc(s.root.FulcioCertificateAuthorities(), func(ca sgroot.CertificateAuthority) bool {
		_, err := ca.Verify(leaf, leaf.NotBefore)
		return err == nil
	}) {
		return nil
	}
	return &RootError{"fulcio", s.services.fulcio}
}

// knowsStamp checks that an authority of the trusted root made a timestamp.
func (s *Signer) knowsStamp(from string, stamp, signature []byte) error {
	if slices.ContainsFunc(s.root.TimestampingAuthorities(), func(tsa sgroot.TimestampingAuthority) bool {
		_, err := tsa.Verify(stamp, signature)
		return err == nil
	}) {
		return nil
	}
	return &RootError{"tsa", from}
}
