package chain_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/ethereum"
	"chequer/internal/money"

	"github.com/google/go-cmp/cmp"
)

// C11: an amount in a link is digits and one dot, never an exponent.
func TestLink_amount_has_plain_digits(t *testing.T) {
	t.Parallel()
	btc := bitcoin.Mainnet.Asset
	grammar := regexp.MustCompile(`^[0-9]+(\.[0-9]{1,8})?$`)
	tests := map[string]string{
		"0.00001000":     "0.00001",
		"0.00002218":     "0.00002218",
		"0.00054600":     "0.000546",
		"0.00000546":     "0.00000546",
		"0.00000001":     "0.00000001",
		"21000.00000000": "21000",
		"20999999.9769":  "20999999.9769",
		"100":            "100",
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			link := btc.Link("bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", money.MustParse(text, money.BTC), "Shop")
			for _, uri := range []string{link.URI, link.Code} {
				got := query(t, uri)["amount"]
				if !grammar.MatchString(got) || got != want {
					t.Errorf("%s has amount %q, want %q", uri, got, want)
				}
			}
		})
	}
}

// C13: a label is percent-encoded as in RFC 3986, not as in a web form.
func TestLink_label_is_percent_encoded_and_cut(t *testing.T) {
	t.Parallel()
	due := money.MustParse("0.001", money.BTC)
	tests := map[string]struct{ label, want string }{
		"words, signs, accents": {"Tea & Café 1+1=2 #7?", "&label=Tea%20%26%20Caf%C3%A9%201%2B1%3D2%20%237%3F"},
		"an amount parameter":   {"a=b&amount=9", "&label=a%3Db%26amount%3D9"},
		"unreserved characters": {"A-Z_a.z~0", "&label=A-Z_a.z~0"},
		"percent and newline":   {"100%\n", "&label=100%25%0A"},
		"60 encoded characters": {strings.Repeat("é", 10), "&label=" + strings.Repeat("%C3%A9", 10)},
		"a longer label is cut": {strings.Repeat("a", 57) + "é", "&label=" + strings.Repeat("a", 57)},
		"no label":              {"", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link := bitcoin.Mainnet.Asset.Link("bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", due, test.label)
			want := chain.Link{
				URI:  "bitcoin:bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu?amount=0.001" + test.want,
				Code: "BITCOIN:BC1QCR8TE4KR609GCAWUTMRZA0J4XV80JY8Z306FYU?amount=0.001" + test.want,
			}
			if diff := cmp.Diff(link, want); diff != "" {
				t.Errorf("Link() differs (-got +want):\n%s", diff)
			}
			if got := query(t, link.URI)["label"]; !strings.HasPrefix(test.label, got) {
				t.Errorf("parsed label is %q, want %q or a prefix of it", got, test.label)
			}
		})
	}
}

