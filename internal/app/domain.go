package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"chequer/internal/chain/simnet"
	"chequer/internal/clock"
	"chequer/internal/config"
	"chequer/internal/demo"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/metrics"
	"chequer/internal/networks"
	"chequer/internal/prices"
)

// domain holds what the edges and the loops of a server share.
type domain struct {
	*Core
	shop     merchant.Merchant
	demoKey  merchant.Key // only of a demo
	networks []networks.Network
	simnet   *simnet.Network
	invoices *invoice.Service
	metrics  *metrics.Metrics
	rates    func() invoice.Rates
	// updateRates is the loop that updates the rates; nil if they are fixed.
	updateRates func(context.Context) error
}

// newDomain builds the services of a server. It creates the shop with its test wallets and its key of
// proofs if they do not exist.
func newDomain(ctx context.Context, c config.Config, o Options, core *Core) (*domain, error) {
	d := &domain{Core: core, simnet: simnet.New(core.Storage, core.Now)}
	if err := d.prepareShop(ctx, c, o); err != nil {
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

// prepareShop creates the shop with its test wallets and its key of proofs, and the key and products
// of a demo, if they do not exist.
func (d *domain) prepareShop(ctx context.Context, c config.Config, o Options) (err error) {
	if d.shop, err = d.Shop(ctx, c, o); err != nil {
		return err
	}
	if err := d.ensureTestWallets(ctx, d.shop); err != nil {
		return err
	}
	if err := d.Proofs.Ensure(ctx); err != nil {
		return err
	}
	if o.Demo {
		d.demoKey, err = demo.Prepare(ctx, d.Storage, d.Products, d.shop.ID, d.Now())
	}
	return err
}

// ensureTestWallets creates the wallets of a merchant's test invoices once. Their private keys are
// kept, sealed, so that coins that are sent to a test address by mistake are not lost.
func (c *Core) ensureTestWallets(ctx context.Context, m merchant.Merchant) error {
	existing, err := c.Storage.Wallets(ctx, m.ID, merchant.Test)
	if err != nil {
		return fmt.Errorf("test wallets: %w", err)
	}
	for _, kind := range []keys.Kind{keys.BTC, keys.LTC, keys.ETH} {
		if slices.ContainsFunc(existing, func(w merchant.Wallet) bool { return w.Asset == string(kind) }) {
			continue
		}
		secret, key, err := keys.NewTestKey(rand.Reader, kind)
		if err != nil {
			return fmt.Errorf("test wallets: %w", err)
		}
		if err := c.Wallets.AddTest(ctx, m.ID, key, secret); err != nil && !errors.Is(err, merchant.ErrExists) {
			return fmt.Errorf("test wallets: %w", err)
		}
	}
	return nil
}
