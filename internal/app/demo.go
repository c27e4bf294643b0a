package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"chequer/internal/merchant"
)

// DemoKey returns the test key of the demo shop.
func (a *App) DemoKey() merchant.Key { return a.demoKey }

// demoKeyID is the identifier of the demo's key. The demo shows the secret of this key at every start.
const demoKeyID = "key_demo"

// errRealShop means that a database belongs to a real shop. A demo would price its payments with
// example rates.
var errRealShop = errors.New("this database belongs to a real shop, with a wallet or a live key: a demo needs a separate database, see CHEQUER_DATA_DIR and CHEQUER_DATABASE_URL")

// mustBeDemo returns errRealShop if the merchant has a live wallet or a live key.
func (c *Core) mustBeDemo(ctx context.Context, m merchant.Merchant) error {
	wallets, err := c.Storage.Wallets(ctx, m.ID, merchant.Live)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	list, err := c.Storage.Keys(ctx, m.ID)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	live := slices.ContainsFunc(list, func(k merchant.Key) bool { return k.Mode == merchant.Live && k.RevokedAt.IsZero() })
	if live || len(wallets) > 0 {
		return errRealShop
	}
	return nil
}

// IsDemo reports whether a merchant's shop is a demo: the demo created it, and it has no live
// wallet or key.
func (c *Core) IsDemo(ctx context.Context, merchantID string) (bool, error) {
	list, err := c.Storage.Keys(ctx, merchantID)
	if err != nil {
		return false, fmt.Errorf("keys: %w", err)
	}
	if !slices.ContainsFunc(list, func(k merchant.Key) bool { return k.ID == demoKeyID }) {
		return false, nil
	}
	err = c.mustBeDemo(ctx, merchant.Merchant{ID: merchantID})
	if errors.Is(err, errRealShop) {
		return false, nil
	}
	return err == nil, err
}

// ensureDemoKey returns the demo shop's test key and creates it if it does not exist.
func (c *Core) ensureDemoKey(ctx context.Context, m merchant.Merchant) (merchant.Key, error) {
	list, err := c.Storage.Keys(ctx, m.ID)
	if err != nil {
		return merchant.Key{}, fmt.Errorf("demo key: %w", err)
	}
	i := slices.IndexFunc(list, func(k merchant.Key) bool { return k.ID == demoKeyID })
	if i >= 0 {
		return list[i], nil
	}
	key := merchant.Key{
		ID: demoKeyID, MerchantID: m.ID, Key: token(32), Secret: token(40),
		Mode: merchant.Test, Scopes: merchant.AllScopes, CreatedAt: c.Now(),
	}
	if err := c.Storage.CreateKey(ctx, key); err != nil {
		return merchant.Key{}, fmt.Errorf("demo key: %w", err)
	}
	return key, nil
}
