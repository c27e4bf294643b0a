package invoice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice/calllimit"
	"chequer/internal/money"
)

var (
	// ErrRequestRunning means that a payment request is being made for the invoice.
	ErrRequestRunning = calllimit.ErrRunning
	// ErrTooManyRequests means that no other payment request is made for the invoice, now or at all.
	ErrTooManyRequests = calllimit.ErrTooMany
	// ErrNoRequest means that the provider made no usable payment request.
	ErrNoRequest = errors.New("the Lightning wallet made no payment request")
)

const (
	// requestWait is the time for which a creation or a requote waits for a payment request.
	requestWait = 800 * time.Millisecond
	// requestTimeout is the time for which a provider may take to make a request.
	requestTimeout = 10 * time.Second
)

// creationCalls are the calls to providers for a new invoice. The zero value has none.
type creationCalls struct {
	service *Service
	at      time.Time // of the creation
	all     []*call
	made    []PaymentRequest // those that were made in time
	late    []*call          // the calls of the others
	// refused are the limits of the providers that make no request of the amount, by network.
	refused map[chain.ID]*chain.LimitError
}

// call is a call to a provider for a payment request.
type call struct {
	network chain.ID
	done    chan struct{}
	// The fields below are set when done is closed.
	request PaymentRequest
	err     error
}

// requestForNew lets the providers of all methods that need it make a payment request for a new invoice, and waits for them
// for requestWait at most. A provider that failed just before is not called.
func (s *Service) requestForNew(id string, r CreateRequest, priced []pricedMethod, now time.Time) creationCalls {
	requested := creationCalls{service: s, at: now, refused: map[chain.ID]*chain.LimitError{}}
	for _, m := range priced {
		if !m.asset.Requested() || !s.calls.Start(string(m.network.ID()), now) {
			continue
		}
		c := &call{network: m.network.ID(), done: make(chan struct{})}
		requested.all = append(requested.all, c)
		terms := chain.Ask{Amount: m.price.Expected, Until: now.Add(r.ExpiresIn), Memo: r.Terms.memo(), Find: m.unreached}
		s.calls.Go(func(ctx context.Context) {
			defer close(c.done)
			c.request, c.err = s.requestFrom(ctx, m.network.ID(), m.asset.Code, terms)
			_, refused := errors.AsType[*chain.LimitError](c.err)
			s.calls.End(string(c.network), s.now(), c.err != nil && !refused)
			if c.err != nil {
				s.log.Warn("no payment request for a new invoice", "invoice", id, "network", c.network, "error", c.err)
			}
		})
	}
	if len(requested.all) == 0 {
		return requested
	}
	timeout := time.NewTimer(requestWait)
	defer timeout.Stop()
	for i, c := range requested.all {
		select {
		case <-c.done:
			if limit, ok := errors.AsType[*chain.LimitError](c.err); ok {
				requested.refused[c.network] = limit
			} else if c.err == nil {
				requested.made = append(requested.made, c.request)
			}
		case <-timeout.C:
			requested.late = requested.all[i:]
			return requested
		}
	}
	return requested
}

// requestsAtOnce reports whether the creation of an invoice makes a payment request.
func (r CreateRequest) requestsAtOnce(priced []pricedMethod) bool {
	return !r.Terms.Lightning.OnDemand && slices.ContainsFunc(priced, func(m pricedMethod) bool { return m.asset.Requested() })
}

// withoutRefused returns the methods without those whose providers make no request of the amount. If none is left, the error is
// a *TooSmallError in a currency or ErrTooLarge.
func (a creationCalls) withoutRefused(priced []pricedMethod, fiat money.Currency) ([]pricedMethod, error) {
	var err error
	kept := slices.DeleteFunc(slices.Clone(priced), func(m pricedMethod) bool {
		limit, refused := a.refused[m.network.ID()]
		if refused {
			err = ErrTooLarge
			if m.price.Expected.Cmp(limit.Least) < 0 {
				err = &TooSmallError{Smallest: money.RoundUp(m.price.Rate(fiat).Value(limit.Least), fiat)}
			}
		}
		return refused
	})
	if len(kept) == 0 {
		return nil, err
	}
	return kept, nil
}

