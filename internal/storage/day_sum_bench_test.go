package storage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/internal/storage/storagetest"
)

// manyPaid is the number of paid invoices of a year in BenchmarkDaySums.
const manyPaid = 100_000

// reads is the number of reports that BenchmarkDaySums reads after each change.
const reads = 10

// BenchmarkDaySums measures the computation of the sums of a shop with many invoices after a change of its zone, and the
// report of their year with 20 combinations of asset and origin.
func BenchmarkDaySums(b *testing.B) {
	for _, newURL := range []func(testing.TB) string{storagetest.File, storagetest.Postgres} {
		url := newURL(b)
		name, _, _ := strings.Cut(url, ":")
		b.Run(name, func(b *testing.B) {
			s := open(b, url)
			storagetest.AddMerchants(b, s)
			create(b, s, creation("a", "shop"))
			if _, err := s.UpdateInvoice(b.Context(), "a", invoice.Lease{}, newPaid(noon, "BTC", 1000)); err != nil {
				b.Fatal(err)
			}
			multiply(b, url, "a", manyPaid)
			year, err := report.ParsePeriod("2026")
			if err != nil {
				b.Fatal(err)
			}
			for i := range b.N {
				started := time.Now()
				_, err := s.ChangeChoices(b.Context(), "shop", func(c merchant.Choices) (merchant.Choices, error) {
					return c.With(merchant.Choices{merchant.SettingTimeZone: []string{"Asia/Kathmandu", "Europe/Berlin"}[i%2]})
				})
				if err != nil {
					b.Fatal(err)
				}
				for done := false; !done; {
					if done, err = s.FillSums(b.Context(), "shop"); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(time.Since(started).Seconds(), "s/change")
				for _, origins := range []bool{true, false} {
					started = time.Now()
					for range reads {
						got, err := s.DaySums(b.Context(), "shop", invoice.Live, year, year.Previous(year.Last()), origins)
						if err != nil {
							b.Fatal(err)
						}
						var invoices int64
						for _, d := range slices.Concat(got.Current, got.Previous) {
							invoices += d.Invoices
						}
						if invoices != manyPaid {
							b.Fatalf("the sums have %d invoices, want %d", invoices, manyPaid)
						}
					}
					b.ReportMetric(float64(time.Since(started).Microseconds())/1000/reads, fmt.Sprintf("ms/year(origins=%v)", origins))
				}
			}
		})
	}
}

// multiply copies an invoice until there are n, paid at equal intervals in the year 2026.
func multiply(b *testing.B, url, id string, n int) {
	b.Helper()
	const length = 365 * 24 * 60 * 60 * 1000
	from := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).UnixMilli() // away from the ends of the year in every zone
	for _, statement := range []string{
		fmt.Sprintf(`CREATE TABLE copied AS
			WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < %d)
			SELECT invoices.*, i FROM invoices, numbers WHERE id = '%s'`, n-1, id),
		fmt.Sprintf(`UPDATE copied SET id = 'i' || i, order_id = 'i' || i, paid_at = %d + i * (CAST(%d AS BIGINT) / %d), paid_asset = 'A' || (i %% 5),
			origin = 'product', origin_id = 'p' || (i %% 20)`, from, length-24*60*60*1000, n),
		"ALTER TABLE copied DROP COLUMN i",
		"INSERT INTO invoices SELECT * FROM copied",
		"DROP TABLE copied",
	} {
		storagetest.Exec(b, url, statement)
	}
}
