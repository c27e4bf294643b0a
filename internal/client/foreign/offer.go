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

// askings are the values of whether a shopper is asked for something.
var askings = []string{api.AskNo, api.AskOptional, api.AskRequired}

// checkLink checks the content of a link.
func checkLink(o *api.CheckoutLink) error {
	var c check
	c.text(&o.MerchantName, maxMerchant)
	o.Theme = checkedTheme(o.Theme)
	c.oneOf("mode", o.Mode, modes)
	c.rate("amount", o.Amount) // may be empty
	c.require("fiat_currency", o.FiatCurrency != "")
	c.word("fiat_currency", o.FiatCurrency, maxWord)
	c.text(&o.OrderID, maxOrder)
	c.text(&o.Description, maxSentence)
	c.word("language", o.Language, maxWord)
	if o.ForeignID != "" {
		c.id("foreign_id", o.ForeignID)
	}
	if o.EarlierID != "" {
		c.id("earlier_id", o.EarlierID)
	}
	if o.OtherID != "" {
		c.id("other_id", o.OtherID)
		c.amount("other_amount", o.OtherAmount)
		c.amount("other_received", o.OtherReceived)
		c.require("other_currency", o.OtherCurrency != "")
		c.word("other_currency", o.OtherCurrency, maxWord)
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
		c.require("slug", idForm.MatchString(p.Slug) && len(p.Slug) <= maxWord)
		c.oneOf("mode", p.Mode, modes)
		c.text(&p.Name, maxMerchant)
		c.text(&p.Description, maxDescription)
		c.amount("price", p.Price)
		c.require("fiat_currency", p.FiatCurrency != "")
		c.word("fiat_currency", p.FiatCurrency, maxWord)
		c.require("max_quantity", p.MaxQuantity >= 1 && p.MaxQuantity <= api.MaxQuantity)
		c.require("ask_order_id", slices.Contains(askings, p.AskOrderID))
		c.require("ask_note", slices.Contains(askings, p.AskNote))
	}
	return c.err()
}
