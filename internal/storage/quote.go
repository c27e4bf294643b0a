package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"chequer/internal/invoice"
	"chequer/internal/money"
)

// quoteRow is the JSON form of a quote; its amount due is in the invoice's currency.
type quoteRow struct {
	Number int    `json:"n"`
	From   int64  `json:"from"`
	Until  int64  `json:"until"`
	Due    string `json:"due"`
	Source string `json:"src,omitempty"`

	Evidence string `json:"ev,omitempty"`
	// Assets are the codes of the prices, in order. They are absent if they are those of the
	// methods, in order.
	Assets []string   `json:"of,omitempty"`
	Equal  []priceRow `json:"p,omitempty"`      // each price once
	Prices []priceRow `json:"prices,omitempty"` // before schema version 29
}

// priceRow is the JSON form of a price; its amount is in the currency of the method's asset.
type priceRow struct {
	At       []int  `json:"at,omitempty"` // positions among the assets of the quote
	Asset    string `json:"a,omitempty"`  // before schema version 29
	Expected string `json:"x"`
	EUR      string `json:"eur,omitempty"`
	USD      string `json:"usd,omitempty"`
	Other    string `json:"other,omitempty"` // in the invoice's currency, unless that is euro or dollar
}

func quotesToText(quotes []invoice.Quote, methods []invoice.Method) string {
	rows := make([]quoteRow, len(quotes))
	for i, q := range quotes {
		rows[i] = quoteRow{
			Number: q.Number, From: q.From.UnixMilli(), Until: q.Until.UnixMilli(),
			Due: q.Due.String(), Source: q.Source, Evidence: q.Evidence,
		}
		rows[i].setPrices(q.Prices, methods)
	}
	return jsonText(rows)
}

// setPrices sets the prices of a quote, where assets with the same price share a row.
func (r *quoteRow) setPrices(prices []invoice.Price, methods []invoice.Method) {
	same := slices.EqualFunc(prices, methods, func(p invoice.Price, m invoice.Method) bool { return p.Asset == m.Asset.Code })
	for i, p := range prices {
		if !same {
			r.Assets = append(r.Assets, p.Asset)
		}
		row := priceRow{Expected: p.Expected.String(), EUR: rateText(p.EUR), USD: rateText(p.USD), Other: rateText(p.Other)}
		k := slices.IndexFunc(r.Equal, func(known priceRow) bool {
			return known.Expected == row.Expected && known.EUR == row.EUR && known.USD == row.USD && known.Other == row.Other
		})
		if k < 0 {
			k = len(r.Equal)
			r.Equal = append(r.Equal, row)
		}
		r.Equal[k].At = append(r.Equal[k].At, i)
	}
}

// prices returns a row for each price of a quote, in order.
func (r quoteRow) prices(methods []invoice.Method) ([]priceRow, error) {
	if len(r.Prices) > 0 {
		return r.Prices, nil
	}
	count := 0
	for _, p := range r.Equal {
		count += len(p.At)
	}
	assets := r.Assets
	if len(assets) == 0 && count > 0 {
		for _, m := range methods {
			assets = append(assets, m.Asset.Code)
		}
	}
	if count != len(assets) {
		return nil, errors.New("the prices do not match the assets")
	}
	rows := make([]priceRow, count)
	for _, p := range r.Equal {
		for _, i := range p.At {
			if i < 0 || i >= count || rows[i].Asset != "" {
				return nil, errors.New("the positions of the prices do not match the assets")
			}
			rows[i] = p
			rows[i].Asset = assets[i]
		}
	}
	return rows, nil
}

func parseQuotes(text string, fiat money.Currency, methods []invoice.Method) ([]invoice.Quote, error) {
	var rows []quoteRow
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("quotes: %w", err)
	}
	coins := map[string]money.Currency{}
	for _, m := range methods {
		coins[m.Asset.Code] = m.Asset.Currency
	}
	var quotes []invoice.Quote
	for _, r := range rows {
		due, err := parseAmount(r.Due, fiat)
		if err != nil {
			return nil, fmt.Errorf("quote %d: %w", r.Number, err)
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
