package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// revokeFlags say what kind of list is made, and with what it is signed.
type revokeFlags struct {
	signerFlags
	number     uint64
	nextUpdate span
	reason     string
	replaces   string
}

func (a *app) revokeCommand() *cobra.Command {
	var f revokeFlags
	cmd := &cobra.Command{
		Use:   "revoke NAME [ITEM]...",
		Short: "Sign the list of what no longer counts for a server",
		Long: `Sign a numbered list of what its signer revokes. An ITEM is KIND:NAME@sha256:HEX, a
definition; statement:sha256:HEX; or a bundle, whose statement is meant. The list
is the whole of what its signer revokes for NAME: --replaces takes over the entries
of the last one. Without any ITEM or entry the list revokes nothing, and says when
to expect the next one.`,
		Example: `  mcpsign revoke NAME tool:get_forecast@sha256:HEX --number 1 --next-update 30d --key KEY --bundle OUT
  mcpsign revoke NAME bad.sigstore.json --replaces LAST --number 2 --next-update 30d --key KEY --bundle OUT`,
		RunE: func(cmd *cobra.Command, list []string) error {
			if len(list) == 0 || cmd.ArgsLenAtDash() >= 0 {
				return usage("usage: "+cmd.UseLine(), "NAME is needed, and a list is about no command")
			}
			return a.revoke(cmd.Context(), list[0], list[1:], &f)
		},
	}
	flags := cmd.Flags()
	flags.Var((*decimal)(&f.number), "number", "number of the list, higher than the last")
	flags.Var(&f.nextUpdate, "next-update", "how long until the next list is out, by when this one is out of date")
	flags.StringVar(&f.reason, "reason", "", "why, for people: of every ITEM that is named")
	flags.StringVar(&f.replaces, "replaces", "", "bundle of the last list by the same signer, whose entries are taken over")
	f.signerFlags.add(flags)
	return cmd
}

// check reports flags that do not go together.
func (f *revokeFlags) check(items []string) error {
	switch {
	case f.number == 0 || f.number > lock.MaxSequence:
		return usage("number the list higher than the last one, the first one 1", "--number between 1 and 2^53-1 is needed")
	case f.nextUpdate == 0:
		return usage("say how long the list is good: --next-update 30d", "--next-update is needed")
	case f.reason != "" && len(items) == 0:
		return usage("name what is revoked for that reason", "--reason is about an ITEM")
	}
	return f.signerFlags.check()
}

func (a *app) revoke(ctx context.Context, name string, items []string, f *revokeFlags) error {
	if err := f.check(items); err != nil {
		return err
	}
	if err := checkServer(name); err != nil {
		return err
	}
	to, err := f.place()
	if err != nil {
		return err
	}
	defer to.close()
	if err := f.keepsOld(to.old); err != nil {
		return err
	}
	now := a.Now().UTC().Truncate(time.Second)
	list := attest.Revocation{Servers: []string{name}, Number: f.number, IssuedAt: now, NextUpdate: now.Add(time.Duration(f.nextUpdate))}
	var last lock.Signer
	if f.replaces != "" {
		if last, err = a.takeOver(&list, name, f); err != nil {
			return err
		}
	}
	for _, item := range items {
		x, err := readItem(name, item)
		if err != nil {
			return err
		}
		x.Reason = f.reason
		a.addItem(&list, x)
	}
	st, err := attest.Revoke(list)
	if err != nil {
		return fail(ExitUsage, err, "")
	}
	if err := to.check(st); err != nil {
		return err
	}
	made, err := a.seal(ctx, st, nil, &f.signerFlags)
	if err != nil {
		return err
	}
	if f.replaces != "" && !made.signer.Same(last) {
		return fail(ExitWrong, fmt.Errorf("%s is by %s, and the new list by %s; it is not written", lock.Visible(f.replaces), last, made.signer), sameSigner)
	}
	if err := to.writeBundle(made); err != nil {
		return err
	}
	for _, item := range items {
		if isFile(item) {
			a.noteForeign(item, made.signer, &f.signerFlags)
		}
	}
	list, _ = st.Revocation()
	return a.printRevoked(list, made.id, f)
}

const sameSigner = "a list takes the place of one by the same signer only"

// keepsOld returns an error if a list would be overwritten whose entries are
// not taken over.
func (f *revokeFlags) keepsOld(old []byte) error {
	u, err := verify.Inspect(old)
	if err != nil || f.replaces != "" && filepath.Clean(f.replaces) == filepath.Clean(f.bundle) {
		return nil
	}
	st, err := attest.ParseAny(u.Payload)
	if err != nil {
		return nil
	}
	if r, ok := st.Revocation(); ok {
		return usage("take its entries over with --replaces "+quoteWords([]string{f.bundle})+", or choose another --bundle",
			fmt.Sprintf("%s has list %d for %s, which would be lost", lock.Visible(f.bundle), r.Number, strings.Join(r.Servers, ", ")))
	}
	return nil
}

