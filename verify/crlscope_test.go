package verify

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"testing"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// edited is a list of the issuing authority, of an hour ago to tomorrow.
func (p *pkiTest) edited(edit func(*x509.RevocationList)) *x509.RevocationList {
	return p.issuing.EditedCRL(func(l *x509.RevocationList) {
		l.ThisUpdate, l.NextUpdate = hour(-1), hour(24)
		edit(l)
	})
}

// distribution adds the extension issuingDistributionPoint (RFC 5280 section
// 5.2.5) with this value.
func distribution(value []byte) func(*x509.RevocationList) {
	return func(l *x509.RevocationList) {
		l.ExtraExtensions = append(l.ExtraExtensions, pkix.Extension{Id: oidDistribution, Critical: true, Value: value})
	}
}

// A list that is about some certificates or reasons only is refused, as is one
// whose scope can't be read.
func TestCRLScope(t *testing.T) {
	p := newPKI(t)
	full := mustMarshal(t, distributionPoint{})
	for name, tt := range map[string]struct {
		edit func(*x509.RevocationList)
		text string
	}{
		"attribute certificates only": {distribution(mustMarshal(t, distributionPoint{Attribute: true})), "want the complete list"},
		"some reasons only":           {distribution(mustMarshal(t, distributionPoint{Reasons: asn1.BitString{Bytes: []byte{0x40}, BitLength: 2}})), "want the complete list"},
		"one reason only":             {distribution(mustMarshal(t, distributionPoint{Reasons: asn1.BitString{Bytes: []byte{0}, BitLength: 1}})), "want the complete list"},
		"no reasons":                  {distribution(full), ""},
		"trailing bytes":              {distribution(append(full, 0)), "distribution point can't be read"},
		"not a sequence":              {distribution([]byte{5, 0}), "distribution point can't be read"},
		"critical extension of an entry": {func(l *x509.RevocationList) {
			l.RevokedCertificateEntries = []x509.RevocationListEntry{{SerialNumber: big.NewInt(1), RevocationTime: hour(-1),
				ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}}}}}
		}, "critical extension 1.2.3"},
		"ends when it begins": {func(l *x509.RevocationList) { l.NextUpdate = l.ThisUpdate }, "does not say until when"},
	} {
		c, err := newCRL(p.edited(tt.edit))
		if tt.text == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if c != nil {
			t.Errorf("%s: it is taken", name)
		}
		wantError(t, err, tt.text)
	}
	if _, err := newCRL(&x509.RevocationList{ThisUpdate: now}); err == nil {
		t.Error("a list without an end is taken")
	}
}

