package cli

import (
	"fmt"
	"strings"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// statementPrefix begins an item that is a statement by its digest.
const statementPrefix = "statement:"

// itemForms is the hint about what is no item.
const itemForms = "an ITEM is KIND:NAME@sha256:HEX, statement:sha256:HEX or the file of a bundle"

// readItem reads an item of the command line.
func readItem(server, item string) (attest.Revoked, error) {
	if digest, ok := strings.CutPrefix(item, statementPrefix); ok {
		d, err := lock.ParseDigest(digest)
		return attest.Revoked{Statement: d}, fail(ExitUsage, err, itemForms)
	}
	if at := strings.LastIndex(item, "@sha256:"); at >= 0 {
		kind, name, err := lock.ParseID(item[:at])
		if err != nil {
			return attest.Revoked{}, fail(ExitUsage, err, itemForms)
		}
		d, err := lock.ParseDigest(item[at+1:])
		return attest.Revoked{Definition: attest.Subject{Kind: kind, Name: name, Digest: d}}, fail(ExitUsage, err, itemForms)
	}
	return bundleItem(server, item)
}

// isFile reports whether an item is a file, and neither a definition nor a
// digest.
func isFile(item string) bool {
	return !strings.HasPrefix(item, statementPrefix) && !strings.Contains(item, "@sha256:")
}

// bundleItem returns the statement in the file of a bundle as an item.
func bundleItem(server, item string) (attest.Revoked, error) {
	st, err := statementIn(item)
	if err != nil {
		return attest.Revoked{}, fail(ExitUsage, fmt.Errorf("%s: %w", lock.Visible(item), err), itemForms)
	}
	about := st.Release().Server
	if approval, ok := st.Approval(); ok {
		about = approval.Server
	}
	if _, ok := st.Revocation(); ok {
		return attest.Revoked{}, usage("make a list with a higher number, which takes its place", lock.Visible(item)+" is a revocation list itself")
	}
	if about != "" && about != server {
		return attest.Revoked{}, usage("name the server that it is about", fmt.Sprintf("%s is about %s, not %s", lock.Visible(item), about, server))
	}
	return attest.Revoked{Statement: st.Digest()}, nil
}

// statementIn returns the statement in a file with one bundle. Who signed does
// not matter: it is no longer to count.
func statementIn(name string) (*attest.Statement, error) {
	data, err := readFile(name, lock.MaxBundle)
	if err != nil {
		return nil, err
	}
	u, err := verify.Inspect(data)
	if err != nil {
		return nil, err
	}
	return attest.ParseAny(u.Payload)
}
