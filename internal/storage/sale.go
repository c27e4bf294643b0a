package storage

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/sale"
)

// saleRow is a sale as stored in columns. If two rows are equal, nothing needs to be
// written.
type saleRow struct {
	invoiceID                      string
	number                         int64
	merchantID, coin               string
	amount, rate, lowest, smallest string
	state, reason                  string
	createdAt, since               int64
	nextAt                         sql.Null[int64]
	retries, claim                 int64
	orders                         string
}

// saleOrderRow is the JSON form of an order of a sale.
type saleOrderRow struct {
	ID        string `json:"id"`
	AccountID string `json:"acc,omitempty"`
	Exchange  string `json:"at,omitempty"`
	Amount    string `json:"x"`
	Limit     string `json:"min"`
	Before    string `json:"had,omitempty"`
	SentAt    int64  `json:"sent"`
	Deadline  int64  `json:"dead"`
	Over      int64  `json:"over"`
	State     string `json:"s"`
	Ref       string `json:"ref,omitempty"`
	Fault     string `json:"fault,omitempty"`
	Looks     int    `json:"looks,omitempty"`
	Sold      string `json:"sold,omitempty"`
	Euro      string `json:"eur,omitempty"`
	Fee       string `json:"fee,omitempty"`
}

// salesToRows returns the rows of an invoice's sales, in order.
func salesToRows(inv *invoice.Invoice) []saleRow {
	var rows []saleRow
	for i, c := range inv.Sales {
		orders := []saleOrderRow{}
		for _, o := range c.Orders {
			orders = append(orders, saleOrderRow{
				ID: o.ID, AccountID: o.AccountID, Exchange: o.Exchange, Amount: o.Amount.String(), Limit: o.Limit.String(), Before: optional(o.Before),
				SentAt: o.SentAt.UnixMilli(), Deadline: o.Deadline.UnixMilli(), Over: o.WindowEnd.UnixMilli(), State: string(o.State), Ref: o.Ref, Fault: o.Fault,
				Looks: o.Lookups, Sold: optional(o.Sold), Euro: optional(o.Euro), Fee: optional(o.Fee),
			})
		}
		rows = append(rows, saleRow{
			invoiceID: inv.ID, number: int64(i), merchantID: inv.MerchantID, coin: c.Coin,
			amount: c.Amount.String(), rate: c.Rate.Price(), lowest: c.Lowest.String(), smallest: c.Smallest.String(),
			state: string(c.State), reason: string(c.Reason), createdAt: c.CreatedAt.UnixMilli(), since: c.Since.UnixMilli(),
			nextAt: millis(c.NextAt), retries: int64(c.Retries), claim: c.Claim, orders: jsonText(orders),
		})
	}
	return rows
}

// sale returns the sale of a row.
func (r saleRow) sale() (invoice.Sale, error) {
	coin := invoice.SaleCoin(r.coin)
	c := invoice.Sale{
		Coin: r.coin, State: invoice.SaleState(r.state), Reason: invoice.SaleReason(r.reason),
		CreatedAt: utc(r.createdAt), Since: utc(r.since), NextAt: fromMillis(r.nextAt), Retries: int(r.retries), Claim: r.claim,
	}
	var err error
	if c.Rate, err = money.ParseRate(r.rate, coin, money.EUR); err != nil {
		return c, fmt.Errorf("rate: %w", err)
	}
	for _, f := range []struct {
		text     string
		currency money.Currency
		target   *money.Amount
	}{{r.amount, coin, &c.Amount}, {r.lowest, invoice.SaleEuro, &c.Lowest}, {r.smallest, invoice.SaleEuro, &c.Smallest}} {
		if *f.target, err = parseAmount(f.text, f.currency); err != nil {
			return c, err
		}
	}
	var orders []saleOrderRow
	if err := json.Unmarshal([]byte(r.orders), &orders); err != nil {
		return c, fmt.Errorf("orders: %w", err)
	}
	for i, o := range orders {
		order, err := o.order(i+1, coin)
		if err != nil {
			return c, fmt.Errorf("order %d: %w", i+1, err)
		}
		c.Orders = append(c.Orders, order)
	}
	return c, nil
}

// order returns the order of a row.
func (r saleOrderRow) order(number int, coin money.Currency) (invoice.SaleOrder, error) {
	o := invoice.SaleOrder{
		Number: number, ID: r.ID, AccountID: r.AccountID, Exchange: r.Exchange,
		SentAt: utc(r.SentAt), Deadline: utc(r.Deadline), WindowEnd: utc(r.Over),
		State: invoice.OrderState(r.State), Ref: r.Ref, Fault: r.Fault, Lookups: r.Looks,
	}
	for _, f := range []struct {
		text     string
		currency money.Currency
		target   *money.Amount
	}{
		{r.Amount, coin, &o.Amount}, {r.Before, coin, &o.Before}, {r.Sold, coin, &o.Sold},
		{r.Limit, invoice.SaleEuro, &o.Limit}, {r.Euro, invoice.SaleEuro, &o.Euro}, {r.Fee, invoice.SaleEuro, &o.Fee},
	} {
		var err error
		if *f.target, err = parseOptional(f.text, f.currency); err != nil {
			return o, err
		}
	}
	return o, nil
}

