package doctor

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

func TestExamineRefunds_warns_about_refunds_that_are_not_sent(t *testing.T) {
	storagetest.OnBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		now := storagetest.Noon.Add(8 * 24 * time.Hour)
		for i, r := range []struct {
			state invoice.RefundState
			ago   time.Duration
		}{
			{invoice.RefundReady, 6 * 24 * time.Hour}, {invoice.RefundReady, 8 * 24 * time.Hour}, {invoice.RefundSent, 8 * 24 * time.Hour}, {invoice.RefundAsked, 8 * 24 * time.Hour},
		} {
			id := fmt.Sprint("i", i)
			storagetest.Create(t, s, storagetest.Creation(id, "shop"))
			_, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
				inv.Refunds = []invoice.Refund{{
					ID: "r" + id, Kind: invoice.RefundPart, State: r.state, Network: "bitcoin", Asset: "BTC", Amount: money.MustParse("0.1", money.BTC), Value: money.Zero(money.EUR),
					Asked: invoice.Mark{By: "Tove", At: now.Add(-r.ago)}, Prepared: invoice.Mark{By: "Tove", At: now.Add(-r.ago)},
				}}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		e := &shopExamination{examination: &examination{Config: Config{Storage: s, Now: func() time.Time { return now }}}, shop: merchant.Merchant{ID: "shop"}}
		if err := e.examineRefunds(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{"warn refunds: 1 refund ready for more than 7 days and not sent: chequer refund list --state ready"}
		if diff := cmp.Diff(want, e.lines()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
