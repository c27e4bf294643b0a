package keys_test

import (
	"errors"
	"sync"
	"testing"

	"chequer/internal/keys"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/google/go-cmp/cmp"
)

func TestAddress_equals_the_addresses_of_known_wallets(t *testing.T) {
	t.Parallel()
	for _, wallet := range wallets {
		t.Run(wallet.name, func(t *testing.T) {
			t.Parallel()
			key := mustParse(t, wallet)
			receive := map[uint32]string{}
			for index := range wallet.receive {
				address, script, err := key.Address(index)
				if err != nil {
					t.Fatal(err)
				}
				receive[index] = address
				reparsed, wantScript, err := keys.ParseAddress(address, wallet.kind, wallet.network)
				if err != nil || reparsed != address || script != wantScript {
					t.Errorf("0/%d: ParseAddress() = %s, %s, %v, and Address() = %s, %s", index, reparsed, wantScript, err, address, script)
				}
			}
			if diff := cmp.Diff(receive, wallet.receive); diff != "" {
				t.Errorf("account key: addresses differ (-got +want):\n%s", diff)
			}
		})
	}
}

func TestAddress_chain_key_gives_index(t *testing.T) {
	t.Parallel()
	for _, wallet := range wallets {
		t.Run(wallet.name, func(t *testing.T) {
			t.Parallel()
			account := mustParse(t, wallet)
			receive := mustParse(t, wallet.chain(t, 0))
			change := mustParse(t, wallet.chain(t, 1))
			for index, want := range wallet.receive {
				if got, _, err := receive.Address(index); err != nil || got != want {
					t.Errorf("chain 0, Address(%d) = %s, %v, want %s", index, got, err, want)
				}
			}
			if got, _, err := change.Address(0); err != nil || got != wallet.change {
				t.Errorf("chain 1, Address(0) = %s, %v, want %s", got, err, wallet.change)
			}
			if receive.Fingerprint() != account.Fingerprint() {
				t.Error("the account key and its chain key 0 have different fingerprints")
			}
			if change.Fingerprint() == account.Fingerprint() {
				t.Error("the account key and its chain key 1 have the same fingerprint")
			}
		})
	}
}

func TestAddress_returns_the_script(t *testing.T) {
	t.Parallel()
	// BIP 49 and BIP 86 contain the hashes, BIP 84 contains the public key of its hash.
	tests := map[string]string{
		"2Mww8dCYPUpKHofjgcXcBCEGmniw9CoaiD2":                            "a914336caa13e08b96080a32b5d818d59b4ab3b3674287",
		"bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr": "5120a60869f0dbcf1dc659c9cecbaf8050135ea9e8cdc487053f1dc6880949dc684c",
		"bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu":                     "0014c0cebcd6c3d3ca8c75dc5ec62ebe55330ef910e2",
		"1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA":                             "76a914d986ed01b7a22225a70edbf2ba7cfb63a15cb3aa88ac",
		"0x9858EfFD232B4033E47d90003D41EC34EcaEda94":                     "0x9858effd232b4033e47d90003d41ec34ecaeda94",
	}
	got := map[string]string{}
	for _, wallet := range wallets {
		address, script, err := mustParse(t, wallet).Address(0)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := tests[address]; ok {
			got[address] = script
		}
	}
	if diff := cmp.Diff(got, tests); diff != "" {
		t.Errorf("scripts differ (-got +want):\n%s", diff)
	}
}

func TestAddress_refuses_hardened_indexes(t *testing.T) {
	t.Parallel()
	for _, wallet := range wallets {
		key := mustParse(t, wallet)
		if _, _, err := key.Address(1<<31 - 1); err != nil {
			t.Errorf("%s: Address(2³¹−1): %v", wallet.name, err)
		}
		for _, index := range []uint32{1 << 31, 1<<32 - 1} {
			if address, script, err := key.Address(index); !errors.Is(err, keys.ErrIndex) || address != "" || script != "" {
				t.Errorf("%s: Address(%d) = %q, %q, %v, want only ErrIndex", wallet.name, index, address, script, err)
			}
		}
	}
}

// Addresses are derived in blocks and cached; the library derives each one separately.
func TestAddress_is_the_same_in_any_order(t *testing.T) {
	t.Parallel()
	key, err := keys.Parse(xpub44, keys.BTC, keys.Main, keys.P2PKH)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := hdkeychain.NewKeyFromString(descend(t, xpub44, 0))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, step := range []uint32{1, 7, 1<<31 - 301, 129} { // the last two share entries of the cache
		group.Go(func() {
			for i := range uint32(300) {
				index := i * step % (1 << 31)
				child, err := chain.Derive(index)
				if err != nil {
					t.Errorf("derive %d: %v", index, err)
					return
				}
				want, err := child.Address(&chaincfg.MainNetParams)
				if err != nil {
					t.Errorf("address %d: %v", index, err)
					return
				}
				if got, _, err := key.Address(index); err != nil || got != want.EncodeAddress() {
					t.Errorf("Address(%d) = %s, %v, want %s", index, got, err, want)
				}
			}
		})
	}
	group.Wait()
}

// chain returns the wallet of the key one step below an account key.
func (w wallet) chain(t testing.TB, step uint32) wallet {
	t.Helper()
	account, err := hdkeychain.NewKeyFromString(w.key)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := account.Derive(step)
	if err != nil {
		t.Fatal(err)
	}
	w.key = chain.String()
	return w
}

func BenchmarkAddress(b *testing.B) {
	for _, wallet := range wallets {
		b.Run(wallet.name, func(b *testing.B) {
			key := mustParse(b, wallet)
			for index := uint32(0); b.Loop(); index++ {
				if _, _, err := key.Address(index); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
