package e2e_test

import (
	"testing"
	"time"

	"chequer/internal/invoice"
)

// TestPayment_after_the_clock_steps_back pays an open invoice while the clock is before the time at
// which the invoice was created. The payment counts, because a first sighting up to two hours
// before the creation is attributed to a wrong clock.
func TestPayment_after_the_clock_steps_back(t *testing.T) {
	t.Parallel()
	s := newClockedService(t)
	id := s.shop().createInvoice()
	s.clock.Advance(-time.Hour)
	s.scan()
	tx := s.pay(id)
	s.scan()
	s.checkStatus(id, invoice.Pending)
	s.must(s.net.Confirm(t.Context(), []string{tx}))
	s.scan()
	s.checkStatus(id, invoice.Paid)
}

// TestOrder_right_after_the_clock_steps_back creates an invoice before the network is scanned at the new
// time. The invoice must not expire immediately.
func TestOrder_right_after_the_clock_steps_back(t *testing.T) {
	t.Parallel()
	s := newClockedService(t)
	shop := s.shop()
	s.clock.Advance(-time.Hour)
	id := shop.createInvoice()
	s.checkStatus(id, invoice.Created)
	tx := s.pay(id)
	s.scan()
	s.checkStatus(id, invoice.Pending)
	s.must(s.net.Confirm(t.Context(), []string{tx}))
	s.scan()
	s.checkStatus(id, invoice.Paid)
}

// TestLease_after_the_clock_steps_back stops a process without releasing its lease, sets the clock back,
// as on a machine that starts with a wrong clock, and starts another process. The new process must scan
// the network within 20 seconds, twice the duration of a lease.
func TestLease_after_the_clock_steps_back(t *testing.T) {
	t.Parallel()
	s := newClockedService(t)
	id := s.shop().createInvoice()
	s.clock.Advance(-time.Hour)
	s.watcher = s.newWatcher("second")
	s.pay(id)
	for range 20 {
		s.clock.Advance(time.Second)
		s.scan()
	}
	inv, err := s.invoices.Invoice(t.Context(), id)
	s.must(err)
	if len(inv.Transfers) != 1 {
		t.Errorf("%d transfers were seen, want 1", len(inv.Transfers))
	}
}
