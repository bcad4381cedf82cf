package sign

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/mcpsign/mcpsign/internal/sigtest"
)

const (
	v1 = sigtest.WithFulcio | sigtest.WithRekorV1 | sigtest.WithTSA
	v2 = sigtest.WithFulcio | sigtest.WithRekorV2 | sigtest.WithTSA
)

var dev = sigtest.Email("dev@acme.example", "https://accounts.example")

// A service that does not do its part is named by a ServiceError, after as many
// requests as are of use, and no later service is asked.
func TestServiceError(t *testing.T) {
	for _, tt := range []struct {
		name    string
		with    sigtest.Parts
		harm    func(*sigtest.Sigstore)
		service string
		want    string // in the error
		calls   int    // to all services
	}{
		{"fulcio: 500", v1, func(s *sigtest.Sigstore) { s.Fulcio.Fail(9, sigtest.Answer(500, "oops")) }, "fulcio", `after 3 attempts: answered 500 Internal Server Error: "oops"`, 3},
		{"fulcio: 429", v1, func(s *sigtest.Sigstore) { s.Fulcio.Fail(9, sigtest.Answer(429, "slow down")) }, "fulcio", "after 3 attempts", 3},
		{"fulcio: connection breaks", v1, func(s *sigtest.Sigstore) { s.Fulcio.Fail(9, sigtest.Drop) }, "fulcio", "after 3 attempts: unexpected EOF", 3},
		{"fulcio: refuses", v1, func(s *sigtest.Sigstore) { s.Fulcio.Fail(9, sigtest.Answer(403, "no")) }, "fulcio", "403", 1},
		{"fulcio: redirects", v1, func(s *sigtest.Sigstore) {
			s.Fulcio.Fail(9, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://fulcio.test/", http.StatusTemporaryRedirect)
			})
		}, "fulcio", "307", 1},
		{"fulcio: garbage", v1, func(s *sigtest.Sigstore) { s.Fulcio.Fail(9, sigtest.Answer(200, "hello")) }, "fulcio", "invalid character", 1},
		{"fulcio: no certificate", v1, func(s *sigtest.Sigstore) { s.Fulcio.Fail(9, sigtest.Answer(200, "{}")) }, "fulcio", "no certificates", 1},
		{"fulcio: other key", v1, func(s *sigtest.Sigstore) { s.Fulcio.OtherKey = true }, "fulcio", "for another key", 1},
		{"fulcio: too much", v1, func(s *sigtest.Sigstore) { s.Fulcio.Fail(9, sigtest.Answer(200, strings.Repeat(" ", maxResponse+1))) }, "fulcio", "more than", 3},

		{"tsa: 503", v1, func(s *sigtest.Sigstore) { s.TSA.Fail(9, sigtest.Answer(503, "")) }, "tsa", "after 3 attempts: answered 503", 4},
		{"tsa: refuses", v1, func(s *sigtest.Sigstore) { s.TSA.Fail(9, sigtest.Answer(400, "bad")) }, "tsa", "400", 2},
		{"tsa: garbage", v1, func(s *sigtest.Sigstore) { s.TSA.Fail(9, sigtest.Answer(200, "hello")) }, "tsa", "asn1", 2},
		{"tsa: empty", v1, func(s *sigtest.Sigstore) { s.TSA.Fail(9, sigtest.Answer(200, "")) }, "tsa", "asn1", 2},
		{"tsa: other message", v1, func(s *sigtest.Sigstore) { s.TSA.Stray = true }, "tsa", "something else", 2},
		{"tsa: no nonce", v1, func(s *sigtest.Sigstore) { s.TSA.NoNonce = true }, "tsa", "another request", 2},
		{"tsa: no certificate", v1, func(s *sigtest.Sigstore) { s.TSA.NoCertificate = true }, "tsa", "lacks the certificate", 2},

		{"rekor v1: 502", v1, func(s *sigtest.Sigstore) { s.RekorV1.Fail(9, sigtest.Answer(502, "")) }, "rekor", "after 3 attempts: answered 502", 5},
		{"rekor v1: refuses", v1, func(s *sigtest.Sigstore) { s.RekorV1.Fail(9, sigtest.Answer(400, "bad")) }, "rekor", "400", 3},
		{"rekor v1: garbage", v1, func(s *sigtest.Sigstore) { s.RekorV1.Fail(9, sigtest.Answer(201, "hello")) }, "rekor", "log entry", 3},
		{"rekor v1: no entry", v1, func(s *sigtest.Sigstore) { s.RekorV1.Fail(9, sigtest.Answer(201, "{}")) }, "rekor", "0 log entries", 3},
		{"rekor v1: empty entry", v1, func(s *sigtest.Sigstore) { s.RekorV1.Fail(9, sigtest.Answer(201, `{"a":{}}`)) }, "rekor", "incomplete", 3},
		{"rekor v1: no SET", v1, func(s *sigtest.Sigstore) { s.RekorV1.NoSET = true }, "rekor", "no signed entry timestamp", 3},
		{"rekor v1: no proof", v1, func(s *sigtest.Sigstore) { s.RekorV1.NoProof = true }, "rekor", "no inclusion proof", 3},
		{"rekor v1: conflict with nothing", v1, func(s *sigtest.Sigstore) { s.RekorV1.Fail(1, sigtest.Answer(409, "")) }, "rekor", "409", 3},

		{"rekor v2: 500", v2, func(s *sigtest.Sigstore) { s.RekorV2.Fail(9, sigtest.Answer(500, "")) }, "rekor", "after 3 attempts: answered 500", 5},
		{"rekor v2: refuses", v2, func(s *sigtest.Sigstore) { s.RekorV2.Fail(9, sigtest.Answer(400, "bad")) }, "rekor", "400", 3},
		{"rekor v2: garbage", v2, func(s *sigtest.Sigstore) { s.RekorV2.Fail(9, sigtest.Answer(201, "hello")) }, "rekor", "log entry", 3},
		{"rekor v2: empty entry", v2, func(s *sigtest.Sigstore) { s.RekorV2.Fail(9, sigtest.Answer(201, "{}")) }, "rekor", "incomplete", 3},
		{"rekor v2: entry of no known kind", v2, func(s *sigtest.Sigstore) {
			s.RekorV2.Fail(9, sigtest.Answer(201, `{"logId":{"keyId":"AA=="},"kindVersion":{},"canonicalizedBody":"e30=","inclusionProof":{"checkpoint":{"envelope":"x"}}}`))
		}, "rekor", "not a recognizable", 3},
		{"rekor v2: no proof", v2, func(s *sigtest.Sigstore) { s.RekorV2.NoProof = true }, "rekor", "no inclusion proof", 3},
		{"rekor v2: always a conflict", v2, func(s *sigtest.Sigstore) { s.RekorV2.Fail(9, sigtest.Answer(409, "")) }, "rekor", "already", 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServices()
			tt.harm(s)
			signer, err := Keyless(s.Fulcio.Source(dev), withConfig(s, tt.with))
			if err != nil {
				t.Fatal(err)
			}
			data, err := signer.signPayload(t.Context(), payload)
			var se *ServiceError
			if !errors.As(err, &se) || se.Service != tt.service {
				t.Fatalf("error = %v, want a ServiceError of %s", err, tt.service)
			}
			wantError(t, err, tt.want)
			wantError(t, err, tt.service+" at https://")
			if data != nil {
				t.Error("a bundle came with the error")
			}
			if n := s.Calls(); n != tt.calls {
				t.Errorf("%d requests, want %d", n, tt.calls)
			}
		})
	}
}

