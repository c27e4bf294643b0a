package chain

import (
	"math/big"
	"net/url"
	"strconv"
	"strings"

	"chequer/internal/money"
)

// Link is a payment link in its forms.
type Link struct {
	// URI is the target of a link on a page: address and amount.
	URI string
	// Code is the content of the QR code. It means the same as URI; the scheme and a
	// bech32 address are in upper case, which makes the QR code smaller (BIP 173).
	Code string
	// Bare is the address alone, for tokens. It is the QR code to show first, because some
	// wallets pay the first address of a URI, which is the contract.
	Bare string
}

// Link returns the payment link for an amount to a destination. The label is the name of
// the shop; ERC-681 has no field for it.
func (a Asset) Link(address string, due money.Amount, label string) Link {
	if a.Scheme == "ethereum" {
		return a.ethereumLink(address, due)
	}
	return a.bitcoinLink(address, due, label)
}

// maxLabel is the greatest length of an encoded label, in characters, with which a phone can
// still scan the QR code.
const maxLabel = 60

// bitcoinLink returns a link in the grammar of BIP 21, which BIP 321 keeps: the amount in
// decimal coins with a dot, every other character percent-encoded as in RFC 3986, no plus
// for a space.
func (a Asset) bitcoinLink(address string, due money.Amount, label string) Link {
	query := "?amount=" + due.String()
	encoded := ""
	for _, r := range label {
		next := percentEncode(string(r))
		if len(encoded)+len(next) > maxLabel {
			break
		}
		encoded += next
	}
	if encoded != "" {
		query += "&label=" + encoded
	}
	uri := a.Scheme + ":" + address + query
	code := uri
	if isBech32(address) {
		code = strings.ToUpper(a.Scheme+":"+address) + query
	}
	return Link{URI: uri, Code: code}
}

// ethereumLink returns a link as in ERC-681: value in wei for the network's own coin, a
// transfer of the contract's smallest units for a token, always with the chain ID.
func (a Asset) ethereumLink(address string, due money.Amount) Link {
	chain := "@" + strconv.FormatUint(a.ChainID, 10)
	units := new(big.Int).Set(due.Minor()).String()
	if a.Contract == "" {
		uri := "ethereum:" + address + chain + "?value=" + units
		return Link{URI: uri, Code: uri}
	}
	uri := "ethereum:" + a.Contract + chain + "/transfer?address=" + address + "&uint256=" + units
	return Link{URI: uri, Code: uri, Bare: address}
}

// Address returns the address in a text that may be a payment link of the asset's
// network, as wallets show and copy it: "bitcoin:ADDRESS?amount=1" (BIP 321) or
// "ethereum:ADDRESS@1" (ERC-681), in which a token's transfer names its recipient as a
// parameter. Any other text is returned as it is, without surrounding space.
func (a Asset) Address(text string) string {
	text = strings.TrimSpace(text)
	scheme, rest, found := strings.Cut(text, ":")
	if !found || !strings.EqualFold(scheme, a.Scheme) {
		return text
	}
	address, query, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	if a.Scheme != "ethereum" {
		return address
	}
	address, function, _ := strings.Cut(address, "/")
	address, _, _ = strings.Cut(strings.TrimPrefix(address, "pay-"), "@")
	if function == "" {
		return address
	}
	values, err := url.ParseQuery(query)
	if err != nil || function != "transfer" {
		return text
	}
	return values.Get("address")
}

func isBech32(address string) bool {
	prefix, data, ok := strings.Cut(address, "1")
	if !ok || address != strings.ToLower(address) || len(data) < 8 {
		return false
	}
	switch prefix {
	case "bc", "tb", "bcrt", "ltc", "tltc", "rltc":
		return true
	}
	return false
}

// percentEncode escapes all characters but the unreserved ones of RFC 3986, section 2.3.
// url.QueryEscape writes a plus for a space, which wallets display.
func percentEncode(text string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '-', c == '.', c == '_', c == '~':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}
