package verify

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
)

// withFiles parses a policy that names files.
func withFiles(t testing.TB, text string, files map[string][]byte) *Policy {
	t.Helper()
	p, err := policy(t, text).With(files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pkiBundle signs a statement with a certificate of a CA and a timestamp.
func pkiBundle(t testing.TB, ca *sigtest.CA, uri string, tsa *sigtest.TSA, text string) []byte {
	t.Helper()
	key := sigtest.P256()
	return sigtest.Unchecked{Payload: statement(t, text).Bytes(), Key: key, Chain: ca.Leaf(key, sigtest.URI(uri)).Chain, TSA: tsa}.Bundle()
}

// A publisher's roots and timestamp authorities count for that publisher and
// for nobody else.
func TestPublisherPKI(t *testing.T) {
	const other = "https://other.example/release"
	a, b, host := sigtest.NewCA("a"), sigtest.NewCA("b"), sigtest.NewCA("host")
	tsaA, tsaHost := sigtest.NewTSA(sigtest.At(now)), sigtest.NewTSA(sigtest.At(now))
	files := map[string][]byte{"a.pem": sigtest.CertPEM(a.Certificate), "b.pem": sigtest.CertPEM(b.Certificate), "tsa.pem": sigtest.CertPEM(tsaA.CA.Certificate)}
	key := newPublisher(t)
	trust := Trust{Roots: certs(host.Certificate), TSAs: certs(tsaHost.CA.Certificate), Keys: trustKeys(key.key).Keys}
	const pubs = `version: 1
publishers:
  a: {x509: {roots: [a.pem], san: "uri:https://acme.example/release", tsaRoots: [tsa.pem]}}
  b: {x509: {roots: [b.pem], san: "uri:https://other.example/release"}}
`
	rule := func(signers string) *Verifier {
		return newVerifier(t, withFiles(t, pubs+"rules: [{servers: [io.github.acme/*], signedBy: ["+signers+"]}]\n", files), trust)
	}
	broken := edit(pkiBundle(t, a, release, tsaA, abc), func(b *protobundle.Bundle) { b.GetDsseEnvelope().Signatures[0].Sig[9] ^= 1 })
	for _, tt := range []struct {
		name, signers string
		bundle        []byte
		reason        Reason // empty: accepted
		text          string
	}{
		{"own root and TSA", "a", pkiBundle(t, a, release, tsaA, abc), "", ""},
		{"own root, the host's TSA", "a", pkiBundle(t, a, release, tsaHost, abc), TrustMissing, "unknown authority"},
		{"no TSA of one's own: the host's", "b", pkiBundle(t, b, other, tsaHost, abc), "", ""},
		{"another publisher's TSA", "b", pkiBundle(t, b, other, tsaA, abc), TrustMissing, "unknown authority"},
		{"another publisher's TSA, who may sign too", "a, b", pkiBundle(t, b, other, tsaA, abc), TrustMissing, "unknown authority"},
		{"another publisher's root", "a", pkiBundle(t, b, release, tsaA, abc), TrustMissing, "unknown authority"},
		{"another publisher's root, who may sign too", "a, b", pkiBundle(t, b, release, tsaHost, abc), WrongSigner, "signed by x509:" + release},
		{"the host's root", "a", pkiBundle(t, host, release, tsaA, abc), TrustMissing, "unknown authority"},
		{"the host's root, by an identity", `a, "x509:uri:` + other + `"`, pkiBundle(t, host, other, tsaHost, abc), "", ""},
		{"own root, by an identity", `"x509:uri:` + release + `"`, pkiBundle(t, a, release, tsaHost, abc), TrustMissing, "unknown authority"},
		{"broken, and a key may sign too", `"` + key.id + `", a`, broken, BadSignature, "hashed messages don't match"},
		{"broken, and a key may sign as well", `a, "` + key.id + `"`, broken, BadSignature, "hashed messages don't match"},
		{"other name", "a", pkiBundle(t, a, other, tsaA, abc), WrongSigner, "signed by x509:" + other},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := rule(tt.signers)
			if tt.reason == "" {
				accepts(t, v, tt.bundle)
				return
			}
			d := v.Decide(ask(listing(t, abc), tt.bundle))
			wantDiagnostics(t, d, tt.reason)
			wantVerdicts(t, d, strings.Replace("tool:a deny R; tool:b deny R; tool:c deny R", "R", string(tt.reason), 3))
			if len(d.Diagnostics()) == 1 {
				wantError(t, d.Diagnostics()[0].Err, tt.text)
			}
		})
	}

	// A release by a publisher who may approve alone is by the wrong signer, not by
	// an unknown one; an approval is nothing that the other rules ask for.
	v := newVerifier(t, withFiles(t, pubs+"rules: [{servers: [io.github.acme/*], signedBy: [a], approvals: {from: [b], audience: x}}]\n", files), trust)
	d := v.Decide(ask(listing(t, abc), pkiBundle(t, b, other, tsaHost, abc)))
	wantDiagnostics(t, d, WrongSigner)
	wantError(t, d.Diagnostics()[0].Err, "signed by x509:"+other)
	approval, err := attest.Approve(listing(t, abc).Definitions, attest.Approval{Server: weather, Audience: "x", IssuedAt: now, ExpiresAt: hour(24)})
	if err != nil {
		t.Fatal(err)
	}
	d = rule(`a, "` + key.id + `"`).Decide(ask(listing(t, abc), byKey(t, key.key, approval)))
	if x := d.Diagnostics(); len(x) != 1 || x[0].Reason != WrongKind || x[0].Signer != key.signer() {
		t.Errorf("the diagnostics are %v", x)
	}

	// What was seen by someone of the same name under another root is nothing to
	// the publisher.
	r := ask(listing(t, abc), pkiBundle(t, a, release, tsaA, abc))
	for root, want := range map[*sigtest.CA]bool{a: false, b: true, host: true} {
		r.Seen = []HighWater{{Signer: lock.Signer{Root: lock.Digest(sha256.Sum256(root.Certificate.Raw)).String(), Subject: release}, Sequence: 1000}}
		if err := rule("a").Decide(r).SignedErr(); (err == nil) != want {
			t.Errorf("sequence 1000 seen under root %s: %v", root.Certificate.Subject, err)
		}
	}

	// What is pinned names the material, and the verifier has it.
	v = rule("a")
	entry := pin(t, v, listing(t, abc), pkiBundle(t, a, release, tsaA, abc))
	for _, d := range entry.Evidence[0].Trust {
		if len(v.Material(d)) == 0 {
			t.Errorf("no material %s", d)
		}
	}
	if len(entry.Evidence[0].Trust) != 2 || string(v.Material(lock.Digest(entry.Evidence[0].Trust[0]))) == "" {
		t.Errorf("trust = %v", entry.Evidence[0].Trust)
	}
}

