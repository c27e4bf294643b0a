package report_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/report"
)

// sums is a storage with the sums of one merchant.
type sums struct {
	report.Storage
	all []report.DaySum
}

func (s sums) DaySums(_ context.Context, _ string, _ invoice.Mode, current, previous report.Period, origins bool) (report.DaySums, error) {
	within := func(p report.Period) (found []report.DaySum) {
		for _, d := range s.all {
			if !origins {
				d.Origin = invoice.Origin{}
			}
			if d.Day >= p.From && d.Day < p.To {
				found = append(found, d)
			}
		}
		return found
	}
	return report.DaySums{Zone: time.UTC, Current: within(current), Previous: within(previous)}, nil
}

// daySum returns the sum of count invoices of a day. Each received one cent less than its price.
func daySum(day report.Day, count, received int64, c money.Currency, asset string, o invoice.Origin) report.DaySum {
	amount := money.FromCents(received, c)
	return report.DaySum{
		Key: report.Key{Day: day, Currency: c, PaidAsset: asset, Origin: o},
		Sum: report.Sum{Invoices: count, Price: amount.Add(money.FromCents(count, c)), Received: amount},
	}
}

func TestReport_groups_the_sums_of_a_period(t *testing.T) {
	t.Parallel()
	dollar, _ := money.Fiat("USD")
	tips, soap := invoice.Origin{Kind: invoice.FromLink, ID: "tips"}, invoice.Origin{Kind: invoice.FromProduct, ID: "soap"}
	s := report.NewService(sums{all: []report.DaySum{
		daySum(today, 2, 5000, money.EUR, "BTC", tips),
		daySum(today, 1, 1000, money.EUR, "ETH", soap),
		daySum(today-1, 1, 2000, money.EUR, "BTC", soap),
		daySum(today-1, 1, 700, dollar, "BTC", tips),
		daySum(today-2, 4, 9900, money.EUR, "LTC", soap), // in the previous period
		daySum(today-9, 1, 1, money.EUR, "BTC", tips),    // in neither
	}})
	p := report.LastDays(2, today)
	text := func(by report.Grouping) string {
		r, err := s.Report(t.Context(), "shop", invoice.Live, p, p.Previous(today), by)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, c := range r.Totals {
			line := fmt.Sprintf("%s %d %s missing %s, before %d %s; bars", c.Currency.Code, c.Total.Invoices, c.Total.Received, c.Total.Missing(), c.Previous.Invoices, c.Previous.Received)
			for _, b := range c.Bars {
				line += fmt.Sprintf(" %s %s", b.From, b.Received)
			}
			line += "; groups"
			for _, g := range c.Groups {
				line += fmt.Sprintf(" %q %s (%s)", g.Value, g.Total.Received, g.Previous.Received)
			}
			lines = append(lines, line)
		}
		return strings.Join(lines, "\n")
	}
	const euros = "EUR 4 80 missing 0.04, before 4 99; bars 2026-11-28 20 2026-11-29 60; groups"
	const dollars = "\nUSD 1 7 missing 0.01, before 0 0; bars 2026-11-28 7 2026-11-29 0; groups"
	for by, want := range map[report.Grouping]string{
		report.ByMethod:  euros + ` "BTC" 70 (0) "ETH" 10 (0) "LTC" 0 (99)` + dollars + ` "BTC" 7 (0)`,
		report.ByOrigin:  euros + ` "link" 50 (0) "product" 30 (99)` + dollars + ` "link" 7 (0)`,
		report.ByProduct: euros + ` "" 50 (0) "soap" 30 (99)` + dollars + ` "" 7 (0)`,
		report.ByLink:    euros + ` "tips" 50 (0) "" 30 (99)` + dollars + ` "tips" 7 (0)`,
		report.ByKey:     euros + ` "" 80 (99)` + dollars + ` "" 7 (0)`,
	} {
		if diff := cmp.Diff(want, text(by)); diff != "" {
			t.Errorf("by %s (-want +got):\n%s", by, diff)
		}
	}
}

// A long period has a bar for each month.
func TestReport_of_a_year(t *testing.T) {
	t.Parallel()
	first, _ := report.ParseDay("2025-11-15")
	p, err := report.NewPeriod(first, today-30)
	if err != nil {
		t.Fatal(err)
	}
	s := report.NewService(sums{all: []report.DaySum{
		daySum(p.From, 1, 100, money.EUR, "BTC", invoice.Origin{}), daySum(p.Last(), 1, 300, money.EUR, "BTC", invoice.Origin{}),
	}})
	r, err := s.Report(t.Context(), "shop", invoice.Live, p, p.Previous(today), report.ByMethod)
	if err != nil {
		t.Fatal(err)
	}
	bars := r.Totals[0].Bars
	var days int
	for _, b := range bars {
		days += b.Days()
	}
	if last := bars[len(bars)-1]; len(bars) != 12 || days != p.Days() || bars[0].Received.String() != "1" || last.Received.String() != "3" || bars[1].From.String() != "2025-12-01" {
		t.Errorf("%d bars with %d of %d days: %v", len(bars), days, p.Days(), bars)
	}
}
