package verify

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
)

// revokes makes a revocation list of that number about weather, good for a day.
func (p publisher) revokes(t testing.TB, number uint64, entries []attest.Revoked, edits ...func(*attest.Revocation)) []byte {
	t.Helper()
	r := attest.Revocation{Servers: []string{weather}, Number: number, IssuedAt: now, NextUpdate: now.AddDate(0, 0, 1), Entries: entries}
	for _, edit := range edits {
		edit(&r)
	}
	st, err := attest.Revoke(r)
	if err != nil {
		t.Fatal(err)
	}
	return byKey(t, p.key, st)
}

func definitions(t testing.TB, text string) []attest.Revoked {
	var entries []attest.Revoked
	for _, x := range listing(t, text).Definitions {
		entries = append(entries, attest.Revoked{Definition: subjectOf(x), Reason: "sends what it reads"})
	}
	return entries
}

func statements(t testing.TB, bundles ...[]byte) []attest.Revoked {
	var entries []attest.Revoked
	for _, b := range bundles {
		u, err := Inspect(b)
		if err != nil {
			t.Fatal(err)
		}
		st, err := attest.ParseAny(u.Payload)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, attest.Revoked{Statement: st.Digest()})
	}
	return entries
}

// A publisher revokes what it signed itself, whom the policy names all.
func TestRevocation(t *testing.T) {
	p, second, security, evil := newPublisher(t), newPublisher(t), newPublisher(t), newPublisher(t)
	text := "version: 1\nrevokers: [\"" + security.id + "\"]\nrules:\n  - servers: [" + weather + "]\n    signedBy: [\"" + p.id + "\", \"" + second.id + "\"]\n"
	v := newVerifier(t, policy(t, text), trustKeys(p.key, second.key, security.key, evil.key))
	mine, theirs := p.sign(t, ab), second.sign(t, ab, sequence(7))
	const tool = `{"tools":[{"name":"a"}]}`
	elsewhere := func(r *attest.Revocation) { r.Servers = []string{"io.github.acme/other"} }
	const good, revoked = "tool:a allow verified; tool:b allow verified", "tool:a deny revoked; tool:b deny revoked"
	const toolRevoked = "tool:a deny revoked; tool:b allow verified"
	for _, tt := range []struct {
		name    string
		bundles [][]byte
		list    []byte
		want    string
	}{
		{"nothing revoked", [][]byte{mine}, p.revokes(t, 1, nil), good},
		{"own statement", [][]byte{mine}, p.revokes(t, 1, statements(t, mine)), revoked},
		{"own statement, by the policy's", [][]byte{mine}, security.revokes(t, 1, statements(t, mine)), revoked},
		{"another's statement", [][]byte{mine}, second.revokes(t, 1, statements(t, mine)), good},
		{"one of two statements", [][]byte{mine, theirs}, second.revokes(t, 1, statements(t, theirs)), good},
		{"both statements", [][]byte{mine, theirs}, security.revokes(t, 1, statements(t, mine, theirs)), revoked},
		{"own definition", [][]byte{mine}, p.revokes(t, 1, definitions(t, tool)), toolRevoked},
		{"own definition, and another vouches", [][]byte{mine, theirs}, p.revokes(t, 1, definitions(t, tool)), good},
		{"definition, by the policy's", [][]byte{mine, theirs}, security.revokes(t, 1, definitions(t, tool)), toolRevoked},
		{"another's definition", [][]byte{mine}, second.revokes(t, 1, definitions(t, tool)), good},
		{"definition of another text", [][]byte{mine}, p.revokes(t, 1, definitions(t, `{"tools":[{"name":"a","x":1}]}`)), good},
		{"by someone who may not", [][]byte{mine}, evil.revokes(t, 1, statements(t, mine)), good},
		{"about another server", [][]byte{mine}, p.revokes(t, 1, statements(t, mine), elsewhere), good},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, ab), tt.bundles...)
			r.Lock = pin(t, v, listing(t, ab), mine, theirs)
			with := r
			with.Revocations = [][]byte{tt.list}
			d := v.Decide(with)
			wantVerdicts(t, d, tt.want)
			checkDecision(t, d, with)
			// The same as one candidate among the others.
			with = r
			with.Bundles = append(tt.bundles[:len(tt.bundles):len(tt.bundles)], tt.list)
			wantVerdicts(t, v.Decide(with), tt.want)
			if strings.Contains(tt.want, "revoked") {
				if _, err := v.Decide(with).Pin(r.Listing.Definitions[0]); err == nil {
					t.Error("what is revoked can be pinned")
				}
			}
		})
	}

	// Under a rule that asks for no signature those of the policy may revoke.
	only := newVerifier(t, policy(t, "version: 1\nrevokers: [\""+security.id+"\"]\nrules: [{servers: [\"**\"], pinnedOnly: x}]\n"), trustKeys(security.key))
	r := ask(listing(t, ab))
	r.Lock, r.Revocations = unsigned(t, ab), [][]byte{security.revokes(t, 1, definitions(t, tool))}
	wantVerdicts(t, only.Decide(r), "tool:a deny revoked; tool:b allow pinned")
}

