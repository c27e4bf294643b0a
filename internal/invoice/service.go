package invoice

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/chain"
	"chequer/internal/invoice/calllimit"
	"chequer/internal/money"
)

// Rates are the prices of coins at one moment, held in memory.
type Rates interface {
	// Rate returns the price of one coin in fiat, by the rate code of an asset. An error means that
	// there is no usable rate now.
	Rate(code string, coin, fiat money.Currency) (money.Rate, error)
	// Source returns a short name of the source of the rates.
	Source() string
	// Evidence returns the source data of the rates of some codes in fiat, to be stored with a quote;
	// "" if there is none.
	Evidence(fiat money.Currency, codes ...string) string
}

// Config configures a Service.
type Config struct {
	Storage  Storage
	Networks map[Mode][]chain.Network
	// Connections are the Lightning networks of live invoices; nil if there are none.
	Connections Connections
	// Rates returns the current rates. All prices of a quote use the same Rates.
	Rates func() Rates
	// Unwatched allows networks without a scanner to be offered. They always count as scanned.
	Unwatched bool
	// MaxScanAge is the largest age of the last scan of a live network whose methods are offered; 0
	// means no limit.
	MaxScanAge time.Duration
	// RequireScanSinceStart means that the methods of a live network are offered only after a scan that
	// began after NewService, or at most maxAgeAtStart before it.
	RequireScanSinceStart bool
	Now                   func() time.Time
	// NewID returns a random identifier of 32 letters and digits.
	NewID func() string
	// Encode returns the body of an event for an invoice in its current state.
	Encode func(*Invoice, Event) []byte
	// Messages returns the messages to shop plug-ins about a change at a time, without their IDs; before is nil for a new
	// invoice. It sets ToldReceived and ToldConfirmed of the transfers of after. If Messages is nil, there are none.
	Messages func(before, after *Invoice, at time.Time) []Message
	// Changes connects the processes of one database. Nil means that there is only this process.
	Changes Changes
	Log     *slog.Logger
}

// Service creates invoices and applies the rules to them. It is safe for concurrent use.
type Service struct {
	storage  Storage
	networks map[Mode][]chain.Network
	// connections are live networks, which networks, scanned and live do not have.
	connections Connections
	scanned     map[chain.ID]bool // networks with a scanner
	live        map[chain.ID]bool // networks with a scanner that carry live invoices
	bridged     map[chain.ID][]chain.Asset
	startedAt   time.Time
	rates       func() Rates
	unwatched   bool

	maxScanAge            time.Duration
	requireScanSinceStart bool

	now         func() time.Time
	newID       func() string
	encode      func(*Invoice, Event) []byte
	messages    func(before, after *Invoice, at time.Time) []Message
	log         *slog.Logger
	predictor   indexPredictor
	evaluations evaluationCache

	subscriptions subscriptions
	changes       Changes
	outgoing      *outgoing
	calls         *calllimit.Limiter // to providers of payment requests
}

// NewService returns a new Service.
func NewService(c Config) *Service {
	s := &Service{
		storage: c.Storage, networks: c.Networks, connections: c.Connections, rates: c.Rates, unwatched: c.Unwatched,
		now: c.Now, newID: c.NewID, encode: c.Encode, messages: c.Messages, log: c.Log, scanned: map[chain.ID]bool{}, live: map[chain.ID]bool{}, startedAt: c.Now(),
		bridged: map[chain.ID][]chain.Asset{}, changes: c.Changes, outgoing: newOutgoing(), calls: calllimit.New(),
		maxScanAge: c.MaxScanAge, requireScanSinceStart: c.RequireScanSinceStart,
	}
	if s.connections == nil {
		s.connections = noConnections{}
	}
	for mode, networks := range c.Networks {
		for _, n := range networks {
			if b, ok := n.(chain.Bridged); ok {
				s.bridged[n.ID()] = b.Bridged()
			}
			if _, ok := n.(chain.Scanner); ok {
				s.scanned[n.ID()] = true
				s.live[n.ID()] = mode == Live
			}
		}
	}
	return s
}

