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

// ChangeLink changes the fields of a link that are present in a request. The error is a
// *merchant.FieldError.
func ChangeLink(l *merchant.Link, c api.LinkChange) (err error) {
	set(&l.Amount, c.Amount)
	set(&l.Currency, c.FiatCurrency)
	set(&l.Description, c.Description)
	set(&l.Language, c.Language)
	set(&l.URLSuccess, c.URLSuccess)
	set(&l.URLFailure, c.URLFailure)
	set(&l.MaxUses, c.MaxUses)
	if c.EndsAt != nil {
		if l.EndsAt, err = ParseTime(*c.EndsAt); err != nil {
			return &merchant.FieldError{Field: "ends_at", Fault: err.Error()}
		}
	}
	return setMethods(&l.Methods, c.PaymentMethods)
}

// set sets a field to the value in a request; nil if the request does not have the field.
func set[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

// setMethods is set for a choice of payment methods.
func setMethods(to *merchant.Methods, codes *[]string) (err error) {
	if codes == nil {
		return nil
	}
	if *to, err = merchant.NewMethods(*codes); err != nil {
		return &merchant.FieldError{Field: "payment_methods", Fault: err.Error()}
	}
	return nil
}
