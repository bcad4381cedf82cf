//go:build unix

package mcp

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

func init() {
	fakes["grandchild"] = func() {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		conn, err := net.Dial("unix", os.Getenv("SOCKET"))
		if err != nil {
			log.Fatal(err)
		}
		os.NewFile(3, "ready").Close()
		io.Copy(io.Discard, conn)
	}
	fakes["parent"] = func() { startGrandchild(false); serve(func(request) string { return "" }) }
	fakes["parent hangs"] = func() { startGrandchild(false); select {} }
	fakes["parent dies"] = func() { startGrandchild(false); os.Exit(3) }
	fakes["parent of a daemon"] = func() { startGrandchild(true); serve(func(request) string { return "" }) }
	fakes["parent of a daemon dies"] = func() { startGrandchild(true); os.Exit(3) }
}

// startGrandchild leaves a process behind that holds all pipes and ends with its connection to the test, not before.
func startGrandchild(daemon bool) {
	ready, theirs, err := os.Pipe()
	if err != nil {
		log.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FAKE_SERVER=grandchild")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: daemon}
	if err := cmd.Start(); err != nil {
		log.Fatal(err)
	}
	theirs.Close()
	io.Copy(io.Discard, ready)
}

func TestGrandchild(t *testing.T) {
	died := func(err error) bool { return errors.As(err, new(*StartError)) }
	tests := []struct {
		name     string
		survives bool
		want     func(error) bool
	}{
		{"parent", false, func(err error) bool { return err == nil }},
		{"parent dies", false, died},
		{"parent hangs", false, func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"parent of a daemon", true, func(err error) bool { return err == nil }},
		{"parent of a daemon dies", true, died},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "mcp") // shorter than t.TempDir: the name of a socket has about 100 bytes
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			socket, err := net.Listen("unix", dir+"/s")
			if err != nil {
				t.Fatal(err)
			}
			defer socket.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			accepted := make(chan net.Conn, 1)
			go func() {
				conn, _ := socket.Accept()
				if test.name == "parent hangs" {
					cancel()
				}
				accepted <- conn
			}()

			_, err = list(ctx, fake(test.name, "SOCKET="+dir+"/s"), limits{pages: 10, line: 1 << 20, total: 1 << 20, grace: 200 * time.Millisecond})
			if !test.want(err) {
				t.Errorf("got %v", err)
			}
			socket.Close()
			conn := <-accepted
			if conn == nil {
				t.Fatal("no grandchild was started")
			}
			defer conn.Close()
			// The connection ends with the process.
			if test.survives {
				return
			}
			conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the grandchild goes on: %v", err)
			}
		})
	}
}
