package keys_test

import (
	"errors"
	"strings"
	"testing"

	"chequer/internal/keys"
)

func TestParseAddress_accepts_only_valid_segwit_addresses(t *testing.T) {
	t.Parallel()
	for _, test := range segwit {
		network := keys.Main
		if strings.HasPrefix(test.address, "tb") {
			network = keys.Test
		}
		address, script, err := keys.ParseAddress(test.address, keys.BTC, network)
		if err != nil || script != test.script || address != strings.ToLower(test.address) {
			t.Errorf("ParseAddress(%s) = %s, %s, %v, want script %s", test.address, address, script, err, test.script)
		}
	}
	for _, test := range noSegwit {
		for _, kind := range []keys.Kind{keys.BTC, keys.LTC, keys.ETH} {
			for _, network := range []keys.Network{keys.Main, keys.Test} {
				_, _, err := keys.ParseAddress(test.address, kind, network)
				if !errors.Is(err, keys.ErrAddress) && !errors.Is(err, keys.ErrNetwork) {
					t.Errorf("%s: ParseAddress(%s, %s) = %v, want an error", test.fault, kind, network, err)
				}
			}
		}
	}
}

func TestParseAddress_accepts_only_addresses_of_its_network(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text    string
		kind    keys.Kind
		network keys.Network
		want    string
		err     error
	}{
		"upper-case bech32":          {"LTC1QJMXNZ78NMC8NQ77WUXH25N2ES7RZM5C2RKK4WH", keys.LTC, keys.Main, "ltc1qjmxnz78nmc8nq77wuxh25n2es7rzm5c2rkk4wh", nil},
		"Ethereum in lower case":     {"0x9858effd232b4033e47d90003d41ec34ecaeda94", keys.ETH, keys.Main, "0x9858EfFD232B4033E47d90003D41EC34EcaEda94", nil},
		"bech32 of another network":  {"tb1q6rz28mcfaxtmd6v789l9rrlrusdprr9pqcpvkl", keys.BTC, keys.Main, "", keys.ErrNetwork},
		"bech32 of another coin":     {"bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", keys.LTC, keys.Main, "", keys.ErrNetwork},
		"base 58 of another network": {"mkpZhYtJu2r87Js3pDiWJDmPte2NRZ8bJV", keys.BTC, keys.Main, "", keys.ErrNetwork},
		"base 58 of another coin":    {"LUWPbpM43E2p7ZSh8cyTBEkvpHmr3cB8Ez", keys.BTC, keys.Main, "", keys.ErrNetwork},
		"base 58 with an error":      {"1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabB", keys.BTC, keys.Main, "", keys.ErrAddress},
		"base 58 in lower case":      {"1lqbgskux5yyuonjxt5qgfpusxkyyweaba", keys.BTC, keys.Main, "", keys.ErrAddress},
		"empty":                      {"", keys.BTC, keys.Main, "", keys.ErrAddress},
		"very long":                  {strings.Repeat("1", 1<<20), keys.BTC, keys.Main, "", keys.ErrAddress},
		"an extended key":            {xpub44, keys.BTC, keys.Main, "", keys.ErrAddress},
		"the example address of BIP 21, which has a wrong checksum": {"175tWpb8K1S7NmH4Zx6rewF9WQrcZv245W", keys.BTC, keys.Main, "", keys.ErrAddress},
		"unknown kind": {"1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA", "DOGE", keys.Main, "", keys.ErrKind},
		"Ethereum with a wrong checksum (case of one letter)": {"0x9858efFD232B4033E47d90003D41EC34EcaEda94", keys.ETH, keys.Main, "", keys.ErrAddress},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := keys.ParseAddress(test.text, test.kind, test.network)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("ParseAddress() = %q, %v, want %q, %v", got, err, test.want, test.err)
			}
		})
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, wallet := range wallets {
		f.Add(wallet.change, string(wallet.kind), wallet.network == keys.Test)
	}
	for _, test := range segwit {
		f.Add(test.address, "BTC", strings.HasPrefix(test.address, "tb"))
	}
	f.Fuzz(func(t *testing.T, text, kind string, test bool) {
		network := keys.Main
		if test {
			network = keys.Test
		}
		address, script, err := keys.ParseAddress(text, keys.Kind(kind), network)
		if err != nil {
			return
		}
		reparsed, sameScript, err := keys.ParseAddress(address, keys.Kind(kind), network)
		if err != nil || reparsed != address || sameScript != script {
			t.Errorf("ParseAddress(%q) = %s, %s, %v, want %s, %s", address, reparsed, sameScript, err, address, script)
		}
	})
}
