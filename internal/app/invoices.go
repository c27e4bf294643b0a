package app

import (
	"context"
	"log/slog"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/config"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/server"
)

// Invoices is the service that the running program decides with, for a command
// beside it. A network that is looked at there and not by these settings would
// count as looked at by the clock: where invoices wait for money on one, it is an
// error that names it.
func (c *Core) Invoices(ctx context.Context, cfg config.Config, o Options) (*invoice.Service, error) {
	rates, _, err := rateTable(cfg, o)
	if err != nil {
		return nil, err
	}
	networks, err := liveNetworks(cfg, c.Now, o.Log)
	if err != nil {
		return nil, err
	}
	if !cfg.Unwatched {
		if err := c.mustLookStill(ctx, networks); err != nil {
			return nil, err
		}
	}
	return invoice.NewService(c.service(cfg, networksOf(networks), simnet.New(c.Storage, c.Now), rates, o.Log)), nil
}

// service returns what a service that decides about the invoices in storage is made of.
func (c *Core) service(cfg config.Config, live []chain.Network, sim *simnet.Network, rates func() invoice.Rates, log *slog.Logger) invoice.Config {
	return invoice.Config{
		Storage:    c.Storage,
		Networks:   map[invoice.Mode][]chain.Network{invoice.Live: live, invoice.Test: {sim}},
		Rates:      rates,
		Unwatched:  bool(cfg.Unwatched),
		MaxScanAge: cfg.MaxScanAge,
		Tolerance:  tolerance(cfg),
		Now:        c.Now,
		NewID:      func() string { return token(32) },
		Encode:     server.EncodeEvent,
		Log:        log,
	}
}

// tolerance returns how much of a price may be missing. Config has checked both texts.
func tolerance(cfg config.Config) invoice.Tolerance {
	var t invoice.Tolerance
	if share, err := money.Parse(cfg.TolerancePercent, money.Currency{Code: "percent", Decimals: 2}); err == nil {
		t.Percent = share.Cents()
	}
	if euro, err := money.Parse(cfg.ToleranceAmount, money.EUR); err == nil {
		t.Euro = euro
	}
	return t
}
