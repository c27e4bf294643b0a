package storage_test

import (
	"net/netip"
	"testing"

	"chequer/internal/storage"
)

func TestUntrustedProxy_is_the_proxy_that_was_saved_last(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		want := netip.Addr{}
		for _, next := range []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("fd00::1")} {
			if got, err := s.UntrustedProxy(t.Context()); err != nil || got != want {
				t.Errorf("UntrustedProxy() = %s, %v; want %s", got, err, want)
			}
			if err := s.SaveUntrustedProxy(t.Context(), next); err != nil {
				t.Fatal(err)
			}
			want = next
		}
		if got, err := s.UntrustedProxy(t.Context()); err != nil || got != want {
			t.Errorf("UntrustedProxy() = %s, %v; want %s", got, err, want)
		}
	})
}