// C14: the QR code has the scheme and a bech32 address in capitals and all else unchanged.
func TestLink_code_has_bech32_in_capitals(t *testing.T) {
	t.Parallel()
	btc, ltc := bitcoin.Mainnet.Asset, bitcoin.Litecoin.Asset
	tests := map[string]struct {
		asset         chain.Asset
		address, want string
	}{
		"bc1q":   {btc, "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", "BITCOIN:BC1QCR8TE4KR609GCAWUTMRZA0J4XV80JY8Z306FYU"},
		"bc1p":   {btc, "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr", "BITCOIN:BC1P5CYXNUXMEUWUVKWFEM96LQZSZD02N6XDCJRS20CAC6YQJJWUDPXQKEDRCR"},
		"tb1q":   {btc, "tb1q6rz28mcfaxtmd6v789l9rrlrusdprr9pqcpvkl", "BITCOIN:TB1Q6RZ28MCFAXTMD6V789L9RRLRUSDPRR9PQCPVKL"},
		"1":      {btc, "1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA", "bitcoin:1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA"},
		"3":      {btc, "37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf", "bitcoin:37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf"},
		"2":      {btc, "2Mww8dCYPUpKHofjgcXcBCEGmniw9CoaiD2", "bitcoin:2Mww8dCYPUpKHofjgcXcBCEGmniw9CoaiD2"},
		"ltc1q":  {ltc, "ltc1qjmxnz78nmc8nq77wuxh25n2es7rzm5c2rkk4wh", "LITECOIN:LTC1QJMXNZ78NMC8NQ77WUXH25N2ES7RZM5C2RKK4WH"},
		"L":      {ltc, "LUWPbpM43E2p7ZSh8cyTBEkvpHmr3cB8Ez", "litecoin:LUWPbpM43E2p7ZSh8cyTBEkvpHmr3cB8Ez"},
		"M":      {ltc, "M7wtsL7wSHDBJVMWWhtQfTMSYYkyooAAXM", "litecoin:M7wtsL7wSHDBJVMWWhtQfTMSYYkyooAAXM"},
		"tltc1q": {ltc, "tltc1qcr8te4kr609gcawutmrza0j4xv80jy8zc8lp4u", "LITECOIN:TLTC1QCR8TE4KR609GCAWUTMRZA0J4XV80JY8ZC8LP4U"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link := test.asset.Link(test.address, money.MustParse("0.001", test.asset.Currency), "Tea & Café")
			const rest = "?amount=0.001&label=Tea%20%26%20Caf%C3%A9"
			want := chain.Link{
				URI:  test.asset.Scheme + ":" + test.address + rest,
				Code: test.want + rest,
			}
			if diff := cmp.Diff(link, want); diff != "" {
				t.Errorf("Link() differs (-got +want):\n%s", diff)
			}
		})
	}
}

// C16 and C17: the link of a token has the contract, the chain ID and the smallest units. The
// address is given separately, too.
func TestLink_ethereum_has_contract_chain_and_smallest_units(t *testing.T) {
	t.Parallel()
	const address = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
	eth, usdc := ethereum.Mainnet.Assets[0], ethereum.Mainnet.Assets[1]
	base := ethereum.Base.Assets[0]
	polygon, sepolia := assetWithCode(t, ethereum.Polygon, "USDC-POLYGON"), assetWithCode(t, ethereum.Sepolia, "USDC")
	usdt := usdc
	usdt.Contract, usdt.Currency = "0xdAC17F958D2ee523a2206206994597C13D831ec7", money.Currency{Code: "USDT", Decimals: 6}
	coarse := usdt
	coarse.Currency = money.Currency{Code: "TEST", Decimals: 18}
	tests := map[string]struct {
		asset            chain.Asset
		due              string
		uri, linkAddress string
	}{
		"the coin":                         {eth, "0.00720891", "ethereum:" + address + "@1?value=7208910000000000", ""},
		"one wei":                          {eth, "0.000000000000000001", "ethereum:" + address + "@1?value=1", ""},
		"2.014 of the coin, as in ERC-681": {eth, "2.014", "ethereum:" + address + "@1?value=2014000000000000000", ""},
		"token with 6 decimals": {usdt, "20.00",
			"ethereum:0xdAC17F958D2ee523a2206206994597C13D831ec7@1/transfer?address=" + address + "&uint256=20000000", address},
		"token with 18 decimals": {coarse, "20.00",
			"ethereum:0xdAC17F958D2ee523a2206206994597C13D831ec7@1/transfer?address=" + address + "&uint256=20000000000000000000", address},
		"one unit of a token": {usdc, "0.000001",
			"ethereum:0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48@1/transfer?address=" + address + "&uint256=1", address},
		"token on Base": {base, "56.5",
			"ethereum:0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42@8453/transfer?address=" + address + "&uint256=56500000", address},
		"the same token on Polygon": {polygon, "1",
			"ethereum:" + polygon.Contract + "@137/transfer?address=" + address + "&uint256=1000000", address},
		"the same token on Sepolia": {sepolia, "1",
			"ethereum:" + sepolia.Contract + "@11155111/transfer?address=" + address + "&uint256=1000000", address},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link := test.asset.Link(address, money.MustParse(test.due, test.asset.Currency), "Tea & Café")
			if diff := cmp.Diff(link, chain.Link{URI: test.uri, Code: test.uri, Address: test.linkAddress}); diff != "" {
				t.Errorf("Link() differs (-got +want):\n%s", diff)
			}
		})
	}
}

