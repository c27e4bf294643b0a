package chain_test

import (
	"errors"
	"strings"
	"testing"

	"chequer/internal/chain"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// mainnetRequest is a request from the examples of BOLT 11.
const mainnetRequest = "lnbc25m1pvjluezpp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5vdhkven9v5sxyetpdeessp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygs9q5sqqqqqqqqqqqqqqqqsgq2a25dxl5hrntdtn6zvydt7d66hyzsyhqs4wdynavys42xgl6sgx9c4g7me86a27t07mdtfry458rtjr0v92cnmswpsjscgt2vcse3sgpz3uapa"

func TestReadBitcoin_reads_what_wallets_show(t *testing.T) {
	t.Parallel()
	asset := chain.LightningAsset("lightning-1")
	const (
		hash    = "0001020304050607080900010203040506070809000102030405060708090102"
		address = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
		script  = "0014751e76e8199196d454941c45d1b3a323f1433bd6"
	)
	for _, test := range []struct {
		text, address, script, uri, code, network string
	}{
		{mainnetRequest, mainnetRequest, hash, "lightning:" + mainnetRequest, "LIGHTNING:" + strings.ToUpper(mainnetRequest), "Lightning"},
		{" LIGHTNING:" + strings.ToUpper(mainnetRequest), mainnetRequest, hash, "lightning:" + mainnetRequest, "LIGHTNING:" + strings.ToUpper(mainnetRequest), "Lightning"},
		{"bitcoin:" + address + "?amount=1&lightning=" + mainnetRequest, mainnetRequest, hash, "lightning:" + mainnetRequest, "LIGHTNING:" + strings.ToUpper(mainnetRequest), "Lightning"},
		{"Name@Example.COM", "name@example.com", "", "lightning:name@example.com", "lightning:name@example.com", "Lightning"},
		{"lightning:lnbc@example.com", "lnbc@example.com", "", "lightning:lnbc@example.com", "lightning:lnbc@example.com", "Lightning"},
		{strings.ToUpper("bitcoin:"+address) + "?amount=1", address, script, "bitcoin:" + address + "?amount=0.025&label=Shop", "BITCOIN:" + strings.ToUpper(address) + "?amount=0.025&label=Shop", "Bitcoin"},
	} {
		to, err := chain.ReadBitcoin("bc", asset.Address(test.text))
		if err != nil || to.Address != test.address || to.Script != test.script {
			t.Errorf("%s: %+v, %v", test.text, to, err)
			continue
		}
		link := asset.Link(to.Address, money.MustParse("0.025", money.BTC), "Shop")
		if link.URI != test.uri || link.Code != test.code || link.Address != "" {
			t.Errorf("%s: the link is %+v", test.text, link)
		}
		if got := asset.AddressNetwork(to.Address); got != test.network || asset.SentOverLightning(to.Address) != (got == "Lightning") {
			t.Errorf("%s: the network is %q", test.text, got)
		}
	}
}

func TestReadBitcoin_names_the_fault(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		currency, text string
		want           error
		reason         string
	}{
		{"bcrt", mainnetRequest, keys.ErrNetwork, `"lnbc", want "lnbcrt"`},
		{"bc", mainnetRequest[:len(mainnetRequest)-1] + "q", keys.ErrAddress, "not a valid address: "},
		{"bc", "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", keys.ErrNetwork, "bc1"},
		{"bc", "name@localhost", keys.ErrAddress, "want a Lightning address"},
		{"bc", "lnurl1dp68gurn8ghj7", keys.ErrAddress, "LNURL"},
		{"bc", "lndconnect://node:8080?macaroon=AgED", keys.ErrPrivateKey, ""},
		{"bc", "type=phoenixd;server=http://127.0.0.1:9740;password=secret", keys.ErrPrivateKey, ""},
		{"bc", "", keys.ErrAddress, "want a Lightning address"},
	} {
		to, err := chain.ReadBitcoin(test.currency, test.text)
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.reason) || to != (chain.Destination{}) {
			t.Errorf("%q on %s: %+v, %v", test.text, test.currency, to, err)
		}
		if err != nil && len(test.text) > 20 && strings.Contains(err.Error(), test.text) {
			t.Errorf("the error repeats %q", test.text)
		}
	}
}