// Now returns the time of the service's clock, for callers that show the remaining time.
func (s *Service) Now() time.Time { return s.now() }

// Invoice returns an invoice, or ErrNotFound.
func (s *Service) Invoice(ctx context.Context, id string) (*Invoice, error) {
	return s.storage.Invoice(ctx, id)
}

// Cancel declines an invoice that is unpaid or only partly paid. It returns ErrState otherwise. seen is
// the version of the invoice that the caller has seen: if there is a newer one, Cancel returns ErrStale.
// If seen is 0, Cancel does not check the version.
func (s *Service) Cancel(ctx context.Context, id string, seen int64) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		switch {
		case inv.changedSince(seen):
			return ErrStale
		case !inv.mayCancel():
			return ErrState
		}
		inv.DeclinedAt = s.now().Add(inv.Clock)
		return nil
	})
}

// Withdraw declines an invoice without any payment. It returns ErrState otherwise. An invoice that
// is already declined stays unchanged.
func (s *Service) Withdraw(ctx context.Context, id string) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		switch {
		case inv.State.Status == Declined:
			return nil
		case inv.State.Status != Created || len(inv.Payments()) > 0:
			return ErrState
		}
		inv.DeclinedAt = s.now().Add(inv.Clock)
		return nil
	})
}

// Accept accepts the present transfers as the full price, and records the actor. It returns ErrState
// if there is no transfer to accept, or if the invoice is paid already. seen is as in Cancel.
func (s *Service) Accept(ctx context.Context, id, actor string, seen int64) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		ids := inv.toAccept(inv.ledger())
		switch {
		case inv.changedSince(seen):
			return ErrStale
		case len(ids) == 0:
			return ErrState
		case inv.hasAccepted(ids):
			return nil
		}
		inv.Accepted, inv.AcceptedAt, inv.AcceptedBy = ids, s.now().Add(inv.Clock), actor
		return nil
	})
}

// SkipQuote moves the clock of a test invoice past the end of its newest quote. It returns ErrState if
// the invoice is not a test invoice.
func (s *Service) SkipQuote(ctx context.Context, id string) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		if inv.Mode != Test {
			return ErrState
		}
		past := inv.ExpiresAt().Add(time.Minute)
		inv.Clock = max(inv.Clock, past.Sub(s.now()))
		return nil
	})
}

// MaxClock is the largest time by which a test invoice's own clock can be ahead: longer than any
// deadline of an invoice.
const MaxClock = 365 * 24 * time.Hour

// MoveClock moves the clock of a test invoice forward. It returns ErrState if the invoice is not a test
// invoice, or if its clock would be more than MaxClock ahead.
func (s *Service) MoveClock(ctx context.Context, id string, shift time.Duration) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		if inv.Mode != Test || shift < 0 || shift > MaxClock-inv.Clock {
			return ErrState
		}
		inv.Clock += shift
		return nil
	})
}

// update changes the facts of an invoice with decide, evaluates them, and stores the result
// together with its events.
func (s *Service) update(ctx context.Context, id string, lease Lease, decide func(*Invoice) error) (*Invoice, error) {
	progress, err := s.storage.Progress(ctx)
	if err != nil {
		return nil, err
	}
	return s.updateWithProgress(ctx, id, lease, progress, decide)
}

