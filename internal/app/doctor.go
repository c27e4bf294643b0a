package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/rates"
)

// Level is the severity of a finding.
type Level string

// The levels of a finding.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn"
	LevelFail Level = "fail"
)

// Finding is one result of the doctor.
type Finding struct {
	Level Level  `json:"level"`
	About string `json:"about"`
	Says  string `json:"says"`
}

// Examine reports what works and what is missing before shoppers can pay.
func (c *Core) Examine(ctx context.Context, cfg config.Config) ([]Finding, error) {
	var found []Finding
	say := func(level Level, about, format string, args ...any) {
		found = append(found, Finding{Level: level, About: about, Says: fmt.Sprintf(format, args...)})
	}
	shop, err := c.Shop(ctx, cfg, Options{})
	if err != nil {
		return nil, err
	}
	if err := c.Storage.Ready(ctx); err != nil {
		say(LevelFail, "storage", "%s takes no writes, so no invoice can be made: %s", place(cfg), oneLine(err))
	} else {
		say(LevelOK, "storage", "%s takes writes, the master key fits", place(cfg))
	}
	examineSpace(cfg, say)
	running, answers := c.askServer(ctx, cfg)
	if answers && !running.Ready {
		say(LevelFail, "server", "that on %s is not ready to take invoices: its log says why", cfg.Listen)
	}
	c.examineAddress(ctx, cfg, answers, say)
	if err := c.examineProxy(ctx, cfg, say); err != nil {
		return nil, err
	}
	if err := c.examineClocks(ctx, say); err != nil {
		return nil, err
	}
	wallets, err := c.Storage.Wallets(ctx, shop.ID, merchant.Live)
	if err != nil {
		return nil, err
	}
	if len(wallets) == 0 {
		say(LevelFail, "wallets", "none yet: chequer wallet add BTC zpub…")
	}
	for _, w := range wallets {
		gives, err := WalletMethods(cfg, keys.Kind(w.Asset))
		if err != nil {
			return nil, err
		}
		say(LevelOK, "wallet", "%s since %s, %s", w.Asset, w.CreatedAt.UTC().Format(time.DateOnly), gives)
		choices, err := WalletChoices(cfg, keys.Kind(w.Asset))
		if err != nil {
			return nil, err
		}
		for _, choice := range choices {
			say(LevelOK, "more for "+w.Asset, "%s", choice)
		}
	}
	if err := examineRates(ctx, cfg, say); err != nil {
		return nil, err
	}
	networks, err := liveNetworks(cfg, c.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	c.examineNetworks(ctx, cfg, networks, wallets, running, answers, say)
	examinePrices(cfg, networks, wallets, say)
	if err := c.examineGaps(ctx, networks, shop.ID, say); err != nil {
		return nil, err
	}
	if err := c.examineEndpoints(ctx, cfg, shop.ID, say); err != nil {
		return nil, err
	}
	if err := c.examineConversion(ctx, cfg, shop.ID, say); err != nil {
		return nil, err
	}
	if len(wallets) > 0 {
		examineBackup(cfg, c.Now(), say)
	}
	keys, err := c.Storage.Keys(ctx, shop.ID)
	if err != nil {
		return nil, err
	}
	live := slices.ContainsFunc(keys, func(k merchant.Key) bool { return k.RevokedAt.IsZero() && k.Mode == merchant.Live })
	if !live && !bool(cfg.Storefront) {
		say(LevelWarn, "keys", "no live API key, so no shop can create invoices through the API: chequer key add")
	}
	return found, nil
}

// ExamineUnopened returns the findings when the storage cannot be opened, for the given reason.
func ExamineUnopened(cfg config.Config, reason error) []Finding {
	found := []Finding{{Level: LevelFail, About: "storage", Says: oneLine(reason)}}
	examineSpace(cfg, func(level Level, about, format string, args ...any) {
		found = append(found, Finding{Level: level, About: about, Says: fmt.Sprintf(format, args...)})
	})
	return found
}

// oneLine returns the text of an error on one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// examineRates queries every source of rates once and reports the results.
func examineRates(ctx context.Context, cfg config.Config, say func(Level, string, string, ...any)) error {
	if strings.HasPrefix(cfg.Rates, "fixed:") {
		say(LevelWarn, "rates", "fixed by CHEQUER_RATES: they do not follow the market")
		return nil
	}
	table, err := liveTable(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	_ = table.Step(ctx) // the report has the error of each source
	report := table.Report()
	for _, s := range report.Sources {
		if s.Fault != "" {
			say(LevelWarn, "rates of "+s.Name, "%s", s.Fault)
			continue
		}
		for _, w := range s.Quotations {
			say(LevelOK, "rates of "+s.Name, "%s bid %s, last %s, %s old%s", w.Pair, w.Bid, w.Last, w.Age.Round(time.Second), dropped(w.Dropped))
		}
	}
	priced := false
	for _, p := range report.Pairs {
		if p.Fault != "" {
			say(LevelWarn, "rate "+p.Pair, "%s", p.Fault)
			continue
		}
		priced = true
		say(LevelOK, "rate "+p.Pair, "%s", p.Price)
	}
	examineFiats(cfg, report, say)
	if !priced {
		say(LevelFail, "rates", "no source gives a price; CHEQUER_RATES=fixed:BTC-EUR=86420.00,LTC-EUR=78.35,ETH-EUR=2650.10,EUR-USD=1.08 sets them by hand")
	}
	return nil
}

// examineFiats reports whether invoices can be created in the enabled currencies.
func examineFiats(cfg config.Config, report rates.Report, say func(Level, string, string, ...any)) {
	list, _ := fiats(cfg) // an invalid setting has prevented the start
	for _, fiat := range list {
		pair := "EUR-" + fiat.Code
		i := slices.IndexFunc(report.Pairs, func(p rates.PairReport) bool { return p.Pair == pair })
		if i >= 0 && report.Pairs[i].Fault == "" {
			say(LevelOK, "currency "+fiat.Code, "a euro is %s %s", report.Pairs[i].Price, fiat.Code)
			continue
		}
		say(LevelFail, "currency "+fiat.Code, "no invoice can be made in it: the European Central Bank's table has no price of the last 5 days")
	}
}

func dropped(why string) string {
	if why == "" {
		return ""
	}
	return ", left out: " + why
}

// gapLimit is the number of consecutive unused addresses after which wallets stop searching. See
// BIP 44, "Address gap limit".
const gapLimit = 20

// examineGaps warns if a wallet may have stopped searching before the newest addresses.
func (c *Core) examineGaps(ctx context.Context, networks []live, merchantID string, say func(Level, string, string, ...any)) error {
	for _, n := range networks {
		unused, err := c.Storage.UnusedInARow(ctx, merchantID, n.ID())
		if err != nil {
			return err
		}
		if unused > gapLimit {
			say(LevelWarn, "network "+string(n.ID()), "the last %d addresses are unused, and many wallets look at no more than %d in a row: raise your wallet's gap limit above %d", unused, gapLimit, unused)
		}
	}
	return nil
}

// examinePrices reports the coins of the wallets for which there is no fixed rate.
func examinePrices(cfg config.Config, networks []live, wallets []merchant.Wallet, say func(Level, string, string, ...any)) {
	moment, loop, err := rateTable(cfg, Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil || loop != nil {
		return // reported elsewhere, or rates come from sources
	}
	for _, n := range networks {
		for _, a := range n.Assets() {
			used := slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == a.Wallet })
			if _, err := moment().Rate(a.Rate, a.Currency, money.EUR); used && err != nil {
				say(LevelWarn, a.Code, "has no rate, so it is not offered: add %s-EUR=… to CHEQUER_RATES", a.Rate)
			}
		}
	}
}

// place returns the kind of the database and the path of its file.
func place(cfg config.Config) string {
	path, isFile := strings.CutPrefix(cfg.DatabaseURL, "sqlite:")
	if !isFile {
		return "PostgreSQL"
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return "SQLite in " + path
}
