package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/lock"
)

// TestConcurrentLocks has many writers lock at once. Each says yes only if what
// it pinned is in the lockfile, which is whole, and at least one does.
func TestConcurrentLocks(t *testing.T) {
	const writers = 8
	for _, test := range []struct {
		what string
		name func(int) string
	}{
		{"one server", func(int) string { return "weather" }},
		{"a server each", func(i int) string { return fmt.Sprintf("server-%d", i) }},
	} {
		t.Run(test.what, func(t *testing.T) {
			dir := t.TempDir()
			var files []string
			for i := range writers {
				files = append(files, fmt.Sprintf("%d.json", i))
				write(t, dir, map[string]string{files[i]: fmt.Sprintf(`[{"name":"echo","writer":%d}]`, i)})
			}
			path := filepath.Join(dir, "mcpsign.lock.json")
			results := make([]result, writers)
			u := newUser(t)
			start := make(chan struct{})
			var wg sync.WaitGroup
			for i := range writers {
				wg.Go(func() {
					<-start
					results[i] = u.run("lock", test.name(i), filepath.Join(dir, files[i]), "--lock", path)
				})
			}
			close(start)
			wg.Wait()

			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := lock.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			yes := 0
			for i, r := range results {
				pinned := false
				if s := file.Find(test.name(i)); s != nil {
					pinned = strings.Contains(string(s.Pins[0].Definition.Canonical()), fmt.Sprintf(`"writer":%d`, i))
				}
				switch r.code {
				case ExitYes:
					yes++
					if !pinned {
						t.Errorf("writer %d said yes, and its pin is not in the lockfile", i)
					}
				case ExitInternal:
					if !strings.Contains(r.stderr, "another") || countLines(r.stderr, "hint: ") != 1 {
						t.Errorf("writer %d: %s", i, r.stderr)
					}
				case ExitDrift: // it came when the server was locked already
				default:
					t.Errorf("writer %d: exit %d: %s", i, r.code, r.stderr)
				}
				if r.code != ExitYes && pinned {
					t.Errorf("writer %d said no, and its pin is in the lockfile", i)
				}
			}
			if yes != len(file.Servers) {
				t.Errorf("%d writers said yes, %d servers are locked", yes, len(file.Servers))
			}
			left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
			more, err2 := filepath.Glob(filepath.Join(dir, evidenceDir, "*"))
			more = slices.DeleteFunc(more, func(name string) bool { return filepath.Base(name) == attributesName })
			if err != nil || err2 != nil || len(left)+len(more) > 0 {
				t.Errorf("left behind: %v %v", left, more)
			}
		})
	}
}

// TestConcurrentState has writers of several folders raise the sequence of one
// publisher at once. Whoever said yes is remembered.
func TestConcurrentState(t *testing.T) {
	const writers = 6
	dir := t.TempDir()
	u := newUser(t)
	path := func(i int, name string) string { return filepath.Join(dir, fmt.Sprint(i), name) }
	private, public := keyFiles()
	for i := range writers {
		write(t, dir, map[string]string{
			fmt.Sprintf("%d/listing.json", i): `[{"name":"echo"}]`,
			fmt.Sprintf("%d/acme.key", i):     private,
			fmt.Sprintf("%d/acme.pub", i):     public,
		})
		u.must(ExitYes, "sign", "weather", path(i, "listing.json"), "--key", path(i, "acme.key"), "--sequence", fmt.Sprint(i+1), "--bundle", path(i, "b.json"))
	}
	results := make([]result, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			results[i] = u.run("lock", "weather", path(i, "listing.json"), "--key", path(i, "acme.pub"), "--bundle", path(i, "b.json"), "--lock", path(i, "mcpsign.lock.json"))
		})
	}
	wg.Wait()
	highest := -1
	for i, r := range results {
		switch r.code {
		case ExitYes:
			highest = i
		case ExitInternal, ExitOutdated: // too many writers, or a higher sequence came first
		default:
			t.Errorf("writer %d: exit %d: %s", i, r.code, r.stderr)
		}
	}
	if highest < 0 {
		t.Fatal("no writer said yes")
	}
	for i := range writers {
		want := ExitYes
		if i < highest {
			want = ExitOutdated
		}
		u.must(want, "verify", "weather", path(i, "listing.json"), "--key", path(i, "acme.pub"), "--bundle", path(i, "b.json"), "--lock", path(i, "none.json"))
	}
}

// TestServerHangs ends the wait for a server that does not answer by ending the
// command, as an interrupt does.
func TestServerHangs(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(beVariable, "hangs")
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	var stdout, stderr strings.Builder
	code := Run(ctx, Process{
		Args: []string{"digest", "--", self}, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now,
	})
	if code != ExitServer || stdout.String() != "" || countLines(stderr.String(), "error: ") != 1 {
		t.Errorf("exit %d, want %d\n%s%s", code, ExitServer, stdout.String(), stderr.String())
	}
}
