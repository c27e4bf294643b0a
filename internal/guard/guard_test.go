package guard_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"chequer/internal/guard"
)

// inside are addresses that are not public, in several notations.
var inside = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254", "169.254.169.254",
	"172.16.0.1", "172.31.255.255", "192.0.0.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "224.0.0.1", "239.255.255.255",
	"240.0.0.1", "255.255.255.255", "192.0.2.1", "198.51.100.1", "203.0.113.1",
	"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "fd00::1", "fc00::1", "fe80::1",
	"fe80::1%eth0", "fec0::1", "ff02::1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::1", "2001::1", "2001:0:7f00:1::1",
	"2001:20::1", "2001:db8::1", "100::1", "::ffff:0:127.0.0.1", "3fff::1", "5f00::1", "fd12:3456:789a:1::1", "2606:4700::1%eth0",
}

// outside are public addresses next to the ranges of inside, and other public addresses.
var outside = []string{
	"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
	"169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
	"223.255.255.255", "8.8.8.8", "::ffff:8.8.8.8", "2606:4700::1", "2001:4860:4860::8888", "2a00::1", "2003::1",
}

func TestPublic_refuses_private_ranges(t *testing.T) {
	t.Parallel()
	for _, text := range inside {
		if guard.Public(netip.MustParseAddr(text)) {
			t.Errorf("%s: got public", text)
		}
	}
	for _, text := range outside {
		if !guard.Public(netip.MustParseAddr(text)) {
			t.Errorf("%s: got not public", text)
		}
	}
	if guard.Public(netip.Addr{}) {
		t.Error("no address: got public")
	}
}

func TestCheck_refuses_addresses_inside(t *testing.T) {
	t.Parallel()
	closed := guard.Policy{}
	open := guard.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
	for _, test := range []struct {
		url                string
		closed, test, open bool // accepted by the closed policy for live and for test endpoints, and by the open policy for live endpoints
	}{
		{"https://shop.example/hook?x=1", true, true, true},
		{"https://shop.example:443/", true, true, true},
		{"https://8.8.8.8/", true, true, true},
		{"https://[2606:4700::1]/", true, true, true},
		{"http://shop.example/hook", false, true, true},
		{"http://8.8.8.8/hook", false, true, false},
		{"https://shop.example:8443/", false, false, true},
		{"http://127.0.0.1:3000/hook", false, false, true},
		{"http://[fd00::1]:3000/hook", false, false, true},
		{"http://localhost/", false, false, true},
		{"https://localhost./", false, false, true},
		{"https://api.localhost/", false, false, true},
		{"https://shop/hook", false, false, true},
		{"http://woocommerce:8080/hook", false, false, true},
		{"https://SHOP./", false, false, true},
		{"https://nas.local/", false, false, true},
		{"https://shop.internal/", false, false, true},
		{"https://shop.home.arpa/", false, false, true},
		{"https://shop.TEST/", false, false, true},
		{"https://local.example/", true, true, true},
		{"https://mylocal/", false, false, true},
		{"https://shop.mylocal/", true, true, true},
		{"http://0.0.0.0/", false, false, false},
		{"http://[::1]/", false, false, false},
		{"http://[::]/", false, false, false},
		{"http://[::ffff:127.0.0.1]/", false, false, true},
		{"http://[::ffff:10.0.0.1]/", false, false, false},
		{"http://169.254.169.254/latest/", false, false, false},
		{"https://10.0.0.1/", false, false, false},
		{"https://100.64.0.1/", false, false, false},
		{"https://[64:ff9b::7f00:1]/", false, false, false},
		{"https://[fe80::1%25eth0]/", false, false, false},
		{"https://127.1/", false, false, false},
		{"https://2130706433/", false, false, false},
		{"https://0x7f000001/", false, false, false},
		{"https://0177.0.0.1/", false, false, false},
		{"https://127.0.0.1./", false, false, true},
		{"https://user:pw@127.0.0.1/", false, false, false},
		{"https://user@shop.example/", false, false, false},
		{"https://shop.example/#part", false, false, false},
		{"file:///etc/passwd", false, false, false},
		{"gopher://shop.example/", false, false, false},
		{"javascript:alert(1)", false, false, false},
		{"//shop.example/", false, false, false},
		{"https:shop.example", false, false, false},
		{"https://", false, false, false},
		{"https://shop.example:0/", false, false, false},
		{"https://shop.example:99999/", false, false, false},
		{"https://shop.example:/", false, false, false},
		{"https://shop.example\\@127.0.0.1/", false, false, false},
		{"https://shop.example/\nX", false, false, false},
		{"https://exämple.example/", false, false, false},
		{"", false, false, false},
	} {
		for name, c := range map[string]struct {
			policy guard.Policy
			live   bool
			want   bool
		}{"live": {closed, true, test.closed}, "test": {closed, false, test.test}, "open": {open, true, test.open}} {
			err := c.policy.Check(test.url, c.live)
			if _, isRefused := errors.AsType[*guard.RefusedError](err); (err == nil) != c.want || err != nil && !isRefused {
				t.Errorf("%s: Check(%q): got error %v, want accepted %t", name, test.url, err, c.want)
			}
		}
	}
}

func TestIsPrivateHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "localhost.": true, "api.localhost": true, "shop": true, "woocommerce": true, "nas.local": true, "shop.internal": true,
		"shop.home.arpa": true, "shop.test": true, "127.0.0.1": true, "127.5.5.5": true, "::1": true, "10.1.2.3": true, "172.16.0.1": true, "192.168.1.1": true, "fd00::1": true, "169.254.1.1": true,
		"shop.example": false, "local.example": false, "shop.mylocal": false, "localhost.example": false, "home.arpa.example": false, "8.8.8.8": false, "2606:4700::1": false, "0.0.0.0": false,
	} {
		if got := guard.IsPrivateHost(host); got != want {
			t.Errorf("IsPrivateHost(%q) = %t, want %t", host, got, want)
		}
	}
}

