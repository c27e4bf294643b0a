package sale

import "chequer/internal/invoice"

// Listed is an invoice with its sales, in the form that lists show.
type Listed struct {
	ID      string
	OrderID string
	Status  invoice.Status
	Sales   []invoice.Sale // in a list of one state: the sales in that state
}

// NewListed returns an invoice with all its sales.
func NewListed(inv *invoice.Invoice) Listed {
	return Listed{ID: inv.ID, OrderID: inv.Terms.OrderID, Status: inv.State.Status, Sales: inv.Sales}
}
