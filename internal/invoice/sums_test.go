package invoice_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/report"
)

// wantSums fails unless the sums of days are those of all invoices, and those that the test wants.
func (s *shop) wantSums(after string, want ...string) {
	s.t.Helper()
	all, _, err := s.store.Invoices(s.t.Context(), invoice.Filter{MerchantID: "m", Mode: invoice.Test}, invoice.Position{}, 100)
	s.must(err)
	sumByKey := map[string]report.Sum{}
	key := func(d report.Day, asset string, c money.Currency) string {
		return fmt.Sprint(d, " ", c.Code, " ", asset)
	}
	for _, inv := range all {
		if inv.State.Status == invoice.Paid {
			k := key(report.DayOf(inv.State.PaidAt, time.UTC), inv.State.PaidAsset, inv.Terms.Price.Currency())
			sumByKey[k] = sumByKey[k].Add(report.SumOf(inv.Summary()))
		}
	}
	text := func(k string, sum report.Sum) string {
		return fmt.Sprintf("%s: %d received %s missing %s", k, sum.Invoices, sum.Received, sum.Missing())
	}
	computed, stored := []string{}, []string{}
	for k, sum := range sumByKey {
		computed = append(computed, text(k, sum))
	}
	slices.Sort(computed)
	sums, err := s.store.DaySums(s.t.Context(), "m", invoice.Test, report.Period{From: 0, To: 100_000}, report.Period{}, true)
	s.must(err)
	for _, d := range sums.Current {
		stored = append(stored, text(key(d.Day, d.PaidAsset, d.Key.Currency), d.Sum))
	}
	slices.Sort(stored)
	if diff := cmp.Diff(computed, stored); diff != "" {
		s.t.Errorf("sums after %s (-invoices +sums):\n%s", after, diff)
	}
	if diff := cmp.Diff(want, stored); diff != "" {
		s.t.Errorf("sums after %s (-want +got):\n%s", after, diff)
	}
}

// payConfirmed pays an invoice with confirmation and returns the transaction.
func (s *shop) payConfirmed(inv *invoice.Invoice, code, amount string) string {
	s.t.Helper()
	tx := s.pay(inv, code, amount)
	s.step()
	s.must(s.net.Confirm(s.t.Context(), []string{tx}))
	s.step()
	return tx
}

// The sums of days equal a recomputation from all invoices after each kind of change that makes an invoice
// paid, or no longer paid.
func TestDaySums_equal_a_recomputation(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	requoted, overpaid, reverted, late, cancelled := s.create("40"), s.create("40"), s.create("40"), s.create("40"), s.create("40")
	s.wantSums("creation", []string{}...)

	s.payConfirmed(requoted, "BTC", "0.0002") // 16.00
	s.setRates("BTC-EUR=96000,LTC-EUR=90,ETH-EUR=2500,EUR-USD=1.08")
	s.clock.Advance(time.Minute)
	_, err := s.service.Requote(t.Context(), requoted.ID, invoice.Shopper, 1)
	s.must(err)
	s.payConfirmed(s.reload(requoted), "BTC", "0.00025")
	s.wantStatus(requoted, invoice.Paid)
	s.wantSums("requote", "2026-11-27 EUR BTC: 1 received 40 missing 0")

	s.payConfirmed(overpaid, "LTC", "0.6") // 48.00
	s.wantStatus(overpaid, invoice.Paid, invoice.Overpaid)
	s.wantSums("overpayment", "2026-11-27 EUR BTC: 1 received 40 missing 0", "2026-11-27 EUR LTC: 1 received 40 missing 0")

	tx := s.payConfirmed(reverted, "LTC", "0.5")
	s.wantStatus(reverted, invoice.Paid)
	s.wantSums("payment", "2026-11-27 EUR BTC: 1 received 40 missing 0", "2026-11-27 EUR LTC: 2 received 80 missing 0")
	s.must(s.net.Reorganise(t.Context(), []string{tx}))
	s.step()
	if got := s.reload(reverted).State.Status; got == invoice.Paid {
		t.Fatal("the reorganised payment still counts")
	}
	s.wantSums("reorganisation", "2026-11-27 EUR BTC: 1 received 40 missing 0", "2026-11-27 EUR LTC: 1 received 40 missing 0")

	_, err = s.service.Cancel(t.Context(), cancelled.ID, 0)
	s.must(err)
	s.wantSums("cancellation", "2026-11-27 EUR BTC: 1 received 40 missing 0", "2026-11-27 EUR LTC: 1 received 40 missing 0")

	s.clock.Advance(24 * time.Hour)
	s.step()
	s.payConfirmed(late, "BTC", "0.00045") // 36.00 at the quoted rate
	_, err = s.service.Accept(t.Context(), late.ID, "key_a", 0)
	s.must(err)
	s.step()
	s.wantStatus(late, invoice.Paid, s.reload(late).State.Exceptions...)
	s.wantSums("acceptance of a late and short payment", "2026-11-27 EUR BTC: 1 received 40 missing 0", "2026-11-27 EUR LTC: 1 received 40 missing 0",
		"2026-11-28 EUR BTC: 1 received 36 missing 4")
}
