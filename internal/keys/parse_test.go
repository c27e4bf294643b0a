package keys_test

import (
	"errors"
	"strings"
	"testing"

	"chequer/internal/keys"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
)

const (
	xpub44  = "xpub6BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc1brxMyWMzG3DSSSSoekkudhUd9yLb6qx39T9nMdj"
	ypub49  = "ypub6Ww3ibxVfGzLrAH1PNcjyAWenMTbbAosGNB6VvmSEgytSER9azLDWCxoJwW7Ke7icmizBMXrzBx9979FfaHxHcrArf3zbeJJJUZPf663zsP"
	zpub84  = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"
	tpub44  = "tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba"
	upub49  = "upub5EFU65HtV5TeiSHmZZm7FUffBGy8UKeqp7vw43jYbvZPpoVsgU93oac7Wk3u6moKegAEWtGNF8DehrnHtv21XXEMYRUocHqguyjknFHYfgY"
	vpub84  = "vpub5Y6cjg78GGuNLsaPhmYsiw4gYX3HoQiRBiSwDaBXKUafCt9bNwWQiitDk5VZ5BVxYnQdwoTyXSs2JHRPAgjAvtbBrf8ZhDYe2jWAqvZVnsc"
	ltub44  = "Ltub2YDQmP391UYeDYvLye9P1SuNJFkcRGN7SYHM8JMxaDnegcPTXHJ2BnYmvHnFnGPGKu2WMuCga6iZV3SDxDMGrRyMcrYEfSPhrpS1EPkC43E"
	mtub49  = "Mtub2rz9F1pkisRsSZX8sa4Ajon9GhPP6JymLgpuHqbYdU5JKFLBF7Qy8b1tZ3dccj2fefrAxfrPdVkpCxuWn3g72UctH2bvJRkp6iFmp8aLeRZ"
	root84  = "zpub6jftahH18ngZxLmXaKw3GSZzZsszmt9WqedkyZdezFtWRFBZqsQH5hyUmb4pCEeZGmVfQuP5bedXTB8is6fTv19U1GQRyQUKQGUTzyHACMF"
	ethXpub = "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt"
)

