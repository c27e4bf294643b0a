package payments

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/report"
	"chequer/web/desk/visit"
)

// invoiceID matches the identifier of an invoice.
var invoiceID = regexp.MustCompile(`^[A-Za-z0-9]{32}$`)

// maxSearch is the largest length of a text that is searched for, longer than any address.
const maxSearch = 200

// maxAmount is the largest length of an amount that is searched for, longer than any price.
const maxAmount = 15

// findInvoices returns a page of the invoices that a query selects, and the position after which there may be more. A
// searched text is tried as an identifier, an order, a reference, a transaction, an address, an amount and the day of
// the creation, until invoices are found.
func (v *page) findInvoices(f invoice.Filter, q listQuery) (rows []invoice.Summary, more invoice.Position, err error) {
	inv, err := v.identified(q.text)
	switch {
	case err != nil:
		return nil, more, err
	case inv != nil:
		return []invoice.Summary{inv.Summary()}, more, nil
	}
	return v.search(f, q)
}

// identified returns the invoice of the shop whose identifier is a text; nil if there is none.
func (v *page) identified(text string) (*invoice.Invoice, error) {
	if !invoiceID.MatchString(text) {
		return nil, nil
	}
	inv, err := v.Invoices.Invoice(v.Request().Context(), text)
	if errors.Is(err, invoice.ErrNotFound) || err == nil && inv.MerchantID != v.Shop.ID {
		return nil, nil
	}
	return inv, err
}

// search is findInvoices for a text that is no identifier.
func (v *page) search(f invoice.Filter, q listQuery) (rows []invoice.Summary, more invoice.Position, err error) {
	ctx := v.Request().Context()
	if q.text == "" {
		return v.Invoices.Summaries(ctx, f, q.after, pageSize)
	}
	if len(q.text) > maxSearch || !visit.IsText(q.text) {
		return nil, more, nil
	}
	for _, candidate := range v.candidates(f, q.text) {
		rows, more, err = v.Invoices.Summaries(ctx, candidate, q.after, pageSize)
		if err != nil || len(rows) > 0 || more != (invoice.Position{}) {
			return rows, more, err
		}
	}
	return nil, more, nil
}

// candidates returns the filters for the meanings that a searched text may have.
func (v *page) candidates(f invoice.Filter, text string) []invoice.Filter {
	order, reference, tx := f, f, f
	order.OrderID, reference.Reference, tx.Tx = text, text, invoice.NormalizeTx(text)
	list := []invoice.Filter{order, reference, tx}
	if to := v.Invoices.Scripts(f.Mode, text); len(to) > 0 {
		address := f
		address.Scripts = to
		list = append(list, address)
	}
	digits := strings.Replace(strings.Trim(text, "€$ "), ",", ".", 1)
	for _, fiat := range []money.Currency{money.EUR, money.USD} {
		if price, err := money.Parse(digits, fiat); err == nil && !price.IsZero() && len(digits) <= maxAmount {
			amount := f
			amount.Price = price
			list = append(list, amount)
		}
	}
	if day, err := report.ParseDay(text); err == nil {
		created := f
		created.From, created.To = later(f.From, day.Start(v.Zone())), earlier(f.To, (day+1).Start(v.Zone()))
		if created.From.Before(created.To) {
			list = append(list, created)
		}
	}
	return list
}

// later returns the later of two times, of which a may be zero: no time.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier returns the earlier of two times, of which a may be zero: no time.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
