package verify

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

// Reviewers approve definitions for one deployment.
func TestApprovals(t *testing.T) {
	p, r1, r2, evil := newPublisher(t), newPublisher(t), newPublisher(t), newPublisher(t)
	approves := func(by publisher, text string, edits ...func(*attest.Approval)) []byte {
		a := attest.Approval{Server: weather, Audience: "production", IssuedAt: now, ExpiresAt: now.AddDate(0, 0, 90)}
		for _, edit := range edits {
			edit(&a)
		}
		st, err := attest.Approve(listing(t, text).Definitions, a)
		if err != nil {
			t.Fatal(err)
		}
		return byKey(t, by.key, st)
	}
	trust := trustKeys(p.key, r1.key, r2.key, evil.key)
	rule := func(need, main string) *Verifier {
		return newVerifier(t, policy(t, "version: 1\nrevokers: [\""+evil.id+"\"]\nrules:\n  - servers: ["+weather+"]\n    "+main+
			"\n    approvals: {from: [\""+r1.id+"\", \""+r2.id+"\"], audience: production, maxAge: 30d, need: "+need+"}\n"), trust)
	}
	signedBy := "signedBy: [\"" + p.id + "\"]"
	bundle := p.sign(t, ab)
	entry := pin(t, ruleFor(t, "", p), listing(t, ab), bundle)
	later := now.AddDate(0, 0, 31)
	const a, good, missing = `{"tools":[{"name":"a"}]}`, "tool:a allow verified; tool:b allow verified", "tool:a deny approval_missing; tool:b deny approval_missing"
	for _, tt := range []struct {
		name    string
		need    string
		bundles [][]byte
		at      time.Time
		want    string
		reason  Reason // of the one diagnostic
		text    string
	}{
		{"none", "1", nil, now, missing, "", ""},
		{"one", "1", [][]byte{approves(r1, ab)}, now, good, "", ""},
		{"one of two", "2", [][]byte{approves(r1, ab)}, now, missing, "", ""},
		{"one twice", "2", [][]byte{approves(r1, ab), approves(r1, ab, func(a *attest.Approval) { a.Notes = "again" })}, now, missing, "", ""},
		{"two", "2", [][]byte{approves(r1, ab), approves(r2, ab)}, now, good, "", ""},
		{"in parts", "1", [][]byte{approves(r1, a), approves(r2, `{"tools":[{"name":"b"}]}`)}, now, good, "", ""},
		{"one definition", "1", [][]byte{approves(r1, a)}, now, "tool:a allow verified; tool:b deny approval_missing", "", ""},
		{"another text", "1", [][]byte{approves(r1, `{"tools":[{"name":"a","x":1},{"name":"b","x":1}]}`)}, now, missing, "", ""},
		{"by someone else", "1", [][]byte{approves(evil, ab)}, now, missing, WrongSigner, "signed by key:"},
		{"by the publisher", "1", [][]byte{approves(p, ab)}, now, missing, WrongSigner, "signed by key:"},
		{"for another server", "1", [][]byte{approves(r1, ab, func(a *attest.Approval) { a.Server = "elsewhere" })}, now, missing, WrongServer, "approved for server elsewhere"},
		{"for another deployment", "1", [][]byte{approves(r1, ab, func(a *attest.Approval) { a.Audience = "test" })}, now, missing, WrongServer, "approved for test, not for production"},
		{"expired", "1", [][]byte{approves(r1, ab, func(a *attest.Approval) { a.ExpiresAt = now.Add(time.Second) })}, now.Add(time.Second), missing, Expired, "the approval expired"},
		{"too old", "1", [][]byte{approves(r1, ab)}, later, missing, Expired, "older than the rule allows"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, ab), append([][]byte{bundle}, tt.bundles...)...)
			r.Lock, r.At = entry, tt.at
			d := rule(tt.need, signedBy).Decide(r)
			wantVerdicts(t, d, tt.want)
			checkDecision(t, d, r)
			if tt.reason == "" {
				wantDiagnostics(t, d)
			} else {
				wantDiagnostics(t, d, tt.reason)
				wantError(t, d.Diagnostics()[0].Err, tt.text)
			}
			if tt.want == missing {
				if _, err := d.Pin(r.Listing.Definitions...); err == nil || d.SignedErr() == nil {
					t.Error("it can be pinned, or passes for signed")
				}
			}
			// What is kept with a pin suffices for the next decision, and is only what counts.
			support := d.Supporting(r.Listing.Definitions...)
			for _, b := range support {
				if !slices.ContainsFunc(tt.bundles, func(x []byte) bool { return bytes.Equal(x, b) }) {
					t.Error("a bundle that is no approval counts as one")
				}
			}
			if tt.reason != "" && len(support) > 0 {
				t.Error("an approval that does not count is kept")
			}
			kept := r
			kept.Bundles = append([][]byte{bundle}, support...)
			wantVerdicts(t, rule(tt.need, signedBy).Decide(kept), tt.want)
			// Without the publisher's signature approvals say nothing.
			r.Bundles = tt.bundles
			if got := verdicts(rule(tt.need, signedBy).Decide(r)); strings.Contains(got, "allow") {
				t.Errorf("unsigned: %s", got)
			}
			// A rule that asks for no signature may ask for them all the same.
			r.Lock = unsigned(t, ab)
			want := strings.ReplaceAll(tt.want, "verified", "pinned")
			wantVerdicts(t, rule(tt.need, "pinnedOnly: a test").Decide(r), want)
			if r.Bundles = [][]byte{bundle}; len(rule(tt.need, "pinnedOnly: a test").Decide(r).Diagnostics()) != 0 {
				t.Error("a release that nobody asks for is a diagnostic")
			}
		})
	}
	// Whoever says what is replaced has looked at that change, and at no other.
	t.Run("replaces", func(t *testing.T) {
		const old, older, new = `{"tools":[{"name":"a","x":1}]}`, `{"tools":[{"name":"a","x":2}]}`, a
		v := newVerifier(t, policy(t, "version: 1\nrules:\n  - servers: ["+weather+"]\n    "+signedBy+
			"\n    updates: accept\n    approvals: {from: [\""+r1.id+"\"], audience: production}\n"), trust)
		signed := p.sign(t, new)
		pinned := func(text string) *lock.Server {
			return pin(t, ruleFor(t, "", p), listing(t, text), p.sign(t, text, sequence(5)))
		}
		says := func(text string) func(*attest.Approval) {
			return func(a *attest.Approval) {
				a.Replaces = map[string]lock.Digest{"tool:a": listing(t, text).Definitions[0].Digest()}
			}
		}
		for _, tt := range []struct {
			name     string
			lock     *lock.Server
			approval []byte
			want     string
		}{
			{"what is pinned", pinned(old), approves(r1, new, says(old)), "tool:a allow verified, updated"},
			{"something else", pinned(old), approves(r1, new, says(older)), "tool:a deny approval_missing"},
			{"nothing that is said", pinned(old), approves(r1, new), "tool:a allow verified, updated"},
			{"what was pinned, and it is pinned itself", pinned(new), approves(r1, new, says(old)), "tool:a allow verified"},
			{"something, and nothing is pinned", nil, approves(r1, new, says(old)), "tool:a undecided verified, first_contact, not_locked"},
			{"another, in another approval", pinned(old), approves(r1, `{"tools":[{"name":"a"},{"name":"b"}]}`, says(older)), "tool:a deny approval_missing"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				r := ask(listing(t, new), signed, tt.approval)
				r.Lock = tt.lock
				d := v.Decide(r)
				wantVerdicts(t, d, tt.want)
				wantDiagnostics(t, d)
				const why = "it is about a change of something else than what is pinned"
				if got := explained(d.Explain(lock.Tool, "a")); strings.Contains(got, why) != strings.Contains(tt.want, "deny") {
					t.Errorf("explained by %s", got)
				}
			})
		}
	})
	// An approval can be revoked as a statement can.
	approval := approves(r1, ab)
	r := ask(listing(t, ab), bundle, approval)
	r.Lock, r.Revocations = entry, [][]byte{r1.revokes(t, 1, statements(t, approval))}
	wantVerdicts(t, rule("1", signedBy).Decide(r), missing)
	r.Revocations = [][]byte{r2.revokes(t, 1, statements(t, approval))}
	wantVerdicts(t, rule("1", signedBy).Decide(r), good)
	// A rule that asks for none takes no notice.
	r.Revocations = nil
	wantDiagnostics(t, ruleFor(t, "", p).Decide(r), WrongSigner)
}

