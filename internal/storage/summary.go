package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"chequer/internal/invoice"
	"chequer/internal/money"
)

// Summaries implements invoice.ListStorage.
func (s *Storage) Summaries(ctx context.Context, f invoice.Filter, after invoice.Position, limit int) ([]invoice.Summary, invoice.Position, error) {
	summaries, more, err := searchPage(ctx, s, s.read, f, after, limit, invoice.Summary.Position, readSummaries)
	if err != nil {
		return nil, more, fmt.Errorf("list invoices: %w", err)
	}
	return summaries, more, nil
}

// readSummaries returns the summaries of a listing.
func readSummaries(ctx context.Context, q querier, l listing) ([]invoice.Summary, error) {
	s := l.invoices(summaryColumns)
	return list(ctx, q, readSummary, s.text, s.args...)
}

// summaryColumns are the columns that summaryRow.fields reads.
const summaryColumns = `id, mode, version, status, exceptions, price, currency, decimals, paid, due, overpaid,
	order_id, description, reference, origin, origin_id, created_at, expires_at, paid_at, paid_asset, received, accepted, decided, refund_asked, paid_count`

// summaryRow is an invoice as stored in the columns of lists.
type summaryRow struct {
	invoice.Summary
	exceptions, overpaid, received, accepted string
	price, paid, due                         int64
	fiat                                     money.Currency
	createdAt, expiresAt                     int64
	paidAt                                   sql.Null[int64]
}

// fields returns the variables for summaryColumns.
func (r *summaryRow) fields() []any {
	s := &r.Summary
	return []any{
		&s.ID, &s.Mode, &s.Version, &s.Status, &r.exceptions, &r.price, &r.fiat.Code, &r.fiat.Decimals, &r.paid, &r.due, &r.overpaid,
		&s.OrderID, &s.Description, &s.Reference, &s.Origin.Kind, &s.Origin.ID, &r.createdAt, &r.expiresAt, &r.paidAt, &s.PaidAsset, &r.received, &r.accepted, &s.Decided, &s.RefundAsked, &s.PaidCount,
	}
}

// summary returns the summary of the row.
func (r *summaryRow) summary() (s invoice.Summary, err error) {
	s = r.Summary
	if s.Exceptions, err = parseList[invoice.Exception](r.exceptions); err != nil {
		return s, fmt.Errorf("invoice %s: exceptions: %w", s.ID, err)
	}
	if s.Overpaid, err = parseAmount(r.overpaid, r.fiat); err != nil {
		return s, fmt.Errorf("invoice %s: overpaid: %w", s.ID, err)
	}
	if s.Received, err = parseReceived(r.received); err != nil {
		return s, fmt.Errorf("invoice %s: received: %w", s.ID, err)
	}
	s.Price, s.Paid, s.Due = money.FromCents(r.price, r.fiat), money.FromCents(r.paid, r.fiat), money.FromCents(r.due, r.fiat)
	s.CreatedAt, s.ExpiresAt, s.PaidAt = utc(r.createdAt), utc(r.expiresAt), fromMillis(r.paidAt)
	s.Accepted = r.accepted != ""
	return s, nil
}

func readSummary(row scanner) (invoice.Summary, error) {
	var r summaryRow
	if err := row.Scan(r.fields()...); err != nil {
		return invoice.Summary{}, err
	}
	return r.summary()
}

// receivedRow is the JSON form of a received amount.
type receivedRow struct {
	Asset    string `json:"a"`
	Amount   string `json:"x"`
	Currency string `json:"cur"`
	Decimals int32  `json:"dec"`
	State    string `json:"s"`
}

func receivedToText(received []invoice.Received) string {
	if len(received) == 0 {
		return ""
	}
	rows := make([]receivedRow, len(received))
	for i, r := range received {
		rows[i] = receivedRow{r.Asset, r.Amount.String(), r.Amount.Currency().Code, r.Amount.Currency().Decimals, string(r.State)}
	}
	return jsonText(rows)
}

func parseReceived(text string) ([]invoice.Received, error) {
	if text == "" {
		return nil, nil
	}
	var rows []receivedRow
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, err
	}
	received := make([]invoice.Received, len(rows))
	for i, r := range rows {
		amount, err := parseAmount(r.Amount, money.Currency{Code: r.Currency, Decimals: r.Decimals})
		if err != nil {
			return nil, err
		}
		received[i] = invoice.Received{Asset: r.Asset, Amount: amount, State: invoice.PaymentState(r.State)}
	}
	return received, nil
}

// termsColumns are the terms of an invoice that lists and exports show, as stored in columns. They never
// change.
type termsColumns struct {
	description, reference, note string
	disableSale                  bool
	tolerance                    string
}

func termsToColumns(t invoice.Terms) termsColumns {
	return termsColumns{t.Description, t.Reference(), t.Note(), t.DisableSale, optional(t.Rules.Tolerance)}
}
