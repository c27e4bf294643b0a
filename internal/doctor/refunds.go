package doctor

import (
	"context"

	"chequer/internal/format"
	"chequer/internal/invoice"
)

// Refunds lists refunds.
type Refunds interface {
	// Refunds returns at most limit refunds after a position, newest first.
	Refunds(ctx context.Context, f invoice.RefundFilter, after invoice.Position, limit int) ([]invoice.ListedRefund, error)
}

// Limits of the search for refunds that are not sent.
const (
	refundPage  = 200
	refundPages = 10
)

// examineRefunds warns about refunds that were prepared long ago and are not sent.
func (e *shopExamination) examineRefunds(ctx context.Context) error {
	late, now := 0, e.Now()
	filter := invoice.RefundFilter{MerchantID: e.shop.ID, Mode: invoice.Live, State: invoice.RefundReady}
	var after invoice.Position
	for range refundPages {
		page, err := e.Storage.Refunds(ctx, filter, after, refundPage)
		if err != nil {
			return err
		}
		for _, r := range page {
			if r.Overdue(now) {
				late++
			}
		}
		if len(page) < refundPage {
			break
		}
		after = page[len(page)-1].Position()
	}
	if late > 0 {
		e.warn(e.about("refunds"), "%s ready for more than %d days and not sent: chequer refund list --state ready", format.Plural(late, "refund"), invoice.RefundOverdueDays)
	}
	return nil
}
