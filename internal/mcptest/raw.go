package mcptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
)

// A request is a message that came from the client: a request, a notification or an answer.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Cursor *string
		Name   string
	}
	done <-chan struct{} // closed when nobody waits for an answer any more
	die  func()          // ends the server, or at least the connection
}

func (r *request) result(body string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, body)
}

func (r *request) error(code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, r.ID, code, message)
}

// A raw server sends messages as they are given, one line each. It is called for each message of the client, for
// requests at the same time if there are several.
type raw func(r *request, send func(message string))

// call reports whether r is a request.
func (r *request) call() bool { return r.ID != nil && r.Method != "" }

// handshake answers as a server without definitions, for all that a raw server does not do itself.
func handshake(r *request, send func(string)) {
	if !r.call() {
		return
	}
	switch r.Method {
	case "initialize":
		send(r.result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"weather","version":"1.4.2"}}`))
	case "ping":
		send(r.result(`{}`))
	case "tools/call":
		send(r.result(`{"content":[{"type":"text","text":"result of ` + r.Params.Name + `"}]}`))
	default:
		send(r.error(-32601, "method not found"))
	}
}

// rawBehaviour serves with what newServer makes over both transports.
func rawBehaviour(about string, newServer func() raw) behaviour {
	return behaviour{
		about: about,
		stdio: func(ctx context.Context) error { return serveStdio(ctx, newServer()) },
		http:  func() http.Handler { return serveHTTP(newServer(), frame) },
	}
}

// serveStdio serves until standard input ends, and ends the process with ctx: a read can't be called off.
func serveStdio(ctx context.Context, server raw) error {
	defer context.AfterFunc(ctx, func() { os.Exit(0) })()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var mu sync.Mutex
	send := func(message string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(message)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		r, err := parseRequest(in.Bytes())
		if err != nil {
			return err
		}
		r.done = ctx.Done()
		r.die = func() {
			fmt.Fprintln(os.Stderr, "fatal: no station answers")
			os.Exit(3)
		}
		wg.Go(func() { server(r, send) })
	}
	return in.Err()
}

func parseRequest(data []byte) (*request, error) {
	r := new(request)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("client sent what is no message: %w", err)
	}
	return r, nil
}

// A framing writes messages as the body of a reply.
type framing func(w http.ResponseWriter, messages <-chan string)

// frame writes an answer that comes alone as JSON, and all else as an event stream.
func frame(w http.ResponseWriter, messages <-chan string) {
	first, ok := <-messages
	if !ok {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	more := []string{first}
	// What comes first but is no answer may be a request, and nothing follows before the client knows of it.
	if strings.HasPrefix(first, `{"jsonrpc"`) && !strings.Contains(first, `"method"`) {
		second, ok := <-messages
		if !ok {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, first)
			return
		}
		more = append(more, second)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, m := range more {
		event(w, m)
	}
	for m := range messages {
		event(w, m)
	}
}

func event(w http.ResponseWriter, data string) {
	fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(data, "\n", "\ndata: "))
	_ = http.NewResponseController(w).Flush()
}

// serveHTTP serves every POST by itself, without a session.
func serveHTTP(server raw, write framing) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body bytes.Buffer
		if req.Method != http.MethodPost {
			w.Header().Set("Allow", "POST")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		if _, err := body.ReadFrom(http.MaxBytesReader(w, req.Body, 1<<20)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r, err := parseRequest(body.Bytes())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		died := make(chan struct{})
		r.done, r.die = ctx.Done(), func() { close(died) }
		messages := make(chan string)
		go func() {
			defer close(messages)
			server(r, func(m string) {
				select {
				case messages <- m:
				case <-ctx.Done():
				}
			})
		}()
		write(w, messages)
		select {
		case <-died:
			panic(http.ErrAbortHandler)
		default:
		}
	})
}
