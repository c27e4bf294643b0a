package app

import (
	"context"
	"fmt"
	"slices"

	"chequer/internal/merchant"
)

// DemoKey is the test key of the demo shop, to try the API with.
func (a *App) DemoKey() merchant.Key { return a.demoKey }

// demoKeyID is that of the one key whose secret the demo may show again: no other
// test key of the shop is.
const demoKeyID = "key_demo"

// ensureDemoKey makes the demo shop's test key once and finds it again.
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
