package app

import (
	"context"
	"log/slog"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/config"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/wire"
)

// Invoices returns a service for a command that runs while the server runs. If open invoices wait for
// payments on a network that these settings do not watch, it returns an error that names the
// network. Otherwise the command would treat the network as unwatched, and invoices would expire by the
// clock alone.
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
		if err := c.checkStillWatched(ctx, networks); err != nil {
			return nil, err
		}
	}
	return invoice.NewService(c.service(cfg, networksOf(networks), simnet.New(c.Storage, c.Now), rates, o.Log)), nil
}

// service returns the configuration of a service that decides about the invoices in storage.
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
		Encode:     wire.Event,
		Log:        log,
	}
}

// tolerance returns the part of a price that may be missing. Package config has checked both settings.
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