// assetWithCode returns the asset of a network with a code.
func assetWithCode(t *testing.T, network ethereum.Params, code string) chain.Asset {
	t.Helper()
	i := slices.IndexFunc(network.Assets, func(a chain.Asset) bool { return a.Code == code })
	if i < 0 {
		t.Fatalf("there is no %s", code)
	}
	return network.Assets[i]
}

func TestLink_of_Monero(t *testing.T) {
	t.Parallel()
	const address = "42ey1afDFnn4886T7196doS9GPMzexD9gXpsZJDwVjeRVdFCSoHnv7KPbBeGpzJBzHRCAs9UxqeoyFQMYbqSWYTfJJQAWDm"
	asset := chain.Asset{Scheme: "monero", Currency: money.XMR}
	for _, tt := range []struct{ amount, shop, want string }{
		{"1.2345", "", "?tx_amount=1.2345"},
		// monero-wallet-rpc makes this link, but for the zeros at the end of the amount.
		{"1.2345", "Shop & Söhne + Co", "?tx_amount=1.2345&recipient_name=Shop%20%26%20S%C3%B6hne%20%2B%20Co"},
		{"0.000000000001", "", "?tx_amount=0.000000000001"},
		{"10", "えん", "?tx_amount=10&recipient_name=%E3%81%88%E3%82%93"},
		{"0.011", "a-b_c.d~e%#?=/'\"", "?tx_amount=0.011&recipient_name=a-b_c.d~e%25%23%3F%3D%2F%27%22"},
	} {
		want := "monero:" + address + tt.want
		link := asset.Link(address, money.MustParse(tt.amount, money.XMR), tt.shop)
		if diff := cmp.Diff(link, chain.Link{URI: want, Code: want}); diff != "" {
			t.Errorf("(-got +want):\n%s", diff)
		}
		if got := asset.Address(link.URI); got != address {
			t.Errorf("Address(%s) = %s, want %s", link.URI, got, address)
		}
	}
}

// query parses the query of a URI as a wallet does: by RFC 3986, where a plus is a plus. No key
// may occur twice.
func query(t *testing.T, uri string) map[string]string {
	t.Helper()
	_, text, ok := strings.Cut(uri, "?")
	if !ok {
		t.Fatalf("%s has no query", uri)
	}
	fields := map[string]string{}
	for pair := range strings.SplitSeq(text, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if _, isRepeated := fields[key]; isRepeated {
			t.Errorf("%s has key %s twice", uri, key)
		}
		decoded, err := url.PathUnescape(value)
		if err != nil {
			t.Errorf("%s: %v", uri, err)
		}
		fields[key] = decoded
	}
	return fields
}

func TestAddress_is_read_from_a_link(t *testing.T) {
	t.Parallel()
	const account, contract = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"
	for _, tt := range []struct{ scheme, text, want string }{
		{"bitcoin", " bc1qxyz\n", "bc1qxyz"},
		{"bitcoin", "bitcoin:bc1qxyz", "bc1qxyz"},
		{"bitcoin", "BITCOIN:BC1QXYZ?amount=1&label=x", "BC1QXYZ"},
		{"bitcoin", "bitcoin://bc1qxyz", "bc1qxyz"},
		{"bitcoin", "litecoin:ltc1qxyz", "litecoin:ltc1qxyz"},
		{"bitcoin", "lightning:lnbc1", "lightning:lnbc1"},
		{"litecoin", "litecoin:ltc1qxyz?amount=1", "ltc1qxyz"},
		{"ethereum", "ethereum:" + account, account},
		{"ethereum", "ethereum:" + account + "@1?value=1", account},
		{"ethereum", "ethereum:pay-" + account + "@8453", account},
		{"ethereum", "ethereum:" + contract + "@8453/transfer?address=" + account + "&uint256=1", account},
		{"ethereum", "ethereum:" + contract + "/approve?address=" + account, "ethereum:" + contract + "/approve?address=" + account},
		{"ethereum", "bitcoin:bc1qxyz", "bitcoin:bc1qxyz"},
	} {
		if got := (chain.Asset{Scheme: tt.scheme}).Address(tt.text); got != tt.want {
			t.Errorf("%s: Address(%q) = %q, want %q", tt.scheme, tt.text, got, tt.want)
		}
	}
}
