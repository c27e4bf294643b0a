package doctor

import (
	"context"
	"time"

	"chequer/internal/format"
	"chequer/internal/invoice"
)

// Refunds counts refunds.
type Refunds interface {
	// OverdueRefunds returns the number of a merchant's live refunds that are ready and were prepared before a time.
	OverdueRefunds(ctx context.Context, merchantID string, before time.Time) (int, error)
}

// examineRefunds warns about refunds that were prepared long ago and are not sent.
func (e *shopExamination) examineRefunds(ctx context.Context) error {
	late, err := e.Storage.OverdueRefunds(ctx, e.shop.ID, e.Now().AddDate(0, 0, -invoice.RefundOverdueDays))
	if err != nil {
		return err
	}
	if late > 0 {
		e.warn(e.about("refunds"), "%s ready for more than %d days and not sent: chequer refund list --state ready", format.Plural(late, "refund"), invoice.RefundOverdueDays)
	}
	return nil
}
