package app

import (
	"context"
	"log/slog"
	"slices"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/clock"
	"chequer/internal/config"
	"chequer/internal/greenfield"
	"chequer/internal/invoice"
	"chequer/internal/networks"
	"chequer/internal/prices"
	"chequer/internal/token"
	"chequer/internal/wire"
)

// Invoices returns a service for a command that runs while the server runs. If open invoices wait for
// payments on a network that these settings do not watch, it returns an error that names the
// network. Otherwise the command would treat the network as unwatched, and invoices would expire by the
// clock alone.
func (c *Core) Invoices(ctx context.Context, cfg config.Config, o Options) (*invoice.Service, error) {
	rates, _, err := prices.New(cfg, o.Demo, clock.Now, o.Log)
	if err != nil {
		return nil, err
	}
	if o.FetchRates {
		fetched, err := prices.Fetch(ctx, cfg, o.Demo, clock.Now, o.Log)
		if err != nil {
			return nil, err
		}
		rates = func() invoice.Rates { return fetched }
	}
	all, err := networks.New(cfg, c.Storage, c.Now, o.Log)
	if err != nil {
		return nil, err
	}
	connections := newConnections(cfg, c.Storage, c.Now, o.Log)
	if err := connections.update(ctx); err != nil {
		return nil, err
	}
	if !cfg.Unwatched {
		if err := c.checkStillWatched(ctx, slices.Concat(all, connections.opened())); err != nil {
			return nil, err
		}
	}
	return invoice.NewService(c.invoiceConfig(cfg, networks.Chains(all), connections, simnet.New(c.Storage, c.Now), rates, o.Log)), nil
}

// invoiceConfig returns the configuration of a service for the invoices in storage.
func (c *Core) invoiceConfig(cfg config.Config, live []chain.Network, connections *connections, sim *simnet.Network, rates func() invoice.Rates, log *slog.Logger) invoice.Config {
	return invoice.Config{
		Storage:     c.Storage,
		Networks:    map[invoice.Mode][]chain.Network{invoice.Live: live, invoice.Test: {sim}},
		Connections: connections,
		Rates:       rates,
		Unwatched:   bool(cfg.Unwatched),
		MaxScanAge:  cfg.MaxScanAge,
		Now:         c.Now,
		NewID:       func() string { return token.New(32) },
		Encode:      wire.Event,
		Messages:    greenfield.Messages,
		Changes:     c.Storage,
		Log:         log,
	}
}
