package mcptest

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// spelled writes event streams with all the detours the HTML standard allows.
func spelled(newline string) framing {
	return func(w http.ResponseWriter, messages <-chan string) {
		first, ok := <-messages
		if !ok {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		line := func(s string) {
			_, _ = io.WriteString(w, s+newline)
			_ = http.NewResponseController(w).Flush()
		}
		for _, s := range []string{"\ufeffid: 1", "retry: 10", "data:", "", ": keep alive", "event: endpoint", "data: /messages", "", "event", "unknown: x", "id"} {
			line(s)
		}
		// A message may break its lines wherever JSON has space; the first space after the colon is not data.
		before, after, _ := strings.Cut(first, ",")
		line("data: " + before + ",")
		line("data")
		line("data:" + after)
		line("")
		for m := range messages {
			line("data: " + m)
			line("")
		}
	}
}

// keepOpen writes event streams that end with the client's patience.
func keepOpen(w http.ResponseWriter, messages <-chan string) {
	first, ok := <-messages
	if !ok {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event(w, first)
	dribble(w, ":\n")
}

// forTools writes the answer to tools/list with write, and all others as usual.
func forTools(write func(w http.ResponseWriter, message string)) framing {
	return func(w http.ResponseWriter, messages <-chan string) {
		m, ok := <-messages
		if ok && strings.Contains(m, `"tools":[`) {
			write(w, m)
			return
		}
		rest := make(chan string, 1)
		if ok {
			rest <- m
		}
		close(rest)
		frame(w, rest)
	}
}

func cut(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "id: 7\ndata: "+message[:len(message)/2])
}

func trickle(w http.ResponseWriter, _ string) {
	w.Header().Set("Content-Type", "application/json")
	dribble(w, " ")
}

// dribble writes s again and again until the client hangs up.
func dribble(w http.ResponseWriter, s string) {
	const pause = 50 * time.Millisecond
	for range lifetime / pause {
		if _, err := io.WriteString(w, s); err != nil {
			return
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		time.Sleep(pause)
	}
}
