package payments

import (
	"net/http"

	"chequer/internal/invoice"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// attention lists the invoices that wait for a decision, oldest first.
func (v *page) attention() error {
	q := v.listQuery()
	rows, err := v.Invoices.Undecided(v.Request().Context(), v.Shop.ID, q.mode, q.after, pageSize+1)
	if err != nil {
		return err
	}
	f, err := v.Frame(v.Text("desk.attention"), visit.AttentionPath)
	if err != nil {
		return err
	}
	f.Test = q.mode == invoice.Test
	f.LiveURL, f.TestURL = v.Below(visit.AttentionPath), v.Below(visit.AttentionPath+"?mode=test")
	page := desk.Attention{Frame: f}
	if len(rows) > pageSize {
		rows = rows[:pageSize]
		page.Newer = v.Below(visit.AttentionPath) + q.only("mode").behind(rows[pageSize-1].Position()).encode()
	}
	for _, inv := range rows {
		page.Cases = append(page.Cases, v.openCase(inv))
	}
	return v.Show(http.StatusOK, desk.AttentionPage(page))
}

// openCase returns an invoice that waits for a decision, with its default action.
func (v *page) openCase(inv *invoice.Invoice) desk.Case {
	s := inv.Summary()
	state, at := v.StateOf(s), v.Below("/payments/"+s.ID)
	return desk.Case{
		Heading: v.Text("desk.attention.case", "Name", v.NameOf(s.OrderID, s.ID), "State", state.Text), URL: at, Shape: state.Shape,
		Text:   v.Text("desk.attention.text", "Price", v.Fiat(s.Price), "Paid", v.Fiat(s.Paid), "Time", v.Clock(s.CreatedAt)),
		Action: v.defaultAction(s, v.Invoices.Evaluation(inv).Decisions(v.Now()), at),
	}
}

// defaultAction returns the action that usually resolves a case: the page with the consequences of a
// decision that the invoice allows, or the invoice.
func (v *page) defaultAction(s invoice.Summary, d invoice.Decisions, at string) views.Link {
	late := s.Has(invoice.Late) || s.Has(invoice.Older)
	switch {
	case s.Status == invoice.Paid, s.Has(invoice.Overpaid), s.Has(invoice.WrongAsset), s.Has(invoice.WasReorged):
	case s.Has(invoice.Underpaid) && !late && d.Requote:
		return views.Link{Text: v.Text("desk.requote.ask", "Amount", v.Fiat(s.Due)), URL: at + "/" + requote}
	case (late || s.Has(invoice.Underpaid)) && d.Accept:
		return views.Link{Text: v.Text("desk.accept.ask"), URL: at + "/" + accept}
	}
	return views.Link{Text: v.Text("desk.attention.open"), URL: at}
}
