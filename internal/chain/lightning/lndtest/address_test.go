package lndtest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
)

// testAddress checks the faults of services of Lightning addresses.
func testAddress(t *testing.T, l lab) {
	ask := func(t *testing.T, s *shop) (chain.Offer, error) {
		t.Helper()
		return s.Network.Ask(t.Context(), chain.Ask{Amount: amount, Until: time.Now().Add(15 * time.Minute)})
	}
	for name, test := range map[string]struct {
		change func(t *testing.T, s *shop)
		is     error
		want   string
	}{
		"a wrong amount": {func(t *testing.T, s *shop) {
			s.address.SetChange(callback(func(answer map[string]any) { answer["pr"] = l.Shop.MakeHeld(t, 20, 600).Text }))
		}, nil, "the payment request asks 20000 msat, want 21000 msat"},
		"no payment check": {func(_ *testing.T, s *shop) {
			s.address.SetChange(callback(func(answer map[string]any) { delete(answer, "verify") }))
		}, lightning.ErrUnsupported, "anna@example.com offers no payment check (LUD-21): payments would never be seen"},
		"redirected terms":    {func(_ *testing.T, s *shop) { s.address.SetMoved("/.well-known") }, nil, "the server answers with a redirect, which is not followed"},
		"redirected requests": {func(_ *testing.T, s *shop) { s.address.SetMoved("/callback") }, nil, "the server answers with a redirect, which is not followed"},
		"a short end":         {func(_ *testing.T, s *shop) { s.address.SetExpiry(30 * time.Second) }, nil, "in less than 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openShop(openAddress(t, l), 0)
			test.change(t, s)
			offer, err := ask(t, s)
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("Ask() = %+v, %v, want %q", offer, err, test.want)
			}
			if access, err := lightning.Examine(t.Context(), s.Provider, "bcrt", time.Now); err == nil && name != "a wrong amount" {
				t.Errorf("Examine() = %+v, want an error", access)
			}
		})
	}
	t.Run("a repeated request has the same payment hash", func(t *testing.T) {
		s := openShop(openAddress(t, l), 0)
		first, err := ask(t, s)
		if err != nil {
			t.Fatal(err)
		}
		s.address.SetChange(callback(func(answer map[string]any) { answer["pr"], answer["verify"] = first.Address, first.Lookup }))
		if second, err := ask(t, s); err != nil || second.Script != first.Script {
			t.Errorf("Ask() = %+v, %v, want the payment hash of the first request, by which invoices refuse it", second, err)
		}
	})
	t.Run("a long end is kept", func(t *testing.T) {
		s := openShop(openAddress(t, l), 0)
		s.address.SetExpiry(300 * 24 * time.Hour)
		start := time.Now()
		offer, err := ask(t, s)
		if end := start.Add(300 * 24 * time.Hour); err != nil || offer.Until.Before(end.Truncate(time.Second)) || offer.Until.After(end.Add(2*time.Minute)) {
			t.Errorf("Ask() = %+v, %v, want an end in 300 days", offer, err)
		}
	})
	t.Run("a wrong preimage is a fault", func(t *testing.T) {
		s := openShop(openAddress(t, l), 0)
		r := s.ask(t)
		l.Payer.Pay(t, r.Text)
		s.address.SetChange(func(path string, answer map[string]any) {
			if strings.HasPrefix(path, "/verify") {
				answer["preimage"] = strings.Repeat("ab", 32)
			}
		})
		if snapshot, err := s.scan(t); !errors.Is(err, lightning.ErrFault) {
			t.Errorf("Scan() = %+v, %v, want ErrFault", snapshot, err)
		}
		s.address.SetChange(func(string, map[string]any) {})
		s.check(t, r)
	})
	t.Run("a redirected payment check is an error", func(t *testing.T) {
		s := openShop(openAddress(t, l), 0)
		r := s.ask(t)
		l.Payer.Pay(t, r.Text)
		s.address.SetMoved("/verify")
		if snapshot, err := s.scan(t); err == nil || !strings.Contains(err.Error(), "redirect") || strings.Contains(err.Error(), lightningtest.Host+"/verify") {
			t.Errorf("Scan() = %+v, %v, want an error about the redirect without the URL", snapshot, err)
		}
	})
}

// callback returns a function that changes the answers with requests.
func callback(change func(answer map[string]any)) func(path string, answer map[string]any) {
	return func(path string, answer map[string]any) {
		if path == "/callback" {
			change(answer)
		}
	}
}