func TestParse_refuses_unsuitable_keys(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text    string
		kind    keys.Kind
		network keys.Network
		script  keys.Script
		want    error
		message string
	}{
		"nothing":                             {"", keys.BTC, keys.Main, keys.P2WPKH, keys.ErrMalformed, "not a valid extended public key"},
		"some words":                          {"my wallet", keys.BTC, keys.Main, keys.P2WPKH, keys.ErrMalformed, ""},
		"an address":                          {"bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", keys.BTC, keys.Main, keys.P2WPKH, keys.ErrMalformed, ""},
		"one character changed":               {strings.Replace(zpub84, "PhXN", "PhXM", 1), keys.BTC, keys.Main, "", keys.ErrMalformed, ""},
		"one character changed at the end":    {zpub84[:len(zpub84)-1] + "t", keys.BTC, keys.Main, "", keys.ErrMalformed, "checksum"},
		"one character less":                  {zpub84[:len(zpub84)-1], keys.BTC, keys.Main, "", keys.ErrMalformed, ""},
		"a space inside":                      {zpub84[:50] + " " + zpub84[50:], keys.BTC, keys.Main, "", keys.ErrMalformed, ""},
		"two keys":                            {zpub84 + zpub84, keys.BTC, keys.Main, "", keys.ErrMalformed, "too long"},
		"very long":                           {strings.Repeat("z", 1<<20), keys.BTC, keys.Main, "", keys.ErrMalformed, "too long"},
		"xpub without script":                 {xpub44, keys.BTC, keys.Main, "", keys.ErrScript, "--script p2pkh, p2sh-p2wpkh, p2wpkh or p2tr"},
		"xpub without script for LTC":         {xpub44, keys.LTC, keys.Main, "", keys.ErrScript, "--script"},
		"tpub without script":                 {tpub44, keys.BTC, keys.Test, "", keys.ErrScript, "--script"},
		"Ltub without script":                 {ltub44, keys.LTC, keys.Main, "", keys.ErrScript, "--script"},
		"unknown script":                      {xpub44, keys.BTC, keys.Main, "p2wsh", keys.ErrScript, "--script must be"},
		"ypub with another script":            {ypub49, keys.BTC, keys.Main, keys.P2WPKH, keys.ErrScript, "script type of a ypub… key is p2sh-p2wpkh"},
		"zpub with another script":            {zpub84, keys.BTC, keys.Main, keys.P2TR, keys.ErrScript, "script type of a zpub… key is p2wpkh"},
		"zpub with an unknown script":         {zpub84, keys.BTC, keys.Main, "p2wsh", keys.ErrScript, ""},
		"ETH with a script":                   {ethXpub, keys.ETH, keys.Main, keys.P2WPKH, keys.ErrScript, "no script type"},
		"ETH with a zpub":                     {zpub84, keys.ETH, keys.Main, "", keys.ErrNetwork, "ETH wallets have no zpub… key: this is a Bitcoin key with script type P2WPKH, and Ethereum needs the xpub of m/44'/60'/0'"},
		"ETH with a Ltub":                     {ltub44, keys.ETH, keys.Main, "", keys.ErrNetwork, "this is a Litecoin key, and Ethereum needs"},
		"BTC with a Ltub":                     {ltub44, keys.BTC, keys.Main, keys.P2PKH, keys.ErrNetwork, "BTC wallets have no Ltub"},
		"BTC with a Mtub":                     {mtub49, keys.BTC, keys.Main, "", keys.ErrNetwork, ""},
		"tpub for the main network":           {tpub44, keys.BTC, keys.Main, keys.P2PKH, keys.ErrNetwork, "key of the test network"},
		"upub for the main network":           {upub49, keys.BTC, keys.Main, "", keys.ErrNetwork, ""},
		"vpub for the main network":           {vpub84, keys.LTC, keys.Main, "", keys.ErrNetwork, ""},
		"tpub for Ethereum's main network":    {tpub44, keys.ETH, keys.Main, "", keys.ErrNetwork, ""},
		"zpub for the test network":           {zpub84, keys.BTC, keys.Test, "", keys.ErrNetwork, "key of the main network"},
		"Ltub for the test network":           {ltub44, keys.LTC, keys.Test, keys.P2PKH, keys.ErrNetwork, ""},
		"unknown kind":                        {xpub44, "DOGE", keys.Main, keys.P2PKH, keys.ErrKind, "BTC, LTC, ETH or XMR"},
		"root key":                            {root84, keys.BTC, keys.Main, "", keys.ErrDepth, "depth is 0"},
		"Zpub":                                {respell(t, zpub84, 0x02aa7ed3), keys.BTC, keys.Main, keys.P2WPKH, keys.ErrMultisig, "multisig"},
		"Ypub":                                {respell(t, zpub84, 0x0295b43f), keys.BTC, keys.Main, keys.P2WPKH, keys.ErrMultisig, "multisig"},
		"Upub":                                {respell(t, zpub84, 0x024289ef), keys.BTC, keys.Test, keys.P2WPKH, keys.ErrMultisig, "multisig"},
		"Vpub":                                {respell(t, zpub84, 0x02575483), keys.BTC, keys.Test, keys.P2WPKH, keys.ErrMultisig, "multisig"},
		"depth 1, of an Electrum wallet":      {descend(t, root84, 0), keys.BTC, keys.Main, "", keys.ErrDepth, "depth is 1"},
		"depth 5":                             {descend(t, zpub84, 0, 0), keys.BTC, keys.Main, "", keys.ErrDepth, "depth is 5"},
		"hardened depth 4, a multisig wallet": {bip48(t), keys.BTC, keys.Main, keys.P2WPKH, keys.ErrDepth, "multisig"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := keys.Parse(test.text, test.kind, test.network, test.script)
			if !errors.Is(err, test.want) {
				t.Fatalf("Parse() = %v, want %v", err, test.want)
			}
			if !strings.Contains(err.Error(), test.message) {
				t.Errorf("got error %q, want %q in it", err, test.message)
			}
			if len(test.text) > 20 && strings.Contains(err.Error(), test.text[:20]) {
				t.Errorf("the error contains the text: %q", err)
			}
		})
	}
}

func TestParse_refuses_malformed_keys(t *testing.T) {
	t.Parallel()
	for _, test := range malformed {
		want := keys.ErrMalformed
		if strings.HasPrefix(test.text, "xprv") {
			want = keys.ErrPrivateKey
		}
		for _, kind := range []keys.Kind{keys.BTC, keys.LTC, keys.ETH} {
			for _, script := range keys.Scripts(kind) {
				_, err := keys.Parse(test.text, kind, keys.Main, script)
				if !errors.Is(err, want) {
					t.Errorf("%s: Parse(%s, %s) = %v, want %v", test.fault, kind, script, err, want)
				}
			}
		}
	}
}

