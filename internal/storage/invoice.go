package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"chequer/internal/audit"
	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/storage/engine"
)

// CreateInvoice implements invoice.Storage. It returns the invoice as later readers get it.
func (s *Storage) CreateInvoice(ctx context.Context, c invoice.Creation) (inv *invoice.Invoice, replayed bool, err error) {
	share := func(ctx context.Context, w work) error { return s.share(ctx, c.MerchantID, w) }
	create := func(ctx context.Context, q querier) (created, error) { return s.create(ctx, q, c) }
	result, err := answer(ctx, share, create)
	if engine.MissesReference(err) { // PostgreSQL lost the newest commits in a failover
		s.shared.forget()
		result, err = answer(ctx, share, create)
	}
	if err != nil {
		return s.existing(ctx, err)
	}
	s.shared.markCommitted(result.shared)
	s.prune(ctx, c.At)
	return result.invoice, false, nil
}

// existing returns the invoice to which a creation leads if err is an *existingInvoiceError, and otherwise err.
func (s *Storage) existing(ctx context.Context, err error) (inv *invoice.Invoice, replayed bool, _ error) {
	known, ok := errors.AsType[*existingInvoiceError](err)
	if !ok {
		return nil, false, err
	}
	inv, err = s.Invoice(ctx, known.invoiceID)
	return inv, true, err
}

// CheckCreation implements invoice.Storage.
func (s *Storage) CheckCreation(ctx context.Context, c invoice.Creation) (inv *invoice.Invoice, replayed bool, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		known, err := findKey(ctx, q, c)
		if errors.Is(err, invoice.ErrNotFound) {
			known, err = "", nil
		}
		if err != nil {
			return err
		}
		if err := s.refuse(ctx, q, c, known, ""); err != nil {
			return err
		}
		return checkNonce(ctx, q, c)
	})
	if err != nil {
		return s.existing(ctx, err)
	}
	return nil, false, nil
}

// refuse returns an error if a creation builds no invoice: *existingInvoiceError if its idempotency key leads to known, or its
// order to an invoice, *invoice.TooManyUnpaidError or invoice.ErrLinkUsed. lock is the clause that locks the row of the link.
func (s *Storage) refuse(ctx context.Context, q querier, c invoice.Creation, known, lock string) error {
	if known == "" {
		var err error
		if known, err = findOrder(ctx, q, c.Order); err != nil {
			return err
		}
	}
	if known != "" {
		return &existingInvoiceError{known}
	}
	if err := s.checkUnpaidLimits(ctx, q, c); err != nil {
		return err
	}
	return checkLinkUses(ctx, q, c, lock)
}

// created is a new invoice with its shared terms.
type created struct {
	invoice *invoice.Invoice
	shared  *sharedTerms
}

// existingInvoiceError rolls back a creation whose idempotency key or order leads to an existing invoice.
type existingInvoiceError struct{ invoiceID string }

func (e *existingInvoiceError) Error() string { return "the invoice exists already: " + e.invoiceID }

// Replay implements invoice.Storage.
func (s *Storage) Replay(ctx context.Context, c invoice.Creation) (*invoice.Invoice, error) {
	known, err := answer(ctx, s.read, func(ctx context.Context, q querier) (string, error) { return findKey(ctx, q, c) })
	if err != nil {
		return nil, err
	}
	return s.Invoice(ctx, known)
}

// create builds and writes an invoice, unless its idempotency key or order leads to an existing
// one: *existingInvoiceError. It returns the invoice as later readers get it, without reading it back, which
// would cost as much as writing it.
func (s *Storage) create(ctx context.Context, q querier, c invoice.Creation) (created, error) {
	position, err := takePositions(ctx, q, c.MerchantID, 1)
	if err != nil {
		return created{}, err
	}
	known, err := claimKey(ctx, q, c)
	if err != nil {
		return created{}, err
	}
	if err := s.refuse(ctx, q, c, known, s.engine.ForUpdate); err != nil {
		return created{}, err
	}
	if err := takeNonce(ctx, q, c); err != nil {
		return created{}, err
	}
	inv, err := c.Build(func(counter string) (uint32, error) { return s.nextIndex(ctx, q, counter) })
	if err != nil {
		return created{}, err
	}
	if more := len(inv.Events) - 1; more > 0 {
		if position, err = takePositions(ctx, q, c.MerchantID, more); err != nil {
			return created{}, err
		}
	}
	record := s.toRecord(inv)
	if err := s.insert(ctx, q, c, inv, record, position); err != nil {
		return created{}, err
	}
	return created{asRead(inv), record.shared}, s.addUnpaidPlaces(ctx, q, c, inv.ID)
}

