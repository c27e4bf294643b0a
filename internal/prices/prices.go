package prices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/rates"
)

// demoRates are example rates. They are marked as examples wherever they are shown.
const demoRates = "BTC-EUR=86420.00,LTC-EUR=78.35,ETH-EUR=2650.10,XMR-EUR=300.00,EUR-USD=1.08," +
	"EUR-AUD=1.65,EUR-BRL=6.2,EUR-CAD=1.5,EUR-CHF=0.95,EUR-CNY=7.8,EUR-CZK=24.5,EUR-DKK=7.46,EUR-GBP=0.86,EUR-HKD=8.4," +
	"EUR-HUF=390,EUR-IDR=18000,EUR-ILS=3.9,EUR-INR=95,EUR-ISK=145,EUR-JPY=165,EUR-KRW=1550,EUR-MXN=20,EUR-MYR=4.8," +
	"EUR-NOK=11.7,EUR-NZD=1.85,EUR-PHP=63,EUR-PLN=4.25,EUR-RON=5.05,EUR-SEK=11,EUR-SGD=1.45,EUR-THB=37,EUR-TRY=45,EUR-ZAR=20"

// New returns a function that returns the current rates, and the loop that updates them; the loop is nil if the rates are
// fixed. A demo has example rates unless the settings have fixed rates. The error is about the setting with the fault.
func New(c config.Config, demo bool, now func() time.Time, log *slog.Logger) (current func() invoice.Rates, loop func(context.Context) error, err error) {
	text, isFixed := strings.CutPrefix(c.Rates, "fixed:")
	source := "fixed"
	if !isFixed && demo {
		text, source, isFixed = demoRates, "demo", true
	}
	if isFixed {
		fixed, err := rates.ParseFixed(text, source, rateCodes(c)...)
		if err != nil {
			return nil, nil, fmt.Errorf("CHEQUER_RATES: %w", err)
		}
		if err := checkPriced(c, fixed); err != nil {
			return nil, nil, err
		}
		return func() invoice.Rates { return fixed }, nil, nil
	}
	live, err := Live(c, now, log)
	if err != nil {
		return nil, nil, err
	}
	return func() invoice.Rates { return liveRates{live.View()} }, live.Run, nil
}

// Fetch returns the current rates after it has queried each source once, or the fixed rates. A source that does not answer gives no
// rate and no error.
func Fetch(ctx context.Context, c config.Config, demo bool, now func() time.Time, log *slog.Logger) (invoice.Rates, error) {
	current, loop, err := New(c, demo, now, log)
	switch {
	case err != nil:
		return nil, err
	case loop == nil:
		return current(), nil
	}
	live, err := Live(c, now, log)
	if err != nil {
		return nil, err
	}
	if err := live.Step(ctx); err != nil {
		log.Warn("rates not complete", "error", err)
	}
	return liveRates{live.View()}, nil
}

// rateCodes returns the rate codes of the coins and tokens of the EVM networks, including those of
// CHEQUER_EVM_TOKENS.
func rateCodes(c config.Config) []string {
	tokens, _ := ethereum.ParseTokens(c.EVM.TokenList()) // an invalid setting is reported where the networks are created
	return ethereum.RateCodes(tokens)
}

// checkPriced returns an error that names the enabled currencies without a fixed rate.
func checkPriced(c config.Config, fixed *rates.Fixed) error {
	fiats, _ := Fiats(c) // the start of the program reports unknown currencies
	var errs []error
	for _, fiat := range fiats {
		if _, err := fixed.Rate(money.EUR.Code, money.EUR, fiat); err != nil {
			errs = append(errs, fmt.Errorf("CHEQUER_RATES: fixed rates need EUR-%s, as CHEQUER_FIAT names %s", fiat.Code, fiat.Code))
		}
	}
	return errors.Join(errs...)
}

// Live returns a new table of the rates of the exchanges. It returns an error if c.EuroFloor is not a number.
func Live(c config.Config, now func() time.Time, log *slog.Logger) (*rates.Table, error) {
	floor, err := decimal.NewFromString(c.EuroFloor)
	if err != nil {
		return nil, err
	}
	live := rates.Live(rates.NewClient())
	live.EuroFloor, live.Now, live.Log = floor, now, log
	return rates.NewTable(live), nil
}

// liveRates are the rates of a live table at one moment.
type liveRates struct{ rates.View }

// Evidence implements invoice.Rates. It omits the time of the view, which the quote has too, so that
// quotes from the same prices share their evidence.
func (r liveRates) Evidence(fiat money.Currency, codes ...string) string {
	e := r.View.Evidence(fiat, codes...)
	e.At = time.Time{}
	return e.String()
}
