package invoice_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/invoice/invoicetest"
	"chequer/internal/money"
	"chequer/internal/rates"
	"chequer/internal/tokentest"
)

// countingStorage is a storage in memory that counts the reads of invoices, and records which are updated.
type countingStorage struct {
	*invoicetest.Storage

	mu      sync.Mutex
	reads   int
	updated []string
}

func (c *countingStorage) Invoice(ctx context.Context, id string) (*invoice.Invoice, error) {
	c.mu.Lock()
	c.reads++
	c.mu.Unlock()
	return c.Storage.Invoice(ctx, id)
}

func (c *countingStorage) UpdateInvoice(ctx context.Context, id string, lease invoice.Lease, decide func(*invoice.Invoice) error) (*invoice.Invoice, error) {
	c.mu.Lock()
	c.updated = append(c.updated, id)
	c.mu.Unlock()
	return c.Storage.UpdateInvoice(ctx, id, lease, decide)
}

// takeUpdated returns the invoices that were updated since the last call.
func (c *countingStorage) takeUpdated() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.updated
	c.updated = nil
	slices.Sort(list)
	return list
}

func TestObserve_writes_only_changes(t *testing.T) {
	t.Parallel()
	service, storage := inMemory(t)
	merchant := &shop{t: t, wallets: testWallets(t)}
	confirmed, waiting := merchant.createWith(service, "6000"), merchant.createWith(service, "40") // the first needs six confirmations
	transferTo := func(inv *invoice.Invoice, tx string, block *chain.Block) chain.Transfer {
		m, _ := inv.Method(simnet.ID, "BTC")
		return chain.Transfer{
			ID: tx + ":0", Tx: tx, Asset: "BTC", Script: m.Destination.Script, Amount: money.MustParse("0.0005", money.BTC),
			Spends: []string{"in-" + tx}, Block: block,
		}
	}
	block := &chain.Block{Height: 105, Hash: "b105", Time: noon.Add(time.Minute)}
	inBlock, unconfirmed := transferTo(confirmed, "a", block), transferTo(waiting, "b", nil)

	zeroOutput := transferTo(waiting, "c", block)
	zeroOutput.Amount = money.Zero(money.BTC)

	tip := chain.Block{Height: 107, Hash: "b107"}
	earlierBlock := chain.Block{Height: 104, Hash: "b104"}
	started := noon.Add(2 * time.Minute)
	for i, tt := range []struct {
		name     string
		snapshot chain.Snapshot
		want     []string
	}{
		{"both are new", chain.Snapshot{Unconfirmed: chain.Partial, Tip: tip, Transfers: []chain.Transfer{inBlock, unconfirmed}}, []string{confirmed.ID, waiting.ID}},
		{"both are shown again", chain.Snapshot{Unconfirmed: chain.Partial, Tip: tip, Transfers: []chain.Transfer{inBlock, unconfirmed}}, nil},
		{"with an output of zero", chain.Snapshot{
			Unconfirmed: chain.Partial, Tip: tip, Transfers: []chain.Transfer{inBlock, unconfirmed, zeroOutput},
		}, nil},
		{"a listener that does not report the unconfirmed transfer", chain.Snapshot{Unconfirmed: chain.Partial, Tip: tip, Transfers: []chain.Transfer{inBlock}}, nil},
		{"a scan that stops below the block of the confirmed transfer", chain.Snapshot{Unconfirmed: chain.None, Tip: earlierBlock, Behind: true}, nil},
		{"a scan that stops below the tip of the previous scan", chain.Snapshot{
			Unconfirmed: chain.None, Tip: chain.Block{Height: 106}, Behind: true, Transfers: []chain.Transfer{inBlock},
		}, nil},
		{"a scan that begins above the block of the confirmed transfer", chain.Snapshot{Unconfirmed: chain.Partial, From: chain.Cursor{Height: 105}, Tip: tip}, nil},
		{"a listener that saw another spend of the unconfirmed transfer's input", chain.Snapshot{
			Unconfirmed: chain.Partial, Tip: tip, Transfers: []chain.Transfer{inBlock},
			Conflicts: []chain.Conflict{{Outpoint: "in-b", Tx: "other"}},
		}, []string{waiting.ID}},
		{"a listener after two weeks", chain.Snapshot{
			Unconfirmed: chain.Partial, Tip: tip, Transfers: []chain.Transfer{inBlock}, Started: started.Add(14*24*time.Hour + time.Second),
		}, []string{waiting.ID}},
		{"a new block", chain.Snapshot{
			Unconfirmed: chain.Partial, Tip: chain.Block{Height: 108}, Transfers: []chain.Transfer{inBlock},
		}, []string{confirmed.ID}},
		{"the block of the confirmed transfer is reorganised", chain.Snapshot{Unconfirmed: chain.Partial, Tip: tip}, []string{confirmed.ID}},
	} {
		if tt.snapshot.Started.IsZero() {
			tt.snapshot.Started = started
		}
		if tt.snapshot.From.Height == 0 {
			tt.snapshot.From = chain.Cursor{Height: 90, Hash: "b90"}
		}
		lease := invoice.Lease{Network: simnet.ID, Epoch: 1, Sequence: int64(i + 1)}
		if err := service.Observe(t.Context(), lease, tt.snapshot, invoice.Progress{Scanned: tt.snapshot.Started}, storage.Owner); err != nil {
			t.Fatal(err)
		}
		if got := storage.takeUpdated(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: updated %v, want %v", tt.name, got, tt.want)
		}
	}
}

