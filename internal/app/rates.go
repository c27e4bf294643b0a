package app

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/config"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/rates"
)

// demoRates are made up, and marked as such wherever they are shown.
const demoRates = "BTC-EUR=86420.00,LTC-EUR=78.35,ETH-EUR=2650.10,EUR-USD=1.08"

// Check says what is wrong with settings that only the program's parts can judge.
func Check(c config.Config) error {
	_, _, err := rateTable(c, Options{Log: slog.New(slog.DiscardHandler)})
	return err
}

// rateTable makes the table that the settings ask for, and the loop that keeps it
// up to date, if it needs one.
func rateTable(c config.Config, o Options) (moment func() invoice.Rates, loop func(context.Context) error, err error) {
	text, isFixed := strings.CutPrefix(c.Rates, "fixed:")
	source := "fixed"
	if !isFixed && o.Demo {
		text, source, isFixed = demoRates, "demo", true
	}
	if isFixed {
		fixed, err := rates.ParseFixed(text, source)
		if err != nil {
			return nil, nil, fmt.Errorf("CHEQUER_RATES: %w", err)
		}
		return func() invoice.Rates { return fixed }, nil, nil
	}
	live, err := liveTable(c, o.Log)
	if err != nil {
		return nil, nil, err
	}
	return func() invoice.Rates { return liveRates{live.View()} }, live.Run, nil
}

// liveTable asks the exchanges.
func liveTable(c config.Config, log *slog.Logger) (*rates.Table, error) {
	floor, err := decimal.NewFromString(c.EuroFloor)
	if err != nil {
		return nil, err
	}
	live := rates.Live(rates.NewClient())
	live.EuroFloor, live.Now, live.Log = floor, now, log
	return rates.NewTable(live), nil
}

// liveRates is a moment of a live table.
type liveRates struct{ rates.View }

// Evidence implements invoice.Rates. It leaves out when it was asked for, which
// the quote tells, so that quotes of the same moment share it.
func (r liveRates) Evidence(fiat money.Currency, codes ...string) string {
	e := r.View.Evidence(fiat, codes...)
	e.At = time.Time{}
	return e.String()
}
