package storage

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/money"
)

// invoiceRow is an invoice without its transfers, as stored in columns. If two rows are equal,
// nothing needs to be written.
type invoiceRow struct {
	id, merchantID, mode           string
	version                        int64
	status, exceptions             string
	price                          int64
	currency                       string
	decimals                       int64
	paid, due                      int64
	overpaid                       string
	orderID                        string
	createdAt, expiresAt           int64
	nextCheckAt, paidAt            sql.Null[int64]
	paidTx, paidAsset              string
	declinedAt, delayedAt          sql.Null[int64]
	accepted, refund, refundAsset  string
	refundBy                       string
	clock                          int64
	shared                         sql.Null[string] // name of the shared terms; NULL if terms and methods are whole
	terms, methods, quotes, covers string
	conversions                    int64
	paidCount                      int64
	firstPaidAt, acceptedAt        sql.Null[int64]
	acceptedBy                     string
	received                       string
	origin, originID               string
	vatRate                        string // "" if the terms state none
	decided, refundAsked           bool
	refunds                        int64
	kept, keptBy, keptReason       string
	keptAt                         sql.Null[int64]
	revision                       int64 // revision of the stored invoice; equal for two rows of the same state
}

func invoiceToRow(inv *invoice.Invoice, shared *sharedTerms) invoiceRow {
	price, state := inv.Terms.Price, inv.State
	return invoiceRow{
		id: inv.ID, merchantID: inv.MerchantID, mode: string(inv.Mode), version: inv.Version,
		status: string(state.Status), exceptions: listText(state.Exceptions),
		price: price.Cents(), currency: price.Currency().Code, decimals: int64(price.Currency().Decimals),
		paid: state.Paid.Cents(), due: state.Due.Cents(), overpaid: state.Overpaid.String(),
		orderID: inv.Terms.OrderID, createdAt: inv.CreatedAt.UnixMilli(), expiresAt: inv.ExpiresAt().UnixMilli(),
		nextCheckAt: millis(state.NextCheck), paidAt: millis(state.PaidAt),
		paidTx: state.PaidTx, paidAsset: state.PaidAsset,
		declinedAt: millis(inv.DeclinedAt), delayedAt: millis(inv.DelayedAt),
		accepted: listText(inv.Accepted), refund: inv.RefundAddress.Address, refundAsset: inv.RefundAddress.Asset, refundBy: inv.RefundAddress.By, clock: inv.Clock.Milliseconds(),
		shared: sql.Null[string]{V: shared.name, Valid: true},
		terms:  termsToText(inv.Terms, inv.Removal), methods: methodsToText(inv.Methods),
		quotes: quotesToText(inv.Quotes, inv.Methods, price), covers: coverageToText(inv.Coverage, inv.CreatedAt), conversions: int64(len(inv.Sales)),
		paidCount: inv.PaidCount, firstPaidAt: millis(inv.FirstPaidAt), acceptedAt: millis(inv.AcceptedAt), acceptedBy: inv.AcceptedBy,
		received: receivedToText(inv.ReceivedAmounts()), origin: string(inv.Origin.Kind), originID: inv.Origin.ID, vatRate: inv.Terms.VAT.String(),
		decided: state.Decided, refundAsked: state.RefundAsked, refunds: int64(len(inv.Refunds)),
		kept: optional(inv.Kept.Amount), keptBy: inv.Kept.By, keptReason: inv.Kept.Reason, keptAt: millis(inv.Kept.At),
	}
}

