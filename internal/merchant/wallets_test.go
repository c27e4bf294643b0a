package merchant_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/keys"
	"chequer/internal/merchant"
)

// The account keys of the wallet "abandon … about" for two scripts.
const (
	zpub84 = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"
	// xpub84 is zpub84 as a descriptor.
	xpub84 = "wpkh(xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V/0/*)"
	ypub49 = "ypub6Ww3ibxVfGzLrAH1PNcjyAWenMTbbAosGNB6VvmSEgytSER9azLDWCxoJwW7Ke7icmizBMXrzBx9979FfaHxHcrArf3zbeJJJUZPf663zsP"
)

// memoryWallets stores the active live wallets of a merchant by asset.
type memoryWallets map[string]merchant.Wallet

func (m memoryWallets) CreateWallet(_ context.Context, w merchant.Wallet) error { return nil }

func (m memoryWallets) ChangeWallet(_ context.Context, _ string, mode merchant.Mode, asset string, decide func(merchant.Wallet) (merchant.WalletChange, error)) (merchant.WalletChange, error) {
	if mode != merchant.Live {
		return merchant.WalletChange{}, fmt.Errorf("mode %s", mode)
	}
	c, err := decide(m[asset])
	if err != nil {
		return c, err
	}
	if delete(m, asset); c.Change != merchant.WalletRemoved {
		m[asset] = c.Wallet
	}
	return c, nil
}

func TestWallets_changes_have_events(t *testing.T) {
	t.Parallel()
	parse := func(text string) keys.Key {
		key, err := keys.Parse(text, keys.BTC, keys.Main, "")
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	stored := memoryWallets{}
	wallets := merchant.NewWallets(merchant.WalletsConfig{
		Storage: stored, Now: now, Token: tokens(),
		Encode: func(c merchant.WalletChange) []byte { return []byte(c.EventID + " " + string(c.Change)) },
	})
	add := func(text string) func() (merchant.WalletChange, error) {
		return func() (merchant.WalletChange, error) {
			return wallets.Add(t.Context(), "shop", merchant.Addition{Key: parse(text), Replaces: stored["BTC"].ID})
		}
	}
	addUnseen := func() (merchant.WalletChange, error) {
		return wallets.Add(t.Context(), "shop", merchant.Addition{Key: parse(ypub49), Replaces: "wlt_unknown"})
	}
	remove := func() (merchant.WalletChange, error) { return wallets.Remove(t.Context(), "shop", keys.BTC, "") }
	removeUnseen := func() (merchant.WalletChange, error) {
		return wallets.Remove(t.Context(), "shop", keys.BTC, "wlt_unknown")
	}
	before := merchant.Wallet{}
	for i, step := range []struct {
		do     func() (merchant.WalletChange, error)
		change merchant.Change
		former bool // true if the change names the wallet before the step
		err    error
	}{
		{remove, "", false, merchant.ErrNotFound},
		{add(zpub84), merchant.WalletAdded, false, nil},
		{add(zpub84), "", false, merchant.ErrExists},
		{add(xpub84), "", false, merchant.ErrExists},
		{addUnseen, "", false, merchant.ErrStale},
		{removeUnseen, "", false, merchant.ErrNotFound},
		{add(ypub49), merchant.WalletReplaced, true, nil},
		{add(zpub84), merchant.WalletReplaced, true, nil},
		{remove, merchant.WalletRemoved, false, nil},
		{remove, "", false, merchant.ErrNotFound},
		{add(zpub84), merchant.WalletAdded, false, nil},
	} {
		c, err := step.do()
		if !errors.Is(err, step.err) || c.Change != step.change {
			t.Fatalf("step %d = %+v, %v, want %q, %v", i, c, err, step.change, step.err)
		}
		if err != nil {
			continue
		}
		if step.former && c.Former.ID != before.ID || !step.former && c.Former.ID != "" || !c.At.Equal(noon) {
			t.Errorf("step %d has the former wallet %q, the wallet before was %q", i, c.Former.ID, before.ID)
		}
		if got, want := string(c.Body), c.EventID+" "+string(step.change); c.EventID == "" || got != want {
			t.Errorf("step %d has the event %q, want %q", i, got, want)
		}
		if c.Wallet.Asset != "BTC" || c.Wallet.Mode != merchant.Live || c.Wallet.Secret != "" || c.Wallet.Counter == "" {
			t.Errorf("step %d has the wallet %+v", i, c.Wallet)
		}
		before = stored["BTC"]
	}
}

func TestAddConnection_stores_an_examined_connection(t *testing.T) {
	t.Parallel()
	errUnreachable := errors.New("connection refused")
	stored, spending := memoryWallets{}, ""
	wallets := merchant.NewWallets(merchant.WalletsConfig{
		Storage: stored, Now: now, Token: tokens(),
		Encode: func(c merchant.WalletChange) []byte { return []byte(c.EventID + " " + string(c.Change)) },
		Examine: func(ctx context.Context, text string) (merchant.Connection, error) {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("the examination has no deadline")
			}
			if text == "dead" {
				return merchant.Connection{}, errUnreachable
			}
			return merchant.Connection{Name: "node", Text: "canonical " + text, Spending: spending}, nil
		},
	})
	add := func(text string, allowSpending bool) (merchant.WalletChange, error) {
		return wallets.AddConnection(t.Context(), "shop", merchant.ConnectionAddition{Text: text, AllowSpending: allowSpending, Replaces: stored["BTC-LN"].ID})
	}
	first, err := add("a", false)
	want := merchant.Wallet{
		ID: first.Wallet.ID, MerchantID: "shop", Mode: merchant.Live, Asset: "BTC-LN", Key: "node", Counter: first.Wallet.ID, Secret: "canonical a", CreatedAt: noon,
	}
	if diff := cmp.Diff(stored["BTC-LN"], want); err != nil || diff != "" || first.Change != merchant.WalletAdded || !want.IsConnection() || want.ID == "" {
		t.Errorf("AddConnection() = %v, %v; stored wallet differs (-got +want):\n%s", first.Change, err, diff)
	}
	if got, want := string(first.Body), first.EventID+" added"; got != want {
		t.Errorf("the event is %q, want %q", got, want)
	}
	if _, err := add("a", false); !errors.Is(err, merchant.ErrExists) {
		t.Errorf("the same connection: %v, want ErrExists", err)
	}
	if _, err := add("dead", false); !errors.Is(err, errUnreachable) {
		t.Errorf("a dead provider: %v, want its error", err)
	}
	if _, err := wallets.AddConnection(t.Context(), "shop", merchant.ConnectionAddition{Text: "b"}); !errors.Is(err, merchant.ErrStale) {
		t.Errorf("an unexpected connection: %v, want ErrStale", err)
	}
	spending = "pay_invoice"
	_, err = add("b", false)
	if refused, ok := errors.AsType[*merchant.SpendingError](err); !ok || refused.Permission != "pay_invoice" || stored["BTC-LN"].ID != first.Wallet.ID {
		t.Errorf("a connection that may spend: %v, want a *SpendingError", err)
	}
	second, err := add("b", true)
	if err != nil || second.Change != merchant.WalletReplaced || second.Former.ID != first.Wallet.ID || second.Spending != "pay_invoice" || stored["BTC-LN"].Secret != "canonical b" {
		t.Errorf("a connection that is allowed to spend: %+v, %v", second, err)
	}
	removed, err := wallets.Remove(t.Context(), "shop", "BTC-LN", second.Wallet.ID)
	if _, found := stored["BTC-LN"]; err != nil || removed.Change != merchant.WalletRemoved || found {
		t.Errorf("Remove() = %+v, %v", removed.Change, err)
	}
}