// saleColumns are the columns that readSaleColumns reads.
const saleColumns = `invoice_id, number, merchant_id, coin, amount, rate, lowest, smallest, state, reason, created_at, since,
	next_at, tries, claim, orders`

func readSaleColumns(row scanner) (r saleRow, err error) {
	err = row.Scan(&r.invoiceID, &r.number, &r.merchantID, &r.coin, &r.amount, &r.rate, &r.lowest, &r.smallest, &r.state, &r.reason,
		&r.createdAt, &r.since, &r.nextAt, &r.retries, &r.claim, &r.orders)
	return r, err
}

// readSaleRows reads the sales of an invoice, in order.
func readSaleRows(ctx context.Context, q querier, invoiceID string) ([]saleRow, error) {
	return list(ctx, q, readSaleColumns, "SELECT "+saleColumns+" FROM conversions WHERE invoice_id = $1 ORDER BY number", invoiceID)
}

// saveSales writes the sales that are new or changed. It never deletes one, and cannot
// write a second one with the same number.
func saveSales(ctx context.Context, q querier, before, after []saleRow) error {
	for i, r := range after {
		var err error
		switch {
		case i >= len(before):
			_, err = q.ExecContext(ctx, `
				INSERT INTO conversions (
					invoice_id, number, merchant_id, coin, amount, rate, lowest, smallest, state, reason, created_at, since,
					next_at, tries, claim, orders
				) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
				r.invoiceID, r.number, r.merchantID, r.coin, r.amount, r.rate, r.lowest, r.smallest, r.state, r.reason,
				r.createdAt, r.since, r.nextAt, r.retries, r.claim, r.orders)
		case r != before[i]:
			_, err = q.ExecContext(ctx, `
				UPDATE conversions SET state = $3, reason = $4, since = $5, next_at = $6, tries = $7, claim = $8, orders = $9
				WHERE invoice_id = $1 AND number = $2`,
				r.invoiceID, r.number, r.state, r.reason, r.since, r.nextAt, r.retries, r.claim, r.orders)
		}
		if err != nil {
			return fmt.Errorf("write sale of %s: %w", r.coin, err)
		}
	}
	return nil
}

// InvoicesWithSales lists a merchant's invoices that have sales in a state, "" for any state, newest
// first. All sales of an invoice are created at the same time.
func (s *Storage) InvoicesWithSales(ctx context.Context, merchantID string, state invoice.SaleState, limit int) ([]sale.Listed, error) {
	page := newSalesPage(merchantID, state, limit)
	all, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) ([]sale.Listed, error) {
		invoices, err := list(ctx, q, readListed, page.invoices.text, page.invoices.args...)
		if err != nil {
			return nil, err
		}
		rows, err := list(ctx, q, readSaleColumns, page.sales.text, page.sales.args...)
		if err != nil {
			return nil, err
		}
		return withSales(invoices, rows)
	})
	if err != nil {
		return nil, fmt.Errorf("list sales: %w", err)
	}
	return all, nil
}

// salesPage holds the statements that read a page of invoices with sales.
type salesPage struct{ invoices, sales statement }

func newSalesPage(merchantID string, state invoice.SaleState, limit int) salesPage {
	where, args := conditions([]any{merchantID, limit}, filterIf(state != "", "state = ?", string(state)))
	ids := `(SELECT invoice_id FROM conversions WHERE merchant_id = $1` + where + `
		GROUP BY created_at, invoice_id ORDER BY created_at DESC, invoice_id LIMIT $2)`
	return salesPage{
		statement{"SELECT id, order_id, status FROM invoices WHERE id IN " + ids, args},
		statement{"SELECT " + saleColumns + " FROM conversions WHERE invoice_id IN " + ids + where + " ORDER BY invoice_id, number", args},
	}
}

func readListed(row scanner) (l sale.Listed, err error) {
	err = row.Scan(&l.ID, &l.OrderID, &l.Status)
	return l, err
}

// withSales returns invoices with the sales of the rows, newest first.
func withSales(invoices []sale.Listed, rows []saleRow) ([]sale.Listed, error) {
	byInvoice := map[string]*sale.Listed{}
	for i := range invoices {
		byInvoice[invoices[i].ID] = &invoices[i]
	}
	for _, r := range rows {
		s, err := r.sale()
		if err != nil {
			return nil, fmt.Errorf("invoice %s: sale of %s: %w", r.invoiceID, r.coin, err)
		}
		byInvoice[r.invoiceID].Sales = append(byInvoice[r.invoiceID].Sales, s)
	}
	slices.SortFunc(invoices, func(a, b sale.Listed) int {
		return cmp.Or(b.Sales[0].CreatedAt.Compare(a.Sales[0].CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return invoices, nil
}
