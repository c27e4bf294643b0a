package wire

import (
	"chequer/internal/api"
	"chequer/internal/invoice"
)

// sales returns the sales of the coins that paid an invoice.
func sales(inv *invoice.Invoice) []api.Sale {
	list := []api.Sale{}
	for i := range inv.Sales {
		c := &inv.Sales[i]
		sold := c.Sold()
		sale := api.Sale{
			CryptoCurrency: c.Coin, State: string(c.State), Reason: string(c.Reason), Reverted: !inv.Funds(c),
			Amount: c.Amount.String(), SoldAmount: sold.Sold.String(), RateEUR: c.Rate.Price(), LowestPrice: c.Lowest.String(),
			AveragePrice: c.Average(), EuroAmount: sold.Euro.String(), FeeAmount: sold.Fee.String(), Orders: []string{},
			CreatedAt: Time(c.CreatedAt), NextAt: Time(c.NextAt),
		}
		for _, o := range c.Orders {
			sale.Exchange = o.Exchange
			if o.Ref != "" {
				sale.Orders = append(sale.Orders, o.Ref)
			}
		}
		list = append(list, sale)
	}
	return list
}
