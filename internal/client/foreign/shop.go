package foreign

import (
	"slices"

	"chequer/internal/api"
)

// maxProducts bounds the number of products of a shop page, and maxDescription the length of their
// descriptions, in characters.
const (
	maxProducts    = 200
	maxDescription = 1000
)

// requirements are the values of ask_order_id and ask_note.
var requirements = []string{api.AskNo, api.AskOptional, api.AskRequired}

// checkLink checks the content of a link.
func checkLink(l *api.CheckoutLink) error {
	var c check
	c.text(&l.MerchantName, maxMerchant)
	l.Theme = checkedTheme(l.Theme)
	c.oneOf("mode", l.Mode, modes)
	c.rate("amount", l.Amount) // may be empty
	c.require("fiat_currency", l.FiatCurrency != "")
	c.word("fiat_currency", l.FiatCurrency, maxWord)
	c.text(&l.OrderID, maxOrder)
	c.text(&l.Description, maxSentence)
	c.word("language", l.Language, maxWord)
	if l.ForeignID != "" {
		c.id("foreign_id", l.ForeignID)
	}
	if l.EarlierID != "" {
		c.id("earlier_id", l.EarlierID)
	}
	if l.OtherID != "" {
		c.id("other_id", l.OtherID)
		c.amount("other_amount", l.OtherAmount)
		c.amount("other_received", l.OtherReceived)
		c.require("other_currency", l.OtherCurrency != "")
		c.word("other_currency", l.OtherCurrency, maxWord)
	}
	return c.err()
}

// checkProducts checks the products of a shop.
func checkProducts(o *api.ProductOffers) error {
	var c check
	c.text(&o.MerchantName, maxMerchant)
	o.Products = first(o.Products, maxProducts)
	for i := range o.Products {
		p := &o.Products[i]
		c.require("slug", idPattern.MatchString(p.Slug) && len(p.Slug) <= maxWord)
		c.oneOf("mode", p.Mode, modes)
		c.text(&p.Name, maxMerchant)
		c.text(&p.Description, maxDescription)
		c.amount("price", p.Price)
		c.require("fiat_currency", p.FiatCurrency != "")
		c.word("fiat_currency", p.FiatCurrency, maxWord)
		c.require("max_quantity", p.MaxQuantity >= 1 && p.MaxQuantity <= api.MaxQuantity)
		c.require("ask_order_id", slices.Contains(requirements, p.AskOrderID))
		c.require("ask_note", slices.Contains(requirements, p.AskNote))
	}
	return c.err()
}
