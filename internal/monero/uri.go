package monero

import (
	"fmt"
	"net/url"
	"strings"
)

// piconero is the number of piconero, the smallest units, in one XMR.
const piconero = 1_000_000_000_000

// URI returns the link by which a wallet pays an amount in piconero to an address. An amount of 0 and an empty recipient, the name of
// the shop, are left out. See the wiki of Monero, "URI formatting", and make_uri in src/wallet/wallet2.cpp of Monero.
func URI(to Address, amount uint64, recipient string) string {
	var parameters []string
	if amount > 0 {
		parameters = append(parameters, "tx_amount="+formatAmount(amount))
	}
	if recipient != "" {
		// Wallets read + as a plus sign. QueryEscape escapes all but the unreserved characters of RFC 3986, section 2.3.
		parameters = append(parameters, "recipient_name="+strings.ReplaceAll(url.QueryEscape(recipient), "+", "%20"))
	}
	link := "monero:" + to.String()
	if len(parameters) > 0 {
		link += "?" + strings.Join(parameters, "&")
	}
	return link
}

// formatAmount returns an amount in piconero as a decimal number of XMR without trailing zeros.
func formatAmount(amount uint64) string {
	text := fmt.Sprintf("%d.%012d", amount/piconero, amount%piconero)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
