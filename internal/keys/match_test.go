package keys_test

import (
	"errors"
	"testing"

	"chequer/internal/keys"
)

func TestMatch_finds_the_index_of_a_receiving_address(t *testing.T) {
	t.Parallel()
	for _, w := range wallets {
		for index, address := range w.receive {
			key, found, err := keys.Match(w.key, w.kind, w.network, " "+address+"\n")
			if err != nil || found != index {
				t.Errorf("%s, address %d: got index %d, error %v", w.name, index, found, err)
				continue
			}
			if w.script != "" && key.Script() != w.script {
				t.Errorf("%s: got script %s, want %s", w.name, key.Script(), w.script)
			}
			if got, _, err := key.Address(index); err != nil || got != address {
				t.Errorf("%s: the key has the address %s, error %v, want %s", w.name, got, err, address)
			}
		}
		if _, _, err := keys.Match(w.key, w.kind, w.network, w.change); !errors.Is(err, keys.ErrNoMatch) {
			t.Errorf("%s, change address: got error %v, want %v", w.name, err, keys.ErrNoMatch)
		}
	}
}

func TestMatch_refuses_other_keys_and_addresses(t *testing.T) {
	t.Parallel()
	const (
		zpub    = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"
		address = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"
	)
	for name, test := range map[string]struct {
		key, address string
		network      keys.Network
		err          error
	}{
		"private key":                 {"abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about", address, keys.Main, keys.ErrPrivateKey},
		"an address as the key":       {address, address, keys.Main, keys.ErrMalformed},
		"no address":                  {zpub, "", keys.Main, keys.ErrAddress},
		"address with a wrong letter": {zpub, "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyv", keys.Main, keys.ErrAddress},
		"address of another network":  {zpub, "tb1qcr8te4kr609gcawutmrza0j4xv80jy8zmfp6l0", keys.Main, keys.ErrNetwork},
		"key of another network":      {zpub, address, keys.Regtest, keys.ErrNetwork},
		"address of another script":   {zpub, "37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf", keys.Main, keys.ErrNoMatch},
	} {
		if _, _, err := keys.Match(test.key, keys.BTC, test.network, test.address); !errors.Is(err, test.err) {
			t.Errorf("%s: got error %v, want %v", name, err, test.err)
		}
	}
}
