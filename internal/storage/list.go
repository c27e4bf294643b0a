package storage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// Invoices implements invoice.ListStorage.
func (s *Storage) Invoices(ctx context.Context, f invoice.Filter, after invoice.Position, limit int) ([]*invoice.Invoice, invoice.Position, error) {
	invoices, more, err := searchPage(ctx, s, s.snapshot, f, after, limit, (*invoice.Invoice).Position, s.readInvoices)
	if err != nil {
		return nil, more, fmt.Errorf("list invoices: %w", err)
	}
	return invoices, more, nil
}

// Undecided implements invoice.ListStorage.
func (s *Storage) Undecided(ctx context.Context, merchantID string, mode invoice.Mode, at time.Time, after invoice.Position, limit int) ([]*invoice.Invoice, error) {
	invoices, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) ([]*invoice.Invoice, error) {
		return s.readInvoices(ctx, q, undecided(merchantID, mode, at, after, limit))
	})
	if err != nil {
		return nil, fmt.Errorf("list invoices that wait for a decision: %w", err)
	}
	sortNewestFirst(invoices, (*invoice.Invoice).Position)
	slices.Reverse(invoices)
	return invoices, nil
}

// undecided returns the listing of the invoices after a position that wait for a decision and are not snoozed at a time,
// oldest first.
func undecided(merchantID string, mode invoice.Mode, at time.Time, after invoice.Position, limit int) listing {
	flags, args := conditions([]any{merchantID, string(mode), limit},
		filterIf(after != (invoice.Position{}), "(created_at, invoice_id) > (?, ?)", after.CreatedAt.UnixMilli(), after.ID),
		filterIf(true, "flag = ?", decisionFlag),
		filterIf(true, "NOT EXISTS (SELECT 1 FROM snoozes WHERE snoozes.invoice_id = invoice_flags.invoice_id AND until > ? LIMIT 1 OFFSET 0)", at.UnixMilli()))
	return listing{" FROM invoices WHERE id IN (SELECT invoice_id FROM invoice_flags WHERE merchant_id = $1 AND mode = $2" + flags +
		" ORDER BY created_at, invoice_id LIMIT $3)", args}
}

// readInvoices returns the invoices of a listing.
func (s *Storage) readInvoices(ctx context.Context, q querier, l listing) ([]*invoice.Invoice, error) {
	records, err := s.readPage(ctx, q, newPage(l))
	if err != nil {
		return nil, err
	}
	var invoices []*invoice.Invoice
	for _, r := range records {
		inv, err := r.invoice()
		if err != nil {
			return nil, err
		}
		invoices = append(invoices, inv)
	}
	return invoices, nil
}

// sortNewestFirst sorts a page in the order of the list.
func sortNewestFirst[T any](page []T, position func(T) invoice.Position) {
	slices.SortFunc(page, func(a, b T) int { return position(a).Compare(position(b)) })
}

// page holds the statements that read whole invoices: the invoices, then all their transfers, spends,
// sales and refunds.
type page struct{ invoices, transfers, spends, sales, refunds statement }

func newPage(l listing) page {
	return page{
		invoices:  l.invoices(invoiceColumns),
		transfers: l.withText("SELECT " + transferColumns + " FROM transfers WHERE invoice_id IN PAGE ORDER BY invoice_id, number"),
		spends: l.withText(`SELECT network, tx, outpoints FROM spends
			WHERE (network, tx) IN (SELECT network, tx FROM transfers WHERE invoice_id IN PAGE AND tx <> '')`),
		sales:   l.sales(),
		refunds: l.withText("SELECT " + refundColumns + " FROM refunds WHERE invoice_id IN PAGE ORDER BY invoice_id, number"),
	}
}

// sales returns the statement that reads the sales of the invoices of the page.
func (l listing) sales() statement {
	return l.withText("SELECT " + saleColumns + " FROM conversions WHERE invoice_id IN PAGE ORDER BY invoice_id, number")
}

// readPage reads the rows of a page. It reads spends only if there are transfers, and sales and refunds only if an invoice
// has some.
func (s *Storage) readPage(ctx context.Context, q querier, p page) ([]record, error) {
	rows, err := list(ctx, q, readInvoiceColumns, p.invoices.text, p.invoices.args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	records, byID := make([]record, len(rows)), map[string]*record{}
	var hasSales, hasRefunds bool
	for i, row := range rows {
		shared, err := s.shared.read(ctx, q, row)
		if err != nil {
			return nil, fmt.Errorf("invoice %s: %w", row.id, err)
		}
		records[i] = record{row: row, shared: shared}
		byID[row.id] = &records[i]
		hasSales, hasRefunds = hasSales || row.conversions > 0, hasRefunds || row.refunds > 0
	}
	transfers, err := list(ctx, q, readTransferColumns, p.transfers.text, p.transfers.args...)
	if err != nil {
		return nil, err
	}
	for _, t := range transfers {
		r, err := recordOf(byID, t.invoiceID)
		if err != nil {
			return nil, fmt.Errorf("transfers of %w", err)
		}
		r.transfers = append(r.transfers, t)
	}
	if len(transfers) > 0 {
		spends, err := readSpends(ctx, q, p.spends.text, p.spends.args...)
		if err != nil {
			return nil, err
		}
		for i := range records {
			records[i].spends = spends
		}
	}
	if hasSales {
		sales, err := list(ctx, q, readSaleColumns, p.sales.text, p.sales.args...)
		if err != nil {
			return nil, err
		}
		for _, c := range sales {
			r, err := recordOf(byID, c.invoiceID)
			if err != nil {
				return nil, fmt.Errorf("sales of %w", err)
			}
			r.sales = append(r.sales, c)
		}
	}
	if hasRefunds {
		refunds, err := list(ctx, q, readRefundColumns, p.refunds.text, p.refunds.args...)
		if err != nil {
			return nil, err
		}
		for _, c := range refunds {
			r, err := recordOf(byID, c.invoiceID)
			if err != nil {
				return nil, fmt.Errorf("refunds of %w", err)
			}
			r.refunds = append(r.refunds, c)
		}
	}
	return records, nil
}

// recordOf returns the record of an invoice. It returns an error if the page does not have the invoice: without a
// snapshot, the statements of a page can select different invoices.
func recordOf(byID map[string]*record, invoiceID string) (*record, error) {
	r := byID[invoiceID]
	if r == nil {
		return nil, fmt.Errorf("invoice %s: the page changed while it was read", invoiceID)
	}
	return r, nil
}

// InvoiceTo implements invoice.Storage.
func (s *Storage) InvoiceTo(ctx context.Context, network chain.ID, script string) (string, error) {
	id, err := answer(ctx, s.read, func(ctx context.Context, q querier) (id string, err error) {
		err = q.QueryRowContext(ctx, "SELECT invoice_id FROM destinations WHERE network = $1 AND script = $2", string(network), script).Scan(&id)
		return id, err
	})
	if err != nil {
		return "", notFound(err, "find invoice of a script on", string(network))
	}
	return id, nil
}
