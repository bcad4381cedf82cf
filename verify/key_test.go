package verify

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"

	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
)

// The hint says which key signed, and is nobody's word: a key that is not
// trusted is refused by it, one that is must have signed.
func TestHint(t *testing.T) {
	key, other := sigtest.P256(), sigtest.P256()
	id, otherID := keyID(t, key), keyID(t, other)
	v := verifier(t, trustKeys(key), "key:"+id)
	good := byKey(t, key, statement(t, abc))
	hinted := func(bundle []byte, f func(string) string) []byte {
		return edit(bundle, func(b *protobundle.Bundle) {
			k := b.GetVerificationMaterial().GetPublicKey()
			k.Hint = f(k.Hint)
		})
	}
	var hint string
	accepts(t, v, hinted(good, func(s string) string { hint = s; return s }))

	foreign := byKey(t, other, statement(t, abc))
	refuses(t, v, foreign, WrongSigner, "signed with key:"+otherID+", which is not trusted")
	d := v.Decide(ask(listing(t, abc), foreign))
	if got := d.Diagnostics()[0].Signer; got != (lock.Signer{Key: otherID}) {
		t.Errorf("the diagnostic names %v", got)
	}
	refuses(t, v, hinted(foreign, func(string) string { return hint }), BadSignature, "could not verify envelope")

	// Nothing but the hint that the key has is taken for it.
	for name, f := range map[string]func(string) string{
		"empty":          func(string) string { return "" },
		"no base64":      func(string) string { return "\x1b[31m" },
		"newline":        func(s string) string { return s + "\n" },
		"other spelling": func(s string) string { return s[:len(s)-2] + string(s[len(s)-2]+1) + "=" },
		"short":          func(s string) string { return s[4:] },
		"hexadecimal":    func(string) string { return id },
	} {
		t.Run(name, func(t *testing.T) {
			bundle := hinted(good, f)
			refuses(t, v, bundle, WrongSigner, "signed with a key that is not trusted")
			if d := v.Decide(ask(listing(t, abc), bundle)); !d.Diagnostics()[0].Signer.IsZero() {
				t.Errorf("the diagnostic names %v", d.Diagnostics()[0].Signer)
			}
		})
	}

	// A key that is trusted, but not this publisher's.
	both := verifier(t, trustKeys(key, other), "key:"+id)
	accepts(t, both, good)
	refuses(t, both, foreign, WrongSigner, "signed by key:"+otherID)
}

// A key may sign in its time only: by a timestamp if there is one, else now.
func TestKeyWindow(t *testing.T) {
	s := newServices()
	key := sigtest.P256()
	id := "key:" + keyID(t, key)
	st := statement(t, abc)
	bare := byKey(t, key, st)
	stamped := signed(t, st)(sign.Key(key, services(s, sigtest.WithTSA)))
	logged := signed(t, st)(sign.Key(key, services(s, sigtest.WithRekorV1)))
	proven := signed(t, st)(sign.Key(key, services(s, sigtest.WithRekorV2))) // no time in it

	year := func(n int) time.Time { return now.AddDate(n, 0, 0) }
	never := time.Time{}
	for _, tt := range []struct {
		name    string
		windows [][2]time.Time
		at      time.Time
		bare    bool // accepted without a verified time
		stamped bool // accepted with one, which is now
	}{
		{"no bounds", [][2]time.Time{{never, never}}, year(50), true, true},
		{"within", [][2]time.Time{{year(-1), year(1)}}, now, true, true},
		{"first second", [][2]time.Time{{now, never}}, now, true, true},
		{"last second", [][2]time.Time{{never, now}}, now, true, true},
		{"over since it signed", [][2]time.Time{{year(-1), year(1)}}, year(2), false, true},
		{"over when it signed", [][2]time.Time{{never, now.Add(-time.Second)}}, now, false, false},
		{"not begun when it signed", [][2]time.Time{{now.Add(time.Second), never}}, now, false, false},
		{"begun since it signed", [][2]time.Time{{year(1), never}}, year(2), true, false},
		{"two windows, both", [][2]time.Time{{year(-1), year(1)}, {year(-2), year(2)}}, now, true, true},
		{"two windows, one over", [][2]time.Time{{year(-1), year(1)}, {year(-3), year(-2)}}, now, false, false},
		{"two windows, one open", [][2]time.Time{{year(-3), year(-2)}, {never, never}}, now, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trust := Trust{SigstoreRoot: s.TrustedRoot()}
			for _, w := range tt.windows {
				trust.Keys = append(trust.Keys, TrustedKey{key.Public(), w[0], w[1]})
			}
			v := verifier(t, trust, id)
			for name, bundle := range map[string]struct {
				data []byte
				want bool
			}{"bare": {bare, tt.bare}, "log entry without a time": {proven, tt.bare}, "timestamp": {stamped, tt.stamped}, "log entry": {logged, tt.stamped}} {
				r := ask(listing(t, abc), bundle.data)
				r.At = tt.at
				d := v.Decide(r)
				if err := d.SignedErr(); (err == nil) != bundle.want {
					t.Errorf("%s: %v, %v", name, err, d.Diagnostics())
				}
				if !bundle.want && (len(d.Diagnostics()) != 1 || d.Diagnostics()[0].Reason != Expired || d.Diagnostics()[0].Signer.Key == "") {
					t.Errorf("%s: diagnostics = %v, want %s", name, d.Diagnostics(), Expired)
				}
			}
		})
	}

	// What the key has not signed is not called expired.
	v := verifier(t, Trust{SigstoreRoot: s.TrustedRoot(), Keys: []TrustedKey{{key.Public(), never, year(-1)}}}, id)
	broken := edit(stamped, func(b *protobundle.Bundle) { b.GetDsseEnvelope().Payload[10] ^= 1 })
	refuses(t, v, broken, BadSignature, "could not verify envelope")
	refuses(t, v, stamped, Expired, "the key was not valid when it signed, at 2026-11-30T12:00:00Z")
	if d := v.Decide(ask(listing(t, abc), bare)); d.Diagnostics()[0].Reason != Expired {
		t.Error(d.Diagnostics())
	}
}

