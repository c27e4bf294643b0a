package demo

import (
	"context"
	"errors"
	"fmt"

	"chequer/internal/merchant"
	"chequer/internal/money"
)

// products are the products of the demo shop, one of each kind: with a quantity, a single piece, and with questions to
// the shopper.
var products = []merchant.Product{
	{Slug: "coffee", Name: "Filter coffee", Description: "250 g, roasted on Tuesdays", Price: money.MustParse("11.50", money.EUR), MaxQuantity: 20, AskNote: merchant.AskOptional, AskOrderID: merchant.AskNo},
	{Slug: "print", Name: "Tidewater No. 3", Description: "A3 screen print, edition of 80", Price: money.MustParse("38", money.EUR), MaxQuantity: 1, AskNote: merchant.AskNo, AskOrderID: merchant.AskNo},
	{Slug: "repair", Name: "Repair by the hour", Description: "Enter the number of the job, which is on your estimate", Price: money.MustParse("64", money.EUR), AskNote: merchant.AskOptional, AskOrderID: merchant.AskRequired},
}

// ensureProducts creates the products of a demo shop, unless the shop has products.
func ensureProducts(ctx context.Context, service *merchant.Products, merchantID string) error {
	existing, err := service.Products(ctx, merchantID)
	if err != nil {
		return fmt.Errorf("demo products: %w", err)
	}
	if len(existing) > 0 {
		return nil
	}
	for _, p := range products {
		p.MerchantID, p.Mode, p.Active = merchantID, merchant.Test, true
		if _, err := service.Create(ctx, p); err != nil && !errors.Is(err, merchant.ErrExists) { // another process may have created it
			return fmt.Errorf("demo products: %w", err)
		}
	}
	return nil
}
