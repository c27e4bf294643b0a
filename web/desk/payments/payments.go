package payments

import (
	"net/http"

	"chequer/internal/invoice"
	"chequer/views/desk"
)

// pageSize is the number of invoices on a page of the list.
const pageSize = 25

// payments lists the invoices of the shop. A search with one result redirects to the invoice. A search without results for
// the name of a place of the desk redirects to that place.
func (v *page) payments() error {
	if err := v.FollowChanges(); err != nil {
		return err
	}
	q := v.listQuery()
	filter, problem := q.filter(v)
	var list found
	var err error
	if problem == "" {
		list, err = v.findInvoices(filter, q)
	}
	if err != nil {
		return err
	}
	isWhole := list.more.Position == (invoice.Position{})
	if q.text != "" && len(list.rows) == 1 && q.after == (place{}) && isWhole {
		return v.Redirect(http.StatusSeeOther, v.Below("/payments/"+list.rows[0].ID))
	}
	if q.text != "" && len(list.rows) == 0 && isWhole && !q.after.isChosen && problem == "" {
		place, err := v.FindPlace(q.text)
		if err != nil {
			return err
		}
		if place != "" {
			return v.Redirect(http.StatusSeeOther, place)
		}
	}
	page, err := v.paymentsPage(q, list)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if page.Problem = problem; problem != "" {
		status = http.StatusUnprocessableEntity
	}
	return v.Show(status, desk.PaymentsPage(page))
}

// paymentsPage returns the page of the list.
func (v *page) paymentsPage(q listQuery, list found) (desk.Payments, error) {
	f, err := v.FrameIn(v.Text("desk.payments"), "/payments", "/payments", q.mode == invoice.Test)
	if err != nil {
		return desk.Payments{}, err
	}
	f.Query = q.text
	page := desk.Payments{Frame: f, Tabs: v.tabs("/payments", q.mode), IsFirst: q.after == (place{}), Action: v.Below("/payments"), Filters: q.filterFields(v), Kept: q.keptFields(), Caption: v.Text("desk.payments.caption")}
	tally, err := v.Tally(q.mode)
	if err != nil {
		return page, err
	}
	page.States = q.states(v, tally)
	if q.isFiltered() {
		page.Clear = v.Below("/payments") + q.onlyFields("mode").encode()
	}
	page.OlderText = v.Text("desk.older")
	if list.more.Position != (invoice.Position{}) {
		page.Older = v.Below("/payments") + q.nextPage(list.more).encode()
	}
	for _, s := range list.rows {
		page.Rows = append(page.Rows, v.PaymentRow(s))
	}
	page.Shown = v.Words.Count("desk.payments.shown", len(list.rows))
	if len(list.rows) < pageSize && page.Older != "" {
		page.Shown = v.Words.Count("desk.payments.searched", len(list.rows), "Time", v.Clock(list.more.CreatedAt))
		page.OlderText = v.Text("desk.payments.search")
	}
	if len(list.rows) == 0 && page.Older == "" {
		page.Empty = v.Text("desk.payments.none")
		if page.TestPayments, err = v.testPayments(q); err != nil {
			return page, err
		}
		if q.isFiltered() {
			page.Empty = v.Text("desk.payments.none.found")
		}
	}
	return page, nil
}

// testPayments returns the address of the list of test payments, for the link in an empty list of live payments; "" if the
// list is filtered or shows test payments, or if the shop has none.
func (v *page) testPayments(q listQuery) (string, error) {
	if q.mode == invoice.Test || q.isFiltered() {
		return "", nil
	}
	tally, err := v.Tally(invoice.Test)
	if err != nil || tally.Total() == 0 {
		return "", err
	}
	return v.BelowIn("/payments", true), nil
}
