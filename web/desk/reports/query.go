package reports

import (
	"errors"
	"net/url"
	"slices"
	"strconv"

	"chequer/internal/invoice"
	"chequer/internal/report"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// query is the query of a report.
type query struct {
	mode     invoice.Mode
	name     string // name of the period; see chosenDays
	from, to string // first and last day of a period with the name chosenDays, as typed
	by       report.Grouping
	period   report.Period
	problems map[string]string // by field
}

// chosenDays is the name of a period whose first and last day are in the fields from and to.
const chosenDays = "days"

// query returns the query of the page. The default is the current month, by method.
func (v *page) query() query {
	q := query{
		mode: v.mode(), name: v.QueryParam("period"), from: v.QueryParam("from"), to: v.QueryParam("to"), by: report.Grouping(v.QueryParam("by")),
		problems: map[string]string{},
	}
	if q.name == "" {
		q.name = v.Today().Date().Format(visit.MonthLayout)
	}
	if q.by == "" {
		q.by = report.ByMethod
	}
	if !slices.Contains(report.Properties, q.by) {
		q.problems["by"] = v.Text("desk.reports.by.wrong")
	}
	if q.name == chosenDays {
		v.readDays(&q)
		return q
	}
	var err error
	if q.period, err = report.ParsePeriod(q.name); err != nil {
		q.problems["period"] = v.Text("desk.period.wrong")
	}
	return q
}

// readDays sets the period of chosen days. Without days it is the last 30 days.
func (v *page) readDays(q *query) {
	if q.from == "" && q.to == "" {
		q.period = report.LastDays(30, v.Today())
		q.from, q.to = q.period.From.String(), q.period.Last().String()
		return
	}
	first, wrongFrom := report.ParseDay(q.from)
	last, wrongTo := report.ParseDay(q.to)
	if wrongFrom != nil {
		q.problems["from"] = v.Text("desk.reports.day.wrong")
	}
	if wrongTo != nil {
		q.problems["to"] = v.Text("desk.reports.day.wrong")
	}
	if len(q.problems) > 0 {
		return
	}
	var err error
	q.period, err = report.NewPeriod(first, last)
	switch {
	case errors.Is(err, report.ErrReversed):
		q.problems["to"] = v.Text("desk.reports.reversed")
	case errors.Is(err, report.ErrTooLong):
		q.problems["to"] = v.Text("desk.reports.long", "Days", strconv.Itoa(report.MaxDays))
	}
}

// The numbers of quarters and years that the list of periods has.
const (
	listedQuarters = 4
	listedYears    = 2
)

// filters returns the fields that select the period and the property.
func (v *page) filters(q query) []desk.Filter {
	today := v.Today()
	periods := desk.Filter{Name: "period", Label: v.Text("desk.period"), Error: q.problems["period"]}
	add := func(name, text string) {
		periods.Options = append(periods.Options, desk.Option{Value: name, Text: text, Chosen: name == q.name})
	}
	add(today.String(), v.Text("desk.period.today"))
	add((today - 1).String(), v.Text("desk.period.yesterday"))
	month := report.Month(today).From.Date()
	v.Months(add)
	for i := range listedQuarters {
		at := month.AddDate(0, -3*i, 0)
		number, year := strconv.Itoa((int(at.Month())+2)/3), strconv.Itoa(at.Year())
		add(year+"-q"+number, v.Text("desk.period.quarter", "Number", number, "Year", year))
	}
	for i := range listedYears {
		year := strconv.Itoa(month.Year() - i)
		add(year, year)
	}
	add(chosenDays, v.Text("desk.period.days"))
	if q.problems["period"] == "" && !slices.ContainsFunc(periods.Options, func(o desk.Option) bool { return o.Chosen }) {
		add(q.name, v.dates(q.period))
	}
	by := desk.Filter{Name: "by", Label: v.Text("desk.reports.by"), Error: q.problems["by"]}
	for _, b := range report.Properties {
		by.Options = append(by.Options, desk.Option{Value: string(b), Text: v.Text(byNames[b]), Chosen: b == q.by})
	}
	return []desk.Filter{periods, by}
}

// byNames are the keys of the names of properties.
var byNames = map[report.Grouping]string{
	report.ByMethod: "desk.method", report.ByOrigin: "desk.origin", report.ByProduct: "desk.origin.product",
	report.ByLink: "desk.origin.link", report.ByTerminal: "desk.origin.terminal", report.ByKey: "desk.origin.api", report.ByShop: "desk.shop",
}

// byHeadings are the keys of the headings of tables by a property.
var byHeadings = map[report.Grouping]string{
	report.ByMethod: "desk.reports.method", report.ByOrigin: "desk.reports.origin", report.ByProduct: "desk.reports.product",
	report.ByLink: "desk.reports.link", report.ByTerminal: "desk.reports.terminal", report.ByKey: "desk.reports.key", report.ByShop: "desk.reports.shop",
}

// days returns the fields of chosen days; none for another period.
func (v *page) days(q query) []desk.Field {
	if q.name != chosenDays {
		return nil
	}
	return []desk.Field{
		{Name: "from", Label: v.Text("desk.reports.from"), Kind: "text", Complete: "off", Value: q.from, Error: q.problems["from"]},
		{Name: "to", Label: v.Text("desk.reports.to"), Kind: "text", Complete: "off", Value: q.to, Error: q.problems["to"]},
	}
}

// hidden returns the named values of the query as hidden fields of another form.
func (q query) hidden(names ...string) (kept []desk.Hidden) {
	values := q.values()
	for _, name := range names {
		if value := values.Get(name); value != "" {
			kept = append(kept, desk.Hidden{Name: name, Value: value})
		}
	}
	return kept
}

// values returns the query as it is written in an address.
func (q query) values() url.Values {
	values := url.Values{"period": {q.name}, "by": {string(q.by)}}
	if q.mode == invoice.Test {
		values.Set("mode", "test")
	}
	if q.name == chosenDays {
		values.Set("from", q.from)
		values.Set("to", q.to)
	}
	return values
}

// reportAddress returns the address of the page with a query in a mode.
func (v *page) reportAddress(q query, mode invoice.Mode) string {
	q.mode = mode
	return v.Below(visit.ReportsPath + "?" + q.values().Encode())
}
