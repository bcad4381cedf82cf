package verify

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/sign"
)

// A mode is one way of signing the statement about abc.
type mode struct {
	name     string
	bundle   []byte
	trust    Trust
	identity string
	signer   lock.Signer
}

// modes signs in every way.
func modes(t testing.TB) []mode {
	t.Helper()
	s := newServices()
	root := Trust{SigstoreRoot: s.TrustedRoot()}
	st := statement(t, abc)
	var all []mode

	none, tsa := sigtest.Parts(0), sigtest.WithTSA
	v1, v2 := sigtest.WithRekorV1, sigtest.WithRekorV2
	for name, parts := range map[string]sigtest.Parts{"": none, " TSA": tsa, " v1": v1, " v1 TSA": v1 | tsa, " v2": v2, " v2 TSA": v2 | tsa} {
		for kind, key := range map[string]crypto.Signer{"P-256": sigtest.P256(), "P-384": sigtest.P384(), "Ed25519": sigtest.Ed25519()} {
			if kind == "Ed25519" && parts&(v1|v2) != 0 || kind == "P-384" && parts&v1 != 0 {
				continue // no log takes them
			}
			trust := trustKeys(key)
			if parts != 0 {
				trust.SigstoreRoot = root.SigstoreRoot
			}
			id := keyID(t, key)
			all = append(all, mode{"key " + kind + name, signed(t, st)(sign.Key(key, services(s, parts))), trust, "key:" + id, lock.Signer{Key: id}})
		}
	}

	ca := sigtest.NewCA("acme root")
	rootID := lock.Digest(sha256.Sum256(ca.Certificate.Raw)).String()
	for name, key := range map[string]crypto.Signer{"P-256": sigtest.P256(), "P-384": sigtest.P384(), "Ed25519": sigtest.Ed25519()} {
		leaf := ca.Sub("acme intermediate").Sub("acme issuing").Leaf(key, sigtest.URI(release))
		bundle := signed(t, st)(sign.PKI(key, leaf.Chain, services(s, tsa)))
		trust := Trust{Roots: certs(ca.Certificate), TSAs: certs(s.TSA.CA.Certificate)}
		all = append(all, mode{"PKI " + name, bundle, trust, "x509:uri:" + release, lock.Signer{Root: rootID, Subject: release}})
	}
	key := sigtest.P256()
	leaf := ca.Leaf(key, sigtest.Mail("dev@acme.example"))
	person := lock.Signer{Root: rootID, Subject: "dev@acme.example"}
	both := Trust{SigstoreRoot: root.SigstoreRoot, Roots: certs(ca.Certificate)}
	all = append(all,
		mode{"PKI e-mail, v1", signed(t, st)(sign.PKI(key, leaf.Chain, services(s, v1))), both, "x509:email:dev@acme.example", person},
		mode{"PKI e-mail, v2 TSA", signed(t, st)(sign.PKI(key, leaf.Chain, services(s, v2|tsa))), both, "x509:email:dev@acme.example", person},
	)

	const accounts = "https://accounts.example"
	const workflow = "acme/weather-mcp/.github/workflows/release.yml@refs/tags/v1.4.2"
	for name, id := range map[string]struct {
		claims   sigtest.Claims
		identity string
		signer   lock.Signer
	}{
		"e-mail": {sigtest.Email("dev@acme.example", accounts), "email:dev@acme.example@" + accounts,
			lock.Signer{Issuer: accounts, Subject: "dev@acme.example"}},
		"URI": {sigtest.SubjectURI("spiffe://acme.example/ci", accounts), "uri:spiffe://acme.example/ci@" + accounts,
			lock.Signer{Issuer: accounts, Subject: "spiffe://acme.example/ci"}},
		"GitHub": {sigtest.GitHub("acme/weather-mcp", ".github/workflows/release.yml", "refs/tags/v1.4.2"), "github:" + workflow,
			lock.Signer{Issuer: sigtest.GitHubIssuer, Subject: "https://github.com/" + workflow, Repository: "https://github.com/acme/weather-mcp", RepositoryID: "1001",
				Ref: "refs/tags/v1.4.2", Trigger: "push", Runner: "github-hosted"}},
		"GitLab": {sigtest.GitLab("acme/weather-mcp", ".gitlab-ci.yml", "refs/heads/main"), "gitlab:acme/weather-mcp//.gitlab-ci.yml@refs/heads/main",
			lock.Signer{Issuer: sigtest.GitLabIssuer, Subject: "https://gitlab.com/acme/weather-mcp//.gitlab-ci.yml@refs/heads/main", Repository: "https://gitlab.com/acme/weather-mcp", RepositoryID: "1001",
				Ref: "refs/heads/main", Trigger: "push", Runner: "gitlab-hosted"}},
	} {
		for log, parts := range map[string]sigtest.Parts{"v1": v1, "v1 TSA": v1 | tsa, "v2 TSA": v2 | tsa} {
			all = append(all, mode{"keyless " + name + " " + log, keyless(t, s, id.claims, parts, st), root, id.identity, id.signer})
		}
	}
	return all
}

