package hosts_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpsign/mcpsign/cmd/internal/hosts"
)

// Seeds are committed, in testdata/fuzz. Without them a fuzz target run as a test would test little.
func TestFuzzSeeds(t *testing.T) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "fuzz", "FuzzAll", "*"))
	if err != nil || len(seeds) < 5 {
		t.Errorf("FuzzAll has %d seeds, %v", len(seeds), err)
	}
}

// FuzzAll reads a file as each host would. Entries have a way to reach a server and resolve or say why not; no error
// holds what stands in the place of a secret.
func FuzzAll(f *testing.F) {
	const secret = "s3cr3t-value"
	env := map[string]string{"A": "1", "KEY": secret}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		host := hosts.Names()[int(which)%len(hosts.Names())]
		s := machine("linux", map[string]string{userFile[host].name: string(text)}, env)
		all, err := s.All(host)
		if err != nil {
			var file *hosts.FileError
			if !errors.As(err, &file) || file.File == "" {
				t.Errorf("error %v names no file", err)
			}
		}
		for _, e := range all {
			if (e.Endpoint != "") != (e.URL != "") || len(e.Headers) > 0 && e.URL == "" {
				t.Errorf("%#v: %q stands for %q, headers %q", e, e.Endpoint, e.URL, e.Headers)
			}
			if (e.Command != nil) == (e.URL != "") || (e.Transport == hosts.Stdio) != (e.Command != nil) || e.File != userFile[host].name {
				t.Errorf("%#v: %q, %q, %s", e, e.Command, e.URL, e.Transport)
			}
			if again, err := s.Find(host, e.Server); err != nil || again.String() != e.String() {
				t.Errorf("%s is found as %v, %v", e, again, err)
			}
			l, err := e.Resolve(lookup(env))
			if (l == nil) == (err == nil) {
				t.Errorf("%s: %v, %v", e, l, err)
			}
			if !strings.Contains(string(text), secret) && strings.Contains(fmt.Sprintf("%+v %+v %v %q %q", e, l, err, e.Headers, e.Endpoint), secret) {
				t.Errorf("%s prints a value", e)
			}
		}
	})
}
