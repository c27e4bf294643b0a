package prices_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"chequer/internal/config"
	"chequer/internal/money"
	"chequer/internal/prices"
)

func TestNew_prices_XMR_in_the_demo_and_from_fixed_rates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		rates string
		demo  bool
		want  string // of one XMR in euro and in dollars
	}{
		{"demo", "", true, "300 324"},
		{"demo with fixed rates", "fixed:XMR-EUR=310.5,EUR-USD=1.1", true, "310.5 341.55"},
		{"fixed in euro", "fixed:BTC-EUR=86420.00,XMR-EUR=300,EUR-USD=1.08", false, "300 324"},
		{"fixed in dollars", "fixed:XMR-USD=324,EUR-USD=1.08", false, "300 324"},
		{"fixed without XMR", "fixed:BTC-EUR=86420.00,EUR-USD=1.08", false, "none none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			current, loop, err := prices.New(config.Config{Rates: tt.rates}, tt.demo, time.Now, slog.New(slog.DiscardHandler))
			if err != nil || loop != nil {
				t.Fatalf("New() has a loop: %t, error %v; want fixed rates", loop != nil, err)
			}
			var got []string
			for _, fiat := range []money.Currency{money.EUR, money.USD} {
				price := "none"
				if rate, err := current().Rate("XMR", money.XMR, fiat); err == nil {
					price = rate.Price()
				}
				got = append(got, price)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("one XMR costs %v, want %s", got, tt.want)
			}
		})
	}
}
