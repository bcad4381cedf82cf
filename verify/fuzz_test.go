package verify

import (
	"testing"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// FuzzBundle loads, looks at and verifies bundles. Only what the key signed is
// ever taken for signed.
func FuzzBundle(f *testing.F) {
	wantSeeds(f, "FuzzBundle")
	s := newServices()
	trust := trustKeys(fixedKey)
	trust.SigstoreRoot = s.TrustedRoot()
	trust.Roots, trust.TSAs = certs(sigtest.NewCA("acme root").Certificate), certs(s.TSA.CA.Certificate)
	v := newVerifier(f, nil, trust)
	genuine := string(statement(f, abc).Bytes())
	f.Fuzz(func(t *testing.T, bundle []byte) {
		u, err := Inspect(bundle)
		if (err == nil) == (u == nil) {
			t.Fatalf("Inspect = %v, %v", u, err)
		}
		if err != nil {
			checkShown(t, err.Error())
		}
		if tops, err := TimestampAuthorities(bundle); err != nil {
			checkShown(t, err.Error())
		} else if len(tops) != len(u.Timestamps) {
			t.Errorf("%d authorities of %d timestamps", len(tops), len(u.Timestamps))
		}
		c := v.material.verify(bundle, v.material.domain)
		e, bad := c.evidence, c.bad
		if bad != nil {
			checkShown(t, bad.Error())
			return
		}
		if string(e.statement.Bytes()) != genuine || e.signer.Key != keyID(t, fixedKey) {
			t.Errorf("%s\nis taken for %s by %s", bundle, e.statement.Bytes(), e.signer)
		}
	})
}
