package storage

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/watcher"
)

// refundRow is a refund as stored in columns. If two rows are equal, nothing needs to be written.
type refundRow struct {
	invoiceID                             string
	number                                int64
	id, merchantID, mode                  string
	kind, state, network, asset           string
	coin                                  string
	decimals                              int64
	amount                                string
	rate, rateSource                      string
	value                                 int64
	heldUntil                             sql.Null[int64]
	address, script, addressBy            string
	receivedAt                            sql.Null[int64]
	endedQuote                            int64
	tx, reason                            string
	askedBy, preparedBy, sentBy, closedBy string
	askedAt                               int64
	preparedAt, sentAt, closedAt          sql.Null[int64]
	payID, payHash                        string
	paySeenAt, payHeight, payTime         sql.Null[int64]
	payConfirmations, payRequired         int64
	trouble, formerAmounts                string
	checked, checkedBy                    string
	checkedAt                             sql.Null[int64]
	market                                marketRateRow
	watchUntil                            sql.Null[int64]
}

// refundsToRows returns the rows of an invoice's refunds, in order.
func refundsToRows(inv *invoice.Invoice) []refundRow {
	var rows []refundRow
	for i, r := range inv.Refunds {
		row := refundRow{
			invoiceID: inv.ID, number: int64(i), id: r.ID, merchantID: inv.MerchantID, mode: string(inv.Mode),
			kind: string(r.Kind), state: string(r.State), network: string(r.Network), asset: r.Asset,
			coin: r.Amount.Currency().Code, decimals: int64(r.Amount.Currency().Decimals), amount: r.Amount.Minor().String(),
			rateSource: r.Source, value: r.Value.Cents(), heldUntil: millis(r.HeldUntil),
			address: r.Address, script: r.Script, addressBy: r.AddressBy, receivedAt: millis(r.AnsweredAt), endedQuote: int64(r.EndedQuote), tx: r.Tx, reason: r.Reason,
			askedBy: r.Asked.By, askedAt: r.Asked.At.UnixMilli(), preparedBy: r.Prepared.By, preparedAt: millis(r.Prepared.At),
			sentBy: r.Sent.By, sentAt: millis(r.Sent.At), closedBy: r.Closed.By, closedAt: millis(r.Closed.At),
		}
		if !r.Rate.IsZero() {
			row.rate = r.Rate.Price()
		}
		row.trouble, row.watchUntil = string(r.Trouble), millis(r.WatchUntil)
		row.market = newMarketRateRow(r.MarketRate)
		row.checked, row.checkedBy, row.checkedAt = string(r.CheckedTrouble), r.Checked.By, millis(r.Checked.At)
		for _, a := range r.FormerAmounts {
			row.formerAmounts += " " + a.Minor().String()
		}
		if p := r.Payment; p != nil {
			row.payID, row.paySeenAt = p.ID, millis(p.FirstSeen)
			row.payConfirmations, row.payRequired = int64(p.Confirmations), int64(p.Required)
			if b := p.Block; b != nil {
				row.payHeight, row.payHash, row.payTime = sql.Null[int64]{V: b.Height, Valid: true}, b.Hash, millis(b.Time)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// refund returns the refund of a row of an invoice in a currency.
func (r refundRow) refund(fiat money.Currency) (invoice.Refund, error) {
	coin := money.Currency{Code: r.coin, Decimals: int32(r.decimals)}
	units, ok := new(big.Int).SetString(r.amount, 10)
	if !ok || units.Sign() < 0 {
		return invoice.Refund{}, fmt.Errorf("amount is %q", r.amount)
	}
	refund := invoice.Refund{
		ID: r.id, Kind: invoice.RefundKind(r.kind), State: invoice.RefundState(r.state), Network: chain.ID(r.network), Asset: r.asset,
		Amount: money.FromMinor(units, coin), Source: r.rateSource, Value: money.FromCents(r.value, fiat), HeldUntil: fromMillis(r.heldUntil),
		Address: r.address, Script: r.script, AddressBy: r.addressBy, AnsweredAt: fromMillis(r.receivedAt), EndedQuote: int(r.endedQuote), Tx: r.tx, Reason: r.reason,
		Asked:    invoice.Mark{By: r.askedBy, At: utc(r.askedAt)},
		Prepared: invoice.Mark{By: r.preparedBy, At: fromMillis(r.preparedAt)},
		Sent:     invoice.Mark{By: r.sentBy, At: fromMillis(r.sentAt)},
		Closed:   invoice.Mark{By: r.closedBy, At: fromMillis(r.closedAt)},
	}
	refund.Trouble, refund.WatchUntil, refund.Payment = invoice.RefundTrouble(r.trouble), fromMillis(r.watchUntil), r.payment()
	refund.CheckedTrouble, refund.Checked = invoice.RefundTrouble(r.checked), invoice.Mark{By: r.checkedBy, At: fromMillis(r.checkedAt)}
	for text := range strings.FieldsSeq(r.formerAmounts) {
		former, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return refund, fmt.Errorf("former amount is %q", text)
		}
		refund.FormerAmounts = append(refund.FormerAmounts, money.FromMinor(former, coin))
	}
	var err error
	if refund.MarketRate, err = r.market.marketRate(coin); err != nil {
		return refund, err
	}
	if r.rate == "" {
		return refund, nil
	}
	if refund.Rate, err = money.ParseRate(r.rate, coin, fiat); err != nil {
		return refund, fmt.Errorf("rate: %w", err)
	}
	return refund, nil
}

// payment returns the payment of the refund, or nil.
func (r refundRow) payment() *invoice.RefundPayment {
	if r.payID == "" {
		return nil
	}
	p := &invoice.RefundPayment{ID: r.payID, FirstSeen: fromMillis(r.paySeenAt), Confirmations: int(r.payConfirmations), Required: int(r.payRequired)}
	if r.payHeight.Valid {
		p.Block = &chain.Block{Height: r.payHeight.V, Hash: r.payHash, Time: fromMillis(r.payTime)}
	}
	return p
}

// watchesMore reports whether watchers have to load a refund after a change from another state: its payment is watched, and was watched
// elsewhere, for another time or not at all.
func (r refundRow) watchesMore(before refundRow) bool {
	return r.script != "" && r.watchUntil.Valid && (r.script != before.script || r.watchUntil != before.watchUntil)
}

// refundColumns are the columns that refundRow.fields reads.
const refundColumns = `refunds.invoice_id, refunds.number, refunds.id, refunds.merchant_id, refunds.mode, refunds.kind, refunds.state,
	refunds.network, refunds.asset, refunds.coin, refunds.decimals, refunds.amount, refunds.rate, refunds.rate_source, refunds.value,
	refunds.held_until, refunds.address, refunds.script, refunds.address_by, refunds.tx, refunds.reason, refunds.asked_by, refunds.asked_at,
	refunds.prepared_by, refunds.prepared_at, refunds.sent_by, refunds.sent_at, refunds.closed_by, refunds.closed_at,
	refunds.answered_at, refunds.ended_quote, refunds.pay_id, refunds.pay_seen_at, refunds.pay_height, refunds.pay_hash, refunds.pay_time,
	refunds.pay_confirmations, refunds.pay_required, refunds.trouble, refunds.former_amounts, refunds.watch_until,
	refunds.checked, refunds.checked_by, refunds.checked_at, refunds.market_rate, refunds.market_source, refunds.market_at`

// fields returns the variables for refundColumns.
func (r *refundRow) fields() []any {
	return []any{
		&r.invoiceID, &r.number, &r.id, &r.merchantID, &r.mode, &r.kind, &r.state, &r.network, &r.asset, &r.coin, &r.decimals, &r.amount,
		&r.rate, &r.rateSource, &r.value, &r.heldUntil, &r.address, &r.script, &r.addressBy, &r.tx, &r.reason, &r.askedBy, &r.askedAt,
		&r.preparedBy, &r.preparedAt, &r.sentBy, &r.sentAt, &r.closedBy, &r.closedAt, &r.receivedAt, &r.endedQuote,
		&r.payID, &r.paySeenAt, &r.payHeight, &r.payHash, &r.payTime, &r.payConfirmations, &r.payRequired, &r.trouble, &r.formerAmounts, &r.watchUntil,
		&r.checked, &r.checkedBy, &r.checkedAt, &r.market.price, &r.market.source, &r.market.at,
	}
}

func readRefundColumns(row scanner) (r refundRow, err error) {
	err = row.Scan(r.fields()...)
	return r, err
}

// readRefundRows reads the refunds of an invoice, in order.
func readRefundRows(ctx context.Context, q querier, invoiceID string) ([]refundRow, error) {
	return list(ctx, q, readRefundColumns, "SELECT "+refundColumns+" FROM refunds WHERE invoice_id = $1 ORDER BY number", invoiceID)
}

// saveRefunds writes the refunds that are new or changed. It never deletes one, and cannot write a second one with
// the same number.
func saveRefunds(ctx context.Context, q querier, before, after []refundRow) error {
	for i, r := range after {
		var err error
		switch {
		case i >= len(before):
			_, err = q.ExecContext(ctx, `
				INSERT INTO refunds (
					invoice_id, number, id, merchant_id, mode, kind, state, network, asset, coin, decimals, amount, rate, rate_source,
					value, held_until, address, script, address_by, tx, reason, asked_by, asked_at, prepared_by, prepared_at,
					sent_by, sent_at, closed_by, closed_at, answered_at, ended_quote, pay_id, pay_seen_at, pay_height, pay_hash, pay_time,
					pay_confirmations, pay_required, trouble, former_amounts, watch_until, checked, checked_by, checked_at,
					market_rate, market_source, market_at
				) VALUES (
					$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,
					$26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47
				)`,
				r.invoiceID, r.number, r.id, r.merchantID, r.mode, r.kind, r.state, r.network, r.asset, r.coin, r.decimals, r.amount, r.rate, r.rateSource,
				r.value, r.heldUntil, r.address, r.script, r.addressBy, r.tx, r.reason, r.askedBy, r.askedAt, r.preparedBy, r.preparedAt,
				r.sentBy, r.sentAt, r.closedBy, r.closedAt, r.receivedAt, r.endedQuote,
				r.payID, r.paySeenAt, r.payHeight, r.payHash, r.payTime, r.payConfirmations, r.payRequired, r.trouble, r.formerAmounts, r.watchUntil,
				r.checked, r.checkedBy, r.checkedAt, r.market.price, r.market.source, r.market.at)
		case r != before[i]:
			_, err = q.ExecContext(ctx, `
				UPDATE refunds SET
					kind = $3, state = $4, network = $5, asset = $6, coin = $7, decimals = $8, amount = $9, rate = $10, rate_source = $11,
					value = $12, held_until = $13, address = $14, script = $15, address_by = $16, tx = $17, reason = $18, asked_by = $19,
					prepared_by = $20, prepared_at = $21, sent_by = $22, sent_at = $23, closed_by = $24, closed_at = $25,
					answered_at = $26, ended_quote = $27, pay_id = $28, pay_seen_at = $29, pay_height = $30, pay_hash = $31, pay_time = $32,
					pay_confirmations = $33, pay_required = $34, trouble = $35, former_amounts = $36, watch_until = $37,
					checked = $38, checked_by = $39, checked_at = $40,
					market_rate = $41, market_source = $42, market_at = $43
				WHERE invoice_id = $1 AND number = $2`,
				r.invoiceID, r.number, r.kind, r.state, r.network, r.asset, r.coin, r.decimals, r.amount, r.rate, r.rateSource,
				r.value, r.heldUntil, r.address, r.script, r.addressBy, r.tx, r.reason, r.askedBy,
				r.preparedBy, r.preparedAt, r.sentBy, r.sentAt, r.closedBy, r.closedAt, r.receivedAt, r.endedQuote,
				r.payID, r.paySeenAt, r.payHeight, r.payHash, r.payTime, r.payConfirmations, r.payRequired, r.trouble, r.formerAmounts, r.watchUntil,
				r.checked, r.checkedBy, r.checkedAt, r.market.price, r.market.source, r.market.at)
		}
		if err != nil {
			return fmt.Errorf("write refund %s: %w", r.id, err)
		}
		if isClaimed := i < len(before) && before[i].tx == r.tx; !isClaimed && (r.tx != "" || i < len(before)) {
			if err := claimTransaction(ctx, q, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// claimTransaction records that a transaction pays a refund, in place of another one that was stated for it. If the merchant stated the
// transaction, it returns invoice.ErrUsedTransaction if the transaction pays another refund to the same address in the same asset, or
// one whose address was removed. A transaction that the network shows may pay several, in several transfers.
func claimTransaction(ctx context.Context, q querier, r refundRow) error {
	if _, err := q.ExecContext(ctx, "DELETE FROM refund_transactions WHERE refund_id = $1", r.id); err != nil {
		return fmt.Errorf("release transaction of refund %s: %w", r.id, err)
	}
	if r.tx == "" {
		return nil
	}
	claimed, err := exec(ctx, q, `
		INSERT INTO refund_transactions (merchant_id, network, tx, asset, script, refund_id)
		SELECT $1, $2, $3, $4, $5, $6 WHERE NOT EXISTS (
			SELECT 1 FROM refund_transactions WHERE merchant_id = $1 AND network = $2 AND tx = $3 AND asset = $4 AND script = 'removed ' || refund_id)
		ON CONFLICT DO NOTHING`, r.merchantID, r.network, r.tx, r.asset, r.script, r.id)
	if err != nil {
		return fmt.Errorf("record transaction of refund %s: %w", r.id, err)
	}
	if claimed == 0 && r.payID == "" {
		return invoice.ErrUsedTransaction
	}
	return nil
}

// newlyWatched returns the refunds that watchers have to load after a change of an invoice.
func newlyWatched(before, after []refundRow) (rows []refundRow) {
	for i, r := range after {
		var old refundRow
		if i < len(before) {
			old = before[i]
		}
		if r.watchesMore(old) {
			rows = append(rows, r)
		}
	}
	return rows
}

// watchRefunds gives refunds a position in the merchant's feed, from which watchers load them.
func watchRefunds(ctx context.Context, q querier, refunds []refundRow, position int64) error {
	for _, r := range refunds {
		if _, err := q.ExecContext(ctx, "UPDATE refunds SET position = $3 WHERE invoice_id = $1 AND number = $2", r.invoiceID, r.number, position); err != nil {
			return fmt.Errorf("watch refund %s: %w", r.id, err)
		}
	}
	return nil
}

// readWatchedRefunds calls visit with the scripts of the refunds of a merchant that are watched; see Destinations.
func readWatchedRefunds(ctx context.Context, q querier, network chain.ID, merchantID string, aboveMark int64, scanned time.Time, visit func(watcher.Destination)) error {
	return visitRows(ctx, q, func(row scanner) error {
		d := watcher.Destination{Owner: invoice.Owner{MerchantID: merchantID}}
		var until int64
		if err := row.Scan(&d.Script, &d.InvoiceID, &d.Refund, &until); err != nil {
			return err
		}
		d.Until = utc(until)
		visit(d)
		return nil
	}, watchedRefunds, merchantID, string(network), aboveMark, scanned.UnixMilli())
}

// watchedRefunds is the statement of readWatchedRefunds. The refunds of an upgraded database have the position 0, so the mark of a
// first load is -1.
const watchedRefunds = `SELECT script, invoice_id, id, watch_until FROM refunds
	WHERE merchant_id = $1 AND network = $2 AND position > $3 AND watch_until IS NOT NULL AND watch_until >= $4 AND script <> '' ORDER BY position`

// The statements of RecordedRefunds, which together use two indexes.
const (
	selectRecordedRefund = `SELECT invoice_id, script, pay_id, pay_seen_at, pay_height, pay_hash, pay_time, pay_confirmations, pay_required FROM refunds
		WHERE network = $1 AND pay_id <> '' AND `
	unfinalRefunds = selectRecordedRefund + "pay_confirmations < pay_required"
	refundsAbove   = selectRecordedRefund + "pay_height > $2 AND pay_confirmations >= pay_required"
)

// RecordedRefunds implements invoice.Storage.
func (s *Storage) RecordedRefunds(ctx context.Context, network chain.ID, above int64) ([]invoice.RecordedRefund, error) {
	return readAll(ctx, s, "recorded payments of refunds", func(row scanner) (invoice.RecordedRefund, error) {
		var r refundRow
		err := row.Scan(&r.invoiceID, &r.script, &r.payID, &r.paySeenAt, &r.payHeight, &r.payHash, &r.payTime, &r.payConfirmations, &r.payRequired)
		if err != nil {
			return invoice.RecordedRefund{}, err
		}
		return invoice.RecordedRefund{InvoiceID: r.invoiceID, Script: r.script, RefundPayment: *r.payment()}, nil
	}, unfinalRefunds+" UNION ALL "+refundsAbove, string(network), above)
}

// statedRefunds is the statement of StatedRefunds.
const statedRefunds = `SELECT tx, script FROM refunds
	WHERE network = $1 AND asset = $2 AND state = 'sent' AND watch_until IS NOT NULL AND watch_until >= $3 AND script <> '' AND tx <> ''
	ORDER BY watch_until DESC LIMIT $4`

// maxStated is the largest number of transactions that one scan looks up.
const maxStated = 100

// StatedRefunds implements watcher.Storage.
func (s *Storage) StatedRefunds(ctx context.Context, network chain.ID, asset string, scanned time.Time) ([]chain.SentCoin, error) {
	return readAll(ctx, s, "transactions of refunds", func(row scanner) (c chain.SentCoin, err error) {
		err = row.Scan(&c.Tx, &c.Script)
		return c, err
	}, statedRefunds, string(network), asset, scanned.UnixMilli(), maxStated)
}

// RefundsPaidBy implements invoice.Storage.
func (s *Storage) RefundsPaidBy(ctx context.Context, network chain.ID, transfers []string) (map[string]string, error) {
	payees, err := answer(ctx, s.read, func(ctx context.Context, q querier) (map[string]string, error) {
		payees := map[string]string{}
		for ids := range slices.Chunk(transfers, idsPerRead) {
			var args []any
			for _, id := range ids {
				args = append(args, id)
			}
			err := visitRows(ctx, q, func(row scanner) error {
				var id, invoiceID string
				err := row.Scan(&id, &invoiceID)
				payees[id] = invoiceID
				return err
			}, refundsPaidBy(len(ids)), append(args, string(network))...)
			if err != nil {
				return nil, err
			}
		}
		return payees, nil
	})
	if err != nil {
		return nil, fmt.Errorf("refunds paid by transfers on %s: %w", network, err)
	}
	return payees, nil
}

// idsPerRead is the largest number of transfers in one statement.
const idsPerRead = 100

// refundsPaidBy returns the statement that selects the invoices of the refunds that some transfers pay. Its last argument is the network.
func refundsPaidBy(count int) string {
	return fmt.Sprintf("SELECT pay_id, invoice_id FROM refunds WHERE pay_id IN (%s) AND pay_id <> '' AND network = $%d", placeholders(count), count+1)
}

// Refunds implements invoice.ListStorage.
func (s *Storage) Refunds(ctx context.Context, f invoice.RefundFilter, after invoice.Position, limit int) ([]invoice.ListedRefund, error) {
	page := newRefundsPage(f, after, limit)
	return readAll(ctx, s, "list refunds", readListedRefund, page.text, page.args...)
}

// OverdueRefunds implements doctor.Refunds. It reads the refunds that are ready, by an index.
func (s *Storage) OverdueRefunds(ctx context.Context, merchantID string, before time.Time) (int, error) {
	count, err := readOne(ctx, s, column[int], overdueRefunds, merchantID, string(invoice.Live), before.UnixMilli())
	if err != nil {
		return 0, fmt.Errorf("count overdue refunds: %w", err)
	}
	return count, nil
}

const overdueRefunds = "SELECT COUNT(*) FROM refunds WHERE merchant_id = $1 AND mode = $2 AND state = 'ready' AND prepared_at < $3"

// newRefundsPage returns the statement that reads a page of refunds, newest first.
func newRefundsPage(f invoice.RefundFilter, after invoice.Position, limit int) statement {
	where, args := conditions([]any{f.MerchantID, string(f.Mode), limit},
		filterIf(f.State != "", "refunds.state = ?", string(f.State)),
		filterIf(f.ID != "", "refunds.id = ?", f.ID),
		filterIf(after != (invoice.Position{}), "(refunds.asked_at, refunds.id) < (?, ?)", after.CreatedAt.UnixMilli(), after.ID))
	return statement{`SELECT ` + refundColumns + `, invoices.order_id, invoices.currency, invoices.decimals FROM refunds
		JOIN invoices ON invoices.id = refunds.invoice_id
		WHERE refunds.merchant_id = $1 AND refunds.mode = $2` + where + `
		ORDER BY refunds.asked_at DESC, refunds.id DESC LIMIT $3`, args}
}

func readListedRefund(row scanner) (l invoice.ListedRefund, err error) {
	var r refundRow
	var fiat money.Currency
	if err := row.Scan(append(r.fields(), &l.OrderID, &fiat.Code, &fiat.Decimals)...); err != nil {
		return l, err
	}
	l.InvoiceID = r.invoiceID
	if l.Refund, err = r.refund(fiat); err != nil {
		return l, fmt.Errorf("refund %s: %w", r.id, err)
	}
	return l, nil
}