func TestTokenError(t *testing.T) {
	none := errors.New("no ambient token")
	for _, tt := range []struct {
		name  string
		token func(context.Context) (string, error)
		want  string
	}{
		{"error", func(context.Context) (string, error) { return "", none }, "no ambient token"},
		{"empty", func(context.Context) (string, error) { return "", nil }, "not a JWT"},
		{"no JWT", func(context.Context) (string, error) { return "ghp_secret", nil }, "not a JWT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServices()
			signer, err := Keyless(tt.token, withConfig(s, v1))
			if err != nil {
				t.Fatal(err)
			}
			_, err = signer.signPayload(t.Context(), payload)
			var se *ServiceError
			if !errors.As(err, &se) || se.Service != "oidc" {
				t.Errorf("error = %v, want a ServiceError of oidc", err)
			}
			wantError(t, err, tt.want)
			if strings.Contains(err.Error(), "secret") {
				t.Error("the error shows the token")
			}
			if s.Calls() != 0 {
				t.Error("a service was asked")
			}
		})
	}
}

// Failures that pass, and answers that get lost, do not keep a signature from
// being made.
func TestRetry(t *testing.T) {
	for _, tt := range []struct {
		name string
		with sigtest.Parts
		harm func(*sigtest.Sigstore)
	}{
		{"each fails twice", v1, func(s *sigtest.Sigstore) {
			s.Fulcio.Fail(2, sigtest.Answer(500, ""))
			s.TSA.Fail(2, sigtest.Drop)
			s.RekorV1.Fail(2, sigtest.Answer(429, ""))
		}},
		{"rekor v1: answer lost", v1, func(s *sigtest.Sigstore) { s.RekorV1.Fail(1, sigtest.Lose(s.RekorV1)) }},
		{"rekor v2: fails twice", v2, func(s *sigtest.Sigstore) { s.RekorV2.Fail(2, sigtest.Answer(504, "")) }},
		{"rekor v2: answer lost", v2, func(s *sigtest.Sigstore) { s.RekorV2.Fail(1, sigtest.Lose(s.RekorV2)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServices()
			tt.harm(s)
			signer, err := Keyless(s.Fulcio.Source(dev), withConfig(s, tt.with))
			b := signed(t, signer, err)
			check(t, b, trustRoot(t, s), identity(t, "https://accounts.example", "", "dev@acme.example"),
				sgverify.WithTransparencyLog(1), sgverify.WithSignedTimestamps(1), sgverify.WithSignedCertificateTimestamps(1))
		})
	}
}

// The context ends a request that hangs, and the pauses between attempts.
func TestContext(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault sigtest.Fault
		at    func(*sigtest.Sigstore) failer
	}{
		{"fulcio hangs", sigtest.Hang, func(s *sigtest.Sigstore) failer { return s.Fulcio }},
		{"tsa hangs", sigtest.Hang, func(s *sigtest.Sigstore) failer { return s.TSA }},
		{"rekor hangs", sigtest.Hang, func(s *sigtest.Sigstore) failer { return s.RekorV1 }},
		{"fulcio fails", sigtest.Answer(500, ""), func(s *sigtest.Sigstore) failer { return s.Fulcio }},
	} {
		for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
			t.Run(tt.name+"/"+end.Error(), func(t *testing.T) {
				s := newServices()
				ctx := &ending{Context: t.Context(), done: make(chan struct{}), err: end}
				tt.at(s).Fail(1, func(w http.ResponseWriter, r *http.Request) {
					time.AfterFunc(time.Millisecond, func() { close(ctx.done) })
					tt.fault(w, r)
				})
				sv := withConfig(s, v1)
				sv.Backoff = time.Hour
				signer, err := Keyless(s.Fulcio.Source(dev), sv)
				if err != nil {
					t.Fatal(err)
				}
				_, err = signer.signPayload(ctx, payload)
				if !errors.Is(err, end) {
					t.Errorf("error = %v, want %v", err, end)
				}
				// Whoever cancels has no service to blame.
				var se *ServiceError
				if blamed := errors.As(err, &se); blamed != (end == context.DeadlineExceeded) {
					t.Errorf("error = %v: ServiceError is %v", err, blamed)
				}
			})
		}
	}
}

