package greenfield

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// Bounds of a list.
const (
	defaultTake = 50
	maxTake     = 250
	maxSkip     = 10_000
	maxOrders   = 50 // order IDs of one call
	listPage    = 500
	// maxRead is the largest number of invoices that one call reads in their short form.
	maxRead = 50_000
)

// selection are the parameters of a list. Unknown parameters are ignored.
type selection struct {
	filter     invoice.Filter
	orderIDs   []string // nil: all
	statuses   []string // empty: all
	id         string   // of the only invoice, or the order ID of the invoices if it is that of none; "": all
	skip, take int
}

// parseSelection parses the parameters of a list of the invoices of a key's store. Only invoices from an API are listed:
// a shopper chooses the order ID of an invoice of a terminal or a product.
func (s *server) parseSelection(k merchant.Key, query url.Values) (p selection, err error) {
	p = selection{
		filter: invoice.Filter{MerchantID: k.MerchantID, Mode: invoice.Mode(k.Mode), Origin: invoice.Origin{Kind: invoice.FromAPI}}, take: defaultTake,
		orderIDs: query["orderId"], statuses: query["status"],
	}
	if len(p.orderIDs) > maxOrders {
		return p, &fieldFault{Path: "orderId", Message: "At most " + strconv.Itoa(maxOrders) + " order IDs are accepted"}
	}
	for _, status := range p.statuses {
		if !slices.Contains([]string{statusNew, processing, settled, invalid, expired}, status) {
			return p, &fieldFault{Path: "status", Message: "The status must be New, Processing, Settled, Invalid or Expired"}
		}
	}
	for name, bound := range map[string]struct {
		target  *int
		maximum int
	}{"skip": {&p.skip, maxSkip}, "take": {&p.take, maxTake}} {
		if err := parseCount(query, name, bound.target, bound.maximum); err != nil {
			return p, err
		}
	}
	for name, target := range map[string]*time.Time{"startDate": &p.filter.From, "endDate": &p.filter.To} {
		if err := parseTime(query, name, target); err != nil {
			return p, err
		}
	}
	switch text := query.Get("textSearch"); {
	case text == "":
	case len(text) == invoiceIDLength && idPattern.MatchString(text):
		p.id = text
	default:
		p.searchOrder(text)
	}
	return p, nil
}

// searchOrder selects the invoices with an order ID.
func (p *selection) searchOrder(id string) {
	if p.orderIDs == nil || slices.Contains(p.orderIDs, id) {
		p.orderIDs = []string{id}
	} else {
		p.orderIDs = []string{}
	}
}

// invoiceIDLength is the length of the identifier of an invoice, which a search may contain.
const invoiceIDLength = 32

