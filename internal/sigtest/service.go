package sigtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
)

// A Fault answers a request in the place of a service.
type Fault = http.HandlerFunc

// Answer is a Fault: the given status and body.
func Answer(status int, body string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// Hang is a Fault: no answer until the caller gives up.
func Hang(_ http.ResponseWriter, r *http.Request) {
	// A server notices that the caller has gone only when it has read all.
	io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// Drop is a Fault: the connection breaks.
func Drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// Lose returns a Fault that lets h do its work and then loses the answer.
func Lose(h http.Handler) Fault {
	return func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(httptest.NewRecorder(), r)
		Drop(w, r)
	}
}

// A service counts requests and can be told to fail.
type service struct {
	mu     sync.Mutex
	calls  int
	faults []fault
}

type fault struct {
	n  int
	do Fault
}

// Calls returns the number of requests so far, failed ones included.
func (s *service) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Fail lets f answer n requests, after those that earlier calls of Fail took.
func (s *service) Fail(n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, fault{n, f})
}

// serve counts the request and gives it to the fault whose turn it is, else to
// answer.
func (s *service) serve(w http.ResponseWriter, r *http.Request, answer http.HandlerFunc) {
	s.mu.Lock()
	s.calls++
	for len(s.faults) > 0 && s.faults[0].n <= 0 {
		s.faults = s.faults[1:]
	}
	if len(s.faults) > 0 {
		s.faults[0].n--
		answer = s.faults[0].do
	}
	s.mu.Unlock()
	answer(w, r)
}

// Client returns a client that calls the handler for the host of a URL in the
// process. Any other host is an error.
func Client(hosts map[string]http.Handler) *http.Client {
	return &http.Client{Transport: inProcess(hosts)}
}

type inProcess map[string]http.Handler

func (p inProcess) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	h, ok := p[req.URL.Host]
	if !ok {
		return nil, fmt.Errorf("sigtest: no network in this test: %s", req.URL.Host)
	}
	ctx := req.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in := req.Clone(ctx)
	in.Host = req.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			resp, err = nil, io.ErrUnexpectedEOF
		} else if p != nil {
			panic(p)
		}
	}()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, in)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	resp = rec.Result()
	resp.Request = req
	return resp, nil
}
