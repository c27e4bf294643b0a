package server

import (
	"maps"
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

// Views of the list.
const (
	fullView    = "full"
	summaryView = "summary"
)

// listInvoices handles GET invoices: the invoices of the key's merchant and mode, newest first. The list
// omits networks that are behind and the evidence of prices; only the resource of a single invoice
// has them.
func (s *server) listInvoices(c echo.Context, k call) error {
	selected, after, limit, view := s.newSelection(k), invoice.Position{}, defaultPage, fullView
	parameters := selected.parameters()
	maps.Copy(parameters, map[string]parameter{
		"cursor": place(&after), "limit": within(&limit, 1, maxPage), "view": word(&view, fullView, summaryView),
	})
	f, err := selected.read(c.Request().URL.RawQuery, parameters)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if view == summaryView {
		page, err := s.Invoices.Summaries(ctx, f, after, limit+1)
		if err != nil {
			return err
		}
		answer := api.SummaryList{}
		answer.Summaries, answer.NextCursor = listed(page, limit, wire.Summary)
		return writeJSON(c, http.StatusOK, answer)
	}
	page, err := s.Invoices.Invoices(ctx, f, after, limit+1)
	if err != nil {
		return err
	}
	answer := api.InvoiceList{}
	answer.Invoices, answer.NextCursor = listed(page, limit, func(inv *invoice.Invoice) api.Resource { return wire.Resource(s.Invoices, inv, nil) })
	return writeJSON(c, http.StatusOK, answer)
}

// listed returns at most limit invoices of a page in a form. One more in the page means that there is a
// next page.
func listed[T interface{ Position() invoice.Position }, R any](page []T, limit int, form func(T) R) (list []R, next string) {
	list = make([]R, 0, len(page))
	for i, inv := range page {
		if i == limit {
			return list, cursor(page[i-1].Position())
		}
		list = append(list, form(inv))
	}
	return list, ""
}
