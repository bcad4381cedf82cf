package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

// joined returns services of which the certificates are of one Sigstore, and the
// logs and timestamps of another.
func joined(a, b *sigtest.Sigstore) *sigtest.Sigstore {
	mixed := *b
	mixed.Fulcio = a.Fulcio
	return &mixed
}

// A bundle verifies wholly under one trusted root, whichever, and never under
// two together.
func TestTrustedRoots(t *testing.T) {
	const parts = sigtest.WithRekorV2 | sigtest.WithTSA
	one, two, other := newServices(), newServices(), newServices()
	a, b := one.TrustedRoot(), two.TrustedRoot()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, b, "", "  "); err != nil {
		t.Fatal(err)
	}
	bundle := func(s *sigtest.Sigstore) []byte { return keyless(t, s, acme(), parts, statement(t, abc)) }
	for name, trust := range map[string]Trust{
		"two":          {SigstoreRoot: a, SigstoreRoots: [][]byte{b}},
		"the other":    {SigstoreRoot: b, SigstoreRoots: [][]byte{a}},
		"lines":        {SigstoreRoot: slices.Concat(a, []byte("\n\n"), b, []byte("\n"))},
		"three":        {SigstoreRoots: [][]byte{newServices().TrustedRoot(), a, pretty.Bytes()}},
		"one is twice": {SigstoreRoot: a, SigstoreRoots: [][]byte{a, b, b}},
	} {
		t.Run(name, func(t *testing.T) {
			v := verifier(t, trust, workflow)
			accepts(t, v, bundle(one))
			accepts(t, v, bundle(two))
			for _, s := range []*sigtest.Sigstore{joined(one, two), joined(two, one), other} {
				d := v.Decide(ask(listing(t, abc), bundle(s)))
				if d.SignedErr() == nil || len(d.HighWater()) > 0 {
					t.Errorf("accepted: %s", verdicts(d))
				}
			}
			refuses(t, v, bundle(other), TrustMissing, "which no trusted root has")
			// What is broken is so, though another root knows nothing of it.
			broken := edit(bundle(two), func(b *protobundle.Bundle) { b.GetDsseEnvelope().Signatures[0].Sig[10] ^= 1 })
			refuses(t, v, broken, BadSignature, "bundle")
			// What was verified is recorded with the root that it was verified with.
			signer, _, err := v.Statement(bundle(two))
			if err != nil || signer.Issuer == "" {
				t.Error(err)
			}
			for _, pin := range []struct {
				by   *sigtest.Sigstore
				root []byte
			}{{one, a}, {two, b}} {
				entry := lockWith(t, v, bundle(pin.by))
				if len(entry.Evidence) != 1 || !bytes.Equal(compactJSON(t, v.Material(entry.Evidence[0].Trust[0])), pin.root) {
					t.Errorf("recorded: %v", entry.Evidence)
				}
			}
		})
	}
	_, err := New(nil, Trust{SigstoreRoots: slices.Repeat([][]byte{a}, 17)})
	wantError(t, err, "more than 16 Sigstore trusted roots")
}

