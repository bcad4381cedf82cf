// Package sigtest runs the services that signatures need, for tests: a
// certificate authority, a timestamp authority (RFC 3161), Fulcio, a
// certificate transparency log, and Rekor v1 and v2.
//
// They are small, but not mocks of the answers: Fulcio checks the token and the
// proof of possession, Rekor checks the signature it logs with Rekor's own
// code, and every log keeps a Merkle tree. What comes out is accepted by any
// verifier that trusts [Sigstore.TrustedRoot].
//
//	s := sigtest.New()
//	signer, err := sign.Keyless(s.Fulcio.Source(sigtest.Email("a@acme.example", "https://accounts.example")), sign.Services{
//		SigningConfig: s.SigningConfig(sigtest.WithFulcio | sigtest.WithRekorV2 | sigtest.WithTSA),
//		Client:        s.Client(),
//		Now:           s.Clock.Now(),
//	})
//
// [Sigstore.Client] calls the handlers in the process and fails any other
// dial. [Sigstore.Listen] puts the same handlers on loopback, for a command run
// by a test script.
//
// Functions panic on errors that only a mistake in a test can cause, as
// net/http/httptest does.
package sigtest

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// A Clock tells the services the time. The zero Clock, and nil, tell the
// real time.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// At returns a Clock that stands at t.
func At(t time.Time) *Clock { return &Clock{at: t} }

// Set stops c at t; the zero time sets it going again.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
}

// Now returns the time in UTC, to the second.
func (c *Clock) Now() time.Time {
	t := time.Now()
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.at.IsZero() {
			t = c.at
		}
	}
	return t.UTC().Truncate(time.Second)
}

// A Sigstore is one of each service. Between requests a field may be changed,
// or replaced by a service that nobody trusts yet.
type Sigstore struct {
	Clock   *Clock // shared by the services
	Fulcio  *Fulcio
	RekorV1 *RekorV1
	RekorV2 *RekorV2
	TSA     *TSA

	urls urls
}

type urls struct{ fulcio, rekorV1, rekorV2, tsa string }

// New returns services with keys of their own and the real time, reached
// through [Sigstore.Client] at https://fulcio.test, https://rekor.test,
// https://rekor2.test and https://tsa.test.
func New() *Sigstore {
	c := new(Clock)
	return &Sigstore{
		Clock:   c,
		Fulcio:  NewFulcio(c),
		RekorV1: NewRekorV1(c),
		RekorV2: NewRekorV2("rekor2.test"),
		TSA:     NewTSA(c),
		urls:    urls{"https://fulcio.test", "https://rekor.test", "https://rekor2.test", "https://tsa.test"},
	}
}

// Client returns a client that reaches the services of s in the process and
// nothing else.
func (s *Sigstore) Client() *http.Client {
	f, r1, r2, t := s.handlers()
	return Client(map[string]http.Handler{"fulcio.test": f, "rekor.test": r1, "rekor2.test": r2, "tsa.test": t})
}

// handlers looks up the services at each request, so that they can be replaced.
func (s *Sigstore) handlers() (fulcio, rekorV1, rekorV2, tsa http.HandlerFunc) {
	return func(w http.ResponseWriter, r *http.Request) { s.Fulcio.ServeHTTP(w, r) },
		func(w http.ResponseWriter, r *http.Request) { s.RekorV1.ServeHTTP(w, r) },
		func(w http.ResponseWriter, r *http.Request) { s.RekorV2.ServeHTTP(w, r) },
		func(w http.ResponseWriter, r *http.Request) { s.TSA.ServeHTTP(w, r) }
}

// Listen serves s on loopback instead: the URLs that [Sigstore.SigningConfig],
// [Sigstore.TrustedRoot] and [Sigstore.TSAURL] name are http://127.0.0.1:PORT
// from now on. Bundles of a Rekor v2 made before do not verify against the new
// root.
func (s *Sigstore) Listen() (stop func()) {
	f, r1, r2, t := s.handlers()
	servers := []*httptest.Server{httptest.NewServer(f), httptest.NewServer(r1), httptest.NewServer(r2), httptest.NewServer(t)}
	s.urls = urls{servers[0].URL, servers[1].URL, servers[2].URL, servers[3].URL}
	// Verifiers expect the host name of the log's URL in its checkpoints.
	s.RekorV2.Origin = "127.0.0.1"
	return func() {
		for _, srv := range servers {
			srv.CloseClientConnections()
			srv.Close()
		}
	}
}

// TSAURL returns the URL that answers timestamp requests.
func (s *Sigstore) TSAURL() string { return s.urls.tsa + "/api/v1/timestamp" }

// Calls returns the number of requests all services have had.
func (s *Sigstore) Calls() int {
	return s.Fulcio.Calls() + s.RekorV1.Calls() + s.RekorV2.Calls() + s.TSA.Calls()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
