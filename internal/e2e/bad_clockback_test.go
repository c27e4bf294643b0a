package e2e_test

import (
	"testing"
	"time"

	"chequer/internal/invoice"
)

// TestPaymentAfterTheClockStepsBack pays an open invoice while the clock is
// before the time at which the invoice was made. A first sighting up to two hours before
// the invoice is taken for a clock that is wrong, so the payment counts.
func TestPaymentAfterTheClockStepsBack(t *testing.T) {
	t.Parallel()
	s := openTimed(t)
	id := s.shop().order()
	s.clock.Pass(-time.Hour)
	s.look()
	tx := s.pays(id)
	s.look()
	s.stands(id, invoice.Pending)
	s.must(s.net.Confirm(t.Context(), []string{tx}))
	s.look()
	s.stands(id, invoice.Paid)
}

// TestOrderRightAfterTheClockStepsBack makes an invoice before the network is
// looked at by the new time: it is not over before it began.
func TestOrderRightAfterTheClockStepsBack(t *testing.T) {
	t.Parallel()
	s := openTimed(t)
	shop := s.shop()
	s.clock.Pass(-time.Hour)
	id := shop.order()
	s.stands(id, invoice.Created)
	tx := s.pays(id)
	s.look()
	s.stands(id, invoice.Pending)
	s.must(s.net.Confirm(t.Context(), []string{tx}))
	s.look()
	s.stands(id, invoice.Paid)
}

// TestLeadAfterTheClockStepsBack ends a process without a word, sets the clock
// back as a machine does that starts with a wrong one, and starts another: it
// looks at the network within the length of a lead.
func TestLeadAfterTheClockStepsBack(t *testing.T) {
	t.Parallel()
	s := openTimed(t)
	id := s.shop().order()
	s.clock.Pass(-time.Hour)
	s.watcher = s.watch("second")
	s.pays(id)
	for range 20 {
		s.clock.Pass(time.Second)
		s.look()
	}
	inv, err := s.invoices.Invoice(t.Context(), id)
	s.must(err)
	if len(inv.Transfers) != 1 {
		t.Errorf("%d transfers were seen, want 1", len(inv.Transfers))
	}
}
