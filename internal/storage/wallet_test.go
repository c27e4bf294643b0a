package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/storage"
	"chequer/internal/tokentest"
)

// The account keys of the wallet "abandon … about" for two scripts.
const (
	zpub84 = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"
	ypub49 = "ypub6Ww3ibxVfGzLrAH1PNcjyAWenMTbbAosGNB6VvmSEgytSER9azLDWCxoJwW7Ke7icmizBMXrzBx9979FfaHxHcrArf3zbeJJJUZPf663zsP"
)

func parseKey(t testing.TB, text string) keys.Key {
	t.Helper()
	key, err := keys.Parse(text, keys.BTC, keys.Main, "")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newWallets returns the service that changes wallets, with a fixed time. The body of an event is
// the change and the two wallets.
func newWallets(s *storage.Storage, at time.Time) *merchant.Wallets {
	return merchant.NewWallets(merchant.WalletsConfig{
		Storage: s, Now: func() time.Time { return at },
		Encode: func(c merchant.WalletChange) []byte {
			return fmt.Appendf(nil, "%s %s %s", c.Change, c.Wallet.ID, c.Former.ID)
		},
		Token: new(tokentest.Counter).New,
	})
}

func TestChangeWallet_notifies_endpoints(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		test := newEndpoint("test")
		test.Mode = merchant.Test
		addEndpoints(t, s, newEndpoint("all"), newEndpoint("chosen", merchant.EventWalletChanged), newEndpoint("paid", "invoice.paid"), test)
		create(t, s, creation("a", "shop"))
		wallets := newWallets(s, noon)
		first, err := wallets.Add(ctx, "shop", merchant.Addition{Key: parseKey(t, zpub84)})
		if err != nil {
			t.Fatal(err)
		}
		second, err := wallets.Add(ctx, "shop", merchant.Addition{Key: parseKey(t, ypub49), Replaces: first.Wallet.ID})
		if err != nil {
			t.Fatal(err)
		}
		last, err := wallets.Remove(ctx, "shop", keys.BTC, "")
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"added " + first.Wallet.ID + " ",
			"replaced " + second.Wallet.ID + " " + first.Wallet.ID,
			"removed " + second.Wallet.ID + " ",
		}
		events, err := s.Events(ctx, "shop", invoice.Live, 1, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got, ids []string
		for _, e := range events {
			got, ids = append(got, string(e.Body)), append(ids, e.ID)
			if e.Type != merchant.EventWalletChanged || !e.CreatedAt.Equal(noon) || e.Version != 0 {
				t.Errorf("got event %+v", e)
			}
		}
		if !slices.Equal(got, want) || !slices.Equal(ids, []string{first.EventID, second.EventID, last.EventID}) {
			t.Errorf("got events %q %q, want %q", ids, got, want)
		}
		for endpoint, want := range map[string][]string{"all": append([]string{""}, want...), "chosen": want, "paid": nil, "test": nil} {
			claims, _ := claim(t, s, endpoint, noon.Add(time.Hour), 10)
			if len(claims) != len(want) {
				t.Errorf("endpoint %s has %d deliveries due, want %d", endpoint, len(claims), len(want))
				continue
			}
			for i, c := range claims {
				if c.InvoiceID == "" && string(c.Body) != want[i] {
					t.Errorf("endpoint %s gets %q, want %q", endpoint, c.Body, want[i])
				}
			}
		}
		// Resend an event to an endpoint that was created after it.
		addEndpoints(t, s, newEndpoint("new"))
		if err := s.Resend(ctx, newEndpoint("new"), second.EventID, noon); err != nil {
			t.Fatal(err)
		}
		if claims, _ := claim(t, s, "new", noon.Add(time.Hour), 10); len(claims) != 1 || string(claims[0].Body) != want[1] {
			t.Errorf("resent: got %+v, want %q", claims, want[1])
		}
		if n, err := s.DeleteEvents(ctx, noon.Add(48*time.Hour), 100); err != nil || n != 4 {
			t.Errorf("deleted %d events, error %v, want 4", n, err)
		}
	})
}

