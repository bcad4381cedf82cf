package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asUser returns a command that runs mcpsign as a user other than root, in
// a folder that is the user's, with a variable that signs.
func asUser(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, "mcpsign"), args...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "MCPSIGN_PASSWORD=hunter2hunter2"}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	return cmd
}

// userFolder returns a folder for every user with the test binary as mcpsign and
// mcpserver.
func userFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, "mcpsign"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "mcpsign"), filepath.Join(dir, "mcpserver")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A server sees what signs neither in its own environment nor in that of
// mcpsign.
func TestEnvironmentHidden(t *testing.T) {
	dir := userFolder(t)
	out, err := asUser(t, dir, "list", "--", "sh", "-c", `env >own; cat /proc/$PPID/environ >parents 2>denied; cat /proc/self/environ >readable; exec mcpserver plain`).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range map[string]bool{"own": true, "readable": true, "parents": false} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "hunter2") {
			t.Errorf("%s has the passphrase: %s", name, data)
		}
		if got := strings.Contains(string(data), "PATH="); got != want {
			t.Errorf("%s shows an environment: %t", name, got)
		}
	}
}

// What a shell gives as a file of /dev/fd is still read.
func TestHiddenReadsDescriptors(t *testing.T) {
	dir := userFolder(t)
	if err := os.WriteFile(filepath.Join(dir, "l.json"), []byte(`[{"name":"a","description":"d","inputSchema":{"type":"object"}}]`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/dev/stdin", "/dev/fd/3", "/proc/self/fd/3"} {
		file, err := os.Open(filepath.Join(dir, "l.json"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := asUser(t, dir, "digest", name)
		cmd.Stdin, cmd.ExtraFiles = file, []*os.File{file}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "sha256:") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		file.Close()
	}
}
