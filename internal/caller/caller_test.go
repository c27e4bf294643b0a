package caller_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/caller"
)

func TestNetwork_is_the_address_or_its_IPv6_prefix(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string]string{
		"192.0.2.7":             "192.0.2.7",
		"192.0.2.7:8080":        "192.0.2.7",
		"::ffff:192.0.2.7":      "192.0.2.7",
		"2001:db8:1:2:3::9":     "2001:db8:1:2::/64",
		"[2001:db8:1:2::9]:443": "2001:db8:1:2::/64",
		"[2001:db8:1:2::9]":     "2001:db8:1:2::/64",
		"fe80::1%eth0":          "fe80::/64",
		"nonsense":              "nonsense",
	} {
		if got := caller.Network(ip); got != want {
			t.Errorf("Network(%q) = %q, want %q", ip, got, want)
		}
	}
}

func TestBlocks_name_two_prefixes_of_an_address(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string][]caller.Block{
		"192.0.2.7":           {{Prefix: "192.0.2.7", Divisor: 20}, {Prefix: "192.0.2.0/24", Divisor: 10}},
		"2001:db8:1:2345::9":  {{Prefix: "2001:db8:1:2300::/56", Divisor: 20}, {Prefix: "2001:db8:1::/48", Divisor: 10}},
		"::ffff:198.51.100.1": {{Prefix: "198.51.100.1", Divisor: 20}, {Prefix: "198.51.100.0/24", Divisor: 10}},
		"":                    nil,
	} {
		if diff := cmp.Diff(caller.Blocks(ip), want); diff != "" {
			t.Errorf("Blocks(%q) (-got +want):\n%s", ip, diff)
		}
	}
}

func TestBlock_has_at_least_one_of_a_limit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{1: 1, 10: 1, 11: 2, 1000: 100} {
		if got := (caller.Block{Divisor: 10}).ShareOf(limit); got != want {
			t.Errorf("ShareOf(%d) = %d, want %d", limit, got, want)
		}
	}
}

func prefixes(list ...string) (parsed []netip.Prefix) {
	for _, text := range list {
		parsed = append(parsed, netip.MustParsePrefix(text))
	}
	return parsed
}

