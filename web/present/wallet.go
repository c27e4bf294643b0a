package present

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"chequer/internal/api"
	"chequer/internal/money"
	"chequer/views"
)

var (
	evmAddress = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	chainID    = regexp.MustCompile(`^[1-9][0-9]{0,17}$`)
)

// testNetwork is the built-in test network, which no wallet supports.
const testNetwork = "simnet"

// walletRequest returns the payment that a browser wallet is asked to send, with the amount on the page in
// the smallest units. It is empty for networks that are not EVM networks, and for malformed values.
func walletRequest(m api.PaymentMethod, s pageContext, amount string) views.Request {
	due, err := money.Parse(amount, money.Currency{Code: m.CryptoCurrency, Decimals: m.Decimals})
	if err != nil || due.IsZero() || !chainID.MatchString(m.ChainID) || !evmAddress.MatchString(m.Address) ||
		m.Contract != "" && !evmAddress.MatchString(m.Contract) {
		return views.Request{}
	}
	r := views.Request{
		ChainID: m.ChainID, Network: m.NetworkName, Contract: m.Contract, Address: m.Address, Units: due.Minor().String(),
		Sent: s.Text("wallet.watched"),
	}
	switch {
	case m.Network == testNetwork:
		r.Sent = s.Text("wallet.test")
	case !m.Watched:
		r.Sent = s.capitalized("wallet.hand", "Shop", s.shop)
	}
	return r
}

// walletApp returns a link that opens this page in MetaMask's browser on a phone, where the page can call
// the wallet as on a desktop. The link is a prefix followed by the address of the page without its scheme.
// See https://docs.metamask.io/sdk/guides/use-deeplinks, "Open a dapp inside the in-app browser". The link
// is empty if the wallet could not send the payment or could not reach the page.
func walletApp(r api.Resource, m api.PaymentMethod, s pageContext, amount string) string {
	page, secure := strings.CutPrefix(s.BaseURL, "https://")
	if !secure || m.Network == testNetwork || walletRequest(m, s, amount).Units == "" {
		return ""
	}
	return "https://link.metamask.io/dapp/" + page + "/invoice/" + r.ForeignID + "?m=" + url.QueryEscape(m.CryptoCurrency)
}

// paymentTurn returns a string that changes whenever the shopper has to send money again: when another amount is
// due, and when a payment was dropped. While it stays the same, the page does not ask a shopper who has
// sent the amount to send it again.
func paymentTurn(r api.Resource) string {
	dropped := 0
	for _, t := range r.Payments {
		if t.State == "replaced" {
			dropped++
		}
	}
	return r.DueAmount + " " + strconv.Itoa(dropped)
}

// paysOnEVM reports whether the invoice can be paid on an EVM network, so that its page needs the
// script for browser wallets.
func paysOnEVM(r api.Resource) bool {
	for _, m := range r.PaymentMethods {
		if m.ChainID != "" {
			return true
		}
	}
	return false
}
