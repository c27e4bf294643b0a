package storage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"chequer/internal/account"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/storage"
)

// namedShop returns a shop with a wallet for test invoices.
func namedShop(id, name string) merchant.NewShop {
	w := newWallet("w_"+id, "BTC", "vpub "+id, noon)
	w.MerchantID, w.Mode, w.Secret = id, merchant.Test, "secret"
	return merchant.NewShop{Merchant: merchant.Merchant{ID: id, Name: name, CreatedAt: noon}, Wallets: []merchant.Wallet{w}}
}

func TestCreateShop_writes_wallets_and_owner_or_nothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		addAccount(t, s, newDeskAccount("acc_1", "Maren"))
		n := namedShop("m_nord", "Nord")
		n.OwnerID = "acc_1"
		if err := s.CreateShop(ctx, n); err != nil {
			t.Fatal(err)
		}
		if all, err := s.Wallets(ctx, "m_nord", merchant.Test); err != nil || len(all) != 1 {
			t.Errorf("got test wallets %+v, %v", all, err)
		}
		a, err := s.Account(ctx, "acc_1")
		if err != nil || a.Role("m_nord") != account.Owner || a.Role("shop") != account.Owner {
			t.Errorf("got the roles %v, %v", a.Roles, err)
		}
		entries, err := s.AuditLog(ctx, 0, 1)
		if err != nil || entries[0].Change.Action != "shop.created" || entries[0].Change.MerchantID != "m_nord" || entries[0].Change.After["owner"] != "Maren" {
			t.Errorf("got the entry %+v, %v", entries, err)
		}
		unowned := namedShop("m_sued", "Süd")
		unowned.OwnerID = "acc_unknown"
		taken := namedShop("m_sued", " ＮＯＲＤ ")
		taken.OwnerID = "acc_1"
		for want, n := range map[error]merchant.NewShop{
			merchant.ErrNotFound: unowned, merchant.ErrNameTaken: taken, merchant.ErrExists: namedShop("m_nord", "Other"),
		} {
			if err := s.CreateShop(ctx, n); !errors.Is(err, want) {
				t.Errorf("%+v: got error %v, want %v", n.Merchant, err, want)
			}
		}
		if _, err := s.Merchant(ctx, "m_sued"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("a refused shop: got error %v", err)
		}
		if a, err := s.Account(ctx, "acc_1"); err != nil || len(a.Roles) != 2 {
			t.Errorf("after refusals: got the roles %v, %v", a.Roles, err)
		}
		if entries, err = s.AuditLog(ctx, 0, 1); err != nil || entries[0].Change.Subject != "m_nord" {
			t.Errorf("a refusal has an entry: %+v, %v", entries, err)
		}
	})
}

func TestRenameMerchant_refuses_the_name_of_another_shop(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		for _, n := range []merchant.NewShop{namedShop("m_nord", "Nord"), namedShop("m_sued", "Süd")} {
			if err := s.CreateShop(ctx, n); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.RenameMerchant(ctx, "m_sued", "", "nord"); !errors.Is(err, merchant.ErrNameTaken) {
			t.Errorf("got error %v", err)
		}
		if err := s.RenameMerchant(ctx, "m_nord", "Nord", "NORD"); err != nil {
			t.Errorf("its own name: %v", err)
		}
		if err := s.RenameMerchant(ctx, "unknown", "", "Ost"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("an unknown shop: got error %v", err)
		}
		if err := s.RenameMerchant(ctx, "m_nord", "Nord", "West"); !errors.Is(err, merchant.ErrStale) {
			t.Errorf("after another change: got error %v", err)
		}
		if m, err := s.Merchant(ctx, "m_nord"); err != nil || m.Name != "NORD" {
			t.Errorf("got %+v, %v", m, err)
		}
	})
}

