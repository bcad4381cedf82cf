package cli

import (
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// TestHiddenNames names files, flags, servers and identities with a character
// that turns the text behind it around. No output has it as it is.
func TestHiddenNames(t *testing.T) {
	t.Chdir(t.TempDir())
	const rlo = "\u202e"
	private, public := keyFiles()
	write(t, ".", map[string]string{
		"listing.json": `[{"name":"echo"}]`, "changed.json": `[{"name":"echo","title":"Echo"}]`,
		"k" + rlo: private, "k" + rlo + ".pub": public, "broken" + rlo: "{",
	})
	for _, test := range []struct {
		want ExitCode
		args string
	}{
		{ExitYes, "key generate --out new<"},
		{ExitUsage, "key generate --out new<"},
		{ExitYes, "key generate --out newer< -o json"},
		{ExitYes, "sign weather listing.json --key k< --sequence 1 --bundle w<"},
		{ExitYes, "sign weather listing.json --key k< --sequence 1 --bundle w< -o json"},
		{ExitYes, "verify weather listing.json --key k<.pub --bundle w<"},
		{ExitYes, "lock weather listing.json --key k<.pub --bundle w< --lock l<"},
		{ExitYes, "lock weather listing.json --key k<.pub --bundle w< --lock l2< -o json"},
		{ExitYes, "verify --lock l<"},
		{ExitYes, "inspect l<"},
		{ExitDrift, "check weather changed.json --lock l<"},
		{ExitUnpinned, "verify other --lock l<"},
		{ExitWrong, "verify weather listing.json --key new<.pub --bundle w<"},
		{ExitWrong, "verify weather listing.json --key new<.pub --bundle w< -o json"},
		{ExitUnsigned, "verify weather changed.json --key k<.pub --bundle w<"},
		{ExitTrust, "verify weather listing.json --key k<.pub --bundle broken<"},
		{ExitTrust, "inspect broken<"},
		{ExitUsage, "verify --lock none<"},
		{ExitUsage, "verify --lock broken<"},
		{ExitUsage, "verify --lock folder</none"},
		{ExitInternal, "digest none<"},
		{ExitServer, "digest broken<"},
		{ExitServer, "digest -- none<"},
		{ExitUsage, "digest listing.json --canonical tool:<"},
		{ExitUsage, "digest listing.json --canonical <"},
		{ExitInternal, "verify weather listing.json --key k<.pub --bundle none<"},
		{ExitTrust, "verify weather listing.json --key none< --bundle w<"},
		{ExitTrust, "verify weather listing.json --key broken< --bundle w<"},
		{ExitUsage, "verify weather listing.json --key k< --bundle w<"},
		{ExitTrust, "verify weather listing.json --key k<.pub --roots broken< --bundle w<"},
		{ExitTrust, "verify weather listing.json --key k<.pub --trusted-root broken< --bundle w<"},
		{ExitUsage, "verify weather listing.json --signer < --bundle w<"},
		{ExitUsage, "verify weather listing.json --policy none<"},
		{ExitUsage, "verify weather listing.json --policy broken<"},
		{ExitUsage, "sign weather listing.json --key none< --sequence 1 --bundle b"},
		{ExitUsage, "sign weather listing.json --key broken< --sequence 1 --bundle b"},
		{ExitUsage, "sign weather listing.json --key k< --sequence 1 --bundle broken<"},
		{ExitUsage, "sign weather listing.json --key k< --sequence < --bundle b"},
		{ExitUsage, "sign weather listing.json --key k< --sequence 1 --tsa < --bundle b"},
		{ExitUsage, "sign weather listing.json --key k< --sequence 1 --bundle b --exclude tool:<"},
		{ExitUsage, "lock na<me listing.json"},
		{ExitUsage, "check na<me listing.json"},
		{ExitUsage, "verify na<me"},
		{ExitUsage, "digest listing.json -o <"},
		{ExitUsage, "digest --fl<ag"},
		{ExitUsage, "ve<rb"},
		{ExitUsage, "key ve<rb"},
		{ExitUsage, "version <"},
	} {
		u := newUser(t)
		var args []string
		for _, w := range strings.Fields(test.args) {
			args = append(args, strings.ReplaceAll(w, "<", rlo))
		}
		r := u.must(test.want, args...)
		for _, out := range []string{r.stdout, r.stderr} {
			for _, c := range out {
				if c != '\n' && lock.Hidden(c) {
					t.Errorf("%s: the output has %U:\n%q", test.args, c, out)
					break
				}
			}
		}
		if countLines(r.stderr, "error: ") != min(int(test.want), 1) {
			t.Errorf("%s: standard error has not one error:\n%s", test.args, r.stderr)
		}
	}
}
