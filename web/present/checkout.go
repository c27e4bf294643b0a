package present

import (
	"strings"

	"chequer/internal/api"
	"chequer/views"
)

// Checkout returns the page of a checkout link, whose address ends with suffix: "/slug" or "?query".
func (f Frame) Checkout(link api.CheckoutLink, suffix string, typed Typed, problem *Problem) views.Checkout {
	page := views.Checkout{
		Page: f.Page("", link.MerchantName, "store.css"), Form: f.form("/order/pay"+suffix, link.FiatCurrency, typed, problem),
		Description: printable(link.Description), Order: printable(link.OrderID),
	}
	page.Title = f.Text("pay.title", "Shop", page.Shop)
	f.addLanguageLink(&page.Page)
	f.allowEmbedding(&page.Page)
	if link.Amount != "" {
		if strings.HasPrefix(suffix, "/") { // the merchant may change the price of a link with a slug
			page.Shown = views.ShownPrice{Amount: link.Amount, Currency: link.FiatCurrency}
		}
		page.Price = f.Fiat(link.Amount, link.FiatCurrency)
		if page.Error != "" { // the page has no field for the amount
			page.Error, page.Fault = "", f.Text("amount.unpayable", "Detail", page.Error)
		}
	}
	if link.OtherID != "" {
		page.Other = f.otherPrice(link)
		page.Title = page.Other.Heading
	}
	if link.EarlierID != "" {
		page.Earlier = f.WithLanguage(f.Path("/invoice/" + link.EarlierID))
	}
	switch {
	case f.Demo:
		page.TestNotice = f.Text("product.demo")
	case link.Mode == "test":
		page.TestNotice = f.Text("test.link")
	}
	page.Title = f.errorTitle(page.Title, problem)
	return page
}

// otherPrice returns the notice for an order that was paid, or partly paid, at a price other than the
// price in its link.
func (f Frame) otherPrice(link api.CheckoutLink) views.Notice {
	heading := f.Text("other.seen")
	if link.OtherStatus == api.StatusPaid {
		heading = f.Text("other.paid")
	}
	return views.Notice{Heading: heading, Text: f.capitalized(
		"other.text", "Received", f.Fiat(link.OtherReceived, link.OtherCurrency), "Price", f.Fiat(link.OtherAmount, link.OtherCurrency),
		"Amount", f.Fiat(link.Amount, link.FiatCurrency), "Shop", f.shopInSentence(link.MerchantName), "Reference", views.Reference(link.OtherID),
	)}
}
