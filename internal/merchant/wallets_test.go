package merchant_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

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
