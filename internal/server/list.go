package server

import (
	"maps"
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
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
		"cursor": listCursor(&after, idPattern), "limit": within(&limit, 1, maxPage), "view": oneOf(&view, fullView, summaryView),
	})
	f, err := selected.read(c.Request().URL.RawQuery, parameters)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if view == summaryView {
		page, more, err := s.Invoices.Summaries(ctx, f, after, limit)
		if err != nil {
			return err
		}
		return writeJSON(c, http.StatusOK, api.SummaryList{Summaries: views(wire.Summary, page, nil), NextCursor: nextCursor(more)})
	}
	page, more, err := s.Invoices.Invoices(ctx, f, after, limit)
	if err != nil {
		return err
	}
	resource := func(inv *invoice.Invoice) api.Resource { return wire.Resource(s.Invoices, inv, nil) }
	return writeJSON(c, http.StatusOK, api.InvoiceList{Invoices: views(resource, page, nil), NextCursor: nextCursor(more)})
}

// nextCursor returns the cursor of the next page; "" if there is none.
func nextCursor(more invoice.Position) string {
	if more == (invoice.Position{}) {
		return ""
	}
	return encodeCursor(more)
}

// selection holds the parameters of a request that select invoices of the key's merchant and mode.
type selection struct {
	invoices *invoice.Service
	prices   merchant.Prices
	filter   invoice.Filter

	amount, currency, address, decision string
}

// newSelection returns the selection of all invoices of the key's merchant and mode.
func (s *server) newSelection(k call) *selection {
	return &selection{
		invoices: s.Invoices, prices: s.Prices,
		filter: invoice.Filter{MerchantID: k.key.MerchantID, Mode: invoice.Mode(k.key.Mode)},
	}
}

// parameters returns the parsers of the parameters, by the parameters' names.
func (s *selection) parameters() map[string]parameter {
	f := &s.filter
	return map[string]parameter{
		"status": oneOf(&f.Status, invoice.Created, invoice.Pending, invoice.Paid, invoice.Expired, invoice.Declined),
		"from":   moment(&f.From), "to": moment(&f.To),
		"exception":      oneOf(&f.Exception, invoice.Exceptions...),
		"needs_decision": oneOf(&s.decision, "true"),
		"origin": oneOf(&f.Origin.Kind,
			invoice.FromAPI, invoice.FromStorefront, invoice.FromProduct, invoice.FromLink, invoice.FromSignedLink, invoice.FromTerminal),
		"origin_id":     plainText(&f.Origin.ID, 128),
		"order_id":      plainText(&f.OrderID, 128),
		"reference":     plainText(&f.Reference, 128),
		"paid_currency": plainText(&f.PaidAsset, 32),
		"tx":            plainText(&f.Tx, 128),
		"address":       plainText(&s.address, 4096), // a payment request is longer than any address
		"amount":        plainText(&s.amount, 40),
		"fiat_currency": plainText(&s.currency, 8),
	}
}

// read parses the query of a request and returns the filter that it describes.
func (s *selection) read(raw string, parameters map[string]parameter) (invoice.Filter, error) {
	if err := parseQuery(raw, parameters); err != nil {
		return invoice.Filter{}, err
	}
	f := s.filter
	switch {
	case s.amount != "" && s.currency == "":
		return f, invalid("fiat_currency", "is required with amount")
	case s.amount == "" && s.currency != "":
		return f, invalid("amount", "is required with fiat_currency")
	case f.Origin.ID != "" && f.Origin.Kind == "":
		return f, invalid("origin", "is required with origin_id")
	case f.Origin.ID != "" && f.Origin.Kind == invoice.FromStorefront:
		return f, invalid("origin_id", "is not accepted with the origin storefront")
	}
	if s.amount != "" {
		digits, err := merchant.ParseAmount(s.amount)
		if err != nil {
			return f, invalid("amount", err.Error())
		}
		if f.Price, err = s.prices.Parse(digits, s.currency); err != nil {
			return f, err
		}
	}
	if s.address != "" {
		f.Scripts = s.invoices.Scripts(f.Mode, s.address)
	}
	f.Tx = invoice.NormalizeTx(f.Tx)
	f.NeedsDecision = s.decision != ""
	return f, nil
}
