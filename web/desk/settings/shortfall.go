package settings

import (
	"math/big"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/report"
)

const (
	// shortfallPeriod is the age up to which short invoices are examined.
	shortfallPeriod = 30 * 24 * time.Hour
	// maxShort is the largest number of short invoices that are examined.
	maxShort = 500
)

// shares are the tolerances whose cost is shown, in hundredths of a percent.
var shares = []int64{50, 100, 200, 500}

// costs describes the cost of the present tolerance in the previous month, and the cost that other tolerances would have
// had.
func (f *paymentForm) costs() ([]string, error) {
	waived, err := f.waived()
	if err != nil {
		return nil, err
	}
	short, err := f.shortfalls()
	return append(waived, short...), err
}

// waived describes the amounts that were not received although the invoices count as paid, for the invoices that were paid
// in the previous month.
func (f *paymentForm) waived() ([]string, error) {
	p := report.Month(report.Month(f.Today()).From - 1)
	month := p.From.Date()
	sums, err := f.Reports.Sums(f.Request().Context(), f.Shop.ID, invoice.Live, p)
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, sum := range sums {
		if missing := sum.Missing(); !missing.IsZero() {
			notes = append(notes, f.Words.Count("desk.paying.waived", int(sum.Invoices), "Month", f.Month(month), "Amount", f.Fiat(missing)))
		}
	}
	if len(notes) == 0 {
		notes = []string{f.Text("desk.paying.waived.none", "Month", f.Month(month))}
	}
	return notes, nil
}

// shortfalls describes the cost that several tolerances would have had: for each, the number and the missing amounts of
// the latest invoices in euro that expired underpaid and would have been paid.
func (f *paymentForm) shortfalls() ([]string, error) {
	short, _, err := f.Invoices.Summaries(f.Request().Context(), invoice.Filter{
		MerchantID: f.Shop.ID, Mode: invoice.Live, Exception: invoice.Underpaid, From: f.Now().Add(-shortfallPeriod),
	}, invoice.Position{}, maxShort)
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, share := range shares {
		count, sum := costOfTolerance(share, short)
		if count == 0 {
			continue
		}
		percent := money.FromCents(share, money.Currency{Decimals: 2}).String()
		notes = append(notes, f.Words.Count("desk.paying.cost.share", count, "Percent", percent, "Amount", f.Fiat(sum)))
	}
	if len(notes) == 0 {
		return []string{f.Text("desk.paying.cost.none")}, nil
	}
	return append([]string{f.Text("desk.paying.cost")}, notes...), nil
}

// costOfTolerance returns the number of the invoices in euro that a tolerance would have made paid, and the sum of their
// missing amounts. share is in hundredths of a percent.
func costOfTolerance(share int64, short []invoice.Summary) (count int, sum money.Amount) {
	sum = money.Zero(money.EUR)
	for _, s := range short {
		if s.Status != invoice.Expired || s.Price.Currency() != money.EUR {
			continue
		}
		if bound := new(big.Rat).Mul(s.Price.Rat(), big.NewRat(share, 10_000)); s.Due.Rat().Cmp(bound) <= 0 {
			count, sum = count+1, sum.Add(s.Due)
		}
	}
	return count, sum
}