// invoice returns the invoice of the row with its shared terms, which are nil if the row has none.
func (r invoiceRow) invoice(shared *sharedTerms) (*invoice.Invoice, error) {
	fiat := r.fiat()
	inv := &invoice.Invoice{
		ID: r.id, MerchantID: r.merchantID, Mode: invoice.Mode(r.mode), Version: r.version, Revision: r.revision,
		CreatedAt: utc(r.createdAt), DeclinedAt: fromMillis(r.declinedAt), DelayedAt: fromMillis(r.delayedAt),
		RefundAddress: invoice.RefundAddress{Asset: r.refundAsset, Address: r.refund, By: r.refundBy}, Clock: time.Duration(r.clock) * time.Millisecond,
		Origin: invoice.Origin{Kind: invoice.OriginKind(r.origin), ID: r.originID}, PaidCount: r.paidCount, FirstPaidAt: fromMillis(r.firstPaidAt), AcceptedAt: fromMillis(r.acceptedAt), AcceptedBy: r.acceptedBy,
	}
	var err error
	if inv.Terms, inv.Removal, err = parseTerms(r.terms, money.FromCents(r.price, fiat), r.orderID, shared); err != nil {
		return nil, err
	}
	if inv.Terms.VAT, err = money.ParseVATRate(r.vatRate); err != nil {
		return nil, fmt.Errorf("VAT rate %q: %w", r.vatRate, err)
	}
	if inv.Methods, err = parseMethods(r.methods, shared); err != nil {
		return nil, err
	}
	if inv.Quotes, err = parseQuotes(r.quotes, inv.Terms.Price, inv.Methods); err != nil {
		return nil, err
	}
	if inv.Coverage, err = parseCoverage(r.covers, inv.CreatedAt); err != nil {
		return nil, err
	}
	if inv.Accepted, err = parseList[string](r.accepted); err != nil {
		return nil, fmt.Errorf("accepted: %w", err)
	}
	if r.keptAt.Valid {
		inv.Kept = invoice.KeptSurplus{Mark: invoice.Mark{By: r.keptBy, At: fromMillis(r.keptAt)}, Reason: r.keptReason}
		if inv.Kept.Amount, err = parseAmount(r.kept, fiat); err != nil {
			return nil, fmt.Errorf("kept surplus: %w", err)
		}
	}
	inv.State, err = r.state(fiat)
	return inv, err
}

// fiat returns the currency of the price.
func (r invoiceRow) fiat() money.Currency {
	return money.Currency{Code: r.currency, Decimals: int32(r.decimals)}
}

func (r invoiceRow) state(fiat money.Currency) (invoice.State, error) {
	exceptions, err := parseList[invoice.Exception](r.exceptions)
	if err != nil {
		return invoice.State{}, fmt.Errorf("exceptions: %w", err)
	}
	overpaid, err := parseAmount(r.overpaid, fiat)
	if err != nil {
		return invoice.State{}, fmt.Errorf("overpaid: %w", err)
	}
	return invoice.State{
		Status: invoice.Status(r.status), Exceptions: exceptions,
		Paid: money.FromCents(r.paid, fiat), Due: money.FromCents(r.due, fiat), Overpaid: overpaid,
		PaidAt: fromMillis(r.paidAt), PaidTx: r.paidTx, PaidAsset: r.paidAsset, NextCheck: fromMillis(r.nextCheckAt), Decided: r.decided, RefundAsked: r.refundAsked,
	}, nil
}

// insert writes a new invoice.
func (r invoiceRow) insert(ctx context.Context, q querier, t termsColumns) error {
	_, err := q.ExecContext(ctx, `
		INSERT INTO invoices (
			id, merchant_id, mode, version, status, exceptions, price, currency, decimals, paid, due, overpaid,
			order_id, created_at, expires_at, next_check_at, paid_at, paid_tx, paid_asset, declined_at, delayed_at,
			accepted, refund, clock, terms, methods, quotes, coverage, refund_asset,
			paid_count, first_paid_at, accepted_at, accepted_by, shared_terms,
			listed, description, reference, note, disable_sale, tolerance, received, origin, origin_id, vat_rate
		) VALUES (
			$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
			$22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34,
			TRUE, $35, $36, $37, $38, $39, $40, $41, $42, $43
		)`,
		r.id, r.merchantID, r.mode, r.version, r.status, r.exceptions, r.price, r.currency, r.decimals, r.paid, r.due, r.overpaid,
		r.orderID, r.createdAt, r.expiresAt, r.nextCheckAt, r.paidAt, r.paidTx, r.paidAsset, r.declinedAt, r.delayedAt,
		r.accepted, r.refund, r.clock, r.terms, r.methods, r.quotes, r.covers, r.refundAsset,
		r.paidCount, r.firstPaidAt, r.acceptedAt, r.acceptedBy, r.shared,
		t.description, t.reference, t.note, t.disableSale, t.tolerance, r.received, r.origin, r.originID, r.vatRate)
	return err
}

