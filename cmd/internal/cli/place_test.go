package cli

import (
	"strings"
	"testing"
)

// What would be lost is not written over: a statement of another kind, server,
// deployment or key.
func TestPlaceKeeps(t *testing.T) {
	t.Chdir(t.TempDir())
	u := newUser(t)
	private, _ := keyFiles()
	write(t, ".", map[string]string{"a.key": private, "l.json": `[{"name":"echo"}]`, "p.json": `{"x":1}`})
	u.must(ExitYes, "key", "generate", "--out", "b.key")
	l := parse[digestDoc](t, u.must(ExitYes, "digest", "-o", "json", "l.json"))
	sign := func(server, key string) []string {
		return []string{"sign", server, "l.json", "--sequence", "1", "--key", key, "--bundle", "f.json"}
	}
	approve := func(server, audience, key string) []string {
		return []string{"approve", server, "l.json", "--listing", l.ListingDigest, "--audience", audience, "--expires", "1d", "--sign", "key=" + key, "--out", "f.json"}
	}
	unsigned := func(audience, expires string) []string {
		return []string{"approve", "one", "l.json", "--listing", l.ListingDigest, "--audience", audience, "--expires", expires, "--out", "s.json"}
	}
	for _, tt := range []struct {
		args []string
		lost string // empty: it is written
	}{
		{sign("one", "a.key"), ""},
		{sign("one", "a.key"), ""},
		{sign("two", "a.key"), "definitions/v1, about one, which would be lost"},
		{sign("one", "b.key"), "a bundle by key:sha256:"},
		{approve("one", "production", "a.key"), "definitions/v1, about one, which would be lost"},
		{[]string{"revoke", "one", "--number", "1", "--next-update", "1d", "--key", "a.key", "--bundle", "f.json"}, "definitions/v1, about one"},
		{[]string{"attest", "one", "l.json", "--type", "https://acme.example/x/v1", "--predicate", "p.json", "--key", "a.key", "--bundle", "f.json"}, "definitions/v1, about one"},
		{unsigned("staging", "1d"), ""},
		{unsigned("production", "1d"), "approval/v1, about one, for staging, which would be lost"},
		{unsigned("staging", "2d"), ""},
	} {
		before := contents(t, ".")
		want := ExitYes
		if tt.lost != "" {
			want = ExitUsage
		}
		r := u.must(want, tt.args...)
		if !strings.Contains(r.stderr, tt.lost) {
			t.Errorf("%q: no %q in %s", tt.args, tt.lost, r.stderr)
		}
		after := contents(t, ".")
		for _, f := range []string{"f.json", "s.json"} {
			if tt.lost != "" && before[f] != after[f] {
				t.Errorf("%q: %s was written over", tt.args, f)
			}
		}
	}
}