// A list that is given to be obeyed must be the newest and up to date; of one
// that was sent along that is only said.
func TestRevocationLists(t *testing.T) {
	p, second := newPublisher(t), newPublisher(t)
	v := ruleFor(t, "", p, second)
	mine := p.sign(t, ab)
	all := statements(t, mine)
	due := func(at time.Time) func(*attest.Revocation) {
		return func(r *attest.Revocation) { r.IssuedAt, r.NextUpdate = now.AddDate(0, -1, 0), at }
	}
	const good, revoked = "tool:a allow verified; tool:b allow verified", "tool:a deny revoked; tool:b deny revoked"
	for _, tt := range []struct {
		name      string
		given     [][]byte
		sent      [][]byte
		seen      []ListMark
		want      string // empty: an error
		text      string // of the error, or the diagnostic of what was sent
		diagnosis Reason
	}{
		{"the newest", [][]byte{p.revokes(t, 1, all), p.revokes(t, 2, nil)}, nil, nil, good, "", ""},
		{"the newest, sent", [][]byte{p.revokes(t, 1, nil)}, [][]byte{p.revokes(t, 2, all)}, nil, revoked, "", ""},
		{"two of one number", [][]byte{p.revokes(t, 2, all), p.revokes(t, 2, nil)}, nil, nil, revoked, "", ""},
		{"of two publishers", [][]byte{p.revokes(t, 1, all), second.revokes(t, 9, nil)}, nil, nil, revoked, "", ""},
		{"as new as what was seen", [][]byte{p.revokes(t, 3, nil)}, nil, []ListMark{{Signer: p.signer(), Number: 3}}, good, "", ""},
		{"older than another's", [][]byte{p.revokes(t, 3, nil)}, nil, []ListMark{{Signer: newPublisher(t).signer(), Number: 9}}, good, "", ""},
		{"older than what was seen", [][]byte{p.revokes(t, 2, nil)}, nil, []ListMark{{Signer: p.signer(), Number: 3}}, "", "revocation list 3 by key:", ""},
		{"older than what was seen, sent", nil, [][]byte{p.revokes(t, 2, nil)}, []ListMark{{Signer: p.signer(), Number: 3}}, "", "neither it nor a newer one is available", ""},
		{"none, and one was seen", nil, nil, []ListMark{{Signer: p.signer(), Number: 3}}, "", "revocation list 3 by key:", ""},
		{"seen, and sent", nil, [][]byte{p.revokes(t, 3, all)}, []ListMark{{Signer: p.signer(), Number: 3}}, revoked, "", ""},
		{"due in a second", [][]byte{p.revokes(t, 1, nil, due(now.Add(time.Second)))}, nil, nil, good, "", ""},
		{"overdue", [][]byte{p.revokes(t, 1, nil, due(now.Add(-time.Second)))}, nil, nil, "", "was due at 2026-11-30T11:59:59Z", ""},
		{"overdue, and its successor", [][]byte{p.revokes(t, 1, all, due(now.Add(-time.Second))), p.revokes(t, 2, nil)}, nil, nil, good, "", ""},
		{"overdue, and its successor sent", [][]byte{p.revokes(t, 1, nil, due(now.Add(-time.Second)))}, [][]byte{p.revokes(t, 2, all)}, nil, revoked, "", ""},
		{"overdue, and a predecessor sent", [][]byte{p.revokes(t, 2, nil, due(now.Add(-time.Second)))}, [][]byte{p.revokes(t, 1, all)}, nil, "", "was due at", ""},
		{"a newer one about another server", [][]byte{p.revokes(t, 1, all), p.revokes(t, 2, nil, func(r *attest.Revocation) { r.Servers = []string{"elsewhere"} })}, nil, nil, revoked, "", ""},
		{"overdue, sent", nil, [][]byte{p.revokes(t, 1, all, due(now.Add(-time.Second)))}, nil, "", "was due at", ""},
		{"overdue, and its successor, sent", nil, [][]byte{p.revokes(t, 1, all, due(now.Add(-time.Second))), p.revokes(t, 2, nil)}, nil, good, "", ""},
		{"broken", [][]byte{[]byte("x")}, nil, nil, "", "revocation list: ", ""},
		{"broken, sent", nil, [][]byte{[]byte("x")}, nil, good, "bundle", Unreadable},
		{"no list", [][]byte{p.sign(t, abc)}, nil, nil, "", "predicate type", ""},
		{"by someone else", [][]byte{newPublisher(t).revokes(t, 1, all)}, nil, nil, good, "is not trusted", WrongSigner},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, ab), append([][]byte{mine}, tt.sent...)...)
			r.Lock, r.Revocations, r.SeenLists = pin(t, v, listing(t, ab), mine), tt.given, tt.seen
			d := v.Decide(r)
			if tt.want == "" {
				var trust *TrustError
				if err := d.Err(); !errors.As(err, &trust) {
					t.Errorf("error = %v", err)
				}
				wantError(t, d.Err(), tt.text)
				wantVerdicts(t, d, "tool:a deny trust_missing; tool:b deny trust_missing")
				checkShown(t, d.Err().Error())
				return
			}
			wantVerdicts(t, d, tt.want)
			if tt.diagnosis != "" {
				wantDiagnostics(t, d, tt.diagnosis)
				wantError(t, d.Diagnostics()[0].Err, tt.text)
			}
			// What it leaves behind is taken the next time.
			if r.SeenLists = d.Lists(); len(r.SeenLists) > 0 {
				wantVerdicts(t, v.Decide(r), tt.want)
				r.Revocations, r.Bundles = nil, [][]byte{mine}
				if v.Decide(r).Err() == nil {
					t.Error("without the lists that were seen there is a yes")
				}
			}
		})
	}
	// What the server itself brings along can't stop anything by being old, and
	// what it revokes is revoked.
	for _, tt := range []struct {
		list []byte
		want string
	}{
		{p.revokes(t, 1, nil, due(now.Add(-time.Second))), good},
		{p.revokes(t, 1, all, due(now.Add(-time.Second))), revoked},
	} {
		r := ask(listing(t, ab), mine)
		r.Lock, r.Listing.Bundles = pin(t, v, listing(t, ab), mine), [][]byte{tt.list}
		wantVerdicts(t, v.Decide(r), tt.want)
	}
	var many [][]byte
	for i := range lock.MaxBundles + 1 {
		many = append(many, second.revokes(t, uint64(i+1), nil))
	}
	r := ask(listing(t, ab), mine)
	r.Revocations = many
	wantError(t, v.Decide(r).Err(), "more than 64 revocation lists")
}
