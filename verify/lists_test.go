package verify

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

// A diagnostic says of each revocation list that does not count why.
func TestListDiagnostics(t *testing.T) {
	p, stranger := newPublisher(t), newPublisher(t)
	v := ruleFor(t, "", p)
	elsewhere := func(r *attest.Revocation) { r.Servers = []string{"io.github.acme/other"} }
	overdue := func(r *attest.Revocation) { r.IssuedAt, r.NextUpdate = hour(-9), hour(-1) }
	due := func(r *attest.Revocation) { r.IssuedAt, r.NextUpdate = hour(-9), now }
	given := func(list []byte) func(*Request) {
		return func(r *Request) { r.Revocations, r.Bundles = [][]byte{list}, append(r.Bundles, list) }
	}
	broken := []byte(strings.Replace(string(p.revokes(t, 1, nil)), `"sig":"`, `"sig":"AAAA`, 1))
	for _, tt := range []struct {
		name  string
		edit  func(*Request)
		says  []Reason
		text  string
		fails bool // the decision
	}{
		{"good", func(r *Request) { r.Bundles = append(r.Bundles, p.revokes(t, 1, nil)) }, nil, "", false},
		{"about another server", func(r *Request) { r.Bundles = append(r.Bundles, p.revokes(t, 1, nil, elsewhere)) }, []Reason{WrongServer}, "not about this server", false},
		{"older than one that was seen", func(r *Request) {
			r.Bundles = append(r.Bundles, p.revokes(t, 2, nil))
			r.SeenLists = []ListMark{{Signer: p.signer(), Number: 3}}
		}, []Reason{Rollback}, "number 2, and number 3", true},
		{"overdue, and the listing alone has it", func(r *Request) { r.Listing.Bundles = append(r.Listing.Bundles, p.revokes(t, 1, nil, overdue)) }, []Reason{Expired}, "was due at", false},
		{"good, and the listing alone has it", func(r *Request) { r.Listing.Bundles = append(r.Listing.Bundles, p.revokes(t, 1, nil)) }, nil, "", false},
		{"due now, and kept", func(r *Request) { r.Bundles = append(r.Bundles, p.revokes(t, 1, nil, due)) }, nil, "", false},
		{"overdue, and kept", func(r *Request) { r.Bundles = append(r.Bundles, p.revokes(t, 1, nil, overdue)) }, nil, "", true},
		{"to be obeyed, and broken", func(r *Request) { r.Revocations = [][]byte{broken} }, []Reason{TrustMissing}, "", true},
		{"to be obeyed, and broken, and kept", given(broken), []Reason{TrustMissing}, "", true},
		{"to be obeyed, and empty, and kept", given(nil), []Reason{TrustMissing}, "", true},
		{"to be obeyed, and no list", func(r *Request) { r.Revocations, r.Bundles = r.Bundles, [][]byte{p.sign(t, ab)} }, []Reason{TrustMissing}, "it is not a revocation list", true},
		{"to be obeyed, by a stranger", func(r *Request) { r.Revocations = [][]byte{stranger.revokes(t, 1, nil)} }, []Reason{WrongSigner}, "", false},
		{"to be obeyed, about another server", func(r *Request) { r.Revocations = [][]byte{p.revokes(t, 1, nil, elsewhere)} }, []Reason{WrongServer}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, ab), p.sign(t, ab))
			tt.edit(&r)
			d := v.Decide(r)
			if got := d.SignedErr() != nil; got != tt.fails {
				t.Errorf("fails is %v: %v", got, d.SignedErr())
			}
			var says []Reason
			for _, x := range d.Diagnostics() {
				says = append(says, x.Reason)
				if x.Signer.IsZero() != slices.Contains([]string{"to be obeyed, and broken", "to be obeyed, and broken, and kept", "to be obeyed, and empty, and kept"}, tt.name) {
					t.Errorf("the diagnostic is about %v", x.Signer)
				}
				if !strings.Contains(x.Err.Error(), tt.text) {
					t.Errorf("the diagnostic is %v, want %q", x.Err, tt.text)
				}
			}
			if len(says) != len(tt.says) || len(says) == 1 && says[0] != tt.says[0] {
				t.Errorf("the diagnostics are %v, want %v: %v", says, tt.says, d.Diagnostics())
			}
		})
	}
}

