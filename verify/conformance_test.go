package verify

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/attest"
)

// The cases of the Sigstore conformance suite are not about definitions, so
// that none is accepted. A good statement gets as far as its predicate type, a
// bad one does not; the limits are wide enough for every bundle.
func TestConformance(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "conformance")
	root, err := os.ReadFile(filepath.Join(dir, "public-good-trusted-root.json"))
	if err != nil {
		t.Skipf("the Sigstore conformance suite is not there: %v", err)
	}
	cases, err := filepath.Glob(filepath.Join(dir, "bundle-verify", "*", "bundle.sigstore.json"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	statements := 0
	for _, path := range cases {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			bundle, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fails := strings.HasSuffix(name, "_fail")
			v, err := New(nil, conformanceTrust(t, filepath.Dir(path), root))
			if err != nil {
				if !fails {
					t.Error(err)
				}
				return
			}
			c := v.material.verify(bundle, v.material.domain)
			verified := c.bad == nil
			if verified {
				statements++
				if kind := c.evidence.statement.PredicateType(); kind == attest.PredicateType {
					t.Errorf("taken for a statement about definitions")
				}
			} else {
				checkShown(t, c.bad.Error())
			}
			if verified && fails || !fails && !verified && c.bad.Error() != "bundle signs a file, not a statement" {
				t.Errorf("verified: %v, %v", verified, c.bad)
			}
			if b, err := read(bundle); err == nil && !fails {
				if err := checkLimits(b.GetVerificationMaterial()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if statements < 3 {
		t.Errorf("only %d statements were verified", statements)
	}
}

// conformanceTrust returns the trust material of a case.
func conformanceTrust(t *testing.T, dir string, root []byte) Trust {
	t.Helper()
	trust := Trust{SigstoreRoot: root}
	if own, err := os.ReadFile(filepath.Join(dir, "trusted_root.json")); err == nil {
		trust.SigstoreRoot = own
	}
	if data, err := os.ReadFile(filepath.Join(dir, "key.pub")); err == nil {
		block, _ := pem.Decode(data)
		if block == nil {
			t.Fatal("the key is no PEM")
		}
		// A key that is none is not trusted: New says so.
		key, _ := x509.ParsePKIXPublicKey(block.Bytes)
		trust.Keys = []TrustedKey{{Key: key}}
	}
	return trust
}