// ownStatement verifies a bundle that is said to be by the signer that the flags
// name.
func (a *app) ownStatement(name string, f *signerFlags) (lock.Signer, *attest.Statement, error) {
	data, err := readFile(name, lock.MaxBundle)
	if err != nil {
		return lock.Signer{}, nil, fail(ExitUsage, err, "")
	}
	var v *verify.Verifier
	trust, err := a.ownTrust(data, f)
	if err == nil {
		v, err = verify.New(nil, trust)
	}
	if err == nil {
		signer, st, cause := v.Statement(data)
		if err = cause; err == nil {
			return signer, st, nil
		}
	}
	code := ExitInvalid
	if codeOf(err) == ExitTrust {
		code = ExitTrust
	}
	if u, bad := verify.Inspect(data); bad == nil && len(trust.Keys) > 0 {
		if own, bad := verify.KeyID(trust.Keys[0].Key); bad != nil || u.Key != own.String() {
			code = ExitWrong
		}
	}
	return lock.Signer{}, nil, fail(code, fmt.Errorf("%s: %w", lock.Visible(name), err), sameSigner)
}

// noteForeign says that a statement is not by who revokes it, as far as can be
// told: then the list counts for those alone whose policy names revokers.
func (a *app) noteForeign(item string, signer lock.Signer, f *signerFlags) {
	if by, _, err := a.ownStatement(item, f); err != nil || !by.Same(signer) {
		a.note(item + " is not verified as signed by who revokes it: that counts where a policy names this signer among its revokers")
	}
}

// takeOver verifies the last list and puts its entries and servers into the new
// one. It returns who signed it.
func (a *app) takeOver(list *attest.Revocation, name string, f *revokeFlags) (lock.Signer, error) {
	shown := lock.Visible(f.replaces)
	signer, st, err := a.ownStatement(f.replaces, &f.signerFlags)
	if err != nil {
		return signer, err
	}
	old, ok := st.Revocation()
	switch {
	case !ok:
		return signer, usage("name the bundle of the last list", shown+" is no revocation list")
	case !slices.Contains(old.Servers, name):
		return signer, usage("name the last list for "+name, fmt.Sprintf("%s is for %s, not %s", shown, strings.Join(old.Servers, ", "), name))
	case f.number <= old.Number:
		return signer, usage(fmt.Sprintf("number it %d or higher", old.Number+1), fmt.Sprintf("--number %d is not higher than %d, the number of %s", f.number, old.Number, shown))
	}
	list.Servers, list.Entries = old.Servers, old.Entries
	return signer, nil
}

// addItem adds an entry, unless what it revokes is in the list already.
func (a *app) addItem(list *attest.Revocation, x attest.Revoked) {
	known := func(y attest.Revoked) bool { return y.Definition == x.Definition && y.Statement == x.Statement }
	if slices.ContainsFunc(list.Entries, known) {
		a.note(revokedItem(x) + " is in the list already")
		return
	}
	list.Entries = append(list.Entries, x)
}

func (a *app) printRevoked(r attest.Revocation, id verify.Identity, f *revokeFlags) error {
	return a.emit(form{
		document: func() any {
			doc := revokedDoc{Servers: r.Servers, Number: r.Number, NextUpdate: rfc3339(r.NextUpdate), Identity: id.String(), Bundle: f.bundle, Revoked: []revokedEntry{}}
			for _, x := range r.Entries {
				doc.Revoked = append(doc.Revoked, revokedEntry{revokedItem(x), x.Reason})
			}
			return doc
		},
		text: func(w io.Writer) {
			revocationText(w, r)
			fmt.Fprintf(w, "signer   %s\n", lock.Visible(id.String()))
			fmt.Fprintf(w, "bundle   %s\n", lock.Visible(f.bundle))
		},
	})
}

// The JSON of revoke.
type (
	revokedDoc struct {
		Servers    []string       `json:"servers"`
		Number     uint64         `json:"number"`
		NextUpdate string         `json:"nextUpdate"`
		Identity   string         `json:"identity"`
		Bundle     string         `json:"bundle"`
		Revoked    []revokedEntry `json:"revoked"`
	}
	revokedEntry struct {
		Item   string `json:"item"`
		Reason string `json:"reason,omitempty"`
	}
)
