package doctor

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/networks"
	"chequer/internal/prices"
	"chequer/internal/rates"
)

// examineRates queries every source of rates once and reports the results.
func (e *examination) examineRates(ctx context.Context, wallets []merchant.Wallet) error {
	if strings.HasPrefix(e.Settings.Rates, "fixed:") {
		e.warn("rates", "fixed by CHEQUER_RATES: they do not follow the market")
		return nil
	}
	table, err := prices.Live(e.Settings, e.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	_ = table.Step(ctx) // the report has the error of each source
	e.reportRates(table.Report(), wallets)
	return nil
}

// reportRates adds the findings about the sources and the pairs. It omits each source that quotes only one coin of which the shops
// have no wallet, and the prices of that coin.
func (e *examination) reportRates(report rates.Report, wallets []merchant.Wallet) {
	var unused []string // coins
	for _, s := range report.Sources {
		if s.Coin != "" && !slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == s.Coin }) {
			unused = append(unused, s.Coin)
			continue
		}
		subject := "rates of " + s.Name
		if s.Coin != "" {
			subject += ", only for " + s.Coin
		}
		if s.Fault != "" {
			e.warn(subject, "%s", s.Fault)
		}
		for _, q := range s.Quotations {
			e.ok(subject, "%s bid %s, last %s, %s old%s", q.Pair, q.Bid, q.Last, q.Age.Round(time.Second), dropped(q.Dropped))
		}
	}
	priced := false
	for _, p := range report.Pairs {
		if coin, _, _ := strings.Cut(p.Pair, "-"); slices.Contains(unused, coin) {
			continue
		}
		if p.Fault != "" {
			e.warn("rate "+p.Pair, "%s", p.Fault)
			continue
		}
		priced = true
		e.ok("rate "+p.Pair, "%s", p.Price)
	}
	e.examineFiats(report)
	if !priced {
		e.fail("rates", "no source gives a price; CHEQUER_RATES=fixed:BTC-EUR=86420.00,LTC-EUR=78.35,ETH-EUR=2650.10,EUR-USD=1.08 sets them by hand")
	}
}

// examineFiats reports whether invoices can be created in the enabled currencies.
func (e *examination) examineFiats(report rates.Report) {
	list, _ := prices.Fiats(e.Settings) // an invalid setting has prevented the start
	for _, fiat := range list {
		pair := "EUR-" + fiat.Code
		i := slices.IndexFunc(report.Pairs, func(p rates.PairReport) bool { return p.Pair == pair })
		if i >= 0 && report.Pairs[i].Fault == "" {
			e.ok("currency "+fiat.Code, "a euro is %s %s", report.Pairs[i].Price, fiat.Code)
			continue
		}
		e.fail("currency "+fiat.Code, "no invoice can be created in it: the European Central Bank's table has no price of the last 5 days")
	}
}

// dropped returns the end of a finding about a price that is not used for a reason; "" without a reason.
func dropped(reason string) string {
	if reason == "" {
		return ""
	}
	return ", not used: " + reason
}

// examinePrices reports the coins of the wallets for which there is no fixed rate.
func (e *examination) examinePrices(all []networks.Network, wallets []merchant.Wallet) {
	current, loop, err := prices.New(e.Settings, false, e.Now, slog.New(slog.DiscardHandler))
	if err != nil || loop != nil {
		return // reported elsewhere, or rates come from sources
	}
	for _, n := range all {
		for _, a := range n.Assets() {
			hasWallet := slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == a.Wallet })
			if _, err := current().Rate(a.Rate, a.Currency, money.EUR); hasWallet && err != nil {
				e.warn(a.Code, "has no rate, so it is not offered: add %s-EUR=… to CHEQUER_RATES", a.Rate)
			}
		}
	}
}
