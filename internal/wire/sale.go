package wire

import (
	"chequer/internal/api"
	"chequer/internal/invoice"
)

// sales returns, as API types, the sales of the coins that paid an invoice.
func sales(inv *invoice.Invoice) []api.Sale {
	list := []api.Sale{}
	for i := range inv.Sales {
		s := &inv.Sales[i]
		sold := s.Sold()
		sale := api.Sale{
			CryptoCurrency: s.Coin, State: string(s.State), Reason: string(s.Reason), Reverted: !inv.Funds(s),
			Amount: s.Amount.String(), SoldAmount: sold.Sold.String(), RateEUR: s.Rate.Price(), LowestPrice: s.Lowest.String(),
			AveragePrice: s.Average(), EuroAmount: sold.Euro.String(), FeeAmount: sold.Fee.String(), Orders: []string{},
			CreatedAt: Time(s.CreatedAt), NextAt: Time(s.NextAt),
		}
		for _, o := range s.Orders {
			sale.Exchange = o.Exchange
			if o.Ref != "" {
				sale.Orders = append(sale.Orders, o.Ref)
			}
		}
		list = append(list, sale)
	}
	return list
}
