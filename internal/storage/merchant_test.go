package storage_test

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/storage"
	"chequer/internal/tokentest"
)

func newKey(id string) merchant.Key {
	return merchant.Key{
		ID: id, MerchantID: "shop", Key: strings.Repeat(id, 16), Secret: strings.Repeat("s"+id, 10), Mode: merchant.Live,
		Scopes: []merchant.Scope{merchant.ScopeCreate, merchant.ScopeRead}, CreatedAt: noon,
	}
}

func newWallet(id, asset, key string, at time.Time) merchant.Wallet {
	return merchant.Wallet{
		ID: id, MerchantID: "shop", Mode: merchant.Live, Asset: asset, Key: key, Counter: "fp-" + key + "/0", CreatedAt: at,
	}
}

func TestMerchant_is_created_once_and_listed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		first := merchant.Merchant{ID: "first", Name: "Kiosk \"Süd\"", CreatedAt: noon.Add(-time.Hour)}
		if err := s.CreateShop(t.Context(), merchant.NewShop{Merchant: first}); err != nil {
			t.Fatal(err)
		}
		if err := s.CreateShop(t.Context(), merchant.NewShop{Merchant: first}); !errors.Is(err, merchant.ErrExists) {
			t.Errorf("create twice: got error %v, want %v", err, merchant.ErrExists)
		}
		if got, err := s.Merchant(t.Context(), "first"); err != nil || cmp.Diff(first, got, cmpopts.EquateEmpty()) != "" {
			t.Errorf("got %v, %v, want %v", got, err, first)
		}
		if _, err := s.Merchant(t.Context(), "unknown"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("an unknown merchant: got error %v, want %v", err, merchant.ErrNotFound)
		}
		merchants, err := s.Merchants(t.Context())
		if err != nil || len(merchants) != 3 || cmp.Diff(first, merchants[0], cmpopts.EquateEmpty()) != "" || merchants[1].ID != "bakery" {
			t.Errorf("got %v, %v, want first, then bakery and shop", merchants, err)
		}
	})
}

func TestKey_is_created_read_and_revoked(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		first, second := newKey("k1"), newKey("k2")
		second.CreatedAt, second.Mode, second.Scopes = noon.Add(time.Minute), merchant.Test, nil
		for _, k := range []merchant.Key{second, first} {
			if err := s.CreateKey(ctx, k); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.CreateKey(ctx, first); !errors.Is(err, merchant.ErrExists) {
			t.Errorf("create twice: got error %v, want %v", err, merchant.ErrExists)
		}
		if err := s.RevokeKey(ctx, "bakery", second.Key, noon); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("revoke by another merchant: got error %v, want %v", err, merchant.ErrNotFound)
		}
		if err := s.RevokeKey(ctx, "shop", second.Key, noon.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if err := s.RevokeKey(ctx, "shop", second.Key, noon.Add(2*time.Hour)); err != nil {
			t.Errorf("revoke twice: %v", err)
		}
		second.RevokedAt = noon.Add(time.Hour)
		if err := s.RevokeKey(ctx, "shop", "nothing", noon); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("revoke nothing: got error %v, want %v", err, merchant.ErrNotFound)
		}
		got, err := s.Keys(ctx, "shop")
		if diff := cmp.Diff([]merchant.Key{first, second}, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("keys: error %v (-want +got):\n%s", err, diff)
		}
		found, err := s.Key(ctx, second.Key)
		if diff := cmp.Diff(second, found, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("key: error %v (-want +got):\n%s", err, diff)
		}
		for _, key := range []string{"nothing", "", "k\x00", "\xff"} {
			if _, err := s.Key(ctx, key); !errors.Is(err, merchant.ErrNotFound) {
				t.Errorf("Key(%q): got error %v, want %v", key, err, merchant.ErrNotFound)
			}
		}
		for _, stored := range rows(t, url, "SELECT secret FROM api_keys") {
			if strings.Contains(stored, first.Secret) || strings.Contains(stored, second.Secret) {
				t.Errorf("a secret is readable: %q", stored)
			}
		}
	})
}

