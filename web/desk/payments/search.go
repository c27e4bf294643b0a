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

// maxSearch is the largest length of a text that is searched for, longer than any address or payment request.
const maxSearch = 4096

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
	if q.text == "" {
		rows, more, err := v.Invoices.Summaries(v.Request().Context(), f, q.after.Position, pageSize)
		return found{rows, place{Position: more}}, err
	}
	inv, err := v.identified(q.text)
	switch {
	case err != nil:
		return found{}, err
	case inv != nil:
		return found{rows: []invoice.Summary{inv.Summary()}}, nil
	}
	candidates := v.candidates(f, q.text)
	return searchMeanings(q.after, len(candidates), func(meaning int, after invoice.Position) ([]invoice.Summary, invoice.Position, error) {
		return v.Invoices.Summaries(v.Request().Context(), candidates[meaning], after, pageSize)
	})
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

// searchMeanings returns the page after a place of the invoices with the first meaning of a searched text that any
// invoice has. read returns the page of a meaning after a position, and the position after which there may be more.
func searchMeanings(
	after place, meanings int, read func(meaning int, after invoice.Position) ([]invoice.Summary, invoice.Position, error),
) (found, error) {
	for meaning := range meanings {
		if meaning < after.meaning || meaning > after.meaning && after.isChosen {
			continue
		}
		from := invoice.Position{}
		if meaning == after.meaning {
			from = after.Position
		}
		rows, more, err := read(meaning, from)
		if err != nil || len(rows) > 0 || more != (invoice.Position{}) {
			return found{rows, place{more, meaning, len(rows) > 0 || after.isChosen}}, err
		}
	}
	return found{}, nil
}

// candidates returns a filter for each meaning that a searched text may have, in the order in which they are tried.
func (v *page) candidates(f invoice.Filter, text string) []invoice.Filter {
	if len(text) > maxSearch || !visit.IsText(text) {
		return nil
	}
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
