package wire

import (
	"chequer/internal/api"
	"chequer/internal/merchant"
)

// Link returns the API's view of a checkout link of a server.
func Link(baseURL string, l merchant.Link) api.Link {
	return api.Link{
		Slug: l.Slug, URL: baseURL + "/pay/" + l.Slug, Mode: string(l.Mode), Amount: l.Amount, FiatCurrency: l.Currency,
		Description: l.Description, Language: l.Language, URLSuccess: l.URLSuccess, URLFailure: l.URLFailure,
		PaymentMethods: append([]string{}, l.Methods.Codes()...), EndsAt: Time(l.EndsAt), MaxUses: l.MaxUses, CreatedAt: Time(l.CreatedAt),
	}
}
