package payments

import (
	"net/http"

	"chequer/internal/invoice"
	"chequer/views/desk"
)

// pageSize is the number of invoices on a page of the list.
const pageSize = 25

// payments lists the invoices of the shop. A search with one result redirects to the invoice, and a search for the name of
// a place redirects to that place.
func (v *page) payments() error {
	if err := v.FollowChanges(); err != nil {
		return err
	}
	q := v.listQuery()
	filter, problem := q.filter(v)
	var rows []invoice.Summary
	var more invoice.Position
	var err error
	if problem == "" {
		rows, more, err = v.findInvoices(filter, q)
	}
	if err != nil {
		return err
	}
	if q.text != "" && len(rows) == 1 && q.after == (invoice.Position{}) && more == (invoice.Position{}) {
		return v.Redirect(http.StatusSeeOther, v.Below("/payments/"+rows[0].ID))
	}
	if q.text != "" && len(rows) == 0 && more == (invoice.Position{}) && problem == "" {
		place, err := v.FindPlace(q.text)
		if err != nil {
			return err
		}
		if place != "" {
			return v.Redirect(http.StatusSeeOther, place)
		}
	}
	page, err := v.paymentsPage(q, rows, more)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if page.Problem = problem; problem != "" {
		status = http.StatusUnprocessableEntity
	}
	return v.Show(status, desk.PaymentsPage(page))
}

// paymentsPage returns the page of the list. more is the position after which there may be more rows.
func (v *page) paymentsPage(q listQuery, rows []invoice.Summary, more invoice.Position) (desk.Payments, error) {
	f, err := v.FrameIn(v.Text("desk.payments"), "/payments", "/payments", q.mode == invoice.Test)
	if err != nil {
		return desk.Payments{}, err
	}
	f.Query = q.text
	page := desk.Payments{Frame: f, Tabs: v.tabs("/payments", q.mode), IsFirst: q.after == (invoice.Position{}), Action: v.Below("/payments"), Filters: q.filterFields(v), Kept: q.keptFields(), Caption: v.Text("desk.payments.caption")}
	tally, err := v.Tally(q.mode)
	if err != nil {
		return page, err
	}
	page.States = q.states(v, tally)
	if q.isFiltered() {
		page.Clear = v.Below("/payments") + q.onlyFields("mode").encode()
	}
	page.OlderText = v.Text("desk.older")
	if more != (invoice.Position{}) {
		page.Older = v.Below("/payments") + q.nextPage(more).encode()
	}
	for _, s := range rows {
		page.Rows = append(page.Rows, v.PaymentRow(s))
	}
	page.Shown = v.Words.Count("desk.payments.shown", len(rows))
	if len(rows) < pageSize && page.Older != "" {
		page.Shown = v.Words.Count("desk.payments.searched", len(rows), "Time", v.Clock(more.CreatedAt))
		page.OlderText = v.Text("desk.payments.search")
	}
	if len(rows) == 0 && page.Older == "" {
		page.Empty = v.Text("desk.payments.none")
		if q.isFiltered() {
			page.Empty = v.Text("desk.payments.none.found")
		}
	}
	return page, nil
}