// A list by a publisher whom the rule does not ask about is only a diagnostic,
// under whatever roots it verifies. One that may be by a publisher whom the rule
// asks about, and can't be verified, stops the decision.
func TestListsOfOthers(t *testing.T) {
	mine, stranger := newPublisher(t), newPublisher(t)
	p, host, unknown := newPKI(t), newPKI(t), newPKI(t)
	files := map[string][]byte{"a.pub": sigtest.PublicPEM(mine.key.Public()), "r.pem": sigtest.CertPEM(p.root.Certificate), "t.pem": sigtest.CertPEM(p.tsa.CA.Certificate)}
	const pubs = `version: 1
publishers:
  a: {key: {file: a.pub}}
  b: {x509: {roots: [r.pem], tsaRoots: [t.pem], san: "uri:https://acme.example/release"}}
  c: {x509: {roots: [r.pem], san: "uri:https://acme.example/other"}}
`
	trust := Trust{Roots: certs(host.root.Certificate), TSAs: certs(host.tsa.CA.Certificate)}
	by := func(signers, revokers string) *Verifier {
		return newVerifier(t, withFiles(t, pubs+"revokers: ["+revokers+"]\nrules: [{servers: [io.github.acme/*], signedBy: ["+signers+"]}]\n", files), trust)
	}
	st, err := attest.Revoke(attest.Revocation{Servers: []string{weather}, Number: 1, IssuedAt: now, NextUpdate: hour(24)})
	if err != nil {
		t.Fatal(err)
	}
	list := func(q *pkiTest, tsa *sigtest.TSA) []byte {
		return sigtest.Unchecked{Payload: st.Bytes(), Key: q.leaf.Key, Chain: q.leaf.Chain, TSA: tsa}.Bundle()
	}
	// A key that a policy names without its file.
	gone := newPublisher(t)
	for _, tt := range []struct {
		name  string
		v     *Verifier
		list  []byte
		says  Reason
		text  string
		fails bool
	}{
		{"another publisher's", by("a", ""), list(p, p.tsa), WrongSigner, "signed by x509:" + release, false},
		{"another publisher's, whose PKI is another", by("a, c", ""), list(p, p.tsa), WrongSigner, "signed by x509:" + release, false},
		{"under the host's root", by("a", ""), list(host, host.tsa), WrongSigner, "signed by x509:" + release, false},
		{"under an unknown root", by("a", ""), list(unknown, unknown.tsa), TrustMissing, "unknown authority", true},
		{"one's own, with a timestamp that counts for another publisher alone", by("a, b", ""), list(p, host.tsa), TrustMissing, "unknown authority", true},
		{"by a stranger's key", by("a, b", ""), stranger.revokes(t, 1, nil), WrongSigner, "which is not trusted", false},
		{"by a signer whose key is missing", by("a, \""+gone.id+"\"", "a"), gone.revokes(t, 1, nil), TrustMissing, "is not available", true},
		{"by a revoker whose key is missing", by("a", "\""+gone.id+"\""), gone.revokes(t, 1, nil), TrustMissing, "is not available", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, ab), mine.sign(t, ab))
			r.Revocations = [][]byte{tt.list}
			d := tt.v.Decide(r)
			if got := d.SignedErr() != nil; got != tt.fails {
				t.Errorf("fails is %v: %v", got, d.SignedErr())
			}
			wantDiagnostics(t, d, tt.says)
			if len(d.Diagnostics()) == 1 {
				wantError(t, d.Diagnostics()[0].Err, tt.text)
			}
			if x := d.Diagnostics()[0]; tt.says == WrongSigner && x.Signer.IsZero() || x.Signer == gone.signer() != strings.Contains(tt.name, "key is missing") {
				t.Errorf("the diagnostic is about %v", x.Signer)
			}
		})
	}
}