// Every way of signing verifies, says who signed, and with what that was
// verified.
func TestModes(t *testing.T) {
	for _, m := range modes(t) {
		t.Run(m.name, func(t *testing.T) {
			v := verifier(t, m.trust, m.identity)
			signer, err := v.Signer(m.bundle)
			if err != nil || signer != m.signer {
				t.Fatalf("Signer = %+v, %v\nwant     %+v", signer, err, m.signer)
			}
			if got := IdentityOf(signer).String(); got != m.identity {
				t.Errorf("identity = %s, want %s", got, m.identity)
			}
			d := v.Decide(ask(listing(t, abc), m.bundle))
			if got, want := verdicts(d), "tool:a undecided verified, first_contact, not_locked; tool:b undecided verified, first_contact, not_locked; tool:c undecided verified, first_contact, not_locked"; got != want {
				t.Errorf("results = %s", got)
			}
			entry, err := d.Pin(listing(t, abc).Definitions...)
			if err != nil {
				t.Fatal(err)
			}
			checkMaterial(t, v, m, entry)
			if !bytes.Equal(d.Bundle(entry.Evidence[0].Bundle), m.bundle) {
				t.Error("the decision does not have the bundle")
			}
			accepts(t, v, m.bundle)
		})
	}
}

// checkMaterial checks that a verifier with nothing but the material that the
// lock entry names verifies the bundle: it is all there, and no more.
func checkMaterial(t *testing.T, v *Verifier, m mode, entry *lock.Server) {
	t.Helper()
	if len(entry.Evidence) != 1 {
		t.Fatalf("evidence = %+v", entry.Evidence)
	}
	e := entry.Evidence[0]
	if e.Signer != m.signer || e.Sequence != 100 || e.Bundle != sha256.Sum256(m.bundle) {
		t.Errorf("evidence = %+v", e)
	}
	want := len(m.trust.Keys) + len(m.trust.Roots) + len(m.trust.TSAs)
	if m.trust.SigstoreRoot != nil {
		want++
	}
	if len(e.Trust) != want {
		t.Errorf("verified with %d pieces of material, want %d", len(e.Trust), want)
	}
	for _, d := range e.Trust {
		if data := v.Material(d); sha256.Sum256(data) != d {
			t.Errorf("material %s is %d other bytes", d, len(data))
		}
	}
	if v.Material(lock.Digest{1}) != nil {
		t.Error("there is material that nobody has given")
	}
}

// Without the right material nothing is said for a bundle.
func TestNoTrust(t *testing.T) {
	other := newServices()
	strangers := Trust{SigstoreRoot: other.TrustedRoot(), Roots: certs(sigtest.NewCA("other").Certificate),
		TSAs: certs(other.TSA.CA.Certificate), Keys: trustKeys(sigtest.P256()).Keys}
	for _, m := range modes(t) {
		t.Run(m.name, func(t *testing.T) {
			v := verifier(t, Trust{}, m.identity)
			text := "trust"
			if strings.HasPrefix(m.name, "key ") {
				text = "the public key of " + m.identity + " is not available"
			} else if _, err := v.Signer(m.bundle); !errors.As(err, new(*TrustError)) {
				t.Errorf("the error of Signer is %T: %v", err, err)
			}
			refuses(t, v, m.bundle, TrustMissing, text)

			d := verifier(t, strangers, m.identity).Decide(ask(listing(t, abc), m.bundle))
			if d.SignedErr() == nil || len(d.Diagnostics()) != 1 {
				t.Errorf("with the material of others: %v, %v", d.SignedErr(), d.Diagnostics())
			}
		})
	}
}

