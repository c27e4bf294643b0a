package invoice_test

import (
	"fmt"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// The tests use an invoice of 100.00 EUR, payable in BTC or in EURC, created at noon.
var (
	noon     = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	quoteEnd = noon.Add(15 * time.Minute)
	eurc     = money.Currency{Code: "EURC", Decimals: 6}

	bitcoin = chain.Asset{
		Code: "BTC", Network: "bitcoin", Currency: money.BTC, Dust: sats(546),
		Policy: chain.Policy{Mempool: true, Depth: []chain.Depth{{BelowCents: 500_00, Confirmations: 1}, {Confirmations: 2}}},
	}
	euroToken = chain.Asset{
		Code: "EURC", Network: "base", Currency: eurc, Dust: money.Zero(eurc),
		Policy: chain.Policy{BlockGrace: 3 * time.Minute, Depth: []chain.Depth{{Confirmations: 1}}},
	}
)

const (
	full = 125_000 // satoshis that 100.00 EUR cost at 80,000 EUR
)

func sats(n int64) money.Amount { return money.FromCents(n, money.BTC) }

func fiat(text string) money.Amount { return money.MustParse(text, money.EUR) }

func rate(t testing.TB, text string, coin, fiat money.Currency) money.Rate {
	t.Helper()
	r, err := money.ParseRate(text, coin, fiat)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newInvoice returns the invoice, with both its networks scanned up to a time.
func newInvoice(t testing.TB, scanned time.Time) *invoice.Invoice {
	t.Helper()
	inv := &invoice.Invoice{
		ID: "inv", Mode: invoice.Live, Version: 1, CreatedAt: noon,
		Terms: invoice.Terms{Price: fiat("100"), Rules: invoice.DefaultRules(money.EUR)},
		Methods: []invoice.Method{
			{Asset: bitcoin, Destination: chain.Destination{Address: "bc1", Script: "s"}, Birth: chain.Cursor{Height: 100, Hash: "b100"}},
			{Asset: euroToken, Destination: chain.Destination{Address: "0x1", Script: "0x1"}, Birth: chain.Cursor{Height: 100, Hash: "e100"}},
		},
	}
	inv.Quotes = []invoice.Quote{quote(t, 1, noon, "100", "80000")}
	scan(inv, scanned)
	inv.State = inv.Evaluate()
	return inv
}

// quote returns a quote for an amount due at a price of a bitcoin.
func quote(t testing.TB, number int, from time.Time, due, bitcoin string) invoice.Quote {
	t.Helper()
	btc, euro := rate(t, bitcoin, money.BTC, money.EUR), rate(t, "1", eurc, money.EUR)
	return invoice.Quote{
		Number: number, From: from, Until: from.Add(15 * time.Minute), Due: fiat(due),
		Prices: []invoice.Price{
			{Asset: "BTC", Expected: btc.Convert(fiat(due)), EUR: btc, USD: btc},
			{Asset: "EURC", Expected: euro.Convert(fiat(due)), EUR: euro, USD: euro},
		},
	}
}

func scan(inv *invoice.Invoice, to time.Time) {
	inv.Cover("bitcoin", to, nil)
	inv.Cover("base", to, nil)
}

// pay returns an unconfirmed transfer of satoshis, first seen some time after noon.
func pay(id string, n int64, after time.Duration) chain.Transfer {
	return chain.Transfer{
		ID: id + ":0", Tx: id, Asset: "BTC", Script: "s", Amount: sats(n),
		Spends: []string{"in-" + id}, FirstSeen: noon.Add(after),
	}
}

// inBlock returns the transfer in a block whose time is some time after noon.
func inBlock(t chain.Transfer, height int64, after time.Duration) chain.Transfer {
	t.Block = &chain.Block{Height: height, Hash: fmt.Sprintf("b%d", height), Time: noon.Add(after)}
	return t
}

// spending returns the transfer with other outpoints that it spends.
func spending(t chain.Transfer, outpoints ...string) chain.Transfer {
	t.Spends = outpoints
	return t
}

// observe lets the invoice observe transfers on bitcoin, under complete coverage.
func observe(inv *invoice.Invoice, tip int64, transfers ...chain.Transfer) {
	observeSnapshot(inv, chain.Snapshot{Unconfirmed: chain.Complete, Tip: chain.Block{Height: tip}}, transfers...)
}

// observeSnapshot is observe with a given snapshot, which covers all blocks from 90 on.
func observeSnapshot(inv *invoice.Invoice, s chain.Snapshot, transfers ...chain.Transfer) {
	s.Transfers = transfers
	if s.From.Height == 0 {
		s.From = chain.Cursor{Height: 90, Hash: "b90"}
	}
	required := map[string]int{}
	for _, t := range transfers {
		required[t.ID] = 1
	}
	inv.Observe(invoice.Observation{Network: "bitcoin", Snapshot: s, Transfers: transfers, Required: required})
	inv.State = inv.Evaluate()
}

// outcome is the part of a state that the tests compare.
type outcome struct {
	Status     invoice.Status
	Exceptions string
	Paid       string
	Due        string
	Over       string
}

func outcomeOf(inv *invoice.Invoice) outcome { return outcomeIn(inv.Evaluate()) }

func outcomeIn(s invoice.State) outcome {
	list := ""
	if len(s.Exceptions) > 0 {
		list = fmt.Sprint(s.Exceptions)
	}
	return outcome{s.Status, list, s.Paid.String(), s.Due.String(), s.Overpaid.String()}
}
