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

// terminalSecret is what the secret of a terminal looks like.
var terminalSecret = regexp.MustCompile(`^[A-Za-z0-9]{32}$`)

// maxTerminalName is in characters.
const maxTerminalName = 64

// CheckTerminal tells what is wrong with a terminal that a merchant makes, when
// invoices may be in some currencies beside euro and dollar.
func CheckTerminal(fiats []money.Currency, maximum string) func(merchant.Terminal) error {
	return func(t merchant.Terminal) error {
		var ignored string
		if err := line(&ignored, maxTerminalName)(t.Name); err != nil {
			return invalid("name", err.Error())
		}
		_, err := asked{"1", t.Currency}.price(taken(fiats), maximum)
		return err
	}
}

// terminalOffer is what is sold at a terminal: whatever who stands there says.
func (s *server) terminalOffer(ctx context.Context, r api.OfferRequest) (offer, error) {
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
		namespace: terminalKeys, source: t.ID, merchantID: t.MerchantID, mode: t.Mode, methods: t.Methods, price: asked{code: t.Currency},
		terms: invoice.Terms{Description: t.Name, OrderID: r.OrderID, Metadata: metadata},
	}, err
}
