package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/wire"
)

// Bounds of a page of the list.
const (
	defaultPage = 50
	maxPage     = 100
)

// listInvoices handles GET invoices: the invoices of the key's merchant and mode, newest first. The list
// omits networks that are behind and the evidence of prices; only the resource of a single invoice
// has them.
func (s *server) listInvoices(c echo.Context, k call) error {
	f, after, limit, address := ownInvoices(k), invoice.Position{}, defaultPage, ""
	parameters := filters(&f)
	parameters["cursor"] = place(&after)
	parameters["limit"] = within(&limit, 1, maxPage)
	parameters["order_id"] = plainText(&f.OrderID, 128)
	parameters["address"] = plainText(&address, 128)
	if err := query(c.Request().URL.RawQuery, parameters); err != nil {
		return err
	}
	ctx := c.Request().Context()
	if address != "" {
		all, err := s.Invoices.InvoicesTo(ctx, f, address)
		if err != nil {
			return err
		}
		return writeJSON(c, http.StatusOK, s.list(all, len(all)))
	}
	page, err := s.Invoices.Invoices(ctx, f, after, limit+1)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, s.list(page, limit))
}

// list returns at most limit invoices. One more in page means that there is a next page.
func (s *server) list(page []*invoice.Invoice, limit int) api.InvoiceList {
	answer := api.InvoiceList{Invoices: []api.Resource{}}
	for i, inv := range page {
		if i == limit {
			answer.NextCursor = cursor(page[i-1].Position())
			break
		}
		answer.Invoices = append(answer.Invoices, wire.Resource(s.Invoices, inv, nil))
	}
	return answer
}

// ownInvoices returns the filter for the invoices of the key's merchant and mode.
func ownInvoices(k call) invoice.Filter {
	return invoice.Filter{MerchantID: k.key.MerchantID, Mode: invoice.Mode(k.key.Mode)}
}
