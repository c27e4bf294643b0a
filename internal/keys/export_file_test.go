package keys_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"chequer/internal/keys"
)

func TestParse_of_pasted_texts(t *testing.T) {
	t.Parallel()
	want, err := keys.Parse(zpub84, keys.BTC, keys.Main, "")
	if err != nil {
		t.Fatal(err)
	}
	coldcard := fmt.Sprintf(`{"chain":"BTC","xpub":%q,"xfp":"73C5DA0A","account":0,
		"bip44":{"deriv":"m/44'/0'/0'","xpub":%q,"name":"p2pkh"},
		"bip84":{"deriv":"m/84'/0'/0'","xpub":%q,"_pub":%q,"name":"p2wpkh"}}`, xpub32, xpub44, xpub84, zpub84)
	for _, tt := range []struct {
		name, text string
		script     keys.Script
	}{
		{"byte order mark", "\ufeff" + zpub84 + "\r\n", ""},
		{"double quotes", `"` + zpub84 + `"`, ""},
		{"typographic quotes", "“" + zpub84 + "”", ""},
		{"descriptor in single quotes", "'wpkh([73c5da0a/84'/0'/0']" + xpub84 + "/0/*)'", ""},
		{"Coldcard", coldcard, keys.P2WPKH},
		{"Coldcard with a byte order mark", "\ufeff" + coldcard, keys.P2WPKH},
		{"Electrum", fmt.Sprintf(`{"keystore":{"type":"hardware","hw_type":"ledger","xpub":%q,"derivation":"m/84'/0'/0'","root_fingerprint":"73c5da0a"},"wallet_type":"standard"}`, zpub84), ""},
		{"Electrum, watching only", fmt.Sprintf(`{"keystore":{"type":"bip32","xpub":%q,"xprv":null},"wallet_type":"standard"}`, zpub84), ""},
		{"BlueWallet", fmt.Sprintf(`{"ExtPubKey":%q,"MasterFingerprint":"73C5DA0A","AccountKeyPath":"84'/0'/0'"}`, zpub84), ""},
		{"xpub with a path that determines the script", fmt.Sprintf(`{"ExtPubKey":%q,"AccountKeyPath":"84'/0'/0'"}`, xpub84), ""},
		{"Sparrow", fmt.Sprintf(`{"label":"Shop","blockheight":0,"descriptor":"wpkh([73c5da0a/84h/0h/0h]%s/<0;1>/*)"}`, xpub84), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := keys.Parse(tt.text, keys.BTC, keys.Main, tt.script)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Same(want) || len(got.Warnings()) > 0 {
				t.Errorf("key %s with the warnings %q, want %s", got, got.Warnings(), want)
			}
		})
	}

	xprv := bip32[0].steps[3].private
	for _, tt := range []struct {
		name, text string
		want       error
		message    string
	}{
		{"address", "1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA", keys.ErrMalformed, "one address"},
		{"Coldcard without a script", coldcard, keys.ErrScript, "several accounts, so add --script p2pkh or p2wpkh"},
		{"file cut off", coldcard[:200], keys.ErrMalformed, "not complete JSON"},
		{"file without a key", `{"wallet_type":"2of3"}`, keys.ErrMalformed, "no account key"},
		{"Electrum with a seed", fmt.Sprintf(`{"keystore":{"type":"bip32","xpub":%q,"seed":"encrypted"}}`, zpub84), keys.ErrPrivateKey, ""},
		{"file with an xprv", fmt.Sprintf(`{"ExtPubKey":%q,"note":%q}`, zpub84, xprv), keys.ErrPrivateKey, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := keys.Parse(tt.text, keys.BTC, keys.Main, "")
			if !errors.Is(err, tt.want) || !strings.Contains(fmt.Sprint(err), tt.message) {
				t.Errorf("got error %v, want %v with %q", err, tt.want, tt.message)
			}
		})
	}
}

func TestWarnings_of_a_path(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, descriptor, want string }{
		{"none without an origin", "wpkh(" + xpub84 + "/0/*)", ""},
		{"none with a fingerprint alone", "wpkh([73c5da0a]" + xpub84 + "/0/*)", ""},
		{"none when it fits", "wpkh([73c5da0a/84h/0h/0h]" + xpub84 + "/0/*)", ""},
		{"none for another purpose", "wpkh([73c5da0a/7h/0h/0h]" + xpub84 + "/0/*)", ""},
		{"of another script", "pkh([73c5da0a/84h/0h/0h]" + xpub84 + "/0/*)", "its path begins with 84', which wallets use for p2wpkh addresses, not for p2pkh"},
		{"of another script, taproot", "tr([73c5da0a/49h/0h/0h]" + xpub84 + "/0/*)", "its path begins with 49', which wallets use for p2sh-p2wpkh addresses, not for p2tr"},
		{"not hardened", "wpkh([73c5da0a/84/0h/0h]" + xpub84 + "/0/*)", "its path begins with 84, which is not hardened: wallets use 84'"},
		{"of another depth", "wpkh([73c5da0a/84h/0h]" + xpub84 + "/0/*)", "its path has 2 steps, but the depth of the key is 3"},
		{"of another child", "wpkh([73c5da0a/84h/0h/1h]" + xpub84 + "/0/*)", "its path ends with 1', but the child number of the key is 0'"},
		{"of a child that is not hardened", "wpkh([73c5da0a/84h/0h/0]" + xpub84 + "/0/*)", "its path ends with 0, but the child number of the key is 0'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key, err := keys.Parse(tt.descriptor, keys.BTC, keys.Main, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(key.Warnings(), "; "); got != tt.want {
				t.Errorf("warnings %q, want %q", got, tt.want)
			}
		})
	}
}
