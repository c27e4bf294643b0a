package storage

import (
	"testing"

	"chequer/internal/invoice"
)

// No index serves exception, paid asset and status together, so the search must be bounded.
func TestDrivers_of_an_exception_and_a_paid_asset_are_not_direct(t *testing.T) {
	t.Parallel()
	f := invoice.Filter{MerchantID: "m", Mode: invoice.Live, Exception: invoice.Overpaid, PaidAsset: "BTC"}
	if _, isDirect := drivers(f); isDirect {
		t.Error("without a status: the search is not bounded")
	}
	f.Status = invoice.Paid
	if _, isDirect := drivers(f); isDirect {
		t.Error("with the status paid: the search is not bounded")
	}
}
