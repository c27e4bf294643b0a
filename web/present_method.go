package web

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

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
		Line:        s.Decimal(amount) + " " + unit(r, s, m.CryptoCurrency),
		Notes:       methodNotes(m, s, rest),
		AmountLabel: s.Text("method.amount"), Amount: amount, AmountGroups: views.AmountGroups(s.Decimal(amount)), Unit: symbol(m),
		AddressLabel: addressLabel(m, s, rest), Address: m.Address, AddressParts: views.AddressGroups(m.Address),
		ContractParts: views.AddressGroups(m.Contract), Request: walletRequest(m, s, amount), App: walletApp(m, s, amount),
	}
	if one := price(r, m, s); one != "" {
		v.Line += " · " + one
	}
	v.Name = v.Label
	if v.Network != "" {
		v.Name = s.Text("unit.network", "Unit", v.Label, "Network", v.Network)
	}
	v.PayWith = s.Text("method.pay", "Method", v.Name)
	if rest {
		v.AmountLabel = s.Text("method.amount.rest")
	}
	drawCodes(&v, m, s, rest)
	return v
}

// drawCodes chooses what the codes say. For tokens the address alone stands
// first: wallets exist that send to the first address of a link, which there is
// the contract's.
func drawCodes(v *views.Method, m api.PaymentMethod, s scene, rest bool) {
	number := s.Decimal(v.Amount)
	amount := number + " " + v.Unit
	withAmount := views.Picture{Title: s.Text("qr.pay", "Amount", amount, "Shop", s.shop), Code: qr(m.PaymentCode)}
	if rest {
		withAmount.Title = s.Text("qr.pay.rest", "Amount", amount, "Shop", s.shop)
	}
	bare := views.Picture{Title: s.Text("qr.bare", "Amount", amount)}
	switch {
	case m.AddressCode != "":
		bare.Code = qr(m.AddressCode)
		v.QR, v.Caption = bare, s.Text("qr.bare.caption", "Amount", number)
		v.Second, v.SecondTo = withAmount, views.WalletURL(m.PaymentURI)
	case m.PaymentCode != "":
		v.QR, v.Caption = withAmount, s.Text("qr.pay.caption", "Coin", v.Label)
		v.Wallet = views.WalletURL(m.PaymentURI)
		if rest {
			v.Caption = s.Text("qr.rest.caption")
		}
	default:
		bare.Code = qr(m.Address)
		v.QR, v.Caption = bare, s.Text("qr.bare.caption", "Amount", number)
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
		says := s.Text("note.network.text", "Unit", symbol(m))
		if len(m.Bridged) > 0 {
			says = joined(says, s.Text("note.bridged", "Tokens", strings.Join(m.Bridged, ", "), "Unit", symbol(m)))
		}
		notes = append(notes, views.Note{Kind: "warn", Strong: s.Text("note.network", "Network", m.NetworkName), Text: says})
	}
	if !m.Watched && m.Network != "" {
		notes = append(notes, views.Note{
			Strong: s.Text("note.hand"), Text: s.opening("note.hand.text", "Shop", s.shop),
		})
	}
	if m.Behind {
		notes = append(notes, views.Note{
			Strong: s.Text("note.behind"), Text: s.Text("note.behind.text", "Network", m.NetworkName),
		})
	}
	if rest && m.SmallestAmount != "" && m.DueAmount == m.SmallestAmount {
		notes = append(notes, views.Note{
			Strong: s.Text("note.smallest", "Amount", s.Decimal(m.SmallestAmount)+" "+symbol(m)), Text: s.Text("note.smallest.text"),
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

// addressLabel tells what kind of address it is, and of the rest that it is the same
// one.
func addressLabel(m api.PaymentMethod, s scene, rest bool) string {
	switch {
	case m.ChainID != "" && rest:
		return s.Text("method.address.network.rest", "Network", m.NetworkName)
	case m.ChainID != "":
		return s.Text("method.address.network", "Network", m.NetworkName)
	case rest:
		return s.Text("method.address.coin.rest", "Coin", methodLabel(m))
	}
	return s.Text("method.address.coin", "Coin", methodLabel(m))
}

func symbol(m api.PaymentMethod) string {
	if m.Symbol == "" {
		return m.CryptoCurrency
	}
	return m.Symbol
}

// unit is a currency after an amount: "BTC", "USDC on Base".
func unit(r api.Resource, s scene, code string) string {
	for _, m := range r.PaymentMethods {
		if m.CryptoCurrency != code {
			continue
		}
		if network := methodNetwork(r, m); network != "" {
			return s.Text("unit.network", "Unit", symbol(m), "Network", network)
		}
		return symbol(m)
	}
	for _, t := range r.Payments { // not offered, so the network is the news
		if t.CryptoCurrency == code && t.Symbol != "" && t.NetworkName != "" {
			return s.Text("unit.network", "Unit", t.Symbol, "Network", t.NetworkName)
		}
	}
	return code
}

// price is that of one coin: "1 BTC = €86,420.00". A service that speaks
// only the specification tells it in euro and dollars.
func price(r api.Resource, m api.PaymentMethod, s scene) string {
	one := cmp.Or(m.RateClient, map[string]string{"EUR": m.RateEUR, "USD": m.RateUSD}[r.ClientCurrency])
	if one == "" {
		return ""
	}
	return "1 " + symbol(m) + " = " + s.Fiat(one, r.ClientCurrency)
}

// byHand tells that the shop looks for the money itself: nothing that is offered
// is watched. A service that does not speak of watching watches.
func byHand(r api.Resource) bool {
	watched := func(m api.PaymentMethod) bool { return m.Watched || m.Network == "" }
	return len(r.PaymentMethods) > 0 && !slices.ContainsFunc(r.PaymentMethods, watched)
}