// A list by a certificate that was revoked before it signed revokes nothing, and
// stops the decision only where it is given to be obeyed.
func TestListOfRevokedCertificate(t *testing.T) {
	p := newPKI(t)
	other := p.issuing.Leaf(sigtest.P256(), sigtest.URI(release))
	st, err := attest.Revoke(attest.Revocation{Servers: []string{weather}, Number: 1, IssuedAt: now, NextUpdate: hour(24), Entries: statements(t, p.bundle)})
	if err != nil {
		t.Fatal(err)
	}
	list := sigtest.Unchecked{Payload: st.Bytes(), Key: other.Key, Chain: other.Chain, TSA: p.tsa}.Bundle()
	for given, want := range map[bool]Reason{false: Revoked, true: TrustMissing} {
		r := ask(listing(t, abc), p.bundle, list)
		r.Status = [][]byte{p.issuing.CRL(hour(-1), hour(24), hour(-1), other.Certificate()).Raw}
		if given {
			r.Revocations = [][]byte{list}
		}
		d := p.verifier(t, "", nil).Decide(r)
		if got := d.SignedErr() != nil; got != given {
			t.Errorf("given is %v, and it fails is %v: %v", given, got, d.SignedErr())
		}
		wantDiagnostics(t, d, want)
	}
}

// A list by a key that is not valid any more, and has no timestamp, can't be relied
// on: that stops the decision, but for one that the listing alone brings, which
// revokes nothing.
func TestListOfEndedKey(t *testing.T) {
	p, ended := newPublisher(t), newPublisher(t)
	text := "version: 1\nrevokers: [\"" + ended.id + "\"]\nrules:\n  - servers: [" + weather + "]\n    signedBy: [\"" + p.id + "\"]\n"
	trust := trustKeys(p.key, ended.key)
	trust.Keys[1].NotAfter = hour(-1)
	v := newVerifier(t, policy(t, text), trust)
	for _, tt := range []struct {
		name string
		edit func(*Request, []byte)
		want string // verdict about the first definition
	}{
		{"kept", func(r *Request, list []byte) { r.Bundles = append(r.Bundles, list) }, "deny trust_missing"},
		{"to be obeyed", func(r *Request, list []byte) { r.Revocations = [][]byte{list} }, "deny trust_missing"},
		{"the listing alone has it", func(r *Request, list []byte) { r.Listing.Bundles = [][]byte{list} }, "undecided verified"},
	} {
		mine := p.sign(t, ab)
		r := ask(listing(t, ab), mine)
		tt.edit(&r, ended.revokes(t, 1, statements(t, mine)))
		d := v.Decide(r)
		if got := verdicts(d); !strings.HasPrefix(got, "tool:a "+tt.want) {
			t.Errorf("%s: %s", tt.name, got)
		}
		if x := d.Diagnostics(); len(x) == 0 || x[0].Reason != Expired || x[0].Signer != ended.signer() {
			t.Errorf("%s: the diagnostics are %v", tt.name, x)
		}
	}
}

// A list of one signer takes the place of none by another, whatever their
// numbers, and two of one number both count. Lists are looked at in the order of
// their digests, so that many keys give every order.
func TestListsSideBySide(t *testing.T) {
	for range 12 {
		p, second := newPublisher(t), newPublisher(t)
		v := ruleFor(t, "", p, second)
		mine := p.sign(t, ab)
		for name, lists := range map[string][][]byte{
			"another's is higher": {p.revokes(t, 1, statements(t, mine)), second.revokes(t, 9, nil)},
			"two of one number":   {p.revokes(t, 1, statements(t, mine)), p.revokes(t, 1, nil)},
		} {
			r := ask(listing(t, ab), append([][]byte{mine}, lists...)...)
			if d := v.Decide(r); !d.Results()[0].Has(Revoked) {
				t.Errorf("%s: %s", name, verdicts(d))
			}
		}
	}
}