func compactJSON(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// lockWith returns an entry with the evidence of a decision.
func lockWith(t *testing.T, v *Verifier, bundle []byte) *lock.Server {
	t.Helper()
	return pin(t, v, listing(t, abc), bundle)
}

// A newer trusted root is refused with what is not known in it, and what to do.
func TestNewTrustedRoot(t *testing.T) {
	good := string(newServices().TrustedRoot())
	for text, want := range map[string]string{
		`{"somethingNew":1,` + good[1:]: `unknown field "somethingNew"`,
		string(bytes.Replace([]byte(good), []byte("version=0.1"), []byte("version=0.9"), 1)): "unsupported TrustedRoot media type: application/vnd.dev.sigstore.trustedroot+json;version=0.9",
		good + "\n{\"x\":1}\n": `unknown field "x"`,
		good + "\nx":           "invalid value x",
	} {
		_, err := New(nil, Trust{SigstoreRoot: []byte(text)})
		wantError(t, err, want)
		var trust *TrustError
		var format *FormatError
		if !errors.As(err, &trust) || !errors.As(err, &format) || format.Fix == "" {
			t.Errorf("%s: %#v", want, err)
		}
		_, err = policy(t, rooted("trustedRoot: r.json")).With(map[string][]byte{"r.json": []byte(text)})
		wantError(t, err, "policy.yaml:5:18: file r.json: ")
		wantError(t, err, want)
	}
}

// rooted is a policy with a publisher that has more members.
func rooted(members string) string {
	return "version: 1\npublishers:\n  acme:\n    keyless: [\"" + workflow + "\"]\n    " + members + "\nrules:\n  - {servers: [\"io.github.acme/*\"], signedBy: [acme]}\n"
}

// Of a publisher with a trusted root of its own that one counts and no other; a
// signature without a log entry, where it says so, if it has a timestamp.
func TestPublisherRoot(t *testing.T) {
	const tsa = sigtest.WithTSA
	own, public := newServices(), newServices()
	with := func(members string, root []byte, trust Trust) *Verifier {
		p, err := policy(t, rooted(members)).With(map[string][]byte{"r.json": root})
		if err != nil {
			t.Fatal(err)
		}
		return newVerifier(t, p, trust)
	}
	sign := func(s *sigtest.Sigstore, parts sigtest.Parts) []byte {
		return keyless(t, s, acme(), parts, statement(t, abc))
	}
	noEntry := func(bundle []byte) []byte {
		return edit(bundle, func(b *protobundle.Bundle) { b.VerificationMaterial.TlogEntries = nil })
	}
	trust := Trust{SigstoreRoot: public.TrustedRoot()}
	logged := with("trustedRoot: r.json", own.TrustedRoot(), trust)
	accepts(t, logged, sign(own, sigtest.WithRekorV2|tsa))
	accepts(t, with("trustedRoot: r.json", own.TrustedRoot(), Trust{}), sign(own, sigtest.WithRekorV1))
	denied := func(v *Verifier, bundle []byte, reason Reason, text string) { // though Signer can name the signer
		t.Helper()
		d := v.Decide(ask(listing(t, abc), bundle))
		if d.SignedErr() == nil || len(d.Diagnostics()) != 1 || d.Diagnostics()[0].Reason != reason {
			t.Fatalf("%s; %v, want %s", verdicts(d), d.Diagnostics(), reason)
		}
		wantError(t, d.Diagnostics()[0].Err, text)
	}
	denied(logged, sign(public, sigtest.WithRekorV2|tsa), TrustMissing, "which no trusted root has")
	refuses(t, logged, noEntry(sign(own, sigtest.WithRekorV1|tsa)), Unsigned, "no entry in a transparency log")
	refuses(t, verifier(t, trust, workflow), sign(own, sigtest.WithRekorV2|tsa), TrustMissing, "which no trusted root has")

	const without = "trustedRoot: r.json\n    withoutLog: no log runs here"
	quiet := with(without, own.TrustedRoot(), trust)
	accepts(t, quiet, noEntry(sign(own, sigtest.WithRekorV1|tsa)))
	accepts(t, quiet, sign(own, sigtest.WithRekorV2|tsa))
	refuses(t, quiet, noEntry(sign(own, sigtest.WithRekorV1)), Unsigned, "neither an RFC 3161 timestamp nor a log entry")
	refuses(t, quiet, noEntry(sign(public, sigtest.WithRekorV1|tsa)), TrustMissing, "does not have the issuer")
	refuses(t, quiet, noEntry(sign(joined(public, own), sigtest.WithRekorV1|tsa)), TrustMissing, "does not have the issuer")
	refuses(t, quiet, noEntry(sign(joined(own, public), sigtest.WithRekorV1|tsa)), TrustMissing, "timestamp")
	own.RekorV1.Replay = true
	refuses(t, quiet, sign(own, sigtest.WithRekorV1|tsa), BadSignature, "transparency log") // what there is must verify
	own.RekorV1.Replay = false
	// evidence stays a minimum.
	denied(with(without+"\n    evidence: [log]", own.TrustedRoot(), trust), noEntry(sign(own, sigtest.WithRekorV1|tsa)), Unsigned, "in no transparency log")

	_, err := New(policy(t, rooted("trustedRoot: r.json")), Trust{})
	wantError(t, err, "file r.json is not")
	for members, want := range map[string]string{
		"withoutLog: x": "goes with a trustedRoot of its own",
		"trustedRoot: r.json\n    withoutLog: ''": "needs the reason",
		"trustedRoot: ../r.json":                  "policy's folder",
	} {
		_, err := ParsePolicy("policy.yaml", []byte(rooted(members)))
		wantError(t, err, want)
	}
}
