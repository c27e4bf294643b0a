package wire

import (
	"chequer/internal/api"
	"chequer/internal/merchant"
)

// Product returns the API's view of a product of a server.
func Product(baseURL string, p merchant.Product) api.Product {
	return api.Product{
		Slug: p.Slug, URL: baseURL + "/shop/" + p.Slug, Mode: string(p.Mode), Name: p.Name, Description: p.Description,
		Price: p.Price.String(), FiatCurrency: p.Price.Currency().Code, MaxQuantity: p.MaxQuantity,
		AskOrderID: string(p.AskOrderID), AskNote: string(p.AskNote), PaymentMethods: append([]string{}, p.Methods.Codes()...), Active: p.Active, CreatedAt: Time(p.CreatedAt),
	}
}

// ProductOffer returns the API's view of a product for the pages of the shop. MaxQuantity is the
// largest quantity in one order.
func ProductOffer(p merchant.Product, maxQuantity int) api.ProductOffer {
	return api.ProductOffer{
		Slug: p.Slug, Mode: string(p.Mode), Name: p.Name, Description: p.Description, Price: p.Price.String(),
		FiatCurrency: p.Price.Currency().Code, MaxQuantity: maxQuantity, AskOrderID: string(p.AskOrderID), AskNote: string(p.AskNote),
	}
}
