package verify

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
)

// pin decides on the listing and pins all of it.
func pin(t testing.TB, v *Verifier, l *lock.Listing, bundles ...[]byte) *lock.Server {
	t.Helper()
	entry, err := v.Decide(ask(l, bundles...)).Pin(l.Definitions...)
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

// unsigned pins a listing that nobody signed.
func unsigned(t testing.TB, text string) *lock.Server {
	t.Helper()
	return pin(t, newVerifier(t, nil, Trust{}), listing(t, text))
}

// The verdict on each definition, by the rule, what is pinned, what is signed,
// and how the listing differs from that.
func TestDecide(t *testing.T) {
	key := sigtest.P256()
	id := "key:" + keyID(t, key)
	bundle := byKey(t, key, statement(t, abc))
	trust := trustKeys(key)
	named := verifier(t, trust, id)
	rule := func(text string) *Verifier {
		return newVerifier(t, policy(t, "version: 1\nrules:\n  - servers: ["+weather+"]\n    "+text+"\n"), trust)
	}
	verifiers := map[string]*Verifier{
		"built-in":   newVerifier(t, nil, trust),
		"named":      named,
		"signedBy":   rule(`signedBy: ["` + id + `"]`),
		"pinnedOnly": rule(`pinnedOnly: "a test"`),
	}
	locks := map[string]*lock.Server{
		"nothing":  nil,
		"unsigned": unsigned(t, abc),
		"signed":   pin(t, named, listing(t, abc), bundle),
	}
	listings := []struct{ name, of, text string }{
		{"equal", "a", abc},
		{"drift", "a", `{"tools":[{"name":"a","x":1},{"name":"b"},{"name":"c"}]}`},
		{"added", "d", `{"tools":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}]}`},
		{"missing", "c", `{"tools":[{"name":"a"},{"name":"b"}]}`},
		{"no digest", "b", `{"tools":[{"name":"a"},{"name":"b","n":1e400},{"name":"c"}]}`},
		{"twice", "b", `{"tools":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"b"}]}`},
	}
	const noDigest, twice = "deny no_digest", "deny duplicate_name"
	for _, tt := range []struct {
		rule, pinned, bundle                   string
		equal, drift, added, missing, no, copy string
	}{
		{"built-in", "nothing", "", "undecided not_locked", "undecided not_locked", "undecided not_locked", "", noDigest, twice},
		{"built-in", "nothing", "signed", "undecided not_locked", "undecided not_locked", "undecided not_locked", "", noDigest, twice},
		{"built-in", "unsigned", "", "allow pinned", "undecided drift", "undecided not_locked", "deny missing", noDigest, twice},
		{"built-in", "unsigned", "signed", "allow pinned", "undecided drift", "undecided not_locked", "deny missing", noDigest, twice},
		{"built-in", "signed", "", "deny unsigned", "deny drift, unsigned", "deny not_locked, unsigned", "deny missing", noDigest, twice},
		{"built-in", "signed", "signed", "allow verified", "deny drift", "deny not_locked", "deny missing", noDigest, twice},

		{"named", "nothing", "", "deny unsigned", "deny unsigned", "deny unsigned", "", noDigest, twice},
		{"named", "nothing", "signed", "undecided verified, first_contact, not_locked", "deny unsigned", "deny unsigned", "", noDigest, twice},
		{"named", "unsigned", "", "deny unsigned", "deny drift, unsigned", "deny not_locked, unsigned", "deny missing", noDigest, twice},
		{"named", "unsigned", "signed", "allow verified, first_contact", "deny drift", "deny not_locked", "deny missing", noDigest, twice},
		{"named", "signed", "", "deny unsigned", "deny drift, unsigned", "deny not_locked, unsigned", "deny missing", noDigest, twice},
		{"named", "signed", "signed", "allow verified", "deny drift", "deny not_locked", "deny missing", noDigest, twice},

		{"signedBy", "nothing", "", "deny unsigned", "deny unsigned", "deny unsigned", "", noDigest, twice},
		{"signedBy", "nothing", "signed", "undecided verified, first_contact, not_locked", "deny unsigned", "deny unsigned", "", noDigest, twice},
		{"signedBy", "unsigned", "", "deny unsigned", "deny drift, unsigned", "deny not_locked, unsigned", "", noDigest, twice},
		{"signedBy", "unsigned", "signed", "allow verified, first_contact", "deny drift", "deny not_locked", "", noDigest, twice},
		{"signedBy", "signed", "", "deny unsigned", "deny drift, unsigned", "deny not_locked, unsigned", "", noDigest, twice},
		{"signedBy", "signed", "signed", "allow verified", "deny drift", "deny not_locked", "", noDigest, twice},

		{"pinnedOnly", "nothing", "", "undecided not_locked", "undecided not_locked", "undecided not_locked", "", noDigest, twice},
		{"pinnedOnly", "nothing", "signed", "undecided not_locked", "undecided not_locked", "undecided not_locked", "", noDigest, twice},
		{"pinnedOnly", "unsigned", "", "allow pinned", "undecided drift", "undecided not_locked", "", noDigest, twice},
		{"pinnedOnly", "unsigned", "signed", "allow pinned", "undecided drift", "undecided not_locked", "", noDigest, twice},
		// What was signed once is not taken unsigned.
		{"pinnedOnly", "signed", "", "deny unsigned", "deny drift, unsigned", "deny not_locked, unsigned", "", noDigest, twice},
		{"pinnedOnly", "signed", "signed", "allow verified", "deny drift", "deny not_locked", "", noDigest, twice},
	} {
		wants := []string{tt.equal, tt.drift, tt.added, tt.missing, tt.no, tt.copy}
		for i, l := range listings {
			t.Run(strings.Join([]string{tt.rule, "pinned " + tt.pinned, "bundle " + tt.bundle, l.name}, "/"), func(t *testing.T) {
				r := ask(listing(t, l.text))
				r.Lock = locks[tt.pinned]
				if tt.bundle != "" {
					r.Bundles = [][]byte{bundle}
				}
				d := verifiers[tt.rule].Decide(r)
				checkVerdicts(t, d, l.of, wants[i], tt.equal)
				checkDecision(t, d, r)
			})
		}
	}
}

// checkVerdicts checks the verdict on one tool, and the one on all others.
func checkVerdicts(t *testing.T, d *Decision, of, want, others string) {
	t.Helper()
	found := ""
	for _, r := range d.Results() {
		switch got := show(r); {
		case r.Name == of:
			if found = got; got != want {
				t.Errorf("%s: %s, want %s", r.Name, got, want)
			}
		case got != others:
			t.Errorf("%s: %s, want %s", r.Name, got, others)
		}
	}
	if found != want {
		t.Errorf("%s: %q, want %q", of, found, want)
	}
}

// checkDecision checks what holds for every decision on a request.
func checkDecision(t *testing.T, d *Decision, r Request) {
	t.Helper()
	allowed := 0
	for _, x := range d.Results() {
		if len(x.Reasons) == 0 {
			t.Errorf("%s has no reason", x.Name)
		}
		if x.Verdict == Allow {
			allowed++
			if x.Digest.IsZero() || x.Has(Missing) || !x.Has(Verified) && !x.Has(Pinned) {
				t.Errorf("%s is allowed: %v", x.Name, x.Reasons)
			}
		}
		if x.Has(Verified) != (len(x.Signers) > 0) {
			t.Errorf("%s: reasons %v and signers %v", x.Name, x.Reasons, x.Signers)
		}
		if x.Verdict == Allow && len(d.Expected()) > 0 && len(x.Signers) == 0 && !x.Has(Pinned) {
			t.Errorf("%s is allowed, and nobody signed it", x.Name)
		}
		if (x.Refused != nil) != (x.Has(NoDigest) || x.Has(DuplicateName)) {
			t.Errorf("%s: reasons %v and refusal %v", x.Name, x.Reasons, x.Refused)
		}
	}
	for _, x := range r.Listing.Definitions {
		i := slices.IndexFunc(d.Results(), func(y Result) bool { return y.Kind == x.Kind() && y.Name == x.Name() })
		if i < 0 || d.Allows(x) != (d.Results()[i].Verdict == Allow) {
			t.Errorf("Allows(%s) = %v", x.ID(), d.Allows(x))
		}
	}
	checkExplained(t, d)
	if err := d.Err(); (err == nil) != (allowed > 0 && allowed == len(d.Results())) {
		t.Errorf("%d of %d are allowed, and the error is %v", allowed, len(d.Results()), err)
	}
	if !slices.IsSortedFunc(d.Results(), compareResults) {
		t.Error("the results are not sorted")
	}
}

// checkExplained fails the test if the explanation of a result says another thing
// than the result: what is allowed has all that is needed, and what is denied
// lacks something. What blocks a whole listing is not looked for in one definition.
func checkExplained(t *testing.T, d *Decision) {
	t.Helper()
	for _, x := range d.Results() {
		for _, e := range d.Explain(x.Kind, x.Name) {
			if len(e.Needs) == 0 || e.Result.Has(Blocked) {
				continue
			}
			unmet := slices.IndexFunc(e.Needs, func(n Need) bool { return !n.Met })
			if met := unmet < 0; met != (e.Result.Verdict == Allow) {
				t.Errorf("%s is %s, and the explanation is %+v", x.Name, show(e.Result), e.Needs)
			}
		}
	}
}

// A decision that allows is one about these very definitions.
func TestAllows(t *testing.T) {
	v := newVerifier(t, nil, Trust{})
	l := listing(t, `{"tools":[{"name":"a"},{"name":"b","x":1}],"prompts":[{"name":"a"}],"instructions":"Be kind."}`)
	r := ask(l)
	r.Lock = unsigned(t, `{"tools":[{"name":"a"},{"name":"b"}],"instructions":"Be kind."}`)
	d := v.Decide(r)
	if got, want := verdicts(d), "instructions: allow pinned; prompt:a undecided not_locked; tool:a allow pinned; tool:b undecided drift"; got != want {
		t.Errorf("results = %s, want %s", got, want)
	}
	other := listing(t, `{"tools":[{"name":"a","x":1},{"name":"b"},{"name":"c"}],"instructions":"Be evil."}`)
	for _, x := range append(append(slices.Clone(other.Definitions), lock.Definition{}), l.Definitions[1], l.Definitions[3]) {
		if d.Allows(x) {
			t.Errorf("%s with digest %s is allowed", x.ID(), x.Digest())
		}
	}
	for _, i := range []int{0, 2} {
		if !d.Allows(l.Definitions[i]) {
			t.Errorf("%s is not allowed", l.Definitions[i].ID())
		}
	}
	// _meta is no part of it.
	if same := listing(t, `{"tools":[{"name":"a","_meta":{"x":1}}]}`); !d.Allows(same.Definitions[0]) {
		t.Error("tool:a with _meta is not allowed")
	}
}

// Every way of having nothing is a no.
func TestNothing(t *testing.T) {
	key := sigtest.P256()
	id := "key:" + keyID(t, key)
	good := byKey(t, key, statement(t, abc))
	empty := listing(t, `{"tools":[]}`)
	entry := unsigned(t, abc)
	other := *entry
	other.Name = "io.github.acme/other"
	elsewhere := policy(t, "version: 1\nrules:\n  - servers: [elsewhere]\n    pinnedOnly: x\n")
	for _, tt := range []struct {
		name   string
		policy *Policy
		trust  Trust
		change func(*Request)
		want   string
	}{
		{"nothing at all", nil, Trust{}, func(r *Request) { *r = Request{} }, "server name has 0 bytes"},
		{"no name", nil, Trust{}, func(r *Request) { r.Server = "" }, "server name has 0 bytes"},
		{"no listing", nil, Trust{}, func(r *Request) { r.Listing = nil }, "no listing"},
		{"zero listing", nil, Trust{}, func(r *Request) { r.Listing = &lock.Listing{} }, "the listing is empty"},
		{"empty listing", nil, Trust{}, func(r *Request) { r.Listing = empty }, "the listing is empty"},
		{"empty listing of a pinned server", nil, Trust{}, func(r *Request) { r.Listing, r.Lock = empty, entry }, "tool:a is not allowed: missing (and 2 more)"},
		{"empty listing of a pinned server, subset", policy(t, small), Trust{}, func(r *Request) { r.Listing, r.Lock = empty, entry }, "the listing is empty"},
		{"no time", nil, Trust{}, func(r *Request) { r.At = time.Time{} }, "no time"},
		{"lock entry of another", nil, Trust{}, func(r *Request) { r.Lock = &other }, "lock entry of io.github.acme/other used for " + weather},
		{"empty lock entry", nil, Trust{}, func(r *Request) { r.Lock = &lock.Server{Name: weather} }, "tool:a is not allowed: not_locked (and 2 more)"},
		{"no lock", nil, Trust{}, func(*Request) {}, "tool:a is not allowed: not_locked (and 2 more)"},
		{"no rule", elsewhere, Trust{}, func(r *Request) { r.Lock = entry }, "tool:a is not allowed: no_rule (and 2 more)"},
		{"no bundle", nil, Trust{}, func(r *Request) { r.Lock = nil }, "not_locked"},
		{"no key", nil, Trust{}, func(r *Request) { r.Bundles = [][]byte{good} }, "not_locked"},
		{"no key, signed", policyOf(t, id), Trust{}, func(r *Request) { r.Bundles = [][]byte{good} }, "trust_missing"},
		{"no bundle, signed", policyOf(t, id), trustKeys(key), func(*Request) {}, "unsigned"},
		{"nil bundle", policyOf(t, id), trustKeys(key), func(r *Request) { r.Bundles = [][]byte{nil} }, "unreadable"},
		{"empty bundle", policyOf(t, id), trustKeys(key), func(r *Request) { r.Bundles = [][]byte{{}} }, "unreadable"},
		{"zero policy", &Policy{}, trustKeys(key), func(r *Request) { r.Bundles, r.Lock = [][]byte{good}, entry }, "no_rule"},
		{"nothing but refused definitions", nil, Trust{}, func(r *Request) { r.Listing = listing(t, `{"tools":[{"name":"a","n":1e400}]}`) }, "tool:a is not allowed: no_digest"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVerifier(t, tt.policy, tt.trust)
			r := ask(listing(t, abc))
			tt.change(&r)
			d := v.Decide(r)
			wantError(t, d.Err(), tt.want)
			if d.SignedErr() == nil || len(d.HighWater()) != 0 {
				t.Errorf("SignedErr = %v, HighWater = %v", d.SignedErr(), d.HighWater())
			}
			if len(d.Results()) == 0 {
				if entry, err := d.Pin(listing(t, abc).Definitions...); err == nil {
					t.Errorf("Pin = %v", entry)
				}
			}
			for _, x := range listing(t, abc).Definitions {
				if d.Allows(x) {
					t.Errorf("%s is allowed", x.ID())
				}
			}
		})
	}
	for _, d := range []*Decision{{}, newVerifier(t, nil, Trust{}).Decide(ask(listing(t, abc)))} {
		if entry, err := d.Pin(); err == nil || entry != nil || d.Err() == nil || d.SignedErr() == nil || d.Bundle(lock.Digest{}) != nil {
			t.Errorf("a decision over nothing says yes: %v, %v", entry, err)
		}
	}
	if (Result{}).Verdict != Deny || Deny.String() != "deny" || Verdict(9).String() != "deny" || Allow.String() != "allow" || Undecided.String() != "undecided" {
		t.Error("the zero verdict does not deny")
	}
}