func TestKey_refuses_a_row_that_was_changed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		first, second := newKey("k1"), newKey("k2")
		first.RevokedAt = noon
		for _, k := range []merchant.Key{first, second} {
			if err := s.CreateKey(t.Context(), k); err != nil {
				t.Fatal(err)
			}
		}
		for _, statement := range []string{
			`UPDATE api_keys SET scopes = '["admin"]' WHERE id = 'k1'`,
			`UPDATE api_keys SET revoked_at = NULL WHERE id = 'k1'`,
			`UPDATE api_keys SET mode = 'test' WHERE id = 'k1'`,
			`UPDATE api_keys SET merchant_id = 'bakery' WHERE id = 'k1'`,
			`UPDATE api_keys SET plugin = 'other' WHERE id = 'k1'`,
			`UPDATE api_keys SET token_hash = 'ab' WHERE id = 'k1'`,
			`UPDATE api_keys SET secret = (SELECT secret FROM api_keys WHERE id = 'k2'), mac = (SELECT mac FROM api_keys WHERE id = 'k2') WHERE id = 'k1'`,
		} {
			execSQL(t, url, statement)
			if _, err := s.Key(t.Context(), first.Key); !errors.Is(err, merchant.ErrTampered) {
				t.Errorf("after %s: got error %v, want %v", statement, err, merchant.ErrTampered)
			}
			execSQL(t, url, "DELETE FROM api_keys WHERE id = 'k1'")
			if err := s.CreateKey(t.Context(), first); err != nil {
				t.Fatal(err)
			}
		}
		execSQL(t, url, "UPDATE api_keys SET mac = '' WHERE id = 'k2'")
		if err := s.RevokeKey(t.Context(), "shop", second.Key, noon); !errors.Is(err, merchant.ErrTampered) {
			t.Errorf("revoke: got error %v, want %v", err, merchant.ErrTampered)
		}
		if _, err := s.Keys(t.Context(), "shop"); !errors.Is(err, merchant.ErrTampered) || !strings.Contains(err.Error(), "k2") {
			t.Errorf("keys: got error %v, want %v that names k2", err, merchant.ErrTampered)
		}
	})
}

func TestWallet_replaces_the_active_wallet(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		first := newWallet("w1", "BTC", "zpub1", noon)
		ether := newWallet("w2", "ETH", "xpub1", noon.Add(time.Minute))
		second := newWallet("w3", "BTC", "zpub2", noon.Add(time.Hour))
		test := newWallet("w4", "BTC", "vpub1", noon)
		test.Mode, test.Secret = merchant.Test, "vprv-not-readable"
		for _, w := range []merchant.Wallet{first, ether, second, test} {
			if err := s.CreateWallet(ctx, w); err != nil {
				t.Fatal(err)
			}
		}
		for mode, want := range map[merchant.Mode][]merchant.Wallet{merchant.Live: {ether, second}, merchant.Test: {test}} {
			got, err := s.Wallets(ctx, "shop", mode)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s: error %v (-want +got):\n%s", mode, err, diff)
			}
		}
		if err := s.CreateWallet(ctx, newWallet("w5", "BTC", "zpub2", noon)); !errors.Is(err, merchant.ErrExists) {
			t.Errorf("same key: got error %v, want %v", err, merchant.ErrExists)
		}
		if err := s.CreateWallet(ctx, newWallet("w6", "BTC", "zpub1", noon)); err != nil {
			t.Errorf("older key again: %v", err)
		}
		otherMerchants := newWallet("w7", "BTC", "zpub3", noon)
		otherMerchants.MerchantID = "unknown"
		if err := s.CreateWallet(ctx, otherMerchants); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("a wallet of an unknown merchant: got error %v, want %v", err, merchant.ErrNotFound)
		}
		for _, stored := range rows(t, url, "SELECT secret FROM wallets") {
			if strings.Contains(stored, test.Secret) {
				t.Errorf("a secret is readable: %q", stored)
			}
		}
	})
}

func TestCreateWallet_leaves_one_active_wallet_concurrently(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				id := string(rune('a' + i))
				if err := s.CreateWallet(t.Context(), newWallet(id, "BTC", "zpub-"+id, noon)); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if active, err := s.Wallets(t.Context(), "shop", merchant.Live); err != nil || len(active) != 1 {
			t.Errorf("got %d active wallets, error %v, want 1", len(active), err)
		}
		if all := rows(t, url, "SELECT id FROM wallets"); len(all) != 16 {
			t.Errorf("got wallets %q, want all 16 kept", all)
		}
	})
}