// A list about users only says nothing about an authority, unless it names it.
func TestCRLUsersOnly(t *testing.T) {
	root := sigtest.NewCA("acme root")
	issuing := root.Sub("acme issuing")
	list := func(serials ...*big.Int) *crl {
		c, err := newCRL(root.EditedCRL(func(l *x509.RevocationList) {
			l.ThisUpdate, l.NextUpdate = hour(-1), hour(24)
			distribution(mustMarshal(t, distributionPoint{UsersOnly: true}))(l)
			for _, s := range serials {
				l.RevokedCertificateEntries = append(l.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: s, RevocationTime: hour(-1)})
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	authority := newLink(issuing.Certificate, root.Certificate)
	if s, err := list().about(authority); s != nil || err != nil {
		t.Errorf("about an authority that it does not name: %v, %v", s, err)
	}
	if s, err := list(issuing.Certificate.SerialNumber).about(authority); s == nil || !s.revoked || err != nil {
		t.Errorf("about an authority that it revokes: %v, %v", s, err)
	}
}

// Only the full name of a distribution point, in the form of a URI, is compared
// with what the certificate names.
func TestCRLCovers(t *testing.T) {
	const point = "http://crl.acme.example/1.crl"
	cert := newPKI(t, sigtest.CRLAt(point)).leaf.Certificate()
	value := func(class, tag int, compound bool, content []byte) asn1.RawValue {
		return asn1.RawValue{Class: class, Tag: tag, IsCompound: compound, Bytes: content}
	}
	context := asn1.ClassContextSpecific
	uri := mustMarshal(t, value(context, 6, false, []byte(point)))
	dns := mustMarshal(t, value(context, 2, false, []byte(point)))
	ia5 := mustMarshal(t, value(asn1.ClassApplication, 6, false, []byte(point)))
	for name, tt := range map[string]struct {
		point []byte // DistributionPointName
		want  bool
	}{
		"URI":                   {mustMarshal(t, value(context, 0, true, uri)), true},
		"second name":           {mustMarshal(t, value(context, 0, true, append(dns, uri...))), true},
		"DNS name":              {mustMarshal(t, value(context, 0, true, dns)), false},
		"other class":           {mustMarshal(t, value(context, 0, true, ia5)), false},
		"relative to an issuer": {mustMarshal(t, value(context, 1, true, uri)), false},
		"application class":     {mustMarshal(t, value(asn1.ClassApplication, 0, true, uri)), false},
		"no name":               {mustMarshal(t, value(context, 0, true, nil)), false},
		"cut off":               {mustMarshal(t, value(context, 0, true, uri[:len(uri)-1])), false},
		"unreadable":            {[]byte{0xa0, 0x7f}, false},
	} {
		der := mustMarshal(t, value(context, 0, true, tt.point))
		c := &crl{RevocationList: &x509.RevocationList{}, point: asn1.RawValue{FullBytes: der, Bytes: tt.point}}
		if got := c.covers(cert); got != tt.want {
			t.Errorf("%s: covers is %v", name, got)
		}
	}
}

// Of two entries about one certificate the earlier time counts.
func TestCRLTwoEntries(t *testing.T) {
	entry := func(h int) x509.RevocationListEntry {
		return x509.RevocationListEntry{SerialNumber: big.NewInt(7), RevocationTime: hour(h)}
	}
	for _, order := range [][2]int{{1, 2}, {2, 1}} {
		l := &x509.RevocationList{RevokedCertificateEntries: []x509.RevocationListEntry{entry(order[0]), entry(order[1])}}
		if since, revoked := revokedIn(l, big.NewInt(7)); !revoked || !since.Equal(hour(1)) {
			t.Errorf("revoked is %v, since %v", revoked, since)
		}
	}
}

// A list takes the place of an older one only if it revokes all that the older
// one does, each at least as early, for the same certificates.
func TestCRLIncludes(t *testing.T) {
	p := newPKI(t)
	list := func(edits ...func(*x509.RevocationList)) *crl {
		c, err := newCRL(p.edited(func(l *x509.RevocationList) {
			for _, edit := range edits {
				edit(l)
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	revokes := func(serial int64, at int) func(*x509.RevocationList) {
		return func(l *x509.RevocationList) {
			l.RevokedCertificateEntries = append(l.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: big.NewInt(serial), RevocationTime: hour(at)})
		}
	}
	users := distribution(mustMarshal(t, distributionPoint{UsersOnly: true}))
	for name, tt := range map[string]struct {
		newer, older *crl
		want         bool
	}{
		"both empty":              {list(), list(), true},
		"more":                    {list(revokes(1, -2), revokes(2, -2)), list(revokes(1, -2)), true},
		"earlier":                 {list(revokes(1, -3)), list(revokes(1, -2)), true},
		"later":                   {list(revokes(1, -2)), list(revokes(1, -3)), false},
		"left out":                {list(revokes(2, -2)), list(revokes(1, -2)), false},
		"one of two":              {list(revokes(1, -2)), list(revokes(1, -2), revokes(2, -2)), false},
		"users only":              {list(users), list(), false},
		"users only, as before":   {list(users), list(users), true},
		"of a distribution point": {list(distribution(mustMarshal(t, distributionPoint{Point: asn1.RawValue{Class: 2, Tag: 0, IsCompound: true, Bytes: []byte{0xa0, 0}}}))), list(), false},
	} {
		if got := tt.newer.includes(tt.older); got != tt.want {
			t.Errorf("%s: includes is %v", name, got)
		}
	}
}
