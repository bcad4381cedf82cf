package cli

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

// nothingFiles are what the commands of TestNothingIsNeverYes find. A signed
// and a pinned server are locked in signed.lock.json, and w.json is a bundle
// that verifies: whatever is a no here is one for lack of something.
func nothingFiles(t *testing.T, u *user) {
	key := sigtest.P256()
	statement := func(predicateType, subjects string) string {
		payload := `{"_type":"https://in-toto.io/Statement/v1","predicate":{"complete":true,"issuedAt":"2026-01-01T00:00:00Z","kinds":["tool"],` +
			`"recipe":"mcp-definition/v1","sequence":1,"server":{"name":"weather"},"variant":""},"predicateType":"` + predicateType + `","subject":[` + subjects + `]}`
		return string(sigtest.Unchecked{Payload: []byte(payload), Key: key}.Bundle())
	}
	const ours, subject = "https://mcpsign.github.io/definitions/v1", `{"digest":{"sha256":"f7817751a90d6baf078dd0e2d98b278faa025d83ccee00eb9b60100ad65bdcb9"},"name":"tool:echo"}`
	write(t, ".", map[string]string{
		"listing.json":   `[{"name":"echo"}]`,
		"empty.json":     `[]`,
		"no_tools.json":  `{"result":{"tools":[]}}`,
		"no_method.json": `{"error":{"code":-32601,"message":"no"}}`,
		"no_member.json": `{"result":{}}`,
		"no_text.json":   " \n",
		"refused.json":   `[{"name":""},{"name":"a","n":1e999},{"name":"b"},{"name":"b"}]`,
		"nothing":        "",
		"object":         "{}",
		"folder/":        "",

		"acme.key":             string(sigtest.KeyPEM(key)),
		"acme.pub":             string(sigtest.PublicPEM(key.Public())),
		"trusted_root.json":    string(sigtest.New().TrustedRoot()),
		"handmade.json":        statement(ours, subject),
		"no_subjects.json":     statement(ours, ""),
		"other_predicate.json": statement("https://slsa.dev/provenance/v1", subject),
		"other_payload.json":   string(sigtest.Unchecked{Payload: []byte("{}"), PayloadType: "text/plain", Key: key}.Bundle()),

		"no_document.yaml": "# nothing\n",
		"no_rules.yaml":    "version: 1\nrules: []\n",
		"null_rules.yaml":  "version: 1\nrules:\n",
		"no_version.yaml":  "rules: [{servers: [weather], pinnedOnly: x}]\n",
		"no_servers.yaml":  "version: 1\nrules: [{servers: [], pinnedOnly: x}]\n",
		"no_signers.yaml":  "version: 1\nrules: [{servers: [weather], signedBy: []}]\n",
		"no_reason.yaml":   "version: 1\nrules: [{servers: [weather], pinnedOnly: ''}]\n",
		"no_server.yaml":   "version: 1\nrules: [{servers: [other], pinnedOnly: x}]\n",
		"no_match.yaml":    "version: 1\nrules: [{servers: ['weather/*', 'weather/**', '*x', 'Weather', 'weathe'], pinnedOnly: x}]\n",
		"pinned.yaml":      "version: 1\nrules: [{servers: [weather], pinnedOnly: x}]\n",
		"signed.yaml":      "version: 1\nrules: [{servers: [weather], signedBy: ['email:a@acme.example@https://accounts.example']}]\n",

		"no_servers.lock.json": "{\n  \"version\": 1,\n  \"servers\": []\n}\n",
		"launch.lock.json": "{\n  \"version\": 1,\n  \"servers\": [\n    {\n      \"name\": \"other\",\n      \"source\": {\n        \"command\": [\n          \"launched\"\n        ]\n      },\n" +
			"      \"pins\": [\n        {\n          \"kind\": \"tool\",\n          \"name\": \"echo\",\n          \"unsigned\": true,\n          \"digest\": \"sha256:f7817751a90d6baf078dd0e2d98b278faa025d83ccee00eb9b60100ad65bdcb9\",\n" +
			"          \"definition\": {\n            \"name\": \"echo\"\n          }\n        }\n      ]\n    }\n  ]\n}\n",
		"no_pins.lock.json": "{\n  \"version\": 1,\n  \"servers\": [\n    {\n      \"name\": \"weather\",\n      \"pins\": []\n    }\n  ]\n}\n",
	})
	nothingPKI(t)
	u.must(ExitYes, "sign", "weather", "listing.json", "--key", "acme.key", "--sequence", "1", "--bundle", "w.json")
	u.must(ExitYes, "sign", "weather", "listing.json", "--key", "leaf.key", "--cert", "leaf.pem", "--chain", "roots.pem", "--no-timestamp", "--sequence", "1", "--bundle", "pki.json")
	u.must(ExitYes, "verify", "weather", "listing.json", "--bundle", "pki.json", "--policy", "now.yaml")
	u.must(ExitYes, "lock", "weather", "listing.json", "--bundle", "w.json", "--key", "acme.pub", "--lock", "signed.lock.json")
	u.must(ExitYes, "lock", "pinned", "listing.json", "--lock", "signed.lock.json")
	u.must(ExitYes, "lock", "weather", "listing.json", "--lock", "unsigned.lock.json")
	// What there is, is good.
	u.must(ExitYes, "verify", "weather", "listing.json", "--bundle", "handmade.json", "--key", "acme.pub")
	u.must(ExitYes, "verify", "--lock", "signed.lock.json")
	u.must(ExitYes, "check", "weather", "listing.json", "--lock", "unsigned.lock.json", "--policy", "pinned.yaml")
}

