package keys_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"chequer/internal/keys"

	"github.com/btcsuite/btcd/btcutil/base58"
)

func TestParse_refuses_private_keys(t *testing.T) {
	t.Parallel()
	const words = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"
	xprv := bip32[0].steps[3].private
	secret := bytes.Repeat([]byte{0x5a}, 32)
	compressed := append(bytes.Clone(secret), 1)
	tests := map[string]string{
		"xprv":                              xprv,
		"xprv in capitals":                  strings.ToUpper(xprv),
		"xprv with an error":                xprv[:60] + "Z" + xprv[61:],
		"truncated xprv":                    xprv[:40],
		"xprv in a descriptor":              "wpkh([73c5da0a/84'/0'/0']" + xprv + "/0/*)#wc3n3van",
		"xprv among public keys":            "wsh(sortedmulti(1," + xpub44 + "/0/*," + xprv + "/0/*))",
		"xprv after a note":                 "my key: " + xprv,
		"yprv":                              respell(t, xprv, 0x049d7878),
		"zprv":                              respell(t, xprv, 0x04b2430c),
		"tprv":                              respell(t, xprv, 0x04358394),
		"uprv":                              respell(t, xprv, 0x044a4e28),
		"vprv":                              respell(t, xprv, 0x045f18bc),
		"Yprv":                              respell(t, xprv, 0x0295b005),
		"Zprv":                              respell(t, xprv, 0x02aa7a99),
		"Uprv":                              respell(t, xprv, 0x024285b5),
		"Vprv":                              respell(t, xprv, 0x02575048),
		"Ltpv":                              respell(t, xprv, 0x019d9cfe),
		"Mtpv":                              respell(t, xprv, 0x01b26792),
		"ttpv":                              respell(t, xprv, 0x0436ef7d),
		"WIF":                               base58.CheckEncode(secret, 0x80),
		"WIF, compressed":                   base58.CheckEncode(compressed, 0x80),
		"WIF, test network":                 base58.CheckEncode(secret, 0xef),
		"WIF, test, compressed":             base58.CheckEncode(compressed, 0xef),
		"WIF, Litecoin":                     base58.CheckEncode(secret, 0xb0),
		"WIF, Litecoin, compressed":         base58.CheckEncode(compressed, 0xb0),
		"WIF in a descriptor":               "pkh(" + base58.CheckEncode(compressed, 0x80) + ")",
		"WIF, encrypted":                    base58.Encode(append([]byte{0x01, 0x42, 0xc0}, bytes.Repeat([]byte{0x5a}, 40)...)),
		"hex":                               strings.Repeat("5a", 32),
		"hex as Ethereum writes it":         "0x" + strings.Repeat("5A", 32),
		"hex without a digit":               strings.Repeat("5a", 32)[1:],
		"hex with a digit too many":         strings.Repeat("5a", 32) + "5",
		"hex after a note":                  "spend key: " + strings.Repeat("5a", 32),
		"words":                             words,
		"words in capitals":                 strings.ToUpper(words),
		"words on lines":                    strings.ReplaceAll(words, " ", "\n"),
		"words with commas":                 strings.ReplaceAll(words, " ", ", "),
		"words with numbers":                "1. abandon 2. abandon 3) ability 4) able 5 about 6 above 7 absent 8 absorb 9 abstract 10 absurd 11 abuse 12 access",
		"words without space after numbers": "1.abandon 2.abandon 3.ability 4.able 5.about 6.above 7.absent 8.absorb 9.abstract 10.absurd 11.abuse 12.access",
		"24 words":                          words + " " + words,
		"one word missing":                  strings.TrimSuffix(words, " about"),
		"words of another language":         "ábaco ábaco ábaco ábaco ábaco ábaco ábaco ábaco ábaco ábaco ábaco abierto",
		"words with ideographic space":      strings.Repeat("あいこくしん\u3000", 11) + "あおぞら",
	}
	for name, text := range tests {
		for _, kind := range []keys.Kind{keys.BTC, keys.LTC, keys.ETH} {
			_, err := keys.Parse("\t"+text+"\n", kind, keys.Main, "")
			if !errors.Is(err, keys.ErrPrivateKey) {
				t.Errorf("%s: Parse(%s) = %v, want ErrPrivateKey", name, kind, err)
				continue
			}
			if err.Error() != keys.ErrPrivateKey.Error() {
				t.Errorf("%s: the error has more text: %q", name, err)
			}
		}
	}
}

func TestParse_does_not_report_public_texts_as_private_keys(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"an address":              "1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA",
		"an Ethereum address":     "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
		"a compressed public key": "0330d54fd0dd420a6e5f8d3624f5f3482cae350f79d5f0753bf5beef9c2d91af3c",
		"a public descriptor":     "wpkh([73c5da0a/84h/0h/0h]" + zpub84 + "/0/*)#afwvtk2s",
		"a sentence":              "the key of my shop is in the drawer",
		"letters inside a key":    "xpub6Bxprvtprv" + xpub44[14:],
	}
	for name, text := range tests {
		_, err := keys.Parse(text, keys.BTC, keys.Main, keys.P2WPKH)
		if !errors.Is(err, keys.ErrMalformed) && !errors.Is(err, keys.ErrDescriptor) {
			t.Errorf("%s: Parse() = %v, want ErrMalformed or ErrDescriptor", name, err)
		}
	}
}
