package report

import (
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// Sum is the sum of paid invoices with prices in one currency.
type Sum struct {
	Invoices int64
	Price    money.Amount
	Received money.Amount // the value that counts towards the prices; at most their sum
}

// SumOf returns the sum of one paid invoice.
func SumOf(inv invoice.Summary) Sum {
	return Sum{Invoices: 1, Price: inv.Price, Received: inv.Paid}
}

// Add returns the sum of both. The currencies must be equal. The zero Sum has none.
func (s Sum) Add(t Sum) Sum {
	switch (money.Currency{}) {
	case s.Currency():
		return t
	case t.Currency():
		return s
	}
	return Sum{s.Invoices + t.Invoices, s.Price.Add(t.Price), s.Received.Add(t.Received)}
}

// Missing returns the part of the prices that was not received: the merchant accepted less, or the
// tolerance covered it.
func (s Sum) Missing() money.Amount { return s.Price.Sub(s.Received) }

// Currency returns the currency of the prices.
func (s Sum) Currency() money.Currency { return s.Price.Currency() }

// Key identifies the paid invoices that are summed together.
type Key struct {
	Day       Day // on which the invoice became paid
	Currency  money.Currency
	PaidAsset string // code; see invoice.State
	Origin    invoice.Origin
	// MerchantID is set only in a report of several merchants.
	MerchantID string
}

// DaySum is the sum of the paid invoices of a merchant and a mode with a key.
type DaySum struct {
	Key
	Sum
}
