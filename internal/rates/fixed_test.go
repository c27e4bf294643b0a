package rates_test

import (
	"errors"
	"testing"

	"chequer/internal/money"
	"chequer/internal/rates"
)

func TestFixed_derives_rates_through_euro_and_dollar(t *testing.T) {
	t.Parallel()
	fixed, err := rates.ParseFixed("BTC-EUR=86420.00, ETH-USD=2862.108,EUR-USD=1.08,EUR-CHF=0.9312345,EUR-JPY=163.05", "fixed")
	if err != nil {
		t.Fatal(err)
	}
	eurc := money.Currency{Code: "EURC", Decimals: 6}
	usdc := money.Currency{Code: "USDC", Decimals: 6}
	chf, jpy := money.Currency{Code: "CHF", Decimals: 2}, money.Currency{Code: "JPY"}
	for _, tt := range []struct {
		name string
		code string
		coin money.Currency
		fiat money.Currency
		want string
	}{
		{"in the table", "BTC", money.BTC, money.EUR, "86420"},
		{"through the euro", "BTC", money.BTC, money.USD, "93333.6"},
		{"through the dollar, eight digits", "ETH", money.ETH, money.EUR, "2650.1"},
		{"a euro token is a euro", "EURC", eurc, money.EUR, "1"},
		{"a euro token in dollars", "EURC", eurc, money.USD, "1.08"},
		{"a dollar token is a dollar", "USDC", usdc, money.USD, "1"},
		{"a dollar token in euro", "USDC", usdc, money.EUR, "0.92592593"},
		{"in another currency through the euro, eight digits", "BTC", money.BTC, chf, "80477.285"},
		{"through dollar and euro", "ETH", money.ETH, jpy, "432098.81"},
		{"a euro token in another currency", "EURC", eurc, chf, "0.9312345"},
		{"a dollar token in another currency", "USDC", usdc, chf, "0.86225417"},
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
	if _, err := fixed.Rate("BTC", money.BTC, gbp); !errors.Is(err, rates.ErrUnknown) {
		t.Errorf("a currency that is not in the table: %v", err)
	}
	if _, err := fixed.Rate("LTC", money.LTC, chf); !errors.Is(err, rates.ErrUnknown) {
		t.Errorf("a coin that is not in the table, in another currency: %v", err)
	}
}

func TestParseFixed_accepts_additional_coins(t *testing.T) {
	t.Parallel()
	const text = "POL-EUR=0.2,AVAX-USD=21.6,EUR-USD=1.08"
	if _, err := rates.ParseFixed(text, "fixed", "POL"); err == nil {
		t.Error("a coin outside of the list was accepted")
	}
	fixed, err := rates.ParseFixed(text, "fixed", "POL", "AVAX")
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{"POL": "0.2", "AVAX": "20"} {
		if got, err := fixed.Rate(code, money.Currency{Code: code, Decimals: 18}, money.EUR); err != nil || got.Price() != want {
			t.Errorf("a %s is %s EUR, %v; want %s", code, got.Price(), err, want)
		}
	}
}

func TestParseFixed_refuses_invalid_tables(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "BTC-EUR=1", "BTC-EUR=0,EUR-USD=1", "BTC-EUR=-1,EUR-USD=1", "BTC-EUR=1e5,EUR-USD=1",
		"BTC=5,EUR-USD=1", "BTC-XYZ=5,EUR-USD=1", "BTC-EUR=1,BTC-EUR=2,EUR-USD=1", "BTC-EUR=80,000,EUR-USD=1",
		"BTC-EUR=NaN,EUR-USD=1", "BTC-CHF=5,EUR-USD=1", "USD-CHF=0.9,EUR-USD=1", "EUR-chf=0.9,EUR-USD=1", "EUR-CHF=0,EUR-USD=1", "EUR-EUR=1,EUR-USD=1",
	} {
		if _, err := rates.ParseFixed(text, "fixed"); err == nil {
			t.Errorf("ParseFixed(%q) was accepted", text)
		}
	}
}
