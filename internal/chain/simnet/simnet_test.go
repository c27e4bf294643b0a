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

func TestSimnet(t *testing.T) {
	t.Parallel()
	chaintest.Run(t, func(t *testing.T) chaintest.Lab {
		return &lab{net: simnet.New(storagetest.SQLite(t), time.Now)}
	})
}

var _ chaintest.Coins = (*lab)(nil)

// lab is simnet with hands on it.
type lab struct{ net *simnet.Network }

func (l *lab) Network() chain.Scanner { return l.net }

func (l *lab) Asset() chain.Asset { return l.net.Assets()[0] }

func (l *lab) NewScript(*testing.T) string {
	var b [20]byte
	rand.Read(b[:])
	return "0014" + hex.EncodeToString(b[:])
}

func (l *lab) Send(t *testing.T, outputs ...chaintest.Output) string {
	t.Helper()
	return l.send(t, nil, outputs)
}

func (l *lab) Replace(t *testing.T, tx string, outputs ...chaintest.Output) string {
	t.Helper()
	return l.send(t, l.spends(t, tx), outputs)
}

func (l *lab) send(t *testing.T, spends []string, outputs []chaintest.Output) string {
	t.Helper()
	tx := simnet.Tx{Spends: spends}
	for _, o := range outputs {
		tx.Outputs = append(tx.Outputs, simnet.Pays(l.Asset(), o.Script, o.Amount))
	}
	id, err := l.net.Send(t.Context(), tx)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Conflict implements chaintest.Coins: until the next scan nobody sees it wait.
func (l *lab) Conflict(t *testing.T, tx string, outputs ...chaintest.Output) string {
	t.Helper()
	return l.Replace(t, tx, outputs...)
}

// Spend implements chaintest.Coins.
func (l *lab) Spend(t *testing.T, outpoint string, outputs ...chaintest.Output) string {
	t.Helper()
	return l.send(t, []string{outpoint}, outputs)
}

// spends finds the inputs of a transaction that the lab sent.
func (l *lab) spends(t *testing.T, tx string) []string {
	t.Helper()
	s, err := l.net.Scan(t.Context(), chain.Cursor{}, everything{})
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

func (l *lab) Mine(t *testing.T, txs ...string) {
	t.Helper()
	if err := l.net.Confirm(t.Context(), txs); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) Reorganise(t *testing.T, txs ...string) {
	t.Helper()
	if err := l.net.Reorganise(t.Context(), txs); err != nil {
		t.Fatal(err)
	}
}

// everything watches every script.
type everything struct{}

func (everything) Destination(string) bool { return true }
func (everything) Outpoint(string) bool    { return false }

func (everything) Recorded() iter.Seq[chain.Transfer] { return func(func(chain.Transfer) bool) {} }

func (everything) Since(uint64) (iter.Seq[string], uint64) {
	return func(func(string) bool) {}, 0
}

// TestSimnetRemembers shows that the chain is in storage: another process sees
// the same.
func TestSimnetRemembers(t *testing.T) {
	t.Parallel()
	store := storagetest.SQLite(t)
	one := &lab{net: simnet.New(store, time.Now)}
	script := one.NewScript(t)
	amount := one.Asset().Dust.Add(one.Asset().Dust)
	tx := one.Send(t, chaintest.Output{Script: script, Amount: amount})
	two := simnet.New(store, time.Now)
	s, err := two.Scan(t.Context(), chain.Cursor{}, chaintest.Watch{script: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Transfers) != 1 || s.Transfers[0].Tx != tx || !s.Transfers[0].Amount.Equal(amount) {
		t.Errorf("another process sees %+v", s.Transfers)
	}
}
