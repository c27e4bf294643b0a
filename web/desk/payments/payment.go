package payments

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// payment shows one invoice.
func (v *page) payment() error {
	if err := v.FollowChanges(); err != nil {
		return err
	}
	inv, err := v.shopInvoice()
	if err != nil {
		return err
	}
	return v.showPayment(http.StatusOK, inv, "")
}

// shopInvoice returns the invoice in the path, which must be the shop's.
func (v *page) shopInvoice() (*invoice.Invoice, error) {
	inv, err := v.Invoices.Invoice(v.Request().Context(), v.Param("id"))
	if err == nil && inv.MerchantID != v.Shop.ID {
		err = invoice.ErrNotFound
	}
	return inv, err
}

// showPayment shows an invoice, and the reason why a decision about it was refused.
func (v *page) showPayment(status int, inv *invoice.Invoice, problem string) error {
	return v.showPaymentWith(status, inv, problem, v.noteField("", ""))
}

// showPaymentWith shows an invoice with a text in the field for a new note.
func (v *page) showPaymentWith(status int, inv *invoice.Invoice, problem string, note desk.Field) error {
	f, err := v.paymentFrame(inv, v.Text("desk.payment.title", "Name", v.InvoiceName(inv.Terms.OrderID, inv.ID)))
	if err != nil {
		return err
	}
	page := v.paymentPage(f, inv)
	page.Problem = problem
	if page.Deliveries, err = v.deliveries(inv); err != nil {
		return err
	}
	if page.Notes, err = v.notes(inv, note); err != nil {
		return err
	}
	if page.Snoozed, err = v.invoiceSnooze(inv); err != nil {
		return err
	}
	return v.Show(status, desk.PaymentPage(page))
}

// paymentFrame returns the frame of the pages of an invoice.
func (v *page) paymentFrame(inv *invoice.Invoice, title string) (desk.Frame, error) {
	return v.FrameOf(title, "/payments", inv.Mode == invoice.Test)
}

// paymentPage returns the page of an invoice.
func (v *page) paymentPage(f desk.Frame, inv *invoice.Invoice) desk.Payment {
	e := v.Invoices.Evaluation(inv)
	reported, more := e.ReportedPayments()
	page := desk.Payment{
		Frame: f, Back: views.Link{Text: v.Text("desk.payments"), URL: v.BelowIn("/payments", f.Test)},
		Amount: v.Fiat(inv.Terms.Price), State: v.StateOf(inv), Reference: views.Reference(inv.ID), Page: v.Address("/invoice/" + inv.ID),
		Message: v.attentionNotice(inv, e), Columns: []string{v.Text("desk.amounts.coins"), v.Text("desk.amounts.value")},
		Amounts: v.amounts(inv, reported), Timeline: v.timeline(inv, reported), Facts: v.invoiceFacts(inv, more),
	}
	if v.May(account.Decide) {
		page.Decisions = append(v.decisionLinks(inv, v.Decisions(e)), v.refundDecisionLinks(inv, e)...)
	}
	for _, r := range inv.Refunds {
		page.Refunds = append(page.Refunds, v.refundRow(inv, r))
	}
	if inv.Terms.OrderID != "" {
		page.Order = v.Text("desk.payment.order", "Order", inv.Terms.OrderID)
	}
	explorers := v.Explorers()
	for _, p := range reported {
		page.Transfers = append(page.Transfers, v.transfer(inv, p, explorers))
	}
	return page
}

// coins returns an amount of a payment with its unit.
func (v *page) coins(t invoice.Transfer) string {
	unit := t.Asset
	if a, known := v.Invoices.KnownAsset(t.Network, t.Asset); known {
		unit = a.Symbol
	}
	return v.Words.Decimal(t.Amount.String()) + " " + unit
}

