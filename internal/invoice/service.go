package invoice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Rates tells what coins cost at one moment, from memory.
type Rates interface {
	// Rate is the price of one coin, named by an asset's rate code, in fiat. An
	// error means that there is no usable rate now.
	Rate(code string, coin, fiat money.Currency) (money.Rate, error)
	// Source says in a word where rates come from.
	Source() string
	// Evidence is what the rates of some codes in fiat rest on, to be kept with a
	// quote; "" when there is nothing to say.
	Evidence(fiat money.Currency, codes ...string) string
}

// Config is what a Service is made of.
type Config struct {
	Storage  Storage
	Networks map[Mode][]chain.Network
	// Rates takes the moment that all prices of a quote are of.
	Rates func() Rates
	// Unwatched lets networks without a scanner be offered; they count as
	// scanned by the clock.
	Unwatched bool
	// Tolerance is frozen in the terms of new invoices.
	Tolerance Tolerance
	// MaxScanAge is how old the last scan of a live network may be while its methods
	// are offered; 0 is any age.
	MaxScanAge time.Duration
	// SinceStart offers the methods of a live network only once it was scanned after
	// NewService.
	SinceStart bool
	Now        func() time.Time
	// NewID makes a random identifier of 32 letters and digits.
	NewID func() string
	// Encode makes the body of an event from the invoice as it stands then.
	Encode func(*Invoice, Event) []byte
	Log    *slog.Logger
}

// Service makes invoices and decides about them. It is safe for concurrent use.
type Service struct {
	storage   Storage
	networks  map[Mode][]chain.Network
	scanned   map[chain.ID]bool // networks with a scanner
	live      map[chain.ID]bool // those that carry live invoices
	began     time.Time
	rates     func() Rates
	unwatched bool
	tolerance Tolerance

	maxScanAge time.Duration
	sinceStart bool

	now     func() time.Time
	id      func() string
	encode  func(*Invoice, Event) []byte
	log     *slog.Logger
	bell    bell
	guesses guesses
	counts  counts
}

// NewService makes a Service.
func NewService(c Config) *Service {
	s := &Service{
		storage: c.Storage, networks: c.Networks, rates: c.Rates, unwatched: c.Unwatched, tolerance: c.Tolerance,
		now: c.Now, id: c.NewID, encode: c.Encode, log: c.Log, scanned: map[chain.ID]bool{}, live: map[chain.ID]bool{}, began: c.Now(),
		maxScanAge: c.MaxScanAge, sinceStart: c.SinceStart,
	}
	for mode, networks := range c.Networks {
		for _, n := range networks {
			if _, ok := n.(chain.Scanner); ok {
				s.scanned[n.ID()] = true
				s.live[n.ID()] = mode == Live
			}
		}
	}
	return s
}

// Now is the service's clock, for who shows how much time is left.
func (s *Service) Now() time.Time { return s.now() }

// Asset is what a network offers under a code, whether or not an invoice does.
func (s *Service) Asset(network chain.ID, code string) (chain.Asset, bool) {
	for _, networks := range s.networks {
		for _, n := range networks {
			if n.ID() != network {
				continue
			}
			for _, a := range n.Assets() {
				if a.Code == code {
					return a, true
				}
			}
		}
	}
	return chain.Asset{}, false
}

// Invoice reads an invoice; ErrNotFound.
func (s *Service) Invoice(ctx context.Context, id string) (*Invoice, error) {
	return s.storage.Invoice(ctx, id)
}

// Cancel declines an invoice that nothing, or only a part, was seen for; else
// ErrState.
func (s *Service) Cancel(ctx context.Context, id string) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		open := inv.Standing.Status == Created ||
			inv.Standing.Status == Pending && inv.Standing.Has(Underpaid) && !inv.Standing.Due.IsZero()
		if !open {
			return ErrState
		}
		inv.DeclinedAt = s.now().Add(inv.Clock)
		return nil
	})
}

// Withdraw declines an invoice for which no payment was seen, else ErrState. An
// invoice that was declined before stays as it is.
func (s *Service) Withdraw(ctx context.Context, id string) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		switch {
		case inv.Standing.Status == Declined:
			return nil
		case inv.Standing.Status != Created || len(inv.Payments()) > 0:
			return ErrState
		}
		inv.DeclinedAt = s.now().Add(inv.Clock)
		return nil
	})
}

// Accept lets the transfers present stand for the full price, and records who decided
// that; ErrState when there is none, or the invoice is paid already.
func (s *Service) Accept(ctx context.Context, id, actor string) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		if inv.Standing.Status == Paid {
			return ErrState
		}
		var ids []string
		for _, t := range inv.worthAccepting() {
			ids = append(ids, t.ID)
		}
		if len(ids) == 0 {
			return ErrState
		}
		slices.Sort(ids)
		if slices.Equal(ids, slices.Sorted(slices.Values(inv.Accepted))) {
			return nil // it stands already
		}
		inv.Accepted, inv.AcceptedAt, inv.AcceptedBy = ids, s.now().Add(inv.Clock), actor
		return nil
	})
}

