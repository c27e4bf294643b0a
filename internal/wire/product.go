package wire

import (
	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// Product returns the API's view of a product of the server at baseURL.
func Product(baseURL string, p merchant.Product) api.Product {
	return api.Product{
		Slug: p.Slug, URL: baseURL + "/shop/" + p.Slug, Mode: string(p.Mode), Name: p.Name, Description: p.Description,
		Price: p.Price.String(), FiatCurrency: p.Price.Currency().Code, VATRate: p.VAT.String(), MaxQuantity: p.MaxQuantity,
		AskOrderID: string(p.AskOrderID), AskNote: string(p.AskNote), PaymentMethods: append([]string{}, p.Methods.Codes()...), Active: p.Active, CreatedAt: Time(p.CreatedAt),
	}
}

// ProductOffer returns the API's view of a product for the pages of the shop; maxQuantity is the
// largest quantity in one order.
func ProductOffer(p merchant.Product, maxQuantity int) api.ProductOffer {
	return api.ProductOffer{
		Slug: p.Slug, Mode: string(p.Mode), Name: p.Name, Description: p.Description, Price: p.Price.String(),
		FiatCurrency: p.Price.Currency().Code, MaxQuantity: maxQuantity, AskOrderID: string(p.AskOrderID), AskNote: string(p.AskNote),
	}
}

// ChangeProduct changes the fields of a product that are present in a request; price parses its
// price. The error is a *merchant.FieldError.
func ChangeProduct(p *merchant.Product, c api.ProductChange, price func(text, code string) (money.Amount, error)) (err error) {
	set(&p.Name, c.Name)
	set(&p.Description, c.Description)
	set(&p.MaxQuantity, c.MaxQuantity)
	set(&p.AskOrderID, (*merchant.Requirement)(c.AskOrderID))
	set(&p.AskNote, (*merchant.Requirement)(c.AskNote))
	set(&p.Active, c.Active)
	if c.VATRate != nil {
		if p.VAT, err = merchant.ParseVATRate(*c.VATRate); err != nil {
			return &merchant.FieldError{Field: "vat_rate", Fault: err.Error()}
		}
	}
	digits, code := p.Price.String(), p.Price.Currency().Code
	set(&digits, c.Price)
	set(&code, c.FiatCurrency)
	if p.Price, err = price(digits, code); err != nil {
		return err
	}
	return setMethods(&p.Methods, c.PaymentMethods)
}
