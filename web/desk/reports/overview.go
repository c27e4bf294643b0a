package reports

import (
	"net/http"
	"net/url"
	"strconv"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/report"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// The numbers of cases and payments that the overview shows.
const (
	shownCases    = 3
	shownPayments = 6
)

// overviewPeriods are the periods of the overview, by their name in the query. The first is the default.
var overviewPeriods = []struct {
	name, text string
	days       int
}{
	{"week", "desk.period.week", 7},
	{"today", "desk.period.today", 1},
	{"month", "desk.period.month", 30},
}

// overview shows the totals of a period, open cases and the newest payments.
func (v *page) overview() error {
	if err := v.FollowChanges(); err != nil {
		return err
	}
	mode := v.mode()
	page, days, err := v.newOverview(mode)
	if err != nil {
		return err
	}
	page.AllPayments = v.paymentsAddress(mode, "")
	if err := v.addNotices(&page); err != nil {
		return err
	}
	if err := v.addTotals(&page, mode, days); err != nil {
		return err
	}
	if err := v.addSteps(&page, mode); err != nil {
		return err
	}
	if err := v.addCases(&page, mode); err != nil {
		return err
	}
	newest, _, err := v.Invoices.Summaries(v.Request().Context(), invoice.Filter{MerchantID: v.Shop.ID, Mode: mode}, invoice.Position{}, shownPayments)
	if err != nil {
		return err
	}
	for _, s := range newest {
		page.Rows = append(page.Rows, v.PaymentRow(s))
	}
	return v.Show(http.StatusOK, desk.OverviewPage(page))
}

// newOverview returns the overview without its content, and the number of days of its totals.
func (v *page) newOverview(mode invoice.Mode) (page desk.Overview, days int, err error) {
	chosen := overviewPeriods[0]
	for _, s := range overviewPeriods {
		if s.name == v.QueryParam("period") {
			chosen = s
		}
	}
	if page.Frame, err = v.Frame(v.Text("desk.overview"), visit.HomePath); err != nil {
		return page, 0, err
	}
	address := func(mode invoice.Mode, period string) string {
		q := url.Values{"period": {period}}
		if mode == invoice.Test {
			q.Set("mode", "test")
		}
		return v.Below("?" + q.Encode())
	}
	if err = v.AddModes(&page.Frame, mode == invoice.Test, address(invoice.Live, chosen.name), address(invoice.Test, chosen.name)); err != nil {
		return page, 0, err
	}
	for _, i := range []int{1, 0, 2} { // the shortest period first
		s := overviewPeriods[i]
		page.Periods = append(page.Periods, desk.Tab{Text: v.Text(s.text), URL: address(mode, s.name), Current: s.name == chosen.name})
	}
	return page, chosen.days, nil
}

// paymentsAddress returns the address of the list of payments in a state.
func (v *page) paymentsAddress(mode invoice.Mode, state string) string {
	q := url.Values{}
	if mode == invoice.Test {
		q.Set("mode", "test")
	}
	if state != "" {
		q.Set("state", state)
	}
	if len(q) == 0 {
		return v.Below("/payments")
	}
	return v.Below("/payments?" + q.Encode())
}

// addTotals adds the totals and the charts of the last days.
func (v *page) addTotals(page *desk.Overview, mode invoice.Mode, days int) error {
	p := report.LastDays(days, v.Today())
	r, err := v.Reports.Report(v.Request().Context(), v.Shop.ID, mode, p, p.Previous(v.Today()), report.ByMethod)
	if err != nil {
		return err
	}
	page.Note = v.note(r)
	tally, err := v.Tally(mode)
	if err != nil {
		return err
	}
	page.Totals = append(v.comparedTotals(r),
		desk.Total{Name: v.Text("desk.overview.waiting"), Parts: []desk.TotalPart{{
			Value: count(tally.Statuses[invoice.Created] + tally.Statuses[invoice.Pending]),
			Note:  v.Words.Count("desk.overview.seen", int(tally.Statuses[invoice.Pending])),
		}}},
		desk.Total{Name: v.Text("desk.attention"), Parts: []desk.TotalPart{{
			Value: count(tally.Open()), Note: v.Text("desk.overview.open"), URL: v.paymentsAddress(mode, "attention"),
		}}})
	v.addCharts(page, r)
	return nil
}

// addCharts adds a chart for each currency, or the reason why there is none.
func (v *page) addCharts(page *desk.Overview, r report.Report) {
	page.Empty = v.Text("desk.overview.none")
	for i, t := range r.Totals {
		if t.Total.Invoices == 0 {
			continue
		}
		page.Empty = ""
		if len(t.Bars) > 1 {
			page.Charts = append(page.Charts, v.chart(r, i))
		}
	}
}

// comparedTotals returns the received amounts and the number of paid invoices, each compared with the previous period.
func (v *page) comparedTotals(r report.Report) []desk.Total {
	received, paid := desk.Total{Name: v.Text("desk.amounts.received")}, desk.Total{Name: v.Text("desk.overview.paid")}
	var invoices, before int64
	for _, t := range r.Totals {
		received.Parts = append(received.Parts, desk.TotalPart{Value: v.Fiat(t.Total.Received), Note: v.comparison(t)})
		invoices, before = invoices+t.Total.Invoices, before+t.Previous.Invoices
	}
	if len(r.Totals) == 0 {
		received.Parts = []desk.TotalPart{{Value: "0", Note: v.Text("desk.before", "Amount", "0")}}
	}
	paid.Parts = []desk.TotalPart{{Value: count(invoices), Note: v.Text("desk.before", "Amount", count(before))}}
	return []desk.Total{received, paid}
}

// addCases adds the oldest invoices that wait for a decision, if the account may decide.
func (v *page) addCases(page *desk.Overview, mode invoice.Mode) error {
	if page.MayDecide = v.May(account.Decide); !page.MayDecide {
		return nil
	}
	open, err := v.Invoices.Undecided(v.Request().Context(), v.Shop.ID, mode, invoice.Position{}, shownCases)
	if err != nil {
		return err
	}
	for _, inv := range open {
		page.Cases = append(page.Cases, v.Case(inv))
	}
	tally, err := v.Tally(mode)
	if err != nil {
		return err
	}
	if tally.Open() > int64(len(open)) {
		page.AllCases = views.Link{
			Text: v.Words.Count("desk.overview.cases", int(tally.Open())), URL: v.BelowIn(visit.AttentionPath, mode == invoice.Test),
		}
	}
	return nil
}

func count(n int64) string { return strconv.FormatInt(n, 10) }
