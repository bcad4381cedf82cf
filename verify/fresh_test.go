package verify

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// A rule that asks for recent revocation lists allows nothing without one of
// each who is named; the earlier of the stated and the verified time counts.
func TestFreshLists(t *testing.T) {
	p, second, security := newPublisher(t), newPublisher(t), newPublisher(t)
	rule := func(member string) *Verifier {
		text := "version: 1\nrevokers: [\"" + security.id + "\"]\nrules:\n  - servers: [" + weather + "]\n    signedBy: [\"" + p.id + "\", \"" + second.id + "\"]\n    " + member + "\n"
		return newVerifier(t, policy(t, text), trustKeys(p.key, second.key, security.key))
	}
	at := func(hours int) func(*attest.Revocation) {
		return func(r *attest.Revocation) { r.IssuedAt, r.NextUpdate = hour(hours), hour(1000) }
	}
	elsewhere := func(r *attest.Revocation) { r.Servers = []string{"io.github.acme/other"} }
	mine := "revocations: {by: [\"" + p.id + "\"], maxAge: 7d}"
	for _, tt := range []struct {
		name   string
		member string
		lists  [][]byte
		text   string // of the error; empty: allowed
	}{
		{"not asked for", "need: 1", nil, ""},
		{"none", mine, nil, "no revocation list by " + p.id + " is known, and the rule asks for one of the last 7d"},
		{"recent", mine, [][]byte{p.revokes(t, 1, nil, at(-1))}, ""},
		{"just in time", mine, [][]byte{p.revokes(t, 1, nil, at(-7*24))}, ""},
		{"too old", mine, [][]byte{p.revokes(t, 4, nil, at(-7*24-1))}, "revocation list 4 by " + p.id + " is of 2026-11-23T11:00:00Z, and the rule asks for one of the last 7d"},
		{"too old, and a recent one", mine, [][]byte{p.revokes(t, 1, nil, at(-900)), p.revokes(t, 2, nil, at(-1))}, ""},
		{"of a time to come", mine, [][]byte{p.revokes(t, 1, nil, at(1))}, "2026-11-30T13:00:00Z"},
		{"about another server", mine, [][]byte{p.revokes(t, 1, nil, elsewhere)}, "no revocation list by "},
		{"by another signer", mine, [][]byte{second.revokes(t, 1, nil, at(-1))}, "no revocation list by " + p.id + " is known"},
		{"by each signer", "revocations: {maxAge: 36h}", [][]byte{p.revokes(t, 1, nil, at(-1)), second.revokes(t, 1, nil, at(-1))}, ""},
		{"by one of the signers", "revocations: {maxAge: 36h}", [][]byte{p.revokes(t, 1, nil, at(-1))}, "by " + second.id + " is known, and the rule asks for one of the last 36h"},
		{"by a revoker", "revocations: {by: [\"" + security.id + "\"], maxAge: 1d}", [][]byte{security.revokes(t, 1, nil, at(-1))}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, ab), p.sign(t, ab))
			r.Bundles = append(r.Bundles, tt.lists...)
			d := rule(tt.member).Decide(r)
			if tt.text == "" {
				if err := d.SignedErr(); err != nil {
					t.Error(err, d.Diagnostics())
				}
				return
			}
			if d.SignedErr() == nil || !d.Results()[0].Has(TrustMissing) {
				t.Fatalf("verdicts are %s", verdicts(d))
			}
			wantError(t, d.Err(), tt.text)
			var stale *StaleListError
			if strings.Contains(tt.text, "the rule asks") && !errors.As(d.Err(), &stale) {
				t.Errorf("%v is not a StaleListError", d.Err())
			}
		})
	}

	for member, want := range map[string]string{
		"revocations: {by: [\"" + p.id + "\"]}":                           "revocations needs maxAge",
		"revocations: {maxAge: 7d, by: []}":                               "the revocation lists are by nobody",
		"revocations: {maxAge: 7d, of: x}":                                "of",
		"revocations: {maxAge: 7d, by: [\"" + weather + "\"]}":            "no publisher",
		"revocations: {maxAge: 7d, by: [\"" + newPublisher(t).id + "\"]}": "revoke nothing under this rule",
	} {
		_, err := ParsePolicy("policy.yaml", []byte("version: 1\nrules:\n  - servers: ["+weather+"]\n    signedBy: [\""+p.id+"\"]\n    "+member+"\n"))
		wantError(t, err, want)
	}
	_, err := ParsePolicy("policy.yaml", []byte("version: 1\nrules:\n  - servers: ["+weather+"]\n    pinnedOnly: ours\n    revocations: {maxAge: 7d}\n"))
	wantError(t, err, "goes with signedBy alone")
}

// A publisher who may not sign for the server has no list about it that counts.
func TestFreshListsScope(t *testing.T) {
	p := newPublisher(t)
	for _, by := range []string{"acme", "acme, \"" + p.id + "\""} {
		text := "version: 1\npublishers:\n  acme: {servers: [other/*], key: {file: k.pub}}\nrevokers: [acme]\nrules:\n  - servers: [" + weather + "]\n    signedBy: [\"" + p.id + "\"]\n    revocations: {by: [" + by + "], maxAge: 7d}\n"
		v := newVerifier(t, withFiles(t, text, map[string][]byte{"k.pub": sigtest.PublicPEM(newPublisher(t).key.Public())}), trustKeys(p.key))
		d := v.Decide(ask(listing(t, ab), p.sign(t, ab), p.revokes(t, 1, nil)))
		if d.SignedErr() == nil {
			t.Errorf("by %s: it is allowed", by)
		}
		wantError(t, d.Err(), "may not sign for this server")
	}
	// Nor is there anyone to ask where no signer may sign for it.
	text := "version: 1\npublishers:\n  acme: {servers: [other/*], key: {file: k.pub}}\nrules:\n  - {servers: [" + weather + "], signedBy: [acme], revocations: {maxAge: 7d}}\n"
	v := newVerifier(t, withFiles(t, text, map[string][]byte{"k.pub": sigtest.PublicPEM(p.key.Public())}), Trust{})
	wantError(t, v.Decide(ask(listing(t, ab), p.sign(t, ab))).Err(), "may not sign for this server")
}