// Whatever a bundle contains must verify: a broken log entry or timestamp is
// not ignored, though the key would be enough.
func TestKeyExtras(t *testing.T) {
	s := newServices()
	key := sigtest.P256()
	trust := trustKeys(key)
	trust.SigstoreRoot = s.TrustedRoot()
	v := verifier(t, trust, "key:"+keyID(t, key))
	st := statement(t, abc)
	bare := byKey(t, key, st)
	accepts(t, v, bare)
	with := func(parts sigtest.Parts, st2 ...uint64) *protobundle.VerificationMaterial {
		var m *protobundle.VerificationMaterial
		bundle := signed(t, statement(t, abc, sequence(append(st2, 100)[0])))(sign.Key(key, services(s, parts)))
		edit(bundle, func(b *protobundle.Bundle) { m = b.VerificationMaterial })
		return m
	}
	all := sigtest.WithRekorV1 | sigtest.WithTSA
	other1, other2 := with(all, 7), with(sigtest.WithRekorV2, 7)
	unknown := newServices()
	for _, tt := range []struct {
		name  string
		parts sigtest.Parts
		edit  func(m *protobundle.VerificationMaterial)
		why   Reason
		text  string
	}{
		{"log entry of another statement, v1", 0, func(m *protobundle.VerificationMaterial) { m.TlogEntries = other1.TlogEntries }, BadSignature, "transparency log"},
		{"log entry of another statement, v2", 0, func(m *protobundle.VerificationMaterial) { m.TlogEntries = other2.TlogEntries }, BadSignature, "log"},
		{"timestamp of another signature", 0, func(m *protobundle.VerificationMaterial) {
			m.TimestampVerificationData = other1.TimestampVerificationData
		}, BadSignature, "hashed messages don't match"},
		{"timestamp that is none", sigtest.WithTSA, func(m *protobundle.VerificationMaterial) {
			m.TimestampVerificationData.Rfc3161Timestamps[0].SignedTimestamp = []byte("now")
		}, BadSignature, "timestamp: no RFC 3161 response"},
		{"empty timestamp", sigtest.WithTSA, func(m *protobundle.VerificationMaterial) {
			m.TimestampVerificationData.Rfc3161Timestamps[0].SignedTimestamp = nil
		}, BadSignature, "timestamp: no RFC 3161 response"},
		{"timestamp with one bit changed", sigtest.WithTSA, func(m *protobundle.VerificationMaterial) {
			ts := m.TimestampVerificationData.Rfc3161Timestamps[0].SignedTimestamp
			ts[len(ts)-1] ^= 1
		}, BadSignature, "timestamp"},
		{"one timestamp of two", sigtest.WithTSA, func(m *protobundle.VerificationMaterial) {
			ts := &m.TimestampVerificationData.Rfc3161Timestamps
			*ts = append(*ts, other1.TimestampVerificationData.Rfc3161Timestamps...)
		}, BadSignature, "timestamps: 1 < 2"},
		{"one log entry of two", sigtest.WithRekorV1, func(m *protobundle.VerificationMaterial) {
			m.TlogEntries = append(m.TlogEntries, other2.TlogEntries...)
		}, BadSignature, "log"},
		{"signed time with one bit changed", all, func(m *protobundle.VerificationMaterial) {
			m.TlogEntries[0].InclusionPromise.SignedEntryTimestamp[10] ^= 1
		}, BadSignature, "log entries"},
		{"signed time without a signature", all, func(m *protobundle.VerificationMaterial) {
			m.TlogEntries[0].InclusionPromise.SignedEntryTimestamp = nil
		}, BadSignature, "timestamps: 0 < 1"},
		{"time of the entry changed", all, func(m *protobundle.VerificationMaterial) { m.TlogEntries[0].IntegratedTime-- }, BadSignature, "log entries"},
		{"proof with one bit changed, v1", all, func(m *protobundle.VerificationMaterial) { m.TlogEntries[0].InclusionProof.RootHash[0] ^= 1 }, BadSignature, "log inclusion"},
		{"proof with one bit changed, v2", sigtest.WithRekorV2, func(m *protobundle.VerificationMaterial) {
			m.TlogEntries[0].InclusionProof.Checkpoint.Envelope = strings.Replace(m.TlogEntries[0].InclusionProof.Checkpoint.Envelope, "\n", "\n1", 1)
		}, BadSignature, "log inclusion"},
		{"neither proof nor promise", all, func(m *protobundle.VerificationMaterial) {
			m.TlogEntries[0].InclusionProof, m.TlogEntries[0].InclusionPromise = nil, nil
		}, BadSignature, "inclusion proof missing"},
		{"entry without a kind", all, func(m *protobundle.VerificationMaterial) { m.TlogEntries[0].KindVersion = nil }, BadSignature, "nil value"},
		{"entry that is none", all, func(m *protobundle.VerificationMaterial) {
			m.TlogEntries[0].CanonicalizedBody = []byte("\x1b[31m")
		}, BadSignature, ""},
		{"entry without a body", all, func(m *protobundle.VerificationMaterial) { m.TlogEntries[0] = &protorekor.TransparencyLogEntry{} }, BadSignature, ""},
		{"entry of an unknown log", all, func(m *protobundle.VerificationMaterial) { m.TlogEntries[0].LogId.KeyId[0] ^= 1 }, TrustMissing, "which no trusted root has"},
		{"entry of a log with a long name", all, func(m *protobundle.VerificationMaterial) { m.TlogEntries[0].LogId.KeyId = make([]byte, 100000) }, TrustMissing, "which no trusted root has"},
		{"timestamp of an unknown authority", sigtest.WithTSA, func(m *protobundle.VerificationMaterial) {
			m.TimestampVerificationData.Rfc3161Timestamps[0].SignedTimestamp = unknown.TSA.Stamp([]byte("x"))
		}, BadSignature, "timestamp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			good := bare
			if tt.parts != 0 {
				good = signed(t, st)(sign.Key(key, services(s, tt.parts)))
			}
			accepts(t, v, good)
			bundle := edit(good, func(b *protobundle.Bundle) { tt.edit(b.VerificationMaterial) })
			refuses(t, v, bundle, tt.why, tt.text)
		})
	}

	// Without anything to check them with, nothing is said.
	only := verifier(t, trustKeys(key), "key:"+keyID(t, key))
	refuses(t, only, signed(t, st)(sign.Key(key, services(s, sigtest.WithTSA))), TrustMissing, "no timestamp authority is trusted")
	refuses(t, only, signed(t, st)(sign.Key(key, services(s, sigtest.WithRekorV2))), TrustMissing, "which no trusted root has")
}

