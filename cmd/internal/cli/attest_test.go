package cli

import (
	"crypto/sha256"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/attest"
	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/lock"
)

func TestSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1h": time.Hour, "12h": 12 * time.Hour, "1d": day, "90d": 90 * day, "36500d": 36500 * day, "48h": 2 * day,
	} {
		var s span
		if err := s.Set(text); err != nil || time.Duration(s) != want {
			t.Errorf("Set(%q): %v, %v, want %v", text, time.Duration(s), err, want)
		}
		var again span
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("Set(%q), which is String of %v: %v, %v", s.String(), s, again, err)
		}
	}
	for _, text := range []string{"", "0d", "0h", "d", "h", "1", "90", "-1d", "+1d", "1.5d", "1m", "1d12h", "36501d", "876001h", "200000d", "213504d", "1048575d", "5124096h", "9223372036854775807h", "18446744073709551617h", "99999999999999999999d", " 1d", "1 d", "0x1d"} {
		var s span
		if err := s.Set(text); err == nil || s != 0 {
			t.Errorf("Set(%q) = %v, %v, want an error", text, s, err)
		}
	}
}

// TestPolicyOf has what a summary says that it was verified by.
func TestPolicyOf(t *testing.T) {
	one, other := lock.Digest(sha256.Sum256([]byte("one"))), lock.Digest(sha256.Sum256([]byte("other")))
	both := lock.Digest(sha256.Sum256([]byte(min(one.String(), other.String()) + "\n" + max(one.String(), other.String()) + "\n")))
	for what, test := range map[string]struct {
		read []authority
		want lock.Digest // zero: an error
	}{
		"a policy":           {[]authority{{"key", "k", other.String(), ""}, {"policy", "p", one.String(), ""}}, one},
		"two policies":       {[]authority{{"policy", "p", one.String(), ""}, {"system policy", "q", other.String(), ""}}, both},
		"two, turned around": {[]authority{{"system policy", "q", other.String(), ""}, {"policy", "p", one.String(), ""}}, both},
		"nothing":            {[]authority{{"key", "k", other.String(), ""}}, lock.Digest{}},
		"no digest":          {[]authority{{"policy", "p", "sha256:", ""}}, lock.Digest{}},
	} {
		got, err := policyOf(&judgement{server: "weather", read: test.read}, nil, &trustFlags{})
		if test.want.IsZero() {
			if err == nil {
				t.Errorf("%s: %v, want an error", what, got)
			}
			continue
		}
		if err != nil || got.Digest["sha256"] != test.want.Hex() || !strings.HasPrefix(got.URI, "ni:///sha-256;") {
			t.Errorf("%s: %v, %v, want %s", what, got, err, test.want)
		}
	}
}

// TestAttestClock turns the clock back behind a timestamp, and on behind the
// end of an approval.
func TestAttestClock(t *testing.T) {
	t.Chdir(t.TempDir())
	private, _ := keyFiles()
	services := sigtest.New()
	t.Cleanup(services.Listen())
	listing := `[{"name":"echo"}]`
	l, err := lock.ParseListing([]byte(listing))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := l.Digest()
	if err != nil {
		t.Fatal(err)
	}
	write(t, ".", map[string]string{"listing.json": listing, "r.key": private})
	u := newUser(t)
	u.must(ExitYes, "approve", "weather", "listing.json", "--audience", "production", "--expires", "12h", "--listing", digest.String(), "--out", "s.json")
	st, err := attest.ParseAny([]byte(readText(t, "s.json")))
	if err != nil {
		t.Fatal(err)
	}
	a, ok := st.Approval()
	if !ok || a.Server != "weather" || a.Audience != "production" || a.ExpiresAt.Sub(a.IssuedAt) != 12*time.Hour || len(a.Replaces) != 0 {
		t.Errorf("the statement says %+v", a)
	}
	list := func(bundle string) []string {
		return []string{"revoke", "weather", "--number", "1", "--next-update", "12h", "--key", "r.key", "--tsa", services.TSAURL(), "--bundle", bundle}
	}
	sign := []string{"attest", "--statement", "s.json", "--key", "r.key", "--tsa", services.TSAURL(), "--bundle", "b.json"}
	for _, test := range []struct {
		clock time.Duration
		args  []string
		want  ExitCode
	}{
		{-time.Hour, sign, ExitTrust},
		{13 * time.Hour, sign, ExitOutdated},
		{-time.Hour, list("b.json"), ExitTrust},
		{0, sign, ExitYes},
		{0, list("l.json"), ExitYes},
	} {
		u.clock = test.clock
		u.must(test.want, test.args...)
		if _, err := os.Stat("b.json"); (err == nil) != (test.want == ExitYes) {
			t.Errorf("%s at %v: is there a bundle: %v", test.args[0], test.clock, err == nil)
		}
	}
}
