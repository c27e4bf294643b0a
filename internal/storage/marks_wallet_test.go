package storage_test

import (
	"fmt"
	"log/slog"
	"testing"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/storage"
)

// TestIndexes_of_a_wallet_start_above_its_used_addresses adds a wallet that has used addresses before. The first
// invoice gets the lowest index that was asked for, without a leap, after a restart too.
func TestIndexes_of_a_wallet_start_above_its_used_addresses(t *testing.T) {
	t.Parallel()
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newMarkedDatabase(t, name)
			s.allocateIndex() // the file of the marks exists
			open := func() *storage.Storage {
				store, err := storage.Open(t.Context(), s.url, box(t, 1), storage.Options{IndexMarks: s.marks, Log: slog.New(slog.NewTextHandler(s.log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				return store
			}
			store := open()
			change, err := newWallets(store, noon).Add(t.Context(), "shop", merchant.Addition{Key: parseKey(t, zpub84), Start: 4})
			if err != nil {
				t.Fatal(err)
			}
			for i := range uint32(4) {
				if i == 2 {
					if err := store.Close(); err != nil {
						t.Fatal(err)
					}
					store = open()
				}
				c := creation(fmt.Sprintf("started%d", i), "shop")
				build := c.Build
				c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
					return build(func(counter string) (uint32, error) {
						if counter == "shop/BTC" {
							counter = change.Wallet.Counter
						}
						return next(counter)
					})
				}
				if got := create(t, store, c).Methods[0].Index; got != 4+i {
					t.Errorf("invoice %d has index %d, want %d", i, got, 4+i)
				}
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
