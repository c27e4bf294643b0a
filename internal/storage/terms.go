package storage

import (
	"encoding/json"
	"fmt"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// termsRow is the JSON form of an invoice's terms, without the price and the order ID, which have
// their own columns.
type termsRow struct {
	Merchant         string            `json:"shop,omitempty"`
	AllowPaidExpired bool              `json:"late,omitempty"`
	DisableConvert   bool              `json:"keep,omitempty"`
	URLSuccess       string            `json:"ok,omitempty"`
	URLFailure       string            `json:"fail,omitempty"`
	Description      string            `json:"text,omitempty"`
	Metadata         map[string]string `json:"meta,omitempty"`
	Language         string            `json:"lang,omitempty"`
	Rules            rulesRow          `json:"rules"`
	Convert          *convertRow       `json:"sell,omitempty"`
}

// rulesRow is the JSON form of the rules; windows are in milliseconds.
type rulesRow struct {
	Tolerance     string `json:"tol,omitempty"`
	BlindWindow   int64  `json:"blind,omitempty"`
	ConfirmWindow int64  `json:"conf,omitempty"`
	RequoteWindow int64  `json:"requote,omitempty"`
	LatePercent   int64  `json:"late,omitempty"`
	// Gas is by network; null in invoices made before this rule.
	Gas map[string]gasRow `json:"gas"`
}

// gasRow is the JSON form of an amount of a network's native coin.
type gasRow struct {
	Amount   string `json:"amount"`
	Currency string `json:"cur"`
	Decimals int32  `json:"dec"`
}

func gasToRows(gas map[chain.ID]money.Amount) map[string]gasRow {
	if gas == nil {
		return nil
	}
	rows := map[string]gasRow{}
	for network, a := range gas {
		rows[string(network)] = gasRow{a.String(), a.Currency().Code, a.Currency().Decimals}
	}
	return rows
}

func parseGas(rows map[string]gasRow) (map[chain.ID]money.Amount, error) {
	if rows == nil {
		return nil, nil
	}
	gas := map[chain.ID]money.Amount{}
	for network, r := range rows {
		a, err := parseAmount(r.Amount, money.Currency{Code: r.Currency, Decimals: r.Decimals})
		if err != nil {
			return nil, fmt.Errorf("gas: %w", err)
		}
		gas[chain.ID(network)] = a
	}
	return gas, nil
}

// convertRow is the JSON form of the terms for selling received coins.
type convertRow struct {
	Coins    []string `json:"coins"`
	Smallest string   `json:"min"`
	Slippage int64    `json:"slip"`
}

func convertToRow(t invoice.SaleTerms) *convertRow {
	if len(t.Coins) == 0 {
		return nil
	}
	return &convertRow{Coins: t.Coins, Smallest: t.Smallest.String(), Slippage: t.Slippage}
}

func (r *convertRow) terms() (invoice.SaleTerms, error) {
	if r == nil {
		return invoice.SaleTerms{}, nil
	}
	smallest, err := parseAmount(r.Smallest, invoice.SaleEuro)
	return invoice.SaleTerms{Coins: r.Coins, Smallest: smallest, Slippage: r.Slippage}, err
}

func termsToText(t invoice.Terms) string {
	return jsonText(termsRow{
		Merchant: t.Merchant, AllowPaidExpired: t.AllowPaidExpired, DisableConvert: t.DisableSale,
		URLSuccess: t.URLSuccess, URLFailure: t.URLFailure, Description: t.Description,
		Metadata: t.Metadata, Language: t.Language,
		Rules: rulesRow{
			Tolerance:     optional(t.Rules.Tolerance),
			BlindWindow:   t.Rules.BlindWindow.Milliseconds(),
			ConfirmWindow: t.Rules.ConfirmWindow.Milliseconds(),
			RequoteWindow: t.Rules.RequoteWindow.Milliseconds(),
			LatePercent:   t.Rules.LatePercent,
			Gas:           gasToRows(t.Rules.Gas),
		},
		Convert: convertToRow(t.Sale),
	})
}

func parseTerms(text string, price money.Amount, orderID string) (invoice.Terms, error) {
	var r termsRow
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return invoice.Terms{}, fmt.Errorf("terms: %w", err)
	}
	tolerance, err := parseOptional(r.Rules.Tolerance, price.Currency())
	if err != nil {
		return invoice.Terms{}, fmt.Errorf("terms: tolerance: %w", err)
	}
	convert, err := r.Convert.terms()
	if err != nil {
		return invoice.Terms{}, fmt.Errorf("terms: smallest sale: %w", err)
	}
	gas, err := parseGas(r.Rules.Gas)
	if err != nil {
		return invoice.Terms{}, fmt.Errorf("terms: %w", err)
	}
	return invoice.Terms{
		Price: price, Merchant: r.Merchant, AllowPaidExpired: r.AllowPaidExpired,
		DisableSale: r.DisableConvert, URLSuccess: r.URLSuccess, URLFailure: r.URLFailure,
		Sale: convert, OrderID: orderID, Description: r.Description, Metadata: r.Metadata, Language: r.Language,
		Rules: invoice.Rules{
			Tolerance:     tolerance,
			BlindWindow:   time.Duration(r.Rules.BlindWindow) * time.Millisecond,
			ConfirmWindow: time.Duration(r.Rules.ConfirmWindow) * time.Millisecond,
			RequoteWindow: time.Duration(r.Rules.RequoteWindow) * time.Millisecond,
			LatePercent:   r.Rules.LatePercent,
			Gas:           gas,
		},
	}, nil
}
