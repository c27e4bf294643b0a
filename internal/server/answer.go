package server

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// idPattern is what an invoice's identifier looks like; nothing else is looked
// up.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)

// status is GET invoice/status: the specification's answer for the newest quote.
// It needs no headers and looks at none, as clients exist that send none.
func (s *server) status(c echo.Context) error {
	id := c.QueryParam("id")
	if !idPattern.MatchString(id) {
		return errNoInvoice
	}
	inv, err := s.invoices.Invoice(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return s.specify(c, inv)
}

// specify answers with the specification's view of an invoice as it stands now.
func (s *server) specify(c echo.Context, inv *invoice.Invoice) error {
	s.tag(c, inv, inv.Version)
	tellPaid(c.Response().Header(), inv)
	return writeJSON(c, http.StatusOK, specified(inv))
}

// tag says which version of the invoice an answer shows, and where its page is.
func (s *server) tag(c echo.Context, inv *invoice.Invoice, version int64) {
	header := c.Response().Header()
	header.Set("Location", s.baseURL+"/invoice/"+inv.ID)
	header.Set("ETag", etag(version))
}

// tellPaid puts into headers what the specification's answer has no room for.
func tellPaid(header http.Header, inv *invoice.Invoice) {
	if inv.Standing.Status != invoice.Paid {
		return
	}
	header.Set(api.HeaderPaidAt, timestamp(inv.Standing.PaidAt))
	header.Set(api.HeaderPaidCurrency, inv.Standing.PaidAsset)
	header.Set(api.HeaderPaidTx, inv.Standing.PaidTx)
}

// specified returns the specification's answer, with the newest quote: six fields, five
// per address.
func specified(inv *invoice.Invoice) api.Invoice {
	q := inv.Quote()
	answer := api.Invoice{
		ForeignID: inv.ID, Status: string(inv.Standing.Status), ExpiredAt: timestamp(q.Until),
		ClientAmount: number(inv.Terms.Price), ClientCurrency: inv.Terms.Price.Currency().Code,
		Addresses: []api.Address{},
	}
	for _, m := range inv.Methods {
		p, offered := q.Price(m.Asset.Code)
		if !offered {
			continue
		}
		answer.Addresses = append(answer.Addresses, api.Address{
			Address: m.Destination.Address, ExpectedAmount: number(p.Expected), CryptoCurrency: m.Asset.Code,
			RateUSD: json.Number(p.USD.Price()), RateEUR: json.Number(p.EUR.Price()),
		})
	}
	return answer
}

func number(a money.Amount) json.Number { return json.Number(a.String()) }

func etag(version int64) string { return strconv.Quote(strconv.FormatInt(version, 10)) }

// timestamp writes a time, and nothing for none.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(api.TimeLayout)
}