// SkipHold moves a test invoice's own clock past the end of its newest quote.
// ErrState when it is not a test invoice.
func (s *Service) SkipHold(ctx context.Context, id string) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		if inv.Mode != Test {
			return ErrState
		}
		past := inv.ExpiresAt().Add(time.Minute)
		if ahead := past.Sub(s.now()); ahead > inv.Clock {
			inv.Clock = ahead
		}
		return nil
	})
}

// MaxClock is how far a test invoice's own clock is moved ahead at most: past
// everything that time alone decides.
const MaxClock = 365 * 24 * time.Hour

// MoveClock moves a test invoice's own clock forward. ErrState when it is not a
// test invoice, or its clock is MaxClock ahead then.
func (s *Service) MoveClock(ctx context.Context, id string, by time.Duration) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		if inv.Mode != Test || by < 0 || by > MaxClock-inv.Clock {
			return ErrState
		}
		inv.Clock += by
		return nil
	})
}

// update lets decide change the facts of an invoice, judges them, and makes the
// result lasting together with the events that tell of it.
func (s *Service) update(ctx context.Context, id string, lease Lease, decide func(*Invoice) error) (*Invoice, error) {
	progress, err := s.storage.Progress(ctx)
	if err != nil {
		return nil, err
	}
	return s.updateAt(ctx, id, lease, progress, decide)
}

// updateAt is update with the networks scanned so far.
func (s *Service) updateAt(ctx context.Context, id string, lease Lease, progress map[chain.ID]Progress, decide func(*Invoice) error) (*Invoice, error) {
	var from, to Status
	var version int64
	inv, err := s.storage.UpdateInvoice(ctx, id, lease, func(inv *Invoice) error {
		before := inv.clone()
		if err := decide(inv); err != nil {
			return err
		}
		s.settle(inv, before, progress)
		from, to, version = before.Standing.Status, inv.Standing.Status, before.Version
		return nil
	})
	if err != nil {
		return nil, err
	}
	if from != to {
		s.log.Info("invoice status changed", "invoice", inv.ID, "from", from, "to", to, "version", inv.Version)
	}
	if inv.Version != version {
		s.bell.ring(inv.ID)
	}
	return inv, nil
}

// settle judges the changed facts and notes the events.
func (s *Service) settle(inv, before *Invoice, progress map[chain.ID]Progress) {
	now := s.now()
	s.coverAll(inv, progress)
	inv.DelayedAt = delayedAt(inv, now.Add(inv.Clock))
	l := inv.ledger()
	standing := inv.judge(l)
	if standing.Status == Paid {
		standing.PaidAt = inv.Standing.PaidAt
		if standing.PaidAt.IsZero() {
			standing.PaidAt = now.Add(inv.Clock)
		}
	}
	if next := standing.NextCheck; !next.IsZero() && !next.After(now) {
		standing.NextCheck = now.Add(patience(now.Sub(next)))
	}
	inv.Standing = standing
	if standing.Status == Paid && before.Standing.Status != Paid {
		inv.PaidCount++
		if inv.FirstPaidAt.IsZero() {
			inv.FirstPaidAt = standing.PaidAt
		}
		inv.convert(now)
	}
	nothing := inv.nothing(l)
	list := changes(before, inv, nothing)
	if len(list) == 0 && !visible(before, inv, nothing) {
		return
	}
	inv.Version++
	for _, e := range list {
		inv.Events = append(inv.Events, s.event(inv, e, now))
	}
}

// visible tells whether something changed that no event tells, but a page does.
func visible(before, after *Invoice, nothing map[string]bool) bool {
	if before.Clock != after.Clock || before.Refund != after.Refund || !before.AcceptedAt.Equal(after.AcceptedAt) {
		return true
	}
	known := before.byID()
	for _, t := range after.Transfers {
		b, seen := known[t.ID]
		if nothing[t.ID] || t.isSettled() && !seen { // the sum of what was known
			continue
		}
		if !seen || b.Confirmations != t.Confirmations || b.Presence != t.Presence || (b.Block == nil) != (t.Block == nil) || b.Folded != t.Folded && !t.isSettled() {
			return true
		}
	}
	return len(before.Standing.Exceptions) != len(after.Standing.Exceptions)
}

// patience is when to look again at an invoice whose expiry waits for coverage:
// the longer it waits, the later.
func patience(overdue time.Duration) time.Duration {
	return min(max(overdue/10, 2*time.Second), time.Minute)
}

// delayedAfter is how long after the end coverage may be missing before a
// person is told.
const delayedAfter = 2 * time.Hour

// delayedAt is since when an invoice's expiry waits for coverage too long.
func delayedAt(inv *Invoice, now time.Time) time.Time {
	switch {
	case inv.scannedPast(inv.ExpiresAt()) || now.Sub(inv.ExpiresAt()) < delayedAfter:
		return time.Time{}
	case inv.DelayedAt.IsZero():
		return now
	}
	return inv.DelayedAt
}

