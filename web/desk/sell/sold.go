package sell

import (
	"strconv"
	"strings"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/report"
)

// sold sums up the paid invoices of a product, a link or a terminal in the current month.
type sold struct {
	invoices int64
	received []string // received amount in each currency
}

// number returns the number of invoices as a list shows it.
func (s sold) number() string {
	if s.invoices == 0 {
		return "–"
	}
	return strconv.FormatInt(s.invoices, 10)
}

// revenue returns the received amounts as a list shows them.
func (s sold) revenue() string {
	if s.invoices == 0 {
		return "–"
	}
	return strings.Join(s.received, " + ")
}

// soldBy returns the sales of the current month by the value of a property. It reads the sums of days, not
// invoices.
func (v *page) soldBy(by report.Grouping, mode merchant.Mode) (map[string]sold, error) {
	month := report.Month(v.Today())
	r, err := v.Reports.Report(v.Request().Context(), v.Shop.ID, invoice.Mode(mode), month, report.Period{}, by)
	if err != nil {
		return nil, err
	}
	all := map[string]sold{}
	for _, t := range r.Totals {
		for _, g := range t.Groups {
			s := all[g.Value]
			s.invoices += g.Total.Invoices
			s.received = append(s.received, v.Fiat(g.Total.Received))
			all[g.Value] = s
		}
	}
	return all, nil
}

// soldHeading returns the heading of the column with the number of paid invoices.
func (v *page) soldHeading() string {
	return v.Text("desk.sell.sold", "Month", v.Words.Month(v.Today().Date().Month()))
}