// A publisher signs for the servers of its scope, whatever the rule says.
func TestPublisherScope(t *testing.T) {
	p := newPublisher(t)
	files := map[string][]byte{"p.pub": sigtest.PublicPEM(p.key.Public())}
	for _, tt := range []struct {
		scope string
		in    bool
	}{
		{"[io.github.acme/*]", true}, {"[io.github.acme/weather]", true}, {"[a, io.github.acme/**]", true},
		{"[io.github.other/*]", false}, {"[io.github.acme]", false}, {"[io.github.acme/weather/*]", false},
	} {
		v := newVerifier(t, withFiles(t, "version: 1\npublishers: {p: {servers: "+tt.scope+", key: {file: p.pub}}}\nrules: [{servers: [io.github.acme/*], signedBy: [p]}]\n", files), Trust{})
		d := v.Decide(ask(listing(t, abc), p.sign(t, abc)))
		if (d.SignedErr() == nil) != tt.in || len(d.Expected()) > 0 != tt.in {
			t.Errorf("scope %s: %s, expected %v", tt.scope, verdicts(d), d.Expected())
		}
		if !tt.in {
			wantDiagnostics(t, d, WrongSigner)
		}
	}
}

// A key of a publisher signs within its time.
func TestPublisherKey(t *testing.T) {
	s := newServices()
	p, next := newPublisher(t), newPublisher(t)
	files := map[string][]byte{"p.pub": sigtest.PublicPEM(p.key.Public()), "next.pub": sigtest.PublicPEM(next.key.Public())}
	v := newVerifier(t, withFiles(t, `version: 1
publishers:
  p: {key: [{file: p.pub, notBefore: 2026-01-01T00:00:00Z, notAfter: 2026-12-31T00:00:00Z}, {file: next.pub, notBefore: 2026-12-01T00:00:00Z}]}
rules: [{servers: [io.github.acme/*], signedBy: [p]}]
`, files), Trust{TSAs: certs(s.TSA.CA.Certificate)})
	stamped := signed(t, statement(t, abc))(sign.Key(p.key, services(s, sigtest.WithTSA)))
	for _, tt := range []struct {
		name   string
		bundle []byte
		at     time.Time
		reason Reason
	}{
		{"within", p.sign(t, abc), now, ""},
		{"after", p.sign(t, abc), now.AddDate(1, 0, 0), Expired},
		{"before", p.sign(t, abc), now.AddDate(-1, 0, 0), Expired},
		{"after, stamped within", stamped, now.AddDate(1, 0, 0), ""},
		{"the next one, too early", next.sign(t, abc), now, Expired},
		{"the next one", next.sign(t, abc), now.AddDate(0, 1, 0), ""},
	} {
		r := ask(listing(t, abc), tt.bundle)
		r.At = tt.at
		d := v.Decide(r)
		if tt.reason == "" && d.SignedErr() != nil || tt.reason != "" && !d.Results()[0].Has(tt.reason) {
			t.Errorf("%s: %s", tt.name, verdicts(d))
		}
	}
	// Both are one party: of two releases the newer counts, whoever signed it.
	r := ask(listing(t, ab), p.sign(t, ab, sequence(12)), next.sign(t, `{"tools":[{"name":"a"}]}`, sequence(17)))
	r.At = now.AddDate(0, 0, 5)
	d := v.Decide(r)
	wantVerdicts(t, d, "tool:a undecided verified, first_contact, not_locked; tool:b deny rollback")
	r.Seen = []HighWater{{Signer: next.signer(), Sequence: 18}}
	wantDiagnostics(t, v.Decide(r), Rollback, Rollback)
}

