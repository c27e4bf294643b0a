package app

import (
	"context"
	"slices"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/clock"
	"chequer/internal/config"
	"chequer/internal/demo"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/metrics"
	"chequer/internal/networks"
	"chequer/internal/prices"
)

// domain holds the services and values that the edges and the loops of a server share.
type domain struct {
	*Core
	shop     merchant.Merchant // the oldest, whose storefront is at the root
	demoKey  merchant.Key      // the zero Key unless the server is a demo
	networks []networks.Network
	// connections are the Lightning networks of live invoices, which networks does not have.
	connections *connections
	simnet      *simnet.Network
	invoices    *invoice.Service
	metrics     *metrics.Metrics
	rates       func() invoice.Rates
	// updateRates is the loop that updates the rates; nil if they are fixed.
	updateRates func(context.Context) error
}

// newDomain builds the services of a server. It creates the first shop, the test wallets of every
// shop and the key of proofs if they do not exist.
func newDomain(ctx context.Context, c config.Config, o Options, core *Core) (*domain, error) {
	d := &domain{Core: core, simnet: simnet.New(core.Storage, core.Now)}
	if err := d.prepareShops(ctx, c, o); err != nil {
		return nil, err
	}
	rates, update, err := prices.New(c, o.Demo, clock.Now, o.Log)
	if err != nil {
		return nil, err
	}
	d.updateRates, d.rates = update, rates
	if d.networks, err = networks.New(c, core.Storage, core.Now, o.Log); err != nil {
		return nil, err
	}
	d.connections = newConnections(c, core.Storage, core.Now, o.Log)
	if err := d.connections.update(ctx); err != nil {
		return nil, err
	}
	if !c.Unwatched {
		if err := core.checkStillWatched(ctx, d.allNetworks()); err != nil {
			return nil, err
		}
	}
	settings := core.invoiceConfig(c, networks.Chains(d.networks), d.connections, d.simnet, rates, o.Log)
	settings.RequireScanSinceStart = true // this process scans the networks
	d.invoices = invoice.NewService(settings)
	d.metrics = metrics.New(metrics.Config{Storage: core.Storage, Networks: d.allChains, Reached: d.invoices.Reached, Now: core.Now})
	return d, nil
}

// allNetworks returns the networks of live invoices, including those of connections.
func (d *domain) allNetworks() []networks.Network {
	return slices.Concat(d.networks, d.connections.opened())
}

// allChains returns the networks of live invoices without their sources.
func (d *domain) allChains() []chain.Network { return networks.Chains(d.allNetworks()) }

// prepareShops creates the first shop, the test wallets of every shop and the key of proofs, and the key and
// products of a demo, if they do not exist.
func (d *domain) prepareShops(ctx context.Context, c config.Config, o Options) (err error) {
	if d.shop, err = d.FirstShop(ctx, c, o); err != nil {
		return err
	}
	shops, err := d.Merchants.Shops(ctx)
	if err != nil {
		return err
	}
	for _, m := range shops {
		if err := d.Merchants.EnsureTestWallets(ctx, m.ID); err != nil {
			return err
		}
	}
	if err := d.Proofs.Ensure(ctx); err != nil {
		return err
	}
	if o.Demo {
		d.demoKey, err = demo.Prepare(ctx, d.Storage, d.Products, d.shop.ID, d.Now())
	}
	return err
}
