package certchain

import (
	"crypto/x509"
	"slices"
	"testing"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

func TestSplit(t *testing.T) {
	root, other := sigtest.NewCA("root"), sigtest.NewCA("root")
	sub := root.Sub("sub")
	leaf := sub.Leaf(sigtest.P256()).Chain[0]
	cross, back := root.Again(other), other.Again(root)
	renamed := root.Again(root, func(c *x509.Certificate) { c.Subject.CommonName = "renamed" }).Certificate
	circle := []*x509.Certificate{cross.Certificate, back.Certificate}
	a := []*x509.Certificate{leaf, sub.Certificate, root.Certificate}
	for _, tt := range []struct {
		name               string
		certs, roots, rest []*x509.Certificate
	}{
		{"nothing", nil, nil, nil},
		{"a chain", a, a[2:], a[:2]},
		{"without the root", a[:2], a[1:2], a[:1]},
		{"a leaf", a[:1], a[:1], nil},
		{"a leaf without what issued it", []*x509.Certificate{leaf, root.Certificate}, []*x509.Certificate{leaf, root.Certificate}, nil},
		{"one of the same name", []*x509.Certificate{sub.Certificate, other.Certificate}, []*x509.Certificate{sub.Certificate, other.Certificate}, nil},
		{"twice", []*x509.Certificate{root.Certificate, root.Certificate}, []*x509.Certificate{root.Certificate, root.Certificate}, nil},
		{"cross-signed", []*x509.Certificate{cross.Certificate, root.Certificate, other.Certificate}, []*x509.Certificate{root.Certificate, other.Certificate}, []*x509.Certificate{cross.Certificate}},
		{"a circle", circle, circle, nil},
		{"another name for the key of a root", []*x509.Certificate{renamed, root.Certificate}, []*x509.Certificate{root.Certificate}, []*x509.Certificate{renamed}},
	} {
		roots, below := Split(tt.certs)
		if !slices.EqualFunc(roots, tt.roots, (*x509.Certificate).Equal) || !slices.EqualFunc(below, tt.rest, (*x509.Certificate).Equal) {
			t.Errorf("%s: %d roots and %d below, want %d and %d", tt.name, len(roots), len(below), len(tt.roots), len(tt.rest))
		}
	}
	if got := Under(root.Certificate, []*x509.Certificate{root.Certificate, cross.Certificate, back.Certificate, sub.Certificate}); len(got) != 4 {
		t.Errorf("%d are under a root in a circle, want each of 4 once", len(got))
	}
	if got := Under(root.Certificate, a); len(got) != 2 {
		t.Errorf("%d are under the root, want 2", len(got))
	}
	if got := Under(renamed, a); len(got) != 0 {
		t.Errorf("%d are under another name of the root, want none", len(got))
	}
	if got := Under(other.Certificate, a); len(got) != 0 {
		t.Errorf("%d are under another root, want none", len(got))
	}
}
