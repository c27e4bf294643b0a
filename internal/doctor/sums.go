package doctor

import "context"

// Sums compares the sums of the reports with the invoices.
type Sums interface {
	// DaySumsDiffer reports whether the sums of days of a merchant differ from those of its invoices.
	DaySumsDiffer(ctx context.Context, merchantID string) (bool, error)
}

// examineSums reports sums of days that differ from the invoices.
func (e *shopExamination) examineSums(ctx context.Context) error {
	differ, err := e.Storage.DaySumsDiffer(ctx, e.shop.ID)
	if err != nil {
		return err
	}
	if differ {
		e.fail(e.about("reports"), "their totals differ from the paid invoices: chequer shop recount")
	}
	return nil
}