func TestParse_describes_malformed_keys(t *testing.T) {
	t.Parallel()
	messages := map[string]string{
		"pubkey version / prvkey mismatch":            "not have a compressed public key",
		"invalid pubkey prefix 04":                    "not have a compressed public key",
		"invalid pubkey prefix 01":                    "not have a compressed public key",
		"zero depth with non-zero parent fingerprint": "depth 0, but a parent",
		"zero depth with non-zero index":              "depth 0, but a child number",
		"unknown extended key version":                "first letters are unknown",
		"invalid pubkey 020000000000000000000000000000000000000000000000000000000000000007": "not a point of the curve",
	}
	for _, test := range malformed {
		want, ok := messages[test.fault]
		if !ok || strings.HasPrefix(test.text, "xprv") {
			continue
		}
		_, err := keys.Parse(test.text, keys.BTC, keys.Main, keys.P2PKH)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Parse() = %v, want %q in it", test.fault, err, want)
		}
	}
}

func TestLoad_refuses_other_spellings(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"nothing":                       "",
		"no kind and no script":         xpub44,
		"no script":                     "btc:" + xpub44,
		"empty script":                  "btc::" + xpub44,
		"upper-case kind":               "BTC:p2pkh:" + xpub44,
		"a prefix that String replaces": "btc:p2wpkh:" + zpub84,
		"script that contradicts":       "btc:p2pkh:" + zpub84,
		"unknown script":                "btc:p2wsh:" + xpub44,
		"unknown kind":                  "doge:p2pkh:" + xpub44,
		"Ethereum with a script":        "eth:p2pkh:" + ethXpub,
		"space":                         " btc:p2pkh:" + xpub44,
		"newline":                       "btc:p2pkh:" + xpub44 + "\n",
		"an additional part":            "btc:p2pkh:" + xpub44 + ":",
		"a private key":                 "btc:p2pkh:" + bip32[0].steps[3].private,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if key, err := keys.Load(text); err == nil {
				t.Errorf("Load() = %s, want an error", key)
			} else if len(text) > 40 && strings.Contains(err.Error(), text[len(text)-40:]) {
				t.Errorf("the error contains the text: %q", err)
			}
		})
	}
}

// descend returns the descendant of a public key with the given child numbers.
func descend(t testing.TB, text string, steps ...uint32) string {
	t.Helper()
	key, err := hdkeychain.NewKeyFromString(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if key, err = key.Derive(step); err != nil {
			t.Fatal(err)
		}
	}
	return key.String()
}

// bip48 returns the public key m/0'/1'/0'/2' of BIP 32's vector 4, which is the path of BIP 48 for
// one of several signers.
func bip48(t testing.TB) string {
	t.Helper()
	key, err := hdkeychain.NewKeyFromString(bip32[3].steps[2].private)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []uint32{0, 2} {
		if key, err = key.Derive(hdkeychain.HardenedKeyStart + step); err != nil {
			t.Fatal(err)
		}
	}
	public, err := key.Neuter()
	if err != nil {
		t.Fatal(err)
	}
	return public.String()
}

func FuzzParse(f *testing.F) {
	for _, wallet := range wallets {
		f.Add(wallet.key, string(wallet.kind), string(wallet.network), string(wallet.script))
	}
	for _, test := range malformed {
		f.Add(test.text, "BTC", "main", "p2pkh")
	}
	f.Add("0x"+strings.Repeat("ab", 32), "ETH", "main", "")
	f.Fuzz(func(t *testing.T, text, kind, network, script string) {
		key, err := keys.Parse(text, keys.Kind(kind), keys.Network(network), keys.Script(script))
		if err != nil {
			if text := strings.TrimSpace(text); len(text) > 30 && strings.Contains(err.Error(), text) {
				t.Errorf("the error contains the text: %q", err)
			}
			return
		}
		loaded, err := keys.Load(key.String())
		if err != nil {
			t.Fatalf("Load(%s): %v", key, err)
		}
		if describe(loaded) != describe(key) {
			t.Errorf("Load(%s) = %+v, want %+v", key, describe(loaded), describe(key))
		}
		if string(key.Kind()) != kind || string(key.Network()) != network {
			t.Errorf("Parse() is of %s, %s, want %s, %s", key.Kind(), key.Network(), kind, network)
		}
	})
}
