// Package invoicetest provides an invoice.Storage in memory, for tests of packages that use the
// invoice service.
package invoicetest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// Storage keeps invoices in memory. It is safe for concurrent use, and shares no data with its
// callers.
type Storage struct {
	mu       sync.Mutex
	invoices map[string]*invoice.Invoice
	keys     map[merchantKey]claim
	next     map[string]uint32
	progress map[chain.ID]invoice.Progress
	events   []invoice.Event
	evidence map[string]string
	orders   map[signedOrder][]string // newest last
	links    map[string][]string      // invoices by slug
	nonces   map[invoice.Nonce]bool
	places   map[string][]string // invoices by merchant, mode and group of callers, see invoice.UnpaidLimit
	pages    []int
	failing  int // number of the page that cannot be read
}

// merchantKey is an idempotency key of a merchant.
type merchantKey struct {
	merchantID string
	invoice.IdempotencyKey
}

// signedOrder is an order of the key that signed it.
type signedOrder struct{ keyID, id string }

// claim is the use of an idempotency key.
type claim struct{ bodyHash, invoiceID string }

var _ invoice.Storage = (*Storage)(nil)

// New returns an empty Storage.
func New() *Storage {
	return &Storage{
		invoices: map[string]*invoice.Invoice{}, keys: map[merchantKey]claim{},
		next: map[string]uint32{}, evidence: map[string]string{}, links: map[string][]string{}, nonces: map[invoice.Nonce]bool{}, orders: map[signedOrder][]string{}, places: map[string][]string{}, progress: map[chain.ID]invoice.Progress{},
	}
}

// Evidence implements invoice.Storage.
func (s *Storage) Evidence(_ context.Context, name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, known := s.evidence[name]
	if !known || name == "" {
		return "", invoice.ErrNotFound
	}
	return text, nil
}

// Replay implements invoice.Storage.
func (s *Storage) Replay(_ context.Context, c invoice.Creation) (*invoice.Invoice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replay(c)
}

func (s *Storage) replay(c invoice.Creation) (*invoice.Invoice, error) {
	stored, known := s.keys[merchantKey{c.MerchantID, c.Key}]
	switch {
	case !known || c.Key.IsZero():
		return nil, invoice.ErrNotFound
	case stored.bodyHash != c.BodyHash:
		return nil, invoice.ErrConflict
	}
	return Clone(s.invoices[stored.invoiceID]), nil
}

// CreateInvoice implements invoice.Storage.
func (s *Storage) CreateInvoice(_ context.Context, c invoice.Creation) (inv *invoice.Invoice, replayed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if inv, replayed, err := s.check(c); replayed || err != nil {
		return inv, replayed, err
	}
	indexes := map[string]uint32{}
	inv, err = c.Build(func(counter string) (uint32, error) {
		index := s.next[counter] + indexes[counter]
		indexes[counter]++
		return index, nil
	})
	if err != nil {
		return nil, false, err
	}
	for counter, n := range indexes {
		s.next[counter] += n
	}
	if !c.Key.IsZero() {
		s.keys[merchantKey{c.MerchantID, c.Key}] = claim{bodyHash: c.BodyHash, invoiceID: inv.ID}
	}
	if !c.Order.IsZero() {
		o := signedOrder{c.Order.KeyID, c.Order.ID}
		s.orders[o] = append(s.orders[o], inv.ID)
	}
	if c.Link.Slug != "" {
		s.links[c.Link.Slug] = append(s.links[c.Link.Slug], inv.ID)
	}
	s.evidence[c.EvidenceName] = c.Evidence
	s.nonces[c.Nonce] = true
	for _, limit := range c.UnpaidLimits {
		group := unpaidGroup(c, limit)
		s.places[group] = append(s.places[group], inv.ID)
	}
	s.write(inv)
	return Clone(s.invoices[inv.ID]), false, nil
}

// CheckCreation implements invoice.Storage.
func (s *Storage) CheckCreation(_ context.Context, c invoice.Creation) (inv *invoice.Invoice, replayed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.check(c)
}

// check is CheckCreation for a caller that holds mu.
func (s *Storage) check(c invoice.Creation) (inv *invoice.Invoice, replayed bool, err error) {
	if inv, err := s.replay(c); !errors.Is(err, invoice.ErrNotFound) {
		return inv, err == nil, err
	}
	if newest := s.orderedID(c.Order); newest != c.Order.After {
		return Clone(s.invoices[newest]), true, nil
	}
	for _, limit := range c.UnpaidLimits {
		if s.unpaid(c, limit) >= limit.Max {
			return nil, false, &invoice.TooManyUnpaidError{Group: limit.Group}
		}
	}
	if uses := s.uses(c.Link.Slug); c.Link.Max > 0 && uses >= c.Link.Max {
		return nil, false, invoice.ErrLinkUsed
	}
	if s.nonces[c.Nonce] && c.Nonce.Value != "" {
		return nil, false, invoice.ErrNonceUsed
	}
	return nil, false, nil
}

