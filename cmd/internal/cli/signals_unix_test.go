//go:build unix

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The environment of a stubborn server.
const (
	socketVariable = "CLI_TEST_SOCKET" // each process connects to it
	childVariable  = "CLI_TEST_CHILD"  // this is the child
)

// stubborn is a server that answers nothing and ignores signals, with a child of
// its group that does the same. Each has a connection that ends with it.
func stubborn() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	conn := must(net.Dial("unix", os.Getenv(socketVariable)))
	if os.Getenv(childVariable) == "" {
		child := exec.Command(must(os.Executable()))
		child.Env = append(os.Environ(), childVariable+"=yes")
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
	}
	_, _ = io.Copy(io.Discard, conn)
}

// start starts mcpsign in a folder, with a standard input that stays open.
func start(t *testing.T, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	// Under nohup SIGHUP is ignored, and a program that is started inherits that,
	// but not that it is handled.
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangUps) })
	cmd := exec.Command(must(os.Executable()), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), beVariable+"=mcpsign", "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, stderr
}

// ends waits for the end of a process that has to come soon, and returns its
// exit code.
func ends(t *testing.T, cmd *exec.Cmd) ExitCode {
	t.Helper()
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ExitCode(cmd.ProcessState.ExitCode())
}

// TestSignals ends commands at whatever they wait for.
func TestSignals(t *testing.T) {
	silent := must(net.Listen("tcp", "127.0.0.1:0")) // the system accepts, nobody answers
	defer silent.Close()
	url := "http://" + silent.Addr().String()
	private, public := keyFiles()
	hangUp, interrupt, terminate := syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM
	for _, test := range []struct {
		waits  string
		signal syscall.Signal
		args   string
	}{
		{"for standard input", terminate, "digest -"},
		{"for standard input, interrupted", interrupt, "digest -"},
		{"for standard input, hung up", hangUp, "digest -"},
		{"for a FIFO with a listing", terminate, "lock weather fifo"},
		{"for a FIFO with a bundle", terminate, "verify weather listing.json --key acme.pub --bundle fifo"},
		{"for a FIFO with a policy", interrupt, "verify weather listing.json --policy fifo"},
		{"for a FIFO with a key", hangUp, "verify weather listing.json --key fifo --bundle listing.json"},
		{"for a FIFO with a private key", terminate, "sign weather listing.json --key fifo --bundle out --sequence 1"},
		{"for a FIFO to add", terminate, "add weather fifo --key acme.pub"},
		{"for a FIFO that is a kit", terminate, "bundle show fifo"},
		{"for a server over HTTP", terminate, "list " + url},
		{"for a URL to add", interrupt, "add weather " + url + " --key acme.pub"},
		{"for a timestamp authority", interrupt, "sign weather listing.json --key acme.key --bundle out --sequence 1 --tsa " + url},
	} {
		t.Run(test.waits, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"listing.json": `[{"name":"echo"}]`, "acme.key": private, "acme.pub": public})
			if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
				t.Fatal(err)
			}
			code, stderr := ExitCode(-1), &bytes.Buffer{}
			// Where the machine is slow, the signal may come before anyone takes it.
			for pause := 300 * time.Millisecond; code < 0 && pause < 20*time.Second; pause *= 3 {
				var cmd *exec.Cmd
				cmd, stderr = start(t, dir, strings.Fields(test.args)...)
				time.Sleep(pause)
				if err := cmd.Process.Signal(test.signal); err != nil {
					t.Fatal(err)
				}
				code = ends(t, cmd)
			}
			if want := ExitCode(128 + int(test.signal)); code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
			if n := countLines(stderr.String(), "error: interrupted by SIG"); n != 1 || strings.Contains(stderr.String(), "hint:") {
				t.Errorf("got %q", stderr)
			}
		})
	}
}

// TestSignalsServer ends commands that wait for a server that ignores signals:
// it is gone afterwards, with the process that it has started.
func TestSignalsServer(t *testing.T) {
	self := must(os.Executable())
	for i, args := range []string{
		"list -- ", "lock weather -- ", "check weather -- ", "approve weather -- ", "sign weather --key acme.key --bundle out --sequence 1 -- ",
	} {
		name := []string{"SIGINT", "SIGTERM", "SIGHUP"}[i%3]
		number := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[i%3]
		t.Run(strings.Fields(args)[0]+" "+name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "cli") // shorter than t.TempDir: the name of a socket has about 100 bytes
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			private, _ := keyFiles()
			write(t, dir, map[string]string{"acme.key": private})
			socket := must(net.Listen("unix", filepath.Join(dir, "s")))
			defer socket.Close()
			words := slices.Concat(strings.Fields(args), []string{"env", beVariable + "=stubborn", socketVariable + "=" + filepath.Join(dir, "s"), self})
			cmd, stderr := start(t, dir, words...)
			var alive []net.Conn
			_ = socket.(*net.UnixListener).SetDeadline(time.Now().Add(30 * time.Second))
			for range 2 {
				conn, err := socket.Accept()
				if err != nil {
					t.Fatalf("%v: %s", err, stderr)
				}
				defer conn.Close()
				alive = append(alive, conn)
			}
			if err := cmd.Process.Signal(number); err != nil {
				t.Fatal(err)
			}
			if code, want := ends(t, cmd), ExitCode(128+int(number)); code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
			if want := "error: interrupted by " + name + "\n"; stderr.String() != want {
				t.Errorf("got %q, want %q", stderr, want)
			}
			for _, conn := range alive {
				_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
				if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("a process of the server goes on: %v", err)
				}
			}
		})
	}
}

// TestFIFOs puts FIFOs where a checkout has files: they are refused at once.
func TestFIFOs(t *testing.T) {
	for path, test := range map[string]struct {
		code ExitCode
		args string
	}{
		"mcpsign.lock.json":     {ExitUsage, "verify"},
		".mcpsign/writer.lock":  {ExitInternal, "lock weather listing.json"},
		".mcp.json":             {ExitUsage, "list client:claude-code/weather"},
		".cursor/mcp.json":      {ExitUsage, "lock --all client:cursor"},
		".codex/config.toml":    {ExitUsage, "list client:codex/weather"},
		"release.sigstore.json": {ExitInternal, "sign weather listing.json --key acme.key --sequence 1 --bundle release.sigstore.json"},
	} {
		t.Run(path, func(t *testing.T) {
			dir := t.TempDir()
			private, _ := keyFiles()
			write(t, dir, map[string]string{"listing.json": `[{"name":"echo"}]`, "acme.key": private, filepath.Dir(path) + "/": ""})
			if err := syscall.Mkfifo(filepath.Join(dir, path), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd, stderr := start(t, dir, strings.Fields(test.args)...)
			if code := ends(t, cmd); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if want := fmt.Sprintf("%s is not a regular file", filepath.Base(path)); !strings.Contains(stderr.String(), want) {
				t.Errorf("got %q, want %q", stderr, want)
			}
		})
	}
}
