package keys_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcutil/base58"

	"chequer/internal/keys"
)

func TestHoldsSecret_finds_private_keys_and_seed_words(t *testing.T) {
	t.Parallel()
	const words = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"
	xprv := bip32[0].steps[3].private
	secret := bytes.Repeat([]byte{0x5a}, 32)
	wif := base58.CheckEncode(append(bytes.Clone(secret), 1), 0x80)
	tests := []struct {
		name, text string
		want       bool
	}{
		{"xprv", xprv, true},
		{"xprv within text", "my key:" + xprv + ".", true},
		{"xprv with a typing error", xprv[:60] + "Z" + xprv[61:], true},
		{"xprv in a descriptor", "wpkh(" + xprv + "/0/*)", true},
		{"Ltpv", respell(t, xprv, 0x019d9cfe), true},
		{"WIF", base58.CheckEncode(secret, 0x80), true},
		{"WIF, compressed, as a flag's value", "--key=" + wif, true},
		{"WIF, Litecoin", base58.CheckEncode(secret, 0xb0), true},
		{"WIF, encrypted", base58.CheckEncode(append([]byte{0x42, 0xc0}, bytes.Repeat([]byte{0x5a}, 36)...), 0x01), true},
		{"words", words, true},
		{"words in capitals on lines", strings.ToUpper(strings.ReplaceAll(words, " ", "\n")), true},
		{"words with numbers", "1. legal 2. winner 3. thank 4. year 5. wave 6. sausage 7. worth 8. useful 9. legal 10. winner 11. thank 12. yellow", true},
		{"24 words", strings.Repeat("abandon ", 23) + "art", true},
		{"Japanese words", strings.Repeat("あいこくしん\u3000", 11) + "あおぞら", true},
		{"words of an Electrum seed", "wild father tree among universe such mobile favorite target dynamic credit identify", true},

		{"words of the list without the checksum", strings.Repeat("abandon ", 12), false},
		{"a description", "Olive oil soap from the island with lavender and a little lemon made by hand", false},
		{"a description of words in the list", "oil soap lemon island water fresh air sun spring summer winter green", false},
		{"an order number of 64 hex digits", strings.Repeat("5a", 32), false},
		{"WIF with a typing error", wif[:20] + "z" + wif[21:], false},
		{"xpub", xpub44, false},
		{"a word that begins like a key", "xprv is the prefix of private keys", false},
		{"a long text without spaces", strings.Repeat("chequer", 40), false},
		{"nothing", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := keys.HoldsSecret(tt.text); got != tt.want {
				t.Errorf("HoldsSecret = %t, want %t", got, tt.want)
			}
		})
	}
}
