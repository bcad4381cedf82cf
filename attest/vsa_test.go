package attest

import (
	"slices"
	"strings"
	"testing"
	"time"

	vsapb "github.com/in-toto/attestation/go/predicates/vsa/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

func TestSummaryBytes(t *testing.T) {
	echo := listing(t, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	const policy = `"policy":{"digest":{"sha256":"` + hexA + `"},"uri":"https://corp.example/policy.yaml"},"resourceUri":"mcp:io.github.acme/weather",`
	for _, tt := range []struct {
		name string
		edit func(*VSA)
		want string
	}{
		{"all members", func(*VSA) {}, `{"inputAttestations":[{"digest":{"sha256":"` + hexB + `"}},{"digest":{"sha256":"` + hexA + `"},"uri":"https://corp.example/b"}],` +
			policy + `"slsaVersion":"1.1","timeVerified":"2026-11-30T12:00:00Z","verificationResult":"PASSED",` +
			`"verifiedLevels":["SLSA_BUILD_LEVEL_3","CORP_REVIEWED"],"verifier":{"id":"https://corp.example/mcpsign"}}`},
		{"passed, required members", func(v *VSA) { v.Inputs, v.Levels, v.SLSAVersion = nil, nil, "" },
			`{` + policy + `"timeVerified":"2026-11-30T12:00:00Z","verificationResult":"PASSED","verifiedLevels":[],"verifier":{"id":"https://corp.example/mcpsign"}}`},
		{"failed", func(v *VSA) { v.Passed, v.Inputs, v.Levels, v.SLSAVersion = false, nil, nil, "" },
			`{` + policy + `"timeVerified":"2026-11-30T12:00:00Z","verificationResult":"FAILED","verifiedLevels":["FAILED"],"verifier":{"id":"https://corp.example/mcpsign"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := summary()
			tt.edit(&v)
			s := made(t)(Summarize(echo.Definitions, v))
			p, ok := s.Foreign()
			if !ok || p.Type() != VSAType {
				t.Fatalf("statement of type %s", s.PredicateType())
			}
			form, err := p.Value("")
			if err != nil || string(form) != tt.want {
				t.Errorf("got  %s, %v\nwant %s", form, err, tt.want)
			}
		})
	}
}

// in-toto's own types read a summary, and read the same in it.
func TestOthersReadSummary(t *testing.T) {
	s := made(t)(Summarize(listing(t, weather).Definitions, summary()))
	var st intoto.Statement
	if err := protojson.Unmarshal(s.Bytes(), &st); err != nil {
		t.Fatal(err)
	}
	if err := st.Validate(); err != nil {
		t.Error(err)
	}
	predicate, err := protojson.Marshal(st.GetPredicate())
	if err != nil {
		t.Fatal(err)
	}
	var v vsapb.VerificationSummary
	if err := protojson.Unmarshal(predicate, &v); err != nil {
		t.Fatal(err)
	}
	want := summary()
	if v.GetVerifier().GetId() != want.Verifier || !v.GetTimeVerified().AsTime().Equal(want.TimeVerified) ||
		v.GetResourceUri() != want.ResourceURI || v.GetPolicy().GetUri() != want.Policy.URI ||
		v.GetPolicy().GetDigest()["sha256"] != hexA || len(v.GetInputAttestations()) != 2 ||
		v.GetVerificationResult() != "PASSED" || !slices.Equal(v.GetVerifiedLevels(), want.Levels) || v.GetSlsaVersion() != "1.1" {
		t.Errorf("in-toto reads %v", &v)
	}
	if len(st.GetSubject()) != len(subjectsOf(listing(t, weather).Definitions)) {
		t.Errorf("in-toto reads the subjects %v", st.GetSubject())
	}
}

func TestRefuseSummary(t *testing.T) {
	l := listing(t, weather)
	for _, tt := range []struct {
		name string
		edit func(*VSA)
		want string
	}{
		{"zero", func(v *VSA) { *v = VSA{} }, "verifier"},
		{"verifier is no URI", func(v *VSA) { v.Verifier = "mcpsign" }, `verifier "mcpsign" is no absolute URI`},
		{"verifier with a space", func(v *VSA) { v.Verifier = "https://corp.example/ x" }, "is no absolute URI"},
		{"verifier with an escape sequence", func(v *VSA) { v.Verifier = "x:\x1b[31m" }, `"x:\x1b[31m"`},
		{"no resource", func(v *VSA) { v.ResourceURI = "" }, "resource"},
		{"resource is no URI", func(v *VSA) { v.ResourceURI = "acme/weather" }, "is no absolute URI"},
		{"no time", func(v *VSA) { v.TimeVerified = time.Time{} }, "the time is missing"},
		{"time with a fraction", func(v *VSA) { v.TimeVerified = v.TimeVerified.Add(1) }, "not a whole second"},
		{"policy without a URI", func(v *VSA) { v.Policy.URI = "" }, "policy"},
		{"policy without a digest", func(v *VSA) { v.Policy.Digest = nil }, "the policy has no digest"},
		{"policy digest in upper case", func(v *VSA) { v.Policy.Digest = map[string]string{"sha256": "AA"} }, "sha256 of the policy is not lower-case"},
		{"input without a digest", func(v *VSA) { v.Inputs[1].Digest = nil }, "an input attestation has no digest"},
		{"input digest of no algorithm", func(v *VSA) { v.Inputs[0].Digest = map[string]string{"": "aa"} }, "not lower-case hexadecimal"},
		{"input URI is no UTF-8", func(v *VSA) { v.Inputs[0].URI = "\xff" }, "not UTF-8"},
		{"too many inputs", func(v *VSA) { v.Inputs = slices.Repeat(v.Inputs[:1], MaxSubjects+1) }, "more than 1024 input attestations"},
		{"failed with levels", func(v *VSA) { v.Passed = false }, "has no levels"},
		{"passed as FAILED", func(v *VSA) { v.Levels = []string{"FAILED"} }, `level "FAILED"`},
		{"empty level", func(v *VSA) { v.Levels = []string{""} }, `level ""`},
		{"level with an escape sequence", func(v *VSA) { v.Levels = []string{"\x1b[31m"} }, `level "\x1b[31m"`},
		{"level of 256 bytes", func(v *VSA) { v.Levels = []string{strings.Repeat("A", 256)} }, "too long"},
		{"two levels of a track", func(v *VSA) { v.Levels = []string{"SLSA_BUILD_LEVEL_1", "SLSA_BUILD_LEVEL_3"} }, "track is there twice"},
		{"own level twice", func(v *VSA) { v.Levels = []string{"A", "A"} }, "is there twice"},
		{"level of SLSA's that is none", func(v *VSA) { v.Levels = []string{"SLSA_MCP"} }, "not of the form SLSA_TRACK_LEVEL_N"},
		{"level of no track", func(v *VSA) { v.Levels = []string{"SLSA_LEVEL_3"} }, "not of the form SLSA_TRACK_LEVEL_N"},
		{"level without a number", func(v *VSA) { v.Levels = []string{"SLSA_BUILD_LEVEL_X"} }, "not of the form SLSA_TRACK_LEVEL_N"},
		{"too many levels", func(v *VSA) { v.Levels = make([]string, 65) }, "more than 64 levels"},
		{"SLSA version v1", func(v *VSA) { v.SLSAVersion = "v1" }, "not of the form MAJOR.MINOR"},
		{"SLSA version 1.", func(v *VSA) { v.SLSAVersion = "1." }, "not of the form MAJOR.MINOR"},
		{"SLSA version 1.0.0", func(v *VSA) { v.SLSAVersion = "1.0.0" }, "not of the form MAJOR.MINOR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := summary()
			tt.edit(&v)
			s, err := Summarize(l.Definitions, v)
			wantError(t, err, tt.want)
			if s != nil {
				t.Error("a statement came with the error")
			}
		})
	}
	_, err := Summarize(nil, summary())
	wantError(t, err, "no subjects")
	_, err = Summarize(append(l.Definitions, l.Definitions...), summary())
	wantError(t, err, "there twice")
}