func TestRemoveWallet_keeps_the_wallet_listed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx, later := t.Context(), noon.Add(time.Hour)
		for i, at := range []time.Time{noon, later} {
			if err := s.CreateWallet(ctx, newWallet(fmt.Sprint("w", i), "ETH", fmt.Sprint("xpub", i), at)); err != nil {
				t.Fatal(err)
			}
		}
		end := later.Add(time.Hour)
		wallets := newWallets(s, end)
		if _, err := wallets.Remove(ctx, "shop", keys.ETH, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := wallets.Remove(ctx, "shop", keys.ETH, ""); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("removed twice: got error %v, want %v", err, merchant.ErrNotFound)
		}
		if active, err := s.Wallets(ctx, "shop", merchant.Live); err != nil || len(active) != 0 {
			t.Errorf("got active wallets %+v, error %v, want none", active, err)
		}
		all, err := s.AllWallets(ctx, "shop", merchant.Live)
		if err != nil || len(all) != 2 || !all[0].ArchivedAt.Equal(later) || !all[1].ArchivedAt.Equal(end) {
			t.Errorf("got %+v, error %v, want both with their times of removal", all, err)
		}
	})
}

func TestWallets_refuses_a_row_that_was_changed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		for _, statement := range []string{
			`UPDATE wallets SET key = 'zpub-of-a-thief'`,
			`UPDATE wallets SET counter = 'another'`,
			`UPDATE wallets SET asset = 'LTC'`,
			`UPDATE wallets SET secret = 'v1.AAAA'`,
			`UPDATE wallets SET created_at = created_at + 1`,
		} {
			if err := s.CreateWallet(ctx, newWallet("w1", "BTC", "zpub1", noon)); err != nil {
				t.Fatal(err)
			}
			execSQL(t, url, statement)
			if _, err := s.Wallets(ctx, "shop", merchant.Live); !errors.Is(err, merchant.ErrTampered) || !strings.Contains(err.Error(), "w1") {
				t.Errorf("after %s: got error %v, want %v that names w1", statement, err, merchant.ErrTampered)
			}
			execSQL(t, url, "DELETE FROM wallets")
		}
		// An archived wallet cannot be activated again.
		for i, key := range []string{"zpub1", "zpub2"} {
			if err := s.CreateWallet(ctx, newWallet("w"+key, "BTC", key, noon.Add(time.Duration(i)*time.Hour))); err != nil {
				t.Fatal(err)
			}
		}
		execSQL(t, url, "DELETE FROM wallets WHERE archived_at IS NULL")
		execSQL(t, url, "UPDATE wallets SET archived_at = NULL")
		if _, err := s.Wallets(ctx, "shop", merchant.Live); !errors.Is(err, merchant.ErrTampered) {
			t.Errorf("activated archived wallet: got error %v, want %v", err, merchant.ErrTampered)
		}
	})
}

func TestKey_has_a_label_and_the_time_of_its_last_use(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		k := newKey("k1")
		k.Label = "Süd-Shop"
		if err := s.CreateKey(ctx, k); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ at, want time.Time }{{noon, noon}, {noon.Add(time.Hour), noon.Add(time.Hour)}, {noon, noon.Add(time.Hour)}} {
			if err := s.UseKey(ctx, k.ID, tt.at); err != nil {
				t.Fatal(err)
			}
			got, err := s.Key(ctx, k.Key)
			if err != nil || !got.UsedAt.Equal(tt.want) || got.Label != k.Label || got.Secret != k.Secret {
				t.Errorf("used at %s: got %+v, %v, want %s", tt.at, got, err, tt.want)
			}
		}
	})
}

