package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/mcpsign/mcpsign/lock"
	"github.com/mcpsign/mcpsign/verify"
)

// policyName is what policies are called in the folders of the system and of
// the user. Nowhere else is one looked for: what a checkout brings is not asked.
const policyName = "policy.yaml"

// loadPolicies reads the policy of the flags, or the user's if they say nothing
// about who must have signed, and the system's, which holds besides.
func (t *trustFlags) loadPolicies() error {
	own, role := t.policy, "policy"
	if !t.names() {
		own, role = t.app.userFile(policyName), "user policy"
	}
	var err error
	if own != "" {
		if t.rules, err = t.readPolicy(role, own); err != nil {
			return err
		}
		if t.rules == nil && t.policy != "" {
			return fail(ExitUsage, fmt.Errorf("policy %s: %w", lock.Visible(own), fs.ErrNotExist), "name the file of the policy; mcpsign policy init prints one to start from")
		}
	}
	if t.app.System != "" {
		system, err := t.readPolicy("system policy", filepath.Join(t.app.System, policyName))
		if err != nil {
			return err
		}
		if system != nil {
			t.also = append(t.also, system)
		}
	}
	return nil
}

// readPolicy reads a policy with the files it names, from its own folder only.
// It returns nil if there is no such file.
func (t *trustFlags) readPolicy(role, name string) (*verify.Policy, error) {
	const hint = "correct it: nothing is allowed by a policy that can't be read in full"
	data, err := t.file(role, name, verify.MaxPolicy)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fail(ExitUsage, err, hint)
	}
	p, err := verify.ParsePolicy(name, data)
	if err != nil {
		return nil, fail(ExitUsage, err, hint)
	}
	files, err := readBeside(name, p.Files())
	if err != nil {
		return nil, fail(ExitTrust, err, "put the file where the policy names it, in its own folder or below; until then it allows nothing")
	}
	if p, err = p.With(files); err != nil {
		return nil, fail(ExitTrust, err, cmp.Or(convertBeside(name, err), hint))
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
		lists = append(lists, splitBundles(data)...)
	}
	return lists, nil
}

// userFile is where a file of the user's configuration is; empty if there is no
// place for it.
func (p *Process) userFile(name string) string {
	base := p.Getenv("XDG_CONFIG_HOME")
	if base == "" && runtime.GOOS == "windows" {
		base = p.Getenv("AppData")
	}
	if home := home(p.Getenv); base == "" && home != "" {
		base = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, "mcpsign", name)
}