// policyOf requires that weather is signed by the identity.
func policyOf(t testing.TB, id string) *Policy {
	t.Helper()
	p, err := Require(weather, identities(t, id)...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Pin makes what a lockfile can hold, and only what was decided and may be.
func TestPin(t *testing.T) {
	s := newServices()
	key := sigtest.P256()
	trust := trustKeys(key)
	trust.SigstoreRoot = s.TrustedRoot()
	v := verifier(t, trust, "key:"+keyID(t, key), workflow)
	st := statement(t, `{"tools":[{"name":"a"},{"name":"b"}]}`, variant("linux"))
	bundles := [][]byte{
		signed(t, st)(sign.Key(key, services(s, sigtest.WithRekorV1|sigtest.WithTSA))),
		keyless(t, s, acme(), sigtest.WithRekorV2|sigtest.WithTSA, statement(t, abc, variant("mac"), sequence(7))),
	}
	l := listing(t, `{"tools":[{"name":"a","_meta":{"v":1}},{"name":"b"},{"name":"c"},{"name":"d"},{"name":"e","n":1e400}],"prompts":[{"name":"a"}]}`)
	d := v.Decide(ask(l, bundles...))
	byName := func(text string) lock.Definition { return listing(t, text).Definitions[0] }
	a, b, c := byName(`{"tools":[{"name":"a","_meta":{"v":1}}]}`), byName(`{"tools":[{"name":"b"}]}`), byName(`{"tools":[{"name":"c"}]}`)

	entry, err := d.Pin(c, a, b, a)
	if err != nil {
		t.Fatal(err)
	}
	if len(entry.Pins) != 3 || len(entry.Evidence) != 2 || entry.Pins[0].Definition.MetaDigest() != a.MetaDigest() {
		t.Errorf("entry = %+v", entry)
	}
	for i, want := range []string{"a", "b", "c"} {
		if p := entry.Pins[i]; p.Definition.Name() != want || p.Unsigned {
			t.Errorf("pin %d = %+v", i, p)
		}
	}
	again := formatted(t, entry)
	r := ask(listing(t, abc), bundles...)
	r.Lock = again
	if err := v.Decide(r).Err(); err != nil {
		t.Errorf("what was pinned is refused: %v", err)
	}
	r.Seen = d.HighWater()
	if err := v.Decide(r).Err(); err != nil || len(r.Seen) != 2 {
		t.Errorf("what was pinned is refused with %v: %v", r.Seen, err)
	}
	for _, e := range entry.Evidence {
		if !slices.ContainsFunc(bundles, func(b []byte) bool { return string(b) == string(d.Bundle(e.Bundle)) }) {
			t.Errorf("no bundle for %+v", e)
		}
	}

	for _, tt := range []struct {
		name string
		xs   []lock.Definition
		want string
	}{
		{"nothing", nil, "nothing was decided"},
		{"unsigned", []lock.Definition{a, byName(`{"tools":[{"name":"d"}]}`)}, "tool:d is not allowed: unsigned"},
		{"other digest", []lock.Definition{byName(`{"tools":[{"name":"a","x":1}]}`)}, "tool:a was not decided on"},
		{"other digest beside the right one", []lock.Definition{a, byName(`{"tools":[{"name":"a","x":1}]}`)}, "tool:a was not decided on"},
		{"not listed", []lock.Definition{byName(`{"tools":[{"name":"\u001b[31m"}]}`)}, `tool:\u{1b}[31m was not decided on`},
		{"no digest", []lock.Definition{byName(`{"tools":[{"name":"e"}]}`)}, "tool:e was not decided on"},
		{"zero", []lock.Definition{{}}, "was not decided on"},
		{"other kind", []lock.Definition{byName(`{"prompts":[{"name":"a"}]}`)}, "prompt:a is not allowed: wrong_kind"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entry, err := d.Pin(tt.xs...)
			wantError(t, err, tt.want)
			if entry != nil {
				t.Errorf("entry = %+v", entry)
			}
		})
	}
}

// formatted writes and reads a lock entry.
func formatted(t *testing.T, entry *lock.Server) *lock.Server {
	t.Helper()
	data, err := (&lock.File{Servers: []lock.Server{*entry}}).Format()
	if err != nil {
		t.Fatal(err)
	}
	f, err := lock.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f.Find(entry.Name)
}

// Decide is a function of the request: it gives the same twice, for bundles in
// any order, from a cache or not, and to many at once.
func TestPure(t *testing.T) {
	s := newServices()
	key, other := sigtest.P256(), sigtest.P256()
	trust := trustKeys(key, other)
	trust.SigstoreRoot = s.TrustedRoot()
	ids := []string{"key:" + keyID(t, key), "key:" + keyID(t, other), workflow}
	bundles := [][]byte{
		byKey(t, key, statement(t, abc)),
		byKey(t, key, statement(t, `{"tools":[{"name":"a"}]}`, variant("x"))),
		byKey(t, key, statement(t, abc, sequence(7))),
		byKey(t, other, statement(t, abc)),
		byKey(t, other, statement(t, `{"tools":[{"name":"a"}]}`)), // contradicts the one before
		byKey(t, sigtest.P256(), statement(t, abc)),
		keyless(t, s, acme(), sigtest.WithRekorV1, statement(t, abc, server("elsewhere"))),
		[]byte("junk"),
	}
	// Repository IDs: 1 and none are one signer, and so are none and 2, but not
	// 1 and 2.
	for i, n := range []string{"1", "", "2"} {
		id := acme()
		id["repository_id"] = n
		bundles = append(bundles, keyless(t, s, id, sigtest.WithRekorV1, statement(t, abc, sequence(uint64(50+i)), variant("id "+n))))
	}
	r := ask(listing(t, `{"tools":[{"name":"a"},{"name":"b"},{"name":"d"}]}`))
	r.Lock = unsigned(t, abc)
	for _, subset := range [][][]byte{bundles, bundles[4:], bundles[5:8], bundles[8:]} {
		v := verifier(t, trust, ids...)
		r.Bundles = subset
		want := snapshot(v.Decide(r))
		for range 50 {
			r.Bundles = slices.Clone(subset)
			rand.Shuffle(len(r.Bundles), func(i, j int) { r.Bundles[i], r.Bundles[j] = r.Bundles[j], r.Bundles[i] })
			if got := snapshot(v.Decide(r)); !reflect.DeepEqual(got, want) {
				t.Fatalf("got  %+v\nwant %+v", got, want)
			}
		}
		var wg sync.WaitGroup
		fresh := verifier(t, trust, ids...)
		for range 8 {
			wg.Go(func() {
				if got := snapshot(fresh.Decide(r)); !reflect.DeepEqual(got, want) {
					t.Errorf("at once: got  %+v\nwant %+v", got, want)
				}
			})
		}
		wg.Wait()
	}
}

// snapshot is all that a decision says.
func snapshot(d *Decision) []any {
	var bad []string
	for _, x := range d.Diagnostics() {
		bad = append(bad, x.Bundle.String()+" "+string(x.Reason)+" "+x.Signer.String()+" "+x.Err.Error())
	}
	return []any{d.Results(), d.HighWater(), bad, d.Rule(), d.Expected(), fmt.Sprint(d.Err())}
}
