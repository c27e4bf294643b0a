package storage

import (
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// Statement is a statement with its arguments.
type Statement struct {
	Text string
	Args []any
}

// InvoicesStatements returns the statements of Storage.Invoices.
func InvoicesStatements(f invoice.Filter, after invoice.Position, limit int) (all []Statement) {
	p := pageOf(f, after, limit)
	for _, text := range []string{p.invoices, p.transfers, p.spends, p.sales} {
		all = append(all, Statement{text, p.args})
	}
	return all
}

// DeliveriesStatements returns the statements of Storage.Deliveries.
func DeliveriesStatements(endpointID string, state merchant.DeliveryState, below int64, limit int) []Statement {
	return []Statement{made(deliveries(endpointID, state, below, limit))}
}

// NewestEventsStatements returns the statements of Storage.NewestEvents.
func NewestEventsStatements(merchantID string, mode invoice.Mode, after int64, eventType string, limit int) []Statement {
	return []Statement{made(newestEvents(merchantID, mode, after, eventType, limit))}
}

// SaleStatements returns the statements of Storage.InvoicesWithSales.
func SaleStatements(merchantID string, state invoice.SaleState, limit int) []Statement {
	p := newSalesPage(merchantID, state, limit)
	return []Statement{made(p.invoices), made(p.sales)}
}

func made(s statement) Statement { return Statement{s.text, s.args} }

// LookupStatements returns, by the index that must serve them, statements that read few rows of large
// tables.
func LookupStatements() map[string]Statement {
	return map[string]Statement{
		"invoices_to_check":        {openMethods, nil},
		"destinations_by_position": {newestDestinations, []any{"bitcoin", "shop", gapWindow}},
		"transfers_pkey":           {rises, []any{"bitcoin", 0}},
		"events_by_id":             {eventPosition, []any{"e", "evt_1"}},
		"deliveries_by_state":      {deliveryCounts, []any{"e", merchant.EventTest}},
	}
}
