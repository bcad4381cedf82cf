package mcp

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// e2eVariable names the folder with the commands of real servers.
	e2eVariable = "MCPSIGN_E2E_SERVERS"
	// namespaceVariable tells the test binary that it runs in a network namespace of its own.
	namespaceVariable = "MCPSIGN_E2E_NAMESPACE"
)

// TestRealServersHTTP lists a real server over HTTP and over stdio, with the same results byte for byte: nothing in the
// listing of this server depends on the transport, the session or the time. It listens on all interfaces, so it runs
// where there is none but loopback: the test runs itself again in a fresh network namespace.
func TestRealServersHTTP(t *testing.T) {
	bin := os.Getenv(e2eVariable)
	if bin == "" {
		t.Skipf("%s names no folder with the commands of real servers", e2eVariable)
	}
	command := filepath.Join(bin, "mcp-server-everything")
	if os.Getenv(namespaceVariable) == "" {
		inNamespace(t)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("loopback: %v: %s", err, out)
	}
	stdio, err := List(ctx, Command{Argv: []string{command, "stdio"}})
	if err != nil {
		t.Fatal(err)
	}
	const address = "127.0.0.1:3917"
	cmd := exec.CommandContext(ctx, command, "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT=3917")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() {
		cancel()
		cmd.Wait()
	}
	defer stop()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the server does not listen: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	remote, err := ListRemote(ctx, Remote{URL: "http://" + address + "/mcp"})
	stop()
	if err != nil {
		t.Fatalf("%v\nlog of the server:\n%s", err, &log)
	}
	over, by := results(t, stdio), results(t, remote)
	for i := range max(len(over), len(by)) {
		if i >= len(over) || i >= len(by) || over[i] != by[i] {
			t.Errorf("response %d of %d over stdio and %d over HTTP differs:\n%s\n%s", i, len(over), len(by), slices.Concat(over, []string{""})[min(i, len(over))], slices.Concat(by, []string{""})[min(i, len(by))])
		}
	}
	n := len(names(t, remote))
	if n < 10 || remote.ProtocolVersion != "2025-11-25" || len(remote.Notes) > 0 {
		t.Errorf("%d definitions, version %s, notes %q", n, remote.ProtocolVersion, remote.Notes)
	}
	if !strings.Contains(log.String(), "Received session termination request") {
		t.Errorf("the session was not ended; log of the server:\n%s", &log)
	}
	t.Logf("compared %d definitions", n)
}

// inNamespace runs the calling test in a fresh network namespace, or skips it where that can't be had.
func inNamespace(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("unshare", "-rn", "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Skipf("no network namespace to be had: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "-rn", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), namespaceVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("compared ")) {
		t.Errorf("in the namespace: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}