// updateWithProgress is update with a given progress of the networks.
func (s *Service) updateWithProgress(ctx context.Context, id string, lease Lease, progress map[chain.ID]Progress, decide func(*Invoice) error) (*Invoice, error) {
	var from, to Status
	var version int64
	inv, err := s.storage.UpdateInvoice(ctx, id, lease, func(inv *Invoice) error {
		before := inv.clone()
		if err := decide(inv); err != nil {
			return err
		}
		s.applyChange(inv, before, progress)
		from, to, version = before.State.Status, inv.State.Status, before.Version
		return nil
	})
	if err != nil {
		return nil, err
	}
	if from != to {
		s.log.Info("invoice status changed", "invoice", inv.ID, "from", from, "to", to, "version", inv.Version)
	}
	if inv.Version != version {
		s.announceChange(ctx, inv)
		s.reviewRequests(inv)
	}
	return inv, nil
}

// announceChange notifies the subscribers of an invoice that has a new version, in this process and in
// others.
func (s *Service) announceChange(ctx context.Context, inv *Invoice) {
	s.subscriptions.notify(inv.ID, inv.Version)
	change := Change{inv.ID, inv.Version}
	if s.changes == nil || s.outgoing.add(change) {
		return
	}
	if err := s.changes.Announce(ctx, []Change{change}); err != nil {
		s.log.Warn("change not announced", "invoice", inv.ID, "error", err)
	}
}

// applyChange updates the coverage, evaluates the facts, creates sales when the invoice becomes paid,
// and adds the version and events of the change.
func (s *Service) applyChange(inv, before *Invoice, progress map[chain.ID]Progress) {
	now := s.now()
	for i := range inv.Refunds {
		r := &inv.Refunds[i]
		if i >= len(before.Refunds) || before.Refunds[i].State != r.State || before.Refunds[i].Script != r.Script {
			r.watch(now)
		}
	}
	s.coverAll(inv, progress)
	inv.DelayedAt = delayedAt(inv, now.Add(inv.Clock))
	l := inv.ledger()
	state := inv.evaluate(l)
	if state.Status == Paid {
		state.PaidAt = inv.State.PaidAt
		if state.PaidAt.IsZero() {
			state.PaidAt = now.Add(inv.Clock)
		}
	}
	if next := state.NextCheck; !next.IsZero() && !next.After(now) {
		state.NextCheck = now.Add(recheckInterval(now.Sub(next)))
	}
	inv.State = state
	inv.supersede(l, now)
	if state.Status == Paid && before.State.Status != Paid {
		inv.PaidCount++
		if inv.FirstPaidAt.IsZero() {
			inv.FirstPaidAt = state.PaidAt
		}
	}
	if state.Status == Paid && (before.State.Status != Paid || before.waitsForBlock()) {
		inv.createSales(now)
	}
	ignored := inv.ignoredTransfers(l)
	list := eventTypesOf(before, inv, ignored)
	if len(list) == 0 && !isVisible(before, inv, ignored) {
		return
	}
	inv.Version++
	for _, e := range list {
		inv.Events = append(inv.Events, s.event(inv, e, now))
	}
	inv.Messages = s.messagesOf(before, inv, now)
}

// messagesOf returns the messages to shop plug-ins about a change, or about a new invoice if before is nil.
func (s *Service) messagesOf(before, after *Invoice, now time.Time) []Message {
	if s.messages == nil {
		return nil
	}
	list := s.messages(before, after, now)
	for i := range list {
		list[i].ID, list[i].CreatedAt = "msg_"+s.newID(), now
	}
	return list
}

// isVisible reports whether a page shows a change that causes no event.
func isVisible(before, after *Invoice, ignored map[string]bool) bool {
	if len(before.PaymentRequests()) != len(after.PaymentRequests()) {
		return true
	}
	if before.Clock != after.Clock || before.RefundAddress != after.RefundAddress || !before.AcceptedAt.Equal(after.AcceptedAt) {
		return true
	}
	if !slices.EqualFunc(before.Refunds, after.Refunds, Refund.equal) || before.Kept.At != after.Kept.At {
		return true
	}
	known := before.byID()
	for _, t := range after.Transfers {
		b, seen := known[t.ID]
		if ignored[t.ID] || t.isSettled() && !seen { // a new aggregate of transfers that were recorded before
			continue
		}
		if !seen || b.Confirmations != t.Confirmations || b.Contested != t.Contested || b.Presence != t.Presence || (b.Block == nil) != (t.Block == nil) || b.Folded != t.Folded && !t.isSettled() {
			return true
		}
	}
	return len(before.State.Exceptions) != len(after.State.Exceptions)
}