// withoutUnreached returns the methods without those whose networks are not reached and whose providers made no payment request
// in time. If none is left, the error is ErrUnreached.
func (a *creationCalls) withoutUnreached(priced []pricedMethod) ([]pricedMethod, error) {
	isLeftOut := func(m pricedMethod) bool {
		return m.unreached && !slices.ContainsFunc(a.made, func(r PaymentRequest) bool { return r.Asset == m.asset.Code })
	}
	for _, m := range priced {
		if !isLeftOut(m) {
			continue
		}
		a.late = slices.DeleteFunc(a.late, func(c *call) bool {
			if c.network == m.network.ID() {
				a.cancelWhenMade(c)
				return true
			}
			return false
		})
	}
	kept := slices.DeleteFunc(slices.Clone(priced), isLeftOut)
	if len(kept) == 0 {
		return nil, ErrUnreached
	}
	return kept, nil
}

// attachLate adds the payment requests that are made later to the invoice, which is stored. No other call for the invoice
// runs meanwhile.
func (a creationCalls) attachLate(invoiceID string) {
	for _, c := range a.late {
		done, err := a.service.calls.Reserve(invoiceID, nil, a.at)
		if err != nil { // the program ends
			return
		}
		a.service.calls.Go(func(ctx context.Context) {
			defer done()
			<-c.done
			if c.err != nil {
				return
			}
			_, err := a.service.attach(ctx, invoiceID, 1, c.request)
			if errors.Is(err, errNotNeeded) {
				a.service.cancel(c.network, c.request.Script)
			} else if err != nil {
				a.service.log.Warn("payment request not added", "invoice", invoiceID, "network", c.network, "error", err)
			}
		})
	}
}

// discard cancels the payment requests of an invoice that is certainly not created. err is the error of its creation; nil
// means that another invoice exists already.
func (a creationCalls) discard(err error) {
	if !isRefusal(err) { // the invoice may be written nevertheless
		return
	}
	for _, c := range a.all {
		a.cancelWhenMade(c)
	}
}

// cancelWhenMade cancels the payment request of a call.
func (a creationCalls) cancelWhenMade(c *call) {
	a.service.calls.Go(func(context.Context) {
		<-c.done
		if c.err == nil {
			a.service.cancel(c.network, c.request.Script)
		}
	})
}

// isRefusal reports whether the error of a creation means that no invoice was written. nil means that another one exists.
func isRefusal(err error) bool {
	_, isUnpaid := errors.AsType[*TooManyUnpaidError](err)
	return err == nil || isUnpaid || errors.Is(err, ErrConflict) || errors.Is(err, ErrLinkUsed) || errors.Is(err, ErrNonceUsed)
}

// requestFrom lets the provider of a network make a payment request. The errors are those of the provider, and an error if an
// invoice has the same request already.
func (s *Service) requestFrom(ctx context.Context, network chain.ID, asset string, terms chain.Ask) (PaymentRequest, error) {
	requester, ok := networkAs[chain.Requester](s, network)
	if !ok {
		return PaymentRequest{}, fmt.Errorf("%s has no connection now", network)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	madeAt := s.now()
	offer, err := requester.Ask(ctx, terms)
	if err != nil {
		return PaymentRequest{}, err
	}
	if !s.calls.Claim(offer.Script, madeAt) {
		return PaymentRequest{}, errRepeated
	}
	known, err := s.storage.HasScript(ctx, offer.Script)
	switch {
	case err != nil:
		return PaymentRequest{}, err
	case known:
		return PaymentRequest{}, errRepeated
	}
	return PaymentRequest{
		Asset: asset, Destination: offer.Destination, Amount: terms.Amount, MadeAt: madeAt, Until: offer.Until, Lookup: offer.Lookup,
	}, nil
}

// errRepeated means that a provider made the same request again, whose payment would credit two invoices.
var errRepeated = errors.New("the provider repeated a payment request of another invoice")

// errNotNeeded means that an invoice has another valid payment request of the same method.
var errNotNeeded = errors.New("the invoice has a payment request already")

// attach adds a payment request that was made under a quote to an invoice. It returns errNotNeeded if the shopper sees another
// one, which may be on its way to a wallet.
func (s *Service) attach(ctx context.Context, id string, quote int, r PaymentRequest) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		if len(inv.PaymentRequests()) >= calllimit.MaxRequests {
			return ErrTooManyRequests
		}
		if m, ok := inv.methodOf(r.Asset); ok {
			if _, valid := inv.validRequest(m, inv.ledger(), s.now()); valid {
				return errNotNeeded
			}
		}
		q := &inv.Quotes[quote-1]
		q.Requests = append(q.Requests[:len(q.Requests):len(q.Requests)], r)
		return nil
	})
}

