package web

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

// madeUp is the network of the test tools, which no wallet can send on.
const madeUp = "simnet"

// walletRequest is what a browser wallet is asked to send: the amount that the
// page shows, in the smallest units. None on networks that are not EVM's, and
// for what is not of their forms.
func walletRequest(m api.PaymentMethod, s scene, amount string) views.Request {
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
	case m.Network == madeUp:
		r.Sent = s.Text("wallet.test")
	case !m.Watched:
		r.Sent = s.opening("wallet.hand", "Shop", s.shop)
	}
	return r
}

// walletApp opens this page in the browser within MetaMask on a phone, where the
// wallet is asked as on a desk. The address goes behind the link as it is, without
// its scheme. See https://docs.metamask.io/sdk/guides/use-deeplinks, "Open a dapp
// inside the in-app browser". None for what it could not send or not reach.
func walletApp(m api.PaymentMethod, s scene, amount string) string {
	place, secure := strings.CutPrefix(s.public, "https://")
	if !secure || m.Network == madeUp || walletRequest(m, s, amount).Units == "" {
		return ""
	}
	return "https://link.metamask.io/dapp/" + place + "?m=" + url.QueryEscape(m.CryptoCurrency)
}

// turn changes whenever something is to be sent anew: when another amount is due,
// and when a payment was dropped. Whoever has sent what was asked need not send
// it again before.
func turn(r api.Resource) string {
	dropped := 0
	for _, t := range r.Payments {
		if t.State == "replaced" {
			dropped++
		}
	}
	return r.DueAmount + " " + strconv.Itoa(dropped)
}

// paysOnEVM tells whether the invoice can be paid on such a network, so that its
// page needs the script for browser wallets.
func paysOnEVM(r api.Resource) bool {
	for _, m := range r.PaymentMethods {
		if m.ChainID != "" {
			return true
		}
	}
	return false
}
