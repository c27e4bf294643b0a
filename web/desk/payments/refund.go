package payments

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/account"
	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/wire"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// refundFault holds the errors of a refused form of the page of refunds, and the values that the form shows again.
type refundFault struct {
	problem           string // above the forms
	part, address, tx string // errors at fields
	ref               string // ID of the refund whose field for the transaction has the error tx

	typedAddress, typedAmount, typedTx string
	chosen                             string // chosen option of the amount
}

// refunding shows the page on which refunds of an invoice are prepared and recorded as sent.
func (v *page) refunding() error {
	inv, err := v.shopInvoice()
	if err != nil {
		return err
	}
	return v.showRefund(http.StatusOK, inv, refundFault{})
}

// refundPath is the path of the page of the refunds of an invoice.
func refundPath(id string) string { return "/payments/" + id + "/" + visit.Refund }

// showRefund shows the page of the refunds of an invoice, and why a form was refused.
func (v *page) showRefund(status int, inv *invoice.Invoice, fault refundFault) error {
	name := v.InvoiceName(inv.Terms.OrderID, inv.ID)
	f, err := v.paymentFrame(inv, v.Text("desk.refund.title", "Name", name))
	if err != nil {
		return err
	}
	e := v.Invoices.Evaluation(inv)
	page := desk.Refund{
		Frame: f, Back: views.Link{Text: name, URL: v.Below("/payments/" + inv.ID)}, Heading: v.Text("desk.refund.title", "Name", name),
		Problem: fault.problem, Columns: []string{v.Text("desk.amounts.coins")}, Balance: v.balanceRows(inv, e),
	}
	if b, ok := e.Declinable(); ok {
		page.Decline = views.Link{Text: v.Text("desk.decline.ask"), URL: v.Below("/payments/" + inv.ID + "/" + decline)}
		page.Request = v.requestNotice(inv, v.assetAmount(b.Network, b.Asset, e.Undecided(b)))
	}
	for _, r := range inv.Refunds {
		switch {
		case r.Requested(): // Request and Decline show it
		case r.Open():
			open, err := v.openRefund(inv, e, r, fault)
			if err != nil {
				return err
			}
			page.Open = append(page.Open, open)
		default:
			row := v.refundRow(inv, r)
			row.Check, row.Version = v.refundCheck(inv, r), strconv.FormatInt(inv.Version, 10)
			page.Earlier = append(page.Earlier, row)
		}
	}
	slices.Reverse(page.Earlier)
	if page.Form = v.refundForm(inv, e, fault); len(page.Form.Amount.Options) == 0 {
		page.Note = v.Text("desk.refund.nothing")
	}
	return v.Show(status, desk.RefundPage(page))
}

// requestNotice returns the notice about the refund that the shopper asks for.
func (v *page) requestNotice(inv *invoice.Invoice, amount string) desk.Notice {
	return desk.Notice{
		Heading: v.Text("desk.refund.asked"),
		Text:    v.Text("desk.refund.asked.text", "Amount", amount, "Address", inv.RefundAddress.Address, "Actor", v.giverName(inv.RefundAddress.By)),
	}
}

// answerNotice returns the notice about the refunds that can be paid since the shopper gave an address for them.
func (v *page) answerNotice(inv *invoice.Invoice) desk.Notice {
	var amounts []string
	for _, r := range inv.Refunds {
		if r.Answered() {
			amounts = append(amounts, v.assetAmount(r.Network, r.Asset, r.Amount))
		}
	}
	return v.requestNotice(inv, strings.Join(amounts, ", "))
}

// refundAddress returns the address for a refund with the name of its giver; "" if there is no address.
func (v *page) refundAddress(inv *invoice.Invoice) string {
	a := inv.RefundAddress
	if a.IsZero() {
		return ""
	}
	return v.Text("desk.fact.refund.value", "Address", a.Address, "Actor", v.giverName(a.By))
}

// assetAmount returns an amount of an asset with its unit.
func (v *page) assetAmount(network chain.ID, asset string, a money.Amount) string {
	return v.coins(invoice.Transfer{Network: network, Asset: asset, Amount: a})
}

// balanceRows returns, for each asset, the received amount, the refunds, and the amount that can still be refunded.
func (v *page) balanceRows(inv *invoice.Invoice, e *invoice.Evaluation) (rows []desk.AmountRow) {
	add := func(name string, b invoice.Balance, amount money.Amount, sum bool) {
		rows = append(rows, desk.AmountRow{Name: name, Values: []string{v.assetAmount(b.Network, b.Asset, amount)}, Sum: sum})
	}
	for _, b := range e.Balances() {
		add(v.Text("desk.refund.received"), b, b.Received, false)
		for _, r := range inv.Refunds {
			if r.Asset == b.Asset && r.Takes() {
				add("− "+v.refundState(r).Text, b, r.Amount, false)
			}
		}
		add(v.Text("desk.refund.rest"), b, b.Refundable(), true)
	}
	return rows
}

