package payments

import (
	"net/http"
	"strings"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// ownPayment shows a payment of the present day at a terminal of the account, without anything to decide.
func (v *page) ownPayment() error {
	if err := v.FollowChanges(); err != nil {
		return err
	}
	inv, t, err := v.ownTerminalPayment()
	if err != nil {
		return err
	}
	f, err := v.FrameOf(v.Text("desk.payment.title", "Name", v.InvoiceName(inv.Terms.OrderID, inv.ID)), visit.OwnPath, inv.Mode == invoice.Test)
	if err != nil {
		return err
	}
	page := desk.OwnPayment{
		Frame: f, Back: views.Link{Text: v.Text("desk.own"), URL: v.Below(visit.OwnPath)}, Amount: v.Fiat(inv.Terms.Price),
		State: v.StateOf(inv), Reference: views.Reference(inv.ID), Page: v.Address("/invoice/" + inv.ID), Facts: v.ownFacts(inv, t),
	}
	if inv.Terms.OrderID != "" {
		page.Order = v.Text("desk.payment.order", "Order", inv.Terms.OrderID)
	}
	if inv.State.Status == invoice.Paid {
		page.Receipt = views.Link{Text: v.Text("desk.own.receipt"), URL: page.Page + "/receipt.pdf"}
	}
	return v.Show(http.StatusOK, desk.OwnPaymentPage(page))
}

// ownTerminalPayment returns the invoice in the path with its terminal. It refuses an invoice of the shop that is not of
// the present day or not of a terminal of the account.
func (v *page) ownTerminalPayment() (*invoice.Invoice, merchant.Terminal, error) {
	inv, err := v.shopInvoice()
	if err != nil {
		return nil, merchant.Terminal{}, err
	}
	terminals, err := v.assigned()
	if err != nil {
		return nil, merchant.Terminal{}, err
	}
	for _, t := range terminals {
		if v.paymentsToday(t).Selects(inv) {
			return inv, t, nil
		}
	}
	return nil, merchant.Terminal{}, visit.Refuse(account.ViewPayments)
}

// ownFacts returns the facts about a payment at a terminal.
func (v *page) ownFacts(inv *invoice.Invoice, t merchant.Terminal) []desk.Fact {
	row := v.PaymentRow(inv.Summary())
	all := []desk.Fact{
		{Name: v.Text("desk.origin.terminal"), Value: t.DisplayName()},
		{Name: v.Text("desk.method"), Value: strings.TrimSpace(row.Method + " " + row.Network)},
		{Name: v.Text("desk.fact.created"), Value: v.Clock(inv.CreatedAt)},
	}
	received, _ := v.Invoices.Evaluation(inv).ReportedPayments()
	for _, p := range received {
		if isCounted(p) || p.State == invoice.PaymentLate {
			all = append(all, desk.Fact{Name: v.Text("desk.amounts.received"), Value: v.coins(p.Transfer) + " · " + v.paymentState(p).Text})
		}
	}
	if !inv.FirstPaidAt.IsZero() {
		all = append(all, desk.Fact{Name: v.Text("desk.step.paid"), Value: v.Clock(inv.FirstPaidAt)})
	}
	var known []desk.Fact
	for _, f := range all {
		if f.Value != "" {
			known = append(known, f)
		}
	}
	return known
}
