package cli

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mcpsign/mcpsign/internal/pemfile"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// An addedStatus is a revocation list or an OCSP response that verified.
type addedStatus struct {
	data   []byte
	digest lock.Digest
	says   *verify.CertificateStatus
}

// isStatus reports whether data is meant to be DER, or PEM: no bundle starts
// like that.
func isStatus(data []byte) bool {
	return bytes.HasPrefix(data, []byte{0x30}) || pemfile.Is(data)
}

// splitStatus returns the DER of each status in a file.
func splitStatus(data []byte) ([][]byte, error) {
	if bytes.HasPrefix(data, []byte{0x30}) {
		return [][]byte{data}, nil
	}
	blocks, err := pemfile.Read(data, pemfile.Status)
	if err != nil {
		return nil, err
	}
	if len(blocks) > verify.MaxStatusCount {
		return nil, fmt.Errorf("more than %d PEM blocks", verify.MaxStatusCount)
	}
	var ders [][]byte
	for _, b := range blocks {
		ders = append(ders, b.Bytes)
	}
	return ders, nil
}

// verifyStatus verifies a revocation list or an OCSP response: it is about the
// certificate of one of the bundles, or of one above it, and up to date.
func (a *app) verifyStatus(v *verify.Verifier, der []byte, bundles [][]byte) (addedStatus, error) {
	x := addedStatus{data: der, digest: sha256.Sum256(der)}
	var err error
	if x.says, err = v.Status(der, bundles...); err != nil {
		no := (*verify.StatusError)(nil)
		if !errors.As(err, &no) {
			return x, err
		}
		return x, fail(reasonCode(no.Reason), err, statusHint(no.Reason))
	}
	now := a.Now()
	what := fmt.Sprintf("it is good from %s to %s", rfc3339(x.says.From), rfc3339(x.says.Till))
	switch {
	case !x.says.Current(now):
		return x, fail(ExitOutdated, fmt.Errorf("%s, and it is %s", what, rfc3339(now)), "fetch the newest one from the issuer")
	case !slices.ContainsFunc(x.says.Certificates, func(c verify.CertificateStanding) bool { return !c.Unknown }):
		return x, fail(ExitTrust, fmt.Errorf("the responder of %s does not know certificate %s", x.says.Issuer, x.says.Certificates[0].Serial), "ask the issuer")
	}
	return x, nil
}

func statusHint(r verify.Reason) string {
	switch r {
	case verify.WrongSigner:
		return "nothing was kept; add the bundle first whose certificate it is about"
	case verify.TrustMissing:
		return "nothing was kept; add the bundle that the certificate signed, and name its roots with --roots and --tsa-roots, or --policy"
	}
	return "nothing was kept; fetch it again from the issuer"
}

func (x addedStatus) text(w io.Writer) {
	s := x.says
	fmt.Fprintf(w, "added    %s  %s by %s, good from %s to %s\n", x.digest, s.Kind, s.Issuer, rfc3339(s.From), rfc3339(s.Till))
	for _, c := range s.Certificates {
		standing := "not revoked"
		if c.Revoked {
			standing = "REVOKED from " + rfc3339(c.Since) + " on"
		} else if c.Unknown {
			standing = "unknown"
		}
		who := c.Serial
		if c.Subject != "" {
			who += " of " + c.Subject
		}
		fmt.Fprintf(w, "%scertificate %s: %s\n", margin, who, standing)
	}
}

// The JSON of what was added of the status of certificates.
type (
	statusDoc struct {
		Digest       string        `json:"digest"`
		Kind         string        `json:"kind"`
		Issuer       string        `json:"issuer"`
		From         string        `json:"from"`
		Till         string        `json:"till"`
		Certificates []standingDoc `json:"certificates"`
	}
	standingDoc struct {
		Subject string `json:"subject"`
		Serial  string `json:"serial"`
		Revoked string `json:"revoked,omitempty"` // from when on
		Unknown bool   `json:"unknown,omitempty"` // to the responder
	}
)

func (x addedStatus) document() statusDoc {
	s := x.says
	d := statusDoc{x.digest.String(), string(s.Kind), s.Issuer, rfc3339(s.From), rfc3339(s.Till), []standingDoc{}}
	for _, c := range s.Certificates {
		one := standingDoc{Subject: c.Subject, Serial: c.Serial, Unknown: c.Unknown}
		if c.Revoked {
			one.Revoked = rfc3339(c.Since)
		}
		d.Certificates = append(d.Certificates, one)
	}
	return d
}
