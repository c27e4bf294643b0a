package app

import (
	"context"
	"fmt"
	"slices"

	"chequer/internal/merchant"
)

// DemoKey is the test key of the demo shop, to try the API with.
func (a *App) DemoKey() merchant.Key { return a.demoKey }

// ensureDemoKey makes the demo shop's test key once and finds it again.
func (c *Core) ensureDemoKey(ctx context.Context, m merchant.Merchant) (merchant.Key, error) {
	list, err := c.Storage.Keys(ctx, m.ID)
	if err != nil {
		return merchant.Key{}, fmt.Errorf("demo key: %w", err)
	}
	i := slices.IndexFunc(list, func(k merchant.Key) bool { return k.Mode == merchant.Test && k.RevokedAt.IsZero() })
	if i >= 0 {
		return list[i], nil
	}
	return c.Merchants.CreateKey(ctx, m.ID, merchant.Test, merchant.AllScopes)
}
