package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// conversions returns the sales of the coins that paid an invoice.
func conversions(inv *invoice.Invoice) []api.Sale {
	list := []api.Sale{}
	for i := range inv.Sales {
		c := &inv.Sales[i]
		sold := c.Sold()
		told := api.Sale{
			CryptoCurrency: c.Coin, State: string(c.State), Reason: string(c.Reason), Reverted: !inv.Funds(c),
			Amount: c.Amount.String(), SoldAmount: sold.Sold.String(), RateEUR: c.Rate.Price(), LowestPrice: c.Lowest.String(),
			AveragePrice: c.Average(), EuroAmount: sold.Euro.String(), FeeAmount: sold.Fee.String(), Orders: []string{},
			CreatedAt: timestamp(c.CreatedAt), NextAt: timestamp(c.NextAt),
		}
		for _, o := range c.Orders {
			told.Exchange = o.Exchange
			if o.Ref != "" {
				told.Orders = append(told.Orders, o.Ref)
			}
		}
		list = append(list, told)
	}
	return list
}

// convertTerms returns which coins of a new invoice are sold: none for test money or test networks,
// and none while the merchant has no active exchange account.
func (s *server) convertTerms(ctx context.Context, merchantID string, mode invoice.Mode) (invoice.SaleTerms, error) {
	if mode != invoice.Live || s.worthless {
		return invoice.SaleTerms{}, nil
	}
	a, err := s.merchants.Exchange(ctx, merchantID)
	if errors.Is(err, merchant.ErrNotFound) || err == nil && !a.Active {
		return invoice.SaleTerms{}, nil
	}
	if err != nil {
		return invoice.SaleTerms{}, fmt.Errorf("exchange account of invoice: %w", err)
	}
	smallest, err := money.Parse(a.Smallest, invoice.SaleEuro)
	if err != nil {
		return invoice.SaleTerms{}, fmt.Errorf("smallest sale of invoice: %w", err)
	}
	return invoice.SaleTerms{Coins: slices.Clone(a.Coins), Smallest: smallest, Slippage: a.Slippage}, nil
}
