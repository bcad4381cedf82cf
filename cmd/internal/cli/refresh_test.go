package cli

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpsign/mcpsign/internal/sigtest"
	"github.com/mcpsign/mcpsign/verify"
)

// A network answers in the place of all HTTP connections, and keeps what it was
// asked.
type network struct {
	answer func(*http.Request) (int, []byte)
	mu     sync.Mutex
	asked  []*http.Request
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.asked = append(n.asked, r)
	n.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	code, body := n.answer(r)
	header := http.Header{}
	if code == http.StatusFound {
		header.Set("Location", string(body))
	}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

func newNetwork(t *testing.T, answer func(*http.Request) (int, []byte)) *network {
	before := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = before })
	n := &network{answer: answer}
	http.DefaultTransport = n
	return n
}

// refreshable writes a bundle whose certificate names the places, and a policy
// that wants to know its status.
func refreshable(t *testing.T, u *user, edits ...sigtest.Edit) (*sigtest.CA, *sigtest.Leaf) {
	ca := sigtest.NewCA("acme root")
	leaf := ca.Leaf(sigtest.P256(), append(edits, sigtest.URI("https://acme.example/release"))...)
	write(t, ".", map[string]string{
		"leaf.key": string(sigtest.KeyPEM(leaf.Key)), "leaf.pem": string(sigtest.CertPEM(leaf.Certificate())), "roots.pem": string(sigtest.CertPEM(ca.Certificate)),
		"policy.yaml":  "version: 1\npublishers: {acme: {x509: {roots: [roots.pem], san: 'uri:https://acme.example/release', time: now, status: required}}}\nrules: [{servers: [weather], signedBy: [acme]}]\n",
		"listing.json": `[{"name": "get_forecast"}]`,
	})
	u.must(ExitYes, "sign", "weather", "listing.json", "--key", "leaf.key", "--cert", "leaf.pem", "--chain", "roots.pem", "--no-timestamp", "--sequence", "1", "--bundle", "w.json")
	return ca, leaf
}

