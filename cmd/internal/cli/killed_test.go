package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// TestKilled kills an approval at moments all over its run. At each of them the
// lockfile has the old release or the new one, whole and with its evidence; what
// was seen is never behind it; and the next run is not in the way of the dead
// one's locks.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	private, public := keyFiles()
	write(t, ".", map[string]string{
		"acme.key": private, "acme.pub": public,
		"one.json": `[{"name":"echo","description":"Says it."}]`,
		"two.json": `[{"name":"echo","description":"Says it again."}]`,
	})
	u := newUser(t)
	u.must(ExitYes, "sign", "weather", "one.json", "--key", "acme.key", "--sequence", "1", "--bundle", "r1.json")
	u.must(ExitYes, "sign", "weather", "two.json", "--key", "acme.key", "--sequence", "2", "--bundle", "r2.json")
	l, err := lock.ParseListing([]byte(readText(t, "two.json")))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := l.Digest()
	if err != nil {
		t.Fatal(err)
	}
	approve := []string{"approve", "weather", "two.json", "--bundle", "r2.json", "--key", "acme.pub", "--listing", digest.String()}
	releases := map[uint64]int{}
	killed := 0
	var whole time.Duration // that a run takes which is not killed
	for i := range 40 {
		dir, state := t.TempDir(), t.TempDir()
		u.env["XDG_STATE_HOME"] = state
		file := filepath.Join(dir, "mcpsign.lock.json")
		u.must(ExitYes, "lock", "--lock", file, "weather", "one.json", "--bundle", "r1.json", "--key", "acme.pub")

		cmd := exec.Command(self, append(approve, "--lock", file)...)
		cmd.Env = append(os.Environ(), beVariable+"=mcpsign", "XDG_STATE_HOME="+state)
		start := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := whole * time.Duration(i) / 36
		if i > 0 {
			time.Sleep(after)
			_ = cmd.Process.Kill() // it may have ended
		}
		switch err := cmd.Wait(); {
		case i == 0 && err != nil:
			t.Fatal(err)
		case i == 0:
			whole = time.Since(start)
		case err != nil:
			killed++
		}

		f, err := lock.Parse([]byte(readText(t, file)))
		if err != nil {
			t.Fatalf("killed after %s: %v", after, err)
		}
		release := f.Find("weather").Sequence()
		releases[release]++
		u.must(ExitYes, "verify", "--require-signed", "--stateless", "--lock", file) // what was seen may be ahead
		a := &app{Process: Process{LookupEnv: func(name string) (string, bool) { v, ok := u.env[name]; return v, ok }}}
		seen, err := a.seen(sighting{server: "weather"}, sighting{server: "weather"})
		if err != nil || len(seen.Signers) != 1 || seen.Signers[0].Sequence < release {
			t.Errorf("killed after %s: release %d is locked, and %+v was seen, %v", after, release, seen, err)
		}
		u.must(ExitYes, append(approve, "--lock", file)...)
		u.must(ExitYes, "check", "--lock", file, "weather", "two.json")
	}
	t.Logf("%d of 40 were killed before they ended; by the release that was locked then: %v", killed, releases)
	if killed == 0 || releases[1] == 0 || releases[2] == 0 {
		t.Error("nothing was killed in time")
	}
}