type failer interface{ Fail(int, sigtest.Fault) }

// An ending context ends with err when done is closed.
type ending struct {
	context.Context
	done chan struct{}
	err  error
}

func (e *ending) Done() <-chan struct{} { return e.done }

func (e *ending) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// An attempt is bounded by the timeout of the client, and without one as well.
func TestAttemptTimeout(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Hour} {
		s := newServices()
		bounded := false
		s.TSA.Fail(1, func(w http.ResponseWriter, r *http.Request) {
			_, bounded = r.Context().Deadline()
			sigtest.Drop(w, r)
		})
		sv := withTSA(s)
		sv.Client.Timeout = timeout
		signer, err := Key(sigtest.P256(), sv)
		signed(t, signer, err)
		if !bounded {
			t.Errorf("with a timeout of %v: an attempt has no deadline", timeout)
		}
	}
}

// With a trusted root, a keyless bundle that does not verify is not handed out.
func TestTrustedRoot(t *testing.T) {
	for _, tt := range []struct {
		name string
		with sigtest.Parts
		harm func(*sigtest.Sigstore)
		want string
	}{
		{"rekor v1: entry of another artifact", v1, func(s *sigtest.Sigstore) { s.RekorV1.Replay = true }, "does not match"},
		{"rekor v2: entry of another artifact", v2, func(s *sigtest.Sigstore) { s.RekorV2.Replay = true }, "log entry"},
		{"fulcio: certificate of another time", v1, func(s *sigtest.Sigstore) {
			s.Fulcio.Edit = sigtest.Valid(now.Add(-time.Hour), now.Add(-time.Minute))
		}, "certificate"},
		{"fulcio: no SCT", v1, func(s *sigtest.Sigstore) { s.Fulcio.CTLog = nil }, "SCT"},
		{"unknown log", v1, func(s *sigtest.Sigstore) { s.RekorV1 = sigtest.NewRekorV1(s.Clock) }, "log"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServices()
			sv := withConfig(s, tt.with)
			sv.TrustedRoot = s.TrustedRoot()
			var token func(context.Context) (string, error)
			signer, err := Keyless(func(ctx context.Context) (string, error) { return token(ctx) }, sv)
			if err != nil {
				t.Fatal(err)
			}
			token = s.Fulcio.Source(dev)
			if _, err := signer.signPayload(t.Context(), payload); err != nil {
				t.Fatalf("before the harm: %v", err)
			}
			token = s.Fulcio.Source(dev)
			tt.harm(s)
			data, err := signer.signPayload(t.Context(), payload)
			wantError(t, err, "does not verify against the trusted root")
			wantError(t, err, tt.want)
			if data != nil {
				t.Error("a bundle came with the error")
			}
		})
	}
}