// Of two lists with one number the later is asked how old it is, and the need is
// explained.
func TestFreshListsExplained(t *testing.T) {
	at := func(hours int) func(*attest.Revocation) {
		return func(r *attest.Revocation) { r.IssuedAt, r.NextUpdate = hour(hours), hour(1000) }
	}
	for range 6 {
		p := newPublisher(t)
		v := ruleFor(t, "    revocations: {maxAge: 7d}\n", p)
		r := ask(listing(t, ab), p.sign(t, ab), p.revokes(t, 1, nil, at(-900)), p.revokes(t, 1, nil, at(-1)))
		d := v.Decide(r)
		if err := d.SignedErr(); err != nil {
			t.Fatal(err)
		}
		explained := false
		for _, n := range d.Explain(lock.Tool, "a")[0].Needs {
			if n.Code != NeedLists {
				continue
			}
			explained = true
			if n.Want != "a revocation list by each of "+p.id+", at most 7d old" {
				t.Errorf("it wants %s", n.Want)
			}
			if !n.Met || len(n.Found) != 1 || !n.Found[0].Counts || !strings.Contains(n.Found[0].Text, "list 1 by ") || !strings.Contains(n.Found[0].Text, "2026-11-30T11:00:00Z") {
				t.Errorf("the need is %+v", n)
			}
		}
		if !explained {
			t.Fatal("the lists are not explained")
		}
	}
}

// The lists of all keys of a named publisher are numbered together.
func TestListsOfOneParty(t *testing.T) {
	a, b, stranger := newPublisher(t), newPublisher(t), newPublisher(t)
	files := map[string][]byte{"a.pub": sigtest.PublicPEM(a.key.Public()), "b.pub": sigtest.PublicPEM(b.key.Public())}
	v := newVerifier(t, withFiles(t, "version: 1\npublishers: {acme: {key: [{file: a.pub}, {file: b.pub}]}}\nrules: [{servers: [io.github.acme/*], signedBy: [acme]}]\n", files), Trust{})
	mine := a.sign(t, ab)
	seen := func(p publisher, number uint64) []ListMark { return []ListMark{{Signer: p.signer(), Number: number}} }
	for _, tt := range []struct {
		name  string
		seen  []ListMark
		lists [][]byte
		text  string // of the error; empty: allowed
	}{
		{"none was seen", nil, nil, ""},
		{"one of the other key was seen", seen(a, 3), nil, "revocation list 3"},
		{"a higher one by the other key", seen(a, 3), [][]byte{b.revokes(t, 4, nil)}, ""},
		{"the same number by the other key", seen(a, 3), [][]byte{b.revokes(t, 3, nil)}, ""},
		{"a lower one by the other key", seen(a, 3), [][]byte{b.revokes(t, 2, nil)}, "revocation list 3"},
		{"one of a stranger was seen", seen(stranger, 3), nil, ""},
		{"a newer one by the other key takes the place of one", nil, [][]byte{a.revokes(t, 1, statements(t, mine)), b.revokes(t, 2, nil)}, ""},
		{"an older one by the other key does not", nil, [][]byte{a.revokes(t, 2, statements(t, mine)), b.revokes(t, 1, nil)}, "revoked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, ab), append([][]byte{mine}, tt.lists...)...)
			r.SeenLists = tt.seen
			d := v.Decide(r)
			if tt.seen != nil && tt.lists != nil && tt.text != "" {
				wantDiagnostics(t, d, Rollback)
			}
			if err := d.SignedErr(); (err == nil) != (tt.text == "") || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, want %q: %v", err, tt.text, d.Diagnostics())
			}
		})
	}
}

