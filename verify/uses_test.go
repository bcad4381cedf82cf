package verify

import (
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// TestUses has what of Trust a rule draws on.
func TestUses(t *testing.T) {
	for by, want := range map[string]Uses{
		`"key:` + hexKey + `"`:                                {TSAs: true},
		`"x509:uri:https://acme.example"`:                     {Roots: true, TSAs: true},
		`"email:a@acme.example@https://i.example"`:            {Sigstore: true, TSAs: true},
		`"uri:https://acme.example/job@https://i.example"`:    {Sigstore: true, TSAs: true},
		`"github:acme/x/.github/workflows/r.yml@refs/tags/*"`: {Sigstore: true, TSAs: true},
	} {
		v := newVerifier(t, policy(t, "version: 1\nrules:\n  - servers: [a/b]\n    signedBy: ["+by+"]\n"), Trust{})
		got := v.Decide(Request{Server: "a/b", Listing: &lock.Listing{}, At: now}).Uses()
		if keys := len(got.Keys); keys > 1 || (keys == 1) != (by == `"key:`+hexKey+`"`) || got.Roots != want.Roots || got.TSAs != want.TSAs || got.Sigstore != want.Sigstore {
			t.Errorf("%s: %+v, want %+v", by, got, want)
		}
		if got := v.Decide(Request{Server: "elsewhere", Listing: &lock.Listing{}, At: now}).Uses(); len(got.Keys) > 0 || got.Roots || got.TSAs || got.Sigstore {
			t.Errorf("%s, without a rule: %+v", by, got)
		}
	}
}
