package invoice

import (
	"context"
	"errors"
	"fmt"
	"time"

	"chequer/internal/chain"
)

// Filter selects the invoices of a list. Empty fields select everything.
type Filter struct {
	MerchantID string
	Mode       Mode
	Status     Status
	OrderID    string
	From, To   time.Time // time of creation, from From until before To
}

// Position is a position in the list of invoices, which is sorted from the newest to the oldest.
// Invoices created at the same time are sorted by their identifiers, so that positions are unique.
type Position struct {
	CreatedAt time.Time
	ID        string
}

// Position returns the position of the invoice in the list.
func (inv *Invoice) Position() Position { return Position{CreatedAt: inv.CreatedAt, ID: inv.ID} }

// Invoices lists at most limit invoices after a position. The zero position is the start of the
// list.
func (s *Service) Invoices(ctx context.Context, f Filter, after Position, limit int) ([]*Invoice, error) {
	return s.storage.Invoices(ctx, f, after, limit)
}

// InvoicesTo lists the invoices with an address as a destination, in any spelling of the address.
// Several networks may have the same address.
func (s *Service) InvoicesTo(ctx context.Context, f Filter, address string) ([]*Invoice, error) {
	var list []*Invoice
	seen := map[string]bool{}
	for _, n := range s.networks[f.Mode] {
		reader, ok := n.(chain.AddressReader)
		if !ok {
			continue
		}
		for _, asset := range n.Assets() {
			to, err := reader.ReadAddress(asset.Code, address)
			if err != nil {
				continue // not an address of this asset
			}
			inv, err := s.invoiceTo(ctx, n.ID(), to.Script)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("find invoice of an address: %w", err)
			}
			if !seen[inv.ID] && f.Selects(inv) {
				list = append(list, inv)
			}
			seen[inv.ID] = true
		}
	}
	return list, nil
}

func (s *Service) invoiceTo(ctx context.Context, network chain.ID, script string) (*Invoice, error) {
	id, err := s.storage.InvoiceTo(ctx, network, script)
	if err != nil {
		return nil, err
	}
	return s.storage.Invoice(ctx, id)
}

// Selects reports whether the filter selects an invoice.
func (f Filter) Selects(inv *Invoice) bool {
	return inv.MerchantID == f.MerchantID && inv.Mode == f.Mode &&
		(f.Status == "" || inv.State.Status == f.Status) &&
		(f.OrderID == "" || inv.Terms.OrderID == f.OrderID) &&
		!inv.CreatedAt.Before(f.From) && (f.To.IsZero() || inv.CreatedAt.Before(f.To))
}
