package storage_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/seal"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

// engines are the database engines that every test runs on; each function returns the URL of a new
// database.
var engines = map[string]func(testing.TB) string{
	"sqlite":   func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "chequer.db") },
	"postgres": storagetest.Postgres,
}

// onBoth runs a test on both engines, each with a new database with the merchants "shop" and
// "bakery".
func onBoth(t *testing.T, test func(t *testing.T, s *storage.Storage, url string)) {
	t.Helper()
	t.Parallel()
	for name, newURL := range map[string]func(testing.TB) string{"sqlite": storagetest.File, "postgres": storagetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newURL(t)
			s := open(t, url)
			addMerchants(t, s)
			test(t, s, url)
		})
	}
}

// open opens a database until the end of the test.
func open(t testing.TB, url string) *storage.Storage {
	t.Helper()
	s, err := storage.Open(context.Background(), url, box(t, 1), storage.Options{Upgrade: true})
	if err != nil {
		t.Fatalf("open %s: %v", url, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func addMerchants(t testing.TB, s *storage.Storage) {
	t.Helper()
	for _, id := range []string{"shop", "bakery"} {
		if err := s.CreateMerchant(t.Context(), merchant.Merchant{ID: id, Name: id, CreatedAt: noon}); err != nil {
			t.Fatalf("create merchant: %v", err)
		}
	}
}

// box returns a box with a master key that repeats one byte.
func box(t testing.TB, b byte) *seal.Box {
	t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{b}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// rows returns the first column of a query, read on a separate connection.
func rows(t testing.TB, url, query string, args ...any) []string {
	t.Helper()
	result, err := database(t, url).QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer result.Close()
	var all []string
	for result.Next() {
		var text string
		if err := result.Scan(&text); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		all = append(all, text)
	}
	if err := result.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

// change runs a statement on a separate connection, like an operator with access to the database.
func change(t testing.TB, url, statement string, args ...any) {
	t.Helper()
	if _, err := database(t, url).ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func database(t testing.TB, url string) *sql.DB {
	t.Helper()
	driver := "pgx"
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		driver, url = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// noon is the time of all events in the tests.
var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// same compares a written invoice with the one that was read: empty and nil lists are equal, and
// events are not read back.
var same = cmp.Options{
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreFields(invoice.Invoice{}, "Events"),
}

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

// newInvoice returns an invoice of 56.50 EUR with an index of each of a merchant's two keys, one of
// which serves two methods, and the event of its creation.
func newInvoice(id, merchantID string, bitcoinIndex, etherIndex uint32) *invoice.Invoice {
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
	quote := invoice.Quote{Number: 1, From: noon, Until: noon.Add(15 * time.Minute), Due: price, Source: "fixed"}
	inv := &invoice.Invoice{
		ID: id, MerchantID: merchantID, Mode: invoice.Live, Version: 1, CreatedAt: noon,
		Terms: invoice.Terms{Price: price, Merchant: "Shop", Language: "en", Rules: invoice.DefaultRules(money.EUR)},
		State: invoice.State{
			Status: invoice.Created, Paid: money.Zero(money.EUR), Due: price, Overpaid: money.Zero(money.EUR),
			NextCheck: quote.Until,
		},
		Events: []invoice.Event{newEvent(id, invoice.EventCreated, 1)},
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

func newEvent(invoiceID string, t invoice.EventType, version int64) invoice.Event {
	return invoice.Event{
		ID: fmt.Sprintf("evt_%s_%s_%d", invoiceID, t, version), Type: t, Version: version, CreatedAt: noon,
		Body: fmt.Appendf(nil, `{"foreign_id":"%s","type":"%s"}`, invoiceID, t),
	}
}

// creation returns a creation of newInvoice with indexes of the merchant's counters.
func creation(id, merchantID string) invoice.Creation {
	return invoice.Creation{MerchantID: merchantID, At: noon, Build: func(next invoice.NextIndex) (*invoice.Invoice, error) {
		bitcoinIndex, err := next(merchantID + "/BTC")
		if err != nil {
			return nil, err
		}
		etherIndex, err := next(merchantID + "/ETH")
		if err != nil {
			return nil, err
		}
		return newInvoice(id, merchantID, bitcoinIndex, etherIndex), nil
	}}
}

// create writes a creation that must succeed.
func create(t testing.TB, s *storage.Storage, c invoice.Creation) *invoice.Invoice {
	t.Helper()
	inv, _, err := s.CreateInvoice(t.Context(), c)
	if err != nil {
		t.Errorf("create invoice: %v", err) // not Fatal, since tests call create in goroutines
	}
	return inv
}
