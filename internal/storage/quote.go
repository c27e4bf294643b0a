package storage

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/invoice"
	"chequer/internal/money"
)

// quoteRow is the JSON form of a quote; its amount due is in the invoice's currency.
type quoteRow struct {
	Number int      `json:"n,omitempty"`   // absent if it is the position in the list, from 1
	Time   [2]int64 `json:"t,omitzero"`    // beginning and duration, in milliseconds
	Due    string   `json:"due,omitempty"` // absent if it is the price of the invoice
	Source string   `json:"src,omitempty"`

	Evidence string `json:"ev,omitempty"`
	// Assets are the codes of the prices, in order. They are absent if they are those of the
	// methods, in order.
	Assets []string `json:"of,omitempty"`
	Equal  []string `json:"p,omitempty"` // texts of equalPrices
	// Requests are the payment requests of the quote.
	Requests []requestRow `json:"req,omitempty"`
	// The following were used before schema version 29.
	From   int64      `json:"from,omitempty"`
	Until  int64      `json:"until,omitempty"`
	Prices []priceRow `json:"prices,omitempty"`
}

// priceRow is a price, and its JSON form before schema version 29; its amount is in the currency of
// the method's asset.
type priceRow struct {
	Asset    string `json:"a"`
	Expected string `json:"x"`
	EUR      string `json:"eur,omitempty"`
	USD      string `json:"usd,omitempty"`
	Other    string `json:"other,omitempty"` // in the invoice's currency, unless that is euro or dollar
}

func quotesToText(quotes []invoice.Quote, methods []invoice.Method, price money.Amount) string {
	rows := make([]quoteRow, len(quotes))
	for i, q := range quotes {
		rows[i] = quoteRow{
			Time:   [2]int64{q.From.UnixMilli(), q.Until.UnixMilli() - q.From.UnixMilli()},
			Source: q.Source, Evidence: q.Evidence,
		}
		if due := q.Due.String(); due != price.String() {
			rows[i].Due = due
		}
		if q.Number != i+1 {
			rows[i].Number = q.Number
		}
		rows[i].setPrices(q.Prices, methods)
		rows[i].Requests = requestsToRows(q.Requests)
	}
	return jsonText(rows)
}

// equalPrices are the assets of a quote that have the same price. Its text has the positions among
// the assets, separated by commas, and the fields of the price, each after a space; empty fields are
// absent at the end, and otherwise absentField.
type equalPrices struct {
	positions []int
	price     priceRow // without the asset
}

const absentField = "-"

func (e equalPrices) text() string {
	positions := make([]string, len(e.positions))
	for i, position := range e.positions {
		positions[i] = strconv.Itoa(position)
	}
	fields := []string{strings.Join(positions, ",")}
	for _, f := range []string{e.price.Expected, e.price.EUR, e.price.USD, e.price.Other} {
		fields = append(fields, cmp.Or(f, absentField))
	}
	for fields[len(fields)-1] == absentField {
		fields = fields[:len(fields)-1]
	}
	return strings.Join(fields, " ")
}

func parseEqualPrices(text string) (e equalPrices, err error) {
	fields := strings.Split(text, " ")
	if len(fields) < 2 || len(fields) > 5 {
		return e, fmt.Errorf("price %q has %d fields", text, len(fields))
	}
	if e.positions, err = parseEach(strings.Split(fields[0], ","), strconv.Atoi); err != nil {
		return e, fmt.Errorf("price %q: %w", text, err)
	}
	for i, target := range []*string{&e.price.Expected, &e.price.EUR, &e.price.USD, &e.price.Other} {
		if i+1 < len(fields) && fields[i+1] != absentField {
			*target = fields[i+1]
		}
	}
	return e, nil
}

// setPrices sets the prices of a quote.
func (r *quoteRow) setPrices(prices []invoice.Price, methods []invoice.Method) {
	same := slices.EqualFunc(prices, methods, func(p invoice.Price, m invoice.Method) bool { return p.Asset == m.Asset.Code })
	var groups []equalPrices
	for i, p := range prices {
		if !same {
			r.Assets = append(r.Assets, p.Asset)
		}
		row := priceRow{Expected: p.Expected.String(), EUR: rateText(p.EUR), USD: rateText(p.USD), Other: rateText(p.Other)}
		k := slices.IndexFunc(groups, func(known equalPrices) bool { return known.price == row })
		if k < 0 {
			k = len(groups)
			groups = append(groups, equalPrices{price: row})
		}
		groups[k].positions = append(groups[k].positions, i)
	}
	for _, e := range groups {
		r.Equal = append(r.Equal, e.text())
	}
}

