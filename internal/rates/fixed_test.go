package rates_test

import (
	"errors"
	"testing"

	"chequer/internal/money"
	"chequer/internal/rates"
)

func TestFixed(t *testing.T) {
	t.Parallel()
	fixed, err := rates.ParseFixed("BTC-EUR=86420.00, ETH-USD=2862.108,EUR-USD=1.08", "fixed")
	if err != nil {
		t.Fatal(err)
	}
	eurc := money.Currency{Code: "EURC", Decimals: 6}
	usdc := money.Currency{Code: "USDC", Decimals: 6}
	for _, tt := range []struct {
		name string
		code string
		coin money.Currency
		fiat money.Currency
		want string
	}{
		{"given", "BTC", money.BTC, money.EUR, "86420"},
		{"through the euro", "BTC", money.BTC, money.USD, "93333.6"},
		{"through the dollar, eight digits", "ETH", money.ETH, money.EUR, "2650.1"},
		{"a euro token is a euro", "EURC", eurc, money.EUR, "1"},
		{"and worth dollars", "EURC", eurc, money.USD, "1.08"},
		{"a dollar token is a dollar", "USDC", usdc, money.USD, "1"},
		{"and worth euros", "USDC", usdc, money.EUR, "0.92592593"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := fixed.Rate(tt.code, tt.coin, tt.fiat)
			if err != nil || got.Price() != tt.want {
				t.Errorf("Rate(%s, %s) = %s, %v; want %s", tt.code, tt.fiat.Code, got.Price(), err, tt.want)
			}
		})
	}
	if _, err := fixed.Rate("LTC", money.LTC, money.EUR); !errors.Is(err, rates.ErrUnknown) {
		t.Errorf("a coin that is not in the table: %v", err)
	}
}

func TestParseFixedRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "BTC-EUR=1", "BTC-EUR=0,EUR-USD=1", "BTC-EUR=-1,EUR-USD=1", "BTC-EUR=1e5,EUR-USD=1",
		"BTC=5,EUR-USD=1", "BTC-XYZ=5,EUR-USD=1", "BTC-EUR=1,BTC-EUR=2,EUR-USD=1", "BTC-EUR=80,000,EUR-USD=1",
		"BTC-EUR=NaN,EUR-USD=1",
	} {
		if _, err := rates.ParseFixed(text, "fixed"); err == nil {
			t.Errorf("ParseFixed(%q) was accepted", text)
		}
	}
}
