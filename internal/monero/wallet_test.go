package monero

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
)

func TestNewWallet(t *testing.T) {
	t.Parallel()
	invalid, err := ParseAddress(primaryText)
	if err != nil {
		t.Fatal(err)
	}
	good := invalid
	invalid.SpendKey = PublicKey{2}
	parse := func(text string) Address {
		a, err := ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	key := viewKey(t, viewKeyText)
	for name, tt := range map[string]struct {
		address Address
		key     ViewKey
		want    error
	}{
		"the_view_key":              {good, key, nil},
		"the_spend_key":             {good, viewKey(t, spendKeyText), ErrSpendKey},
		"a_key_of_another_wallet":   {parse("44Kbx4sJ7JDRDV5aAhLJzQCjDz2ViLRduE3ijDZu3osWKBjMGkV1XPk4pfDUMqt1Aiezvephdqm6YD19GKFD9ZcXVUTp6BW"), key, ErrKeyMismatch},
		"no_key":                    {good, ViewKey{}, ErrKeyForm},
		"a_subaddress":              {parse(subaddressText), key, ErrSubaddress},
		"an_integrated_address":     {parse(integratedText), key, ErrIntegrated},
		"an_address_without_a_kind": {Address{SpendKey: good.SpendKey, ViewKey: good.ViewKey}, key, ErrSubaddress},
		"an_invalid_spend_key":      {invalid, key, ErrAddressKey},
	} {
		w, err := NewWallet(tt.address, tt.key)
		if !errors.Is(err, tt.want) || (w == nil) != (err != nil) {
			t.Errorf("%s: got %v, %v, want %v", name, w, err, tt.want)
		}
		if w != nil && (w.Address() != good || w.Key().Reveal() != key.Reveal()) {
			t.Errorf("%s: got %s", name, w.Address())
		}
	}
}

// Subaddresses of tests/functional_tests/wallet.py of Monero, and the donation addresses in its README.
func TestSubaddress_of_Monero(t *testing.T) {
	t.Parallel()
	w := wallet(t, primaryText, viewKeyText)
	for index, want := range map[uint32]string{
		0:   primaryText,
		1:   "84QRUYawRNrU3NN1VpFRndSukeyEb3Xpv8qZjjsoJZnTYpDYceuUTpog13D7qPxpviS7J29bSgSkR11hFFoXWk2yNdsR9WF",
		999: "8BQKgTSSqJjP14AKnZUBwnXWj46MuNmLvHfPTpmry52DbfNjjHVvHUk4mczU8nj8yZ57zBhksTJ8kM5xKeJXw55kCMVqyG7",
	} {
		if got := w.Subaddress(index).String(); got != want {
			t.Errorf("subaddress %d = %s, want %s", index, got, want)
		}
	}
	donations := wallet(t, "44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A", "f359631075708155cc3d92a32b75a7d02a5dcf27756707b47a2b31b21c389501")
	const donate = "888tNkZrPN6JsEgekjMnABU4TBzc2Dt29EPAvkRxbANsAnjyPbb3iQ1YBRk1UXcdRsiKc9dhwMVgN5S9cQUiyoogDavup3H"
	if got := donations.Subaddress(70).String(); got != donate {
		t.Errorf("donation address = %s, want %s", got, donate)
	}
}

// The subaddresses in testdata/subaddresses.json were made by monero-wallet-rpc 0.18.0.0 for the wallet in
// tests/functional_tests/wallet.py of Monero, and by another release for a wallet of stagenet.
func TestSubaddress_of_wallets(t *testing.T) {
	t.Parallel()
	var wallets []struct {
		Address, ViewKey string
		Subaddresses     []string
	}
	readJSON(t, "testdata/subaddresses.json", &wallets)
	for _, tt := range wallets {
		w := wallet(t, tt.Address, tt.ViewKey)
		for i, want := range tt.Subaddresses {
			a := w.Subaddress(uint32(i))
			if a.String() != want {
				t.Errorf("subaddress %d of %s = %s, want %s", i, tt.Address, a, want)
			}
			if parsed, err := ParseAddress(want); err != nil || parsed != a || w.SpendKey(uint32(i)) != a.SpendKey {
				t.Errorf("subaddress %d of %s: parsed as %+v, %v, spend key %s", i, tt.Address, parsed, err, w.SpendKey(uint32(i)))
			}
		}
	}
	if len(wallets) != 2 || len(wallets[0].Subaddresses) != 301 {
		t.Errorf("%d wallets", len(wallets))
	}
}

// readJSON reads a file of JSON.
func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}
