package convert

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/invoice"
)

// Desk is where a person decides about conversions.
type Desk struct {
	Invoices Invoices
	Now      func() time.Time
}

// Retry has the rest of a conversion sold again; invoice.ErrUnknownOrder when it is
// not known what became of its last order, unless absent says that a person looked
// and the exchange never had it. The errors include invoice.ErrNotFound and
// invoice.ErrState.
func (d Desk) Retry(ctx context.Context, invoiceID, coin string, absent bool) (*invoice.Invoice, error) {
	return d.decide(ctx, invoiceID, coin, func(c *invoice.Conversion) error { return c.Retry(absent, d.Now()) })
}

// Settle ends a conversion by a person's word on what was sold: by its last order, if
// that is not known, or by himself. The errors include invoice.ErrNotFound,
// invoice.ErrState and invoice.ErrOversold.
func (d Desk) Settle(ctx context.Context, invoiceID, coin string, s invoice.Sale) (*invoice.Invoice, error) {
	return d.decide(ctx, invoiceID, coin, func(c *invoice.Conversion) error { return c.Settle(s, d.Now()) })
}

func (d Desk) decide(ctx context.Context, invoiceID, coin string, decide func(*invoice.Conversion) error) (*invoice.Invoice, error) {
	return d.Invoices.Convert(ctx, invoiceID, func(inv *invoice.Invoice) ([]invoice.EventType, error) {
		c, known := inv.Conversion(coin)
		if !known {
			return nil, fmt.Errorf("conversion of %s: %w", coin, invoice.ErrNotFound)
		}
		return nil, decide(c)
	})
}
