package sale

import (
	"context"
	"errors"
	"fmt"

	"chequer/internal/invoice"
)

// RetryAll retries the failed sales of invoices, and returns the retried ones. It skips and counts sales
// whose last order has an unknown outcome.
func (r Resolver) RetryAll(ctx context.Context, invoices []Listed) (retried []Listed, unknown int, err error) {
	for _, inv := range invoices {
		for _, s := range inv.Sales {
			if s.State != invoice.SaleFailed {
				continue
			}
			changed, err := r.Retry(ctx, inv.ID, s.Coin, false)
			switch {
			case errors.Is(err, invoice.ErrUnknownOrder):
				unknown++
			case err != nil:
				return retried, unknown, fmt.Errorf("retry sale of invoice %s: %w", inv.ID, err)
			default:
				retried = append(retried, NewListed(changed))
			}
		}
	}
	return retried, unknown, nil
}
