package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"

	"chequer/internal/config"
	"chequer/internal/exchange"
	"chequer/internal/guard"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/sale"
)

// exchanges returns the exchanges at which merchants can sell, at their own addresses. A setting
// replaces the address by one on this machine, for tests.
func (c *Core) exchanges(cfg config.Config) []exchange.Exchange {
	dialer := func(address string) exchange.Dialer {
		d := &guard.Dialer{Resolver: net.DefaultResolver}
		if address != "" {
			d.Policy.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("::1/128")}
		}
		return d
	}
	return []exchange.Exchange{
		exchange.NewKraken(cmp.Or(cfg.Kraken, exchange.KrakenURL), dialer(cfg.Kraken)),
		exchange.NewBitstamp(cmp.Or(cfg.Bitstamp, exchange.BitstampURL), dialer(cfg.Bitstamp), c.Now),
	}
}

// Accounts returns the service that changes merchants' exchange accounts.
func (c *Core) Accounts(cfg config.Config) *sale.Accounts {
	return sale.NewAccounts(sale.AccountsConfig{Storage: c.Storage, Exchanges: c.exchanges(cfg), Now: c.Now, Token: token})
}

// Desk returns the service by which the operator decides about conversions.
func (c *Core) Desk(invoices *invoice.Service) sale.Resolver {
	return sale.Resolver{Invoices: invoices, Now: c.Now}
}

// seller returns the loop that sells received coins.
func (c *Core) seller(cfg config.Config, invoices *invoice.Service, log *slog.Logger) *sale.Worker {
	return sale.New(sale.Config{Storage: c.Storage, Invoices: invoices, Exchanges: c.exchanges(cfg), Now: c.Now, Log: log})
}

// examineConversion reports whether received coins are sold, and which sales the operator must
// decide about.
func (c *Core) examineConversion(ctx context.Context, cfg config.Config, merchantID string, say func(Level, string, string, ...any)) error {
	accounts := c.Accounts(cfg)
	a, err := accounts.Account(ctx, merchantID)
	counts, fault := c.Storage.ConversionCounts(ctx)
	switch {
	case fault != nil:
		return fault
	case errors.Is(err, merchant.ErrNotFound):
		if waiting := counts[invoice.SaleWaiting] + counts[invoice.SaleSending]; waiting > 0 {
			say(LevelWarn, "selling for euro", "%s waiting, and there is no exchange account: chequer sale add", plural(waiting, "sale"))
		}
		return nil
	case err != nil:
		return err
	}
	about := "selling at " + a.Exchange
	switch {
	case a.Active && cfg.Worthless():
		say(LevelWarn, about, "nothing is sold while a test network is switched on: its coins are worth nothing")
	case a.Active:
		say(LevelOK, about, "on, %s waiting", plural(counts[invoice.SaleWaiting]+counts[invoice.SaleSending], "sale"))
	default:
		say(LevelWarn, about, "off: nothing is sold before chequer sale on")
	}
	if err := accounts.Examine(ctx, a); err != nil {
		say(LevelWarn, about, "%v", err)
	}
	if n := counts[invoice.SaleFailed]; n > 0 {
		say(LevelWarn, about, "%s failed, which you must decide about: chequer sale list --state failed", plural(n, "sale"))
	}
	return nil
}
