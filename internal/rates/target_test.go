package rates_test

import (
	"testing"
	"time"

	"chequer/internal/money"
)

func TestTable_reference_ages_in_banking_days(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, table, now, want string }{
		{"Easter", "2026-04-02", "2026-04-10T14:59:59Z", "0.94"}, // tables of 7, 8 and 9 April
		{"four tables after Easter", "2026-04-02", "2026-04-10T15:00:00Z", "0.94"},
		{"five tables after Easter", "2026-04-02", "2026-04-13T15:00:00Z", "none"},
		{"Christmas and New Year", "2025-12-24", "2026-01-02T14:59:59Z", "0.94"}, // of 29, 30 and 31 December
		{"five tables after Christmas", "2025-12-24", "2026-01-05T15:00:00Z", "none"},
		{"first of May", "2026-04-30", "2026-05-07T15:00:00Z", "0.94"},
		{"a week without holidays", "2026-06-12", "2026-06-19T15:00:00Z", "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			now, _ := time.Parse(time.RFC3339, tt.now)
			table, _ := time.Parse(time.DateOnly, tt.table)
			f.clock.Advance(now.Sub(f.clock.Now()))
			f.ecb.set("EUR-USD", "0.94")
			f.ecb.tickers[0].Time = table.Add(15 * time.Hour)
			_ = f.Step(t.Context())
			if got := f.price("EUR", money.EUR, money.USD); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
