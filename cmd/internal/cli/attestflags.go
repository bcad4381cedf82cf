package cli

import (
	"github.com/spf13/pflag"

	"github.com/mcpsign/mcpsign/attest"
)

// attestFlags say what is attested, and with what it is signed.
type attestFlags struct {
	signerFlags
	predicateType string
	predicate     string // file
	audience      string
	expires       span
	notes         string
	listing       string // digest that was read
	statement     string // file to sign
	out           string // file for the statement, instead of a bundle
}

// approvalWord stands for the predicate type of an approval.
const approvalWord = "approval"

// check reports flags that do not go together.
func (f *attestFlags) check(flags *pflag.FlagSet) error {
	switch {
	case f.statement != "":
		if not := changed(flags, "type", "predicate", "audience", "expires", "notes", "listing", "out"); not != "" {
			return usage("leave it out, or make another statement", not+" is not for a --statement, which is signed as it is")
		}
	case f.predicateType == "":
		return usage("for a reviewer's approval: --type "+approvalWord, "--type is needed")
	case f.approves():
		if err := f.checkApproval(); err != nil {
			return err
		}
	case f.predicateType == attest.PredicateType:
		return usage("sign the definitions of a release with: mcpsign sign NAME SOURCE", "--type is for what others say, not for what the publisher does")
	case f.predicateType == attest.RevocationType:
		return usage("revoke with: mcpsign revoke NAME ITEM", "--type is not for revocations")
	case f.predicate == "":
		return usage("name the file with the JSON object: --predicate FILE", "--predicate is needed")
	default:
		if not := changed(flags, "audience", "expires", "notes", "listing"); not != "" {
			return usage("leave it out", not+" is for --type "+approvalWord)
		}
	}
	if f.out == "" {
		return f.signerFlags.check()
	}
	if not := changed(flags, "key", "cert", "chain", "tsa", "no-timestamp", "identity-token", "signing-config", "trusted-root", "bundle"); not != "" {
		return usage("leave out either", "--out writes what is not signed, and "+not+" is for signing")
	}
	return nil
}

// changed returns the first of the flags that was given, empty if none was.
func changed(flags *pflag.FlagSet, names ...string) string {
	for _, n := range names {
		if flags.Changed(n) {
			return "--" + n
		}
	}
	return ""
}

func (f *attestFlags) approves() bool {
	return f.predicateType == approvalWord || f.predicateType == attest.ApprovalType
}

func (f *attestFlags) checkApproval() error {
	switch {
	case f.predicate != "":
		return usage("leave it out", "--predicate is not for an approval, which has a form of its own")
	case f.audience == "":
		return usage("name the deployment, as its policy does", "an approval needs an --audience")
	case f.expires == 0:
		return usage("say how long it is good: --expires 90d", "an approval needs --expires")
	}
	return fail(ExitUsage, attest.CheckAudience(f.audience), "name the deployment, as its policy does")
}

// place is for the bundle, or the statement.
func (f *attestFlags) place() (*place, error) {
	if f.out == "" {
		return f.signerFlags.place()
	}
	return newPlace("--out", f.out, "statement", func(old []byte) error { _, err := attest.ParseAny(old); return err })
}
