package payments

import (
	"net/http"
	"slices"

	"chequer/internal/invoice"
	"chequer/views/desk"
)

// refundsPath is the path of the list of refunds.
const refundsPath = "/refunds"

// tabs returns the lists of the place Payments.
func (v *page) tabs(current string, mode invoice.Mode) []desk.Tab {
	test := mode == invoice.Test
	return []desk.Tab{
		{Text: v.Text("desk.payments"), URL: v.BelowIn("/payments", test), Current: current == "/payments"},
		{Text: v.Text("desk.refunds"), URL: v.BelowIn(refundsPath, test), Current: current == refundsPath},
	}
}

// refunds lists the refunds of the shop, newest first.
func (v *page) refunds() error {
	q := v.listQuery()
	state := invoice.RefundState(q.state)
	if !slices.Contains(invoice.RefundStates, state) {
		state = ""
	}
	q = q.onlyFields("mode", "state", "after")
	rows, err := v.Invoices.Refunds(v.Request().Context(), invoice.RefundFilter{MerchantID: v.Shop.ID, Mode: q.mode, State: state}, q.after.Position, pageSize+1)
	if err != nil {
		return err
	}
	f, err := v.FrameIn(v.Text("desk.refunds"), "/payments", refundsPath, q.mode == invoice.Test)
	if err != nil {
		return err
	}
	page := desk.Refunds{Frame: f, Tabs: v.tabs(refundsPath, q.mode), Caption: v.Text("desk.refunds.caption"), States: v.refundLinks(q, state)}
	if len(rows) > pageSize {
		rows = rows[:pageSize]
		page.Older = v.Below(refundsPath) + q.nextPage(place{Position: rows[pageSize-1].Position()}).encode()
	}
	for _, r := range rows {
		page.Rows = append(page.Rows, v.listedRefund(r))
	}
	if page.Shown = v.Words.Count("desk.refunds.shown", len(rows)); len(rows) == 0 {
		page.Empty = v.Text("desk.refunds.none")
	}
	return v.Show(http.StatusOK, desk.RefundsPage(page))
}

// refundLinks returns the links that select a state of the list of refunds.
func (v *page) refundLinks(q listQuery, current invoice.RefundState) []desk.StateLink {
	links := []desk.StateLink{{Text: v.Text("desk.state.all"), URL: v.Below(refundsPath) + q.withField("state", "").encode(), Current: current == ""}}
	for _, s := range invoice.RefundStates {
		state := v.refundState(invoice.Refund{State: s})
		links = append(links, desk.StateLink{Text: state.Text, Shape: state.Shape, URL: v.Below(refundsPath) + q.withField("state", string(s)).encode(), Current: current == s})
	}
	return links
}