// The evidence that a publisher's signatures must have besides.
func TestMinimumEvidence(t *testing.T) {
	s := newServices()
	p := newPublisher(t)
	files := map[string][]byte{"p.pub": sigtest.PublicPEM(p.key.Public())}
	trust := Trust{SigstoreRoot: s.TrustedRoot()}
	rule := func(evidence string) *Verifier {
		return newVerifier(t, withFiles(t, "version: 1\npublishers: {p: {key: {file: p.pub}, "+evidence+"}}\nrules: [{servers: [io.github.acme/*], signedBy: [p]}]\n", files), trust)
	}
	with := func(parts sigtest.Parts) []byte {
		return signed(t, statement(t, abc))(sign.Key(p.key, services(s, parts)))
	}
	bare, stamped, logged, both := with(0), with(sigtest.WithTSA), with(sigtest.WithRekorV1), with(sigtest.WithTSA|sigtest.WithRekorV1)
	for _, tt := range []struct {
		evidence                   string
		bare, stamped, logged, all bool
	}{
		{"servers: [io.github.acme/*]", true, true, true, true},
		{"evidence: [log]", false, false, true, true},
		{"evidence: [timestamp]", false, true, false, true},
		{"evidence: [log, timestamp]", false, false, false, true},
	} {
		v := rule(tt.evidence)
		for i, want := range []bool{tt.bare, tt.stamped, tt.logged, tt.all} {
			bundle := [][]byte{bare, stamped, logged, both}[i]
			if want {
				accepts(t, v, bundle)
			} else {
				d := v.Decide(ask(listing(t, abc), bundle))
				wantVerdicts(t, d, "tool:a deny unsigned; tool:b deny unsigned; tool:c deny unsigned")
				wantDiagnostics(t, d, Unsigned)
			}
		}
		// What is enough wins over what is not.
		if tt.all {
			if err := v.Decide(ask(listing(t, abc), bare, stamped, logged, both)).SignedErr(); err != nil {
				t.Error(err)
			}
		}
	}
}

