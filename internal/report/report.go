package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"chequer/internal/money"
)

// Report has the totals of a period, compared to a previous period.
type Report struct {
	Period   Period
	Previous Period
	By       Grouping
	// Zones are the time zones of the days that were summed: one in a report of one merchant.
	Zones []*time.Location
	// Removed are the days whose invoices were removed. In a report of several merchants it is the latest of them.
	Removed Removed
	// Totals has one entry for each currency with paid invoices in one of the periods, the one with the
	// most invoices first. Amounts of different currencies are never added.
	Totals []Totals
}

// Totals are the totals in one currency.
type Totals struct {
	Currency money.Currency
	Total    Sum
	Previous Sum
	Bars     []Bar
	Groups   []Group // the greatest first
}

// Bar is the sum of a part of the period.
type Bar struct {
	Period
	Sum
}

// Group is the sum of the invoices with a value of the property.
type Group struct {
	Value    string // see Grouping.Value
	Total    Sum
	Previous Sum
}

// maxDayBars is the length of the longest period with a bar for each day, in days. A longer one has a bar
// for each month.
const maxDayBars = 92

// newReport returns the report of the sums of two periods.
func newReport(p, previous Period, by Grouping, current, before []DaySum) Report {
	r := Report{Period: p, Previous: previous, By: by}
	type grouped struct{ total, previous map[string]Sum }
	all, groups := map[money.Currency]*Totals{}, map[money.Currency]grouped{}
	totalsIn := func(c money.Currency) (*Totals, grouped) {
		if all[c] == nil {
			zero := zeroSum(c)
			all[c] = &Totals{Currency: c, Total: zero, Previous: zero, Bars: newBars(p, c)}
			groups[c] = grouped{map[string]Sum{}, map[string]Sum{}}
		}
		return all[c], groups[c]
	}
	for _, d := range current {
		t, g := totalsIn(d.Key.Currency)
		t.Total = t.Total.Add(d.Sum)
		i := slices.IndexFunc(t.Bars, func(b Bar) bool { return d.Day < b.To })
		t.Bars[i].Sum = t.Bars[i].Add(d.Sum)
		g.total[by.Value(d.Key)] = g.total[by.Value(d.Key)].Add(d.Sum)
	}
	for _, d := range before {
		t, g := totalsIn(d.Key.Currency)
		t.Previous = t.Previous.Add(d.Sum)
		g.previous[by.Value(d.Key)] = g.previous[by.Value(d.Key)].Add(d.Sum)
	}
	for c, t := range all {
		t.Groups = newGroups(c, groups[c].total, groups[c].previous)
		r.Totals = append(r.Totals, *t)
	}
	slices.SortFunc(r.Totals, func(a, b Totals) int {
		return cmp.Or(cmp.Compare(b.Total.Invoices, a.Total.Invoices), cmp.Compare(b.Previous.Invoices, a.Previous.Invoices),
			strings.Compare(a.Currency.Code, b.Currency.Code), cmp.Compare(a.Currency.Decimals, b.Currency.Decimals))
	})
	return r
}

func zeroSum(c money.Currency) Sum { return Sum{Price: money.Zero(c), Received: money.Zero(c)} }

// newBars returns the empty bars of a period.
func newBars(p Period, c money.Currency) (bars []Bar) {
	for from := p.From; from < p.To; {
		to := from + 1
		if p.Days() > maxDayBars {
			to = min(Month(from).To, p.To)
		}
		bars = append(bars, Bar{Period{from, to}, zeroSum(c)})
		from = to
	}
	return bars
}

// newGroups joins the sums of both periods by their values.
func newGroups(c money.Currency, total, previous map[string]Sum) (groups []Group) {
	values := maps.Clone(total)
	maps.Copy(values, previous)
	for value := range values {
		groups = append(groups, Group{value, zeroSum(c).Add(total[value]), zeroSum(c).Add(previous[value])})
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(b.Total.Received.Cmp(a.Total.Received), b.Previous.Received.Cmp(a.Previous.Received), strings.Compare(a.Value, b.Value))
	})
	return groups
}
