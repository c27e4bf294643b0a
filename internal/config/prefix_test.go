package config_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/config"
)

func TestLoad_reads_prefixes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		value string
		want  []string
	}{
		"network":            {"10.0.0.0/8, 127.0.0.1/32", []string{"10.0.0.0/8", "127.0.0.1/32"}},
		"address_alone":      {"127.0.0.1", []string{"127.0.0.1/32"}},
		"ipv6_address_alone": {"::1", []string{"::1/128"}},
		"ipv4_mapped":        {"::ffff:127.0.0.1 ::ffff:10.0.0.0/104", []string{"127.0.0.1/32", "10.0.0.0/8"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load([]string{"CHEQUER_TRUST_PROXY=" + tt.value, "CHEQUER_CALLBACK_ALLOW=" + tt.value})
			if err != nil {
				t.Fatal(err)
			}
			var want []netip.Prefix
			for _, text := range tt.want {
				want = append(want, netip.MustParsePrefix(text))
			}
			comparePrefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
			if diff := cmp.Diff(c.Proxies(), want, comparePrefixes); diff != "" {
				t.Errorf("Proxies() (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(c.CallbackAllow(), want, comparePrefixes); diff != "" {
				t.Errorf("CallbackAllow() (-got +want):\n%s", diff)
			}
		})
	}
}

func TestLoad_refuses_prefixes(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"10.0.0.1/8":   `"10.0.0.1/8" has bits set after the first 8: write 10.0.0.0/8, or the address alone`,
		"fd00::1/8":    `"fd00::1/8" has bits set after the first 8: write fd00::/8, or the address alone`,
		"nonsense":     `"nonsense" is not an IP network like 10.0.0.0/8 or 127.0.0.1`,
		"10.0.0.0/33":  `"10.0.0.0/33" is not an IP network like 10.0.0.0/8 or 127.0.0.1`,
		"fe80::1%eth0": `"fe80::1%eth0" is not an IP network like 10.0.0.0/8 or 127.0.0.1`,
	} {
		for _, name := range []string{"CHEQUER_TRUST_PROXY", "CHEQUER_CALLBACK_ALLOW"} {
			_, err := config.Load([]string{name + "=" + value})
			if err == nil || err.Error() != name+": "+want {
				t.Errorf("%s=%s: got error %v, want %s: %s", name, value, err, name, want)
			}
		}
	}
}