// A certificate that names many places has but some of them asked, each for a
// short time, and no more than the last list is kept.
func TestRefreshLimits(t *testing.T) {
	t.Chdir(t.TempDir())
	u := newUser(t)
	var places []string
	for i := range maxQueries + 8 {
		places = append(places, fmt.Sprintf("http://crl.acme.example/%d", i))
	}
	ca, _ := refreshable(t, u, sigtest.CRLAt(places...))
	made := time.Now().Add(-time.Hour)
	n := newNetwork(t, func(r *http.Request) (int, []byte) {
		switch r.URL.Path {
		case "/0":
			made = made.Add(time.Second)
			return http.StatusOK, ca.CRL(made, time.Now().Add(time.Hour), made).Raw
		case "/1":
			return http.StatusOK, append([]byte{0x30}, make([]byte, verify.MaxStatus)...)
		}
		return http.StatusNotFound, nil
	})
	before := time.Now()
	r := u.must(ExitYes, "add", "weather", "w.json", "--refresh", "--policy", "policy.yaml")
	if len(n.asked) != maxQueries || !strings.Contains(r.stderr, "note: the first 32 of 40 places are asked") {
		t.Errorf("%d are asked: %s", len(n.asked), r.stderr)
	}
	for _, want := range []string{"/0  about certificate", "nothing is kept: the answer has more than 1048576 bytes", "nothing is kept: it answered with HTTP status 404"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	for i, q := range n.asked {
		if end, ok := q.Context().Deadline(); !ok || end.After(time.Now().Add(queryTimeout)) || end.After(before.Add(refreshTimeout+time.Second)) {
			t.Errorf("%d: it may take until %v, %v", i, end, ok)
		}
	}
	u.must(ExitYes, "verify", "weather", "listing.json", "--bundle", "w.json", "--policy", "policy.yaml")

	for range 3 {
		u.must(ExitYes, "add", "weather", "--refresh", "--policy", "policy.yaml")
	}
	kept, err := filepath.Glob(filepath.Join(addedPath("weather"), "sha256-*"))
	if err != nil || len(kept) != 2 {
		t.Errorf("%d files are kept, want a bundle and a list: %v", len(kept), err)
	}
	u.must(ExitYes, "verify", "weather", "listing.json", "--bundle", "w.json", "--policy", "policy.yaml")
}

// Of more files than are looked at none is kept.
func TestAddTooMany(t *testing.T) {
	t.Chdir(t.TempDir())
	u := newUser(t)
	ca, leaf := refreshable(t, u)
	now := time.Now() // of all lists: a later one would take the place of an earlier
	list := func(minutes int) string {
		return string(ca.CRL(now.Add(-time.Hour), now.Add(time.Hour), now.Add(-time.Duration(minutes)*time.Minute), leaf.Certificate()).Raw)
	}
	files := map[string]string{}
	args := []string{"add", "weather", "w.json", "--policy", "policy.yaml"}
	for i := range 63 {
		name := fmt.Sprintf("%d.crl", i)
		files[name], args = list(i+1), append(args, name)
	}
	files["last.crl"] = list(64)
	write(t, ".", files)
	u.must(ExitYes, args...)
	before := contents(t, ".")
	r := u.must(ExitUsage, "add", "weather", "last.crl", "--policy", "policy.yaml")
	if !strings.Contains(r.stderr, "has 65 files or would have, and no more than 64 are looked at") {
		t.Error(r.stderr)
	}
	if after := contents(t, "."); !maps.Equal(before, after) || len(after) < 64 {
		t.Errorf("of %d files %d are left, or others", len(before), len(after))
	}
	if err := os.RemoveAll(filepath.Dir(addedPath("weather"))); err != nil {
		t.Fatal(err)
	}
	u.must(ExitUsage, append(args, "last.crl")...)
	for name := range contents(t, ".") {
		if strings.Contains(name, "sha256-") {
			t.Errorf("%s is kept", name)
		}
	}
}

// What lies there and says nothing, or no more, is told and does no harm; what
// is asked for and has ended is no yes.
func TestStatusThatDoesNotCount(t *testing.T) {
	t.Chdir(t.TempDir())
	u := newUser(t)
	ca, _ := refreshable(t, u)
	now := time.Now()
	junk := "0\x03\x0a\x01\x03"
	write(t, ".", map[string]string{"acme.crl": string(ca.CRL(now.Add(-time.Hour), now.Add(time.Hour), now).Raw)})
	u.must(ExitYes, "add", "weather", "w.json", "acme.crl", "--policy", "policy.yaml")
	write(t, addedPath("weather"), map[string]string{fmt.Sprintf("sha256-%x", sha256.Sum256([]byte(junk))): junk})
	commands := [][]string{
		{"verify", "weather", "listing.json", "--bundle", "w.json", "--policy", "policy.yaml"},
		{"check", "weather", "listing.json", "--bundle", "w.json", "--policy", "policy.yaml"},
		{"policy", "explain", "weather", "listing.json", "--policy", "policy.yaml"},
	}
	said := func(code ExitCode, args []string, want string) {
		t.Helper()
		if r := u.must(code, args...); !strings.Contains(r.stdout+r.stderr, want) {
			t.Errorf("%s: no %q in\n%s%s", strings.Join(args, " "), want, r.stdout, r.stderr)
		}
	}
	const text = "is an OCSP response without an answer: try later"
	said(ExitYes, append(commands[0], "-o", "json"), text)
	said(ExitYes, append(commands[0], "-o", "sarif"), text)
	said(ExitYes, append(commands[0], "-o", "markdown"), "1 of 1 definitions are allowed")
	said(ExitUnpinned, commands[1], text)
	said(ExitUnpinned, append(commands[1], "-o", "json"), text)
	said(ExitUnpinned, commands[2], text)
	said(ExitUnpinned, append(commands[2], "-o", "json"), text)
	u.clock = 2 * time.Hour
	for _, args := range commands {
		for _, how := range []string{"text", "json"} {
			said(ExitTrust, append(args, "-o", how), "the revocation list by CN=acme root,O=sigtest is of")
		}
	}
	said(ExitTrust, commands[0], "mcpsign add weather --policy policy.yaml --bundle w.json --refresh")
}

// What was asked at one place is told by that one alone.
func TestRefreshRedirects(t *testing.T) {
	const place = "https://crl.acme.example/a.crl"
	for _, tt := range []struct {
		to   string // of every answer but to /end
		fine bool
	}{
		{"/end", true},
		{"https://crl.acme.example/end", true},
		{"http://crl.acme.example/end", false},
		{"https://crl.acme.example:8443/end", false},
		{"https://evil.example/end", false},
		{"//evil.example/end", false},
		{"file:///end", false},
		{"/a.crl", false},
	} {
		n := newNetwork(t, func(r *http.Request) (int, []byte) {
			if r.URL.Path == "/end" {
				return http.StatusOK, []byte("list")
			}
			return http.StatusFound, []byte(tt.to)
		})
		data, err := fetchStatus(t.Context(), verify.StatusQuery{URL: place})
		if tt.fine != (err == nil && string(data) == "list") || !tt.fine && (err == nil || !strings.Contains(err.Error(), "it redirects")) {
			t.Errorf("%s: %q, %v", tt.to, data, err)
		}
		for _, r := range n.asked {
			if u := (url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host}); u.String() != "https://crl.acme.example" {
				t.Errorf("%s: %s is asked", tt.to, r.URL)
			}
		}
		if len(n.asked) > 11 {
			t.Errorf("%s: asked %d times", tt.to, len(n.asked))
		}
	}
}