// As many principals as are needed must vouch for each definition.
func TestNeed(t *testing.T) {
	a, b, c := newPublisher(t), newPublisher(t), newPublisher(t)
	v := ruleFor(t, "    need: 2\n", a, b, c)
	const yes, no = " undecided verified, first_contact, not_locked", " deny unsigned"
	for _, tt := range []struct {
		name    string
		bundles [][]byte
		want    string
	}{
		{"one", [][]byte{a.sign(t, ab)}, "tool:a" + no + "; tool:b" + no},
		{"one, twice", [][]byte{a.sign(t, ab), a.sign(t, ab, variant("x"))}, "tool:a" + no + "; tool:b" + no},
		{"two", [][]byte{a.sign(t, ab), b.sign(t, ab)}, "tool:a" + yes + "; tool:b" + yes},
		{"three", [][]byte{a.sign(t, ab), b.sign(t, ab), c.sign(t, ab)}, "tool:a" + yes + "; tool:b" + yes},
		{"two, each for another", [][]byte{a.sign(t, `{"tools":[{"name":"a"}]}`), b.sign(t, `{"tools":[{"name":"b"}]}`)}, "tool:a" + no + "; tool:b" + no},
		{"two for one", [][]byte{a.sign(t, ab), b.sign(t, `{"tools":[{"name":"b"}]}`)}, "tool:a" + no + "; tool:b" + yes},
		{"the third fills in", [][]byte{a.sign(t, ab), b.sign(t, `{"tools":[{"name":"b"}]}`), c.sign(t, `{"tools":[{"name":"a"}]}`)}, "tool:a" + yes + "; tool:b" + yes},
		{"other sequences", [][]byte{a.sign(t, ab, sequence(7)), b.sign(t, ab, sequence(9))}, "tool:a" + yes + "; tool:b" + yes},
		{"one of them expired", [][]byte{a.sign(t, ab), b.sign(t, ab, expires(now.Add(time.Second)))}, "tool:a deny expired; tool:b deny expired"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, ab), tt.bundles...)
			if strings.Contains(tt.name, "expired") {
				r.At = now.Add(time.Minute)
			}
			d := v.Decide(r)
			wantVerdicts(t, d, tt.want)
			checkDecision(t, d, r)
		})
	}
	// The pin remembers both, and one of them alone is not enough later, nor
	// beside one who was not there.
	r := ask(listing(t, ab), a.sign(t, ab), b.sign(t, ab))
	r.Lock = pin(t, v, r.Listing, r.Bundles...)
	if len(r.Lock.Evidence) != 2 {
		t.Errorf("evidence = %v", r.Lock.Evidence)
	}
	wantVerdicts(t, v.Decide(r), "tool:a allow verified; tool:b allow verified")
	r.Bundles = r.Bundles[:1]
	wantVerdicts(t, v.Decide(r), "tool:a deny unsigned; tool:b deny unsigned")
	r.Bundles = append(r.Bundles, c.sign(t, ab))
	wantVerdicts(t, v.Decide(r), "tool:a undecided verified, wrong_signer; tool:b undecided verified, wrong_signer")
}

// Limits of the rule on the age and the sequence of a statement.
func TestRuleLimits(t *testing.T) {
	p := newPublisher(t)
	for _, tt := range []struct {
		options string
		at      time.Time
		reason  Reason
	}{
		{"    maxAge: 24h\n", now.Add(24 * time.Hour), ""},
		{"    maxAge: 24h\n", now.Add(24*time.Hour + time.Second), Expired},
		{"    maxAge: 2d\n", now.Add(48 * time.Hour), ""},
		{"    maxAge: 2d\n", now.Add(49 * time.Hour), Expired},
		{"    minSequence: 100\n", now, ""},
		{"    minSequence: 101\n", now, Rollback},
	} {
		r := ask(listing(t, ab), p.sign(t, ab))
		r.At = tt.at
		d := ruleFor(t, tt.options, p).Decide(r)
		if tt.reason == "" && d.SignedErr() != nil || tt.reason != "" && verdicts(d) != "tool:a deny "+string(tt.reason)+"; tool:b deny "+string(tt.reason) {
			t.Errorf("%s at %v: %s", tt.options, tt.at, verdicts(d))
		}
	}
}

