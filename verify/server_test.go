package verify

import (
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// called has a listing come from a server that gives a name.
func called(l *lock.Listing, name, version string) *lock.Listing {
	l.ServerName, l.ServerVersion = name, version
	return l
}

// A server that calls itself otherwise than when it was approved may be another
// one, even if all it lists is pinned.
func TestServerChanged(t *testing.T) {
	p := newPublisher(t)
	hold, accept := ruleFor(t, "    updates: hold\n", p), ruleFor(t, "    updates: accept\n", p)
	pinned := newVerifier(t, policy(t, "version: 1\nrules:\n  - servers: [\"**\"]\n    pinnedOnly: ours\n"), Trust{})
	builtin := newVerifier(t, nil, Trust{})
	for _, tt := range []struct {
		name, approved, now string
		changed             bool
	}{
		{"the same", "weather", "weather", false},
		{"another", "weather", "weather2", true},
		{"another case", "weather", "Weather", true},
		{"added", "", "weather", false},
		{"removed", "weather", "", false},
		{"never there", "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := func(v *Verifier, r Request, allowed, refused string) {
				t.Helper()
				d, verdict := v.Decide(r), "allow "+allowed
				if tt.changed {
					verdict = refused
				}
				wantVerdicts(t, d, "tool:a "+verdict+"; tool:b "+verdict)
				checkDecision(t, d, r)
				got := explained(d.Explain(lock.Tool, "a"))
				if both := tt.approved != "" && tt.now != ""; both != strings.Contains(got, "server ") || tt.changed != strings.Contains(got, "server false: ") {
					t.Errorf("explained as\n%s", got)
				}
			}
			// A signature by itself says nothing of the server's own name.
			r := ask(called(listing(t, ab), tt.now, "2"), p.sign(t, ab))
			r.Lock = formatted(t, pin(t, hold, called(listing(t, ab), tt.approved, "1"), p.sign(t, ab)))
			want(hold, r, "verified", "undecided verified, server_changed")
			want(accept, r, "verified", "undecided verified, server_changed")
			// One approval settles it.
			entry, err := hold.Decide(r).Pin(r.Listing.Definitions...)
			if err != nil {
				t.Fatal(err)
			}
			if r.Lock = formatted(t, entry); hold.Decide(r).Err() != nil {
				t.Errorf("approved: %v", hold.Decide(r).Err())
			}
			// A name that is absent unpins none.
			if name := tt.now; name == "" && entry.Info.Name != tt.approved || name != "" && entry.Info.Name != name {
				t.Errorf("approved as %q", entry.Info.Name)
			}
			if entry.Info.Version != "2" {
				t.Errorf("approved with version %q", entry.Info.Version)
			}

			// Without a signature.
			r = ask(called(listing(t, ab), tt.now, "2"))
			r.Lock = unsigned(t, ab)
			r.Lock.Info.Name = tt.approved
			want(builtin, r, "pinned", "undecided pinned, server_changed")
			want(pinned, r, "pinned", "undecided pinned, server_changed")
		})
	}
	var d *Decision
	r := ask(called(listing(t, ab), "weather2", ""))
	r.Lock = unsigned(t, ab)
	r.Lock.Info.Name = "weather"
	d = builtin.Decide(r)
	wantError(t, d.Err(), "tool:a is not allowed: server_changed")
	// Files without the answer to initialize leave what is known as it is.
	r.Lock.Info.Version, r.Listing = "1", listing(t, ab)
	entry, err := builtin.Decide(r).Pin(r.Listing.Definitions...)
	if err != nil || entry.Info != r.Lock.Info {
		t.Errorf("pinned %+v, %v", entry, err)
	}
}

// A later release of the same publisher may bring another name, where the rule
// accepts updates: for all that it covers, changed or not.
func TestServerChangedWithUpdate(t *testing.T) {
	p, other := newPublisher(t), newPublisher(t)
	hold, accept := ruleFor(t, "    updates: hold\n", p, other), ruleFor(t, "    updates: accept\n", p, other)
	const changed = `{"tools":[{"name":"a","description":"y"},{"name":"b"}],"instructions":"Be kind."}`
	old := called(listing(t, `{"tools":[{"name":"a"},{"name":"b"}],"instructions":"Be kind."}`), "weather", "1")
	entry := formatted(t, pin(t, accept, old, p.sign(t, `{"tools":[{"name":"a"},{"name":"b"}],"instructions":"Be kind."}`)))
	for _, tt := range []struct {
		name   string
		bundle []byte
		accept string
	}{
		{"later", p.sign(t, changed, sequence(101)), "instructions: allow verified; tool:a allow verified, updated; tool:b allow verified"},
		{"the same number", p.sign(t, changed), "instructions: undecided verified, server_changed; tool:a undecided verified, drift; tool:b undecided verified, server_changed"},
		{"by someone else", other.sign(t, changed, sequence(101)), "instructions: undecided verified, wrong_signer; tool:a undecided verified, drift; tool:b undecided verified, wrong_signer"},
	} {
		r := ask(called(listing(t, changed), "weather2", "2"), tt.bundle)
		r.Lock = entry
		d := accept.Decide(r)
		wantVerdicts(t, d, tt.accept)
		checkDecision(t, d, r)
		if tt.name == "later" {
			wantVerdicts(t, hold.Decide(r), "instructions: undecided verified, server_changed; tool:a undecided verified, drift; tool:b undecided verified, server_changed")
		}
	}
}
