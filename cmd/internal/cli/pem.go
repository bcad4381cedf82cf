package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpsign/mcpsign/internal/pemfile"
	"github.com/mcpsign/mcpsign/lock"
)

// pemFailure is the failure for a file that can't be read as PEM. The hint is
// the command that converts it, or otherwise if there is none. A private key in
// the place of a public one is a mistake of the call.
func pemFailure(code ExitCode, what, name string, err error, otherwise string) error {
	e := (*pemfile.Error)(nil)
	if errors.As(err, &e) && e.Found == pemfile.PrivateKey {
		code = ExitUsage
	}
	hint := convertHint(name, err)
	if hint == "" {
		hint = otherwise
	}
	return fail(code, fmt.Errorf("%s%s: %s", what, lock.Visible(name), lock.Visible(err.Error())), hint)
}

// convertHint is the advice for a file that has something in another form than
// is wanted; empty if no command converts it.
func convertHint(name string, err error) string {
	e := (*pemfile.Error)(nil)
	if !errors.As(err, &e) {
		return ""
	}
	out := quoteWords([]string{e.Out(name)})
	if command := e.Command(quoteWords([]string{name}), out); command != "" {
		return "name " + out + ", which this makes: " + command
	}
	return ""
}

// convertBeside is convertHint for a file that a policy names.
func convertBeside(policy string, err error) string {
	e := (*pemfile.Error)(nil)
	if !errors.As(err, &e) || e.Name == "" {
		return ""
	}
	return convertHint(filepath.Join(filepath.Dir(policy), filepath.FromSlash(e.Name)), err)
}

// checkKeyName refuses names of keys that are not in a file. What stands after
// the scheme is not repeated: it may be a PIN.
func checkKeyName(name string) error {
	scheme, _, ok := strings.Cut(name, ":")
	if !ok || scheme != "pkcs11" && !strings.HasPrefix(name[len(scheme):], "://") {
		return nil
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return usage("name a file with the key in PEM", fmt.Sprintf("keys named by %s: are not supported", lock.Visible(scheme)))
}
