package server

import (
	"context"
	"net/http"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// Unpaid counts invoices that nothing was seen for. It is safe for concurrent use.
type Unpaid interface {
	// UnpaidInvoices counts a merchant's invoices of a mode that were made since a
	// time and that nothing was seen for, up to a number.
	UnpaidInvoices(ctx context.Context, merchantID string, mode merchant.Mode, since time.Time, most int) (int, error)
}

var errTooManyOpen = &problem{
	status: http.StatusTooManyRequests, code: "too_many_unpaid", retry: 60,
	message: "There are as many unpaid invoices as may be: try again in some minutes",
}

// open is an error when somebody whom nobody vouches for, as at the storefront, may
// have no more addresses: so many of the last invoices were not paid. What a merchant
// signs, or sells at a terminal, is never refused for it.
func (s *server) open(ctx context.Context, r *invoice.CreateRequest) error {
	if s.maxUnpaid == 0 {
		return nil
	}
	n, err := s.unpaid.UnpaidInvoices(ctx, r.MerchantID, merchant.Mode(r.Mode), s.now().Add(-defaultHold), s.maxUnpaid)
	if err == nil && n >= s.maxUnpaid {
		return errTooManyOpen
	}
	return err
}
