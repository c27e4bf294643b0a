package simnet_test

import (
	"crypto/rand"
	"encoding/hex"
	"iter"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/simnet"
	"chequer/internal/storage/storagetest"
)

func TestSimnet_passes_the_suite_of_networks(t *testing.T) {
	t.Parallel()
	chaintest.Run(t, func(t *testing.T) chaintest.Harness {
		return &harness{net: simnet.New(storagetest.SQLite(t), time.Now)}
	})
}

var _ chaintest.UTXOHarness = (*harness)(nil)

// harness is a chaintest.UTXOHarness on simnet.
type harness struct{ net *simnet.Network }

func (h *harness) Network() chain.Scanner { return h.net }

func (h *harness) Asset() chain.Asset { return h.net.Assets()[0] }

func (h *harness) NewScript(testing.TB) string {
	var b [20]byte
	rand.Read(b[:])
	return "0014" + hex.EncodeToString(b[:])
}

func (h *harness) Send(t testing.TB, outputs ...chaintest.Output) string {
	t.Helper()
	return h.send(t, nil, outputs)
}

func (h *harness) Replace(t testing.TB, tx string, outputs ...chaintest.Output) string {
	t.Helper()
	return h.send(t, h.spends(t, tx), outputs)
}

func (h *harness) send(t testing.TB, spends []string, outputs []chaintest.Output) string {
	t.Helper()
	tx := simnet.Tx{Spends: spends}
	for _, o := range outputs {
		tx.Outputs = append(tx.Outputs, simnet.OutputTo(h.Asset(), o.Script, o.Amount))
	}
	id, err := h.net.Send(t.Context(), tx)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Conflict implements chaintest.UTXOHarness: no scan sees the transaction in the mempool before Mine.
func (h *harness) Conflict(t testing.TB, tx string, outputs ...chaintest.Output) string {
	t.Helper()
	return h.Replace(t, tx, outputs...)
}

// Spend implements chaintest.UTXOHarness.
func (h *harness) Spend(t testing.TB, outpoint string, outputs ...chaintest.Output) string {
	t.Helper()
	return h.send(t, []string{outpoint}, outputs)
}

// spends returns the inputs of a transaction that the harness sent.
func (h *harness) spends(t testing.TB, tx string) []string {
	t.Helper()
	s, err := h.net.Scan(t.Context(), chain.Cursor{}, watchAll{})
	if err != nil {
		t.Fatal(err)
	}
	for _, transfer := range s.Transfers {
		if transfer.Tx == tx {
			return transfer.Spends
		}
	}
	t.Fatalf("no transaction %s", tx)
	return nil
}

func (h *harness) Mine(t testing.TB, txs ...string) {
	t.Helper()
	if err := h.net.Confirm(t.Context(), txs); err != nil {
		t.Fatal(err)
	}
}

func (h *harness) Reorganise(t testing.TB, txs ...string) {
	t.Helper()
	if err := h.net.Reorganise(t.Context(), txs); err != nil {
		t.Fatal(err)
	}
}

// watchAll watches every script.
type watchAll struct{}

func (watchAll) Destination(string) bool { return true }
func (watchAll) Outpoint(string) bool    { return false }

func (watchAll) Recorded() iter.Seq[chain.Transfer] { return func(func(chain.Transfer) bool) {} }

func (watchAll) Since(uint64) (iter.Seq[string], uint64) {
	return func(func(string) bool) {}, 0
}

// The chain is in storage: another process sees the same transfers.
func TestSimnet_is_shared_between_processes(t *testing.T) {
	t.Parallel()
	store := storagetest.SQLite(t)
	first := &harness{net: simnet.New(store, time.Now)}
	script := first.NewScript(t)
	amount := first.Asset().Dust.Add(first.Asset().Dust)
	tx := first.Send(t, chaintest.Output{Script: script, Amount: amount})
	second := simnet.New(store, time.Now)
	s, err := second.Scan(t.Context(), chain.Cursor{}, chaintest.Watch{script: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Transfers) != 1 || s.Transfers[0].Tx != tx || !s.Transfers[0].Amount.Equal(amount) {
		t.Errorf("other process sees %+v, want transaction %s", s.Transfers, tx)
	}
}
