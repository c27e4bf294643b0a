package wire

import (
	"chequer/internal/api"
	"chequer/internal/merchant"
)

// Terminal returns the API's view of a terminal.
func Terminal(t merchant.Terminal) api.Terminal {
	return api.Terminal{
		ID: t.ID, Mode: string(t.Mode), Name: t.Name, FiatCurrency: t.Currency,
		PaymentMethods: append([]string{}, t.Methods.Codes()...), CreatedAt: Time(t.CreatedAt),
	}
}

// NewTerminal returns the API's view of a terminal that was just created on a server, with its secret link.
func NewTerminal(baseURL string, t merchant.Terminal) api.NewTerminal {
	return api.NewTerminal{Terminal: Terminal(t), URL: baseURL + "/pos/" + t.Secret}
}

// TerminalOf returns the terminal that a request describes. The error is a *merchant.FieldError.
func TerminalOf(merchantID string, mode merchant.Mode, r api.TerminalRequest) (t merchant.Terminal, err error) {
	t = merchant.Terminal{MerchantID: merchantID, Mode: mode, Name: r.Name, Currency: r.FiatCurrency}
	return t, setMethods(&t.Methods, r.PaymentMethods)
}
