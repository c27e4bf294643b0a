package reports

import (
	"fmt"
	"math/big"
	"strconv"

	"chequer/internal/money"
	"chequer/internal/report"
	"chequer/views/desk"
)

// The geometry of a chart in tenths of a unit of the view box, which is 1000 x 214, so that it needs no floats.
const (
	chartWidth  = 9000 // width of all bars together
	chartBottom = 1900 // position of the lower end of the bars
	chartHeight = 1800 // height of the vertical axis
	widestBar   = 480

	maxTicks = 10 // largest number of labels of bars
)

// chart returns the bar chart of the total with an index.
func (v *page) chart(r report.Report, index int) desk.Chart {
	t := r.Totals[index]
	title, monthly := v.Text("desk.chart.day"), t.Bars[0].Days() > 1 || len(t.Bars) > 1 && t.Bars[1].Days() > 1
	if monthly {
		title = v.Text("desk.chart.month")
	}
	if len(r.Totals) > 1 {
		title = v.Text("desk.chart.currency", "Title", title, "Currency", t.Currency.Code)
	}
	c := desk.Chart{ID: "chart" + strconv.Itoa(index), Title: title, Table: desk.ChartTable{Caption: v.Text("desk.chart.caption", "Title", title), Heading: v.Text("desk.chart.date")}}
	highest, step := t.Bars[0], axisStep(t)
	top := step * axisSteps
	for i := range int64(axisSteps + 1) {
		c.Lines = append(c.Lines, desk.ChartLine{Y: tenths(chartBottom - chartHeight*i/axisSteps), Text: v.Words.RoundFiat(money.FromCents(step*i, t.Currency).String(), t.Currency.Code)})
	}
	slot := int64(chartWidth / len(t.Bars))
	width := min(slot*8/10, widestBar)
	tickInterval := (len(t.Bars) + maxTicks - 1) / maxTicks // each tickInterval-th bar, counted from the last, has a label
	for i, b := range t.Bars {
		center := slot*int64(i) + slot/2
		amount, name := v.Fiat(b.Received), v.barName(b, monthly)
		bar := desk.ChartBar{Title: v.Text("desk.chart.bar", "Date", name, "Amount", amount), X: tenths(center - width/2), Width: tenths(width)}
		if height := barHeight(b.Received.Cents(), top); height > 0 {
			bar.Y, bar.Height = tenths(chartBottom-height), tenths(height)
		}
		c.Bars = append(c.Bars, bar)
		if (len(t.Bars)-1-i)%tickInterval == 0 {
			c.Ticks = append(c.Ticks, desk.ChartTick{X: tenths(center), Text: v.tick(b, monthly)})
		}
		c.Table.Rows = append(c.Table.Rows, desk.ChartRow{Name: name, Count: count(b.Invoices), Amount: amount})
		if b.Received.Cmp(highest.Received) > 0 {
			highest = b
		}
	}
	dates := v.dates(r.Period)
	c.Name = v.Text("desk.chart.none", "Title", title, "Dates", dates)
	if !highest.Received.IsZero() {
		c.Name = v.Text("desk.chart.name", "Title", title, "Dates", dates, "Most", v.Text("desk.chart.bar", "Date", v.barName(highest, monthly), "Amount", v.Fiat(highest.Received)))
	}
	return c
}

// axisSteps is the number of parts of the vertical axis.
const axisSteps = 4

// axisStep returns the minor units of a part of the vertical axis: a whole amount that is 1, 2, 2.5 or 5 times
// a power of ten, so that the greatest bar fits.
func axisStep(t report.Totals) int64 {
	var highest int64
	for _, b := range t.Bars {
		highest = max(highest, b.Received.Cents())
	}
	minStep := (highest + axisSteps - 1) / axisSteps
	power := int64(1)
	for i := int32(0); i < t.Currency.Decimals; i++ {
		power *= 10 // the smallest step is 1 of the currency
	}
	if minStep <= 2*power { // rounded up to whole units of the currency
		return max(power, (minStep+power-1)/power*power)
	}
	for ; ; power *= 10 {
		for _, step := range []int64{5 * power, 10 * power, 20 * power, 25 * power} {
			if step >= minStep {
				return step
			}
		}
	}
}

// barHeight returns the height of a bar in tenths of a unit, at least 1 unless the amount is zero. top is the amount at
// the upper end of the axis. Both amounts are in minor units.
func barHeight(cents, top int64) int64 {
	if cents <= 0 {
		return 0
	}
	height := new(big.Int).Mul(big.NewInt(cents), big.NewInt(chartHeight))
	return max(height.Quo(height, big.NewInt(top)).Int64(), 1)
}

// tenths formats a length in tenths of a unit.
func tenths(n int64) string { return fmt.Sprintf("%d.%d", n/10, n%10) }

// barName returns the day or the month of a bar.
func (v *page) barName(b report.Bar, monthly bool) string {
	if monthly {
		return v.Month(b.From.Date())
	}
	return v.date(b.From)
}

// tick returns the short form of barName.
func (v *page) tick(b report.Bar, monthly bool) string {
	at := b.From.Date()
	if monthly {
		return v.Words.Month(at.Month())
	}
	return v.Text("desk.date", "Day", strconv.Itoa(at.Day()), "Month", v.Words.Month(at.Month()))
}

// date returns a day in words.
func (v *page) date(d report.Day) string {
	at := d.Date()
	return v.Text("desk.date.year", "Day", strconv.Itoa(at.Day()), "Month", v.Words.Month(at.Month()), "Year", strconv.Itoa(at.Year()))
}

// dates returns the first and the last day of a period in words.
func (v *page) dates(p report.Period) string {
	if p.Days() == 1 {
		return v.date(p.From)
	}
	return v.Text("desk.dates", "From", v.date(p.From), "To", v.date(p.Last()))
}

// comparison returns the text about the amount received in the previous period, and the change since then.
func (v *page) comparison(t report.Totals) string {
	before := v.Fiat(t.Previous.Received)
	if t.Previous.Received.IsZero() {
		return v.Text("desk.before", "Amount", before)
	}
	return v.Text("desk.before.change", "Change", change(t.Total.Received, t.Previous.Received), "Amount", before)
}

// change returns the change from before to now in whole percent, rounded to the nearest, with its sign.
func change(now, before money.Amount) string {
	difference := new(big.Int).Sub(now.Minor(), before.Minor()) // Amount.Sub has no negative results
	difference.Mul(difference, big.NewInt(200))                 // twice the percentage, so that the result is rounded in whole numbers
	sign := "+"
	if difference.Sign() < 0 {
		sign = "−"
	}
	unit := before.Minor()
	percent := difference.Abs(difference).Add(difference, unit)
	percent.Quo(percent, unit.Lsh(unit, 1))
	return sign + percent.String()
}
