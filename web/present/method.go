package present

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/api"
	"chequer/views"
)

// methods returns every payment method. isRest reports whether a part of the price has been paid already. A
// service that implements only the specification of the API returns no names of coins and networks and no
// payment links. The page then omits them.
func methods(r api.Resource, s pageContext, isRest bool) []views.Method {
	r.PaymentMethods = payable(r.PaymentMethods)
	views.DrawQRs(codeTexts(r))
	list := make([]views.Method, len(r.PaymentMethods))
	chosen := 0
	for i, m := range r.PaymentMethods {
		list[i] = method(r, m, s, isRest)
		list[i].ID = "m" + strconv.Itoa(i+1)
		list[i].QR.ID, list[i].Second.ID = list[i].ID+"-qr", list[i].ID+"-qr2"
		if list[i].SecondPage != "" {
			list[i].SecondPage += "#" + list[i].ID + "-more"
		}
		if m.CryptoCurrency == s.method {
			chosen = i
		}
	}
	if len(list) > 0 {
		list[chosen].Chosen = true
	}
	return list
}

// method returns one payment method.
func method(r api.Resource, m api.PaymentMethod, s pageContext, isRest bool) views.Method {
	amount := m.DueAmount
	if amount == "" {
		amount = m.ExpectedAmount
	}
	v := views.Method{
		Code: m.CryptoCurrency, Label: methodLabel(m), Network: methodNetwork(r, m), Symbol: symbol(m), Icon: symbol(m),
		Line:        s.Decimal(amount) + " " + unit(r, s, m.CryptoCurrency),
		Notes:       append(methodNotes(m, s, isRest), requestEnd(r, m, s)...),
		AmountLabel: s.Text("method.amount"), Amount: amount, AmountGroups: views.AmountGroups(s.Decimal(amount)), Unit: symbol(m),
		AddressLabel: addressLabel(m, s, isRest), Address: m.Address, AddressParts: views.AddressGroups(m.Address),
		ContractParts: views.AddressGroups(m.Contract), Request: walletRequest(m, s, amount), App: walletApp(r, m, s, amount),
		CopyAddress: s.Text("copy.address"), CopiedAddress: s.Text("copied.address"), RequestForm: requestForm(m, s),
	}
	if isLightning(m) {
		v.Icon = m.CryptoCurrency
		v.IsRequest, v.AddressParts = true, nil
		v.CopyAddress, v.CopiedAddress = s.Text("copy.request"), s.Text("copied.request")
	}
	if unitPrice := unitPriceText(r, m, s); unitPrice != "" {
		v.Line += " · " + unitPrice
	}
	v.Name = v.Label
	if v.Network != "" {
		v.Name = s.Text("unit.network", "Unit", v.Label, "Network", v.Network)
	}
	v.PayWith = s.Text("method.pay", "Method", v.Name)
	if isRest {
		v.AmountLabel = s.Text("method.amount.rest")
	}
	addCodes(&v, m, s, isRest)
	return v
}

// addCodes adds the QR codes of a method. For a token, the first code contains the address only, because some
// wallets send to the first address in a payment link, which is the contract's. The code with the amount
// is drawn when the reader asks for it, because it is three times as large and takes the most time to draw.
func addCodes(v *views.Method, m api.PaymentMethod, s pageContext, isRest bool) {
	number := s.Decimal(v.Amount)
	amount := number + " " + v.Unit
	withAmount := views.Picture{Title: s.Text("qr.pay", "Amount", amount, "Shop", s.shop)}
	if isRest {
		withAmount.Title = s.Text("qr.pay.rest", "Amount", amount, "Shop", s.shop)
	}
	plain := views.Picture{Title: s.Text("qr.bare", "Amount", amount)}
	v.SecondText, v.SecondNote = s.Text("method.second"), s.Text("method.second.warning")
	switch {
	case m.AddressCode != "":
		plain.Code = qrCode(m.AddressCode)
		v.QR, v.Caption = plain, s.Text("qr.bare.caption", "Amount", number)
		if m.PaymentCode == "" {
			return
		}
		if !s.WithAmount || m.CryptoCurrency != s.method {
			v.SecondPage = methodAddressPrefix(s.address(s.self)) + m.CryptoCurrency + "&amount=1"
			return
		}
		withAmount.Code = qrCode(m.PaymentCode)
		v.Second, v.SecondTo = withAmount, views.WalletURL(m.PaymentURI)
	case m.UnifiedCode != "":
		addUnified(v, m, s, withAmount)
	case m.PaymentCode != "":
		withAmount.Code = qrCode(m.PaymentCode)
		v.QR, v.Caption = withAmount, s.Text("qr.pay.caption", "Coin", v.Label)
		v.Wallet = views.WalletURL(m.PaymentURI)
		if isRest {
			v.Caption = s.Text("qr.rest.caption")
		}
	default:
		plain.Code = qrCode(m.Address)
		v.QR, v.Caption = plain, s.Text("qr.bare.caption", "Amount", number)
	}
}

// addUnified adds the code of Bitcoin that also contains a payment request. The second code is that for Bitcoin alone, because some
// wallets read no unified code.
func addUnified(v *views.Method, m api.PaymentMethod, s pageContext, code views.Picture) {
	code.Code = qrCode(m.UnifiedCode)
	v.QR, v.Caption, v.Wallet = code, s.Text("qr.unified.caption"), views.WalletURL(m.UnifiedURI)
	v.SecondText, v.SecondNote = s.Text("method.plain"), s.Text("method.plain.text")
	if !s.WithAmount || m.CryptoCurrency != s.method {
		v.SecondPage = methodAddressPrefix(s.address(s.self)) + m.CryptoCurrency + "&amount=1"
		return
	}
	code.Code = qrCode(m.PaymentCode)
	v.Second, v.SecondTo = code, views.WalletURL(m.PaymentURI)
}