// What was seen of one signer is met by a list of that signer alone, and where it is
// known which list that was, by that one or a newer one.
func TestListsThatWereSeen(t *testing.T) {
	p, second := newPublisher(t), newPublisher(t)
	v := ruleFor(t, "", p, second)
	first, again := p.revokes(t, 3, nil), p.revokes(t, 3, nil, func(r *attest.Revocation) { r.IssuedAt = hour(-1) })
	for _, tt := range []struct {
		name       string
		statements []lock.Digest
		lists      [][]byte
		met        bool
	}{
		{"none", nil, nil, false},
		{"another's, with a higher number", nil, [][]byte{second.revokes(t, 9, nil)}, false},
		{"another's, with the number", nil, [][]byte{second.revokes(t, 3, nil)}, false},
		{"one of the number", nil, [][]byte{again}, true},
		{"that one", digests(t, first), [][]byte{first}, true},
		{"another of the number", digests(t, first), [][]byte{again}, false},
		{"one of two", digests(t, first, again), [][]byte{again}, false},
		{"both", digests(t, first, again), [][]byte{again, first}, true},
		{"a newer one", digests(t, first, again), [][]byte{p.revokes(t, 4, nil)}, true},
	} {
		r := ask(listing(t, ab), append([][]byte{p.sign(t, ab)}, tt.lists...)...)
		r.SeenLists = []ListMark{{Signer: p.signer(), Number: 3, Statements: tt.statements}}
		if err := v.Decide(r).SignedErr(); (err == nil) != tt.met {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	// The first that is wrong is what is said: that a list is out of date.
	r := ask(listing(t, ab), p.sign(t, ab), second.revokes(t, 8, nil, func(r *attest.Revocation) { r.IssuedAt, r.NextUpdate = hour(-9), hour(-1) }))
	r.SeenLists = []ListMark{{Signer: p.signer(), Number: 3}}
	var no *ListError
	if err := v.Decide(r).SignedErr(); !errors.As(err, &no) || no.Signer != second.signer() || no.Number != 8 || !no.Due.Equal(hour(-1)) {
		t.Errorf("the error is %v", err)
	}
}

// digests returns those of the statements of bundles.
func digests(t testing.TB, bundles ...[]byte) []lock.Digest {
	var all []lock.Digest
	for _, r := range statements(t, bundles...) {
		all = append(all, r.Statement)
	}
	return all
}

// Each publisher of whom a list is wanted has to be one who may sign for the
// server, and of two lists with one number the later is asked how old it is, in
// whatever order they are looked at.
func TestFreshListsOfPublishers(t *testing.T) {
	a, b := newPublisher(t), newPublisher(t)
	files := map[string][]byte{"a.pub": sigtest.PublicPEM(a.key.Public()), "b.pub": sigtest.PublicPEM(b.key.Public())}
	text := func(by string) string {
		return "version: 1\npublishers:\n  a: {servers: [io.github.acme/*], key: {file: a.pub}}\n  b: {servers: [io.github.other/*], key: {file: b.pub}}\n" +
			"rules: [{servers: [io.github.acme/*], signedBy: [a, b], revocations: {by: " + by + ", maxAge: 24h}}]\n"
	}
	at := func(hours int) func(*attest.Revocation) {
		return func(r *attest.Revocation) { r.IssuedAt, r.NextUpdate = hour(hours), hour(1000) }
	}
	for by, want := range map[string]string{"[a]": "", "[a, b]": "publishers who may not sign for this server", "[b]": "publishers who may not sign for this server"} {
		v := newVerifier(t, withFiles(t, text(by), files), Trust{})
		d := v.Decide(ask(listing(t, ab), a.sign(t, ab), a.revokes(t, 1, nil, at(-1))))
		if err := d.SignedErr(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("by %s: %v, want %q", by, err, want)
		}
	}
	for i := range 8 {
		v := newVerifier(t, withFiles(t, text("[a]"), files), Trust{})
		d := v.Decide(ask(listing(t, ab), a.sign(t, ab), a.revokes(t, 1, nil, at(-30-i)), a.revokes(t, 1, nil, at(-1))))
		if err := d.SignedErr(); err != nil {
			t.Errorf("with a recent and an old list: %v", err)
		}
	}
}
