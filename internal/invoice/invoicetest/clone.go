package invoicetest

import (
	"maps"
	"slices"

	"chequer/internal/invoice"
)

// Clone returns a deep copy of an invoice.
func Clone(inv *invoice.Invoice) *invoice.Invoice {
	c := *inv
	c.Terms.Metadata = maps.Clone(inv.Terms.Metadata)
	c.Methods = slices.Clone(inv.Methods)
	for i := range c.Methods {
		c.Methods[i].Asset.Policy.Depth = slices.Clone(c.Methods[i].Asset.Policy.Depth)
	}
	c.Quotes = slices.Clone(inv.Quotes)
	for i := range c.Quotes {
		c.Quotes[i].Prices = slices.Clone(c.Quotes[i].Prices)
	}
	c.Transfers = slices.Clone(inv.Transfers)
	for i := range c.Transfers {
		cloneTransfer(&c.Transfers[i])
	}
	c.Coverage = maps.Clone(inv.Coverage)
	c.Accepted = slices.Clone(inv.Accepted)
	c.State.Exceptions = slices.Clone(inv.State.Exceptions)
	c.Refunds = slices.Clone(inv.Refunds)
	c.Sales = slices.Clone(inv.Sales)
	for i := range c.Sales {
		c.Sales[i].Orders = slices.Clone(c.Sales[i].Orders)
	}
	c.Terms.Sale.Coins = slices.Clone(inv.Terms.Sale.Coins)
	c.Events = slices.Clone(inv.Events)
	for i := range c.Events {
		c.Events[i].Body = slices.Clone(c.Events[i].Body)
	}
	return &c
}

func cloneTransfer(t *invoice.Transfer) {
	t.Spends = slices.Clone(t.Spends)
	if t.Block != nil {
		block := *t.Block
		t.Block = &block
	}
	if t.Market != nil {
		market := *t.Market
		t.Market = &market
	}
}
