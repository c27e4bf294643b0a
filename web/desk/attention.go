package desk

import (
	"net/http"
	"strconv"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/views"
	"chequer/views/desk"
)

// attention lists the invoices that wait for a decision, oldest first.
func (v *visit) attention() error {
	q := v.listQuery()
	rows, err := v.Invoices.Undecided(v.Request().Context(), v.shop.ID, q.mode, q.after, pageSize+1)
	if err != nil {
		return err
	}
	f, err := v.frame(v.text("desk.attention"), attentionPath)
	if err != nil {
		return err
	}
	f.Test = q.mode == invoice.Test
	f.LiveURL, f.TestURL = v.below(attentionPath), v.below(attentionPath+"?mode=test")
	page := desk.Attention{Frame: f}
	if len(rows) > pageSize {
		rows = rows[:pageSize]
		page.Newer = v.below(attentionPath) + q.only("mode").behind(rows[pageSize-1].Position()).encode()
	}
	for _, inv := range rows {
		page.Cases = append(page.Cases, v.openCase(inv))
	}
	return render(v, http.StatusOK, desk.AttentionPage(page))
}

// openCase returns an invoice that waits for a decision, with its default action.
func (v *visit) openCase(inv *invoice.Invoice) desk.Case {
	s := inv.Summary()
	state, at := v.stateOf(facts{s.Status, s.Exceptions, s.Accepted, true, v.fiat(s.Due)}), v.below("/payments/"+s.ID)
	return desk.Case{
		Heading: v.text("desk.attention.case", "Name", v.nameOf(s.OrderID, s.ID), "State", state.Text), URL: at, Shape: state.Shape,
		Text:   v.text("desk.attention.text", "Price", v.fiat(s.Price), "Paid", v.fiat(s.Paid), "Time", v.clock(s.CreatedAt)),
		Action: v.defaultAction(s, v.Invoices.Evaluation(inv).Decisions(v.Now()), at),
	}
}

// defaultAction returns the action that usually resolves a case: the page with the consequences of a
// decision that the invoice allows, or the invoice.
func (v *visit) defaultAction(s invoice.Summary, d invoice.Decisions, at string) views.Link {
	late := s.Has(invoice.Late) || s.Has(invoice.Older)
	switch {
	case s.Status == invoice.Paid, s.Has(invoice.Overpaid), s.Has(invoice.WrongAsset), s.Has(invoice.WasReorged):
	case s.Has(invoice.Underpaid) && !late && d.Requote:
		return views.Link{Text: v.text("desk.requote.ask", "Amount", v.fiat(s.Due)), URL: at + "/" + requote}
	case (late || s.Has(invoice.Underpaid)) && d.Accept:
		return views.Link{Text: v.text("desk.accept.ask"), URL: at + "/" + accept}
	}
	return views.Link{Text: v.text("desk.attention.open"), URL: at}
}

// openCases returns the number of live invoices that wait for a decision, as the places show it; "" if
// there is none or the account may not decide.
func (v *visit) openCases() (string, error) {
	if !v.may(account.Decide) {
		return "", nil
	}
	t, err := v.tally(invoice.Live)
	if err != nil || t.NeedDecision == 0 {
		return "", err
	}
	return strconv.FormatInt(t.NeedDecision, 10), nil
}
