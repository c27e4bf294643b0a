package invoice

import (
	"testing"

	"chequer/internal/money"
)

func TestTolerance(t *testing.T) {
	t.Parallel()
	euro := func(text string) money.Amount { return money.MustParse(text, money.EUR) }
	rate := func(text string, c money.Currency) money.Rate {
		r, err := money.ParseRate(text, money.BTC, c)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	price := Price{EUR: rate("80000", money.EUR), USD: rate("96000", money.USD), Expected: money.MustParse("0.0007", money.BTC)}
	for name, tt := range map[string]struct {
		setting Tolerance
		price   money.Amount
		want    string
	}{
		"nothing is set":                                       {Tolerance{}, euro("56.50"), "0"},
		"a percentage is rounded down":                         {Tolerance{BasisPoints: 50}, euro("56.50"), "0.28"},
		"an amount of euro is not changed":                     {Tolerance{Euro: euro("0.10")}, euro("56.50"), "0.1"},
		"a percentage that is smaller than the amount counts":  {Tolerance{BasisPoints: 50, Euro: euro("1")}, euro("56.50"), "0.28"},
		"an amount that is smaller than the percentage counts": {Tolerance{BasisPoints: 50, Euro: euro("0.10")}, euro("56.50"), "0.1"},
		"an amount is limited to a share of the price":         {Tolerance{Euro: euro("5")}, euro("1"), "0.2"},
		"an amount of euro is converted":                       {Tolerance{Euro: euro("0.10")}, money.MustParse("60", money.USD), "0.12"},
		"a percentage counts in any currency":                  {Tolerance{BasisPoints: 100}, money.MustParse("60", money.USD), "0.6"},
		"a percentage above the bound is limited":              {Tolerance{BasisPoints: 9000}, euro("10"), "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.setting.amountFor(tt.price, price); got.String() != tt.want || got.Currency() != tt.price.Currency() {
				t.Errorf("got %s %s, want %s", got, got.Currency().Code, tt.want)
			}
		})
	}
}
