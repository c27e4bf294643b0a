package server

import (
	"context"
	"errors"
	"net/http"
	"regexp"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

var errNoTerminal = &problem{status: http.StatusNotFound, code: api.CodeTerminalNotFound, message: "There is no such terminal, or it has ended"}

// terminalSecret matches the secret of a terminal.
var terminalSecret = regexp.MustCompile(`^[A-Za-z0-9]{32}$`)

// maxTerminalName bounds the name of a terminal, in characters.
const maxTerminalName = 64

// CheckTerminal returns a function that reports what is wrong with a merchant's terminal. Its
// currency must be euro, dollar or one of fiats.
func CheckTerminal(fiats []money.Currency, maximum string) func(merchant.Terminal) error {
	return func(t merchant.Terminal) error {
		var ignored string
		if err := line(&ignored, maxTerminalName)(t.Name); err != nil {
			return invalid("name", err.Error())
		}
		_, err := requestedPrice{"1", t.Currency}.price(priceCurrencies(fiats), maximum)
		return err
	}
}

// terminalOffer returns the offer of a terminal, whose user enters the amount.
func (s *server) terminalOffer(ctx context.Context, r api.CheckoutRequest) (offer, error) {
	if !terminalSecret.MatchString(r.Terminal) {
		return offer{}, errNoTerminal
	}
	t, err := s.terminals.Find(ctx, r.Terminal)
	if errors.Is(err, merchant.ErrNotFound) {
		return offer{}, errNoTerminal
	}
	metadata := map[string]string{api.MetadataTerminal: t.ID}
	if r.Note != "" {
		metadata[api.MetadataNote] = r.Note
	}
	return offer{
		namespace: terminalKeys, source: t.ID, merchantID: t.MerchantID, mode: t.Mode, methods: t.Methods, price: requestedPrice{code: t.Currency},
		terms: invoice.Terms{Description: t.Name, OrderID: r.OrderID, Metadata: metadata},
	}, err
}