// existingWallets is a storage with test wallets.
type existingWallets struct {
	merchant.Storage
	list    []merchant.Wallet
	created []merchant.Wallet
}

func (s *existingWallets) Wallets(context.Context, string, merchant.Mode) ([]merchant.Wallet, error) {
	return s.list, nil
}

func (s *existingWallets) CreateWallet(_ context.Context, w merchant.Wallet) error {
	s.created = append(s.created, w)
	return nil
}

func TestEnsureTestWallets_adds_new_kinds_to_shops_of_older_releases(t *testing.T) {
	t.Parallel()
	s := &existingWallets{list: []merchant.Wallet{{Asset: "BTC"}, {Asset: "LTC"}, {Asset: "ETH"}}}
	service := merchant.NewService(s, now, tokens())
	if err := service.EnsureTestWallets(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	if len(s.created) != 2 {
		t.Fatalf("got %d new wallets, want 2", len(s.created))
	}
	view := s.created[0]
	if key, err := keys.Load(view.Derivation()); err != nil || view.Asset != "XMR" || key.Network() != keys.Stagenet || key.Fingerprint() != view.Counter || strings.Contains(view.Key, key.ViewKey()) {
		t.Errorf("got the wallet %+v for Monero, error %v", view, err)
	}
	id := s.created[1].ID
	want := merchant.Wallet{ID: id, MerchantID: "shop", Mode: merchant.Test, Asset: "BTC-LN", Key: "simnet", Counter: id, CreatedAt: noon}
	if diff := cmp.Diff(s.created[1], want); diff != "" {
		t.Errorf("the connection differs (-got +want):\n%s", diff)
	}
	s.list = append(s.list, s.created...)
	if err := service.EnsureTestWallets(t.Context(), "shop"); err != nil || len(s.created) != 2 {
		t.Errorf("at the next start: %d new wallets, %v", len(s.created), err)
	}
}