func TestChangeChoices_records_only_real_changes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		m := merchant.Merchant{ID: "chosen", Name: "Chosen", CreatedAt: noon}
		if err := s.CreateShop(t.Context(), merchant.NewShop{Merchant: m}); err != nil {
			t.Fatal(err)
		}
		entries := func() int {
			log, err := s.AuditLog(t.Context(), 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			return len(log)
		}
		want := merchant.Choices{merchant.SettingMethods: "EURC BTC", merchant.SettingQuoteMinutes: "30"}
		before := entries()
		for range 2 {
			got, err := s.ChangeChoices(t.Context(), m.ID, func(merchant.Choices) (merchant.Choices, error) { return maps.Clone(want), nil })
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("change: %v (-want +got):\n%s", err, diff)
			}
		}
		if n := entries() - before; n != 1 {
			t.Errorf("two equal changes wrote %d entries of the audit log, want 1", n)
		}
		refused := errors.New("refused")
		if _, err := s.ChangeChoices(t.Context(), m.ID, func(got merchant.Choices) (merchant.Choices, error) {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("locked choices (-want +got):\n%s", diff)
			}
			return merchant.Choices{}, refused
		}); !errors.Is(err, refused) {
			t.Errorf("got error %v", err)
		}
		if got, err := s.Merchant(t.Context(), m.ID); err != nil || cmp.Diff(want, got.Choices) != "" {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := s.ChangeChoices(t.Context(), "unknown", func(c merchant.Choices) (merchant.Choices, error) { return c, nil }); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("an unknown merchant: got error %v", err)
		}
	})
}

// Of concurrent changes of one revision, one is stored.
func TestChangeChoices_locks_the_merchant(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		settings := merchant.NewSettings(merchant.SettingsConfig{
			Storage: s, Merchants: merchant.NewService(s, func() time.Time { return noon }, nil), CheckLanguages: func([]string) error { return nil },
		})
		seen := merchant.Choices(nil).Revision()
		var group sync.WaitGroup
		var stored, stale atomic.Int64
		for i := range 8 {
			group.Go(func() {
				_, err := settings.Change(t.Context(), "shop", seen, merchant.Choices{merchant.SettingQuoteMinutes: strconv.Itoa(20 + i)})
				switch {
				case err == nil:
					stored.Add(1)
				case errors.Is(err, merchant.ErrStale):
					stale.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if stored.Load() != 1 || stale.Load() != 7 {
			t.Errorf("%d changes were stored and %d were stale, want 1 and 7", stored.Load(), stale.Load())
		}
	})
}

// A key of a plug-in has no secret. Neither its hash nor its kind can be changed without the master key.
func TestKey_of_a_plugin(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		k := newKey("k1")
		k.Secret, k.Plugin, k.TokenHash, k.Scopes = "", "woocommerce", "0123456789abcdef", []merchant.Scope{merchant.ScopeViewInvoices}
		if err := s.CreateKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		found, err := s.Key(t.Context(), k.Key)
		if diff := cmp.Diff(k, found, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("key: error %v (-want +got):\n%s", err, diff)
		}
		if stored := rows(t, url, "SELECT secret FROM api_keys"); cmp.Diff([]string{""}, stored) != "" {
			t.Errorf("stored secrets: %q, want none", stored)
		}
		for _, change := range []string{"token_hash = 'ffff'", "plugin = 'other'", "plugin = ''", "plugin = '', token_hash = ''"} {
			execSQL(t, url, "UPDATE api_keys SET "+change+" WHERE id = 'k1'")
			if _, err := s.Key(t.Context(), k.Key); !errors.Is(err, merchant.ErrTampered) {
				t.Errorf("after %s: got error %v, want %v", change, err, merchant.ErrTampered)
			}
			execSQL(t, url, "DELETE FROM api_keys WHERE id = 'k1'")
			if err := s.CreateKey(t.Context(), k); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Index 0 of a Monero wallet is its primary address, which no invoice gets.
func TestCreateShop_begins_with_the_first_subaddress(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		shops := merchant.NewService(s, func() time.Time { return noon }, new(tokentest.Counter).New)
		m, err := shops.CreateShop(t.Context(), "Atelier Nord", "")
		if err != nil {
			t.Fatal(err)
		}
		wallets, err := s.Wallets(t.Context(), m.ID, merchant.Test)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range wallets {
			want := keys.Kind(w.Asset).FirstIndex()
			if next, err := s.NextIndex(t.Context(), w.Counter); err != nil || next != want {
				t.Errorf("the next index of the %s wallet is %d, %v, want %d", w.Asset, next, err, want)
			}
		}
		if len(wallets) != 5 {
			t.Errorf("%d test wallets, want 5", len(wallets))
		}
	})
}
