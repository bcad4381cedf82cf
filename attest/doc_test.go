package attest

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/mcpsign/mcpsign/internal/canonical"
	"github.com/mcpsign/mcpsign/lock"
)

// The examples of the package comment are what the package writes.
func TestDocumentedExamples(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile(`(?m)^//\t\{\n(//\t .*\n)+//\t\}\n`).FindAll(source, -1)
	echo := listing(t, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	x := subjectsOf(echo.Definitions)[0]
	want := []*Statement{
		define(t, echo, Release{Server: "acme/echo", Version: "1.4.2", Sequence: 1796040000, Complete: true, Kinds: []lock.Kind{lock.Tool}, IssuedAt: issued}),
		made(t)(Approve(echo.Definitions, Approval{
			Server: "acme/echo", Audience: "https://hosts.corp.example/production", Notes: "text read in full",
			IssuedAt: issued, ExpiresAt: issued.AddDate(0, 6, 1), Replaces: map[string]lock.Digest{"tool:echo": digest(t, "b")},
		})),
		made(t)(Revoke(Revocation{
			Servers: []string{"acme/echo"}, Number: 2, IssuedAt: issued, NextUpdate: issued.AddDate(0, 0, 7),
			Entries: []Revoked{{Definition: x, Reason: "sends what it echoes elsewhere"}, {Statement: digest(t, "b")}},
		})),
		made(t)(Summarize(echo.Definitions, VSA{
			Verifier: "https://hosts.corp.example/mcpsign", TimeVerified: issued, ResourceURI: "https://hosts.corp.example/production/acme/echo",
			Policy: Resource{URI: "https://hosts.corp.example/policy.yaml", Digest: map[string]string{"sha256": hexB}},
			Passed: true, SLSAVersion: "1.1",
		})),
	}
	if len(examples) != len(want) {
		t.Fatalf("%d examples, want %d", len(examples), len(want))
	}
	for i, example := range examples {
		form, err := canonical.Append(nil, bytes.ReplaceAll(example, []byte("//\t"), nil))
		if err != nil {
			t.Errorf("%s: %v", example, err)
		}
		if !bytes.Equal(form, want[i].Bytes()) {
			t.Errorf("the example is\n%s\nwhat is written\n%s", form, want[i].Bytes())
		}
		made(t)(ParseAny(form))
	}
}
