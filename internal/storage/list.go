package storage

import (
	"context"
	"fmt"
	"math"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// listed selects a page of the list: the invoices of a filter after a place.
const listed = `
	FROM invoices
	WHERE merchant_id = $1 AND mode = $2 AND ($3 = '' OR status = $3) AND ($4 = '' OR order_id = $4)
		AND created_at >= $5 AND created_at < $6 AND (created_at, id) < ($7, $8)
	ORDER BY created_at DESC, id DESC LIMIT $9`

// Invoices implements invoice.Storage.
func (s *Storage) Invoices(ctx context.Context, f invoice.Filter, after invoice.Position, limit int) ([]*invoice.Invoice, error) {
	from, to, last := int64(math.MinInt64), int64(math.MaxInt64), int64(math.MaxInt64)
	if !f.From.IsZero() {
		from = f.From.UnixMilli()
	}
	if !f.To.IsZero() {
		to = f.To.UnixMilli()
	}
	if after != (invoice.Position{}) {
		last = after.CreatedAt.UnixMilli()
	}
	args := []any{f.MerchantID, string(f.Mode), string(f.Status), f.OrderID, from, to, last, after.ID, limit}
	records, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) ([]record, error) { return readPage(ctx, q, args) })
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

// readPage reads the rows of a page: the invoices, then all their transfers and conversions.
func readPage(ctx context.Context, q querier, args []any) ([]record, error) {
	rows, err := list(ctx, q, readInvoiceColumns, "SELECT "+invoiceColumns+listed, args...)
	if err != nil {
		return nil, err
	}
	transfers, err := list(ctx, q, readTransferColumns,
		"SELECT "+transferColumns+" FROM transfers WHERE invoice_id IN (SELECT id "+listed+") ORDER BY number", args...)
	if err != nil {
		return nil, err
	}
	conversions, err := list(ctx, q, readConversionColumns,
		"SELECT "+conversionColumns+" FROM conversions WHERE invoice_id IN (SELECT id "+listed+") ORDER BY number", args...)
	if err != nil {
		return nil, err
	}
	spends, err := readSpends(ctx, q, `SELECT s.network, s.tx, s.outpoints
		FROM (SELECT DISTINCT network, tx FROM transfers WHERE tx <> '' AND invoice_id IN (SELECT id `+listed+`)) t
		JOIN spends s ON s.network = t.network AND s.tx = t.tx`, args...)
	if err != nil {
		return nil, err
	}
	sales := map[string][]conversionRow{}
	for _, c := range conversions {
		sales[c.invoiceID] = append(sales[c.invoiceID], c)
	}
	of := map[string][]transferRow{}
	for _, t := range transfers {
		of[t.invoiceID] = append(of[t.invoiceID], t)
	}
	records := make([]record, len(rows))
	for i, row := range rows {
		records[i] = record{row: row, transfers: of[row.id], spends: spends, conversions: sales[row.id]}
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