// transfer returns a payment of an invoice.
func (v *page) transfer(inv *invoice.Invoice, p invoice.Payment, explorers merchant.Explorers) desk.Transfer {
	t := desk.Transfer{Amount: v.coins(p.Transfer), State: v.paymentState(p), Tx: views.AddressGroups(p.Tx), TxName: v.Text("desk.transaction")}
	if p.State == invoice.PaymentConfirmed && p.Block == nil {
		t.State.Text = v.Text("desk.transfer.instant")
	}
	if m, known := inv.Method(p.Network, p.Asset); known && m.Asset.Requested() {
		return v.requestedTransfer(inv, p, t)
	}
	for _, m := range inv.Methods {
		if m.Asset.Network == p.Network && m.Destination.Script == p.Script {
			t.Address = views.AddressGroups(m.Destination.Address)
			v.setExplorerLink(&t, &t.AddressPage, explorers.Address(string(p.Network), m.Destination.Address))
			t.To = v.Text("desk.transfer.to", "Index", strconv.FormatUint(uint64(m.Index), 10), "Network", m.Asset.NetworkName)
			break
		}
	}
	v.setExplorerLink(&t, &t.TxPage, explorers.Transaction(string(p.Network), p.Tx))
	t.Facts = append(t.Facts, desk.Fact{Name: v.Text("desk.transfer.first"), Value: v.Clock(p.FirstSeen)})
	if p.Required > 0 {
		t.Facts = append(t.Facts, desk.Fact{
			Name:  v.Text("desk.transfer.depth"),
			Value: v.Text("desk.transfer.of", "Number", strconv.Itoa(p.Confirmations), "Required", strconv.Itoa(p.Required)),
		})
	}
	if p.Block != nil {
		t.Facts = append(t.Facts, desk.Fact{Name: v.Text("desk.transfer.block"), Value: strconv.FormatInt(p.Block.Height, 10)})
	}
	return t
}

// requestedTransfer returns a payment over Lightning, which has its payment request and its payment hash. No explorer shows it, and
// it has no block.
func (v *page) requestedTransfer(inv *invoice.Invoice, p invoice.Payment, t desk.Transfer) desk.Transfer {
	to, _ := inv.DestinationOf(p.Transfer)
	t.Address, t.To = []views.Group{{Text: to.Address}}, v.Text("desk.transfer.request")
	t.TxName = v.Text("desk.transfer.hash")
	t.Facts = append(t.Facts, desk.Fact{Name: v.Text("desk.transfer.first"), Value: v.Clock(p.FirstSeen)})
	return t
}

// isCounted reports whether a payment counts towards the price.
func isCounted(p invoice.Payment) bool {
	return p.State == invoice.PaymentSeen || p.State == invoice.PaymentConfirmed
}

// amounts returns the rows of the table of amounts: the payments that count, the late payments in parentheses, the sum of
// the payments that count, the price, and the difference.
func (v *page) amounts(inv *invoice.Invoice, payments []invoice.Payment) []desk.AmountRow {
	sum := money.Zero(inv.Terms.Price.Currency())
	var rows []desk.AmountRow
	for _, p := range payments {
		switch {
		case isCounted(p):
			sum = sum.Add(p.Value)
			rows = append(rows, desk.AmountRow{Name: v.Text("desk.amounts.received"), Values: []string{v.coins(p.Transfer), v.Fiat(p.Value)}})
		case p.State == invoice.PaymentLate:
			value := "" // no rate was known, or none was needed because it arrived in time
			if p.Market != nil {
				value = "(" + v.Fiat(*p.Market) + ")"
			}
			name := v.Text("desk.amounts.late")
			if v.Doubt(p) != visit.NoDoubt {
				name = v.Text("desk.amounts.unsure")
			}
			rows = append(rows, desk.AmountRow{Name: name, Values: []string{v.coins(p.Transfer), value}})
		}
	}
	rows = append(rows,
		desk.AmountRow{Name: v.Text("desk.amounts.counted"), Values: []string{"", v.Fiat(sum)}, Sum: len(rows) > 0},
		desk.AmountRow{Name: v.Text("desk.amounts.price"), Values: []string{"", v.Fiat(inv.Terms.Price)}})
	switch state := inv.State; {
	case !inv.AcceptedAt.IsZero() && !inv.Shortfall().IsZero():
		rows = append(rows, desk.AmountRow{Name: v.Text("desk.amounts.waived"), Values: []string{"", v.Fiat(inv.Shortfall())}, Sum: true})
	case !state.Due.IsZero():
		rows = append(rows, desk.AmountRow{Name: v.Text("desk.amounts.due"), Values: []string{"", v.Fiat(state.Due)}, Sum: true})
	case !state.Overpaid.IsZero():
		rows = append(rows, desk.AmountRow{Name: v.Text("desk.amounts.over"), Values: []string{"", v.Fiat(state.Overpaid)}, Sum: true})
	}
	return rows
}

