package web

import (
	"cmp"
	"slices"
	"strconv"

	"chequer/internal/api"
	"chequer/views"
)

// methods is every way of paying; rest tells that a part has come already. A
// service that speaks only the specification names neither coin nor network,
// and gives no payment links: the page is whole without them.
func methods(r api.Resource, s scene, rest bool) []views.Method {
	shown := make([]views.Method, len(r.PaymentMethods))
	chosen := 0
	for i, m := range r.PaymentMethods {
		shown[i] = method(r, m, s, rest)
		shown[i].ID = "m" + strconv.Itoa(i+1)
		shown[i].QR.ID, shown[i].Second.ID = shown[i].ID+"-qr", shown[i].ID+"-qr2"
		if m.CryptoCurrency == s.method {
			chosen = i
		}
	}
	if len(shown) > 0 {
		shown[chosen].Chosen = true
	}
	return shown
}

func method(r api.Resource, m api.PaymentMethod, s scene, rest bool) views.Method {
	amount := m.DueAmount
	if amount == "" {
		amount = m.ExpectedAmount
	}
	v := views.Method{
		Code: m.CryptoCurrency, Label: methodLabel(m), Network: methodNetwork(r, m), Symbol: symbol(m),
		Line:        amount + " " + unit(r, m.CryptoCurrency) + price(r, m),
		Notes:       methodNotes(m, s, rest),
		AmountLabel: "Amount", Amount: amount, AmountGroups: views.AmountGroups(amount), Unit: symbol(m),
		AddressLabel: addressLabel(m), Address: m.Address, AddressParts: views.AddressGroups(m.Address),
		ContractParts: views.AddressGroups(m.Contract), Request: walletRequest(m, s, amount), App: walletApp(m, s, amount),
	}
	if rest {
		v.AmountLabel, v.AddressLabel = "Amount still due", v.AddressLabel+", unchanged"
	}
	drawCodes(&v, m, s, rest)
	return v
}

// drawCodes chooses what the codes say. For tokens the address alone stands
// first: wallets exist that send to the first address of a link, which there is
// the contract's.
func drawCodes(v *views.Method, m api.PaymentMethod, s scene, rest bool) {
	asked := "pay " + v.Amount + " " + v.Unit + " to " + s.shop
	if rest {
		asked = "pay the remaining " + v.Amount + " " + v.Unit + " to " + s.shop
	}
	withAmount := views.Picture{Title: "QR code: " + asked + ". The same amount and address are written next to it."}
	withAmount.Code = qr(m.PaymentCode)
	bare := views.Picture{Title: "QR code: the address only. Enter " + v.Amount + " " + v.Unit + " in your wallet yourself."}
	switch {
	case m.AddressCode != "":
		bare.Code = qr(m.AddressCode)
		v.QR, v.Caption = bare, "Address only · enter "+v.Amount+" yourself"
		v.Second, v.SecondTo = withAmount, views.WalletURL(m.PaymentURI)
	case m.PaymentCode != "":
		v.QR, v.Caption = withAmount, "Scan with your "+v.Label+" wallet"
		v.Wallet = views.WalletURL(m.PaymentURI)
		if rest {
			v.Caption = "New code, for the rest"
		}
	default:
		bare.Code = qr(m.Address)
		v.QR, v.Caption = bare, "Address only · enter "+v.Amount+" yourself"
	}
}

// qr is the code of a text; none when it is too long for one, since the same
// stands beside it in letters.
func qr(text string) views.QR {
	if text == "" {
		return views.QR{}
	}
	code, err := views.NewQR(text)
	if err != nil {
		return views.QR{}
	}
	return code
}

// methodNotes is what a shopper must know of a method before paying by it.
func methodNotes(m api.PaymentMethod, s scene, rest bool) []views.Note {
	var notes []views.Note
	if m.ChainID != "" {
		notes = append(notes, views.Note{
			Kind: "warn", Strong: "Network: " + m.NetworkName + " only.",
			Text: symbol(m) + " sent on any other network does not count.",
		})
	}
	if !m.Watched && m.Network != "" {
		notes = append(notes, views.Note{
			Strong: "Checked by hand.",
			Text:   sentence(s.shop) + " looks for this payment by hand, so this page will not show by itself that it has arrived.",
		})
	}
	if m.Behind {
		notes = append(notes, views.Note{
			Strong: "This may take longer than usual.",
			Text:   "We are still reading what is new on the " + m.NetworkName + " network. A payment is not lost: it shows here once we have read on.",
		})
	}
	if rest && m.SmallestAmount != "" && m.DueAmount == m.SmallestAmount {
		notes = append(notes, views.Note{
			Strong: "The network carries no less than " + m.SmallestAmount + " " + symbol(m) + ".",
			Text:   "What that is above the rest counts as overpaid.",
		})
	}
	return notes
}

// methodLabel is a method on the switch: tokens are known by their symbol, coins
// by their name.
func methodLabel(m api.PaymentMethod) string {
	if m.Contract == "" && m.Name != "" {
		return m.Name
	}
	return symbol(m)
}

// methodNetwork is told for tokens, and for coins that are offered twice.
func methodNetwork(r api.Resource, m api.PaymentMethod) string {
	if m.Contract != "" {
		return m.NetworkName
	}
	for _, other := range r.PaymentMethods {
		if other.CryptoCurrency != m.CryptoCurrency && other.Symbol == m.Symbol && m.Symbol != "" {
			return m.NetworkName
		}
	}
	return ""
}

func addressLabel(m api.PaymentMethod) string {
	if m.ChainID != "" {
		return "Address on " + m.NetworkName
	}
	return methodLabel(m) + " address"
}

func symbol(m api.PaymentMethod) string {
	if m.Symbol == "" {
		return m.CryptoCurrency
	}
	return m.Symbol
}

// unit is a currency after an amount: "BTC", "USDC on Base".
func unit(r api.Resource, code string) string {
	for _, m := range r.PaymentMethods {
		if m.CryptoCurrency != code {
			continue
		}
		if network := methodNetwork(r, m); network != "" {
			return symbol(m) + " on " + network
		}
		return symbol(m)
	}
	for _, t := range r.Payments { // not offered, so the network is the news
		if t.CryptoCurrency == code && t.Symbol != "" && t.NetworkName != "" {
			return t.Symbol + " on " + t.NetworkName
		}
	}
	return code
}

// price is that of one coin, said after an amount of it. A service that speaks
// only the specification tells it in euro and dollars.
func price(r api.Resource, m api.PaymentMethod) string {
	one := cmp.Or(m.RateClient, map[string]string{"EUR": m.RateEUR, "USD": m.RateUSD}[r.ClientCurrency])
	if one == "" {
		return ""
	}
	return " · 1 " + symbol(m) + " = " + views.Fiat(one, r.ClientCurrency)
}

// byHand tells that the shop looks for the money itself: nothing that is offered
// is watched. A service that does not speak of watching watches.
func byHand(r api.Resource) bool {
	watched := func(m api.PaymentMethod) bool { return m.Watched || m.Network == "" }
	return len(r.PaymentMethods) > 0 && !slices.ContainsFunc(r.PaymentMethods, watched)
}
