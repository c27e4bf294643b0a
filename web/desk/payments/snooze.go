package payments

import (
	"strconv"

	"chequer/internal/account"
	"chequer/internal/casework"
	"chequer/internal/invoice"
	"chequer/internal/wire"
	"chequer/views/desk"
)

// maxListed is the largest number of snoozed and of resolved cases that the page of a shop lists.
const maxListed = 50

// snoozing returns the heading, the button and the consequences of a snooze.
func (v *page) snoozing(inv *invoice.Invoice) (heading, button string, results []desk.Result) {
	results = []desk.Result{
		{Shape: "ok", Text: v.Text("desk.snooze.hidden")}, {Shape: "ok", Text: v.Text("desk.snooze.returns")}, {Shape: "ok", Text: v.Text("desk.snooze.undo")},
	}
	return v.Text("desk.snooze.heading", "Name", v.InvoiceName(inv.Terms.OrderID, inv.ID)), v.Text("desk.snooze"), results
}

// daysChoice returns the list of the times for which a case can be snoozed.
func (v *page) daysChoice(problem string) desk.Choice {
	c := desk.Choice{Name: "days", Label: v.Text("desk.snooze.label"), Error: problem}
	for _, n := range casework.SnoozeDays {
		o := desk.Option{Value: strconv.Itoa(n), Text: v.Words.Count("desk.snooze.days", n)}
		if n == 7 { // days
			o.Text = v.Text("desk.snooze.week")
		}
		c.Options = append(c.Options, o)
	}
	return c
}

// days returns the chosen number of days; 0 if none was chosen.
func (v *page) days() int {
	n, _ := strconv.Atoi(v.FormValue("days"))
	return n
}

// undoSnooze returns the button that ends the snooze of an invoice with a name.
func (v *page) undoSnooze(id, name string) desk.Button {
	return desk.Button{Action: v.Below("/payments/" + id + "/wake"), Text: v.Text("desk.snoozed.undo"), Subject: name}
}

// invoiceSnooze returns the snooze of an invoice; the zero Snoozed if it is not snoozed.
func (v *page) invoiceSnooze(inv *invoice.Invoice) (desk.Snoozed, error) {
	z, err := v.Casework.SnoozeOf(v.Request().Context(), inv.ID)
	if err != nil || z.InvoiceID == "" {
		return desk.Snoozed{}, err
	}
	s := desk.Snoozed{Text: v.Text("desk.snoozed.payment", "Time", v.Clock(z.Until), "Account", z.By)}
	if v.May(account.Decide) {
		s.Undo = v.undoSnooze(inv.ID, "")
	}
	return s, nil
}

// endSnooze ends the snooze of an invoice.
func (v *page) endSnooze() error {
	inv, err := v.shopInvoice()
	if err != nil {
		return err
	}
	if err := v.Casework.EndSnooze(v.Request().Context(), inv); err != nil {
		return err
	}
	return v.Done(v.Below("/payments/"+inv.ID), "snooze-ended")
}

// caseName returns the heading of a case: the name of the invoice and its state.
func (v *page) caseName(s invoice.Summary) string {
	return v.Text("desk.attention.case", "Name", v.InvoiceName(s.OrderID, s.ID), "State", v.InvoiceState(s).Text)
}

// addPastCases adds the snoozed and the resolved cases of a shop to the page. shop is the name of the shop that they show
// on the page of all shops, otherwise "".
func (v *page) addPastCases(p *desk.Attention, mode invoice.Mode, shop string) error {
	snoozed, err := v.snoozedCases(mode)
	if err != nil {
		return err
	}
	resolved, err := v.resolvedCases(mode)
	if err != nil {
		return err
	}
	for _, s := range snoozed {
		s.Shop = shop
		p.Snoozed = append(p.Snoozed, s)
	}
	for _, r := range resolved {
		r.Shop = shop
		p.Resolved = append(p.Resolved, r)
	}
	return nil
}

// snoozedCases returns the snoozed invoices of the shop.
func (v *page) snoozedCases(mode invoice.Mode) ([]desk.Snoozed, error) {
	all, err := v.Casework.Snoozed(v.Request().Context(), v.Shop.ID, mode, maxListed)
	var list []desk.Snoozed
	for _, z := range all {
		name := v.caseName(z.Summary)
		list = append(list, desk.Snoozed{
			Heading: name, URL: v.Below("/payments/" + z.Summary.ID), Text: v.Text("desk.snoozed.until", "Time", v.Clock(z.Until), "Account", z.By), Undo: v.undoSnooze(z.Summary.ID, name),
		})
	}
	return list, err
}

// outcomes are the keys of the texts of outcomes.
var outcomes = map[casework.Outcome]string{
	casework.Accepted: "desk.resolved.accepted", casework.Kept: "desk.resolved.kept", casework.Refunded: "desk.resolved.refunded", casework.Declined: "desk.resolved.declined",
	casework.Cancelled: "desk.resolved.cancelled",
	casework.Requoted:  "desk.resolved.requoted", casework.Paid: "desk.resolved.paid", casework.Gone: "desk.resolved.gone",
}

// resolvedCases returns the invoices of the shop that have stopped waiting for a decision in the last days.
func (v *page) resolvedCases(mode invoice.Mode) ([]desk.Resolved, error) {
	all, err := v.Casework.Resolutions(v.Request().Context(), v.Shop.ID, mode, maxListed)
	var list []desk.Resolved
	for _, r := range all {
		text := v.Text(outcomes[r.Outcome()])
		if r.Actor.Name != "" {
			text = v.Text("desk.resolved.text", "Outcome", text, "Actor", r.Actor.String())
		}
		list = append(list, desk.Resolved{Heading: v.caseName(r.Summary), URL: v.Below("/payments/" + r.Summary.ID), Text: text, Time: wire.Time(r.At), At: v.Clock(r.At)})
	}
	return list, err
}