// What a bundle says is what was signed: no change of it goes unseen, in any
// way of signing.
func TestTamper(t *testing.T) {
	otherListing := statement(t, `{"tools":[{"name":"a","x":1},{"name":"b"},{"name":"c"}]}`).Bytes()
	message := &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: make([]byte, 32)}
	tampers := []struct {
		name   string
		edit   func(*protobundle.Bundle)
		reason Reason
		text   string
	}{
		{"payload of another listing", func(b *protobundle.Bundle) { b.GetDsseEnvelope().Payload = otherListing }, BadSignature, ""},
		{"payload with one byte more", func(b *protobundle.Bundle) {
			b.GetDsseEnvelope().Payload = append(b.GetDsseEnvelope().Payload, ' ')
		}, BadSignature, ""},
		{"empty payload", func(b *protobundle.Bundle) { b.GetDsseEnvelope().Payload = []byte{} }, BadSignature, ""},
		{"signature with one bit changed", func(b *protobundle.Bundle) {
			sig := b.GetDsseEnvelope().Signatures[0].Sig
			sig[len(sig)-1] ^= 1
		}, BadSignature, ""},
		{"empty signature", func(b *protobundle.Bundle) { b.GetDsseEnvelope().Signatures[0].Sig = nil }, BadSignature, ""},
		{"no signature", func(b *protobundle.Bundle) { b.GetDsseEnvelope().Signatures = nil }, BadSignature, "envelope has 0 signatures, want one"},
		{"two signatures", func(b *protobundle.Bundle) {
			sigs := &b.GetDsseEnvelope().Signatures
			*sigs = append(*sigs, (*sigs)[0])
		}, BadSignature, "envelope has 2 signatures, want one"},
		{"payload type with a parameter", func(b *protobundle.Bundle) { b.GetDsseEnvelope().PayloadType += ";v=1" }, WrongKind, "payload type is application/vnd.in-toto+json;v=1"},
		{"payload type with escapes", func(b *protobundle.Bundle) {
			b.GetDsseEnvelope().PayloadType = "\x1b[31m\u202e" + strings.Repeat("x", 5000)
		}, WrongKind, `payload type is \u{1b}[31m\u{202e}xxx`},
		{"signature over a file", func(b *protobundle.Bundle) {
			b.Content = &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
				MessageDigest: message, Signature: b.GetDsseEnvelope().Signatures[0].Sig}}
		}, WrongKind, "signs a file, not a statement"},
		{"no content", func(b *protobundle.Bundle) { b.Content = nil }, BadSignature, "missing bundle content"},
		{"no verification material", func(b *protobundle.Bundle) { b.VerificationMaterial = nil }, BadSignature, "missing verification material"},
		{"neither key nor certificate", func(b *protobundle.Bundle) { b.VerificationMaterial.Content = nil }, BadSignature, "missing verification material"},
		{"media type of a later version", func(b *protobundle.Bundle) { b.MediaType = "application/vnd.dev.sigstore.bundle.v0.4+json" }, Unreadable, "another version than 0.1 to 0.3"},
		{"media type with an escape sequence", func(b *protobundle.Bundle) { b.MediaType = "\x1b[31m" }, Unreadable, `\u{1b}[31m`},
	}
	for _, m := range modes(t) {
		v := verifier(t, m.trust, m.identity)
		for _, tt := range tampers {
			t.Run(m.name+"/"+tt.name, func(t *testing.T) {
				refuses(t, v, edit(m.bundle, tt.edit), tt.reason, tt.text)
			})
		}
	}
}

// Bundles are read strictly, before any library sees them.
func TestLoad(t *testing.T) {
	key := sigtest.P256()
	v := verifier(t, trustKeys(key), "key:"+keyID(t, key))
	good := string(byKey(t, key, statement(t, abc)))
	accepts(t, v, []byte(good))
	// White space and the order of members are nobody's signature.
	accepts(t, v, []byte(" "+strings.ReplaceAll(good, `,"`, ",\n\t\"")+"\n"))
	accepts(t, v, []byte(strings.Replace(good, "bundle.v0.3+json", "bundle+json;version=0.3", 1)))

	for _, tt := range []struct {
		name, bundle string
		text         string
	}{
		{"empty", "", "json_syntax"},
		{"not JSON", "hello", "json_syntax"},
		{"null", "null", "bundle"},
		{"array", "[]", "bundle"},
		{"empty object", "{}", "without the mediaType of a Sigstore bundle"},
		{"cut off", good[:len(good)-1], "json_syntax"},
		{"two in one", good + good, "trailing_data"},
		{"byte order mark", "\ufeff" + good, "bom"},
		{"comment", "/**/" + good, "json_syntax"},
		{"member twice", strings.Replace(good, `{"mediaType"`, `{"mediaType":"","mediaType"`, 1), "duplicate_key"},
		{"member twice, in two spellings", strings.Replace(good, `{"mediaType"`, `{"media_type":"application/vnd.dev.sigstore.bundle.v0.3+json","mediaType"`, 1), "duplicate field"},
		{"unknown member", strings.Replace(good, `{"mediaType"`, `{"\u001b[31mx":1,"mediaType"`, 1), "unknown field"},
		{"unknown member with a long name", strings.Replace(good, `{"mediaType"`, `{"`+strings.Repeat("x", 10000)+`":1,"mediaType"`, 1), "unknown field"},
		{"broken at a long name", `{"` + strings.Repeat("x", 10000) + `":}`, "json_syntax"},
		{"not UTF-8", strings.Replace(good, "v0.3", "\xff", 1), "invalid_utf8"},
		{"not base64", strings.Replace(good, `"payload":"`, `"payload":"*`, 1), "bundle"},
		{"deep", strings.Repeat("[", 100000) + strings.Repeat("]", 100000), "too_deep"},
		{"1 MiB and a byte", good + strings.Repeat(" ", lock.MaxBundle+1-len(good)), "more than 1048576 bytes"},
		{"null certificate", `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"x509CertificateChain":{"certificates":[null]}},"dsseEnvelope":{}}`, "bundle"},
		{"empty chain", `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"x509CertificateChain":{"certificates":[]}},"dsseEnvelope":{"payloadType":"application/vnd.in-toto+json","signatures":[{}]}}`, "bundle"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reason := Unreadable
			if tt.name == "empty chain" {
				reason = BadSignature
			}
			refuses(t, v, []byte(tt.bundle), reason, tt.text)
		})
	}
	accepts(t, v, []byte(good+strings.Repeat(" ", lock.MaxBundle-len(good))))
}