// insert writes a new invoice with all its rows.
func (s *Storage) insert(ctx context.Context, q querier, c invoice.Creation, inv *invoice.Invoice, r record, position int64) error {
	if err := s.shared.save(ctx, q, r.shared); err != nil {
		return err
	}
	if err := r.row.insert(ctx, q, termsToColumns(inv.Terms)); err != nil {
		return fmt.Errorf("write invoice: %w", err)
	}
	if err := saveFlags(ctx, q, invoiceRow{status: string(invoice.Created)}, r.row); err != nil {
		return err
	}
	if err := saveTransfers(ctx, q, nil, r.transfers); err != nil {
		return err
	}
	if err := saveSpends(ctx, q, nil, inv); err != nil {
		return err
	}
	if err := saveKey(ctx, q, c, inv.ID); err != nil {
		return err
	}
	if err := saveOrder(ctx, q, c.Order, inv.ID); err != nil {
		return err
	}
	if err := addLinkUse(ctx, q, c.Link, r.row); err != nil {
		return err
	}
	if err := saveEvidence(ctx, q, c.EvidenceName, c.Evidence); err != nil {
		return err
	}
	if err := keepPluginMetadata(ctx, q, c, inv); err != nil {
		return err
	}
	if err := appendEvents(ctx, q, eventsOf(inv), position); err != nil {
		return err
	}
	if err := saveDestinations(ctx, q, inv, position); err != nil {
		return err
	}
	return s.saveSums(ctx, q, record{}, r)
}

// asRead returns a new invoice as readers get it: without events, and with lists and maps that are
// empty or nil in the same way.
func asRead(inv *invoice.Invoice) *invoice.Invoice {
	read := *inv
	read.Events, read.Messages = nil, nil
	if len(read.Terms.Metadata) == 0 {
		read.Terms.Metadata = nil
	}
	if read.Coverage == nil {
		read.Coverage = map[chain.ID]invoice.Coverage{}
	}
	return &read
}

// Invoice implements invoice.Storage.
func (s *Storage) Invoice(ctx context.Context, id string) (*invoice.Invoice, error) {
	found, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (record, error) { return s.readRecord(ctx, q, id) })
	if err != nil {
		return nil, err
	}
	return found.invoice()
}

// optimisticAttempts is the number of attempts in which UpdateInvoice decides outside of the write
// transaction. After that it locks the invoice first.
const optimisticAttempts = 3

// UpdateInvoice implements invoice.Storage. On SQLite all writes wait for each other, so decide
// runs outside of the transaction on an invoice read before. The transaction only compares the
// revision of the invoice and writes the rows that changed. If the invoice was written in the
// meantime, everything is repeated.
func (s *Storage) UpdateInvoice(ctx context.Context, id string, lease invoice.Lease, decide func(*invoice.Invoice) error) (*invoice.Invoice, error) {
	for range optimisticAttempts {
		inv, err := s.tryUpdate(ctx, id, lease, decide)
		if !errors.Is(err, errChanged) {
			return inv, err
		}
	}
	updated, err := answer(ctx, s.write, func(ctx context.Context, q querier) (record, error) {
		if err := s.checkLease(ctx, q, lease); err != nil {
			return record{}, err
		}
		before, err := s.lockInvoice(ctx, q, id)
		if err != nil {
			return record{}, err
		}
		next, err := s.evaluate(before, decide)
		if err != nil {
			return record{}, err
		}
		return next.after, s.writeChange(ctx, q, next)
	})
	if err != nil {
		return nil, err
	}
	return updated.invoice()
}

// writeChange writes a change of an invoice. If an account, an API key or a command made the change, it adds an
// entry to the audit log. Changes by networks and by the passage of time are in the invoice's events only.
func (s *Storage) writeChange(ctx context.Context, q querier, c change) error {
	if err := s.writeRows(ctx, q, c); err != nil || !c.differs() || recorderOf(ctx).actor.Kind == audit.System {
		return err
	}
	entry := audit.Change{MerchantID: c.inv.MerchantID, Action: "invoice.changed", Subject: c.inv.ID}
	return s.record(ctx, q, entry.Diff(invoiceFields(c.before), invoiceFields(c.after)))
}

// errChanged means that an invoice was written after it was read.
var errChanged = errors.New("the invoice changed since it was read")

// tryUpdate reads an invoice, lets decide change it, and writes the result. It returns errChanged if the invoice
// was written since it was read.
func (s *Storage) tryUpdate(ctx context.Context, id string, lease invoice.Lease, decide func(*invoice.Invoice) error) (*invoice.Invoice, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	before, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (record, error) { return s.readRecord(ctx, q, id) })
	if err != nil {
		return nil, err
	}
	next, err := s.evaluate(before, decide)
	if err != nil {
		return nil, err
	}
	err = s.write(ctx, func(ctx context.Context, q querier) error {
		if err := s.checkLease(ctx, q, lease); err != nil {
			return err
		}
		var revision int64
		err := q.QueryRowContext(ctx, "SELECT revision FROM invoices WHERE id = $1"+s.engine.ForUpdate, id).Scan(&revision)
		if err != nil {
			return notFound(err, "lock invoice", id)
		}
		if revision != before.row.revision {
			return errChanged
		}
		return s.writeChange(ctx, q, next)
	})
	if err != nil {
		return nil, err
	}
	return next.after.invoice()
}

// change is the result of a decision about an invoice.
type change struct {
	before, after record
	inv           *invoice.Invoice
	requested     bool // the invoice has another payment request
}