func TestChangeWallet_writes_nothing_if_the_change_fails(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		addEndpoints(t, s, newEndpoint("all"))
		wallets := newWallets(s, noon)
		if _, err := wallets.Add(ctx, "shop", merchant.Addition{Key: parseKey(t, zpub84)}); err != nil {
			t.Fatal(err)
		}
		if _, err := wallets.Add(ctx, "shop", merchant.Addition{Key: parseKey(t, zpub84)}); !errors.Is(err, merchant.ErrExists) {
			t.Errorf("same key: got error %v, want %v", err, merchant.ErrExists)
		}
		if _, err := wallets.Add(ctx, "unknown", merchant.Addition{Key: parseKey(t, zpub84)}); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("unknown merchant: got error %v, want %v", err, merchant.ErrNotFound)
		}
		if _, err := wallets.Remove(ctx, "shop", keys.LTC, ""); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("unknown wallet: got error %v, want %v", err, merchant.ErrNotFound)
		}
		execSQL(t, url, "UPDATE wallets SET counter = 'another'")
		if _, err := wallets.Add(ctx, "shop", merchant.Addition{Key: parseKey(t, ypub49)}); !errors.Is(err, merchant.ErrTampered) {
			t.Errorf("row that was tampered with: got error %v, want %v", err, merchant.ErrTampered)
		}
		for _, count := range []string{"SELECT COUNT(*) FROM events", "SELECT COUNT(*) FROM deliveries", "SELECT position FROM feeds"} {
			if got := rows(t, url, count); !slices.Equal(got, []string{"1"}) {
				t.Errorf("%s: got %q, want 1", count, got)
			}
		}
	})
}

// Changing wallets while invoices are created must not cause a deadlock.
func TestChangeWallet_is_concurrent_with_new_invoices(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		addEndpoints(t, s, newEndpoint("all"))
		wallets := newWallets(s, noon)
		walletKeys := []keys.Key{parseKey(t, zpub84), parseKey(t, ypub49)}
		const perWallet = 20
		var group sync.WaitGroup
		group.Go(func() {
			active := ""
			for i := range perWallet {
				change, err := wallets.Add(t.Context(), "shop", merchant.Addition{Key: walletKeys[i%2], Replaces: active})
				if err != nil {
					t.Errorf("change %d: %v", i, err)
				}
				active = change.Wallet.ID
			}
		})
		for worker := range 2 {
			group.Go(func() {
				for i := range perWallet {
					if _, _, err := s.CreateInvoice(t.Context(), creation(fmt.Sprintf("i%d-%d", worker, i), "shop")); err != nil {
						t.Errorf("invoice: %v", err)
					}
				}
			})
		}
		group.Wait()
		checkFeed(t, url, "shop")
		if got := rows(t, url, "SELECT COUNT(*) FROM events WHERE type = '"+merchant.EventWalletChanged+"'"); got[0] != fmt.Sprint(perWallet) {
			t.Errorf("got %s wallet events, want %d", got[0], perWallet)
		}
		if active, err := s.Wallets(t.Context(), "shop", merchant.Live); err != nil || len(active) != 1 {
			t.Errorf("got %+v active, error %v, want one", active, err)
		}
	})
}

// TestChangeWallet_starts_above_used_addresses adds wallets that have used addresses before.
func TestChangeWallet_starts_above_used_addresses(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		wallets := newWallets(s, noon)
		active := ""
		for i, step := range []struct {
			key         string
			start, next uint32
		}{{zpub84, 14, 14}, {ypub49, 0, 0}, {zpub84, 3, 14}, {ypub49, 7, 7}, {zpub84, 20, 20}} {
			change, err := wallets.Add(t.Context(), "shop", merchant.Addition{Key: parseKey(t, step.key), Start: step.start, Replaces: active})
			if err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			active = change.Wallet.ID
			if next, err := s.NextIndex(t.Context(), change.Wallet.Counter); err != nil || next != step.next {
				t.Errorf("step %d: the next index is %d, error %v, want %d", i, next, err, step.next)
			}
		}
	})
}
