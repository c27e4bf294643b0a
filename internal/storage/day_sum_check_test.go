package storage_test

import (
	"fmt"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/storage"
)

// DaySumsDiffer finds sums that are wrong although the totals are right: of another day, asset or source.
func TestDaySumsDiffer_finds_wrong_sums_with_right_totals(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for i := range 6 {
			id := fmt.Sprint("i", i)
			c := creation(id, "shop")
			build := c.Build
			c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
				inv, err := build(next)
				inv.Origin = invoice.Origin{Kind: invoice.FromLink, ID: fmt.Sprint("l", i%2)}
				return inv, err
			}
			create(t, s, c)
			if _, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, newPaid(noon.AddDate(0, 0, i/2), "BTC", 5650)); err != nil {
				t.Fatal(err)
			}
		}
		differs := func() bool {
			t.Helper()
			differ, err := s.DaySumsDiffer(t.Context(), "shop")
			if err != nil {
				t.Fatal(err)
			}
			return differ
		}
		first := noon.Unix() / int64(24*time.Hour/time.Second)
		for _, tt := range []struct {
			name, wrong, right string
			compared           int
			want               bool
		}{
			{"right", "", "", 100, false},
			{"right, in a part", "", "", 3, false},
			{"another day", "UPDATE day_sums SET day = day + 10 WHERE day = %d", "UPDATE day_sums SET day = day - 10 WHERE day = %d + 10", 100, true},
			{"the day of an old invoice", "UPDATE day_sums SET day = day - 10 WHERE day = %d", "UPDATE day_sums SET day = day + 10 WHERE day = %d - 10", 3, false},
			{"another asset", "UPDATE day_sums SET paid_asset = 'ETH' WHERE day = %d", "UPDATE day_sums SET paid_asset = 'BTC' WHERE day = %d", 3, true},
			{"another source", "UPDATE day_sums SET origin_id = 'l' || origin_id WHERE day = %d", "UPDATE day_sums SET origin_id = SUBSTR(origin_id, 2) WHERE day = %d", 3, true},
			{"a sum of no invoice", "INSERT INTO day_sums SELECT merchant_id, generation, mode, day + 50, currency, decimals, paid_asset, origin, origin_id, 0, 1, 0 FROM day_sums WHERE day = %d",
				"DELETE FROM day_sums WHERE day = %d + 50", 100, true},
			{"right again", "", "", 100, false},
		} {
			storage.SetCompared(s, tt.compared)
			if tt.wrong != "" {
				execSQL(t, url, fmt.Sprintf(tt.wrong, first))
			}
			if got := differs(); got != tt.want {
				t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
			}
			if tt.right != "" {
				execSQL(t, url, fmt.Sprintf(tt.right, first))
			}
		}
	})
}