func TestExtractor_skips_only_trusted_proxies(t *testing.T) {
	t.Parallel()
	ten := prefixes("10.0.0.0/8")
	for name, tt := range map[string]struct {
		trusted []netip.Prefix
		socket  string
		header  []string
		want    string
	}{
		"no_proxy_is_trusted":               {nil, "10.0.0.1:5", []string{"192.0.2.7"}, "10.0.0.1"},
		"trusted_proxy":                     {ten, "10.0.0.1:5", []string{"192.0.2.7"}, "192.0.2.7"},
		"forged_entry_before_the_address":   {ten, "10.0.0.1:5", []string{"1.1.1.1, 192.0.2.7"}, "192.0.2.7"},
		"other_proxy_is_not_trusted":        {ten, "127.0.0.1:5", []string{"192.0.2.7"}, "127.0.0.1"},
		"chain_of_trusted_proxies":          {ten, "10.0.0.1:5", []string{"192.0.2.7, 10.0.0.3,10.0.0.2"}, "192.0.2.7"},
		"several_headers":                   {ten, "10.0.0.1:5", []string{"1.1.1.1", "192.0.2.7", "10.0.0.2"}, "192.0.2.7"},
		"address_with_port":                 {ten, "10.0.0.1:5", []string{"203.0.113.7:50001"}, "203.0.113.7"},
		"ipv6_with_port":                    {ten, "10.0.0.1:5", []string{"[2001:db8::7]:443"}, "2001:db8::7"},
		"ipv6_in_brackets":                  {ten, "10.0.0.1:5", []string{"[2001:db8::7]"}, "2001:db8::7"},
		"ipv4_mapped":                       {ten, "[::ffff:10.0.0.1]:5", []string{"::ffff:203.0.113.7"}, "203.0.113.7"},
		"port_on_a_proxy":                   {ten, "10.0.0.1:5", []string{"203.0.113.7:50001, 10.0.0.2:80"}, "203.0.113.7"},
		"invalid_entry_ends_the_search":     {ten, "10.0.0.1:5", []string{"192.0.2.7, unknown, 10.0.0.2"}, "10.0.0.2"},
		"invalid_entry_before_the_address":  {ten, "10.0.0.1:5", []string{"junk, 192.0.2.7, 10.0.0.2"}, "192.0.2.7"},
		"no_header":                         {ten, "10.0.0.1:5", nil, "10.0.0.1"},
		"only_trusted_proxies":              {ten, "10.0.0.1:5", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"zone_of_the_connection_is_dropped": {nil, "[fe80::1%eth0]:5", nil, "fe80::1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.socket
			r.Header["X-Forwarded-For"] = tt.header
			if got := caller.Extractor(tt.trusted)(r); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestUntrustedProxy_reports_private_peers_that_forward_requests(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		trusted               []netip.Prefix
		socket, header, value string // value is that of the header
		want                  bool
	}{
		"loopback":               {nil, "127.0.0.1:5", "X-Forwarded-For", "192.0.2.7", true},
		"private_ipv6":           {nil, "[fd00::1]:5", "X-Real-Ip", "192.0.2.7", true},
		"private_with_forwarded": {nil, "172.17.0.2:5", "Forwarded", "for=192.0.2.7", true},
		"trusted":                {prefixes("127.0.0.1/32"), "127.0.0.1:5", "X-Forwarded-For", "192.0.2.7", false},
		"another_proxy_trusted":  {prefixes("10.0.0.0/8"), "127.0.0.1:5", "X-Forwarded-For", "192.0.2.7", true},
		"public_caller":          {nil, "192.0.2.7:5", "X-Forwarded-For", "192.0.2.7", false},
		"no_header":              {nil, "127.0.0.1:5", "Accept", "*/*", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.socket
			r.Header.Set(tt.header, tt.value)
			if proxy, got := caller.UntrustedProxy(r, tt.trusted); got != tt.want || got && proxy != netip.MustParseAddrPort(tt.socket).Addr() {
				t.Errorf("got %s, %t; want %t", proxy, got, tt.want)
			}
		})
	}
}

func TestProtected_accepts_TLS_this_machine_and_trusted_proxies(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for name, tt := range map[string]struct {
		peer   string
		tls    bool
		header http.Header
		https  bool // the public address has https
		want   bool
	}{
		"TLS":                               {peer: "192.0.2.1:5", tls: true, want: true},
		"plain from outside":                {peer: "192.0.2.1:5", https: true},
		"plain from outside with a header":  {peer: "192.0.2.1:5", https: true, header: http.Header{"X-Forwarded-Proto": {"https"}}},
		"this machine":                      {peer: "127.0.0.1:5", want: true},
		"this machine over IPv6":            {peer: "[::1]:5", want: true},
		"a proxy on this machine":           {peer: "127.0.0.1:5", https: true, header: http.Header{"X-Forwarded-For": {"192.0.2.1"}}, want: true},
		"a plain proxy on this machine":     {peer: "127.0.0.1:5", header: http.Header{"X-Forwarded-For": {"192.0.2.1"}}},
		"a proxy that reports http":         {peer: "127.0.0.1:5", https: true, header: http.Header{"X-Forwarded-Proto": {"http"}}},
		"a trusted proxy that reports":      {peer: "10.0.0.7:5", header: http.Header{"X-Forwarded-Proto": {"http", "HTTPS"}}, want: true},
		"a trusted proxy that reports http": {peer: "10.0.0.7:5", https: true, header: http.Header{"X-Forwarded-Proto": {"http"}}},
		"a trusted proxy":                   {peer: "10.0.0.7:5", https: true, want: true},
		"a trusted proxy without https":     {peer: "10.0.0.7:5"},
		"no address":                        {peer: "@", https: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{RemoteAddr: tt.peer, Header: tt.header}
			if tt.tls {
				r.TLS = &tls.ConnectionState{}
			}
			if got := caller.Protected(r, proxies, tt.https); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