// recheckInterval returns the time until the next check of an invoice whose last check was due lateBy
// ago and did not decide its state. It grows with lateBy.
func recheckInterval(lateBy time.Duration) time.Duration {
	return min(max(lateBy/10, 2*time.Second), time.Minute)
}

// delayedAfter is the time after expiry until an invoice without coverage is delayed and the merchant is
// notified.
const delayedAfter = 2 * time.Hour

// delayedAt returns the time at which inv was found delayed: delayedAfter has passed since its expiry,
// and a network is not scanned past the expiry. It returns zero if inv is not delayed.
func delayedAt(inv *Invoice, now time.Time) time.Time {
	switch {
	case inv.scannedPast(inv.ExpiresAt()) || now.Sub(inv.ExpiresAt()) < delayedAfter:
		return time.Time{}
	case inv.DelayedAt.IsZero():
		return now
	}
	return inv.DelayedAt
}

// coverAll updates the coverage of each of the invoice's networks. A network without a scanner counts as
// scanned now if Config.Unwatched is set or the method was not watched when it was created, and so does a network on
// which the invoice has no destination, because no payment request was made. Its unconfirmed transfers count as not watched since the creation of
// the invoice.
func (s *Service) coverAll(inv *Invoice, progress map[chain.ID]Progress) {
	for _, m := range inv.Methods {
		network := m.Asset.Network
		if !s.isScanned(network) && (s.unwatched || !m.Watched) || !inv.hasDestination(network) {
			inv.Cover(network, s.now(), []Gap{{Until: s.now()}})
			continue
		}
		if p, ok := progress[network]; ok {
			scanned := p.Scanned
			if now := s.now(); scanned.After(now) { // the clock was set back
				scanned = now
			}
			inv.Cover(network, scanned, p.Gaps)
		}
	}
}

// event returns a new event with its body.
func (s *Service) event(inv *Invoice, t EventType, now time.Time) Event {
	e := Event{ID: "evt_" + s.newID(), Type: t, Version: inv.Version, CreatedAt: now}
	e.Body = s.encode(inv, e)
	return e
}

// Observe records the facts of a scan of a network for the invoices that it concerns. reached is the
// progress of the network after the scan. After an error the scan must be repeated from the old
// cursor. Observing the same facts again is harmless.
func (s *Service) Observe(ctx context.Context, lease Lease, snapshot chain.Snapshot, reached Progress, owners Owners) error {
	observations, err := s.observations(ctx, lease.Network, snapshot, owners)
	if err != nil {
		return fmt.Errorf("observe %s: %w", lease.Network, err)
	}
	progress, err := s.storage.Progress(ctx)
	if err != nil {
		return fmt.Errorf("observe %s: %w", lease.Network, err)
	}
	progress[lease.Network] = reached
	var group errgroup.Group // an error of one invoice does not interrupt the others
	group.SetLimit(maxConcurrentUpdates)
	for id, o := range observations {
		group.Go(func() error {
			_, err := s.updateWithProgress(ctx, id, lease, progress, func(inv *Invoice) error {
				o.Market, o.Forks = s.market(inv), reached.Forks
				o.Rate = func(asset string) MarketRate { return s.marketRate(lease.Network, asset) }
				inv.Observe(o)
				return nil
			})
			if err != nil {
				return fmt.Errorf("observe %s: invoice %s: %w", lease.Network, id, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// maxConcurrentUpdates is the maximum number of invoices of one scan that are written concurrently, so
// that storage can write several in one commit.
const maxConcurrentUpdates = 32
