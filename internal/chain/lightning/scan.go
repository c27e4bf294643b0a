package lightning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// lookup is the state of the lookups of one request.
type lookup struct {
	request chain.PendingRequest
	dueAt   time.Time
	backoff backoff // after failures of this request only
	failure error   // of the last lookup, nil if it succeeded
	settled *chain.Transfer
	// isOwn is true if failure says nothing about the lookups of other requests.
	isOwn bool
	// failingSince is the start of the current failure, zero if there is none.
	failingSince time.Time
	shownAt      time.Time // when a scan returned settled as new; zero if none did
	notifiedAt   time.Time // when a payment of the request was notified for the last time
}

// isOver reports whether the lookups of a request fail and those of others do not, long after its end. Then no scan waits for it any
// more: providers forget old requests.
func (l *lookup) isOver(now time.Time) bool {
	return l.failure != nil && l.isOwn && now.After(l.request.Until.Add(2*chain.LookupGrace))
}

// rank returns the place of the request among those that are due: 1 if its last lookup failed, else 0.
func (l *lookup) rank() int {
	if l.failure != nil {
		return 1
	}
	return 0
}

// showAgain is the time after which a settled request counts as new again, because its payment was not recorded.
const showAgain = time.Minute

// tip is the only cursor: nothing follows from the absence of a transfer.
var tip = chain.Block{Height: height, Hash: "lightning"}

// Scan implements chain.Scanner: it looks up the requests that are due, and shows those that are settled. It returns an
// error if it could not look up all of them, so that their invoices do not expire. If some of the others are newly
// settled, it first returns these as the part of a snapshot that is not complete.
func (n *Network) Scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	return n.attempts.Scan(from, func() (chain.Snapshot, error) { return n.scan(ctx, watched) })
}

func (n *Network) scan(ctx context.Context, watched chain.Watched) (chain.Snapshot, error) {
	started := n.config.Now()
	s := chain.Snapshot{Started: started, From: tip.Cursor(), Tip: tip, Next: tip.Cursor(), Unconfirmed: chain.None}
	due, delayed := n.takeDue(watched, started)
	isComplete := n.lookUp(ctx, due, started)
	if err := ctx.Err(); err != nil {
		return chain.Snapshot{}, err
	}
	failure, isNew := n.collect(&s)
	if failure == nil {
		failure = delayed
	}
	switch {
	case failure != nil && !isNew:
		return chain.Snapshot{}, failure
	case failure != nil || !isComplete:
		s.Behind = true
	}
	return s, nil
}

// takeDue replaces the requests by those of watched, and returns those that are due: those first whose last lookup did not
// fail, so that they do not wait for a request that always fails; of these, those that are due for longest, and of these, the
// newest. delayed is an error if some of them are not looked up now, because the provider failed just before.
func (n *Network) takeDue(watched chain.Watched, now time.Time) (due []*lookup, delayed error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	current := map[string]*lookup{}
	if r, ok := watched.(chain.Requests); ok {
		for request := range r.Requests() {
			l := n.lookups[request.Hash]
			if l == nil {
				l = &lookup{dueAt: now}
			}
			l.request = request
			current[request.Hash] = l
		}
	}
	n.lookups = current
	isWaiting := n.backoff.isWaiting(now)
	for _, l := range current {
		if l.dueAt.Sub(now) > maxInterval { // the clock was set back
			l.dueAt = now
		}
		if hash := l.request.Hash; n.notified[hash] {
			delete(n.notified, hash)
			l.dueAt, l.notifiedAt = time.Time{}, now
		}
		switch {
		case l.settled != nil || now.Before(l.dueAt) || l.backoff.isWaiting(now):
		case isWaiting:
			delayed = n.failure
		default:
			due = append(due, l)
		}
	}
	slices.SortFunc(due, func(a, b *lookup) int {
		return cmp.Or(a.rank()-b.rank(), a.dueAt.Compare(b.dueAt), b.request.MadeAt.Compare(a.request.MadeAt))
	})
	return due, delayed
}

// lookUp looks up requests, several at once. It returns false if the time of a scan ended before.
func (n *Network) lookUp(ctx context.Context, due []*lookup, started time.Time) (isComplete bool) {
	beginning, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	places := make(chan struct{}, lookupsAtOnce)
	var group sync.WaitGroup
	defer group.Wait()
	for _, l := range due {
		if n.limiter.Wait(beginning) != nil {
			return false
		}
		select {
		case places <- struct{}{}:
		case <-beginning.Done():
			return false
		}
		if n.isDown() {
			return true
		}
		group.Go(func() {
			defer func() { <-places }()
			n.lookUpOne(ctx, l, started)
		})
	}
	return true
}

