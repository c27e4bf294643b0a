package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// requestRow is the JSON form of a payment request; its amount is in the currency of the method's asset, and its times are
// in milliseconds.
type requestRow struct {
	Asset   string `json:"a"`
	Address string `json:"to"`
	Script  string `json:"hash"`
	Amount  string `json:"x"`
	MadeAt  int64  `json:"at"`
	Until   int64  `json:"until"`
	Lookup  string `json:"url,omitempty"`

	Superseded bool `json:"old,omitempty"`
}

func requestsToRows(requests []invoice.PaymentRequest) (rows []requestRow) {
	for _, r := range requests {
		rows = append(rows, requestRow{
			Asset: r.Asset, Address: r.Address, Script: r.Script, Amount: r.Amount.String(),
			MadeAt: r.MadeAt.UnixMilli(), Until: r.Until.UnixMilli(), Lookup: r.Lookup, Superseded: r.Superseded,
		})
	}
	return rows
}

func (r requestRow) request(coin money.Currency) (invoice.PaymentRequest, error) {
	if coin == (money.Currency{}) {
		return invoice.PaymentRequest{}, fmt.Errorf("payment request for %s: no payment method has this asset", r.Asset)
	}
	amount, err := parseAmount(r.Amount, coin)
	if err != nil {
		return invoice.PaymentRequest{}, fmt.Errorf("payment request for %s: %w", r.Asset, err)
	}
	return invoice.PaymentRequest{
		Asset: r.Asset, Destination: chain.Destination{Address: r.Address, Script: r.Script}, Amount: amount,
		MadeAt: utc(r.MadeAt), Until: utc(r.Until), Lookup: r.Lookup, Superseded: r.Superseded,
	}, nil
}

// requestColumn is the JSON form of a payment request in the row of its destination. Times are in milliseconds.
type requestColumn struct {
	Text       string `json:"to"`
	Amount     string `json:"x"`
	Currency   string `json:"cur"`
	Decimals   int32  `json:"dec"`
	MadeAt     int64  `json:"at"`
	ShownUntil int64  `json:"shown"`
	Until      int64  `json:"until"`
	Lookup     string `json:"url,omitempty"`
}

// requestRows returns the destinations of a method of payment requests. Each is watched until it is no longer looked up, and
// at least until the invoice expires, so that its network is scanned past the end of the quote.
func requestRows(inv *invoice.Invoice, m invoice.Method) (rows []destinationRow) {
	for _, q := range inv.Quotes {
		for _, r := range q.Requests {
			if r.Asset != m.Asset.Code {
				continue
			}
			until := r.LookUpUntil()
			if last := inv.ExpiresAt().Add(-inv.Clock).Add(chain.LookupGrace); last.After(until) {
				until = last
			}
			coin := r.Amount.Currency()
			rows = append(rows, destinationRow{
				network: string(m.Asset.Network), script: r.Script, watchUntil: until.UnixMilli(),
				request: sql.Null[string]{Valid: true, V: jsonText(requestColumn{
					Text: r.Address, Amount: r.Amount.String(), Currency: coin.Code, Decimals: coin.Decimals, MadeAt: r.MadeAt.UnixMilli(),
					ShownUntil: q.Until.Add(-inv.Clock).UnixMilli(), Until: r.LookUpUntil().Add(-chain.LookupGrace).UnixMilli(), Lookup: r.Lookup,
				})},
			})
		}
	}
	return rows
}

// pendingRequest returns the payment request with a payment hash, or nil if the column is NULL.
func pendingRequest(hash string, column sql.Null[string]) (*chain.PendingRequest, error) {
	if !column.Valid {
		return nil, nil
	}
	var c requestColumn
	if err := json.Unmarshal([]byte(column.V), &c); err != nil {
		return nil, fmt.Errorf("payment request %s: %w", hash, err)
	}
	amount, err := parseAmount(c.Amount, money.Currency{Code: c.Currency, Decimals: c.Decimals})
	if err != nil {
		return nil, fmt.Errorf("payment request %s: %w", hash, err)
	}
	return &chain.PendingRequest{
		Hash: hash, Text: c.Text, Amount: amount, MadeAt: utc(c.MadeAt), ShownUntil: utc(c.ShownUntil), Until: utc(c.Until), Lookup: c.Lookup,
	}, nil
}

// HasScript implements invoice.Storage.
func (s *Storage) HasScript(ctx context.Context, script string) (bool, error) {
	has, err := answer(ctx, s.read, func(ctx context.Context, q querier) (has bool, err error) {
		err = q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM destinations WHERE script = $1)", script).Scan(&has)
		return has, err
	})
	if err != nil {
		return false, fmt.Errorf("find script: %w", err)
	}
	return has, nil
}

// lightningRow is the JSON form of the terms of payment requests. Amounts are in bitcoin.
type lightningRow struct {
	Least      string `json:"min,omitempty"`
	Most       string `json:"max,omitempty"`
	OnDemand   bool   `json:"ask,omitempty"`
	NamesOrder bool   `json:"order,omitempty"`
	Unified    bool   `json:"uri,omitempty"`
}

// lightningToRow returns nil for the zero terms.
func lightningToRow(t invoice.LightningTerms) *lightningRow {
	r := lightningRow{Least: optional(t.Least), Most: optional(t.Most), OnDemand: t.OnDemand, NamesOrder: t.NamesOrder, Unified: t.Unified}
	if r == (lightningRow{}) {
		return nil
	}
	return &r
}

// terms returns the terms of the row, which may be nil.
func (r *lightningRow) terms() (t invoice.LightningTerms, err error) {
	if r == nil {
		return t, nil
	}
	t = invoice.LightningTerms{OnDemand: r.OnDemand, NamesOrder: r.NamesOrder, Unified: r.Unified}
	for text, amount := range map[string]*money.Amount{r.Least: &t.Least, r.Most: &t.Most} {
		if text == "" {
			continue
		}
		var parseErr error
		if *amount, parseErr = parseAmount(text, money.BTC); parseErr != nil {
			err = errors.Join(err, fmt.Errorf("limit of payment requests: %w", parseErr))
		}
	}
	return t, err
}