// An invoice that is paid in many transactions is read once, not once for each.
func TestObserve_reads_an_invoice_once(t *testing.T) {
	t.Parallel()
	service, storage := inMemory(t)
	merchant := &shop{t: t, wallets: testWallets(t)}
	inv := merchant.createWith(service, "40")
	snapshot := chain.Snapshot{
		Started: noon.Add(time.Minute), Unconfirmed: chain.Complete, From: chain.Cursor{Height: 90, Hash: "b90"}, Tip: chain.Block{Height: 107},
	}
	for i := range 100 {
		snapshot.Transfers = append(snapshot.Transfers, chain.Transfer{
			ID: fmt.Sprintf("%d:0", i), Tx: fmt.Sprint(i), Asset: "BTC", Script: inv.Methods[0].Destination.Script,
			Amount: money.MustParse("0.00001", money.BTC), Block: &chain.Block{Height: 105, Hash: "b105", Time: noon},
		})
	}
	lease := invoice.Lease{Network: simnet.ID, Epoch: 1, Sequence: 1}
	if err := service.Observe(t.Context(), lease, snapshot, invoice.Progress{Scanned: snapshot.Started}, storage.Owner); err != nil {
		t.Fatal(err)
	}
	if updated := storage.takeUpdated(); storage.reads != 1 || len(updated) != 1 {
		t.Errorf("the invoice was read %d times and updated %d times, want once each", storage.reads, len(updated))
	}
}

// inMemory returns a service with a counting storage.
func inMemory(t *testing.T) (*invoice.Service, *countingStorage) {
	t.Helper()
	storage := &countingStorage{Storage: invoicetest.New()}
	fixed, err := rates.ParseFixed(table, "fixed")
	if err != nil {
		t.Fatal(err)
	}
	return invoice.NewService(invoice.Config{
		Storage: storage, Networks: map[invoice.Mode][]chain.Network{invoice.Test: {simnet.New(nil, nil)}},
		Rates: func() invoice.Rates { return fixed }, Now: func() time.Time { return noon }, Log: slog.New(slog.DiscardHandler),
		NewID:  new(tokentest.Counter).ID,
		Encode: func(*invoice.Invoice, invoice.Event) []byte { return nil },
	}), storage
}

// createWith creates an invoice with a service.
func (s *shop) createWith(service *invoice.Service, amount string) *invoice.Invoice {
	s.t.Helper()
	inv, err := service.Create(s.t.Context(), s.request(amount, "BTC"))
	s.must(err)
	return inv
}

// Transfers that are folded into an aggregate are not recorded one by one; scanning them again writes nothing.
func TestObserve_writes_an_aggregate_only_if_it_changes(t *testing.T) {
	t.Parallel()
	service, storage := inMemory(t)
	merchant := &shop{t: t, wallets: testWallets(t)}
	inv := merchant.createWith(service, "6000")
	m, _ := inv.Method(simnet.ID, "BTC")
	block := &chain.Block{Height: 105, Hash: "b105", Time: noon.Add(time.Minute)}
	var list []chain.Transfer
	for i := range invoice.FoldThreshold + 500 {
		tx := fmt.Sprint("tx", i)
		list = append(list, chain.Transfer{
			ID: tx + ":0", Tx: tx, Asset: "BTC", Script: m.Destination.Script, Amount: money.MustParse("0.000006", money.BTC),
			Spends: []string{"in-" + tx}, Block: block,
		})
	}
	observe := func(sequence, tip int64, transfers []chain.Transfer) (updated bool) {
		s := chain.Snapshot{
			Started: noon.Add(2 * time.Minute), Unconfirmed: chain.Partial, From: chain.Cursor{Height: 90, Hash: "b90"},
			Tip: chain.Block{Height: tip, Hash: fmt.Sprint("b", tip)}, Transfers: transfers,
		}
		lease := invoice.Lease{Network: simnet.ID, Epoch: 1, Sequence: sequence}
		if err := service.Observe(t.Context(), lease, s, invoice.Progress{Scanned: s.Started}, storage.Owner); err != nil {
			t.Fatal(err)
		}
		return len(storage.takeUpdated()) > 0
	}
	storage.takeUpdated()
	for i, tt := range []struct {
		name string
		tip  int64
		n    int
		want bool
	}{
		{"new transfers", 105, invoice.FoldThreshold + 400, true},
		{"the same transfers", 105, invoice.FoldThreshold + 400, false},
		{"more of the same block", 105, invoice.FoldThreshold + 500, true},
		{"one block deeper", 106, invoice.FoldThreshold + 500, true},
		{"the same block again", 106, invoice.FoldThreshold + 500, false},
	} {
		if got := observe(int64(i+1), tt.tip, list[:tt.n]); got != tt.want {
			t.Errorf("%s: updated %v, want %v", tt.name, got, tt.want)
		}
	}
	got, err := storage.Invoice(t.Context(), inv.ID)
	if err != nil {
		t.Fatal(err)
	}
	count, sum := represented(got)
	const satoshis = 600 // of each transfer
	if want := int64(satoshis * len(list)); len(got.Transfers) != invoice.FoldThreshold+1 || count != len(list) || sum.Int64() != want {
		t.Errorf("%d rows of %d transfers and %s satoshis, want %d of %d and %d", len(got.Transfers), count, sum, invoice.FoldThreshold+1, len(list), want)
	}
}