// refundForm returns the form that prepares a refund. It has no amounts if nothing can be refunded.
func (v *page) refundForm(inv *invoice.Invoice, e *invoice.Evaluation, fault refundFault) desk.RefundForm {
	f := desk.RefundForm{
		Action: v.Below(refundPath(inv.ID)), Version: strconv.FormatInt(inv.Version, 10), Button: v.Text("desk.refund.prepare"),
		Amount:  desk.Choice{Name: "amount", Label: v.Text("desk.amount")},
		Part:    v.TextField("part", "desk.refund.part", "desk.refund.part.hint", fault.typedAmount),
		Address: v.TextField("address", "desk.refund.address", "desk.refund.address.none", fault.typedAddress),
	}
	f.Part.Decimal, f.Part.Error = true, fault.part
	f.Address.Code, f.Address.Error = true, fault.address
	if !inv.RefundAddress.IsZero() {
		f.Address.Hint = v.Text("desk.refund.address.known", "Asset", inv.RefundAddress.Asset, "Address", inv.RefundAddress.Address, "Actor", v.giverName(inv.RefundAddress.By))
	}
	for _, b := range e.Balances() {
		if !e.MayRefund(b) {
			continue
		}
		if a, _ := v.Invoices.KnownAsset(b.Network, b.Asset); a.Requested() {
			f.Address.Hint = v.Text("desk.refund.address.lightning") + " " + f.Address.Hint
		}
		if b.Network.HidesRecipients() {
			f.Address.Hint = v.Text("desk.refund.address.monero") + " " + f.Address.Hint
		}
		unit := v.unit(b.Network, b.Asset)
		add := func(kind, text string, first bool) {
			o := desk.Option{Value: kind + ":" + b.Asset, Text: text}
			o.Chosen = o.Value == fault.chosen
			if first {
				f.Amount.Options = slices.Insert(f.Amount.Options, 0, o)
				return
			}
			f.Amount.Options = append(f.Amount.Options, o)
		}
		add(string(invoice.RefundReceived), v.Text("desk.refund.kind.received", "Amount", v.assetAmount(b.Network, b.Asset, b.Refundable())), false)
		if surplus := e.OpenSurplus(b); !surplus.IsZero() {
			add(string(invoice.RefundSurplus), v.Text("desk.refund.kind.surplus", "Amount", v.assetAmount(b.Network, b.Asset, surplus)), true)
		}
		add(string(invoice.RefundPart), v.Text("desk.refund.kind.part", "Unit", unit), false)
		add(inFiat, v.Text("desk.refund.kind.fiat", "Currency", inv.Terms.Price.Currency().Code, "Unit", unit), false)
	}
	return f
}

// unit returns the unit of an asset.
func (v *page) unit(network chain.ID, asset string) string {
	if a, known := v.Invoices.KnownAsset(network, asset); known {
		return a.Symbol
	}
	return asset
}

