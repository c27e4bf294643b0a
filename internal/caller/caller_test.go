package caller_test

import (
	"net"
	"net/http/httptest"
	"testing"

	"chequer/internal/caller"
)

func TestNetwork(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string]string{
		"192.0.2.7":             "192.0.2.7",
		"192.0.2.7:8080":        "192.0.2.7",
		"::ffff:192.0.2.7":      "::ffff:192.0.2.7",
		"2001:db8:1:2:3::9":     "2001:db8:1:2::/64",
		"[2001:db8:1:2::9]:443": "2001:db8:1:2::/64",
		"fe80::1%eth0":          "fe80::/64",
		"nonsense":              "nonsense",
	} {
		if got := caller.Network(ip); got != want {
			t.Errorf("Network(%q) = %q, want %q", ip, got, want)
		}
	}
}

func TestExtractorBelievesTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	_, proxies, err := net.ParseCIDR("10.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		trusted []*net.IPNet
		socket  string
		header  string
		want    string
	}{
		{"nobody is trusted", nil, "10.0.0.1:5", "192.0.2.7", "10.0.0.1"},
		{"a trusted proxy", []*net.IPNet{proxies}, "10.0.0.1:5", "192.0.2.7", "192.0.2.7"},
		{"what the caller made up stands before it", []*net.IPNet{proxies}, "10.0.0.1:5", "1.1.1.1, 192.0.2.7", "192.0.2.7"},
		{"another proxy is not trusted", []*net.IPNet{proxies}, "127.0.0.1:5", "192.0.2.7", "127.0.0.1"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.socket
		r.Header.Set("X-Forwarded-For", tt.header)
		if got := caller.Extractor(tt.trusted)(r); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