// nothingPKI writes what there is of a certificate without a timestamp.
func nothingPKI(t *testing.T) {
	ca := sigtest.NewCA("acme root")
	leaf := ca.Leaf(sigtest.P256(), sigtest.URI("https://acme.example/release"))
	policy := func(member string) string {
		return "version: 1\npublishers: {acme: {x509: {roots: [roots.pem], san: 'uri:https://acme.example/release', " + member + "}}}\nrules: [{servers: [weather], signedBy: [acme]}]\n"
	}
	now := time.Now()
	write(t, ".", map[string]string{
		"leaf.key": string(sigtest.KeyPEM(leaf.Key)), "leaf.pem": string(sigtest.CertPEM(leaf.Certificate())), "roots.pem": string(sigtest.CertPEM(ca.Certificate)),
		"now.yaml": policy("time: now"), "required.yaml": policy("time: now, status: required"), "timestamp.yaml": policy("time: timestamp"),
		"acme.crl":      string(ca.CRL(now.Add(-time.Hour), now.Add(time.Hour), now).Raw),
		"no_list.pem":   "-----BEGIN X509 CRL-----\n-----END X509 CRL-----\n",
		"empty.der":     "0\x00",
		"no_answer.der": "0\x03\x0a\x01\x03",
	})
}

// TestNothingIsNeverYes drives every way in which there is nothing: to read, to
// decide on, to decide by. Each ends with its code, says why in one line, and
// leaves every file as it was.
func TestNothingIsNeverYes(t *testing.T) {
	tests := []struct {
		what string
		want ExitCode
		args string
	}{
		{"no arguments", ExitUsage, ""},
		{"no verb of key", ExitUsage, "key"},

		{"no lockfile", ExitUsage, "verify"},
		{"no lockfile, one server", ExitUsage, "verify weather"},
		{"no lockfile to check against", ExitUnpinned, "check weather listing.json"},
		{"no lockfile to inspect", ExitInternal, "inspect mcpsign.lock.json"},
		{"lockfile without servers", ExitUsage, "verify --lock no_servers.lock.json"},
		{"lockfile without servers, checked", ExitUsage, "check weather listing.json --lock no_servers.lock.json"},
		{"lockfile without servers, locked", ExitUsage, "lock weather listing.json --lock no_servers.lock.json"},
		{"lockfile without servers, inspected", ExitUsage, "inspect no_servers.lock.json"},
		{"lockfile without pins", ExitUsage, "verify --lock no_pins.lock.json"},
		{"empty lockfile", ExitUsage, "verify --lock nothing"},
		{"empty lockfile, checked", ExitUsage, "check weather listing.json --lock nothing"},
		{"empty lockfile, locked", ExitUsage, "lock weather listing.json --lock nothing"},
		{"lockfile that is {}", ExitUsage, "verify --lock object"},
		{"lockfile that is a folder", ExitUsage, "verify --lock folder"},
		{"lockfile in no folder", ExitUsage, "verify --lock nofolder/mcpsign.lock.json"},
		{"lockfile without a name", ExitUsage, "verify --lock ''"},

		{"name that is not locked", ExitUnpinned, "verify other --lock signed.lock.json"},
		{"name that is not locked, checked", ExitUnpinned, "check other listing.json --lock signed.lock.json"},
		{"part of a locked name", ExitUnpinned, "verify weathe --lock signed.lock.json"},
		{"empty name", ExitUsage, "verify '' --lock signed.lock.json"},
		{"empty name of a listing", ExitUsage, "verify '' listing.json --bundle w.json --key acme.pub"},
		{"empty name, checked", ExitUsage, "check '' listing.json --lock signed.lock.json"},
		{"empty name, locked", ExitUsage, "lock '' listing.json"},
		{"empty name, signed", ExitUsage, "sign '' listing.json --key acme.key --sequence 1 --bundle b.json"},
		{"no name", ExitUsage, "check"},
		{"no name before a command", ExitUsage, "check -- server"},

		{"no source to digest", ExitUsage, "digest"},
		{"no source to sign", ExitUsage, "sign weather --key acme.key --sequence 1 --bundle b.json"},
		{"no source to lock", ExitUsage, "lock weather"},
		{"no source to check", ExitUsage, "check weather"},
		{"no source to inspect", ExitUsage, "inspect"},
		{"no source to list", ExitUsage, "list"},
		{"no source to approve", ExitUsage, "approve weather"},
		{"nothing to compare", ExitUsage, "diff"},
		{"nothing to compare with", ExitUsage, "diff listing.json"},
		{"no recorded launch", ExitServer, "check weather --run --lock signed.lock.json"},
		{"no recorded launch, compared", ExitServer, "diff weather --run --lock signed.lock.json"},
		{"no recorded launch, approved", ExitServer, "approve weather --run --lock signed.lock.json"},
		{"no recorded launch of any server", ExitServer, "check --all --run --lock signed.lock.json"},
		{"no recorded launch of any server, digested", ExitServer, "digest --all --run --lock signed.lock.json"},
		{"no lockfile for all", ExitUsage, "check --all --run"},
		{"lockfile without servers for all", ExitUsage, "check --all --run --lock no_servers.lock.json"},
		{"no host for all", ExitUsage, "lock --all"},
		{"host without servers", ExitUsage, "check --all client:cursor"},
		{"host without a name", ExitUsage, "check --all client:"},
		{"entry without a name", ExitUsage, "digest client:cursor/"},
		{"no entry", ExitUsage, "digest client:cursor/weather"},
		{"URL of nothing", ExitServer, "digest http://"},
		{"URL where nothing listens", ExitServer, "check weather http://127.0.0.1:1/mcp --lock signed.lock.json"},
		{"header without a value", ExitUsage, "digest http://127.0.0.1:1/mcp --header X-Org:"},
		{"header of nothing", ExitUsage, "digest http://127.0.0.1:1/mcp --header ''"},
		{"header of a variable that is not set", ExitUsage, "digest http://127.0.0.1:1/mcp --header X-Org:${NOTHING}"},
		{"header of an empty file", ExitUsage, "digest http://127.0.0.1:1/mcp --header X-Org:@nothing"},
		{"no time to list", ExitUsage, "digest --timeout 0s -- $SELF"},
		{"no command after --", ExitUsage, "digest --"},
		{"empty command after --", ExitServer, "digest -- ''"},
		{"source without a name", ExitInternal, "digest ''"},
		{"no file", ExitInternal, "digest nofile"},
		{"folder for a file", ExitInternal, "digest folder"},
		{"folder for a file, checked", ExitInternal, "check weather folder --lock signed.lock.json"},
		{"folder for a bundle, inspected", ExitInternal, "inspect folder"},
		{"empty file", ExitServer, "digest nothing"},
		{"empty file, checked", ExitServer, "check weather nothing --lock signed.lock.json"},
		{"empty file, verified", ExitServer, "verify weather nothing --bundle w.json --key acme.pub"},
		{"empty file, locked", ExitServer, "lock weather nothing"},
		{"empty file, signed", ExitServer, "sign weather nothing --key acme.key --sequence 1 --bundle b.json"},
		{"white space", ExitServer, "digest no_text.json"},
		{"empty standard input", ExitServer, "digest -"},
		{"empty standard input, checked", ExitServer, "check weather - --lock signed.lock.json"},
		{"empty standard input, inspected", ExitTrust, "inspect -"},
		{"only 'method not found'", ExitServer, "digest no_method.json"},
		{"result without members", ExitServer, "check weather no_member.json --lock signed.lock.json"},
		{"server that lists nothing and ends", ExitServer, "digest -- $SELF"},
		{"server that lists nothing and ends, checked", ExitServer, "check weather --lock signed.lock.json -- $SELF"},

		{"empty listing", ExitNoDigest, "digest empty.json"},
		{"empty listing as JSON", ExitNoDigest, "digest no_tools.json -o json"},
		{"empty listing, signed", ExitNoDigest, "sign weather empty.json --key acme.key --sequence 1 --bundle b.json"},
		{"empty listing, all excluded", ExitNoDigest, "sign weather listing.json --exclude tool:echo --key acme.key --sequence 1 --bundle b.json"},
		{"empty listing, locked", ExitNoDigest, "lock weather empty.json"},
		{"empty listing, locked with a bundle", ExitNoDigest, "lock weather empty.json --bundle w.json --key acme.pub"},
		{"empty listing, verified", ExitDrift, "verify weather empty.json --bundle w.json --key acme.pub"},
		{"empty listing, checked", ExitDrift, "check weather no_tools.json --lock signed.lock.json"},
		{"empty listing, checked as JSON", ExitDrift, "check weather no_tools.json --lock signed.lock.json -o json"},
		{"empty listing, nothing pinned", ExitDrift, "check weather empty.json"},
		{"empty listing, pinned only", ExitDrift, "verify weather empty.json --policy pinned.yaml"},
		{"empty listing, no rule", ExitDrift, "verify weather empty.json --policy no_server.yaml"},
		{"only refused definitions", ExitNoDigest, "digest refused.json"},
		{"only refused definitions, signed", ExitNoDigest, "sign weather refused.json --key acme.key --sequence 1 --bundle b.json"},
		{"only refused definitions, locked", ExitNoDigest, "lock weather refused.json"},
		{"only refused definitions, checked", ExitNoDigest, "check weather refused.json --lock signed.lock.json"},
		{"only refused definitions, nothing pinned", ExitNoDigest, "check other refused.json"},
		{"only refused definitions, verified", ExitNoDigest, "verify weather refused.json --bundle w.json --key acme.pub"},
		{"empty listing, listed", ExitNoDigest, "list empty.json"},
		{"empty listing, as received", ExitNoDigest, "list empty.json -o raw"},
		{"empty listing, approved", ExitNoDigest, "approve other empty.json --listing sha256:1111111111111111111111111111111111111111111111111111111111111111"},
		{"empty listing, compared", ExitDrift, "diff listing.json empty.json"},
		{"empty listings, compared", ExitNoDigest, "diff empty.json empty.json"},
		{"only refused definitions, listed", ExitNoDigest, "list refused.json"},
		{"only refused definitions, approved", ExitNoDigest, "approve other refused.json"},
		{"only refused definitions, compared", ExitNoDigest, "diff refused.json refused.json"},
		{"nobody to ask", ExitInput, "approve other listing.json"},
		{"no listing that was read", ExitUsage, "approve other listing.json --listing ''"},
		{"another listing that was read", ExitDrift, "approve other listing.json --listing sha256:1111111111111111111111111111111111111111111111111111111111111111"},
		{"no leave to launch", ExitInput, "check other --lock launch.lock.json"},
		{"no leave to launch any", ExitInput, "check --all --lock launch.lock.json"},
		{"no lockfile of another tool", ExitUsage, "lock other listing.json --from nofile"},
		{"empty lockfile of another tool", ExitUsage, "lock other listing.json --from nothing"},
		{"lockfile of another tool that is {}", ExitUsage, "lock other listing.json --from object"},
		{"no code of the lint", ExitUsage, "check weather listing.json --lock signed.lock.json --fail-on ''"},
		{"no format", ExitUsage, "check weather listing.json --lock signed.lock.json -o ''"},
		{"no file for a format", ExitUsage, "check weather listing.json --lock signed.lock.json -o json="},
		{"canonical form of nothing", ExitUsage, "digest listing.json --canonical ''"},
		{"canonical form of no name", ExitUsage, "digest listing.json --canonical tool:"},
		{"canonical form of what is not listed", ExitUsage, "digest listing.json --canonical tool:other"},
		{"canonical form of what is refused", ExitNoDigest, "digest refused.json --canonical tool:a"},

		{"no bundle", ExitUnsigned, "verify weather listing.json --key acme.pub"},
		{"no bundle, locked", ExitUnsigned, "lock weather listing.json --key acme.pub"},
		{"no bundle under a policy", ExitUnsigned, "verify weather listing.json --policy signed.yaml"},
		{"no bundle file", ExitInternal, "verify weather listing.json --bundle nofile --key acme.pub"},
		{"no bundle file, checked", ExitInternal, "check weather listing.json --bundle nofile --lock signed.lock.json"},
		{"bundle without a name", ExitUsage, "verify weather listing.json --bundle '' --key acme.pub"},
		{"folder for a bundle", ExitInternal, "verify weather listing.json --bundle folder --key acme.pub"},
		{"empty bundle", ExitTrust, "verify weather listing.json --bundle nothing --key acme.pub"},
		{"empty bundle, locked", ExitTrust, "lock weather listing.json --bundle nothing --key acme.pub"},
		{"empty bundle, inspected", ExitTrust, "inspect nothing"},
		{"bundle that is white space", ExitTrust, "verify weather listing.json --bundle no_text.json --key acme.pub"},
		{"bundle that is {}", ExitTrust, "verify weather listing.json --bundle object --key acme.pub"},
		{"bundle without subjects", ExitInvalid, "verify weather listing.json --bundle no_subjects.json --key acme.pub"},
		{"bundle about something else", ExitWrong, "verify weather listing.json --bundle other_predicate.json --key acme.pub"},
		{"bundle of no statement", ExitWrong, "verify weather listing.json --bundle other_payload.json --key acme.pub"},
		{"lock without a signature, and one is required", ExitUnsigned, "verify --lock unsigned.lock.json --require-signed"},
		{"lock without a signature under a policy that asks for one", ExitUnsigned, "verify --lock unsigned.lock.json --policy signed.yaml"},

		{"no signer", ExitUsage, "verify weather listing.json --bundle w.json"},
		{"no signer, no bundle", ExitUsage, "verify weather listing.json"},
		{"no signer, locked", ExitUsage, "lock weather listing.json --bundle w.json"},
		{"signer without a name", ExitUsage, "verify weather listing.json --bundle w.json --signer ''"},
		{"signer without a name beside a key", ExitUsage, "verify weather listing.json --bundle w.json --key acme.pub --signer ''"},
		{"identity of nobody", ExitUsage, "verify weather listing.json --bundle w.json --signer key:"},
		{"identity of nobody's key", ExitUsage, "verify weather listing.json --bundle w.json --signer key:sha256:0000000000000000000000000000000000000000000000000000000000000000"},
		{"key without a name", ExitUsage, "verify weather listing.json --bundle w.json --key ''"},
		{"key without a name, locked", ExitUsage, "lock weather listing.json --key ''"},
		{"no key file", ExitTrust, "verify weather listing.json --bundle w.json --key nofile"},
		{"empty key file", ExitTrust, "verify weather listing.json --bundle w.json --key nothing"},
		{"folder for a key", ExitTrust, "verify weather listing.json --bundle w.json --key folder"},
		{"no roots file", ExitTrust, "verify weather listing.json --bundle w.json --key acme.pub --roots nofile"},
		{"empty roots file", ExitTrust, "verify weather listing.json --bundle w.json --key acme.pub --roots nothing"},
		{"roots without a name", ExitUsage, "verify weather listing.json --bundle w.json --key acme.pub --roots ''"},
		{"empty file of timestamp roots", ExitTrust, "verify weather listing.json --bundle w.json --key acme.pub --tsa-roots nothing"},
		{"folder for timestamp roots", ExitTrust, "verify weather listing.json --bundle w.json --key acme.pub --tsa-roots folder"},
		{"empty trusted root", ExitTrust, "verify weather listing.json --bundle w.json --key acme.pub --trusted-root nothing"},
		{"trusted root that is {}", ExitTrust, "verify weather listing.json --bundle w.json --key acme.pub --trusted-root object"},
		{"no trusted root file", ExitTrust, "check weather listing.json --lock signed.lock.json --trusted-root nofile"},
		{"empty key to sign with", ExitUsage, "sign weather listing.json --key nothing --sequence 1 --bundle b.json"},
		{"no key to sign with", ExitUsage, "sign weather listing.json --sequence 1 --bundle b.json"},
		{"timestamp authority without a name", ExitUsage, "sign weather listing.json --key acme.key --tsa '' --sequence 1 --bundle b.json"},
		{"no number", ExitUsage, "sign weather listing.json --key acme.key --bundle b.json"},
		{"number zero", ExitUsage, "sign weather listing.json --key acme.key --sequence 0 --bundle b.json"},
		{"no file for the bundle", ExitUsage, "sign weather listing.json --key acme.key --sequence 1"},
		{"empty signing config", ExitUsage, "sign weather listing.json --identity-token nothing --signing-config nothing --trusted-root trusted_root.json --sequence 1 --bundle b.json"},
		{"empty trusted root to sign with", ExitTrust, "sign weather listing.json --identity-token nothing --signing-config object --trusted-root nothing --sequence 1 --bundle b.json"},
		{"no file for a key", ExitUsage, "key generate --out ''"},

		{"no source to attest", ExitUsage, "attest weather --type https://acme.example/scan/v1 --predicate object --key acme.key --bundle b.json"},
		{"no name to attest", ExitUsage, "attest --type https://acme.example/scan/v1 --predicate object --key acme.key --bundle b.json"},
		{"empty name, attested", ExitUsage, "attest '' listing.json --type https://acme.example/scan/v1 --predicate object --key acme.key --bundle b.json"},
		{"empty name, approved for others", ExitUsage, "approve '' listing.json --audience production --expires 1d --sign key=acme.key --out b.json"},
		{"no predicate type", ExitUsage, "attest weather listing.json --predicate object --key acme.key --bundle b.json"},
		{"predicate type without a name", ExitUsage, "attest weather listing.json --type '' --predicate object --key acme.key --bundle b.json"},
		{"no predicate", ExitUsage, "attest weather listing.json --type https://acme.example/scan/v1 --key acme.key --bundle b.json"},
		{"no predicate file", ExitUsage, "attest weather listing.json --type https://acme.example/scan/v1 --predicate nofile --key acme.key --bundle b.json"},
		{"empty predicate", ExitUsage, "attest weather listing.json --type https://acme.example/scan/v1 --predicate nothing --key acme.key --bundle b.json"},
		{"no key to attest with", ExitUsage, "attest weather listing.json --type https://acme.example/scan/v1 --predicate object --bundle b.json"},
		{"no file for the attestation", ExitUsage, "attest weather listing.json --type https://acme.example/scan/v1 --predicate object --key acme.key"},
		{"no file for the statement", ExitUsage, "attest weather listing.json --type https://acme.example/scan/v1 --predicate object --out ''"},
		{"empty listing, attested", ExitNoDigest, "attest weather empty.json --type https://acme.example/scan/v1 --predicate object --key acme.key --bundle b.json"},
		{"empty listing, approved for others", ExitNoDigest, "approve weather empty.json --audience production --expires 1d --sign key=acme.key --out b.json"},
		{"only refused definitions, attested", ExitNoDigest, "attest weather refused.json --type https://acme.example/scan/v1 --predicate object --key acme.key --bundle b.json"},
		{"only refused definitions, approved for others", ExitNoDigest, "approve weather refused.json --audience production --expires 1d --sign key=acme.key --out b.json"},
		{"empty file, attested", ExitServer, "attest weather nothing --type https://acme.example/scan/v1 --predicate object --key acme.key --bundle b.json"},
		{"nobody to ask for an approval for others", ExitInput, "approve weather listing.json --audience production --expires 1d --sign key=acme.key --out b.json"},
		{"no audience", ExitUsage, "approve weather listing.json --expires 1d --sign key=acme.key --out b.json"},
		{"audience without a name", ExitUsage, "approve weather listing.json --audience '' --expires 1d --sign key=acme.key --out b.json"},
		{"no end of an approval", ExitUsage, "approve weather listing.json --audience production --sign key=acme.key --out b.json"},
		{"approval for no time", ExitUsage, "approve weather listing.json --audience production --expires 0d --sign key=acme.key --out b.json"},
		{"statement without a name", ExitUsage, "attest --statement '' --key acme.key --bundle b.json"},
		{"no statement file", ExitUsage, "attest --statement nofile --key acme.key --bundle b.json"},
		{"empty statement", ExitUsage, "attest --statement nothing --key acme.key --bundle b.json"},
		{"statement that is {}", ExitUsage, "attest --statement object --key acme.key --bundle b.json"},
		{"no name to revoke for", ExitUsage, "revoke --number 1 --next-update 1d --key acme.key --bundle b.json"},
		{"empty name, revoked", ExitUsage, "revoke '' --number 1 --next-update 1d --key acme.key --bundle b.json"},
		{"item without a name", ExitUsage, "revoke weather '' --number 1 --next-update 1d --key acme.key --bundle b.json"},
		{"no bundle file to revoke", ExitUsage, "revoke weather nofile --number 1 --next-update 1d --key acme.key --bundle b.json"},
		{"empty bundle to revoke", ExitUsage, "revoke weather nothing --number 1 --next-update 1d --key acme.key --bundle b.json"},
		{"bundle of no statement to revoke", ExitUsage, "revoke weather other_payload.json --number 1 --next-update 1d --key acme.key --bundle b.json"},
		{"definition without a digest to revoke", ExitUsage, "revoke weather tool:echo@sha256: --number 1 --next-update 1d --key acme.key --bundle b.json"},
		{"statement without a digest to revoke", ExitUsage, "revoke weather statement: --number 1 --next-update 1d --key acme.key --bundle b.json"},
		{"no number of a list", ExitUsage, "revoke weather --next-update 1d --key acme.key --bundle b.json"},
		{"no next update", ExitUsage, "revoke weather --number 1 --key acme.key --bundle b.json"},
		{"no key to revoke with", ExitUsage, "revoke weather --number 1 --next-update 1d --bundle b.json"},
		{"no last list", ExitUsage, "revoke weather --replaces nofile --number 1 --next-update 1d --key acme.key --bundle b.json"},
		{"last list without a name", ExitUsage, "revoke weather --replaces '' --number 1 --next-update 1d --key acme.key --bundle b.json"},
		{"empty last list", ExitTrust, "revoke weather --replaces nothing --number 1 --next-update 1d --key acme.key --bundle b.json"},
		{"no file for a summary", ExitUsage, "verify --lock signed.lock.json --attest-result ''"},
		{"no file for a signed summary", ExitUsage, "verify --lock signed.lock.json --attest-key acme.key"},
		{"no key for a summary", ExitUsage, "verify --lock signed.lock.json --attest-result b.json --attest-key nofile"},
		{"empty key for a summary", ExitUsage, "verify --lock signed.lock.json --attest-result b.json --attest-key nothing"},
		{"no lockfile for a summary", ExitUsage, "verify --attest-result b.json"},
		{"empty listing, summarized", ExitDrift, "verify weather empty.json --bundle w.json --key acme.pub --attest-result b.json"},
		{"only refused definitions, summarized", ExitNoDigest, "verify weather refused.json --bundle w.json --key acme.pub --attest-result b.json"},

		{"nothing to add", ExitUsage, "add"},
		{"nothing to add for a server", ExitUsage, "add weather --key acme.pub"},
		{"empty name, added to", ExitUsage, "add '' w.json --key acme.pub"},
		{"empty name, refreshed", ExitUsage, "add '' --refresh --key acme.pub"},
		{"no file to add", ExitInternal, "add weather nofile --key acme.pub"},
		{"empty file to add", ExitTrust, "add weather nothing --key acme.pub"},
		{"revocation list about nothing", ExitTrust, "add weather acme.crl --key acme.pub"},
		{"revocation list about a key's bundle", ExitTrust, "add weather acme.crl w.json --key acme.pub"},
		{"revocation list without a list", ExitInvalid, "add weather no_list.pem --key acme.pub"},
		{"empty revocation list", ExitInvalid, "add weather empty.der pki.json --policy required.yaml"},
		{"OCSP response without an answer", ExitInvalid, "add weather no_answer.der pki.json --policy required.yaml"},
		{"nobody to ask for a status", ExitTrust, "add weather --refresh"},
		{"nobody to ask for a key's status", ExitTrust, "add weather --refresh --key acme.pub --lock signed.lock.json"},
		{"no status", ExitTrust, "verify weather listing.json --bundle pki.json --policy required.yaml"},
		{"no status, locked", ExitTrust, "lock weather listing.json --bundle pki.json --policy required.yaml"},
		{"no status, explained", ExitTrust, "policy explain weather listing.json --bundle pki.json --policy required.yaml"},
		{"no timestamp", ExitUnsigned, "verify weather listing.json --bundle pki.json --policy timestamp.yaml"},
		{"no timestamp, locked", ExitUnsigned, "lock weather listing.json --bundle pki.json --policy timestamp.yaml"},
		{"no roots for no timestamp", ExitUnsigned, "verify weather listing.json --bundle pki.json --signer x509:uri:https://acme.example/release --roots roots.pem"},

		{"no policy file", ExitUsage, "verify weather listing.json --policy nofile"},
		{"policy without a name", ExitUsage, "verify --policy '' --lock signed.lock.json"},
		{"policy without a name, checked", ExitUsage, "check weather listing.json --policy '' --lock signed.lock.json"},
		{"folder for a policy", ExitUsage, "verify --policy folder --lock signed.lock.json"},
		{"empty policy", ExitUsage, "verify --policy nothing --lock signed.lock.json"},
		{"empty policy, checked", ExitUsage, "check weather listing.json --policy nothing --lock signed.lock.json"},
		{"empty policy, locked", ExitUsage, "lock weather listing.json --policy nothing"},
		{"policy without a document", ExitUsage, "verify --policy no_document.yaml --lock signed.lock.json"},
		{"policy that is {}", ExitUsage, "verify --policy object --lock signed.lock.json"},
		{"policy without rules", ExitUsage, "verify --policy no_rules.yaml --lock signed.lock.json"},
		{"policy whose rules are null", ExitUsage, "verify --policy null_rules.yaml --lock signed.lock.json"},
		{"policy without a version", ExitUsage, "verify --policy no_version.yaml --lock signed.lock.json"},
		{"rule without servers", ExitUsage, "verify --policy no_servers.yaml --lock signed.lock.json"},
		{"rule without signers", ExitUsage, "verify --policy no_signers.yaml --lock signed.lock.json"},
		{"rule without a reason", ExitUsage, "verify --policy no_reason.yaml --lock signed.lock.json"},
		{"policy without the server", ExitUnsigned, "verify weather --policy no_server.yaml --lock signed.lock.json"},
		{"policy without the server, checked", ExitUnsigned, "check weather listing.json --policy no_server.yaml --lock unsigned.lock.json"},
		{"policy without the server, verified", ExitUnsigned, "verify weather listing.json --bundle w.json --key acme.pub --policy no_server.yaml"},
		{"policy without the server, locked", ExitUnsigned, "lock weather listing.json --bundle w.json --key acme.pub --policy no_server.yaml"},
		{"patterns that match nothing", ExitUnsigned, "verify weather --policy no_match.yaml --lock unsigned.lock.json"},
		{"no pins under a rule that asks for no more", ExitUnpinned, "verify weather listing.json --policy pinned.yaml"},
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(beVariable, "ends") // what $SELF does
	t.Chdir(t.TempDir())
	u := newUser(t)
	nothingFiles(t, u)
	before := contents(t, ".")
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			u := newUser(t) // who has seen nothing either
			var args []string
			for _, w := range strings.Fields(test.args) {
				args = append(args, strings.ReplaceAll(strings.ReplaceAll(w, "''", ""), "$SELF", self))
			}
			r := u.must(test.want, args...)
			if test.want == ExitYes {
				t.Error("nothing is wanted to be a yes")
			}
			if n := countLines(r.stderr, "error: "); n != 1 {
				t.Errorf("%d errors on standard error, want one:\n%s", n, r.stderr)
			}
			if after := contents(t, "."); !maps.Equal(before, after) {
				t.Errorf("files have changed")
			}
			if seen, err := filepath.Glob(filepath.Join(u.env["XDG_STATE_HOME"], "*")); err != nil || len(seen) > 0 {
				t.Errorf("%v were stored, %v", seen, err)
			}
		})
	}
}

// TestNoState covers the folder in which sequences are kept.
func TestNoState(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", map[string]string{"listing.json": `[{"name":"echo"}]`})
	u := newUser(t)
	u.must(ExitYes, "lock", "weather", "listing.json")
	for what, env := range map[string]map[string]string{
		"nothing is set": {},
		"empty":          {"HOME": "", "XDG_STATE_HOME": ""},
		"relative":       {"XDG_STATE_HOME": "state"},
		"a file":         {"XDG_STATE_HOME": filepath.Join(must(os.Getwd()), "listing.json")},
	} {
		u.env = env
		r := u.must(ExitTrust, "check", "weather", "listing.json")
		if countLines(r.stderr, "error: ") != 1 || countLines(r.stderr, "hint: ") != 1 {
			t.Errorf("%s: standard error has not one error and one hint:\n%s", what, r.stderr)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
