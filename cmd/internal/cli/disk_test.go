package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcpsign/mcpsign/lock"
)

// diskVariable names a small disk of the test's own.
const diskVariable = "CLI_TEST_DISK"

// onDisk runs the test again in a mount namespace with a disk of 64 KiB, and
// returns its folder in that run; in this one it is empty.
func onDisk(t *testing.T) string {
	if dir := os.Getenv(diskVariable); dir != "" {
		return dir
	}
	dir := t.TempDir()
	mount := []string{"unshare", "-rm", "sh", "-c", `mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"`, dir}
	if out, err := exec.Command(mount[0], append(mount[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no disk of its own to be had: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), mount[0], append(mount[1:], os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")...)
	cmd.Env = append(os.Environ(), diskVariable+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("on the disk: %v\n%s", err, out)
	}
	return ""
}

// fill leaves that many pages of a disk free, and returns what frees the rest.
func fill(t *testing.T, disk string, pages int) (free func()) {
	t.Helper()
	const page = 4096
	path := filepath.Join(disk, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := int64(0)
	for ; err == nil; size += page {
		_, err = f.Write(make([]byte, page))
	}
	if err := f.Truncate(max(size-page*int64(pages+1), 0)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFullDisk approves a release on a disk that is full at every step of it:
// the lockfile has the old release or the new one, whole and with its evidence,
// and what was seen is never behind it. The same holds where nothing can be
// written.
func TestFullDisk(t *testing.T) {
	disk := onDisk(t)
	if disk == "" {
		return
	}
	t.Chdir(t.TempDir())
	private, public := keyFiles()
	write(t, ".", map[string]string{"acme.key": private, "acme.pub": public, "one.json": `[{"name":"echo"}]`, "two.json": `[{"name":"echo","x":1}]`})
	u := newUser(t)
	u.must(ExitYes, "sign", "weather", "one.json", "--key", "acme.key", "--sequence", "1", "--bundle", "r1.json")
	u.must(ExitYes, "sign", "weather", "two.json", "--key", "acme.key", "--sequence", "2", "--bundle", "r2.json")
	two, err := lock.ParseListing([]byte(readText(t, "two.json")))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := two.Digest()
	if err != nil {
		t.Fatal(err)
	}
	ended := map[ExitCode]int{}
	for _, place := range []string{"state", "lockfile", "both"} {
		for pages := range 12 {
			t.Run(fmt.Sprintf("%s/%d", place, pages), func(t *testing.T) {
				home, folder := t.TempDir(), t.TempDir()
				on := filepath.Join(disk, "on")
				if place != "lockfile" {
					home = filepath.Join(on, "state")
				}
				if place != "state" {
					folder = filepath.Join(on, "project")
				}
				for _, d := range []string{on, folder} {
					if err := os.MkdirAll(d, 0o777); err != nil {
						t.Fatal(err)
					}
				}
				defer os.RemoveAll(on)
				u := newUser(t)
				u.env["XDG_STATE_HOME"] = home
				file := filepath.Join(folder, "mcpsign.lock.json")
				u.must(ExitYes, "lock", "--lock", file, "weather", "one.json", "--bundle", "r1.json", "--key", "acme.pub")
				approve := []string{"approve", "weather", "two.json", "--bundle", "r2.json", "--key", "acme.pub", "--listing", digest.String(), "--lock", file}

				free := fill(t, disk, pages)
				r := u.run(approve...)
				ended[r.code]++
				locked := seenRelease(t, u, file)
				if r.code == ExitYes != (locked == 2) || r.code != ExitYes && r.code != ExitTrust && r.code != ExitInternal {
					t.Errorf("release %d is locked after exit %d\n%s", locked, r.code, r.stderr)
				}
				u.must(ExitYes, "verify", "--require-signed", "--stateless", "--lock", file) // what was seen may be ahead
				free()
				for _, pattern := range []string{"*.tmp", "*/*.tmp", "*/*/*.tmp", "*/*/*/*.tmp"} {
					if left, err := filepath.Glob(filepath.Join(on, pattern)); len(left) > 0 || err != nil {
						t.Errorf("left behind: %v, %v", left, err)
					}
				}
				u.must(ExitYes, approve...)
			})
		}
	}
	if ended[ExitYes] == 0 || ended[ExitTrust] == 0 || ended[ExitInternal] == 0 {
		t.Errorf("exit codes %v: the disk was never full, or always", ended)
	}

	t.Run("read-only", func(t *testing.T) {
		u.env["XDG_STATE_HOME"] = disk
		u.must(ExitYes, "lock", "weather", "one.json", "--bundle", "r1.json", "--key", "acme.pub")
		if out, err := exec.Command("mount", "-o", "remount,ro", disk).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		u.must(ExitYes, "check", "weather", "one.json")
		u.must(ExitYes, "verify")
		u.must(ExitTrust, "approve", "weather", "two.json", "--bundle", "r2.json", "--key", "acme.pub", "--listing", digest.String())
		u.must(ExitYes, "verify", "--require-signed")
	})
}

// seenRelease returns the release that a lockfile has of weather, which must
// not be ahead of what was seen.
func seenRelease(t *testing.T, u *user, file string) uint64 {
	t.Helper()
	f, err := lock.Parse([]byte(readText(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	release := f.Find("weather").Sequence()
	a := &app{Process: Process{LookupEnv: func(name string) (string, bool) { v, ok := u.env[name]; return v, ok }}}
	seen, err := a.seen(sighting{server: "weather"}, sighting{server: "weather"})
	if err == nil && (len(seen.Signers) != 1 || seen.Signers[0].Sequence < release) {
		err = errors.New("it is behind")
	}
	if err != nil {
		t.Errorf("release %d is locked, and %+v was seen: %v", release, seen, err)
	}
	return release
}