// coverAll takes note of how far each of the invoice's networks was scanned. A
// network without a scanner counts as scanned by the clock, and as not watched.
func (s *Service) coverAll(inv *Invoice, progress map[chain.ID]Progress) {
	for _, m := range inv.Methods {
		network := m.Asset.Network
		if !s.scanned[network] && (s.unwatched || !m.Watched) {
			inv.Cover(network, s.now(), []Gap{{Until: s.now()}})
			continue
		}
		if p, ok := progress[network]; ok {
			scanned := p.Scanned
			if now := s.now(); scanned.After(now) { // the clock was put back
				scanned = now
			}
			inv.Cover(network, scanned, p.Gaps)
		}
	}
}

// Reached reports whether a network was scanned recently enough for its methods to be
// offered. Networks of test invoices, and those without a scanner, always are.
func (s *Service) Reached(network chain.ID, progress map[chain.ID]Progress) bool {
	if s.maxScanAge == 0 || !s.live[network] {
		return true
	}
	now, scanned := s.now(), progress[network].Scanned
	// A clock that was put back closes no network.
	if s.sinceStart && scanned.Before(s.began.Add(-handover)) && !now.Before(s.began) {
		return false
	}
	return now.Sub(scanned) <= s.maxScanAge
}

// handover is how old the last scan may be when this process starts: another process
// that scans, or that stopped just before, has reached the network.
const handover = 30 * time.Second

// lately is how old a scan may be before the page says that a payment may show
// later than usual.
const lately = 30 * time.Second

// firstLook is how long a program that has just begun may take for its first look.
const firstLook = 20 * time.Second

// Behind lists the networks of an open invoice that should be looked at and were
// not lately, in the order of its methods. A program that has just begun has time
// for its first look.
func (s *Service) Behind(ctx context.Context, inv *Invoice) ([]chain.ID, error) {
	if inv.Standing.Status != Created && inv.Standing.Status != Pending {
		return nil, nil
	}
	progress, err := s.storage.RecentProgress(ctx)
	if err != nil {
		return nil, err
	}
	var behind []chain.ID
	for _, m := range inv.Methods {
		network := m.Asset.Network
		late := s.now().Sub(progress[network].Scanned) > lately && s.now().Sub(s.began) > firstLook
		if s.scanned[network] && late && !slices.Contains(behind, network) {
			behind = append(behind, network)
		}
	}
	return behind, nil
}

// Convert lets decide change the conversions of an invoice and nothing else, and
// makes that lasting together with the events that it tells of.
func (s *Service) Convert(ctx context.Context, id string, decide func(*Invoice) ([]EventType, error)) (*Invoice, error) {
	inv, err := s.storage.UpdateInvoice(ctx, id, Lease{}, func(inv *Invoice) error {
		before := told(inv)
		list, err := decide(inv)
		if err != nil {
			return err
		}
		if len(list) > 0 || told(inv) != before {
			inv.Version++
		}
		for _, e := range list {
			inv.Events = append(inv.Events, s.event(inv, e, s.now()))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.bell.ring(inv.ID)
	return inv, nil
}

// told is what others are told of an invoice's conversions.
func told(inv *Invoice) string {
	var b strings.Builder
	for i := range inv.Conversions {
		c := &inv.Conversions[i]
		s := c.Sold()
		fmt.Fprintln(&b, c.State, c.Reason, s.Sold, s.Euro, s.Fee)
	}
	return b.String()
}

// event makes an event with its body.
func (s *Service) event(inv *Invoice, t EventType, now time.Time) Event {
	e := Event{ID: "evt_" + s.id(), Type: t, Version: inv.Version, CreatedAt: now}
	e.Body = s.encode(inv, e)
	return e
}

// Observe records what a scan of a network found, for the invoices it touches,
// which are scanned as far as reached says by that. An error means that the scan
// must be done again from the old cursor; hearing the same again is harmless.
func (s *Service) Observe(ctx context.Context, lease Lease, snapshot chain.Snapshot, reached Progress, owners Owners) error {
	facts, err := s.facts(ctx, lease.Network, snapshot, owners)
	if err != nil {
		return fmt.Errorf("observe %s: %w", lease.Network, err)
	}
	progress, err := s.storage.Progress(ctx)
	if err != nil {
		return fmt.Errorf("observe %s: %w", lease.Network, err)
	}
	progress[lease.Network] = reached
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for id, o := range facts {
		group.Go(func() error {
			_, err := s.updateAt(ctx, id, lease, progress, func(inv *Invoice) error {
				o.Market, o.Forks = s.market(inv), reached.Forks
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

// writers is how many invoices of one scan are written at a time, so that
// storage can write several in one commit.
const writers = 32

// Expire judges invoices that time alone may have changed, at most limit of
// them, and tells how many it looked at.
func (s *Service) Expire(ctx context.Context, limit int) (int, error) {
	ids, err := s.storage.DueInvoices(ctx, s.now(), limit)
	if err != nil {
		return 0, fmt.Errorf("expire: %w", err)
	}
	var faults []error
	for _, id := range ids {
		if _, err := s.update(ctx, id, Lease{}, func(*Invoice) error { return nil }); err != nil {
			faults = append(faults, fmt.Errorf("expire invoice %s: %w", id, err))
		}
	}
	return len(ids), errors.Join(faults...)
}
