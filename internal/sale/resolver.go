package sale

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/invoice"
)

// Resolver carries out the operator's decisions about sales.
type Resolver struct {
	Invoices Invoices
	Now      func() time.Time
}

// Retry lets the worker continue a sale. If the outcome of its last order is unknown, Retry returns
// invoice.ErrUnknownOrder unless absent is true. absent means that the operator checked that the
// exchange never had the order. The errors include invoice.ErrNotFound and invoice.ErrState.
func (r Resolver) Retry(ctx context.Context, invoiceID, coin string, absent bool) (*invoice.Invoice, error) {
	return r.decide(ctx, invoiceID, coin, func(sale *invoice.Sale) error { return sale.Retry(absent, r.Now()) })
}

// Settle ends a sale with the result that the operator reports: the result of the last order of the sale if
// the outcome of this order is unknown, otherwise the result of a manual sale. The errors include invoice.ErrNotFound, invoice.ErrState
// and invoice.ErrOversold.
func (r Resolver) Settle(ctx context.Context, invoiceID, coin string, s invoice.Proceeds) (*invoice.Invoice, error) {
	return r.decide(ctx, invoiceID, coin, func(sale *invoice.Sale) error { return sale.Settle(s, r.Now()) })
}

func (r Resolver) decide(ctx context.Context, invoiceID, coin string, decide func(*invoice.Sale) error) (*invoice.Invoice, error) {
	return r.Invoices.UpdateSales(ctx, invoiceID, func(inv *invoice.Invoice) ([]invoice.EventType, error) {
		sale, known := inv.Sale(coin)
		if !known {
			return nil, fmt.Errorf("sale of %s: %w", coin, invoice.ErrNotFound)
		}
		return nil, decide(sale)
	})
}
