package chain

import (
	"net/url"
	"strconv"
	"strings"

	"chequer/internal/format"
	"chequer/internal/money"
)

// Link holds the forms of a payment link.
type Link struct {
	// URI has the address and the amount. It is the target of the link on a page.
	URI string
	// Code is the content of the QR code. It is equivalent to URI, but the scheme and a bech32
	// address are in upper case, which makes the QR code smaller (BIP 173).
	Code string
	// Address is the address alone; it is empty except for tokens. Its QR code is shown first,
	// because some wallets pay the first address in a URI, which is the contract.
	Address string
}

// Link returns the payment link for an amount to a destination. The label is the name of
// the shop; ERC-681 has no field for it.
func (a Asset) Link(address string, due money.Amount, label string) Link {
	switch {
	case a.Requested():
		return lightningLink(address, due, label)
	case a.Scheme == "ethereum":
		return a.ethereumLink(address, due)
	case a.Scheme == schemeMonero:
		return moneroLink(address, due, label)
	}
	return a.bitcoinLink(address, due, label)
}

// maxLabel is the maximum length of an encoded label, in characters. With longer labels, phones cannot
// scan the QR code.
const maxLabel = 60

// bitcoinLink returns a link in the grammar of BIP 21, which BIP 321 keeps. The amount is in decimal
// coins with a dot. Reserved characters of the label are percent-encoded as in RFC 3986; a space is
// %20, not a plus.
func (a Asset) bitcoinLink(address string, due money.Amount, label string) Link {
	query := "?amount=" + due.String()
	if encoded := encodeLabel(label); encoded != "" {
		query += "&label=" + encoded
	}
	uri := a.Scheme + ":" + address + query
	code := uri
	if isBech32(address) {
		code = strings.ToUpper(a.Scheme+":"+address) + query
	}
	return Link{URI: uri, Code: code}
}

// encodeLabel returns the beginning of a label that is short enough, percent-encoded.
func encodeLabel(label string) string {
	encoded := ""
	for _, r := range label {
		next := format.PercentEncode(string(r))
		if len(encoded)+len(next) > maxLabel {
			break
		}
		encoded += next
	}
	return encoded
}

// schemeMonero is the scheme of the payment links of Monero.
const schemeMonero = "monero"

// HasTimeLocks reports whether a transfer of an asset can have a time lock, before whose end it cannot be spent. Of these
// assets, Transfer.Unsure is true for such a transfer only.
func (a Asset) HasTimeLocks() bool { return a.Scheme == schemeMonero }

// moneroLink returns a link in the grammar of Monero's wallets, with the amount in XMR. See the wiki of Monero, "URI formatting", and
// make_uri in src/wallet/wallet2.cpp of Monero. A wallet reads + as a plus sign, so a space is %20.
func moneroLink(address string, due money.Amount, label string) Link {
	uri := schemeMonero + ":" + address + "?tx_amount=" + due.String()
	if encoded := encodeLabel(label); encoded != "" {
		uri += "&recipient_name=" + encoded
	}
	return Link{URI: uri, Code: uri}
}

// requestLink returns the link of a payment request, which contains its amount. In upper case it has the smallest QR code. The
// link of no request is empty.
func requestLink(request string) Link {
	if request == "" {
		return Link{}
	}
	uri := SchemeLightning + ":" + request
	return Link{URI: uri, Code: strings.ToUpper(uri)}
}

// WithRequest returns a payment link of Bitcoin that also contains a payment request for the same amount. The keys of the
// parameters stay in lower case, because some wallets do not read others. See BIP 321, "lightning".
func (l Link) WithRequest(request string) Link {
	const key = "&lightning="
	return Link{URI: l.URI + key + request, Code: l.Code + key + strings.ToUpper(request)}
}

// TakesRequest reports whether the payment links of an asset can contain a payment request.
func (a Asset) TakesRequest() bool { return a.Scheme == schemeBitcoin }

// ethereumLink returns a link as specified by ERC-681, with the chain ID. It has a value in wei for the
// network's native coin, and a transfer in the contract's smallest units for a token.
func (a Asset) ethereumLink(address string, due money.Amount) Link {
	chain := "@" + strconv.FormatUint(a.ChainID, 10)
	units := due.Minor().String()
	if a.Contract == "" {
		uri := "ethereum:" + address + chain + "?value=" + units
		return Link{URI: uri, Code: uri}
	}
	uri := "ethereum:" + a.Contract + chain + "/transfer?address=" + address + "&uint256=" + units
	return Link{URI: uri, Code: uri, Address: address}
}

// Address returns the address in a payment link of the asset's network, as wallets show and copy it:
// "bitcoin:ADDRESS?amount=1" (BIP 321) or "ethereum:ADDRESS@1" (ERC-681). In the link of a token
// transfer the address is a parameter. For Lightning, the address in a link of Bitcoin is its payment request or,
// without one, its address. Address returns any other text unchanged, except that it trims surrounding space.
func (a Asset) Address(text string) string {
	text = strings.TrimSpace(text)
	scheme, rest, found := strings.Cut(text, ":")
	isUnified := a.Requested() && strings.EqualFold(scheme, schemeBitcoin)
	if !found || !strings.EqualFold(scheme, a.Scheme) && !isUnified {
		return text
	}
	address, query, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	if isUnified {
		if values, err := url.ParseQuery(query); err == nil && values.Get(SchemeLightning) != "" {
			return values.Get(SchemeLightning)
		}
	}
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

// isBech32 reports whether an address has the form of a bech32 address in lower case.
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
