package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A reach says from where an address is reached.
type reach int

const (
	public  reach = iota
	private       // from one network
	local         // from this machine or its link alone
)

func (r reach) String() string {
	return [...]string{"public", "private", "loopback or link-local"}[r]
}

// An AddressError reports an address that is nearer than the first one that
// answered.
type AddressError struct {
	Address string
	is      reach
	first   reach
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("it leads to the %s address %s, but the first answer came from a %s one", e.is, e.Address, e.first)
}

// A Transport makes requests that belong together: the first connection says how
// near a later one may lead, which is checked when it is dialled, so that
// a name can't change its address in between. Of what a proxy dials, the name in
// the URL is checked.
type Transport struct {
	base  http.RoundTripper
	own   *http.Transport // base; nil if a program has put something else in http.DefaultTransport
	reach func(netip.AddrPort) reach

	mu      sync.Mutex
	known   bool // first is
	first   reach
	proxies map[string]bool // host:port
}

// NewTransport returns a transport like [http.DefaultTransport] that reads at
// most 256 KiB of response headers.
func NewTransport() *Transport {
	t := &Transport{reach: reachOf, proxies: map[string]bool{}, base: http.DefaultTransport}
	if original, ok := http.DefaultTransport.(*http.Transport); ok {
		t.own = original.Clone()
		t.own.MaxResponseHeaderBytes = maxHeader
		t.own.DialContext = t.dial
		t.base = t.own
	}
	return t
}

// CloseIdleConnections closes what no request uses.
func (t *Transport) CloseIdleConnections() {
	if t.own != nil {
		t.own.CloseIdleConnections()
	}
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.own != nil && t.own.Proxy != nil {
		proxy, err := t.own.Proxy(r)
		if err != nil {
			return nil, fmt.Errorf("the proxy of the environment can't be used: %w", cause(err))
		}
		if proxy != nil {
			if err := t.beyond(proxy, r.URL.Hostname()); err != nil {
				return nil, err
			}
		}
	}
	return t.base.RoundTrip(r)
}

// beyond checks a host that a proxy dials.
func (t *Transport) beyond(proxy *url.URL, host string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := proxy.Port()
	if p == "" {
		p = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
	}
	t.proxies[net.JoinHostPort(proxy.Hostname(), p)] = true
	is := public
	if a, err := netip.ParseAddr(host); err == nil {
		is = t.reach(netip.AddrPortFrom(a, 0))
	} else if name := strings.ToLower(strings.TrimSuffix(host, ".")); name == "localhost" || strings.HasSuffix(name, ".localhost") {
		is = local
	}
	return t.allow(is, host)
}

// allow takes the first reach for the bound, and holds later ones to it.
func (t *Transport) allow(is reach, address string) error {
	if !t.known {
		t.known, t.first = true, is
	}
	if is > t.first {
		return &AddressError{address, is, t.first}
	}
	return nil
}

// dial connects, and checks the address before anything is sent there.
func (t *Transport) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	t.mu.Lock()
	proxy, known, first := t.proxies[address], t.known, t.first
	t.mu.Unlock()
	if proxy {
		return d.DialContext(ctx, network, address)
	}
	if known {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			a, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("the address %.100q can't be read", address)
			}
			if is := t.reach(a); is > first {
				return &AddressError{a.Addr().String(), is, first}
			}
			return nil
		}
	}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	a, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err == nil {
		t.mu.Lock()
		err = t.allow(t.reach(a), a.Addr().String())
		t.mu.Unlock()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// reachOf returns from where an address is reached. Of an IPv6 address that holds
// an IPv4 address, the latter counts.
func reachOf(a netip.AddrPort) reach {
	ip := a.Addr().Unmap().WithZone("")
	if b := ip.As16(); ip.Is6() {
		switch {
		case netip.MustParsePrefix("64:ff9b::/96").Contains(ip), netip.MustParsePrefix("::/96").Contains(ip) && ip != netip.IPv6Loopback() && !ip.IsUnspecified():
			ip = netip.AddrFrom4([4]byte(b[12:]))
		case netip.MustParsePrefix("2002::/16").Contains(ip):
			ip = netip.AddrFrom4([4]byte(b[2:6]))
		}
	}
	switch {
	case ip.IsLoopback(), ip.IsUnspecified(), ip.IsLinkLocalUnicast(), ip.IsMulticast(), ip.Is4() && ip.As4()[0] == 0:
		return local
	case ip.IsPrivate():
		return private
	}
	for _, network := range []string{"100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", "fec0::/10", "64:ff9b:1::/48"} {
		if netip.MustParsePrefix(network).Contains(ip) {
			return private
		}
	}
	return public
}
