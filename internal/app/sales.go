package app

import (
	"cmp"
	"log/slog"
	"net"
	"net/netip"

	"chequer/internal/config"
	"chequer/internal/exchange"
	"chequer/internal/guard"
	"chequer/internal/invoice"
	"chequer/internal/sale"
	"chequer/internal/token"
)

// exchanges returns the exchanges at which merchants can sell, at their own addresses. A setting
// replaces the address by an address on this machine, for tests.
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
	return sale.NewAccounts(sale.AccountsConfig{Storage: c.Storage, Exchanges: c.exchanges(cfg), Now: c.Now, Token: token.New})
}

// SaleResolver returns the service by which the operator decides about sales.
func (c *Core) SaleResolver(invoices *invoice.Service) sale.Resolver {
	return sale.Resolver{Invoices: invoices, Now: c.Now}
}

// seller returns the loop that sells received coins.
func (c *Core) seller(cfg config.Config, invoices *invoice.Service, log *slog.Logger) *sale.Worker {
	return sale.New(sale.Config{Storage: c.Storage, Invoices: invoices, Exchanges: c.exchanges(cfg), Now: c.Now, Log: log})
}