func TestCreateShop_keeps_names_and_limit_concurrently(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		var created atomic.Int32
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				switch err := s.CreateShop(t.Context(), namedShop(fmt.Sprint("m_", i), "Nord")); {
				case err == nil:
					created.Add(1)
				case !errors.Is(err, merchant.ErrNameTaken):
					t.Error(err)
				}
			})
		}
		group.Wait()
		if created.Load() != 1 {
			t.Errorf("%d shops have one name", created.Load())
		}
		shops, err := s.Merchants(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := len(shops); i < merchant.MaxShops; i++ {
			if err := s.CreateShop(t.Context(), namedShop(fmt.Sprint("more_", i), fmt.Sprint("More ", i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.CreateShop(t.Context(), namedShop("last", "Last")); !errors.Is(err, merchant.ErrTooMany) {
			t.Errorf("above the limit: got error %v", err)
		}
	})
}

// The account m/84'/0'/0' of the wallet "abandon … about", in its three forms and as the key of another coin.
const sameKey = "xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V"

var sameKeys = []struct {
	text   string
	kind   keys.Kind
	script keys.Script
}{
	{"zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs", keys.BTC, ""},
	{sameKey, keys.BTC, keys.P2PKH},
	{"wpkh(" + sameKey + "/0/*)", keys.BTC, ""},
	{sameKey, keys.LTC, keys.P2WPKH},
	{sameKey, keys.ETH, ""},
}

func TestWallet_key_belongs_to_one_shop(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx, wallets := t.Context(), newWallets(s, noon)
		add := func(shop string, i int) error {
			k, err := keys.Parse(sameKeys[i].text, sameKeys[i].kind, keys.Main, sameKeys[i].script)
			if err != nil {
				t.Fatal(err)
			}
			_, err = wallets.Add(ctx, shop, merchant.Addition{Key: k})
			return err
		}
		if err := add("shop", 0); err != nil {
			t.Fatal(err)
		}
		check := func(when string) {
			t.Helper()
			for i, k := range sameKeys {
				if err := add("bakery", i); !errors.Is(err, merchant.ErrOtherShop) {
					t.Errorf("%s, %s as %s: got error %v", when, k.text[:8], k.kind, err)
				}
			}
			if all, err := s.AllWallets(ctx, "bakery", merchant.Live); err != nil || len(all) != 0 {
				t.Errorf("%s: the other shop has the wallets %+v, %v", when, all, err)
			}
		}
		check("active")
		if _, err := wallets.Remove(ctx, "shop", keys.BTC, ""); err != nil {
			t.Fatal(err)
		}
		check("removed")
		if err := add("shop", 2); err != nil {
			t.Errorf("the same shop again: %v", err)
		}
		test := newWallet("test", "BTC", "vpub", noon)
		test.Mode, test.Secret = merchant.Test, "secret"
		if err := s.CreateWallet(ctx, test); err != nil {
			t.Fatal(err)
		}
		test.ID, test.MerchantID = "other", "bakery"
		if err := s.CreateWallet(ctx, test); !errors.Is(err, merchant.ErrOtherShop) {
			t.Errorf("a test wallet: got error %v", err)
		}
	})
}

func TestWallet_key_belongs_to_one_shop_concurrently(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for round := range 8 {
			var won []string
			var mu sync.Mutex
			var group sync.WaitGroup
			for _, shop := range []string{"shop", "bakery", "shop", "bakery"} {
				group.Go(func() {
					err := addKey(t.Context(), s, shop, fmt.Sprint("zpub", round))
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						won = append(won, shop)
					case !errors.Is(err, merchant.ErrOtherShop) && !errors.Is(err, merchant.ErrExists):
						t.Error(err)
					}
				})
			}
			group.Wait()
			if len(slices.Compact(won)) != 1 {
				t.Errorf("round %d: %s have the key", round, strings.Join(won, " and "))
			}
		}
	})
}

// addKey adds a wallet with a key to a shop.
func addKey(ctx context.Context, s *storage.Storage, shop, key string) error {
	w := newWallet(shop+key, "BTC", key, noon)
	w.MerchantID = shop
	return s.CreateWallet(ctx, w)
}
