package invoice_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// The clock that dated the invoice may be ahead of the clock of the node that reports a first
// sighting: another process dated it, or NTP adjusted the clock.
func TestFirst_sighting_before_creation(t *testing.T) {
	t.Parallel()
	paid := outcome{"paid", "", "100", "0", "0"}
	old := outcome{"created", "[old]", "0", "100", "0"}
	for name, tt := range map[string]struct {
		seen  time.Duration // reported by the source, from creation
		block int64         // the birth block is 100
		want  outcome
	}{
		"seconds_before_creation_counts":                       {-15 * time.Second, 101, paid},
		"two_hours_before_creation_counts":                     {-2 * time.Hour, 101, paid},
		"more_than_two_hours_before_creation_is_old":           {-2*time.Hour - time.Millisecond, 101, old},
		"seconds_before_creation_in_the_birth_block_is_old":    {-15 * time.Second, 100, old},
		"seconds_before_creation_below_the_birth_block_is_old": {-15 * time.Second, 99, old},
		"after_creation_in_the_birth_block_is_old":             {15 * time.Second, 100, old},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			waiting := pay("a", full, tt.seen)
			mined := inBlock(waiting, tt.block, 3*time.Minute)
			for order, scans := range map[string][]chain.Transfer{"at once": {mined}, "unconfirmed first": {waiting, mined}} {
				inv := newInvoice(t, quoteEnd.Add(-time.Minute))
				for _, transfer := range scans {
					observe(inv, 101, transfer)
				}
				if diff := cmp.Diff(tt.want, outcomeOf(inv)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", order, diff)
				}
				scan(inv, quoteEnd.Add(time.Hour))
				if got := outcomeOf(inv).Exceptions; got != tt.want.Exceptions {
					t.Errorf("%s: exceptions after expiry are %q, want %q", order, got, tt.want.Exceptions)
				}
			}
		})
	}
}

// Money that does not count because it is older raises an exception, and the merchant may accept
// it. Dust raises none.
func TestOlder_money_raises_an_exception(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, quoteEnd.Add(-time.Minute))
	observe(inv, 101, inBlock(pay("dust", 1, -3*time.Hour), 99, -3*time.Hour))
	if got := outcomeOf(inv).Exceptions; got != "" {
		t.Errorf("older dust raises %s", got)
	}
	observe(inv, 101, inBlock(pay("a", full, -3*time.Hour), 99, -3*time.Hour))
	if got := inv.Evaluate(); !got.Has(invoice.Older) {
		t.Errorf("older money raises %v", got.Exceptions)
	}
	inv.Accepted = []string{"a:0"}
	if diff := cmp.Diff(outcome{"paid", "", "100", "0", "0"}, outcomeOf(inv)); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
}
