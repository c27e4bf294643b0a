package storage

import (
	"context"
	"fmt"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// Invoices implements invoice.Storage.
func (s *Storage) Invoices(ctx context.Context, f invoice.Filter, after invoice.Position, limit int) ([]*invoice.Invoice, error) {
	p := pageOf(f, after, limit)
	records, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) ([]record, error) { return s.readPage(ctx, q, p) })
	if err != nil {
		return nil, fmt.Errorf("list invoices: %w", err)
	}
	var all []*invoice.Invoice
	for _, r := range records {
		inv, err := r.invoice()
		if err != nil {
			return nil, fmt.Errorf("list invoices: %w", err)
		}
		all = append(all, inv)
	}
	return all, nil
}

// page holds the statements that read a page of the list: the invoices, then all their transfers,
// spends and sales. They have the same arguments.
type page struct {
	invoices, transfers, spends, sales string
	args                               []any
}

// pageOf returns a page. It has one upper bound, the lower one of the position and of the filter's
// end, since SQLite searches an index with only one.
func pageOf(f invoice.Filter, after invoice.Position, limit int) page {
	last, lastID := after.CreatedAt.UnixMilli(), after.ID
	bounded := after != (invoice.Position{})
	if to := f.To.UnixMilli(); !f.To.IsZero() && (!bounded || to <= last) {
		last, lastID, bounded = to, "", true // every ID is greater than ""
	}
	where, args := conditions([]any{f.MerchantID, string(f.Mode), limit},
		when(f.Status != "", "status = ?", string(f.Status)),
		when(f.OrderID != "", "order_id = ? AND order_id <> ''", f.OrderID), // the index has no empty ones
		when(!f.From.IsZero(), "created_at >= ?", f.From.UnixMilli()),
		when(bounded, "(created_at, id) < (?, ?)", last, lastID))
	listed := " FROM invoices WHERE merchant_id = $1 AND mode = $2" + where + " ORDER BY created_at DESC, id DESC LIMIT $3"
	ofPage := " WHERE invoice_id IN (SELECT id" + listed + ")"
	return page{
		invoices:  "SELECT " + invoiceColumns + listed,
		transfers: "SELECT " + transferColumns + " FROM transfers" + ofPage + " ORDER BY invoice_id, number",
		spends: `SELECT network, tx, outpoints FROM spends
			WHERE (network, tx) IN (SELECT network, tx FROM transfers` + ofPage + ` AND tx <> '')`,
		sales: "SELECT " + saleColumns + " FROM conversions" + ofPage + " ORDER BY invoice_id, number",
		args:  args,
	}
}

// readPage reads the rows of a page.
func (s *Storage) readPage(ctx context.Context, q querier, p page) ([]record, error) {
	rows, err := list(ctx, q, readInvoiceColumns, p.invoices, p.args...)
	if err != nil {
		return nil, err
	}
	transfers, err := list(ctx, q, readTransferColumns, p.transfers, p.args...)
	if err != nil {
		return nil, err
	}
	spends, err := readSpends(ctx, q, p.spends, p.args...)
	if err != nil {
		return nil, err
	}
	sales, err := list(ctx, q, readSaleColumns, p.sales, p.args...)
	if err != nil {
		return nil, err
	}
	records, of := make([]record, len(rows)), map[string]*record{}
	for i, row := range rows {
		shared, err := s.shared.read(ctx, q, row)
		if err != nil {
			return nil, fmt.Errorf("invoice %s: %w", row.id, err)
		}
		records[i] = record{row: row, shared: shared, spends: spends}
		of[row.id] = &records[i]
	}
	for _, t := range transfers {
		of[t.invoiceID].transfers = append(of[t.invoiceID].transfers, t)
	}
	for _, c := range sales {
		of[c.invoiceID].sales = append(of[c.invoiceID].sales, c)
	}
	return records, nil
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
