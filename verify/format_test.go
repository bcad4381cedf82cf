package verify

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// What is not a bundle that can be read is named for what it is, with what to
// do, and gives no verdict about a signature.
func TestFormats(t *testing.T) {
	key := sigtest.P256()
	v := verifier(t, trustKeys(key), "key:"+keyID(t, key))
	st := statement(t, abc)
	bundle := string(byKey(t, key, st))
	var parts struct{ DsseEnvelope json.RawMessage }
	if err := json.Unmarshal([]byte(bundle), &parts); err != nil {
		t.Fatal(err)
	}
	const jq = ".attestations[].bundle"
	for _, tt := range []struct{ name, text, what, path string }{
		{"old cosign", `{"base64Signature":"` + base64.StdEncoding.EncodeToString([]byte("x")) + `","cert":"","rekorBundle":{}}`, "old cosign bundle", ""},
		{"GitHub", `{"attestations":[{"bundle":` + bundle + `,"repository_id":1}]}`, "GitHub's attestations API", jq},
		{"GitHub, none", `{"attestations":[]}`, "GitHub's attestations API", jq},
		{"npm", `{"attestations":[{"predicateType":"https://slsa.dev/provenance/v1","bundle":` + bundle + `}]}`, "attestations of npm", jq},
		{"an envelope", string(parts.DsseEnvelope), "DSSE envelope alone", ""},
		{"a statement", string(st.Bytes()), "in-toto statement without a signature", ""},
		{"a trusted root", string(newServices().TrustedRoot()), "Sigstore trusted root", ""},
		{"version 0.4", `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.4+json","new":{}}`, "another version than 0.1 to 0.3", ""},
		{"version 1", `{"mediaType":"application/vnd.dev.sigstore.bundle.v1+json"}`, "another version than 0.1 to 0.3", ""},
		{"a new member", `{"new":1,` + bundle[1:], `unknown field "new"`, ""},
		{"another document", `{"mediaType":"text/plain"}`, "document of type text/plain", ""},
		{"a listing", abc, "without the mediaType", ""},
		{"a key", string(sigtest.PublicPEM(key.Public())), "json_syntax", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refuses(t, v, []byte(tt.text), Unreadable, tt.what)
			_, err := Inspect([]byte(tt.text))
			var format *FormatError
			if !errors.As(err, &format) || format.Path != tt.path || format.Fix == "" {
				t.Errorf("Inspect: %#v", err)
			}
			// Beside a good bundle it is a diagnostic.
			d := v.Decide(ask(listing(t, abc), []byte(tt.text), []byte(bundle)))
			if d.SignedErr() != nil {
				t.Error(d.SignedErr())
			}
			wantDiagnostics(t, d, Unreadable)
		})
	}
}