// DrawCodes draws the QR codes of an invoice's page and caches them for the page.
func DrawCodes(r api.Resource) {
	for _, text := range codeTexts(r) {
		qrCode(text)
	}
}

// codeTexts returns the texts of the first code of each method. The same text occurs once for each token on a
// shared address.
func codeTexts(r api.Resource) (texts []string) {
	for _, m := range r.PaymentMethods {
		texts = append(texts, cmp.Or(m.AddressCode, m.UnifiedCode, m.PaymentCode, m.Address))
	}
	return texts
}

// qrCode returns the QR code of a text; empty if the text is too long for a QR code. The page also shows the
// text itself.
func qrCode(text string) views.QR {
	if text == "" {
		return views.QR{}
	}
	code, err := views.NewQR(text)
	if err != nil {
		return views.QR{}
	}
	return code
}

// methodNotes returns what a shopper must know about a method before paying with it.
func methodNotes(m api.PaymentMethod, s pageContext, isRest bool) []views.Note {
	var notes []views.Note
	if m.ChainID != "" {
		text := s.Text("note.network.text", "Unit", symbol(m))
		if len(m.Bridged) > 0 {
			text = joinSentences(text, s.Text("note.bridged", "Tokens", strings.Join(m.Bridged, ", "), "Unit", symbol(m)))
		}
		notes = append(notes, views.Note{Kind: "warn", Strong: s.Text("note.network", "Network", m.NetworkName), Text: text})
	}
	if !m.Watched && m.Network != "" {
		notes = append(notes, views.Note{
			Strong: s.Text("note.hand"), Text: s.capitalized("note.hand.text", "Shop", s.shop),
		})
	}
	if m.Behind {
		notes = append(notes, views.Note{
			Strong: s.Text("note.behind"), Text: s.Text("note.behind.text", "Network", m.NetworkName),
		})
	}
	if isRest && m.SmallestAmount != "" && m.DueAmount == m.SmallestAmount {
		notes = append(notes, views.Note{
			Strong: s.Text("note.smallest", "Amount", s.Decimal(m.SmallestAmount)+" "+symbol(m)), Text: s.Text("note.smallest.text"),
		})
	}
	return notes
}

// methodLabel returns the label of the control that selects a method: the symbol of a token, or the name of a coin.
func methodLabel(m api.PaymentMethod) string {
	if m.Contract == "" && m.Name != "" {
		return m.Name
	}
	return symbol(m)
}

// methodNetwork returns the network's name for tokens and for coins that are offered on several
// networks. For other coins it is empty.
func methodNetwork(r api.Resource, m api.PaymentMethod) string {
	switch {
	case m.Contract != "":
		return m.NetworkName
	case isLightning(m): // its label is the name of the network
		return ""
	}
	for _, other := range r.PaymentMethods {
		if !isLightning(other) && other.CryptoCurrency != m.CryptoCurrency && other.Symbol == m.Symbol && m.Symbol != "" {
			return m.NetworkName
		}
	}
	return ""
}

// addressLabel returns the label of an address, which names its network or coin. If isRest is true, the label also
// says that the address is the same as before.
func addressLabel(m api.PaymentMethod, s pageContext, isRest bool) string {
	switch {
	case isLightning(m):
		return s.Text("method.request")
	case m.ChainID != "" && isRest:
		return s.Text("method.address.network.rest", "Network", m.NetworkName)
	case m.ChainID != "":
		return s.Text("method.address.network", "Network", m.NetworkName)
	case isRest:
		return s.Text("method.address.coin.rest", "Coin", methodLabel(m))
	}
	return s.Text("method.address.coin", "Coin", methodLabel(m))
}

// symbol returns the symbol of a method's asset, such as "BTC".
func symbol(m api.PaymentMethod) string {
	if m.Symbol == "" {
		return m.CryptoCurrency
	}
	return m.Symbol
}

// unit returns a currency as it is written after an amount: "BTC", "USDC on Base".
func unit(r api.Resource, s pageContext, code string) string {
	for _, m := range r.PaymentMethods {
		if m.CryptoCurrency != code {
			continue
		}
		network := methodNetwork(r, m)
		if isLightning(m) {
			network = m.NetworkName
		}
		if network != "" {
			return s.Text("unit.network", "Unit", symbol(m), "Network", network)
		}
		return symbol(m)
	}
	for _, t := range r.Payments { // the asset is not offered, so the text names the network
		if t.CryptoCurrency == code && t.Symbol != "" && t.NetworkName != "" {
			return s.Text("unit.network", "Unit", t.Symbol, "Network", t.NetworkName)
		}
	}
	return code
}

// unitPriceText returns the price of one coin: "1 BTC = €86,420.00". A service that implements only the
// specification of the API returns prices in euro and dollars only.
func unitPriceText(r api.Resource, m api.PaymentMethod, s pageContext) string {
	rate := cmp.Or(m.RateClient, map[string]string{"EUR": m.RateEUR, "USD": m.RateUSD}[r.ClientCurrency])
	if rate == "" {
		return ""
	}
	return "1 " + symbol(m) + " = " + s.Fiat(rate, r.ClientCurrency)
}

// isCheckedByHand reports whether the shop checks payments by hand because no offered method is watched. A method
// without a network counts as watched, because the service does not report which methods it watches.
func isCheckedByHand(r api.Resource) bool {
	watched := func(m api.PaymentMethod) bool { return m.Watched || m.Network == "" }
	return len(r.PaymentMethods) > 0 && !slices.ContainsFunc(r.PaymentMethods, watched)
}
