package notify

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"chequer/internal/format"
	"chequer/internal/invoice"
	"chequer/internal/locale"
	"chequer/internal/money"
)

// eventBatch is the number of events that the collector reads at a time.
const eventBatch = 200

// Collector writes the messages about invoices, faults and sums to the outbox. Several collectors with one
// storage, also in other processes, share the work.
type Collector struct {
	storage CollectorStorage
	words   *locale.Language
	// name returns the name of an asset.
	name   func(mode invoice.Mode, code string) string
	faults func(context.Context) ([]Fault, error)
	now    func() time.Time
}

// CollectorConfig holds the dependencies of a Collector.
type CollectorConfig struct {
	Storage CollectorStorage
	Words   *locale.Language
	// AssetName returns the name of an asset.
	AssetName func(mode invoice.Mode, code string) string
	// Faults returns the present faults of the server and of the shops.
	Faults func(context.Context) ([]Fault, error)
	Now    func() time.Time
}

// NewCollector returns a new Collector.
func NewCollector(c CollectorConfig) *Collector {
	return &Collector{storage: c.Storage, words: c.Words, name: c.AssetName, faults: c.Faults, now: c.Now}
}

// Collect writes the messages of the new events of all shops. If the events of a shop cannot be read, it
// continues with the next shop.
func (c *Collector) Collect(ctx context.Context) error {
	feeds, err := c.storage.NotificationFeeds(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, f := range feeds {
		if err := c.collectAll(ctx, f); err != nil {
			faults = append(faults, fmt.Errorf("notifications of %s: %w", f.MerchantID, err))
		}
	}
	return errors.Join(faults...)
}

// collectAll writes the messages of the events up to the end of a feed. It ends early if another process writes
// them.
func (c *Collector) collectAll(ctx context.Context, f Feed) error {
	var faults []error
	for f.Cursor < f.End {
		to, err := c.collect(ctx, f)
		faults = append(faults, err)
		if to == f.Cursor {
			break
		}
		f.Cursor = to
	}
	return errors.Join(faults...)
}

// collect writes the messages of one batch of events, and returns the new position of the cursor. An invoice that
// cannot be read is skipped, with an error the first time.
func (c *Collector) collect(ctx context.Context, f Feed) (to int64, err error) {
	events, err := c.storage.FeedEvents(ctx, f.MerchantID, f.Cursor, eventBatch)
	if err != nil {
		return f.Cursor, err
	}
	if to = f.End; len(events) > 0 {
		to = events[len(events)-1].Position
	}
	subscribers, unreadable := c.storage.Subscribers(ctx, f.MerchantID)
	if unreadable != nil && len(subscribers) == 0 {
		return f.Cursor, unreadable
	}
	all, skipped, err := c.noticesOf(ctx, f.MerchantID, events, subscribers)
	if err != nil {
		return f.Cursor, err
	}
	advanced, err := c.storage.AdvanceNotifications(ctx, f, to, all, c.now())
	if err != nil || !advanced {
		return f.Cursor, err
	}
	return to, errors.Join(unreadable, skipped)
}

// noticesOf returns the notices of events. The error skipped names the invoices that cannot be read.
func (c *Collector) noticesOf(ctx context.Context, merchantID string, events []FeedEvent, subscribers []Subscriber) (all []Notice, skipped, err error) {
	for _, e := range events {
		if e.Mode != invoice.Live || e.InvoiceID == "" || !notable[e.Type] {
			continue
		}
		inv, err := c.storage.Invoice(ctx, e.InvoiceID)
		if errors.Is(err, invoice.ErrNotFound) {
			continue
		}
		skip, err := invoice.SkipUnreadable(ctx, c.storage, err, c.now())
		if skip {
			skipped = errors.Join(skipped, err)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		all = append(all, c.notices(merchantID, e, inv, subscribers)...)
	}
	return all, skipped, nil
}

// notable are the types of the events after which an invoice may be paid or wait for a decision. The events of payments
// are among them, because another payment after a decision does not raise the same exception again.
var notable = map[invoice.EventType]bool{
	invoice.EventPaid: true, invoice.EventExpired: true, invoice.EventDeclined: true, invoice.EventReverted: true,
	invoice.EventPaymentReorged: true, invoice.EventException: true, invoice.EventPaymentSeen: true, invoice.EventPaymentConfirmed: true,
	invoice.EventRefundRequested: true,
}

// notices returns the notices of an event, from the present state of its invoice: a payment that was
// reverted meanwhile is no sale.
func (c *Collector) notices(merchantID string, e FeedEvent, inv *invoice.Invoice, subscribers []Subscriber) []Notice {
	var all []Notice
	s := inv.Summary()
	if e.Type == invoice.EventPaid && s.Status == invoice.Paid {
		all = append(all, Notice{InvoiceID: s.ID, Entries: c.entries(merchantID, Sold, c.soldText(s), s.ID, subscribers)})
	}
	if state := caseOf(s); state != "" {
		all = append(all, Notice{InvoiceID: s.ID, Case: state + lastDecision(inv), Entries: c.entries(merchantID, Attention, c.caseText(s, state), s.ID, subscribers)})
	}
	return all
}

// entries returns the entries about an invoice for the accounts that have chosen a kind.
func (c *Collector) entries(merchantID string, k Kind, text, invoiceID string, subscribers []Subscriber) (all []Entry) {
	item := Item{MerchantID: merchantID, Text: text, Path: "/" + merchantID + "/payments/" + invoiceID}
	for _, s := range subscribers {
		for _, channel := range s.channels(merchantID, k) {
			all = append(all, Entry{AccountID: s.Account.ID, Channel: channel, Kind: k, DueAt: dueAt(s.Settings, k, c.now()), Item: item})
		}
	}
	return all
}

// channels returns the channels by which a kind reaches the subscriber in a shop. A channel without a
// destination is none.
func (s Subscriber) channels(merchantID string, k Kind) (all []Channel) {
	if !k.AllowedTo(s.Account, merchantID) {
		return nil
	}
	for _, c := range s.Choices[merchantID] {
		if c.Kind == k && s.Settings.Destination(c.Channel) != "" {
			all = append(all, c.Channel)
		}
	}
	return all
}

// caseOf returns the state of an invoice that needs attention, as the key of its text; "" if it needs none.
func caseOf(s invoice.Summary) string {
	decide := s.NeedsDecision()
	switch {
	case s.Has(invoice.WasReorged) && s.Status != invoice.Paid && !s.Accepted:
		return "desk.state.reverted"
	case s.RefundAsked:
		return "desk.state.requested"
	case decide && s.Has(invoice.Late):
		return "desk.state.late"
	case s.Has(invoice.RefundInTrouble):
		return "desk.state.refund"
	case decide && s.Has(invoice.Overpaid):
		return "desk.state.overpaid"
	case decide && s.Has(invoice.WrongAsset):
		return "desk.state.wrong"
	case decide && s.Has(invoice.Older):
		return "desk.state.older"
	case decide:
		return "desk.state.short"
	}
	return ""
}

// lastDecision identifies the last decision of the merchant about money of an invoice; "" if there was none. Money that
// waits after a decision is another case, even in the same state.
func lastDecision(inv *invoice.Invoice) string {
	at := inv.Kept.At
	for _, r := range inv.Refunds {
		if last := r.Last().At; (r.Paid() || r.State == invoice.RefundDeclined) && last.After(at) {
			at = last
		}
	}
	if at.IsZero() {
		return ""
	}
	return " after " + strconv.FormatInt(at.UnixMilli(), 10)
}

// soldText returns the line of a paid invoice.
func (c *Collector) soldText(s invoice.Summary) string {
	return c.words.Text("desk.notify.sold.line", "Name", c.nameOf(s), "Amount", c.fiat(s.Price), "Asset", c.name(s.Mode, s.PaidAsset))
}

// caseText returns the line of an invoice that needs attention.
func (c *Collector) caseText(s invoice.Summary, state string) string {
	return c.words.Text("desk.notify.attention.line", "Name", c.nameOf(s), "Amount", c.fiat(s.Price), "State", c.words.Text(state, "Amount", c.fiat(s.Due)))
}

func (c *Collector) fiat(a money.Amount) string { return c.words.Fiat(a.String(), a.Currency().Code) }

// maxOrder bounds the number of characters of an order in a message.
const maxOrder = 60

// nameOf returns the order of an invoice on one line, or its reference.
func (c *Collector) nameOf(s invoice.Summary) string {
	if order := format.OneLine(s.OrderID, maxOrder); order != "" {
		return c.words.Text("desk.notify.order", "Order", order)
	}
	return c.words.Text("desk.notify.payment", "Reference", s.Reference)
}
