package reports

import (
	"fmt"
	"math/big"
	"net/http"
	"strings"

	"chequer/internal/invoice"
	"chequer/internal/report"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// reports shows the totals of a period.
func (v *page) reports() error { return v.showReports(http.StatusOK) }

// showReports shows the totals of a period with a status.
func (v *page) showReports(status int) error {
	q := v.query()
	page, err := v.newReports(q)
	if err != nil {
		return err
	}
	if len(q.problems) > 0 {
		return v.Show(http.StatusUnprocessableEntity, desk.ReportsPage(page))
	}
	r, err := v.Reports.Report(v.Request().Context(), v.Shop.ID, q.mode, q.period, q.period.Previous(v.Today()), q.by)
	if err != nil {
		return err
	}
	if v.addReport(&page, r); len(r.Totals) == 0 || page.Empty != "" {
		return v.Show(status, desk.ReportsPage(page))
	}
	labels, err := v.labels(q.by)
	if err != nil {
		return err
	}
	for _, t := range r.Totals {
		page.Groups = append(page.Groups, v.groups(q, r, t, labels))
	}
	if !r.Removed.Has(q.period) {
		page.Export = v.exportForm(q, r)
	}
	return v.Show(status, desk.ReportsPage(page))
}

// newReports returns the page of a query without its report.
func (v *page) newReports(q query) (desk.Reports, error) {
	f, err := v.Frame(v.Text("desk.reports"), visit.ReportsPath)
	if err != nil {
		return desk.Reports{}, err
	}
	err = v.AddModes(&f, q.mode == invoice.Test, v.reportAddress(q, invoice.Live), v.reportAddress(q, invoice.Test))
	return desk.Reports{Frame: f, Action: v.Below(visit.ReportsPath), Kept: q.hidden("mode"), Filters: v.filters(q), Days: v.days(q)}, err
}

// addReport adds the totals and the charts of a report to its page.
func (v *page) addReport(page *desk.Reports, r report.Report) {
	page.Heading = v.dates(r.Period)
	page.Compared, page.Note = v.Text("desk.reports.compared", "Dates", v.dates(r.Previous)), v.note(r)
	switch {
	case r.Removed.HasAll(r.Period):
		page.Empty = v.Text("desk.reports.removed.all")
	case len(r.Totals) == 0:
		page.Empty = v.Text("desk.overview.none")
	}
	if page.Empty != "" {
		return
	}
	page.Totals = v.reportTotals(r)
	for i, t := range r.Totals {
		if t.Total.Invoices > 0 && len(t.Bars) > 1 {
			page.Charts = append(page.Charts, v.chart(r, i))
		}
	}
}

// note returns the note about a report; "" if there is nothing to note.
func (v *page) note(r report.Report) string {
	notes := []string{v.zoneNote(r)}
	if r.Removed.Has(r.Period) || r.Removed.Has(r.Previous) {
		notes = append(notes, v.removedNote(r.Removed))
	}
	return strings.TrimSpace(strings.Join(notes, " "))
}

// removedNote returns the note that invoices were removed from the books.
func (v *page) removedNote(r report.Removed) string {
	return v.Text("desk.reports.removed", "Date", v.date(r.Before), "Removed", v.date(report.DayOf(r.At, v.Zone())))
}

// zoneNote returns the note that the days of a report begin in another zone than that of the page; "" if they do not.
func (v *page) zoneNote(r report.Report) string {
	switch {
	case len(r.Zones) > 1:
		return v.Text("desk.reports.zones")
	case len(r.Zones) == 1 && r.Zones[0] != v.Zone():
		return v.Text("desk.reports.counting", "Zone", v.Zone().String(), "Former", r.Zones[0].String())
	}
	return ""
}

// reportTotals returns the totals of a report, each with one part per currency.
func (v *page) reportTotals(r report.Report) []desk.Total {
	prices, missing := desk.Total{Name: v.Text("desk.reports.prices")}, desk.Total{Name: v.Text("desk.reports.missing")}
	for _, t := range r.Totals {
		prices.Parts = append(prices.Parts, desk.TotalPart{Value: v.Fiat(t.Total.Price)})
		missing.Parts = append(missing.Parts, desk.TotalPart{Value: v.Fiat(t.Total.Missing()), Note: v.Text("desk.reports.missing.note")})
	}
	return append(v.comparedTotals(r), prices, missing)
}

// groups returns the table of a currency by the property of the report.
func (v *page) groups(q query, r report.Report, t report.Totals, labels map[string]label) desk.Groups {
	g := desk.Groups{Heading: v.Text(byHeadings[r.By]), Property: v.Text(byNames[r.By])}
	if len(r.Totals) > 1 {
		g.Heading = v.Text("desk.chart.currency", "Title", g.Heading, "Currency", t.Currency.Code)
	}
	for _, group := range t.Groups {
		row := v.groupRow(group.Total, group.Previous, t.Total)
		row.Name, row.Detail = v.groupName(q.mode, r.By, group.Value)
		if l := labels[group.Value]; l.name != "" {
			row.Name, row.Detail = l.name, l.detail
		}
		g.Rows = append(g.Rows, row)
	}
	g.Total = v.groupRow(t.Total, t.Previous, t.Total)
	g.Total.Name = v.Text("desk.reports.total")
	return g
}

// label is the merchant's name of a source, with the slug or the identifier that distinguishes it from others of the name.
type label struct{ name, detail string }

// labels returns the labels of products, terminals or API keys, by the value of the property.
func (v *page) labels(by report.Grouping) (map[string]label, error) {
	ctx, labels := v.Request().Context(), map[string]label{}
	switch by {
	case report.ByProduct:
		products, err := v.Products.Products(ctx, v.Shop.ID)
		for _, p := range products {
			labels[p.Slug] = label{p.Name, p.Slug}
		}
		return labels, err
	case report.ByTerminal:
		terminals, err := v.Terminals.List(ctx, v.Shop.ID)
		for _, t := range terminals {
			labels[t.ID] = label{t.Name, t.ID}
		}
		return labels, err
	case report.ByKey:
		keys, err := v.Merchants.Keys(ctx, v.Shop.ID)
		for _, k := range keys {
			l := label{name: visit.KeyName(k)}
			if k.Label != "" {
				l.detail = visit.ShortKey(k)
			}
			labels[k.ID] = l
		}
		return labels, err
	}
	return nil, nil
}

// groupRow returns the figures of a row.
func (v *page) groupRow(s, previous, all report.Sum) desk.GroupRow {
	return desk.GroupRow{Count: count(s.Invoices), Share: v.share(s, all), Amount: v.Fiat(s.Received), Before: v.Fiat(previous.Received)}
}

// share returns the share of a sum in the total, in percent with one decimal; "" if nothing was received.
func (v *page) share(s, all report.Sum) string {
	total := all.Received.Minor()
	if total.Sign() == 0 {
		return ""
	}
	permille := new(big.Int).Mul(s.Received.Minor(), big.NewInt(2000))
	permille.Add(permille, total)
	permille.Quo(permille, total.Lsh(total, 1)) // rounded to the nearest
	n := permille.Int64()
	return v.Text("desk.reports.percent", "Number", v.Words.Decimal(fmt.Sprintf("%d.%d", n/10, n%10)))
}

// groupName returns the name of a group, and the network of a method as the detail.
func (v *page) groupName(mode invoice.Mode, by report.Grouping, value string) (name, detail string) {
	switch {
	case by == report.ByMethod && value != "":
		return v.AssetName(mode, value)
	case by == report.ByOrigin && v.OriginName(invoice.OriginKind(value)) != "":
		return v.OriginName(invoice.OriginKind(value)), ""
	case by == report.ByOrigin || by == report.ByMethod:
		return strings.TrimSpace(v.Text("desk.reports.unknown") + " " + value), ""
	case value == "":
		return v.Text("desk.reports.other"), ""
	}
	return value, ""
}
