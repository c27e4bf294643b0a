package keys_test

import (
	"regexp"
	"strings"
	"testing"

	"chequer/internal/keys"

	"github.com/btcsuite/btcd/btcutil/base58"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/google/go-cmp/cmp"
)

func TestKeyString_is_read_back(t *testing.T) {
	t.Parallel()
	for _, wallet := range wallets {
		t.Run(wallet.name, func(t *testing.T) {
			t.Parallel()
			key := mustParse(t, wallet)
			text := key.String()
			if !strings.HasPrefix(text, wallet.prefix) {
				t.Errorf("String() = %s, want %s…", text, wallet.prefix)
			}
			loaded, err := keys.Load(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(describe(loaded), describe(key)); diff != "" {
				t.Errorf("Load(String()) differs (-got +want):\n%s", diff)
			}
			if loaded.Kind() != wallet.kind || loaded.Network() != wallet.network {
				t.Errorf("Load(String()) is of %s, %s, want %s, %s", loaded.Kind(), loaded.Network(), wallet.kind, wallet.network)
			}
		})
	}
}

func TestKey_spellings_agree(t *testing.T) {
	t.Parallel()
	// C20: the key of m/84' as zpub and as plain xpub with the script named.
	const xpub = "xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V"
	const zpub = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"
	plain, err := keys.Parse(xpub, keys.BTC, keys.Main, keys.P2WPKH)
	if err != nil {
		t.Fatal(err)
	}
	fromZpub, err := keys.Parse(" "+zpub+"\n", keys.BTC, keys.Main, keys.P2WPKH)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(describe(plain), describe(fromZpub)); diff != "" {
		t.Errorf("xpub and zpub differ (-xpub +zpub):\n%s", diff)
	}
	if got, want := plain.String(), "btc:p2wpkh:"+xpub; got != want {
		t.Errorf("String() = %s, want %s", got, want)
	}
	for _, script := range keys.Scripts(keys.BTC) {
		other, err := keys.Parse(xpub, keys.BTC, keys.Main, script)
		if err != nil {
			t.Fatal(err)
		}
		if other.Fingerprint() != plain.Fingerprint() {
			t.Errorf("the fingerprint with %s differs", script)
		}
	}
	if len(plain.Fingerprint()) != 40 {
		t.Errorf("Fingerprint() = %s, want 20 bytes in hex", plain.Fingerprint())
	}
}

func TestKey_litecoin_spellings_agree(t *testing.T) {
	t.Parallel()
	for _, wallet := range wallets {
		if wallet.kind != keys.LTC {
			continue
		}
		want := mustParse(t, wallet)
		plain := wallet
		plain.key, plain.script = respell(t, wallet.key, 0x0488b21e), want.Script()
		if diff := cmp.Diff(describe(mustParse(t, plain)), describe(want)); diff != "" {
			t.Errorf("%s: the xpub spelling differs (-got +want):\n%s", wallet.name, diff)
		}
	}
}

func TestKey_of_the_Litecoin_test_network_agrees_as_ttub_and_tpub(t *testing.T) {
	t.Parallel()
	// ttub is Litecoin's spelling of tpub.
	key, err := keys.Parse(respell(t, wallets[0].key, 0x0436f6e1), keys.LTC, keys.Test, keys.P2WPKH)
	if err != nil {
		t.Fatal(err)
	}
	prefixes := map[keys.Script]string{keys.P2PKH: `^[mn]`, keys.P2SHP2WPKH: `^Q`, keys.P2WPKH: `^tltc1q`, keys.P2TR: `^tltc1p`}
	for script, want := range prefixes {
		tpub, err := keys.Parse(respell(t, wallets[0].key, 0x043587cf), keys.LTC, keys.Test, script)
		if err != nil {
			t.Fatal(err)
		}
		address, _, err := tpub.Address(0)
		if err != nil || !regexp.MustCompile(want).MatchString(address) {
			t.Errorf("%s: Address(0) = %s, %v, want %s", script, address, err, want)
		}
		if script == key.Script() && tpub.String() != key.String() {
			t.Errorf("ttub is stored as %s, tpub as %s", key, tpub)
		}
	}
}

// facts are all visible properties of a key.
type facts struct {
	Kind        keys.Kind
	Network     keys.Network
	Script      keys.Script
	Text        string
	Fingerprint string
	First       string
}

func describe(key keys.Key) facts {
	first, _, err := key.Address(0)
	if err != nil {
		panic(err)
	}
	return facts{key.Kind(), key.Network(), key.Script(), key.String(), key.Fingerprint(), first}
}

func mustParse(t testing.TB, w wallet) keys.Key {
	t.Helper()
	key, err := keys.Parse(w.key, w.kind, w.network, w.script)
	if err != nil {
		t.Fatalf("%s: %v", w.name, err)
	}
	return key
}

// respell returns an extended key with other version bytes.
func respell(t testing.TB, text string, version uint32) string {
	t.Helper()
	payload := base58.Decode(text)[:78]
	payload[0], payload[1], payload[2], payload[3] = byte(version>>24), byte(version>>16), byte(version>>8), byte(version)
	return base58.Encode(append(payload, chainhash.DoubleHashB(payload)[:4]...))
}
