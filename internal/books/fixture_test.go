package books_test

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/books"
	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/proof"
	"chequer/internal/storage/storagetest"
	"chequer/internal/sweep/recorded"
)

// memory is a books.Storage without a database.
type memory struct {
	invoices map[string]*invoice.Invoice
	changes  map[string]int64
	sweeps   []recorded.Sweep
	closings []books.Closing
	records  []books.Record
	keys     []proof.Key
	// unreadable is the ID of an invoice that cannot be read.
	unreadable string
}

func newMemory() *memory {
	return &memory{invoices: map[string]*invoice.Invoice{}, changes: map[string]int64{}}
}

// put stores an invoice that has changed.
func (m *memory) put(inv *invoice.Invoice) {
	m.invoices[inv.ID] = inv
	m.changes[inv.ID]++
}

func (m *memory) ChangedInvoices(_ context.Context, _, after string, limit int) ([]books.Changed, error) {
	var list []books.Changed
	for id, n := range m.changes {
		if id > after {
			list = append(list, books.Changed{InvoiceID: id, Revision: n})
		}
	}
	slices.SortFunc(list, func(a, b books.Changed) int { return strings.Compare(a.InvoiceID, b.InvoiceID) })
	return list[:min(limit, len(list))], nil
}

func (m *memory) Invoice(_ context.Context, id string) (*invoice.Invoice, error) {
	if id == m.unreadable {
		return nil, &invoice.UnreadableError{}
	}
	return m.invoices[id], nil
}

func (m *memory) Sweeps(context.Context, string, int) ([]recorded.Sweep, error) { return m.sweeps, nil }

func (m *memory) ClosedRecords(_ context.Context, _, owner string) ([]books.Record, error) {
	return slices.DeleteFunc(slices.Clone(m.records), func(r books.Record) bool { return r.Owner != owner }), nil
}

func (m *memory) Closings(context.Context, string) ([]books.Closing, error) { return m.closings, nil }

func (m *memory) MonthRecords(_ context.Context, _ string, month books.Month) (rows []string, err error) {
	for _, r := range m.records {
		if r.Month == month {
			rows = append(rows, r.Text)
		}
	}
	return rows, nil
}

func (m *memory) SaveClosing(_ context.Context, c books.Closing, lines []books.Record, examined []books.Changed) error {
	m.closings, m.records = append(m.closings, c), append(m.records, lines...)
	for _, e := range examined {
		if m.changes[e.InvoiceID] == e.Revision {
			delete(m.changes, e.InvoiceID)
		}
	}
	return nil
}

func (m *memory) ProofKeys(context.Context) ([]proof.Key, error) { return m.keys, nil }

func (m *memory) CreateProofKey(_ context.Context, k proof.Key) error {
	m.keys = slices.Insert(m.keys, 0, k)
	return nil
}

// fixture is a service of the books of a shop in Berlin.
type fixture struct {
	*memory
	*books.Service
	keyring *proof.Keyring
	shop    books.Shop
	now     time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{memory: newMemory(), shop: books.Shop{ID: "shop", Server: "https://pay.example.org", Zone: berlin}, now: moment("2027-06-01T00:00:00Z")}
	clock := func() time.Time { return f.now }
	f.keyring = proof.NewKeyring(f.memory, clock)
	f.Service = books.NewService(f.memory, f.keyring, clock)
	return f
}

// trusted returns the keys of the shop.
func (f *fixture) trusted(t *testing.T) (list []proof.Trusted) {
	t.Helper()
	keys, err := f.keyring.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		list = append(list, proof.Trusted{Public: k.Public, RetiredAt: k.RetiredAt})
	}
	return list
}

// close closes a month and the months before it, and returns their files.
func (f *fixture) close(t *testing.T, month books.Month) []books.File {
	t.Helper()
	files, err := f.Close(t.Context(), f.shop, month, false)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func moment(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return at
}

// newInvoice returns a live invoice of 56.50 EUR that was created at a time.
func newInvoice(id string, at time.Time) *invoice.Invoice {
	inv := storagetest.NewInvoice(id, "shop", 0, 0)
	inv.CreatedAt, inv.Quotes[0].From, inv.Quotes[0].Until = at, at, at.Add(15*time.Minute)
	inv.Terms.OrderID = "order " + id
	for i := range inv.Methods {
		inv.Methods[i].Destination.Script = fmt.Sprintf("%s/%s", id, inv.Methods[i].Asset.Wallet)
	}
	return inv
}

// pay adds a final transfer of a part of the price, from 0 to 100 per cent, at a market rate in euro.
func pay(inv *invoice.Invoice, code string, percent int64, rate string, at time.Time) *invoice.Transfer {
	i := slices.IndexFunc(inv.Methods, func(m invoice.Method) bool { return m.Asset.Code == code })
	m := inv.Methods[i]
	price, _ := inv.Quotes[0].Price(code)
	n := len(inv.Transfers)
	tx := fmt.Sprintf("tx_%s_%d", inv.ID, n)
	t := invoice.Transfer{
		ID: tx + ":0", Network: m.Asset.Network, Tx: tx, Asset: code, Script: m.Destination.Script,
		Amount: money.RoundUp(percentOf(price.Expected, percent), m.Asset.Currency), Presence: invoice.Present, FirstSeen: at, Sighted: true,
		Block: &chain.Block{Height: 900_000 + int64(n), Hash: "b", Time: at.Add(time.Minute)}, ConfirmedAt: at.Add(time.Minute), Confirmations: 2, Required: 2,
		Rate: invoice.MarketRate{Price: mustRate(rate, m.Asset.Currency), Source: "median", At: at},
	}
	inv.Transfers = append(inv.Transfers, t)
	return &inv.Transfers[n]
}

func percentOf(a money.Amount, percent int64) *big.Rat {
	return new(big.Rat).Mul(a.Rat(), big.NewRat(percent, 100))
}

func mustRate(text string, coin money.Currency) money.Rate {
	r, err := money.ParseRate(text, coin, money.EUR)
	if err != nil {
		panic(err)
	}
	return r
}
