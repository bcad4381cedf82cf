package web

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// serve starts a server and returns its address and how often it was asked.
func serve(t *testing.T, handler http.HandlerFunc) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

func addrOf(t *testing.T, s *httptest.Server) netip.AddrPort {
	t.Helper()
	a, err := netip.ParseAddrPort(strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Another origin sees neither where the request came from nor the password.
func TestOtherOrigin(t *testing.T) {
	var got http.Header
	other, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	first, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "hunter2" {
			t.Errorf("the password is %q", password)
		}
		if r.URL.Path != "/again" {
			http.Redirect(w, r, "/again?TOPSECRET", http.StatusFound)
			return
		}
		http.Redirect(w, r, other.URL, http.StatusFound)
	})
	place := strings.Replace(first.URL, "http://", "http://me:hunter2@", 1) + "/x?sig=TOPSECRET"
	response, err := Do(t.Context(), Request{URL: place})
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if got == nil || got.Get("Referer") != "" || got.Get("Authorization") != "" {
		t.Errorf("the other origin was sent %v", got)
	}
	_, err = Do(t.Context(), Request{URL: place, SameOrigin: true})
	if err == nil || !strings.Contains(err.Error(), "another origin, "+other.URL) || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("within the origin: %v", err)
	}
}

// A redirect leads no nearer, whether by another address or by another answer of
// the name server.
func TestNearer(t *testing.T) {
	inside, asked := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metadata") })
	for _, test := range []struct {
		first, second reach
		ok            bool
	}{
		{public, public, true}, {public, private, false}, {public, local, false},
		{private, public, true}, {private, private, true}, {private, local, false}, {local, local, true}, {local, private, true},
	} {
		outside, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL, http.StatusFound) })
		tr := NewTransport()
		tr.reach = func(a netip.AddrPort) reach {
			if a == addrOf(t, inside) {
				return test.second
			}
			return test.first
		}
		before := asked.Load()
		response, err := Request{URL: outside.URL}.do(t.Context(), tr)
		if test.ok {
			if err != nil {
				t.Errorf("%v to %v: %v", test.first, test.second, err)
				continue
			}
			response.Body.Close()
			continue
		}
		if e := (*AddressError)(nil); !errors.As(err, &e) || asked.Load() != before {
			t.Errorf("%v to %v: asked %d times, %v", test.first, test.second, asked.Load()-before, err)
		}
	}
}

func TestRebinding(t *testing.T) {
	s, asked := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // so that it is dialled again
		http.Redirect(w, r, "/next", http.StatusFound)
	})
	tr := NewTransport()
	tr.reach = func(netip.AddrPort) reach {
		if asked.Load() == 0 {
			return public
		}
		return local
	}
	_, err := Request{URL: s.URL}.do(t.Context(), tr)
	if e := (*AddressError)(nil); !errors.As(err, &e) || asked.Load() != 1 {
		t.Errorf("asked %d times, %v", asked.Load(), err)
	}
}

// Beyond a proxy addresses and names of this machine in the URL count.
func TestProxy(t *testing.T) {
	target := "http://127.0.0.1/"
	proxy, asked := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) })
	for _, target = range []string{"http://127.0.0.1/", "http://localhost/", "http://a.localhost./", "http://169.254.169.254/", "http://[::1]/", "http://10.0.0.1/"} {
		tr := NewTransport()
		u, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		tr.own.Proxy = http.ProxyURL(u)
		before := asked.Load()
		_, err = Request{URL: "http://release.example/x"}.do(t.Context(), tr)
		if e := (*AddressError)(nil); !errors.As(err, &e) || asked.Load() != before+1 {
			t.Errorf("%s: asked %d times, %v", target, asked.Load()-before, err)
		}
	}
}

func TestReach(t *testing.T) {
	for text, want := range map[string]reach{
		"127.0.0.1": local, "127.9.9.9": local, "0.0.0.0": local, "0.1.2.3": local, "169.254.169.254": local, "::1": local, "::": local, "fe80::1": local, "::ffff:127.0.0.1": local,
		"64:ff9b::7f00:1": local, "2002:7f00:1::": local, "::127.0.0.1": local, "224.0.0.1": local,
		"10.0.0.1": private, "192.168.1.1": private, "172.16.0.1": private, "100.64.0.1": private, "fd00::1": private, "::ffff:10.0.0.1": private, "64:ff9b::a00:1": private,
		"198.18.0.1": private, "1.1.1.1": public, "2606:4700::1": public, "64:ff9b::101:101": public, "172.32.0.1": public,
	} {
		if got := reachOf(netip.AddrPortFrom(netip.MustParseAddr(text), 1)); got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
}

// Errors name the reason, and nothing of the URL that may be secret.
func TestErrors(t *testing.T) {
	location := ""
	s, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)
	})
	for _, test := range []struct {
		url, location string
		body          []byte
		want          string
	}{
		{"http://127.0.0.1:1/?TOPSECRET", "", nil, "connection refused"},
		{"http://me:TOPSECRET@127.0.0.1:1:1/", "", nil, "the URL can't be read"},
		{"ftp://TOPSECRET/", "", nil, "the URL can't be read"},
		{s.URL, "http://[::TOPSECRET", nil, "not a URL"},
		{s.URL, "file:///TOPSECRET", nil, "not an http or https URL"},
		{s.URL, "/?TOPSECRET", nil, "more than 10 times"},
		{s.URL, "/?TOPSECRET", []byte("x"), "HTTP status 302, which loses the request"},
	} {
		location = test.location
		_, err := Do(t.Context(), Request{URL: test.url, Body: test.body})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "TOPSECRET") {
			t.Errorf("%s, %s: %v", test.url, test.location, err)
		}
	}
	a, _ := url.Parse("https://a.example/")
	b, _ := url.Parse("http://a.example/x")
	if err := (Request{}).mayFollow(a, a, b, http.StatusFound); err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("%v", err)
	}
}