// RequestPayment lets the provider of a method make a payment request for the amount that is due, if none is valid, and
// returns the invoice with it. The errors are ErrNotFound, ErrState, ErrRequestRunning, ErrTooManyRequests and ErrNoRequest, which
// wraps a *chain.LimitError if the provider makes no request of the amount.
func (s *Service) RequestPayment(ctx context.Context, id, asset string) (*Invoice, error) {
	inv, err := s.storage.Invoice(ctx, id)
	if err != nil {
		return nil, err
	}
	e, now := inv.Evaluation(), s.now()
	m, ok := inv.methodOf(asset)
	if !ok {
		return nil, ErrState
	}
	if _, valid := e.Request(m, now); valid {
		return inv, nil
	}
	if !e.MayRequest(m, now) {
		return nil, ErrState
	}
	done, err := s.calls.Reserve(inv.ID, inv.requestTimes(), now)
	if err != nil {
		return nil, err
	}
	defer done()
	return s.makeRequest(context.WithoutCancel(ctx), inv, m, e.Remaining(m))
}

// makeRequest lets the provider of a method make a payment request for an amount under the newest quote. The caller has reserved
// the call.
func (s *Service) makeRequest(ctx context.Context, inv *Invoice, m Method, amount money.Amount) (*Invoice, error) {
	quote := inv.Quote()
	terms := chain.Ask{Amount: amount, Until: quote.Until.Add(-inv.Clock), Memo: inv.Terms.memo()}
	r, err := s.requestFrom(ctx, m.Asset.Network, m.Asset.Code, terms)
	if err != nil {
		s.log.Warn("no payment request", "invoice", inv.ID, "network", m.Asset.Network, "error", err)
		return nil, fmt.Errorf("%w: %w", ErrNoRequest, err)
	}
	changed, err := s.attach(ctx, inv.ID, quote.Number, r)
	if errors.Is(err, errNotNeeded) { // a late one was added meanwhile
		s.cancel(m.Asset.Network, r.Script)
		return s.storage.Invoice(ctx, inv.ID)
	}
	return changed, err
}

// reviewRequests begins to cancel the payment requests of a changed invoice that must not be paid any more, and to
// make a request for the amount that is due now, unless requests are made on demand only.
func (s *Service) reviewRequests(inv *Invoice) {
	if !inv.isRequestable() {
		return
	}
	l, now := inv.ledger(), s.now()
	for _, r := range inv.PaymentRequests() {
		if r.Superseded && now.Before(r.Until) && !inv.isSettled(r) {
			s.cancel(inv.networkOf(r), r.Script)
		}
	}
	for _, m := range inv.Methods {
		_, priced := inv.Quote().Price(m.Asset.Code)
		_, valid := inv.validRequest(m, l, now)
		if valid || !priced || inv.Terms.Lightning.OnDemand || !inv.needsRequest(m, l, now) {
			continue
		}
		done, err := s.calls.Reserve(inv.ID, inv.requestTimes(), now)
		if err != nil { // the shopper can ask for one
			continue
		}
		amount := inv.remaining(m, l)
		s.calls.Go(func(ctx context.Context) {
			defer done()
			_, _ = s.makeRequest(ctx, inv, m, amount) // it logs its errors
		})
	}
}

// awaitRequests waits for requestWait at most until the payment requests of an invoice are made that reviewRequests
// began, and returns the invoice.
func (s *Service) awaitRequests(ctx context.Context, inv *Invoice) (*Invoice, error) {
	if !inv.isRequestable() {
		return inv, nil
	}
	if done := s.calls.Pending(inv.ID); done != nil {
		timeout := time.NewTimer(requestWait)
		defer timeout.Stop()
		select {
		case <-done:
		case <-timeout.C:
		case <-ctx.Done():
		}
	}
	return s.storage.Invoice(ctx, inv.ID) // a call that has ended already has changed it
}

// cancel begins to make a payment request unpayable.
func (s *Service) cancel(network chain.ID, hash string) {
	requester, ok := networkAs[chain.Requester](s, network)
	if !ok {
		return
	}
	s.calls.Cancel(hash, s.now(), func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		err := requester.Cancel(ctx, hash)
		if err != nil {
			s.log.Warn("payment request not cancelled", "network", network, "error", err)
		}
		return err
	})
}

// Close ends the calls to providers, and waits for them.
func (s *Service) Close() { s.calls.Close() }
