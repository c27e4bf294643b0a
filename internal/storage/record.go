package storage

import (
	"context"
	"fmt"

	"chequer/internal/invoice"
	"chequer/internal/storage/engine"
)

// record holds all rows of an invoice.
type record struct {
	row       invoiceRow
	shared    *sharedTerms // nil if the row has none
	transfers []transferRow
	spends    map[spender][]string // by transaction of the transfers
	sales     []saleRow
	refunds   []refundRow
}

func (s *Storage) toRecord(inv *invoice.Invoice) record {
	spends := map[spender][]string{}
	for _, t := range inv.Transfers {
		if len(t.Spends) > 0 {
			spends[spender{string(t.Network), t.Tx}] = t.Spends
		}
	}
	shared := s.shared.termsOf(inv)
	return record{row: invoiceToRow(inv, shared), shared: shared, transfers: transfersToRows(inv), spends: spends, sales: salesToRows(inv), refunds: refundsToRows(inv)}
}

// invoice returns the invoice of the rows.
func (r record) invoice() (*invoice.Invoice, error) {
	inv, err := r.row.invoice(r.shared)
	if err != nil {
		return nil, unreadable(r.row.id, err)
	}
	for _, t := range r.transfers {
		transfer, err := t.transfer(r.row.fiat())
		if err != nil {
			return nil, unreadable(r.row.id, fmt.Errorf("transfer %s: %w", t.id, err))
		}
		transfer.Spends = r.spends[spender{t.network, t.tx}]
		inv.Transfers = append(inv.Transfers, transfer)
	}
	for _, row := range r.sales {
		sale, err := row.sale()
		if err != nil {
			return nil, unreadable(r.row.id, fmt.Errorf("sale of %s: %w", row.coin, err))
		}
		inv.Sales = append(inv.Sales, sale)
	}
	for _, row := range r.refunds {
		refund, err := row.refund(r.row.fiat())
		if err != nil {
			return nil, unreadable(r.row.id, fmt.Errorf("refund %s: %w", row.id, err))
		}
		inv.Refunds = append(inv.Refunds, refund)
	}
	return inv, nil
}

// readRecord reads an invoice's rows. It returns invoice.ErrNotFound if there is no such invoice.
func (s *Storage) readRecord(ctx context.Context, q querier, id string) (r record, err error) {
	if r.row, err = readInvoiceRow(ctx, q, id); err != nil {
		return r, notFound(err, "read invoice", id)
	}
	if r.shared, err = s.shared.read(ctx, q, r.row); err != nil {
		return r, fmt.Errorf("invoice %s: %w", id, err)
	}
	if r.transfers, err = readTransferRows(ctx, q, id); err != nil {
		return r, fmt.Errorf("read transfers of %s: %w", id, err)
	}
	if len(r.transfers) > 0 {
		if r.spends, err = readSpends(ctx, q, spendsOfInvoice, id); err != nil {
			return r, fmt.Errorf("invoice %s: %w", id, err)
		}
	}
	if r.row.conversions > 0 {
		if r.sales, err = readSaleRows(ctx, q, id); err != nil {
			return r, fmt.Errorf("read sales of %s: %w", id, err)
		}
	}
	if r.row.refunds > 0 {
		if r.refunds, err = readRefundRows(ctx, q, id); err != nil {
			return r, fmt.Errorf("read refunds of %s: %w", id, err)
		}
	}
	return r, nil
}

// notFound adds the failed operation and the ID to err. It returns invoice.ErrNotFound if there was
// no row.
func notFound(err error, action, id string) error {
	if engine.Absent(err) {
		return invoice.ErrNotFound
	}
	return fmt.Errorf("%s %s: %w", action, id, err)
}
