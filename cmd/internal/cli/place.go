package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// A place is a file that is going to be written.
type place struct {
	root *os.Root
	name string
	old  []byte // what is there already; nil if there is no such file
}

// newPlace opens the folder of the file that a flag names. What lies there is
// replaced only if it is what the flag writes.
func newPlace(flag, name, what string, is func([]byte) error) (*place, error) {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, fail(ExitInternal, err, "")
	}
	p := &place{root: root, name: filepath.Base(name)}
	p.old, err = readRegular(name, lock.MaxBundles*lock.MaxBundle)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		err = fail(ExitInternal, err, "")
	case len(p.old) > 0 && is(p.old) != nil:
		err = usage("choose another "+flag, lock.Visible(name)+" is there already, and is no "+what)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *place) close() { p.root.Close() }

// check returns an error if a statement of another kind, about another server,
// or for another deployment would be lost.
func (p *place) check(st *attest.Statement) error {
	old, err := attest.ParseAny(p.old)
	if u, unsigned := verify.Inspect(p.old); unsigned == nil {
		old, err = u.Statement, u.Problem
	}
	if len(p.old) == 0 || err != nil || old == nil {
		return nil
	}
	was, _ := old.Approval()
	is, _ := st.Approval()
	if old.PredicateType() == st.PredicateType() && slices.Equal(serversOf(old), serversOf(st)) && was.Audience == is.Audience {
		return nil
	}
	what := "a statement of type " + lock.Visible(old.PredicateType())
	for _, server := range serversOf(old) {
		what += ", about " + server
	}
	if was.Audience != "" {
		what += ", for " + lock.Visible(was.Audience)
	}
	return p.lost(what)
}

func (p *place) lost(what string) error {
	return usage("choose another file", fmt.Sprintf("%s has %s, which would be lost", lock.Visible(p.name), what))
}

// write writes the file, so that it is there whole or as it was before.
func (p *place) write(data []byte) error {
	return fail(ExitInternal, writeFile(p.root, p.name, data, 0o644), "")
}

// writeBundle writes a new bundle, not in the place of one with another key.
func (p *place) writeBundle(made *sealed) error {
	if u, err := verify.Inspect(p.old); err == nil && u.Key != "" && made.signer.Key != "" && u.Key != made.signer.Key {
		return p.lost("a bundle by key:" + lock.Visible(u.Key))
	}
	return p.write(append(made.bundle, '\n'))
}
