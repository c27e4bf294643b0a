package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/merchant"
)

// Level says how bad a finding is.
type Level string

// The levels of a finding.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn"
	LevelFail Level = "fail"
)

// Finding is one thing that the doctor looked at.
type Finding struct {
	Level Level  `json:"level"`
	About string `json:"about"`
	Says  string `json:"says"`
}

// Examine says what works and what is missing before shoppers can pay.
func (c *Core) Examine(ctx context.Context, cfg config.Config) ([]Finding, error) {
	var found []Finding
	say := func(level Level, about, format string, args ...any) {
		found = append(found, Finding{Level: level, About: about, Says: fmt.Sprintf(format, args...)})
	}
	shop, err := c.Shop(ctx, cfg, Options{})
	if err != nil {
		return nil, err
	}
	say(LevelOK, "storage", "%s opens, the master key fits", engine(cfg))
	wallets, err := c.Storage.Wallets(ctx, shop.ID, merchant.Live)
	if err != nil {
		return nil, err
	}
	if len(wallets) == 0 {
		say(LevelFail, "wallets", "none yet: chequer wallet add BTC zpub…")
	}
	for _, w := range wallets {
		say(LevelOK, "wallet", "%s since %s", w.Asset, w.CreatedAt.UTC().Format(time.DateOnly))
	}
	if _, err := rateTable(cfg, Options{}); err != nil {
		say(LevelFail, "rates", "%v", err)
	} else {
		say(LevelWarn, "rates", "fixed by CHEQUER_RATES: they do not follow the market")
	}
	c.examineNetworks(cfg, wallets, say)
	if err := c.examineScans(ctx, say); err != nil {
		return nil, err
	}
	keys, err := c.Storage.Keys(ctx, shop.ID)
	if err != nil {
		return nil, err
	}
	live := slices.ContainsFunc(keys, func(k merchant.Key) bool { return k.RevokedAt.IsZero() && k.Mode == merchant.Live })
	if !live && !bool(cfg.Storefront) {
		say(LevelWarn, "keys", "no live API key and no storefront, so nobody can make an invoice: chequer key add")
	}
	return found, nil
}

// examineNetworks says who looks for the money of the wallets.
func (c *Core) examineNetworks(cfg config.Config, wallets []merchant.Wallet, say func(Level, string, string, ...any)) {
	for _, n := range liveNetworks() {
		used := slices.ContainsFunc(wallets, func(w merchant.Wallet) bool {
			return slices.ContainsFunc(n.Assets(), func(a chain.Asset) bool { return a.Wallet == w.Asset })
		})
		_, watched := n.(chain.Scanner)
		switch {
		case !used:
		case watched:
			say(LevelOK, "network "+string(n.ID()), "is watched")
		case bool(cfg.Unwatched):
			say(LevelWarn, "network "+string(n.ID()), "is offered, but nobody looks: check each payment in your own wallet")
		default:
			say(LevelFail, "network "+string(n.ID()), "is not offered, as nobody looks at it yet; CHEQUER_UNWATCHED=on offers it all the same")
		}
	}
}

// examineScans says how far the running server has looked.
func (c *Core) examineScans(ctx context.Context, say func(Level, string, string, ...any)) error {
	progress, err := c.Storage.Progress(ctx)
	if err != nil {
		return err
	}
	for id, p := range progress {
		age := c.Now().Sub(p.Scanned).Round(time.Second)
		say(LevelOK, "network "+string(id), "scanned to block %d, %s ago", p.Tip.Height, age)
	}
	return nil
}

// engine names the database.
func engine(cfg config.Config) string {
	if strings.HasPrefix(cfg.DatabaseURL, "postgres") {
		return "PostgreSQL"
	}
	return "SQLite"
}
