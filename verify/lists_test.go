package verify

import (
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// A diagnostic says of each revocation list that does not count why.
func TestListDiagnostics(t *testing.T) {
	p, stranger := newPublisher(t), newPublisher(t)
	v := ruleFor(t, "", p)
	elsewhere := func(r *attest.Revocation) { r.Servers = []string{"io.github.acme/other"} }
	overdue := func(r *attest.Revocation) { r.IssuedAt, r.NextUpdate = hour(-9), hour(-1) }
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
		{"overdue, and kept", func(r *Request) { r.Bundles = append(r.Bundles, p.revokes(t, 1, nil, overdue)) }, nil, "", true},
		{"to be obeyed, and broken", func(r *Request) { r.Revocations = [][]byte{broken} }, []Reason{TrustMissing}, "", true},
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
		for _, n := range d.Explain(lock.Tool, "a")[0].Needs {
			if n.Code != NeedLists {
				continue
			}
			if !n.Met || len(n.Found) != 1 || !n.Found[0].Counts || !strings.Contains(n.Found[0].Text, "list 1 by ") || !strings.Contains(n.Found[0].Text, "2026-11-30T11:00:00Z") {
				t.Errorf("the need is %+v", n)
			}
			return
		}
		t.Fatal("the lists are not explained")
	}
}
