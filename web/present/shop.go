package present

import (
	"chequer/internal/api"
	"chequer/views"
)

// shopPage returns the page of products without its content.
func (f Frame) shopPage(merchant string) views.Page {
	page := f.Page("", merchant, "shop.css")
	f.choose(&page)
	page.Home = f.Keep(f.Path("/shop"))
	return page
}

// Shop returns the list of products.
func (f Frame) Shop(offers api.ProductOffers) views.Shop {
	page := views.Shop{Page: f.shopPage(offers.MerchantName)}
	page.Title = f.Text("sale.products.title", "Shop", page.Shop)
	if f.Demo {
		page.Trial = f.Text("sale.demo")
	}
	for _, p := range offers.Products {
		page.Items = append(page.Items, views.Item{
			Name: printable(p.Name), Description: printable(p.Description), Price: f.Fiat(p.Price, p.FiatCurrency),
			URL: f.Keep(f.Path("/shop/" + p.Slug)),
		})
	}
	if f.OpenAmount {
		page.Other = views.Link{Text: f.Text("sale.other"), URL: f.Keep(f.Path("/"))}
	}
	return page
}