// Attestations by others about the same definitions.
func TestAttested(t *testing.T) {
	p, builder, evil := newPublisher(t), newPublisher(t), newPublisher(t)
	const slsa, scan = "https://slsa.dev/provenance/v1", "https://example.com/scan"
	trust := trustKeys(p.key, builder.key, evil.key)
	day, more := sigtest.NewTSA(sigtest.At(now.Add(-24*time.Hour))), sigtest.NewTSA(sigtest.At(now.Add(-25*time.Hour)))
	trust.TSAs = certs(day.CA.Certificate, more.CA.Certificate)
	foreign := func(by publisher, kind, text, predicate string) []byte {
		st, err := attest.Foreign(listing(t, text).Definitions, kind, []byte(predicate))
		if err != nil {
			t.Fatal(err)
		}
		return byKey(t, by.key, st)
	}
	stampedOf := func(tsa *sigtest.TSA, predicate string) []byte {
		st, err := attest.Foreign(listing(t, ab).Definitions, slsa, []byte(predicate))
		if err != nil {
			t.Fatal(err)
		}
		return sigtest.Unchecked{Payload: st.Bytes(), Key: builder.key, TSA: tsa}.Bundle()
	}
	stamped := func(tsa *sigtest.TSA) []byte { return stampedOf(tsa, `{"b":{"type":"good"}}`) }
	finished := func(ago time.Duration) string {
		return fmt.Sprintf(`{"runDetails":{"metadata":{"finishedOn":%q}}}`, now.Add(-ago).Format(time.RFC3339Nano))
	}
	rule := func(options string) *Verifier {
		return newVerifier(t, policy(t, "version: 1\nrules:\n  - servers: ["+weather+"]\n    signedBy: [\""+p.id+"\"]\n    attested: ["+strings.ReplaceAll(options, "BUILDER", `by: ["`+builder.id+`"]`)+"]\n"), trust)
	}
	const plain = `{type: "` + slsa + `", BUILDER}`
	where := func(w string) string { return `{type: "` + slsa + `", BUILDER, where: ` + w + `}` }
	bundle := p.sign(t, ab)
	entry := pin(t, ruleFor(t, "", p), listing(t, ab), bundle)
	const predicate = `{"b":{"type":"good","n":[1,2,{"x":true}]},"level":3,"a/b":"s"}`
	good := foreign(builder, slsa, ab, predicate)
	const yes, no = "tool:a allow verified; tool:b allow verified", "tool:a deny attestation_missing; tool:b deny attestation_missing"
	for _, tt := range []struct {
		name    string
		rule    string
		bundles [][]byte
		want    string
	}{
		{"there", plain, [][]byte{good}, yes},
		{"not there", plain, nil, no},
		{"by someone else", plain, [][]byte{foreign(evil, slsa, ab, predicate)}, no},
		{"by the publisher", plain, [][]byte{foreign(p, slsa, ab, predicate)}, no},
		{"of another type", plain, [][]byte{foreign(builder, scan, ab, predicate)}, no},
		{"about one", plain, [][]byte{foreign(builder, slsa, `{"tools":[{"name":"a"}]}`, predicate)}, "tool:a allow verified; tool:b deny attestation_missing"},
		{"about another text", plain, [][]byte{foreign(builder, slsa, `{"tools":[{"name":"a","x":1},{"name":"b","x":1}]}`, predicate)}, no},
		{"about another kind", plain, [][]byte{foreign(builder, slsa, `{"prompts":[{"name":"a"},{"name":"b"}]}`, predicate)}, no},
		{"both types", plain + `, {type: "` + scan + `", BUILDER}`, [][]byte{good, foreign(builder, scan, ab, `{}`)}, yes},
		{"one of both types", plain + `, {type: "` + scan + `", BUILDER}`, [][]byte{good}, no},

		{"equal", where(`{pointer: /b/type, equals: good}`), [][]byte{good}, yes},
		{"not equal", where(`{pointer: /b/type, equals: bad}`), [][]byte{good}, no},
		{"absent", where(`{pointer: /c, equals: good}`), [][]byte{good}, no},
		{"number", where(`{pointer: /level, equals: 3}`), [][]byte{good}, yes},
		{"number as text", where(`{pointer: /level, equals: "3"}`), [][]byte{good}, no},
		{"one of", where(`{pointer: /level, oneOf: [1, 2, 3]}`), [][]byte{good}, yes},
		{"none of", where(`{pointer: /level, oneOf: [1, 2]}`), [][]byte{good}, no},
		{"in an array", where(`{pointer: /b/n/2/x, equals: true}`), [][]byte{good}, yes},
		{"escaped", where(`{pointer: /a~1b, equals: s}`), [][]byte{good}, yes},
		{"an object", where(`{pointer: /b, equals: good}`), [][]byte{good}, no},
		{"both conditions", where(`[{pointer: /b/type, equals: good}, {pointer: /level, equals: 3}]`), [][]byte{good}, yes},
		{"one of both conditions", where(`[{pointer: /b/type, equals: good}, {pointer: /level, equals: 4}]`), [][]byte{good}, no},
		{"conditions met by two statements", where(`[{pointer: /x, equals: 1}, {pointer: /y, equals: 1}]`), [][]byte{foreign(builder, slsa, ab, `{"x":1}`), foreign(builder, slsa, ab, `{"y":1}`)}, no},

		{"young enough", strings.Replace(plain, "}", ", maxAge: 24h}", 1), [][]byte{stamped(day)}, yes},
		{"too old", strings.Replace(plain, "}", ", maxAge: 24h}", 1), [][]byte{stamped(more)}, no},
		{"of no known age", strings.Replace(plain, "}", ", maxAge: 24h}", 1), [][]byte{good}, no},
		{"young enough, as it says", strings.Replace(plain, "}", ", maxAge: 24h}", 1), [][]byte{foreign(builder, slsa, ab, finished(24*time.Hour))}, yes},
		{"too old, as it says", strings.Replace(plain, "}", ", maxAge: 24h}", 1), [][]byte{foreign(builder, slsa, ab, finished(24*time.Hour+time.Second))}, no},
		{"too old, as it says, with a newer timestamp", strings.Replace(plain, "}", ", maxAge: 24h}", 1), [][]byte{stampedOf(day, finished(25*time.Hour))}, no},
		{"of tomorrow", strings.Replace(plain, "}", ", maxAge: 24h}", 1), [][]byte{foreign(builder, slsa, ab, finished(-24*time.Hour))}, no},
		{"of a time that is none", strings.Replace(plain, "}", ", maxAge: 24h}", 1), [][]byte{foreign(builder, slsa, ab, `{"runDetails":{"metadata":{"finishedOn":"today"}}}`)}, no},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, ab), append([][]byte{bundle}, tt.bundles...)...)
			r.Lock = entry
			d := rule(tt.rule).Decide(r)
			wantVerdicts(t, d, tt.want)
			checkDecision(t, d, r)
			// Without the publisher's signature they say nothing.
			r.Bundles = tt.bundles
			if got := verdicts(rule(tt.rule).Decide(r)); strings.Contains(got, "allow") {
				t.Errorf("unsigned: %s", got)
			}
		})
	}
	// Why one does not count is said.
	for _, tt := range []struct {
		rule   string
		reason Reason
		text   string
	}{
		{where(`{pointer: /level, equals: 4}`), AttestationMissing, "does not say what the rule asks for at /level"},
		{strings.Replace(plain, "}", ", maxAge: 24h}", 1), Expired, "neither a timestamp nor the attestation says how old"},
	} {
		d := rule(tt.rule).Decide(ask(listing(t, ab), bundle, good))
		wantDiagnostics(t, d, tt.reason)
		wantError(t, d.Diagnostics()[0].Err, tt.text)
	}
	// Nobody asks for it: it is of the wrong kind.
	refuses(t, verifier(t, trust, p.id), good, WrongKind, "predicate type "+slsa)
}