// isDown reports whether the provider failed just now.
func (n *Network) isDown() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.backoff.isWaiting(n.config.Now())
}

// lookUpOne looks up one request.
func (n *Network) lookUpOne(ctx context.Context, l *lookup, started time.Time) {
	limited, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	n.mu.Lock()
	request := l.request
	n.mu.Unlock()
	status, err := n.config.Provider.Look(limited, Sought{Hash: request.Hash, Text: request.Text, LookupURL: request.Lookup})
	if ctx.Err() != nil {
		return
	}
	var transfer *chain.Transfer
	switch {
	case errors.Is(err, ErrUnknown): // it may be known later
		err = nil
	case err == nil && status.Settled:
		transfer, err = n.transfer(request, status, started)
	}
	subscribed := false
	if w, ok := n.config.Provider.(Waker); ok {
		subscribed = w.Subscribed()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.config.Now()
	l.failure = err
	if err == nil {
		subscribed = subscribed && now.Sub(l.notifiedAt).Abs() > notifiedTime
		l.settled, l.dueAt, l.failingSince = transfer, now.Add(interval(request, len(n.lookups), now, subscribed)), time.Time{}
		l.backoff.reset()
		n.backoff.reset()
		n.succeededAt = now
		return
	}
	l.isOwn = isOfRequest(err) || !l.failingSince.IsZero() && n.succeededAt.After(l.failingSince) // others succeed
	if l.failingSince.IsZero() {
		l.failingSince = now
	}
	if l.isOwn {
		l.backoff.fail(now)
	} else if !n.backoff.isWaiting(now) {
		n.backoff.fail(now)
		n.failure = err
	}
}

// isOfRequest reports whether an error says nothing about the lookups of other requests, whether or not these succeed.
func isOfRequest(err error) bool {
	return errors.Is(err, ErrFault) || errors.Is(err, ErrAnswered) || errors.Is(err, context.DeadlineExceeded)
}

// transfer returns the transfer of a settled request. Its time is between that of the request and the start of the scan.
func (n *Network) transfer(r chain.PendingRequest, status Status, started time.Time) (*chain.Transfer, error) {
	amount := r.Amount
	if status.MilliSatoshi > 0 {
		amount = money.FromCents(status.MilliSatoshi/chain.MilliSatoshisPerSatoshi, r.Amount.Currency())
	}
	if amount.Cmp(r.Amount) < 0 {
		return nil, fmt.Errorf("%w: the settled request %s received %s, want %s", ErrFault, r.Hash, amount, r.Amount)
	}
	at := status.SettledAt
	if at.IsZero() || at.After(started) {
		at = started
	}
	if at.Before(r.MadeAt) {
		at = r.MadeAt
	}
	block := chain.Block{Height: height, Hash: r.Hash, Time: at}
	return &chain.Transfer{ID: r.Hash, Tx: r.Hash, Asset: chain.CodeLightning, Script: r.Hash, Amount: amount, Block: &block}, nil
}

// collect adds the settled requests to a snapshot. isNew is true if some of them are shown for the first time. failure is
// not nil if requests that were due were not looked up.
func (n *Network) collect(s *chain.Snapshot) (failure error, isNew bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	failed := 0
	for _, l := range n.lookups {
		if l.settled != nil {
			s.Transfers = append(s.Transfers, *l.settled)
			if age := s.Started.Sub(l.shownAt); l.shownAt.IsZero() || age < 0 || age >= showAgain {
				l.shownAt, isNew = s.Started, true
			}
		}
		if l.failure != nil && !l.isOver(s.Started) {
			if failed++; failure == nil || isOfRequest(failure) {
				failure = l.failure
			}
		}
	}
	slices.SortFunc(s.Transfers, func(a, b chain.Transfer) int { return strings.Compare(a.ID, b.ID) })
	if failure == nil {
		return nil, isNew
	}
	return fmt.Errorf("%s of %d not looked up: %w", requests(failed), len(n.lookups), failure), isNew
}

// overdue describes the requests that could not be looked up, "" if there are none.
func (n *Network) overdue() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	var since time.Time
	var failure error
	for _, l := range n.lookups {
		if l.failure == nil || l.isOver(n.config.Now()) {
			continue
		}
		if count++; since.IsZero() || l.failingSince.Before(since) {
			since, failure = l.failingSince, l.failure
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%v; %s not looked up since %s; their invoices stay open", failure, requests(count), since.UTC().Format("15:04"))
}
