package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"chequer/internal/account"
	"chequer/internal/config"
	"chequer/internal/datadir"
	"chequer/internal/doctor"
	"chequer/internal/merchant"
	"chequer/internal/notify"
	"chequer/internal/prices"
	"chequer/internal/proof"
	"chequer/internal/readiness"
	"chequer/internal/storage"
	"chequer/internal/token"
	"chequer/internal/wire"
)

// Core holds the storage and the merchants' services. The server and the commands share it.
type Core struct {
	Storage   *storage.Storage
	Merchants *merchant.Service
	Settings  *merchant.Settings
	Wallets   *merchant.Wallets
	Endpoints *merchant.Endpoints
	Links     *merchant.Links
	Products  *merchant.Products
	Terminals *merchant.Terminals
	Themes    *merchant.Themes
	Desk      *account.Service
	Prices    merchant.Prices
	Proofs    *proof.Keyring
	// Notifications keeps the notifications of accounts.
	Notifications *notify.Service
	Now           func() time.Time

	identity readiness.Identity
}

// OpenCore opens the storage. It creates the data directory, the master key and the
// database if they do not exist, unless o.Existing is set.
func OpenCore(ctx context.Context, c config.Config, o Options) (*Core, error) {
	fiats, err := prices.Fiats(c)
	if err != nil {
		return nil, err
	}
	amounts := merchant.NewPrices(fiats, c.MaxAmount)
	store, box, err := datadir.Open(ctx, c, datadir.Options{Upgrade: o.Upgrade, Existing: o.Existing, Now: o.clock(), Log: o.Log})
	if err != nil {
		return nil, err
	}
	clock := o.clock()
	desk, err := newDesk(c, store, box, clock)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	merchants := merchant.NewService(store, clock, token.New)
	settings, err := newSettings(c, o.Demo, store, merchants)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &Core{
		Storage:   store,
		Merchants: merchants,
		Settings:  settings,
		Wallets:   merchant.NewWallets(merchant.WalletsConfig{Storage: store, Encode: wire.WalletEvent, Now: clock, Token: token.New}),
		Endpoints: merchant.NewEndpoints(merchant.EndpointsConfig{
			Storage: store, Check: endpointPolicy(c).Check, EncodeTest: wire.TestEvent, Now: clock, Token: token.New,
		}),
		Links: merchant.NewLinks(merchant.LinksConfig{
			Storage: store, Prices: amounts, Now: clock, Token: token.New,
		}),
		Products: merchant.NewProducts(merchant.ProductsConfig{
			Storage: store, Prices: amounts, Now: clock,
		}),
		Terminals: merchant.NewTerminals(merchant.TerminalsConfig{
			Storage: store, Prices: amounts, Now: clock, Token: token.New,
		}),
		Themes:        merchant.NewThemes(store, clock),
		Desk:          desk,
		Notifications: newNotifications(c, store, clock),
		Prices:        amounts,
		Proofs:        proof.NewKeyring(store, clock),
		Now:           clock,

		identity: readiness.NewIdentity(box),
	}, nil
}

// Close closes the storage.
func (c *Core) Close() error { return c.Storage.Close() }

// Shop returns the server's merchant. It creates the merchant if there is none, and renames it if
// the settings have another name.
func (c *Core) Shop(ctx context.Context, cfg config.Config, o Options) (merchant.Merchant, error) {
	shop, err := c.Merchants.First(ctx, shopName(cfg, o))
	if err != nil || cfg.ShopName == "" || cfg.ShopName == shop.Name {
		return shop, err
	}
	shop.Name = cfg.ShopName
	if err := c.Storage.RenameMerchant(ctx, shop.ID, shop.Name); err != nil {
		return shop, fmt.Errorf("rename shop: %w", err)
	}
	return shop, nil
}

// shopName returns the name of the merchant that is created in an empty database.
func shopName(c config.Config, o Options) string {
	switch {
	case c.ShopName != "":
		return c.ShopName
	case o.Demo:
		return "Demo shop"
	}
	return "Shop"
}

// Examine reports what works and what is missing before shoppers can pay.
func (c *Core) Examine(ctx context.Context, cfg config.Config) ([]doctor.Finding, error) {
	shop, err := c.Shop(ctx, cfg, Options{})
	if err != nil {
		return nil, err
	}
	payment, err := c.Settings.Effective(ctx, shop.ID)
	if err != nil {
		return nil, err
	}
	return doctor.Examine(ctx, doctor.Config{
		Settings: cfg, Storefront: payment.Storefront, Shop: shop, Storage: c.Storage, Endpoints: c.Endpoints, Accounts: c.Accounts(cfg), Desk: c.Desk,
		EndpointPolicy: endpointPolicy(cfg), Identity: c.identity, Now: c.Now,
	})
}
