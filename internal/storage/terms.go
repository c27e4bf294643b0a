package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// termsRow is the JSON form of an invoice's own terms, without the price and the order ID, which
// have their own columns, and without the shared terms.
type termsRow struct {
	URLSuccess  string            `json:"ok,omitempty"`
	URLFailure  string            `json:"fail,omitempty"`
	StayOnPage  bool              `json:"stay,omitempty"`
	Description string            `json:"text,omitempty"`
	Metadata    map[string]string `json:"meta,omitempty"`
	Language    string            `json:"lang,omitempty"`
	Tolerance   string            `json:"tol,omitempty"`
	Removal     *removalRow       `json:"removed,omitempty"`

	// The following are in shared terms since schema version 29.
	Merchant         string      `json:"shop,omitempty"`
	AllowPaidExpired bool        `json:"late,omitempty"`
	DisableConvert   bool        `json:"keep,omitempty"`
	Rules            *rulesRow   `json:"rules,omitempty"`
	Convert          *convertRow `json:"sell,omitempty"`
}

// removalRow is the JSON form of what was removed from the terms, and from other parts of the invoice.
type removalRow struct {
	At    int64                  `json:"at"` // in Unix milliseconds
	Kinds []invoice.PersonalData `json:"kinds,omitempty"`
}

func removalToRow(r invoice.Removal) *removalRow {
	if r.At.IsZero() {
		return nil
	}
	return &removalRow{r.At.UnixMilli(), r.Kinds}
}

func (r *removalRow) removal() invoice.Removal {
	if r == nil {
		return invoice.Removal{}
	}
	return invoice.Removal{At: utc(r.At), Kinds: r.Kinds}
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

func rulesToRow(r invoice.Rules) rulesRow {
	return rulesRow{
		Tolerance:     optional(r.Tolerance),
		BlindWindow:   r.BlindWindow.Milliseconds(),
		ConfirmWindow: r.ConfirmWindow.Milliseconds(),
		RequoteWindow: r.RequoteWindow.Milliseconds(),
		LatePercent:   r.LatePercent,
		Gas:           gasToRows(r.Gas),
	}
}

// rules returns the rules without the tolerance, which is in the currency of the price.
func (r rulesRow) rules() (invoice.Rules, error) {
	gas, err := parseGas(r.Gas)
	return invoice.Rules{
		BlindWindow:   time.Duration(r.BlindWindow) * time.Millisecond,
		ConfirmWindow: time.Duration(r.ConfirmWindow) * time.Millisecond,
		RequoteWindow: time.Duration(r.RequoteWindow) * time.Millisecond,
		LatePercent:   r.LatePercent,
		Gas:           gas,
	}, err
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

func termsToText(t invoice.Terms, removed invoice.Removal) string {
	return jsonText(termsRow{
		URLSuccess: t.URLSuccess, URLFailure: t.URLFailure, StayOnPage: t.StayOnPage, Description: t.Description,
		Metadata: t.Metadata, Language: t.Language, Tolerance: optional(t.Rules.Tolerance), Removal: removalToRow(removed),
	})
}

// parseTerms returns the terms of a row, which are completed by the shared terms unless these are
// nil, and what was removed.
func parseTerms(text string, price money.Amount, orderID string, shared *sharedTerms) (invoice.Terms, invoice.Removal, error) {
	var r termsRow
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return invoice.Terms{}, invoice.Removal{}, fmt.Errorf("terms: %w", err)
	}
	var terms invoice.Terms
	var tolerance string
	if shared != nil {
		terms, tolerance = shared.terms, r.Tolerance
	} else {
		if r.Rules == nil {
			return invoice.Terms{}, invoice.Removal{}, errors.New("terms: the rules are missing")
		}
		tolerance = r.Rules.Tolerance
		var err error
		if terms, err = r.toTerms(); err != nil {
			return invoice.Terms{}, invoice.Removal{}, fmt.Errorf("terms: %w", err)
		}
	}
	var err error
	if terms.Rules.Tolerance, err = parseOptional(tolerance, price.Currency()); err != nil {
		return invoice.Terms{}, invoice.Removal{}, fmt.Errorf("terms: tolerance: %w", err)
	}
	terms.Price, terms.OrderID = price, orderID
	terms.URLSuccess, terms.URLFailure, terms.StayOnPage, terms.Language = r.URLSuccess, r.URLFailure, r.StayOnPage, r.Language
	terms.Description, terms.Metadata = r.Description, r.Metadata
	return terms, r.Removal.removal(), nil
}

// toTerms returns the terms that are in shared terms since schema version 29.
func (r termsRow) toTerms() (invoice.Terms, error) {
	sale, err := r.Convert.terms()
	if err != nil {
		return invoice.Terms{}, fmt.Errorf("smallest sale: %w", err)
	}
	rules, err := r.Rules.rules()
	if err != nil {
		return invoice.Terms{}, err
	}
	return invoice.Terms{
		Merchant: r.Merchant, AllowPaidExpired: r.AllowPaidExpired, DisableSale: r.DisableConvert, Sale: sale, Rules: rules,
	}, nil
}