// update writes the columns of an invoice that may change.
func (r invoiceRow) update(ctx context.Context, q querier) error {
	_, err := q.ExecContext(ctx, `
		UPDATE invoices SET
			version = $2, status = $3, exceptions = $4, paid = $5, due = $6, overpaid = $7, expires_at = $8,
			next_check_at = $9, paid_at = $10, paid_tx = $11, paid_asset = $12, declined_at = $13, delayed_at = $14,
			accepted = $15, refund = $16, clock = $17, methods = $18, quotes = $19, coverage = $20,
			refund_asset = $21, conversions = $22,
			paid_count = $23, first_paid_at = $24, accepted_at = $25, accepted_by = $26, received = $27, revision = $28,
			terms = $29, shared_terms = $30, decided = $31, refunds = $32, kept = $33, kept_by = $34, kept_reason = $35, kept_at = $36,
			refund_by = $37, refund_asked = $38
		WHERE id = $1`,
		r.id, r.version, r.status, r.exceptions, r.paid, r.due, r.overpaid, r.expiresAt,
		r.nextCheckAt, r.paidAt, r.paidTx, r.paidAsset, r.declinedAt, r.delayedAt,
		r.accepted, r.refund, r.clock, r.methods, r.quotes, r.covers, r.refundAsset, r.conversions,
		r.paidCount, r.firstPaidAt, r.acceptedAt, r.acceptedBy, r.received, r.revision, r.terms, r.shared,
		r.decided, r.refunds, r.kept, r.keptBy, r.keptReason, r.keptAt,
		r.refundBy, r.refundAsked)
	return err
}

// invoiceColumns are the columns that readInvoiceColumns reads.
const invoiceColumns = `id, merchant_id, mode, version, status, exceptions, price, currency, decimals, paid, due, overpaid,
	order_id, created_at, expires_at, next_check_at, paid_at, paid_tx, paid_asset, declined_at, delayed_at,
	accepted, refund, clock, terms, methods, quotes, coverage, refund_asset, conversions,
	paid_count, first_paid_at, accepted_at, accepted_by, received, origin, origin_id, revision, shared_terms,
	decided, refunds, kept, kept_by, kept_reason, kept_at, refund_by, refund_asked, vat_rate`

// readInvoiceRow reads an invoice's row. It returns sql.ErrNoRows if there is none.
func readInvoiceRow(ctx context.Context, q querier, id string) (invoiceRow, error) {
	return readInvoiceColumns(q.QueryRowContext(ctx, "SELECT "+invoiceColumns+" FROM invoices WHERE id = $1", id))
}

func readInvoiceColumns(row scanner) (r invoiceRow, err error) {
	err = row.Scan(
		&r.id, &r.merchantID, &r.mode, &r.version, &r.status, &r.exceptions, &r.price, &r.currency, &r.decimals, &r.paid, &r.due, &r.overpaid,
		&r.orderID, &r.createdAt, &r.expiresAt, &r.nextCheckAt, &r.paidAt, &r.paidTx, &r.paidAsset, &r.declinedAt, &r.delayedAt,
		&r.accepted, &r.refund, &r.clock, &r.terms, &r.methods, &r.quotes, &r.covers, &r.refundAsset, &r.conversions,
		&r.paidCount, &r.firstPaidAt, &r.acceptedAt, &r.acceptedBy, &r.received, &r.origin, &r.originID, &r.revision, &r.shared,
		&r.decided, &r.refunds, &r.kept, &r.keptBy, &r.keptReason, &r.keptAt, &r.refundBy, &r.refundAsked, &r.vatRate)
	return r, err
}