// prices returns a row for each price of a quote, in order.
func (r quoteRow) prices(methods []invoice.Method) ([]priceRow, error) {
	if len(r.Prices) > 0 {
		return r.Prices, nil
	}
	groups, err := parseEach(r.Equal, parseEqualPrices)
	if err != nil || len(groups) == 0 {
		return nil, err
	}
	assets := r.Assets
	if len(assets) == 0 {
		for _, m := range methods {
			assets = append(assets, m.Asset.Code)
		}
	}
	rows := make([]priceRow, len(assets))
	for _, e := range groups {
		for _, i := range e.positions {
			if i < 0 || i >= len(rows) {
				return nil, fmt.Errorf("a price has position %d of %d assets", i, len(rows))
			}
			rows[i] = e.price
			rows[i].Asset = assets[i]
		}
	}
	if i := slices.IndexFunc(rows, func(row priceRow) bool { return row.Asset == "" }); i >= 0 {
		return nil, fmt.Errorf("the price of %s is missing", assets[i])
	}
	return rows, nil
}

func parseQuotes(text string, price money.Amount, methods []invoice.Method) ([]invoice.Quote, error) {
	var rows []quoteRow
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("quotes: %w", err)
	}
	fiat, coins := price.Currency(), map[string]money.Currency{}
	for _, m := range methods {
		coins[m.Asset.Code] = m.Asset.Currency
	}
	var quotes []invoice.Quote
	for i, r := range rows {
		if r.Number == 0 {
			r.Number = i + 1
		}
		if r.Time != [2]int64{} {
			r.From, r.Until = r.Time[0], r.Time[0]+r.Time[1]
		}
		due := price
		if r.Due != "" {
			var err error
			if due, err = parseAmount(r.Due, fiat); err != nil {
				return nil, fmt.Errorf("quote %d: %w", r.Number, err)
			}
		}
		q := invoice.Quote{Number: r.Number, From: utc(r.From), Until: utc(r.Until), Due: due, Source: r.Source, Evidence: r.Evidence}
		prices, err := r.prices(methods)
		if err != nil {
			return nil, fmt.Errorf("quote %d: %w", r.Number, err)
		}
		for _, p := range prices {
			price, err := p.price(coins[p.Asset], fiat)
			if err != nil {
				return nil, fmt.Errorf("quote %d: price of %s: %w", r.Number, p.Asset, err)
			}
			q.Prices = append(q.Prices, price)
		}
		for _, row := range r.Requests {
			request, err := row.request(coins[row.Asset])
			if err != nil {
				return nil, fmt.Errorf("quote %d: %w", r.Number, err)
			}
			q.Requests = append(q.Requests, request)
		}
		quotes = append(quotes, q)
	}
	return quotes, nil
}

func (r priceRow) price(coin, fiat money.Currency) (invoice.Price, error) {
	if coin == (money.Currency{}) {
		return invoice.Price{}, errors.New("no payment method has this asset")
	}
	expected, err := parseAmount(r.Expected, coin)
	if err != nil {
		return invoice.Price{}, err
	}
	eur, err := parseRate(r.EUR, coin, money.EUR)
	if err != nil {
		return invoice.Price{}, err
	}
	usd, err := parseRate(r.USD, coin, money.USD)
	if err != nil {
		return invoice.Price{}, err
	}
	other, err := parseRate(r.Other, coin, fiat)
	if err != nil {
		return invoice.Price{}, err
	}
	return invoice.Price{Asset: r.Asset, Expected: expected, EUR: eur, USD: usd, Other: other}, nil
}

// marketRateRow is a market rate as stored in columns.
type marketRateRow struct {
	price, source string // "" if none was known
	at            sql.Null[int64]
}

func newMarketRateRow(r invoice.MarketRate) marketRateRow {
	return marketRateRow{rateText(r.Price), r.Source, millis(r.At)}
}

// marketRate returns the rate of the columns, for one coin.
func (r marketRateRow) marketRate(coin money.Currency) (m invoice.MarketRate, err error) {
	if m.Price, err = parseRate(r.price, coin, money.EUR); err != nil {
		return m, fmt.Errorf("market rate: %w", err)
	}
	m.Source, m.At = r.source, fromMillis(r.at)
	return m, nil
}

// rateText returns the price of a rate, "" if it is zero.
func rateText(r money.Rate) string {
	if r.IsZero() {
		return ""
	}
	return r.Price()
}

func parseRate(text string, coin, fiat money.Currency) (money.Rate, error) {
	if text == "" {
		return money.Rate{}, nil
	}
	return money.ParseRate(text, coin, fiat)
}