func TestTrustErrors(t *testing.T) {
	root := sigtest.NewCA("root")
	leaf := root.Leaf(sigtest.P256(), sigtest.URI(release), func(c *x509.Certificate) { c.Subject.CommonName = "\x1b[31m" })
	rsa := sigtest.RSA()
	for _, tt := range []struct {
		name  string
		trust Trust
		want  string
	}{
		{"trusted root is no JSON", Trust{SigstoreRoot: []byte("hello")}, "trusted root"},
		{"trusted root of no type", Trust{SigstoreRoot: []byte("{}")}, "media type"},
		{"root is nil", Trust{Roots: certs(nil)}, "no certificate"},
		{"TSA is nil", Trust{TSAs: certs(root.Certificate, nil)}, "no certificate"},
		{"root is a leaf", Trust{Roots: certs(leaf.Certificate())}, `CN=\u{1b}[31m is not a certificate authority`},
		{"no key", Trust{Keys: []TrustedKey{{}}}, "key of type <nil>"},
		{"RSA key", trustKeys(rsa), "key of type *rsa.PublicKey"},
		{"P-521 key", trustKeys(sigtest.P521()), "another curve"},
		{"nil ECDSA key", Trust{Keys: []TrustedKey{{Key: (*ecdsa.PublicKey)(nil)}}}, "another curve"},
		{"ECDSA key of no curve", Trust{Keys: []TrustedKey{{Key: &ecdsa.PublicKey{}}}}, "another curve"},
		{"short Ed25519 key", Trust{Keys: []TrustedKey{{Key: ed25519.PublicKey("short")}}}, "5 bytes"},
		{"private key", Trust{Keys: []TrustedKey{{Key: sigtest.P256()}}}, "key of type *ecdsa.PrivateKey"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := New(nil, tt.trust)
			wantError(t, err, tt.want)
			if trust := (*TrustError)(nil); !errors.As(err, &trust) || v != nil {
				t.Errorf("New = %v, %T", v, err)
			}
			checkShown(t, err.Error())
		})
	}
	for _, key := range []crypto.PublicKey{nil, rsa.Public(), sigtest.P521().Public()} {
		if id, err := KeyID(key); err == nil || !id.IsZero() {
			t.Errorf("KeyID(%T) = %s, %v", key, id, err)
		}
	}
}
