package verify

import (
	"context"
	"crypto"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
)

const (
	weather = "io.github.acme/weather"
	release = "https://acme.example/release"
)

// now is when everything is signed and verified, unless a test says otherwise.
var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// abc is the listing that most tests are about.
const abc = `{"tools":[{"name":"a"},{"name":"b"},{"name":"c"}]}`

func listing(t testing.TB, text string) *lock.Listing {
	t.Helper()
	l, err := lock.ParseListing([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// statement makes a statement about the listing, sequence 100, as edits leave
// it.
func statement(t testing.TB, text string, edits ...func(*attest.Release)) *attest.Statement {
	t.Helper()
	r := attest.Release{Server: weather, Sequence: 100, Kinds: lock.Kinds(), IssuedAt: now}
	for _, edit := range edits {
		edit(&r)
	}
	st, err := attest.Definitions(listing(t, text), r)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func sequence(n uint64) func(*attest.Release)    { return func(r *attest.Release) { r.Sequence = n } }
func variant(v string) func(*attest.Release)     { return func(r *attest.Release) { r.Variant = v } }
func server(name string) func(*attest.Release)   { return func(r *attest.Release) { r.Server = name } }
func expires(at time.Time) func(*attest.Release) { return func(r *attest.Release) { r.ExpiresAt = at } }
func issued(at time.Time) func(*attest.Release)  { return func(r *attest.Release) { r.IssuedAt = at } }
func complete(r *attest.Release)                 { r.Complete = true }

// newServices returns signing services of which it is now.
func newServices() *sigtest.Sigstore {
	s := sigtest.New()
	s.Clock.Set(now)
	return s
}

// services is what signers are given to ask the services of s that parts name.
func services(s *sigtest.Sigstore, parts sigtest.Parts) sign.Services {
	sv := sign.Services{Client: s.Client(), Now: s.Fulcio.Clock.Now(), Backoff: time.Nanosecond}
	if parts != 0 {
		sv.SigningConfig = s.SigningConfig(parts)
	}
	sv.NoTimestamp = parts&sigtest.WithTSA == 0
	return sv
}

// signed signs with what a constructor of package sign returned.
func signed(t testing.TB, st *attest.Statement) func(*sign.Signer, error) []byte {
	return func(s *sign.Signer, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		bundle, err := s.Sign(context.Background(), st)
		if err != nil {
			t.Fatal(err)
		}
		return bundle
	}
}

// byKey signs with a bare key.
func byKey(t testing.TB, key crypto.Signer, st *attest.Statement) []byte {
	t.Helper()
	return signed(t, st)(sign.Key(key, sign.Services{}))
}

// keyless signs with an identity, logged in Rekor v2 and with a timestamp.
func keyless(t testing.TB, s *sigtest.Sigstore, id sigtest.Claims, parts sigtest.Parts, st *attest.Statement) []byte {
	t.Helper()
	return signed(t, st)(sign.Keyless(s.Fulcio.Source(id), services(s, parts|sigtest.WithFulcio)))
}

func edit(bundle []byte, f func(*protobundle.Bundle)) []byte { return sigtest.EditBundle(bundle, f) }

func keyID(t testing.TB, key crypto.Signer) string {
	t.Helper()
	id, err := KeyID(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return id.String()
}

func trustKeys(keys ...crypto.Signer) Trust {
	var trust Trust
	for _, k := range keys {
		trust.Keys = append(trust.Keys, TrustedKey{Key: k.Public()})
	}
	return trust
}

func identities(t testing.TB, ids ...string) []Identity {
	t.Helper()
	var parsed []Identity
	for _, s := range ids {
		id, err := ParseSigner(s)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, id)
	}
	return parsed
}

// verifier requires that weather is signed by one of the identities.
func verifier(t testing.TB, trust Trust, ids ...string) *Verifier {
	t.Helper()
	p, err := Require(weather, identities(t, ids...)...)
	if err != nil {
		t.Fatal(err)
	}
	return newVerifier(t, p, trust)
}

func newVerifier(t testing.TB, p *Policy, trust Trust, also ...*Policy) *Verifier {
	t.Helper()
	v, err := New(p, trust, also...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func policy(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := ParsePolicy("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ask is a request about weather, now.
func ask(l *lock.Listing, bundles ...[]byte) Request {
	return Request{Server: weather, Listing: l, Bundles: bundles, At: now}
}

// accepts fails the test unless the bundle alone proves the whole listing abc.
func accepts(t *testing.T, v *Verifier, bundle []byte) {
	t.Helper()
	d := v.Decide(ask(listing(t, abc), bundle))
	if err := d.SignedErr(); err != nil || len(d.Diagnostics()) != 0 {
		t.Errorf("refused: %v, %v", err, d.Diagnostics())
	}
}

// refuses fails the test unless the bundle counts for nothing, for the reason
// given, with an error that has the text.
func refuses(t *testing.T, v *Verifier, bundle []byte, reason Reason, text string) {
	t.Helper()
	l := listing(t, abc)
	d := v.Decide(ask(l, bundle))
	if d.SignedErr() == nil || d.Err() == nil || len(d.HighWater()) != 0 {
		t.Errorf("accepted: %+v", d.Results())
	}
	for _, r := range d.Results() {
		if r.Verdict != Deny || len(r.Reasons) != 1 || r.Reasons[0] != reason || len(r.Signers) != 0 {
			t.Errorf("result = %v, want a denial for %s", show(r), reason)
		}
	}
	if _, err := d.Pin(l.Definitions[0]); err == nil {
		t.Error("a definition can be pinned")
	}
	if len(d.Diagnostics()) != 1 {
		t.Fatalf("diagnostics = %v, want one", d.Diagnostics())
	}
	x := d.Diagnostics()[0]
	if x.Reason != reason || !strings.Contains(x.Err.Error(), text) {
		t.Errorf("diagnostic = %s: %v\nwant %s: %s", x.Reason, x.Err, reason, text)
	}
	checkShown(t, x.Err.Error())
	if signer, err := v.Signer(bundle); err == nil && (reason != WrongSigner && reason != WrongServer || signer != x.Signer) {
		t.Errorf("Signer = %v", signer)
	}
}

// checkShown fails the test if a message is not fit for a terminal.
func checkShown(t *testing.T, message string) {
	t.Helper()
	if strings.ContainsFunc(message, lock.Hidden) || strings.ToValidUTF8(message, "") != message || len(message) > 4000 {
		t.Errorf("not fit for a terminal: %.1200q", message)
	}
}

// show returns a verdict with its reasons: "deny unsigned, not_locked".
func show(r Result) string {
	reasons := make([]string, len(r.Reasons))
	for i, x := range r.Reasons {
		reasons[i] = string(x)
	}
	return r.Verdict.String() + " " + strings.Join(reasons, ", ")
}

// verdicts returns all results in short: "tool:a allow verified; ...".
func verdicts(d *Decision) string {
	var all []string
	for _, r := range d.Results() {
		all = append(all, lock.ID(r.Kind, r.Name)+" "+show(r))
	}
	return strings.Join(all, "; ")
}

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("error = %v, want one with %q", err, part)
	}
}

func certs(cs ...*x509.Certificate) []*x509.Certificate { return cs }

func stampsOf(ders ...[]byte) []*protocommon.RFC3161SignedTimestamp {
	var all []*protocommon.RFC3161SignedTimestamp
	for _, der := range ders {
		all = append(all, &protocommon.RFC3161SignedTimestamp{SignedTimestamp: der})
	}
	return all
}
