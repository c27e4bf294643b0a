package casework_test

import (
	"testing"

	"chequer/internal/casework"
	"chequer/internal/invoice"
)

func TestResolution_has_the_outcome_of_its_facts(t *testing.T) {
	t.Parallel()
	for want, r := range map[casework.Outcome]casework.Resolution{
		casework.Declined:  {Summary: invoice.Summary{Decided: true}, Refund: invoice.RefundDeclined, Kept: true},
		casework.Kept:      {Summary: invoice.Summary{Decided: true}, Kept: true},
		casework.Refunded:  {Summary: invoice.Summary{Decided: true}, Refund: invoice.RefundSent},
		casework.Cancelled: {Summary: invoice.Summary{Status: invoice.Paid}, Refund: invoice.RefundCancelled},
		casework.Accepted:  {Summary: invoice.Summary{Accepted: true, Status: invoice.Paid}},
		casework.Requoted:  {Summary: invoice.Summary{Status: invoice.Pending}},
		casework.Paid:      {Summary: invoice.Summary{Status: invoice.Paid}},
		casework.Gone:      {Summary: invoice.Summary{Status: invoice.Expired}},
	} {
		if got := r.Outcome(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
