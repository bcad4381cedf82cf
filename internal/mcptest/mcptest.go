// Package mcptest is a real MCP server for tests, over stdio and streamable HTTP, that behaves as it is told to.
//
// The well-behaved part is the server of the official SDK. What that would not do (repeat a cursor, die, redirect) is
// done by small servers of our own, each chosen by name; [Behaviours] lists them.
//
// In the process of a test, [HTTP] gives a handler for net/http/httptest:
//
//	srv := httptest.NewServer(mcptest.HTTP("repeating-cursor"))
//
// and [Log] keeps what reached it.
//
// As a process of its own, for stdio and for test scripts, [Main] is the whole program:
//
//	testscript.Main(m, map[string]func(){"mcpserver": func() { os.Exit(mcptest.Main(os.Args[1:])) }})
//
// after which a script runs
//
//	exec mcpsign digest -- mcpserver duplicate-equal
//
//	exec mcpserver -http url.txt -log requests.txt redirect-away &
//	exec mcpserver -wait url.txt
//	! grep secret requests.txt
//
// Nothing listens but on 127.0.0.1.
package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"
)

// lifetime is how long a process serves at most, so that none is left behind.
const lifetime = time.Minute

// A behaviour says what a server does. At least one of its functions is there, and each call of one makes a server of
// its own.
type behaviour struct {
	about string
	stdio func(ctx context.Context) error
	http  func() http.Handler
}

// behaviours returns all there are, by name.
func behaviours() map[string]behaviour {
	all := make(map[string]behaviour)
	maps.Copy(all, wellBehaved())
	maps.Copy(all, hostile())
	maps.Copy(all, odd())
	maps.Copy(all, overHTTP())
	return all
}

// Behaviours returns the names of the behaviours, sorted, each with what it does.
func Behaviours() (names []string, about map[string]string) {
	about = make(map[string]string)
	for name, b := range behaviours() {
		about[name] = b.about
	}
	return slices.Sorted(maps.Keys(about)), about
}

// HTTP returns a server that is reached over streamable HTTP, at any path. It panics if there is no such behaviour.
func HTTP(name string) http.Handler {
	b, ok := behaviours()[name]
	if !ok || b.http == nil {
		panic(fmt.Sprintf("mcptest: no behaviour %q over HTTP", name))
	}
	return b.http()
}

const usage = `usage: mcpserver BEHAVIOUR                             serve over stdio
       mcpserver -http FILE [-log FILE] BEHAVIOUR      serve over HTTP on loopback, write the URL to FILE
       mcpserver -wait FILE                            wait until FILE is there

-log     write a line of JSON for each request: method, path, headers
-eof     end with standard input; without it a server over HTTP ends after a minute or by a signal
`

// Main runs the program with its arguments and returns its exit status: 0 after an orderly end, 2 if the arguments make
// no sense. It ends after a minute at the latest.
func Main(args []string) int {
	flags := flag.NewFlagSet("mcpserver", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage) }
	var o options
	flags.StringVar(&o.url, "http", "", "")
	flags.StringVar(&o.log, "log", "", "")
	flags.BoolVar(&o.eof, "eof", false, "")
	wait := flags.String("wait", "", "")
	if flags.Parse(args) != nil {
		return 2
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, lifetime)
	defer cancel()
	var err error
	if *wait != "" {
		err = waitFor(ctx, *wait)
	} else {
		err = o.run(ctx, flags.Arg(0))
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "mcpserver:", err)
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

var errUsage = errors.New("bad usage")

type options struct {
	url, log string
	eof      bool
}

func (o options) run(ctx context.Context, name string) error {
	b, ok := behaviours()[name]
	switch {
	case !ok:
		return fmt.Errorf("%w: no behaviour %q; there are %s", errUsage, name, strings.Join(slices.Sorted(maps.Keys(behaviours())), ", "))
	case o.url == "" && b.stdio == nil, o.url != "" && b.http == nil:
		return fmt.Errorf("%w: %s is not for this transport", errUsage, name)
	case o.url == "":
		return b.stdio(ctx)
	}
	h := b.http()
	if o.log != "" {
		f, err := os.Create(o.log)
		if err != nil {
			return err
		}
		defer f.Close()
		h = Log(f, h)
	}
	if o.eof {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	}
	return listen(ctx, o.url, h)
}

// listen serves until ctx ends and writes its URL to the file, which then has it whole.
func listen(ctx context.Context, file string, h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: lifetime}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	if err := os.WriteFile(file+".new", []byte("http://"+l.Addr().String()+"/mcp\n"), 0o600); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// waitFor waits for a file, at most ten seconds.
func waitFor(ctx context.Context, file string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", file, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Log returns a handler that writes a line of JSON for each request (method, host, path, header) to w and then calls
// next. It writes one line at a time.
func Log(w io.Writer, next http.Handler) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		err := json.NewEncoder(w).Encode(map[string]any{"method": r.Method, "host": r.Host, "path": r.URL.Path, "header": r.Header})
		mu.Unlock()
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(rw, r)
	})
}
