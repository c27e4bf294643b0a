package invoice_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
)

// Payments that count are reported even if an attacker sends thousands of tiny transfers or of
// transfers in other assets.
func TestReportedPayments_prefers_payments_that_count(t *testing.T) {
	t.Parallel()
	dust := make([]chain.Transfer, 2_000)
	for i := range dust {
		dust[i] = euros(fmt.Sprintf("dust%04d", i), "0.000001", 101, time.Minute)
		if i%4 == 0 {
			dust[i].Asset = "USDC" // not offered
		}
		if i%4 == 1 {
			dust[i] = inBlock(dust[i], 100, -time.Minute) // older than the invoice
		}
	}
	payments := []chain.Transfer{euros("a", "60", 102, 2*time.Minute), euros("b", "40", 103, 3*time.Minute)}
	wrong := euros("wrong", "5", 102, 2*time.Minute)
	wrong.Asset = "USDC"
	for name, test := range map[string]struct {
		transfers []chain.Transfer
		reported  int
		more      int
		wantIDs   []string // reported in any case
	}{
		"nothing":             {nil, 0, 0, nil},
		"parts":               {payments, 2, 0, []string{"a:1", "b:1"}},
		"exactly the limit":   {append(slices.Clone(dust[:98]), payments...), 100, 0, []string{"a:1", "b:1"}},
		"one above the limit": {append(slices.Clone(dust[:99]), payments...), 100, 1, []string{"a:1", "b:1"}},
		// Small transfers beyond foldThreshold are folded, so fewer payments remain than transfers were shown.
		"thousands of transfers of dust": {append(slices.Clone(dust), payments...), 100, 904, []string{"a:1", "b:1"}},
		"a wrong asset among dust that does not count": {append(slices.DeleteFunc(slices.Clone(dust), func(c chain.Transfer) bool {
			return c.Asset != "USDC" && c.Block.Height > 100
		}), wrong), 100, 901, []string{"wrong:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv := newInvoice(t, noon)
			shuffled := slices.Clone(test.transfers)
			rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			onBase(inv, 1000, shuffled...)
			list, more := inv.ReportedPayments()
			if len(list) != test.reported || more != test.more {
				t.Errorf("%d payments and %d more, want %d and %d", len(list), more, test.reported, test.more)
			}
			var ids []string
			seen := map[string]bool{}
			for i, p := range list {
				ids, seen[p.ID] = append(ids, p.ID), true
				if i > 0 && p.FirstSeen.Before(list[i-1].FirstSeen) {
					t.Errorf("%s is reported after %s, which was seen later", p.ID, list[i-1].ID)
				}
			}
			for _, id := range test.wantIDs {
				if !seen[id] {
					t.Errorf("%s is not reported", id)
				}
			}
			second := newInvoice(t, noon)
			onBase(second, 1000, test.transfers...)
			var inOrder []string
			list, _ = second.ReportedPayments()
			for _, p := range list {
				inOrder = append(inOrder, p.ID)
			}
			if diff := cmp.Diff(inOrder, ids); diff != "" {
				t.Errorf("facts in another order give another result:\n%s", diff)
			}
			if all := inv.Payments(); len(all) != test.reported+test.more {
				t.Errorf("%d payments are kept, want all %d", len(all), test.reported+test.more)
			}
		})
	}
}