// unpaid counts the invoices that count towards a limit.
func (s *Storage) unpaid(c invoice.Creation, limit invoice.UnpaidLimit) (n int) {
	for _, id := range s.places[unpaidGroup(c, limit)] {
		inv := s.invoices[id]
		if inv.State.Status == invoice.Created && inv.CreatedAt.After(c.At.Add(-invoice.UnpaidWindow)) {
			n++
		}
	}
	return n
}

func unpaidGroup(c invoice.Creation, limit invoice.UnpaidLimit) string {
	return c.MerchantID + " " + string(c.Mode) + " " + limit.Group
}

// OrderedInvoice implements invoice.Storage.
func (s *Storage) OrderedInvoice(ctx context.Context, o invoice.Order) (*invoice.Invoice, error) {
	s.mu.Lock()
	id := s.orderedID(o)
	s.mu.Unlock()
	return s.Invoice(ctx, id)
}

// LinkUses returns the number of invoices of a link that are paid or can still be paid.
func (s *Storage) LinkUses(slug string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uses(slug)
}

func (s *Storage) uses(slug string) (n int) {
	for _, id := range s.links[slug] {
		switch s.invoices[id].State.Status {
		case invoice.Created, invoice.Pending, invoice.Paid:
			n++
		}
	}
	return n
}

// orderedID returns the ID of the invoice that OrderedInvoice returns; "" if there is none.
func (s *Storage) orderedID(o invoice.Order) string {
	best, rank := "", 3
	for _, id := range s.orders[signedOrder{o.KeyID, o.ID}] {
		r, inv := 2, s.invoices[id]
		if inv.State.Status == invoice.Paid {
			r = 1
			if inv.Terms.Price.Equal(o.Price) {
				r = 0
			}
		}
		if r <= rank {
			best, rank = id, r
		}
	}
	return best
}

// Invoice implements invoice.Storage.
func (s *Storage) Invoice(_ context.Context, id string) (*invoice.Invoice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	inv, known := s.invoices[id]
	if !known {
		return nil, invoice.ErrNotFound
	}
	return Clone(inv), nil
}

// UpdateInvoice implements invoice.Storage. It checks only that the snapshot of a lease is newer
// than the saved one.
func (s *Storage) UpdateInvoice(_ context.Context, id string, lease invoice.Lease, decide func(*invoice.Invoice) error) (*invoice.Invoice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !lease.IsZero() && lease.Sequence <= s.progress[lease.Network].Sequence {
		return nil, invoice.ErrFenced
	}
	before, known := s.invoices[id]
	if !known {
		return nil, invoice.ErrNotFound
	}
	inv := Clone(before)
	if err := decide(inv); err != nil {
		return nil, err
	}
	if s.usesTransaction(before, inv) {
		return nil, invoice.ErrUsedTransaction
	}
	if inv.Evidence != "" {
		s.evidence[inv.Quote().Evidence], inv.Evidence = inv.Evidence, ""
	}
	s.write(inv)
	return Clone(s.invoices[id]), nil
}

// usesTransaction reports whether a change states a transaction for a refund that pays another refund to the same
// address in the same asset.
func (s *Storage) usesTransaction(before, after *invoice.Invoice) bool {
	for i, r := range after.Refunds {
		if r.Tx == "" || i < len(before.Refunds) && before.Refunds[i].Tx == r.Tx {
			continue
		}
		same := func(o invoice.Refund) bool {
			return o.ID != r.ID && o.Tx == r.Tx && o.Network == r.Network && o.Asset == r.Asset && o.Script == r.Script
		}
		for _, inv := range s.invoices {
			if inv.MerchantID == after.MerchantID && slices.ContainsFunc(inv.Refunds, same) {
				return true
			}
		}
	}
	return false
}

// InvoiceTo implements invoice.Storage.
func (s *Storage) InvoiceTo(_ context.Context, network chain.ID, script string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, inv := range s.invoices {
		if slices.Contains(inv.Destinations(), invoice.Script{Network: network, Script: script}) {
			return inv.ID, nil
		}
	}
	return "", invoice.ErrNotFound
}

