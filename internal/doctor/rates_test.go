package doctor

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/config"
	"chequer/internal/merchant"
	"chequer/internal/rates"
)

func TestExamineFiats_reports_currencies_without_a_price(t *testing.T) {
	t.Parallel()
	report := rates.Report{Pairs: []rates.PairReport{
		{Pair: "EUR-CHF", Price: "0.95"}, {Pair: "EUR-GBP", Fault: "no usable quotation"}, {Pair: "EUR-SEK", Price: "11"},
	}}
	e := &examination{Config: Config{Settings: config.Config{Fiat: "CHF,GBP,JPY,USD"}}}
	e.examineFiats(report)
	want := []string{
		"ok currency CHF: a euro is 0.95 CHF",
		"fail currency GBP: no invoice can be created in it: the European Central Bank's table has no price of the last 5 days",
		"fail currency JPY: no invoice can be created in it: the European Central Bank's table has no price of the last 5 days",
	}
	if diff := cmp.Diff(want, e.lines()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestReportRates_concerns_a_source_of_one_coin_only_with_a_wallet(t *testing.T) {
	t.Parallel()
	report := rates.Report{
		Sources: []rates.SourceReport{
			{Name: "kraken", Fault: "EURC-USDC: not in the answer", Quotations: []rates.QuotationReport{{Pair: "BTC-EUR", Bid: "80000", Last: "80010"}}},
			{Name: "bitfinex", Coin: "XMR", Fault: "no answer: status 403"},
		},
		Pairs: []rates.PairReport{{Pair: "BTC-EUR", Price: "80000"}, {Pair: "XMR-USD", Fault: "only source kraken"}},
	}
	for _, tt := range []struct {
		name   string
		wallet string
		want   []string
	}{
		{"no wallet of the coin", "BTC", []string{
			"warn rates of kraken: EURC-USDC: not in the answer",
			"ok rates of kraken: BTC-EUR bid 80000, last 80010, 0s old",
			"ok rate BTC-EUR: 80000",
		}},
		{"a wallet of the coin", "XMR", []string{
			"warn rates of kraken: EURC-USDC: not in the answer",
			"ok rates of kraken: BTC-EUR bid 80000, last 80010, 0s old",
			"warn rates of bitfinex, only for XMR: no answer: status 403",
			"ok rate BTC-EUR: 80000",
			"warn rate XMR-USD: only source kraken",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := &examination{}
			e.reportRates(report, []merchant.Wallet{{Asset: tt.wallet}})
			if diff := cmp.Diff(tt.want, e.lines()); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReportRates_a_price_of_an_unused_coin_is_not_enough(t *testing.T) {
	t.Parallel()
	e := &examination{}
	e.reportRates(rates.Report{
		Sources: []rates.SourceReport{{Name: "bitfinex", Coin: "XMR"}},
		Pairs:   []rates.PairReport{{Pair: "BTC-EUR", Fault: "no usable quotation"}, {Pair: "XMR-USD", Price: "342"}},
	}, nil)
	want := []string{
		"warn rate BTC-EUR: no usable quotation",
		"fail rates: no source gives a price; CHEQUER_RATES=fixed:BTC-EUR=86420.00,LTC-EUR=78.35,ETH-EUR=2650.10,EUR-USD=1.08 sets them by hand",
	}
	if diff := cmp.Diff(want, e.lines()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
