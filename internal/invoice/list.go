package invoice

import (
	"context"
	"time"

	"chequer/internal/chain"
)

// ListStorage reads lists of invoices, newest first. Its methods read a page of a list: at most limit
// invoices after a position.
type ListStorage interface {
	// Invoices returns whole invoices.
	Invoices(ctx context.Context, f Filter, after Position, limit int) ([]*Invoice, error)
	// Summaries returns invoices in their short form.
	Summaries(ctx context.Context, f Filter, after Position, limit int) ([]Summary, error)
	// ExportLines returns invoices as lines of an export.
	ExportLines(ctx context.Context, f Filter, after Position, limit int) ([]ExportLine, error)
	// Tally counts the invoices of a merchant and a mode.
	Tally(ctx context.Context, merchantID string, mode Mode) (Tally, error)
}

// Position is a position in the list of invoices, which is sorted from the newest to the oldest.
// Invoices created at the same time are sorted by their identifiers, so that positions are unique.
type Position struct {
	CreatedAt time.Time
	ID        string
}

// Position returns the position of the invoice in the list.
func (inv *Invoice) Position() Position { return Position{CreatedAt: inv.CreatedAt, ID: inv.ID} }

// Position returns the position of the invoice in the list.
func (s Summary) Position() Position { return Position{CreatedAt: s.CreatedAt, ID: s.ID} }

// Invoices lists at most limit invoices after a position. The zero position is the start of the
// list.
func (s *Service) Invoices(ctx context.Context, f Filter, after Position, limit int) ([]*Invoice, error) {
	return s.storage.Invoices(ctx, f, after, limit)
}

// Summaries is Invoices with the invoices in their short form.
func (s *Service) Summaries(ctx context.Context, f Filter, after Position, limit int) ([]Summary, error) {
	return s.storage.Summaries(ctx, f, after, limit)
}

// ExportLines is Invoices with the invoices as lines of an export. A caller that reads all pages
// of a list gets each invoice once: invoices that are created meanwhile are before the first page.
func (s *Service) ExportLines(ctx context.Context, f Filter, after Position, limit int) ([]ExportLine, error) {
	return s.storage.ExportLines(ctx, f, after, limit)
}

// Tally counts the invoices of a merchant and a mode.
func (s *Service) Tally(ctx context.Context, merchantID string, mode Mode) (Tally, error) {
	return s.storage.Tally(ctx, merchantID, mode)
}

// Scripts returns the scripts of an address, in any spelling of the address, on every network of a
// mode that has such an address. The result is not nil.
func (s *Service) Scripts(mode Mode, address string) []Script {
	scripts, seen := []Script{}, map[Script]bool{}
	for _, n := range s.networks[mode] {
		reader, ok := n.(chain.AddressReader)
		if !ok {
			continue
		}
		for _, asset := range n.Assets() {
			to, err := reader.ReadAddress(asset.Code, address)
			if err != nil {
				continue // not an address of this asset
			}
			if script := (Script{n.ID(), to.Script}); !seen[script] {
				seen[script] = true
				scripts = append(scripts, script)
			}
		}
	}
	return scripts
}