// invoiceFacts returns the facts beside an invoice. more is the number of payments that are not shown.
func (v *page) invoiceFacts(inv *invoice.Invoice, more int) []desk.Fact {
	var offered []string
	for _, m := range inv.Methods {
		name, network := v.AssetName(inv.Mode, m.Asset.Code)
		offered = append(offered, strings.TrimSpace(name+" "+network))
	}
	all := []desk.Fact{
		{Name: v.Text("desk.description"), Value: inv.Terms.Description},
		{Name: v.Text("desk.fact.vat"), Value: v.vat(inv.Terms)},
		{Name: v.Text("desk.origin"), Value: v.originName(inv.Origin)},
		{Name: v.Text("desk.fact.reference"), Value: inv.Terms.Reference()},
		{Name: v.Text("desk.fact.note"), Value: inv.Terms.Note()},
		{Name: v.Text("desk.fact.methods"), Value: strings.Join(offered, ", ")},
		{Name: v.Text("desk.fact.created"), Value: v.Clock(inv.CreatedAt)},
		{Name: v.Text("desk.fact.until"), Value: v.Clock(inv.ExpiresAt())},
		{Name: v.Text("desk.fact.language"), Value: inv.Terms.Language},
		{Name: v.Text("desk.fact.refund"), Value: v.refundAddress(inv)},
		{Name: v.Text("desk.fact.back"), Value: host(inv.Terms.URLSuccess)},
		{Name: v.Text("desk.fact.metadata"), Value: v.removed(inv, invoice.ShopMetadata)},
		{Name: v.Text("desk.fact.refund.removed"), Value: v.removed(inv, invoice.RefundAddresses)},
		{Name: v.Text("desk.fact.back.removed"), Value: v.removed(inv, invoice.ReturnAddresses)},
	}
	if more > 0 {
		all = append(all, desk.Fact{Name: v.Text("desk.fact.more"), Value: strconv.Itoa(more)})
	}
	var known []desk.Fact
	for _, f := range all {
		if f.Value != "" {
			known = append(known, f)
		}
	}
	return known
}

// vat describes the VAT that the price includes; "" if no rate is stated.
func (v *page) vat(t invoice.Terms) string {
	if !t.VAT.Stated() {
		return ""
	}
	net, vat := t.VAT.Split(t.Price)
	return v.Text("desk.fact.vat.value", "Amount", v.Fiat(vat), "Percent", v.Words.Decimal(t.VAT.String()), "Net", v.Fiat(net))
}

// removed returns the day on which data of a kind were removed from an invoice; "" if they were not.
func (v *page) removed(inv *invoice.Invoice, kind invoice.PersonalData) string {
	if !inv.Removal.Has(kind) {
		return ""
	}
	at := inv.Removal.At.In(v.Zone())
	return v.Text("desk.removed", "Day", strconv.Itoa(at.Day()), "Month", v.Month(at))
}

// host returns the host of an address; "" if it has none.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// attentionNotice returns the notice about the event of an invoice that matters most to the merchant; the zero Notice if
// there is none.
func (v *page) attentionNotice(inv *invoice.Invoice, e *invoice.Evaluation) desk.Notice {
	b, declinable := e.Declinable()
	switch state := inv.State; {
	case state.Has(invoice.WasReorged) && state.Status != invoice.Paid:
		return desk.Notice{Heading: v.Text("desk.say.reverted"), Text: v.Text("desk.say.reverted.text")}
	case state.Has(invoice.Delayed):
		return desk.Notice{Heading: v.Text("desk.say.delayed"), Text: v.Text("desk.say.delayed.text")}
	case !inv.NeedsDecision():
		return desk.Notice{}
	case slices.ContainsFunc(inv.Refunds, invoice.Refund.Answered):
		return v.answerNotice(inv)
	case state.Has(invoice.Late) && v.DoubtOf(inv) == visit.IsLocked:
		return desk.Notice{Heading: v.Text("desk.say.locked"), Text: v.Text("desk.say.locked.text")}
	case state.Has(invoice.Late) && v.DoubtOf(inv) == visit.MayBeOld:
		return desk.Notice{Heading: v.Text("desk.say.unsure"), Text: v.Text("desk.say.unsure.text")}
	case state.Has(invoice.Late):
		return desk.Notice{Heading: v.Text("desk.say.late"), Text: v.Text("desk.say.late.text")}
	case state.Has(invoice.RefundInTrouble):
		return desk.Notice{Heading: v.Text("desk.say.refund"), Text: v.Text("desk.say.refund.text")}
	case declinable && !state.Has(invoice.Older):
		return v.requestNotice(inv, v.assetAmount(b.Network, b.Asset, e.Undecided(b)))
	case state.Has(invoice.Overpaid):
		return desk.Notice{Heading: v.Text("desk.say.overpaid", "Amount", v.Fiat(state.Overpaid)), Text: v.Text("desk.say.overpaid.text")}
	case state.Has(invoice.WrongAsset):
		return desk.Notice{Heading: v.Text("desk.say.wrong"), Text: v.Text("desk.say.wrong.text")}
	case state.Has(invoice.Older):
		return desk.Notice{Heading: v.Text("desk.say.older"), Text: v.Text("desk.say.older.text")}
	}
	return desk.Notice{Heading: v.Text("desk.say.short", "Amount", v.Fiat(inv.State.Due)), Text: v.Text("desk.say.short.text")}
}