// What the trusted root does not know, or the caller does not accept, is found
// before the log has anything of it.
func TestNothingLogged(t *testing.T) {
	notThis := errors.New("not this certificate")
	for _, tt := range []struct {
		name  string
		with  sigtest.Parts
		harm  func(*sigtest.Sigstore, *Services)
		want  string
		calls int // of all services
	}{
		{"unknown Fulcio", v1, func(s *sigtest.Sigstore, _ *Services) { s.Fulcio = sigtest.NewFulcio(s.Clock) }, "does not have the certificate authority at https://fulcio.test", 1},
		{"unknown TSA", v2, func(s *sigtest.Sigstore, _ *Services) { s.TSA = sigtest.NewTSA(s.Clock) }, "does not have the timestamp authority at https://tsa.test/api/v1/timestamp", 2},
		{"root of other services", v2, func(_ *sigtest.Sigstore, sv *Services) { sv.TrustedRoot = newServices().TrustedRoot() }, "does not have the certificate authority", 1},
		{"root without a log", v1, func(_ *sigtest.Sigstore, sv *Services) {
			sv.TrustedRoot = []byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`)
		}, "does not have the transparency log", 0},
		{"not accepted", v2, func(_ *sigtest.Sigstore, sv *Services) {
			sv.Accept = func(leaf *x509.Certificate) error {
				if !slices.Contains(leaf.EmailAddresses, "dev@acme.example") {
					t.Errorf("asked about a certificate for %q", leaf.EmailAddresses)
				}
				return notThis
			}
		}, "not this certificate", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServices()
			sv := withConfig(s, tt.with)
			sv.TrustedRoot = s.TrustedRoot()
			tt.harm(s, &sv)
			signer, err := Keyless(s.Fulcio.Source(dev), sv)
			if err != nil {
				t.Fatal(err)
			}
			data, err := signer.signPayload(t.Context(), payload)
			wantError(t, err, tt.want)
			var root *RootError
			if !errors.As(err, &root) && !errors.Is(err, notThis) {
				t.Errorf("error = %#v", err)
			}
			if data != nil || s.Calls() != tt.calls {
				t.Errorf("%d requests, want %d", s.Calls(), tt.calls)
			}
		})
	}
}

// A token that Fulcio would refuse is sent nowhere, and not shown.
func TestRefuseToken(t *testing.T) {
	claims := func(edit string) string {
		payload := `{"iss":"https://accounts.example","aud":"sigstore","exp":` + fmt.Sprint(now.Add(time.Minute).Unix()) + `,"sub":"secret-subject"}`
		if from, to, ok := strings.Cut(edit, " -> "); ok {
			payload = strings.Replace(payload, from, to, 1)
		}
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
	}
	for edit, want := range map[string]string{
		`"sigstore" -> "https://acme.example"`: `it is for "https://acme.example", want the audience "sigstore"`,
		`"sigstore" -> ["a","b"]`:              `it is for "a, b"`,
		`"aud":"sigstore", -> `:                `want the audience`,
		`"exp" -> "x"`:                         `does not say when it expires`,
		fmt.Sprint(now.Add(time.Minute).Unix()) + " -> " + fmt.Sprint(now.Unix()): "it expired at 2026-11-30T12:00:00Z",
		`"sub" -> "nbf":` + fmt.Sprint(now.Add(time.Hour).Unix()) + `,"sub"`:      "it is valid from 2026-11-30T13:00:00Z on",
		`"iss" -> "x"`:                             "its issuer is",
		`https://accounts -> http://accounts`:      "want an https URL",
		`accounts.example -> accounts.example?a=b`: "without query",
	} {
		s := newServices()
		signer, err := Keyless(func(context.Context) (string, error) { return claims(edit), nil }, withConfig(s, v1))
		if err != nil {
			t.Fatal(err)
		}
		_, err = signer.signPayload(t.Context(), payload)
		wantError(t, err, want)
		var wrong *TokenError
		if !errors.As(err, &wrong) || s.Calls() != 0 || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, after %d requests", edit, err, s.Calls())
		}
	}
	for _, good := range []string{"", `"sigstore" -> ["x","sigstore"]`, `https://accounts.example -> http://127.0.0.1:1`} {
		if err := checkToken(claims(good), now); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

// The same services work over real connections.
func TestLoopback(t *testing.T) {
	s := newServices()
	defer s.Listen()()
	for _, with := range []sigtest.Parts{v1, v2} {
		signer, err := Keyless(s.Fulcio.Source(dev), Services{
			SigningConfig: s.SigningConfig(with), TrustedRoot: s.TrustedRoot(),
			Client: &http.Client{Transport: new(http.Transport)}, Now: now,
		})
		b := signed(t, signer, err)
		trust := sgroot.TrustedMaterialCollection{trustRoot(t, s)}
		check(t, b, trust, identity(t, "https://accounts.example", "", "dev@acme.example"),
			sgverify.WithTransparencyLog(1), sgverify.WithSignedTimestamps(1), sgverify.WithSignedCertificateTimestamps(1))
	}
}
