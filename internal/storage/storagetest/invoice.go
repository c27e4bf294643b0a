package storagetest

import (
	"fmt"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/storage"
)

// Noon is the time of all events in the tests.
var Noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

var (
	eurc    = money.Currency{Code: "EURC", Decimals: 6}
	bitcoin = chain.Asset{
		Code: "BTC", Symbol: "BTC", Name: "Bitcoin", Network: "bitcoin", NetworkName: "Bitcoin",
		Currency: money.BTC, Wallet: "BTC", Rate: "BTC", Dust: money.MustParse("0.00000546", money.BTC),
		Scheme: "bitcoin", Volatile: true,
		Policy: chain.Policy{Depth: []chain.Depth{{BelowCents: 50000, Confirmations: 1}, {Confirmations: 6}}, Coinbase: 100, Mempool: true},
	}
	euroCoin = chain.Asset{
		Code: "EURC", Symbol: "EURC", Name: "Euro Coin", Network: "ethereum", NetworkName: "Ethereum",
		Currency: eurc, Wallet: "ETH", Rate: "EURC", Dust: money.Zero(eurc), Scheme: "ethereum",
		ChainID: 1, Contract: "0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c",
		Policy: chain.Policy{Depth: []chain.Depth{{Confirmations: 12}}, BlockGrace: 3 * time.Minute},
	}
	ether = chain.Asset{
		Code: "ETH", Symbol: "ETH", Name: "Ether", Network: "ethereum", NetworkName: "Ethereum",
		Currency: money.ETH, Wallet: "ETH", Rate: "ETH", Dust: money.Zero(money.ETH), Scheme: "ethereum", ChainID: 1, Volatile: true,
		Policy: chain.Policy{Depth: []chain.Depth{{Confirmations: 12}}, BlockGrace: 3 * time.Minute, Gas: money.MustParse("0.002", money.ETH)},
	}
)

// AddMerchants creates the merchants "shop" and "bakery".
func AddMerchants(t testing.TB, s *storage.Storage) {
	t.Helper()
	for _, id := range []string{"shop", "bakery"} {
		if err := s.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: id, Name: id, CreatedAt: Noon}}); err != nil {
			t.Fatalf("create merchant: %v", err)
		}
	}
}

// NewInvoice returns a live invoice of 56.50 EUR with the event of its creation. It can be paid in BTC, at
// bitcoinIndex, and in EURC and ETH, both at etherIndex.
func NewInvoice(id, merchantID string, bitcoinIndex, etherIndex uint32) *invoice.Invoice {
	price := money.FromCents(5650, money.EUR)
	rate := func(coin money.Currency, eur, usd string) (money.Rate, money.Rate) {
		inEUR, err := money.ParseRate(eur, coin, money.EUR)
		if err != nil {
			panic(err)
		}
		inUSD, err := money.ParseRate(usd, coin, money.USD)
		if err != nil {
			panic(err)
		}
		return inEUR, inUSD
	}
	quote := invoice.Quote{Number: 1, From: Noon, Until: Noon.Add(15 * time.Minute), Due: price, Source: "fixed"}
	inv := &invoice.Invoice{
		ID: id, MerchantID: merchantID, Mode: invoice.Live, Version: 1, CreatedAt: Noon,
		Terms: invoice.Terms{Price: price, Merchant: "Shop", Language: "en", Rules: invoice.DefaultRules(money.EUR)},
		State: invoice.State{
			Status: invoice.Created, Paid: money.Zero(money.EUR), Due: price, Overpaid: money.Zero(money.EUR),
			NextCheck: quote.Until,
		},
		Events: []invoice.Event{NewEvent(id, invoice.EventCreated, 1)},
	}
	for _, m := range []struct {
		asset    chain.Asset
		index    uint32
		eur, usd string
	}{{bitcoin, bitcoinIndex, "86420", "93333.6"}, {euroCoin, etherIndex, "0.99987654", "1.0798667"}, {ether, etherIndex, "2870.5", "3100.14"}} {
		script := fmt.Sprintf("%s/%s/%d", merchantID, m.asset.Wallet, m.index)
		price := invoice.Price{Asset: m.asset.Code}
		price.EUR, price.USD = rate(m.asset.Currency, m.eur, m.usd)
		price.Expected = price.EUR.Convert(inv.Terms.Price)
		quote.Prices = append(quote.Prices, price)
		inv.Methods = append(inv.Methods, invoice.Method{
			Asset: m.asset, Destination: chain.Destination{Address: "to-" + script, Script: script}, Index: m.index,
			Birth: chain.Cursor{Height: 800_000, Hash: "00ff"}, Watched: true,
		})
	}
	inv.Quotes = []invoice.Quote{quote}
	return inv
}

// NewEvent returns an event of an invoice, created at Noon.
func NewEvent(invoiceID string, t invoice.EventType, version int64) invoice.Event {
	return invoice.Event{
		ID: fmt.Sprintf("evt_%s_%s_%d", invoiceID, t, version), Type: t, Version: version, CreatedAt: Noon,
		Body: fmt.Appendf(nil, `{"foreign_id":"%s","type":"%s"}`, invoiceID, t),
	}
}

// Creation returns the creation of the invoice that NewInvoice returns, with the next indexes of the
// merchant's two keys.
func Creation(id, merchantID string) invoice.Creation {
	return invoice.Creation{MerchantID: merchantID, At: Noon, Build: func(next invoice.NextIndex) (*invoice.Invoice, error) {
		bitcoinIndex, err := next(merchantID + "/BTC")
		if err != nil {
			return nil, err
		}
		etherIndex, err := next(merchantID + "/ETH")
		if err != nil {
			return nil, err
		}
		return NewInvoice(id, merchantID, bitcoinIndex, etherIndex), nil
	}}
}

// Create creates an invoice and returns it. An error fails the test.
func Create(t testing.TB, s *storage.Storage, c invoice.Creation) *invoice.Invoice {
	t.Helper()
	inv, _, err := s.CreateInvoice(t.Context(), c)
	if err != nil {
		t.Errorf("create invoice: %v", err) // not Fatal, since tests call Create in goroutines
	}
	return inv
}

// CheckFeed checks that the positions of a merchant's events are 1, 2, 3 and so on, and that the
// merchant's feed has the last of them.
func CheckFeed(t *testing.T, url, merchantID string) {
	t.Helper()
	positions := Rows(t, url, "SELECT position FROM events WHERE merchant_id = $1 ORDER BY position", merchantID)
	for i, p := range positions {
		if p != fmt.Sprint(i+1) {
			t.Fatalf("event %d of %s has position %s", i+1, merchantID, p)
		}
	}
	if last := Rows(t, url, "SELECT position FROM feeds WHERE merchant_id = $1", merchantID); len(last) != 1 || last[0] != fmt.Sprint(len(positions)) {
		t.Errorf("feed of %s is at %q, want %d", merchantID, last, len(positions))
	}
}
