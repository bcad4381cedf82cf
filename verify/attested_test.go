package verify

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// provenance is a statement of SLSA about a file with these digests, in the
// version of the statement that is given.
func (p publisher) provenance(t testing.TB, version string, digest map[string]string) []byte {
	t.Helper()
	set, err := json.Marshal(digest)
	if err != nil {
		t.Fatal(err)
	}
	payload := `{"_type":"https://in-toto.io/Statement/` + version + `","predicate":{"buildDefinition":{"buildType":"https://acme.example/build"}},` +
		`"predicateType":"https://slsa.dev/provenance/v1","subject":[{"digest":{"sha256":"` + strings.Repeat("0", 64) + `"},"name":"notes.txt"},{"digest":` + string(set) + `,"name":"weather.tgz"}]}`
	return sigtest.Unchecked{Payload: []byte(payload), Key: p.key}.Bundle()
}

// An attestation about the package counts where the policy says so, if the
// release that vouches for the definition names the package by its digest.
func TestAttestedArtifact(t *testing.T) {
	p, builder, evil := newPublisher(t), newPublisher(t), newPublisher(t)
	rule := func(of string) *Verifier {
		text := "version: 1\nrules:\n  - servers: [" + weather + "]\n    signedBy: [\"" + p.id + "\"]\n    attested:\n      - {type: \"https://slsa.dev/provenance/v1\", by: [\"" + builder.id + "\"]" + of +
			", where: {pointer: /buildDefinition/buildType, equals: \"https://acme.example/build\"}}\n"
		return newVerifier(t, policy(t, text), trustKeys(p.key, builder.key, evil.key))
	}
	artifacts := func(digests ...map[string]string) []byte {
		return p.sign(t, ab, func(r *attest.Release) {
			for _, d := range digests {
				r.Artifacts = append(r.Artifacts, attest.Resource{URI: "pkg:npm/weather@1.4.2", Digest: d})
			}
		})
	}
	const artifact = ", of: artifact"
	aa, bb := sha512Of("aa"), sha512Of("bb")
	for _, tt := range []struct {
		name    string
		of      string
		release []byte
		other   []byte
		allowed bool
	}{
		{"the artifact", artifact, artifacts(aa), builder.provenance(t, "v1", aa), true},
		{"one of two artifacts", artifact, artifacts(bb, aa), builder.provenance(t, "v1", aa), true},
		{"statement 0.1", artifact, artifacts(aa), builder.provenance(t, "v0.1", aa), true},
		{"another artifact", artifact, artifacts(aa), builder.provenance(t, "v1", bb), false},
		{"another algorithm", artifact, artifacts(aa), builder.provenance(t, "v1", sha256Of("aa")), false},
		{"a weak algorithm", artifact, artifacts(map[string]string{"sha1": "aa"}), builder.provenance(t, "v1", map[string]string{"sha1": "aa"}), false},
		{"a digest that the release lacks, too", artifact, artifacts(aa), builder.provenance(t, "v1", map[string]string{"sha512": aa["sha512"], "sha256": strings.Repeat("0", 64)}), true},
		{"no artifact in the release", artifact, artifacts(), builder.provenance(t, "v1", aa), false},
		{"by another", artifact, artifacts(aa), evil.provenance(t, "v1", aa), false},
		{"the policy asks about definitions", "", artifacts(aa), builder.provenance(t, "v1", aa), false},
		{"the policy says definitions", ", of: definitions", artifacts(aa), builder.provenance(t, "v1", aa), false},
		{"nothing", artifact, artifacts(aa), nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(listing(t, ab), tt.release)
			if tt.other != nil {
				r.Bundles = append(r.Bundles, tt.other)
			}
			d := rule(tt.of).Decide(r)
			if got := d.SignedErr() == nil; got != tt.allowed {
				t.Fatalf("allowed is %v: %s, %v", got, verdicts(d), d.Diagnostics())
			}
			if !tt.allowed && !d.Results()[0].Has(AttestationMissing) {
				t.Errorf("verdicts are %s", verdicts(d))
			}
			if tt.allowed && len(d.Supporting(r.Listing.Definitions...)) != 1 {
				t.Error("the attestation is not kept with the pins")
			}
			checkDecision(t, d, r)
		})
	}

	// A release of another publisher that names the artifact vouches for nothing
	// here.
	r := ask(listing(t, ab), artifacts(), evil.sign(t, ab, func(r *attest.Release) { r.Artifacts = []attest.Resource{{Digest: aa}} }))
	r.Bundles = append(r.Bundles, builder.provenance(t, "v1", aa))
	if d := rule(artifact).Decide(r); d.SignedErr() == nil {
		t.Error("an artifact that only a stranger names is enough:", verdicts(d))
	}
}