// A statement of another kind, and one that is none, is not about definitions,
// whoever signed it.
func TestWrongKind(t *testing.T) {
	key := sigtest.P256()
	v := verifier(t, trustKeys(key), "key:"+keyID(t, key))
	good := string(statement(t, abc).Bytes())
	accepts(t, v, sigtest.Unchecked{Payload: []byte(good), Key: key}.Bundle())
	for _, tt := range []struct {
		name, payload string
		reason        Reason
		text          string
	}{
		{"other predicate", strings.Replace(good, attest.PredicateType, "https://slsa.dev/provenance/v1", 1), WrongKind, "statement of predicate type https://slsa.dev/provenance/v1"},
		{"other predicate with escapes", strings.Replace(good, attest.PredicateType, `x:\u001b[31m`, 1), WrongKind, `predicate type x:\u{1b}[31m`},
		{"other statement", strings.Replace(good, "Statement/v1", "Statement/v0.1", 1), BadSignature, "_type is https://in-toto.io/Statement/v0.1"},
		{"other form", strings.Replace(good, ":", ": ", 1), BadSignature, "not in RFC 8785 form"},
		{"unknown member", strings.Replace(good, `"variant":""`, `"variant":"","x":1`, 1), BadSignature, `unknown member "x"`},
		{"subject twice", strings.Replace(good, `"tool:b"`, `"tool:a"`, 1), BadSignature, "there twice"},
		{"no statement", `{}`, BadSignature, "_type is"},
		{"no JSON", `hello`, BadSignature, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.payload == good {
				t.Fatal("nothing changes")
			}
			refuses(t, v, sigtest.Unchecked{Payload: []byte(tt.payload), Key: key}.Bundle(), tt.reason, tt.text)
		})
	}
	bundle := sigtest.Unchecked{Payload: []byte(good), PayloadType: "text/plain", Key: key}.Bundle()
	refuses(t, v, bundle, WrongKind, "payload type is text/plain")
	// What was signed as something else does not become a statement.
	bundle = edit(bundle, func(b *protobundle.Bundle) { b.GetDsseEnvelope().PayloadType = attest.PayloadType })
	refuses(t, v, bundle, BadSignature, "could not verify envelope")
}

// More than a bundle's share of anything is refused before it is worked on.
func TestManyEntries(t *testing.T) {
	s := newServices()
	key := sigtest.P256()
	trust := trustKeys(key)
	trust.SigstoreRoot = s.TrustedRoot()
	v := verifier(t, trust, "key:"+keyID(t, key))
	good := signed(t, statement(t, abc))(sign.Key(key, services(s, sigtest.WithRekorV1|sigtest.WithTSA)))
	accepts(t, v, good)
	repeat := func(n int, f func(*protobundle.VerificationMaterial, int)) []byte {
		return edit(good, func(b *protobundle.Bundle) { f(b.VerificationMaterial, n) })
	}
	entries := func(m *protobundle.VerificationMaterial, n int) {
		for range n - 1 {
			m.TlogEntries = append(m.TlogEntries, m.TlogEntries[0])
		}
	}
	stamps := func(m *protobundle.VerificationMaterial, n int) {
		ts := &m.TimestampVerificationData.Rfc3161Timestamps
		for range n - 1 {
			*ts = append(*ts, (*ts)[0])
		}
	}
	for _, n := range []int{2, maxEntries} {
		refuses(t, v, repeat(n, entries), BadSignature, "duplicate tlog entries")
		refuses(t, v, repeat(n, stamps), BadSignature, "duplicate timestamps")
	}
	refuses(t, v, repeat(maxEntries+1, entries), BadSignature, fmt.Sprintf("more than %d log entries", maxEntries))
	refuses(t, v, repeat(maxStamps+1, stamps), BadSignature, fmt.Sprintf("more than %d timestamps", maxStamps))
}