// parseCount parses a parameter that is a number of invoices.
func parseCount(query url.Values, name string, target *int, maximum int) error {
	text := query.Get(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maximum {
		return &fieldFault{Path: name, Message: "The parameter must be a number from 0 to " + strconv.Itoa(maximum)}
	}
	*target = n
	return nil
}

// parseTime parses a parameter that is a time in Unix seconds or as in RFC 3339.
func parseTime(query url.Values, name string, target *time.Time) error {
	text := query.Get(name)
	if text == "" {
		return nil
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds >= 0 && seconds < 1<<36 {
		*target = time.Unix(seconds, 0).UTC()
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return &fieldFault{Path: name, Message: "The parameter must be a time in Unix seconds"}
	}
	*target = at.UTC()
	return nil
}

// listInvoices handles GET stores/{store}/invoices: the invoices of the key's store that are not archived, newest first.
// Only the invoices in the answer are read in full.
func (s *server) listInvoices(c echo.Context, k merchant.Key) error {
	p, err := s.parseSelection(k, c.QueryParams())
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	found, err := s.selected(ctx, p)
	if err != nil {
		return err
	}
	ids := []string{}
	for _, summary := range found[min(p.skip, len(found)):] {
		ids = append(ids, summary.ID)
	}
	data, err := s.Data.PluginData(ctx, ids...)
	if err != nil {
		return err
	}
	list := [][]byte{}
	for _, id := range ids {
		inv, err := s.Invoices.Invoice(ctx, id)
		if errors.Is(err, invoice.ErrNotFound) { // it was removed from the books meanwhile
			continue
		}
		if err != nil {
			return err
		}
		body, err := s.view(k, inv, data[id])
		if err != nil {
			return err
		}
		list = append(list, body)
	}
	return c.JSONBlob(http.StatusOK, append(append([]byte("["), bytes.Join(list, []byte(","))...), ']'))
}

// selected returns the invoices of a list, including those that are skipped.
func (s *server) selected(ctx context.Context, p selection) (found []invoice.Summary, err error) {
	if p.id != "" {
		inv, err := s.Invoices.Invoice(ctx, p.id)
		switch {
		case errors.Is(err, invoice.ErrNotFound):
			p.searchOrder(p.id)
		case err != nil:
			return nil, err
		case !p.filter.Selects(inv) || p.orderIDs != nil && !slices.Contains(p.orderIDs, inv.Terms.OrderID):
			return nil, nil
		default:
			found, err = s.keep(ctx, []invoice.Summary{inv.Summary()}, p)
			return found[:min(len(found), p.skip+p.take)], err
		}
	}
	left := maxRead
	for _, f := range p.filters() {
		more, err := s.read(ctx, f, p, &left)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
		slices.SortStableFunc(found, func(a, b invoice.Summary) int { return a.Position().Compare(b.Position()) })
		found = found[:min(len(found), p.skip+p.take)]
	}
	return found, nil
}

// ownStatuses are the statuses of this server that an invoice with a status of the API usually has. An invoice whose
// payment disappeared after it was paid is Invalid in any other status, and is not found by its status.
var ownStatuses = map[string][]invoice.Status{
	statusNew: {invoice.Created, invoice.Pending}, processing: {invoice.Pending}, settled: {invoice.Paid}, invalid: {invoice.Declined}, expired: {invoice.Expired},
}

// filters returns the filters that together select the invoices: one for each order ID and status. None selects an
// invoice that another one selects.
func (p selection) filters() (filters []invoice.Filter) {
	orderIDs, statuses := []string{""}, []invoice.Status{""}
	if p.orderIDs != nil {
		orderIDs = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(p.orderIDs))), func(id string) bool {
			return id == "" || !isOrderID(id)
		})
	}
	if len(p.statuses) > 0 {
		statuses = nil
		for _, status := range p.statuses {
			statuses = append(statuses, ownStatuses[status]...)
		}
		slices.Sort(statuses)
		statuses = slices.Compact(statuses)
	}
	for _, id := range orderIDs {
		for _, status := range statuses {
			f := p.filter
			f.OrderID, f.Status = id, status
			filters = append(filters, f)
		}
	}
	return filters
}

// read returns the invoices of a filter, until they fill the list that the selection asks for. left is the number of
// invoices that may still be read.
func (s *server) read(ctx context.Context, f invoice.Filter, p selection, left *int) (found []invoice.Summary, err error) {
	var after invoice.Position
	for len(found) < p.skip+p.take {
		if *left <= 0 {
			return nil, &fieldFault{Path: "startDate", Message: "More than " + strconv.Itoa(maxRead) + " invoices had to be read: select fewer with startDate and endDate"}
		}
		page, more, err := s.Invoices.Summaries(ctx, f, after, listPage)
		if err != nil {
			return nil, err
		}
		kept, err := s.keep(ctx, page, p)
		if err != nil {
			return nil, err
		}
		if found = append(found, kept...); more == (invoice.Position{}) {
			break
		}
		after = more
		*left -= max(len(page), 1)
	}
	return found, nil
}

// keep returns the invoices of a page that are not archived and have a status of the selection.
func (s *server) keep(ctx context.Context, page []invoice.Summary, p selection) (kept []invoice.Summary, err error) {
	ids := make([]string, len(page))
	for i, summary := range page {
		ids[i] = summary.ID
	}
	archived, err := s.Data.PluginArchived(ctx, ids...)
	if err != nil {
		return nil, err
	}
	for _, summary := range page {
		name := nameOf(summary.Status, summary.Due, summary.PaidCount)
		if !archived[summary.ID] && (len(p.statuses) == 0 || slices.Contains(p.statuses, name)) {
			kept = append(kept, summary)
		}
	}
	return kept, nil
}
