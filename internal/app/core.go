package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"chequer/internal/account"
	"chequer/internal/casework"
	"chequer/internal/config"
	"chequer/internal/datadir"
	"chequer/internal/demo"
	"chequer/internal/doctor"
	"chequer/internal/merchant"
	"chequer/internal/networks"
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
	Casework      *casework.Service
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
	settings, err := newSettings(c, o.Demo, amounts, store, merchants)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &Core{
		Storage:   store,
		Merchants: merchants,
		Settings:  settings,
		Wallets: merchant.NewWallets(merchant.WalletsConfig{Storage: store, Encode: wire.WalletEvent, Now: clock, Token: token.New,
			Examine: func(ctx context.Context, text string) (merchant.Connection, error) {
				return networks.ExamineConnection(ctx, c, text, clock, o.Log)
			},
		}),
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
		Casework:      casework.NewService(casework.Config{Storage: store, Now: clock, Token: token.New}),
		Prices:        amounts,
		Proofs:        proof.NewKeyring(store, clock),
		Now:           clock,

		identity: readiness.NewIdentity(box),
	}, nil
}

// Close closes the storage.
func (c *Core) Close() error { return c.Storage.Close() }

// FirstShop returns the oldest merchant, whose storefront is at the root. It creates the merchant if there
// is none, and renames it if the settings have another name.
func (c *Core) FirstShop(ctx context.Context, cfg config.Config, o Options) (merchant.Merchant, error) {
	shop, err := c.Merchants.EnsureFirst(ctx, shopName(cfg, o))
	if err != nil || cfg.ShopName == "" || cfg.ShopName == shop.Name {
		return shop, err
	}
	if err := c.Merchants.RenameShop(ctx, shop.ID, "", cfg.ShopName); err != nil {
		return shop, fmt.Errorf("CHEQUER_SHOP_NAME: %w", err)
	}
	return c.Merchants.Merchant(ctx, shop.ID)
}

// Shops returns all merchants, oldest first. The first one is created if there is none.
func (c *Core) Shops(ctx context.Context, cfg config.Config) ([]merchant.Merchant, error) {
	if _, err := c.FirstShop(ctx, cfg, Options{}); err != nil {
		return nil, err
	}
	return c.Merchants.Shops(ctx)
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

// Examine reports what works and what is missing before shoppers can pay at the given shops.
func (c *Core) Examine(ctx context.Context, cfg config.Config, shops ...merchant.Merchant) ([]doctor.Finding, error) {
	isDemo, err := demo.IsDemo(ctx, c.Storage)
	if err != nil {
		return nil, err
	}
	storefronts := map[string]bool{}
	for _, m := range shops {
		payment, err := c.Settings.Effective(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		storefronts[m.ID] = payment.Storefront
	}
	return doctor.Examine(ctx, doctor.Config{
		Settings: cfg, Demo: isDemo, Shops: shops, Storefronts: storefronts, Storage: c.Storage, Endpoints: c.Endpoints, Accounts: c.Accounts(cfg), Desk: c.Desk,
		EndpointPolicy: endpointPolicy(cfg), Identity: c.identity, Now: c.Now,
	})
}
