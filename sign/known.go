package sign

import (
	"crypto/x509"
	"fmt"
	"maps"
	"net/url"
	"slices"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
)

// A RootError reports that the trusted root does not have a service of the
// signing config, so that nobody who has that root could verify the signature.
// The signature was sent to no transparency log. A certificate that Fulcio issued
// for it is in the certificate transparency log of that Fulcio.
type RootError struct {
	Service string // "certificate authority", "timestamp authority" or "transparency log"
	URL     string
}

func (e *RootError) Error() string {
	return fmt.Sprintf("the trusted root does not have the %s at %s: no signature was logged", e.Service, e.URL)
}

// knowsLogs checks, before anything is sent, that the trusted root has the logs:
// a Rekor v2 by its host, which its entries name; for a Rekor v1 any log will do,
// since its entries alone tell which one made them.
func (s *Signer) knowsLogs() error {
	logs := s.root.RekorLogs()
	for _, l := range s.services.logs {
		known := len(logs) > 0
		if l.version >= 2 {
			known = slices.ContainsFunc(slices.Collect(maps.Values(logs)), func(log *sgroot.TransparencyLog) bool {
				return hostname(log.BaseURL) == hostname(l.url)
			})
		}
		if !known {
			return &RootError{"transparency log", l.url}
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
	return &RootError{"certificate authority", s.services.fulcio}
}

// knowsStamp checks that an authority of the trusted root made a timestamp.
func (s *Signer) knowsStamp(from string, stamp, signature []byte) error {
	if slices.ContainsFunc(s.root.TimestampingAuthorities(), func(tsa sgroot.TimestampingAuthority) bool {
		_, err := tsa.Verify(stamp, signature)
		return err == nil
	}) {
		return nil
	}
	return &RootError{"timestamp authority", from}
}
