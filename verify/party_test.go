package verify

import (
	"testing"

	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

// Whatever belongs to a named publisher is one party, but for a repository that
// was created again. An identity outside a publisher is a party of its own.
func TestParty(t *testing.T) {
	a, b, other := newPublisher(t), newPublisher(t), newPublisher(t)
	files := map[string][]byte{"a.pub": sigtest.PublicPEM(a.key.Public()), "b.pub": sigtest.PublicPEM(b.key.Public())}
	const repository = "https://github.com/acme/weather"
	const workflow = "github:acme/weather/.github/workflows/release.yml@refs/tags/v*"
	github := func(id string) lock.Signer {
		return lock.Signer{Issuer: "https://token.actions.githubusercontent.com", Subject: repository + "/.github/workflows/release.yml@refs/tags/v1", Repository: repository, RepositoryID: id}
	}
	keyA, keyB, stranger := lock.Signer{Key: keyID(t, a.key)}, lock.Signer{Key: keyID(t, b.key)}, lock.Signer{Key: keyID(t, other.key)}
	named := withFiles(t, "version: 1\npublishers: {acme: {keyless: [\""+workflow+"\"], key: [{file: a.pub}, {file: b.pub}]}}\nrules: [{servers: [io.github.acme/*], signedBy: [acme]}]\n", files)
	alone := policy(t, "version: 1\nrules: [{servers: [io.github.acme/*], signedBy: [\""+workflow+"\", \""+a.id+"\", \""+b.id+"\"]}]\n")
	for _, tt := range []struct {
		name       string
		x, y       lock.Signer
		one, apart bool // named as one publisher, and one by one
	}{
		{"a key", keyA, keyA, true, true},
		{"two keys", keyA, keyB, true, false},
		{"a key and a workflow", keyA, github("1"), true, false},
		{"a repository with its ID", github("1"), github("1"), true, true},
		{"a repository of which one ID is known", github(""), github("1"), true, true},
		{"a repository that was created again", github("1"), github("2"), false, false},
		{"a key that is not the publisher's", keyA, stranger, false, false},
		{"nobody", lock.Signer{}, lock.Signer{}, false, false},
	} {
		for p, want := range map[*Policy]bool{named: tt.one, alone: tt.apart} {
			d := newVerifier(t, p, trustKeys(a.key, b.key)).Decide(ask(listing(t, abc)))
			if got := d.SameParty(tt.x, tt.y); got != want || d.SameParty(tt.y, tt.x) != want {
				t.Errorf("%s, named as one %v: same party %v, want %v", tt.name, p == named, got, want)
			}
		}
	}
}

// A release that both keys of a publisher signed is recorded with both, in
// whatever order the bundles come, and with nobody who is not named.
func TestBothKeysRecorded(t *testing.T) {
	a, b, other := newPublisher(t), newPublisher(t), newPublisher(t)
	files := map[string][]byte{"a.pub": sigtest.PublicPEM(a.key.Public()), "b.pub": sigtest.PublicPEM(b.key.Public())}
	v := newVerifier(t, withFiles(t, "version: 1\npublishers: {acme: {key: [{file: a.pub}, {file: b.pub}]}}\nrules: [{servers: [io.github.acme/*], signedBy: [acme]}]\n", files), trustKeys(other.key))
	bundles := [][]byte{other.sign(t, abc), b.sign(t, abc), a.sign(t, abc), b.sign(t, abc, sequence(99))}
	entry := pin(t, v, listing(t, abc), bundles...)
	got := map[string]bool{}
	for _, e := range entry.Evidence {
		got[e.Signer.Key] = e.Sequence == 100
	}
	if len(entry.Evidence) != 2 || !got[keyID(t, a.key)] || !got[keyID(t, b.key)] {
		t.Errorf("recorded: %v", entry.Evidence)
	}
	d := v.Decide(ask(listing(t, abc), bundles...))
	for _, e := range d.Evidence() {
		if d.Bundle(e.Bundle) == nil {
			t.Errorf("no bundle of %s", e.Signer)
		}
	}
	// Another variant by the other key is another statement.
	entry = pin(t, v, listing(t, abc), a.sign(t, abc), b.sign(t, abc, variant("x")))
	if len(entry.Evidence) != 1 {
		t.Errorf("recorded with another variant: %v", entry.Evidence)
	}
}
