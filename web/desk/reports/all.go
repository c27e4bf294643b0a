package reports

import (
	"net/http"
	"slices"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// allOverview shows the totals of all shops whose payments the account may view, and their open cases and newest
// payments.
func (v *page) allOverview() error {
	shops, mode := v.ShopsWith(account.ViewPayments), v.mode()
	page, days, err := v.newOverview(mode)
	if err != nil {
		return err
	}
	p := report.LastDays(days, v.Today())
	r, err := v.Reports.ShopsReport(v.Request().Context(), merchantIDs(shops), mode, p, p.Previous(v.Today()))
	if err != nil {
		return err
	}
	page.Totals, page.Note = v.comparedTotals(r), v.note(r)
	v.addCharts(&page, r)
	page.Groups = v.shopGroups(r, shops, mode)
	if err := v.addCasesOfAll(&page, mode); err != nil {
		return err
	}
	if page.Rows, err = v.newestOfAll(shops, mode); err != nil {
		return err
	}
	return v.Show(http.StatusOK, desk.OverviewPage(page))
}

// merchantIDs returns the IDs of merchants.
func merchantIDs(shops []merchant.Merchant) (all []string) {
	for _, m := range shops {
		all = append(all, m.ID)
	}
	return all
}

// shopGroups returns a table of all shops for each currency.
func (v *page) shopGroups(r report.Report, shops []merchant.Merchant, mode invoice.Mode) (all []desk.Groups) {
	for _, t := range r.Totals {
		g := v.groups(query{mode: mode}, r, t, nil)
		for i, group := range t.Groups {
			shop := shops[slices.IndexFunc(shops, func(m merchant.Merchant) bool { return m.ID == group.Value })]
			g.Rows[i].Name, g.Rows[i].URL = shop.Name, v.AtShop(shop).BelowIn("", mode == invoice.Test)
		}
		all = append(all, g)
	}
	return all
}

// addCasesOfAll adds the oldest invoices of all shops that wait for a decision of the account.
func (v *page) addCasesOfAll(page *desk.Overview, mode invoice.Mode) error {
	if page.MayDecide = v.May(account.Decide); !page.MayDecide {
		return nil
	}
	cases, more, err := v.CasesOfAllShops(mode, invoice.Position{}, shownCases)
	if err != nil {
		return err
	}
	page.Cases = cases
	if more != (invoice.Position{}) {
		page.AllCases = views.Link{Text: v.Text("desk.all.cases"), URL: v.BelowIn(visit.AttentionPath, mode == invoice.Test)}
	}
	return nil
}

// newestOfAll returns the newest payments of shops.
func (v *page) newestOfAll(shops []merchant.Merchant, mode invoice.Mode) (rows []desk.PaymentRow, err error) {
	var newest []invoice.Summary
	visits := map[string]*visit.Visit{} // visits to the shops of the invoices, by invoice ID
	for _, m := range shops {
		found, _, err := v.Invoices.Summaries(v.Request().Context(), invoice.Filter{MerchantID: m.ID, Mode: mode}, invoice.Position{}, shownPayments)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			visits[s.ID] = v.AtShop(m)
		}
		newest = append(newest, found...)
	}
	slices.SortFunc(newest, func(a, b invoice.Summary) int { return b.CreatedAt.Compare(a.CreatedAt) })
	for _, s := range newest[:min(len(newest), shownPayments)] {
		row := visits[s.ID].PaymentRow(s)
		row.Shop = visits[s.ID].Shop.Name
		rows = append(rows, row)
	}
	return rows, nil
}

// allReports shows the totals of a period of all shops whose reports the account may view.
func (v *page) allReports() error {
	shops, q := v.ShopsWith(account.Export), v.query()
	page, err := v.newReports(q)
	if err != nil {
		return err
	}
	page.Filters = page.Filters[:1] // only the period: the groups are the shops
	if len(q.problems) > 0 {
		return v.Show(http.StatusUnprocessableEntity, desk.ReportsPage(page))
	}
	r, err := v.Reports.ShopsReport(v.Request().Context(), merchantIDs(shops), q.mode, q.period, q.period.Previous(v.Today()))
	if err != nil {
		return err
	}
	if v.addReport(&page, r); len(r.Totals) > 0 {
		page.Groups = v.shopGroups(r, shops, q.mode)
	}
	return v.Show(http.StatusOK, desk.ReportsPage(page))
}
