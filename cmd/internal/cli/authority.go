package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// policyName is what policies are called in the folders of the system and of
// the user. Nowhere else is one looked for: what a checkout brings is not asked.
const policyName = "policy.yaml"

// unreadHint is the advice for a policy that can't be read.
const unreadHint = "correct it: nothing is allowed by a policy that can't be read in full"

// loadPolicies reads the policy of the flags, or the user's if they say nothing
// about who must have signed, and the system's, which holds besides.
func (t *trustFlags) loadPolicies() (err error) {
	switch {
	case t.policy != "":
		t.rules, err = t.readPolicy("policy", t.policy)
	case !t.names():
		t.rules, err = t.userPolicy()
	}
	if err != nil || t.app.System == "" {
		return err
	}
	system, err := t.findPolicy("system policy", filepath.Join(t.app.System, policyName))
	if system != nil {
		t.also = append(t.also, system)
	}
	return err
}

// userPolicy returns the policy in the user's configuration folder, nil if it is
// certain that there is none.
func (t *trustFlags) userPolicy() (*verify.Policy, error) {
	const variable = "XDG_CONFIG_HOME"
	base, err := t.app.baseFolder(variable, "AppData", ".config")
	if err != nil {
		return nil, fail(ExitTrust, fmt.Errorf("it is not known whether the user has a policy: %w", err), "set "+variable+" or HOME to an absolute path")
	}
	p, err := t.findPolicy("user policy", filepath.Join(base, "mcpsign", policyName))
	if p != nil || err != nil {
		return p, err
	}
	// Relative paths do not count; a policy where one leads is meant to.
	for _, at := range []struct{ name, below string }{{variable, ""}, {"HOME", ".config"}} {
		ignored := t.app.Getenv(at.name)
		if filepath.IsAbs(ignored) {
			break
		}
		if ignored == "" {
			continue
		}
		if err := nothingAt(filepath.Join(ignored, at.below, "mcpsign", policyName)); err != nil {
			return nil, fail(ExitUsage, fmt.Errorf("%s is %s, a relative path, which does not count: %w", at.name, lock.Visible(ignored), err), "set "+at.name+" to an absolute path")
		}
		t.app.note(fmt.Sprintf("%s is %s, a relative path, which does not count: policies of the user are in %s", at.name, lock.Visible(ignored), lock.Visible(base)))
	}
	return nil, nil
}

// findPolicy reads a policy from where policies are looked for. It returns nil
// only if it is certain that there is none.
func (t *trustFlags) findPolicy(role, name string) (*verify.Policy, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = absent(name); err == nil {
			err = otherwiseNamed(name)
		}
		if err == nil {
			return nil, nil
		}
	} else if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", lock.Visible(name))
	}
	if err != nil {
		return nil, fail(ExitUsage, fmt.Errorf("%s: %w", role, err), unreadHint)
	}
	return t.readPolicy(role, name)
}

// otherwiseNamed returns an error if there is a policy that only seems to be in the
// place of name, as its ending is another.
func otherwiseNamed(name string) error {
	for _, end := range []string{".yml", ".json"} {
		other := strings.TrimSuffix(name, filepath.Ext(name)) + end
		if _, err := os.Lstat(other); err == nil {
			return fmt.Errorf("%s is there, and only a policy called %s counts", lock.Visible(other), policyName)
		}
	}
	return nil
}

// readPolicy reads a policy with the files it names, from its own folder only.
func (t *trustFlags) readPolicy(role, name string) (*verify.Policy, error) {
	data, err := t.file(role, name, verify.MaxPolicy)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail(ExitUsage, fmt.Errorf("policy %s: %w", lock.Visible(name), fs.ErrNotExist), "name the file of the policy; print one to start from: mcpsign policy init")
	}
	if err != nil {
		return nil, fail(ExitUsage, err, unreadHint)
	}
	p, err := verify.ParsePolicy(name, data)
	if err != nil {
		return nil, fail(ExitUsage, err, unreadHint)
	}
	files, err := readBeside(name, p.Files())
	if err != nil {
		return nil, fail(ExitTrust, err, "put the file where the policy names it, in its own folder or below; until then it allows nothing")
	}
	if p, err = p.With(files); err != nil {
		return nil, fail(ExitTrust, err, cmp.Or(convertBeside(name, err), unreadHint))
	}
	return p, nil
}

// readBeside reads files in the folder of a policy and below it.
func readBeside(policy string, names []string) (map[string][]byte, error) {
	if len(names) == 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(filepath.Dir(policy))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := make(map[string][]byte, len(names))
	for _, name := range names {
		f, err := openRegular(root, filepath.FromSlash(name))
		if err != nil {
			return nil, fmt.Errorf("policy %s names the file %s: %w", lock.Visible(policy), lock.Visible(name), withoutPath(err))
		}
		files[name], err = readAll(f, name, verify.MaxPolicyFile)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// withoutPath leaves the operation and the path, which a message has already,
// out of an error.
func withoutPath(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// loadLists reads the revocation lists that flags name.
func (t *trustFlags) loadLists() ([][]byte, error) {
	var lists [][]byte
	for _, name := range t.revocations {
		data, err := t.file("revocations", name, lock.MaxBundles*lock.MaxBundle)
		if err != nil {
			return nil, fail(ExitTrust, err, "without the list nothing can be said: what it revokes could pass")
		}
		lists = append(lists, splitBundles(data, lock.MaxBundles)...)
	}
	return lists, nil
}
