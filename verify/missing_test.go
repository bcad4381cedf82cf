package verify

import (
	"crypto/x509"
	"errors"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// Evidence whose authority is unknown is not broken, and says which file is
// missing; evidence that is broken as well is broken.
func TestMissingMaterial(t *testing.T) {
	s := newServices()
	s.TSA.LeafOnly = true
	root := sigtest.NewCA("acme root")
	issuing := root.Sub("acme issuing")
	leaf := issuing.Leaf(sigtest.P256(), sigtest.URI(release))
	again := root.Again(nil)
	chain := s.TSA.Chain()
	bundleOf := func(certs []*x509.Certificate) []byte {
		return sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: leaf.Key, Chain: certs, TSA: s.TSA}.Bundle()
	}
	good, short := bundleOf(leaf.Chain), bundleOf(leaf.Chain[:1])
	all := Trust{Roots: certs(root.Certificate), TSAs: chain}
	with := func(edit func(*Trust)) Trust {
		trust := all
		edit(&trust)
		return trust
	}
	broken := edit(good, func(b *protobundle.Bundle) { b.GetDsseEnvelope().Signatures[0].Sig[9] ^= 1 })
	s.TSA.Stray = true
	strayed := bundleOf(leaf.Chain)
	s.TSA.Stray = false
	lie := sigtest.NewCA("acme root", func(c *x509.Certificate) { c.SubjectKeyId = root.Certificate.SubjectKeyId })
	forgery := lie.Leaf(leaf.Key, sigtest.URI(release), func(c *x509.Certificate) { c.AuthorityKeyId = root.Certificate.SubjectKeyId })

	for _, tt := range []struct {
		name   string
		bundle []byte
		trust  Trust
		reason Reason // empty: accepted
		need   Material
	}{
		{"the whole chain", good, all, "", ""},
		{"the chain in another order", good, with(func(t *Trust) { t.TSAs = certs(chain[2], chain[0], chain[1]) }), "", ""},
		{"the root of the timestamp alone", good, with(func(t *Trust) { t.TSAs = chain[2:] }), TrustMissing, TSARootsFile},
		{"its intermediate alone, trusted by itself", good, with(func(t *Trust) { t.TSAs = chain[1:2] }), "", ""},
		{"another timestamp authority", good, with(func(t *Trust) { t.TSAs = sigtest.NewTSA(s.Clock).Chain() }), TrustMissing, TSARootsFile},
		{"no timestamp authority", good, with(func(t *Trust) { t.TSAs = nil }), TrustMissing, TSARootsFile},
		{"no root", good, with(func(t *Trust) { t.Roots = nil }), TrustMissing, RootsFile},
		{"a rotated root", good, with(func(t *Trust) { t.Roots = certs(sigtest.NewCA("acme root").Certificate) }), TrustMissing, RootsFile},
		{"the root issued again", good, with(func(t *Trust) { t.Roots = certs(again.Certificate) }), "", ""},
		{"the intermediate missing", short, all, TrustMissing, RootsFile},
		{"the intermediate from the file", short, with(func(t *Trust) { t.Roots = certs(root.Certificate, issuing.Certificate) }), "", ""},
		{"all missing", short, with(func(t *Trust) { t.TSAs = chain[2:] }), TrustMissing, RootsFile},

		{"a broken signature", broken, all, BadSignature, ""},
		{"a broken signature by an unknown root", broken, with(func(t *Trust) { t.Roots = certs(sigtest.NewCA("x").Certificate) }), BadSignature, ""},
		{"a broken signature and no root", broken, with(func(t *Trust) { t.Roots = nil }), BadSignature, ""},
		{"a broken signature and no timestamp authority", broken, with(func(t *Trust) { t.TSAs = nil }), BadSignature, ""},
		{"a timestamp of something else", strayed, all, BadSignature, ""},
		{"a timestamp of something else by an unknown authority", strayed, with(func(t *Trust) { t.TSAs = chain[2:] }), BadSignature, ""},
		{"a certificate that claims a known issuer", bundleOf(forgery.Chain), all, BadSignature, ""},
		{"a leaf among the timestamp roots is not one for others", sigtest.Unchecked{Payload: statement(t, abc).Bytes(), Key: leaf.Key, Chain: leaf.Chain, TSA: sigtest.NewTSA(s.Clock)}.Bundle(), all, TrustMissing, TSARootsFile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := verifier(t, tt.trust, "x509:uri:"+release)
			if tt.reason == "" {
				accepts(t, v, tt.bundle)
				return
			}
			refuses(t, v, tt.bundle, tt.reason, "")
			var missing *MissingError
			if d := v.Decide(ask(listing(t, abc), tt.bundle)).Diagnostics()[0]; errors.As(d.Err, &missing) != (tt.need != "") || missing != nil && missing.Need != tt.need {
				t.Errorf("diagnostic = %v, want need of %q", d, tt.need)
			}
		})
	}

	// A key that the rule names and that is not available is reported, even if others
	// may sign too.
	known, gone := newPublisher(t), newPublisher(t)
	for _, ids := range [][]string{{known.id, gone.id}, {gone.id, known.id}} {
		d := verifier(t, trustKeys(known.key), ids...).Decide(ask(listing(t, abc), gone.sign(t, abc)))
		wantDiagnostics(t, d, TrustMissing)
		var missing *MissingError
		if x := d.Diagnostics()[0]; !errors.As(x.Err, &missing) || missing.Need != KeyFile || x.Signer != gone.signer() {
			t.Errorf("diagnostic = %v", x)
		}
	}

	// What a timestamp or a chain needs besides the root is recorded, and is enough.
	trust := with(func(t *Trust) { t.Roots = certs(root.Certificate, issuing.Certificate) })
	v := verifier(t, trust, "x509:uri:"+release)
	entry := pin(t, v, listing(t, abc), short)
	var kept []*x509.Certificate
	for _, d := range entry.Evidence[0].Trust {
		c, err := x509.ParseCertificate(v.Material(d))
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, c)
	}
	if len(kept) != 4 { // both roots and both intermediates
		t.Errorf("%d certificates are recorded, want 4", len(kept))
	}
	accepts(t, verifier(t, Trust{Roots: kept, TSAs: kept}, "x509:uri:"+release), short)
}
