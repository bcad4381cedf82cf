package verify

import (
	"crypto/x509"
	"errors"
	"testing"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
)

// What was kept counts or stops the decision: a revocation list, or a release that
// is not older than what counts, is not passed over for lack of trust.
func TestKept(t *testing.T) {
	s := newServices()
	p, other := newPublisher(t), newPublisher(t)
	by := func(p publisher, st *attest.Statement) []byte {
		return signed(t, st)(sign.Key(p.key, services(s, sigtest.WithTSA)))
	}
	release := func(n uint64, text string) []byte { return by(p, statement(t, text, sequence(n))) }
	list := func(p publisher, r attest.Revocation) []byte {
		if r.Servers == nil {
			r.Servers = []string{weather}
		}
		r.Number, r.IssuedAt = 1, now
		if r.NextUpdate.IsZero() {
			r.NextUpdate = now.AddDate(0, 0, 1)
		}
		st, err := attest.Revoke(r)
		if err != nil {
			t.Fatal(err)
		}
		return by(p, st)
	}
	good := p.sign(t, ab, sequence(5))
	revoking := list(p, attest.Revocation{Entries: statements(t, good)})
	entry := pin(t, ruleFor(t, "", p), listing(t, ab), good)
	with := trustKeys(p.key)
	with.TSAs = certs(s.TSA.CA.Certificate)
	forged := trustKeys(p.key)
	forged.TSAs = certs(sigtest.NewTSA(sigtest.At(now)).CA.Certificate)
	const fine, revoked, unknown = "tool:a allow verified; tool:b allow verified", "tool:a deny revoked; tool:b deny revoked", "tool:a deny trust_missing; tool:b deny trust_missing"

	for _, tt := range []struct {
		name    string
		kept    []byte
		trust   []Trust
		builtin string
		policy  string
		what    string // of the KeptError, where there is one
	}{
		{"nothing", good, nil, fine, fine, ""},
		{"a list", revoking, nil, unknown, unknown, "revocation list 1"},
		{"a list with its trust", revoking, []Trust{with}, revoked, unknown, "revocation list 1"},
		{"a list with its trust beside others", revoking, []Trust{{SigstoreRoot: []byte("x")}, forged, with}, revoked, unknown, "revocation list 1"},
		{"a list with other trust", revoking, []Trust{forged}, unknown, unknown, "revocation list 1"},
		{"a list that revokes nothing", list(p, attest.Revocation{}), []Trust{with}, fine, unknown, "revocation list 1"},
		{"a list without its trust", list(p, attest.Revocation{}), nil, unknown, unknown, "revocation list 1"},
		{"a list about another server", list(p, attest.Revocation{Servers: []string{"elsewhere"}}), nil, fine, fine, ""},
		{"a list by somebody else", list(other, attest.Revocation{Entries: statements(t, good)}), []Trust{with}, fine, fine, ""},
		{"a newer release", release(6, abc), nil, unknown, unknown, "the release of sequence 6"},
		{"a newer release with its trust", release(6, abc), []Trust{with}, unknown, unknown, "the release of sequence 6"},
		{"another release of that sequence", release(5, abc), nil, unknown, unknown, "the release of sequence 5"},
		{"the same statement, with a timestamp", by(p, statement(t, ab, sequence(5))), nil, fine, fine, ""},
		{"an older release", release(4, abc), nil, fine, fine, ""},
		{"a release by somebody else", by(other, statement(t, abc, sequence(6))), nil, fine, fine, ""},
		{"a release of another server", by(p, statement(t, abc, sequence(6), server("elsewhere"))), nil, fine, fine, ""},
		{"what can't be read", []byte("x"), nil, fine, fine, ""},
	} {
		for rule, v := range map[string]*Verifier{tt.builtin: newVerifier(t, nil, trustKeys(p.key)), " " + tt.policy: ruleFor(t, "", p)} {
			want := rule
			if rule[0] == ' ' {
				want = rule[1:]
			}
			r := ask(listing(t, ab), good)
			r.Lock, r.Kept, r.KeptTrust = entry, [][]byte{tt.kept}, tt.trust
			d := v.Decide(r)
			if got := verdicts(d); got != want {
				t.Errorf("%s: %s\nwant %s", tt.name, got, want)
			}
			kept := (*KeptError)(nil)
			if want == unknown != errors.As(d.Err(), &kept) || kept != nil && (kept.What != tt.what || kept.Bundle.IsZero()) {
				t.Errorf("%s: error = %v", tt.name, d.Err())
			}
			// The same as a candidate, which anyone can send, changes nothing.
			r.Kept, r.Listing.Bundles = nil, [][]byte{tt.kept}
			if got := verdicts(v.Decide(r)); got != fine {
				t.Errorf("%s, sent: %s", tt.name, got)
			}
		}
	}

	// Trust that was kept permits nothing. A list that needs it takes the place of
	// none, is not remembered, and is as good as one that was seen only if it is
	// that one; and no release counts by it.
	v := newVerifier(t, nil, trustKeys(p.key))
	r := ask(listing(t, ab), good)
	r.Lock, r.KeptTrust = entry, []Trust{with}
	empty := list(p, attest.Revocation{})
	r.Kept = [][]byte{p.revokes(t, 1, statements(t, good)), empty}
	wantVerdicts(t, v.Decide(r), revoked)
	r.Kept = [][]byte{empty}
	if d := v.Decide(r); len(d.Lists()) != 0 {
		t.Errorf("Lists = %v", d.Lists())
	}
	u, err := Inspect(empty)
	if err != nil {
		t.Fatal(err)
	}
	r.SeenLists = []ListMark{{Signer: p.signer(), Number: 1, Statements: []lock.Digest{u.Statement.Digest()}}}
	wantVerdicts(t, v.Decide(r), fine)
	for _, mark := range []ListMark{{Signer: p.signer(), Number: 1}, {Signer: p.signer(), Number: 1, Statements: []lock.Digest{{1}}}} {
		r.SeenLists = []ListMark{mark}
		wantVerdicts(t, v.Decide(r), unknown)
	}
	r.SeenLists, r.Kept, r.Bundles, r.Lock = nil, [][]byte{release(6, ab)}, nil, entry
	if d := v.Decide(r); d.Err() == nil || len(d.Evidence()) != 0 {
		t.Errorf("%s, %v", verdicts(d), d.Evidence())
	}

	// Who may sign with a certificate is asked about certificates only.
	id := acme()
	byJob := keyless(t, s, id, sigtest.WithRekorV2|sigtest.WithTSA, statement(t, abc, sequence(6)))
	r = ask(listing(t, ab), good)
	r.Lock, r.Kept = entry, [][]byte{byJob}
	wantVerdicts(t, ruleFor(t, "", p).Decide(r), fine)
	both := newVerifier(t, policy(t, "version: 1\nrules: [{servers: ["+weather+"], signedBy: [\""+p.id+"\", \"github:acme/weather-mcp/.github/workflows/release.yml@refs/tags/v*\"]}]\n"), trustKeys(p.key))
	wantVerdicts(t, both.Decide(r), unknown)

	root := trustKeys(p.key)
	root.SigstoreRoot = s.TrustedRoot()
	needs := newVerifier(t, nil, root).Needed(byJob)
	if len(needs) != 1 || string(newVerifier(t, nil, root).Material(needs[0])) != string(root.SigstoreRoot) {
		t.Errorf("Needed = %v", needs)
	}
	for _, d := range newVerifier(t, nil, with).Needed(revoking) {
		if b := newVerifier(t, nil, with).Material(d); b == nil {
			t.Error("needed, and unknown")
		} else if _, err := x509.ParsePKIXPublicKey(b); err != nil && string(b) != string(s.TSA.CA.Certificate.Raw) {
			t.Errorf("needed: %x", b)
		}
	}
	if newVerifier(t, nil, trustKeys(p.key)).Needed(revoking) != nil {
		t.Error("what does not verify needs something")
	}
}

// Two lists of one number count both, and both have to be there the next time.
func TestListsOfOneNumber(t *testing.T) {
	p := newPublisher(t)
	v := ruleFor(t, "", p)
	good := p.sign(t, ab)
	one, two := p.revokes(t, 1, statements(t, good)), p.revokes(t, 1, nil)
	r := ask(listing(t, ab), good, one, two)
	r.Lock = pin(t, v, r.Listing, good)
	d := v.Decide(r)
	wantVerdicts(t, d, "tool:a deny revoked; tool:b deny revoked")
	if len(d.Lists()) != 1 || len(d.Lists()[0].Statements) != 2 {
		t.Errorf("Lists = %v", d.Lists())
	}
	r.SeenLists = d.Lists()
	for _, lists := range [][][]byte{{two}, {one}, {}} {
		r.Bundles = append([][]byte{good}, lists...)
		wantError(t, v.Decide(r).Err(), "revocation list 1 by")
	}
	r.Bundles = [][]byte{good, p.revokes(t, 2, nil)}
	wantVerdicts(t, v.Decide(r), "tool:a allow verified; tool:b allow verified")
}