// HasScript implements invoice.Storage.
func (s *Storage) HasScript(_ context.Context, script string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, inv := range s.invoices {
		if slices.ContainsFunc(inv.Destinations(), func(d invoice.Script) bool { return d.Script == script }) {
			return true, nil
		}
	}
	return false, nil
}

// RecordUnreadable implements invoice.Storage. Every invoice in memory can be read.
func (s *Storage) RecordUnreadable(context.Context, string, time.Time) (bool, error) {
	return false, nil
}

// DueInvoices implements invoice.Storage.
func (s *Storage) DueInvoices(_ context.Context, at time.Time, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []*invoice.Invoice
	for _, inv := range s.invoices {
		if next := inv.State.NextCheck; !next.IsZero() && !next.After(at) {
			due = append(due, inv)
		}
	}
	slices.SortFunc(due, func(a, b *invoice.Invoice) int {
		return cmp.Or(a.State.NextCheck.Compare(b.State.NextCheck), cmp.Compare(a.ID, b.ID))
	})
	var ids []string
	for _, inv := range due[:min(limit, len(due))] {
		ids = append(ids, inv.ID)
	}
	return ids, nil
}

// RecordedTransfers implements invoice.Storage.
func (s *Storage) RecordedTransfers(_ context.Context, network chain.ID, above int64) ([]invoice.Recorded, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []invoice.Recorded
	for _, inv := range s.invoices {
		for _, t := range inv.Transfers {
			if t.Network != network || t.Presence != invoice.Present || t.Final() && t.Block.Height <= above {
				continue
			}
			r := invoice.Recorded{
				InvoiceID: inv.ID, ID: t.ID, Tx: t.Tx, Script: t.Script, Asset: t.Asset, Spends: slices.Clone(t.Spends), FirstSeen: t.FirstSeen,
				Confirmations: t.Confirmations, Required: t.Required, Amount: t.Amount, Folded: t.Folded, Firm: t.Firm, Contested: t.Contested,
			}
			if t.Block != nil {
				r.BlockHash, r.BlockHeight = t.Block.Hash, t.Block.Height
			}
			list = append(list, r)
		}
	}
	return list, nil
}

// RecordedRefunds implements invoice.Storage.
func (s *Storage) RecordedRefunds(_ context.Context, network chain.ID, above int64) ([]invoice.RecordedRefund, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []invoice.RecordedRefund
	for _, inv := range s.invoices {
		for _, r := range inv.Refunds {
			if r.Network == network && r.Payment != nil && !(r.Payment.Final() && r.Payment.Block.Height <= above) {
				list = append(list, invoice.RecordedRefund{InvoiceID: inv.ID, Script: r.Script, RefundPayment: *r.Payment})
			}
		}
	}
	return list, nil
}

// RefundsPaidBy implements invoice.Storage.
func (s *Storage) RefundsPaidBy(_ context.Context, network chain.ID, transfers []string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	payees := map[string]string{}
	for _, inv := range s.invoices {
		for _, r := range inv.Refunds {
			if r.Network == network && r.Payment != nil && slices.Contains(transfers, r.Payment.ID) {
				payees[r.Payment.ID] = inv.ID
			}
		}
	}
	return payees, nil
}

// Progress implements invoice.Storage.
func (s *Storage) Progress(context.Context) (map[chain.ID]invoice.Progress, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	progress := map[chain.ID]invoice.Progress{}
	for id, p := range s.progress {
		progress[id] = p
	}
	return progress, nil
}

// RecentProgress implements invoice.Storage.
func (s *Storage) RecentProgress(ctx context.Context) (map[chain.ID]invoice.Progress, error) {
	return s.Progress(ctx)
}

// SaveProgress stores the progress of a network.
func (s *Storage) SaveProgress(network chain.ID, p invoice.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress[network] = p
}

// Owner returns the owner of a destination script.
func (s *Storage) Owner(script string) (invoice.Owner, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, inv := range s.invoices {
		for _, to := range inv.Destinations() {
			if to.Script == script {
				return invoice.Owner{InvoiceID: inv.ID, MerchantID: inv.MerchantID}, true
			}
		}
	}
	return invoice.Owner{}, false
}

// Count returns the number of invoices.
func (s *Storage) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.invoices)
}

// Events returns all events, in order.
func (s *Storage) Events() []invoice.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// write stores a copy of an invoice, and its events separately.
func (s *Storage) write(inv *invoice.Invoice) {
	c := Clone(inv)
	s.events = append(s.events, c.Events...)
	c.Events = nil
	s.invoices[c.ID] = c
}