// By several policies a definition must be allowed by each.
func TestSeveralPolicies(t *testing.T) {
	p, q := newPublisher(t), newPublisher(t)
	by := func(x publisher) string {
		return "version: 1\nrules: [{servers: [io.github.acme/*], signedBy: [\"" + x.id + "\"]}]\n"
	}
	const pinned = "version: 1\nrules: [{servers: [\"**\"], pinnedOnly: x}]\n"
	const elsewhere = "version: 1\nrules: [{servers: [elsewhere], pinnedOnly: x}]\n"
	blocks := "version: 1\nrules: [{servers: [io.github.acme/*], refuse: block, listing: complete, signedBy: [\"" + p.id + "\"]}]\n"
	trust := trustKeys(p.key, q.key)
	both := newVerifier(t, policy(t, by(p)), trust, policy(t, by(q)))
	entry := pin(t, both, listing(t, ab), p.sign(t, ab), q.sign(t, ab, sequence(7)))
	if len(entry.Evidence) != 2 {
		t.Errorf("evidence = %+v", entry.Evidence)
	}
	for _, tt := range []struct {
		name     string
		policies []string
		bundles  [][]byte
		want     string
		signed   bool
	}{
		{"both signed", []string{by(p), by(q)}, [][]byte{p.sign(t, ab), q.sign(t, ab, sequence(7))}, "tool:a allow verified; tool:b allow verified", true},
		{"one signed", []string{by(p), by(q)}, [][]byte{p.sign(t, ab)}, "tool:a deny wrong_signer; tool:b deny wrong_signer", false},
		{"none signed", []string{by(p), by(q)}, nil, "tool:a deny unsigned; tool:b deny unsigned", false},
		{"one signed less", []string{by(p), by(q)}, [][]byte{p.sign(t, ab), q.sign(t, `{"tools":[{"name":"a"}]}`)}, "tool:a allow verified; tool:b deny unsigned", false},
		{"a rule and none", []string{by(p), elsewhere}, [][]byte{p.sign(t, ab)}, "tool:a deny no_rule; tool:b deny no_rule", false},
		{"the second blocks", []string{by(q), blocks}, [][]byte{p.sign(t, abc, complete), q.sign(t, ab, sequence(7))}, "tool:a deny blocked; tool:b deny blocked; tool:c deny missing", false},
		{"signed, and pinned for the system", []string{by(p), pinned}, [][]byte{p.sign(t, ab), q.sign(t, ab, sequence(7))}, "tool:a allow verified; tool:b allow verified", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, order := range [][]int{{0, 1}, {1, 0}} {
				v := newVerifier(t, policy(t, tt.policies[order[0]]), trust, policy(t, tt.policies[order[1]]))
				r := ask(listing(t, ab), tt.bundles...)
				r.Lock = entry
				d := v.Decide(r)
				wantVerdicts(t, d, tt.want)
				checkDecision(t, d, r)
				if (d.SignedErr() == nil) != tt.signed {
					t.Errorf("SignedErr = %v", d.SignedErr())
				}
				if !strings.Contains(d.Rule(), " and ") {
					t.Errorf("rule = %s", d.Rule())
				}
				if _, err := d.Pin(r.Listing.Definitions...); (err == nil) != tt.signed {
					t.Errorf("Pin = %v", err)
				}
			}
		})
	}
	// A nil policy is none, not the built-in rule beside another.
	r := ask(listing(t, ab), p.sign(t, ab))
	if d := newVerifier(t, nil, trust, policy(t, by(p))).Decide(r); d.SignedErr() != nil || d.Rule() != "policy.yaml:2" {
		t.Errorf("%s: %s", d.Rule(), verdicts(d))
	}
	// An unpinned policy signature does not count where nobody asks for one.
	only := newVerifier(t, policy(t, pinned), trust, policy(t, pinned))
	r.Lock = unsigned(t, ab)
	if d := only.Decide(r); d.Err() != nil || d.SignedErr() == nil {
		t.Errorf("Err = %v, SignedErr = %v", d.Err(), d.SignedErr())
	}
}

// A definition that only an older release had is a rollback, whether or not a
// newer one was seen before.
func TestDefinitionOfOlderRelease(t *testing.T) {
	p := newPublisher(t)
	v := ruleFor(t, "", p)
	older, newer := p.sign(t, ab), p.sign(t, `{"tools":[{"name":"b"}]}`, sequence(101))
	for name, seen := range map[string][]HighWater{"nothing was seen": nil, "the newer one was seen": {{Signer: p.signer(), Sequence: 101}}} {
		r := ask(listing(t, ab), older, newer)
		r.Seen = seen
		d := v.Decide(r)
		if a, b := d.Results()[0], d.Results()[1]; !a.Has(Rollback) || b.Has(Rollback) {
			t.Errorf("%s: %s", name, verdicts(d))
		}
	}
}
