package cli

import (
	"strings"
	"testing"
)

// TestPolicyErrors checks that a policy that can't be read is named with the
// place in it, whatever the command.
func TestPolicyErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", map[string]string{"listing.json": `[{"name":"echo"}]`})
	u := newUser(t)
	u.must(ExitYes, "lock", "weather", "listing.json")
	for text, place := range map[string]string{
		"version: 2\nrules: [{servers: [a], pinnedOnly: b}]\n":                                                   "1:10: version is not 1",
		"version: 1\nversion: 1\nrules: [{servers: [a], pinnedOnly: b}]\n":                                       "2:1: ",
		"version: 1\nrules:\n  - servers: &all [a]\n    pinnedOnly: b\n":                                         "3:14: ",
		"version: 1\nrules:\n  - servers: [a]\n    signedby: [b]\n":                                              "4:5: unknown member signedby",
		"version: 1\nrules:\n  - servers: [a]\n    signedBy: [b]\n":                                              "4:16: identity b: want key:",
		"version: 1\nrules:\n  - servers: [a]\n    pinnedOnly: ''\n":                                             "4:17: pinnedOnly needs the reason",
		"version: 1\nrules:\n  - servers: [a]\n    pinnedOnly: b\n    signedBy: ['uri:x:y@https://i.example']\n": "3:",
		"version: 1\nrules:\n  - servers: [a]\n    pinnedOnly: b\n    refuse: warn\n":                            "5:13: want withhold or block",
		"version: 1\nrules:\n  - servers: ['*/a']\n    signedBy: ['uri:x:y@https://i.example']\n":                "3:",
		"version: 1\nrules:\n  - servers: ['a\n":                                                                 "3:",
		"version: 1\nrules: a\n":                                                                                 "2:8: want a list",
		"- version: 1\n":                                                                                         "1:",
		"\"rul\u202ees\": []\n":                                                                                  "1:1: unknown member rul\\u{202e}es",
	} {
		write(t, ".", map[string]string{"policy.yaml": text})
		for _, command := range []string{"verify", "verify weather", "verify weather listing.json", "check weather listing.json", "lock other listing.json"} {
			r := u.must(ExitUsage, append(strings.Fields(command), "--policy", "policy.yaml")...)
			if want := "error: policy policy.yaml:" + place; !strings.Contains(r.stderr, want) {
				t.Errorf("%q: want %q, got\n%s", text, want, r.stderr)
			}
			if r.stdout != "" {
				t.Errorf("%q: %s decides all the same:\n%s", text, command, r.stdout)
			}
		}
	}
}
