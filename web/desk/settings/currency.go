package settings

import (
	"slices"

	"chequer/internal/merchant"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// currencyChoice returns the list of the currencies in which the server accepts prices. A chosen currency in which it no
// longer accepts prices is the last option.
func currencyChoice(v *visit.Visit, chosen string) desk.Choice {
	c := desk.Choice{Name: string(merchant.SettingCurrency), Label: v.Text("desk.shop.currency"), Hint: v.Text("desk.shop.currency.hint")}
	codes := v.PaymentSettings.Prices.Codes()
	if chosen != "" && !slices.Contains(codes, chosen) {
		codes = append(codes, chosen)
	}
	for _, code := range codes {
		c.Options = append(c.Options, desk.Option{Value: code, Text: code, Chosen: code == chosen})
	}
	return c
}