// openRefund returns a refund that was not sent yet.
func (v *page) openRefund(inv *invoice.Invoice, e *invoice.Evaluation, r invoice.Refund, fault refundFault) (desk.OpenRefund, error) {
	address := v.Below(refundPath(inv.ID) + "/" + r.ID + "/")
	o := desk.OpenRefund{
		ID: r.ID, Heading: v.Text("desk.refund.pay"), State: v.refundState(r), Amount: r.Amount.String(), Unit: v.unit(r.Network, r.Asset), CopyAmount: v.CopyButton("amount-" + r.ID),
		Version: strconv.FormatInt(inv.Version, 10), Cancel: views.Link{Text: v.Text("desk.refund.cancel"), URL: address + cancelRefund},
	}
	o.Trouble, o.Check = v.refundTrouble(r), v.refundCheck(inv, r)
	if !r.Rate.IsZero() {
		o.Value = v.Text("desk.refund.worth", "Value", v.Fiat(r.Value), "Rate", v.Words.Fiat(r.Rate.Price(), r.Rate.Fiat().Code), "Unit", o.Unit)
	}
	if r.State == invoice.RefundAsked {
		o.Heading = v.Text("desk.refund.waits")
		o.Warning = desk.Result{Shape: "warn", Text: v.Text("desk.refund.waits.text", "URL", v.BaseURL+"/invoice/"+inv.ID)}
		return o, nil
	}
	a, _ := v.Invoices.KnownAsset(r.Network, r.Asset)
	network := cmp.Or(a.AddressNetwork(r.Address), string(r.Network))
	o.To, o.Address, o.CopyAddress = v.Text("desk.refund.to", "Network", network, "Actor", v.addressGiver(inv, r)), views.AddressGroups(r.Address), v.CopyButton("address-"+r.ID)
	o.Sent = desk.RefundTx{Action: address + sendRefund, Button: v.Text("desk.refund.send"), Field: v.txField(r, fault)}
	b, _ := e.Balance(r.Asset)
	end, ended := v.Invoices.RequestEnd(r)
	switch {
	case !b.Excess().IsZero():
		o.Warning = desk.Result{Shape: "bad", Text: v.Text("desk.refund.excess", "Amount", v.assetAmount(r.Network, r.Asset, b.Excess()))}
		return o, nil
	case ended:
		o.Warning = desk.Result{Shape: "warn", Text: v.Text("desk.refund.ended", "Time", v.Clock(end))}
		return o, nil
	case r.Stale(v.Now().Add(inv.Clock)):
		o.Warning = desk.Result{Shape: "warn", Text: v.Text("desk.refund.stale", "Time", v.Clock(r.HeldUntil))}
		o.Renew = views.Link{Text: v.Text("desk.refund.renew", "Value", v.Fiat(r.Value)), URL: address + renewRefund}
		return o, nil
	}
	o.Checks = v.refundChecks(inv, r)
	link, mayPay := v.Invoices.RefundLink(e, r, v.Text("desk.refund.label", "Name", v.InvoiceName(inv.Terms.OrderID, inv.ID)))
	if !mayPay {
		return o, nil
	}
	o.URI, o.CopyURI, o.Link = link.URI, v.CopyButton("link-"+r.ID), views.Link{Text: v.Text("desk.refund.wallet"), URL: link.URI}
	code := link.Code
	o.QRTitle = v.Text("desk.refund.qr")
	switch amount := v.assetAmount(r.Network, r.Asset, r.Amount); {
	case link.Address != "": // some wallets would pay the token's contract, which is the first address of the link
		code, o.QRHint = link.Address, v.Text("desk.refund.qr.bare", "Amount", amount, "Network", a.NetworkName)
	case !a.LinkHasAmount(r.Address):
		o.QRHint = v.Text("desk.refund.qr.open", "Amount", amount)
	}
	var err error
	o.QR, err = views.NewQR(code)
	return o, err
}

// giverName returns the name of the actor that gave the address for refunds of an invoice.
func (v *page) giverName(by string) string {
	switch by {
	case string(invoice.Shopper):
		return v.Text("desk.refund.shopper")
	case "":
		return v.Text("desk.refund.by.unknown")
	}
	return v.Text("desk.refund.by.key", "Key", cmp.Or(v.keyName(by), by))
}

// addressGiver returns the name of the actor that gave the address of a refund.
func (v *page) addressGiver(inv *invoice.Invoice, r invoice.Refund) string {
	if given := inv.RefundAddress; r.AddressBy == "" || r.AddressBy == given.By && r.Asset == given.Asset && r.Address == given.Address {
		return v.giverName(r.AddressBy)
	}
	return v.actorName(r.AddressBy)
}

// txField returns the field for the transaction of a refund.
func (v *page) txField(r invoice.Refund, fault refundFault) desk.Field {
	label, hint := "desk.refund.tx", "desk.refund.tx.hint"
	switch a, _ := v.Invoices.KnownAsset(r.Network, r.Asset); {
	case a.SentOverLightning(r.Address):
		label, hint = "desk.refund.hash", "desk.refund.hash.hint"
	case r.Network.HidesRecipients():
		hint = "desk.refund.tx.hint.hidden"
	}
	f := v.TextField("tx-"+r.ID, label, hint, "")
	f.Code = true
	if fault.ref == r.ID {
		f.Value, f.Error = fault.typedTx, fault.tx
	}
	return f
}

// refundChecks returns the checks that were made before a refund became ready.
func (v *page) refundChecks(inv *invoice.Invoice, r invoice.Refund) []desk.Result {
	a, _ := v.Invoices.KnownAsset(r.Network, r.Asset)
	checks := []desk.Result{
		{Shape: "ok", Text: v.Text("desk.refund.check.address", "Network", a.AddressNetwork(r.Address))},
		{Shape: "ok", Text: v.Text("desk.refund.check.own")},
		{Shape: "ok", Text: v.Text("desk.refund.check.sum")},
	}
	others := slices.ContainsFunc(inv.Refunds, func(o invoice.Refund) bool {
		return o.ID != r.ID && o.Asset == r.Asset && o.Takes()
	})
	if others {
		return append(checks, desk.Result{Shape: "warn", Text: v.Text("desk.refund.check.others")})
	}
	checks = append(checks, desk.Result{Shape: "ok", Text: v.Text("desk.refund.check.first")})
	if !r.HeldUntil.IsZero() {
		checks = append(checks, desk.Result{Shape: "wait", Text: v.Text("desk.refund.held", "Time", v.Clock(r.HeldUntil))})
	}
	if end, _ := v.Invoices.RequestEnd(r); !end.IsZero() {
		checks = append(checks, desk.Result{Shape: "wait", Text: v.Text("desk.refund.ends", "Time", v.Clock(end))})
	}
	return checks
}

