package storage

import (
	"encoding/json"
	"errors"
	"fmt"

	"chequer/internal/invoice"
	"chequer/internal/money"
)

// quoteRow is the JSON form of a quote; its amount due is in the invoice's currency.
type quoteRow struct {
	Number int        `json:"n"`
	From   int64      `json:"from"`
	Until  int64      `json:"until"`
	Due    string     `json:"due"`
	Prices []priceRow `json:"prices"`
	Source string     `json:"src,omitempty"`

	Evidence string `json:"ev,omitempty"`
}

// priceRow is the JSON form of a price; its amounts are in the currency of the method's asset.
type priceRow struct {
	Asset    string `json:"a"`
	Expected string `json:"x"`
	EUR      string `json:"eur,omitempty"`
	USD      string `json:"usd,omitempty"`
	Other    string `json:"other,omitempty"` // in the invoice's currency, unless that is euro or dollar
}

func quotesToText(quotes []invoice.Quote) string {
	rows := make([]quoteRow, len(quotes))
	for i, q := range quotes {
		rows[i] = quoteRow{
			Number: q.Number, From: q.From.UnixMilli(), Until: q.Until.UnixMilli(),
			Due: q.Due.String(), Source: q.Source, Evidence: q.Evidence,
		}
		for _, p := range q.Prices {
			rows[i].Prices = append(rows[i].Prices, priceRow{
				Asset: p.Asset, Expected: p.Expected.String(), EUR: rateText(p.EUR), USD: rateText(p.USD),
				Other: rateText(p.Other),
			})
		}
	}
	return jsonText(rows)
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
		for _, p := range r.Prices {
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
