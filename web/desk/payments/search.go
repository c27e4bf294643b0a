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

// found is a page of the invoices that a query selects.
type found struct {
	rows []invoice.Summary
	more place // after which there may be more
}

// findInvoices returns a page of the invoices that a query selects. A searched text is tried as an identifier, an order,
// a reference, a transaction, an address, an amount and the day of the creation, until invoices are found. The next
// pages have the same meaning of the text.
func (v *page) findInvoices(f invoice.Filter, q listQuery) (found, error) {
	ctx := v.Request().Context()
	if q.text == "" {
		rows, more, err := v.Invoices.Summaries(ctx, f, q.after.Position, pageSize)
		return found{rows, place{Position: more}}, err
	}
	if len(q.text) > maxSearch || !visit.IsText(q.text) {
		return found{}, nil
	}
	if invoiceID.MatchString(q.text) {
		inv, err := v.Invoices.Invoice(ctx, q.text)
		if err == nil && inv.MerchantID == v.Shop.ID {
			return found{rows: []invoice.Summary{inv.Summary()}}, nil
		}
		if err != nil && !errors.Is(err, invoice.ErrNotFound) {
			return found{}, err
		}
	}
	after := q.after
	for i, candidate := range v.candidates(f, q.text) {
		if i < after.meaning || i > after.meaning && after.isChosen {
			continue
		}
		from := invoice.Position{}
		if i == after.meaning {
			from = after.Position
		}
		rows, more, err := v.Invoices.Summaries(ctx, candidate, from, pageSize)
		if err != nil || len(rows) > 0 || more != (invoice.Position{}) {
			return found{rows, place{more, i, len(rows) > 0 || after.isChosen}}, err
		}
	}
	return found{}, nil
}

// candidates returns a filter for each meaning that a searched text may have, in the order in which they are tried.
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

// later returns the later of two times. a may be zero, which means that there is no such time.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier returns the earlier of two times. a may be zero, which means that there is no such time.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