// evaluate lets decide change an invoice that was read before. It writes nothing.
func (s *Storage) evaluate(before record, decide func(*invoice.Invoice) error) (change, error) {
	inv, err := before.invoice()
	if err != nil {
		return change{}, err
	}
	if before.shared == nil { // the row is rewritten in the present form only if the invoice changes
		revision := before.row.revision
		before.row = invoiceToRow(inv, s.shared.termsOf(inv))
		before.row.revision = revision
	}
	requests := len(inv.PaymentRequests())
	if err := decide(inv); err != nil {
		return change{}, err
	}
	after := s.toRecord(inv)
	after.row.revision = before.row.revision
	c := change{before: before, after: after, inv: inv, requested: len(inv.PaymentRequests()) != requests}
	if c.differs() {
		c.after.row.revision++
	}
	return c, nil
}

// differs reports whether there are rows or events to write.
func (c change) differs() bool {
	return c.after.row != c.before.row || !slices.Equal(c.after.transfers, c.before.transfers) ||
		!slices.Equal(c.after.sales, c.before.sales) || !slices.Equal(c.after.refunds, c.before.refunds) || len(c.inv.Events) > 0
}

// writeRows writes the rows of a locked invoice that changed.
func (s *Storage) writeRows(ctx context.Context, q querier, c change) error {
	if c.after.row != c.before.row {
		if c.after.shared != c.before.shared {
			if err := s.shared.save(ctx, q, c.after.shared); err != nil {
				return err
			}
		}
		if err := c.after.row.update(ctx, q); err != nil {
			return fmt.Errorf("write invoice: %w", err)
		}
	}
	if err := saveTransfers(ctx, q, c.before.transfers, c.after.transfers); err != nil {
		return err
	}
	if err := saveSpends(ctx, q, c.before.spends, c.inv); err != nil {
		return err
	}
	if err := saveSales(ctx, q, c.before.sales, c.after.sales); err != nil {
		return err
	}
	if err := saveRefunds(ctx, q, c.before.refunds, c.after.refunds); err != nil {
		return err
	}
	if err := saveEvidence(ctx, q, c.inv.Quote().Evidence, c.inv.Evidence); err != nil {
		return err
	}
	if !c.inv.Removal.At.IsZero() {
		if err := examinePassed(ctx, q, c.inv.MerchantID, c.inv.ID); err != nil {
			return err
		}
	}
	if err := c.saveEvents(ctx, q); err != nil {
		return err
	}
	if err := s.saveCase(ctx, q, c.before.row, c.after.row); err != nil {
		return err
	}
	if err := updateLinkUses(ctx, q, c.before.row, c.after.row); err != nil {
		return err
	}
	if err := saveFlags(ctx, q, c.before.row, c.after.row); err != nil {
		return err
	}
	return s.saveSums(ctx, q, c.before, c.after)
}

// saveSums changes the received sums and the sums of days after a change of an invoice, which must be written already.
func (s *Storage) saveSums(ctx context.Context, q querier, before, after record) error {
	received, err := s.receivedChange(ctx, q, after.row, before.transfers, after.transfers)
	if err != nil {
		return err
	}
	if err := s.saveReceived(ctx, q, after.row.merchantID, received); err != nil {
		return err
	}
	return s.saveDaySums(ctx, q, addendChange{before.row.addend(), after.row.addend()})
}

// saveEvents writes the events and messages of a change and, if there is a new quote or a new payment request, the destinations
// with the times until which they are watched. Watchers then also load the changed refunds.
func (c change) saveEvents(ctx context.Context, q querier) error {
	inv := c.inv
	watchesMore := c.requested || c.after.row.expiresAt != c.before.row.expiresAt
	refunds := newlyWatched(c.before.refunds, c.after.refunds)
	if len(inv.Events) == 0 && len(inv.Messages) == 0 && !watchesMore && len(refunds) == 0 {
		return nil
	}
	// A position is allocated even without events, since watchers load the destinations with
	// positions above their marks.
	position, err := takePositions(ctx, q, inv.MerchantID, max(len(inv.Events), 1))
	if err != nil {
		return err
	}
	if err := appendEvents(ctx, q, eventsOf(inv), position); err != nil {
		return err
	}
	if err := watchRefunds(ctx, q, refunds, position); err != nil || !watchesMore {
		return err
	}
	return saveDestinations(ctx, q, inv, position)
}

// DueInvoices implements invoice.Storage.
func (s *Storage) DueInvoices(ctx context.Context, at time.Time, limit int) ([]string, error) {
	return readAll(ctx, s, "due invoices", column[string], "SELECT id FROM invoices WHERE next_check_at <= $1 ORDER BY next_check_at LIMIT $2", at.UnixMilli(), limit)
}

// lockInvoice locks an invoice against other changes, and reads it. It returns invoice.ErrNotFound if
// there is none.
func (s *Storage) lockInvoice(ctx context.Context, q querier, id string) (record, error) {
	err := q.QueryRowContext(ctx, "SELECT id FROM invoices WHERE id = $1"+s.engine.ForUpdate, id).Scan(&id)
	if err != nil {
		return record{}, notFound(err, "lock invoice", id)
	}
	return s.readRecord(ctx, q, id)
}