// names is a resolver whose answers change: each lookup of a name returns the next answer.
type names map[string][][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if len(n[host]) == 0 {
		return nil, &net.DNSError{IsNotFound: true}
	}
	texts := n[host][0]
	n[host] = n[host][1:]
	var found []netip.Addr
	for _, text := range texts {
		found = append(found, netip.MustParseAddr(text))
	}
	return found, nil
}

// newRecordingDialer returns a dialer that records the addresses instead of connecting to them.
func newRecordingDialer(policy guard.Policy, resolver guard.Resolver) (d *guard.Dialer, dialed *[]string) {
	dialed = new([]string)
	return &guard.Dialer{
		Policy: policy, Resolver: resolver,
		HostAddresses: func() ([]net.Addr, error) {
			return []net.Addr{&net.IPNet{IP: net.IPv4(93, 184, 216, 34), Mask: net.CIDRMask(24, 32)}}, nil
		},
		Connect: func(_ context.Context, _, address string) (net.Conn, error) {
			*dialed = append(*dialed, address)
			local, remote := net.Pipe()
			remote.Close()
			return local, nil
		},
	}, dialed
}

var secure = guard.Target{Live: true}

func TestDial_refuses_every_address_inside(t *testing.T) {
	t.Parallel()
	for _, text := range append([]string{"93.184.216.34", "::ffff:93.184.216.34"}, inside...) {
		for form, hostport := range map[string]string{
			"written": net.JoinHostPort(text, "443"), "named": "shop.example:443", "among others": "many.example:443",
		} {
			d, dialed := newRecordingDialer(guard.Policy{}, names{"shop.example": {{text}}, "many.example": {{"8.8.8.8", text}}})
			_, err := d.Dial(t.Context(), secure, hostport)
			if _, isRefused := errors.AsType[*guard.RefusedError](err); !isRefused || len(*dialed) > 0 {
				t.Errorf("%s %s: got error %v after dialing %q, want it refused", text, form, err, *dialed)
			}
		}
	}
}

func TestDial_connects_to_the_checked_address(t *testing.T) {
	t.Parallel()
	resolver := names{"shop.example": {{"8.8.8.8"}, {"127.0.0.1"}, {"::ffff:9.9.9.9"}}}
	d, dialed := newRecordingDialer(guard.Policy{}, resolver)
	var refusals int
	for range 3 {
		if _, err := d.Dial(t.Context(), secure, "shop.example:443"); err != nil {
			refusals++
		}
	}
	if got := *dialed; len(got) != 2 || got[0] != "8.8.8.8:443" || got[1] != "9.9.9.9:443" || refusals != 1 {
		t.Errorf("a name whose address changes: got dialed %q and %d refused, want the second lookup refused", got, refusals)
	}
	if _, err := d.Dial(t.Context(), secure, "nobody.example:443"); err == nil {
		t.Error("a name without addresses: got no error")
	}
}

func TestDial_requires_ports_and_https_outside_allowed_ranges(t *testing.T) {
	t.Parallel()
	open := guard.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	for _, test := range []struct {
		policy   guard.Policy
		hostport string
		target   guard.Target
		want     bool
	}{
		{guard.Policy{}, "8.8.8.8:443", guard.Target{Live: true}, true},
		{guard.Policy{}, "8.8.8.8:80", guard.Target{Live: true}, true},
		{guard.Policy{}, "8.8.8.8:22", guard.Target{Live: true}, false},
		{guard.Policy{}, "8.8.8.8:8080", guard.Target{Live: true, AnyPort: true}, true},
		{guard.Policy{}, "8.8.8.8:8080", guard.Target{Live: true, AnyPort: true, Plain: true}, false},
		{guard.Policy{}, "127.0.0.1:8080", guard.Target{Live: true, AnyPort: true}, false},
		{guard.Policy{}, "8.8.8.8:80", guard.Target{Live: true, Plain: true}, false},
		{guard.Policy{}, "8.8.8.8:80", guard.Target{Plain: true}, true},
		{open, "127.0.0.1:3000", guard.Target{Live: true, Plain: true}, true},
		{open, "8.8.8.8:3000", guard.Target{}, false},
		{open, "8.8.8.8:80", guard.Target{Live: true, Plain: true}, false},
		{open, "10.0.0.1:443", guard.Target{Live: true}, false},
		{open, "[::1]:443", guard.Target{Live: true}, false},
	} {
		d, dialed := newRecordingDialer(test.policy, names{})
		if _, err := d.Dial(t.Context(), test.target, test.hostport); (err == nil) != test.want || (len(*dialed) == 1) != test.want {
			t.Errorf("%s, %+v: got error %v, want connected %t", test.hostport, test.target, err, test.want)
		}
	}
}

func TestDial_tries_the_next_address(t *testing.T) {
	t.Parallel()
	d, dialed := newRecordingDialer(guard.Policy{}, names{"shop.example": {{"8.8.8.8", "2606:4700::1"}}})
	connect := d.Connect
	d.Connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == "8.8.8.8:443" {
			return nil, errors.New("refused")
		}
		return connect(ctx, network, address)
	}
	if _, err := d.Dial(t.Context(), secure, "shop.example:443"); err != nil || len(*dialed) != 1 || (*dialed)[0] != "[2606:4700::1]:443" {
		t.Errorf("got dialed %q, error %v", *dialed, err)
	}
}
