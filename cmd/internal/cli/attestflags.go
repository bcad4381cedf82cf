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
	statement     string // file to sign
	out           string // file for the statement, instead of a bundle
}

// check reports flags that do not go together.
func (f *attestFlags) check(flags *pflag.FlagSet) error {
	switch {
	case f.statement != "":
		if not := changed(flags, "type", "predicate", "out"); not != "" {
			return usage("leave it out, or make another statement", not+" is not for a --statement, which is signed as it is")
		}
	case f.predicateType == "":
		return usage("a reviewer's approval is made with: mcpsign approve NAME SOURCE --out FILE --sign key=KEY --audience AUDIENCE --expires 90d", "--type is needed")
	case f.predicateType == attest.ApprovalType:
		return usage("approve with: mcpsign approve NAME SOURCE --out FILE --sign key=KEY --audience AUDIENCE --expires 90d", "--type is not for approvals, for which all is shown")
	case f.predicateType == attest.PredicateType:
		return usage("sign the definitions of a release with: mcpsign sign NAME SOURCE --key KEY --bundle FILE", "--type is for what others say, not for what the publisher does")
	case f.predicateType == attest.RevocationType:
		return usage("revoke with: mcpsign revoke NAME ITEM --number NUMBER --next-update 30d --key KEY --bundle FILE", "--type is not for revocations")
	case f.predicate == "":
		return usage("name the file with the JSON object: --predicate FILE", "--predicate is needed")
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

// place is for the bundle, or the statement.
func (f *attestFlags) place() (*place, error) {
	if f.out == "" {
		return f.signerFlags.place()
	}
	return statementPlace(f.out)
}

// statementPlace is the file that --out names for a statement.
func statementPlace(name string) (*place, error) {
	return newPlace("--out", name, "statement", func(old []byte) error { _, err := attest.ParseAny(old); return err })
}
