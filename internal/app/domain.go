package app

import (
	"context"

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
	simnet   *simnet.Network
	invoices *invoice.Service
	metrics  *metrics.Metrics
	rates    func() invoice.Rates
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
	if d.networks, err = networks.New(c, core.Now, o.Log); err != nil {
		return nil, err
	}
	if !c.Unwatched {
		if err := core.checkStillWatched(ctx, d.networks); err != nil {
			return nil, err
		}
	}
	chains := networks.Chains(d.networks)
	settings := core.invoiceConfig(c, chains, d.simnet, rates, o.Log)
	settings.RequireScanSinceStart = true // this process scans the networks
	d.invoices = invoice.NewService(settings)
	d.metrics = metrics.New(metrics.Config{Storage: core.Storage, Networks: chains, Reached: d.invoices.Reached, Now: core.Now})
	return d, nil
}

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