// refundStates are the keys of the texts, and the symbols, of the states of a refund.
var refundStates = map[invoice.RefundState]struct{ text, shape string }{
	invoice.RefundAsked:     {"desk.refund.state.asked", "warn"},
	invoice.RefundReady:     {"desk.refund.state.ready", "wait"},
	invoice.RefundSent:      {"desk.refund.state.sent", "ok"},
	invoice.RefundConfirmed: {"desk.refund.state.confirmed", "ok"},
	invoice.RefundCancelled: {"desk.refund.state.cancelled", "off"},
	invoice.RefundDeclined:  {"desk.refund.state.declined", "off"},
}

// refundState returns the state of a refund as pages show it.
func (v *page) refundState(r invoice.Refund) desk.State {
	state := refundStates[r.State]
	if r.InTrouble() {
		state.shape = "bad"
	}
	return desk.State{Text: v.Text(state.text), Shape: state.shape}
}

// refundTroubles are the keys of the texts about the troubles of refunds.
var refundTroubles = map[invoice.RefundTrouble]string{
	invoice.RefundWrongAmount: "desk.refund.trouble.wrong_amount",
	invoice.RefundDouble:      "desk.refund.trouble.double",
	invoice.RefundReplaced:    "desk.refund.trouble.replaced",
	invoice.RefundUnproved:    "desk.refund.trouble.unproved",
}

// refundTrouble returns the text about the trouble of a refund; "" if it has none.
func (v *page) refundTrouble(r invoice.Refund) string {
	id, known := refundTroubles[r.Trouble]
	if !known {
		return ""
	}
	return v.Text(id)
}

// refundRow returns a refund of an invoice as a row of a list.
func (v *page) refundRow(inv *invoice.Invoice, r invoice.Refund) desk.RefundRow {
	row := v.listedRefund(invoice.ListedRefund{Refund: r, InvoiceID: inv.ID, OrderID: inv.Terms.OrderID})
	row.Detail = strings.TrimSpace(row.Detail + " " + row.At)
	if !v.May(account.Decide) {
		row.URL = ""
	}
	return row
}

// refundCheck returns the action that states that the trouble of a refund was looked at; it is empty if there is none to look at.
func (v *page) refundCheck(inv *invoice.Invoice, r invoice.Refund) views.Link {
	if !r.InTrouble() || !v.May(account.Decide) {
		return views.Link{}
	}
	return views.Link{Text: v.Text("desk.refund.checked"), URL: v.Below(refundPath(inv.ID) + "/" + r.ID + "/" + checkRefund)}
}

// listedRefund returns a refund as a row of the list of refunds. Its time is that of its last state.
func (v *page) listedRefund(r invoice.ListedRefund) desk.RefundRow {
	row := desk.RefundRow{
		Name: v.InvoiceName(r.OrderID, r.InvoiceID), Amount: v.assetAmount(r.Network, r.Asset, r.Amount), URL: v.Below(refundPath(r.InvoiceID)),
		State: v.refundState(r.Refund), Tx: views.AddressGroups(r.Tx),
	}
	if !r.Rate.IsZero() {
		row.Value = v.Fiat(r.Value)
	}
	mark := r.Last()
	row.Time, row.At = wire.Time(mark.At), v.Clock(mark.At)
	row.Detail = strings.TrimSpace(v.Text("desk.step.by", "Actor", v.actorName(mark.By)) + " " + r.Reason)
	if p := r.Payment; p != nil && !p.Final() {
		row.Detail += " " + v.Text("desk.refund.confirmations", "Confirmations", strconv.Itoa(p.Confirmations), "Required", strconv.Itoa(p.Required))
	}
	if row.Warning = v.refundTrouble(r.Refund); r.Trouble != "" && !r.InTrouble() {
		row.Warning += " " + v.Text("desk.refund.checked.by", "Actor", v.actorName(r.Checked.By), "Time", v.Clock(r.Checked.At))
	}
	if row.Warning == "" && r.Overdue(v.Now()) {
		row.Warning = v.Text("desk.refund.overdue", "Days", strconv.Itoa(invoice.RefundOverdueDays))
	}
	if !v.May(account.Decide) {
		row.URL = v.Below("/payments/" + r.InvoiceID)
	}
	return row
}
