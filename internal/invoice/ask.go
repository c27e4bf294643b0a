package invoice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

var (
	// ErrAsking means that a payment request is being made for the invoice.
	ErrAsking = errors.New("a payment request is being made already")
	// ErrTooManyRequests means that no other payment request is made for the invoice, now or at all.
	ErrTooManyRequests = errors.New("too many payment requests were made for this invoice")
	// ErrNoRequest means that the provider made no usable payment request.
	ErrNoRequest = errors.New("the Lightning wallet made no payment request")
)

const (
	// requestWait is the time for which a creation or a requote waits for a payment request.
	requestWait = 800 * time.Millisecond
	// askTimeout is the time for which a provider may take to make a request.
	askTimeout = 10 * time.Second
	// maxRequests is the largest number of payment requests of an invoice.
	maxRequests = 20
	// maxAsksPerHour is the largest number of calls to providers for an invoice in an hour, after its creation.
	maxAsksPerHour = 10
	// maxAsksAtOnce is the largest number of simultaneous calls to a provider for new invoices.
	maxAsksAtOnce = 64
)

// creationCalls are the calls to providers for a new invoice.
type creationCalls struct {
	service *Service
	made    []PaymentRequest // those that were made in time
	late    []*call
	// networks has the networks of the calls by asset.
	networks map[string]chain.ID
}

// call is a call to a provider for a payment request.
type call struct {
	network chain.ID
	done    chan struct{}
	// The fields below are set when done is closed.
	request PaymentRequest
	err     error
}

// askForNew lets the providers of all methods that need it make a payment request for a new invoice, and waits for them
// for requestWait at most. A provider that failed just before is not called.
func (s *Service) askForNew(id string, r CreateRequest, priced []pricedMethod, now time.Time) creationCalls {
	asked := creationCalls{service: s, networks: map[string]chain.ID{}}
	if r.Terms.Lightning.OnDemand {
		return asked
	}
	var calls []*call
	for _, m := range priced {
		if !m.asset.Requested() || !s.asks.start(m.network.ID(), now) {
			continue
		}
		c := &call{network: m.network.ID(), done: make(chan struct{})}
		calls = append(calls, c)
		asked.networks[m.asset.Code] = c.network
		ask := chain.Ask{Amount: m.price.Expected, Until: now.Add(r.ExpiresIn), Memo: r.Terms.memo()}
		s.asks.group.Go(func() {
			defer close(c.done)
			c.request, c.err = s.ask(s.asks.ctx, m.network.ID(), m.asset.Code, ask)
			s.asks.end(c.network, s.now(), c.err)
			if c.err != nil {
				s.log.Warn("no payment request for a new invoice", "invoice", id, "network", c.network, "error", c.err)
			}
		})
	}
	if len(calls) == 0 {
		return asked
	}
	timeout := time.NewTimer(requestWait)
	defer timeout.Stop()
	for i, c := range calls {
		select {
		case <-c.done:
			if c.err == nil {
				asked.made = append(asked.made, c.request)
			}
		case <-timeout.C:
			asked.late = calls[i:]
			return asked
		}
	}
	return asked
}

// attachLate adds the payment requests that are made later to the invoice, which is stored.
func (a creationCalls) attachLate(invoiceID string) {
	for _, c := range a.late {
		a.service.asks.group.Go(func() {
			<-c.done
			if c.err != nil {
				return
			}
			if _, err := a.service.attach(a.service.asks.ctx, invoiceID, 1, c.request); err != nil {
				a.service.log.Warn("payment request not added", "invoice", invoiceID, "network", c.network, "error", err)
			}
		})
	}
}

// discard cancels the payment requests of an invoice that was not created.
func (a creationCalls) discard() {
	for _, r := range a.made {
		a.service.cancel(a.networks[r.Asset], r.Script)
	}
	for _, c := range a.late {
		a.service.asks.group.Go(func() {
			<-c.done
			if c.err == nil {
				a.service.cancel(c.network, c.request.Script)
			}
		})
	}
}

// ask lets the provider of a network make a payment request. The errors are those of the provider, and an error if an
// invoice has the same request already.
func (s *Service) ask(ctx context.Context, network chain.ID, asset string, ask chain.Ask) (PaymentRequest, error) {
	n, _ := s.network(network)
	requester, ok := n.(chain.Requester)
	if !ok {
		return PaymentRequest{}, fmt.Errorf("%s has no connection now", network)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	madeAt := s.now()
	offer, err := requester.Ask(ctx, ask)
	if err != nil {
		return PaymentRequest{}, err
	}
	if !s.asks.claim(offer.Script, madeAt) {
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
		Asset: asset, Destination: offer.Destination, Amount: ask.Amount, MadeAt: madeAt, Until: offer.Until, Lookup: offer.Lookup,
	}, nil
}

// errRepeated means that a provider made the same request again, whose payment would credit two invoices.
var errRepeated = errors.New("the provider repeated a payment request of another invoice")

// attach adds a payment request that was made under a quote to an invoice.
func (s *Service) attach(ctx context.Context, id string, quote int, r PaymentRequest) (*Invoice, error) {
	return s.update(ctx, id, Lease{}, func(inv *Invoice) error {
		if len(inv.PaymentRequests()) >= maxRequests {
			return ErrTooManyRequests
		}
		q := &inv.Quotes[quote-1]
		q.Requests = append(q.Requests[:len(q.Requests):len(q.Requests)], r)
		return nil
	})
}

// RequestPayment lets the provider of a method make a payment request for the amount that is due, if none is valid, and
// returns the invoice with it. The errors are ErrNotFound, ErrState, ErrAsking, ErrTooManyRequests and ErrNoRequest.
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
	done, err := s.asks.reserve(inv, now)
	if err != nil {
		return nil, err
	}
	defer done()
	return s.renew(context.WithoutCancel(ctx), inv, m, e.Remaining(m))
}

// renew lets the provider of a method make a payment request for an amount under the newest quote. The call is reserved.
func (s *Service) renew(ctx context.Context, inv *Invoice, m Method, amount money.Amount) (*Invoice, error) {
	quote := inv.Quote()
	ask := chain.Ask{Amount: amount, Until: quote.Until.Add(-inv.Clock), Memo: inv.Terms.memo()}
	r, err := s.ask(ctx, m.Asset.Network, m.Asset.Code, ask)
	if err != nil {
		s.log.Warn("no payment request", "invoice", inv.ID, "network", m.Asset.Network, "error", err)
		return nil, fmt.Errorf("%w: %w", ErrNoRequest, err)
	}
	return s.attach(ctx, inv.ID, quote.Number, r)
}

// reviewRequests begins to cancel the payment requests of a changed invoice that must not be paid any more, and to
// make a request for the amount that is due now, unless requests are made on demand only.
func (s *Service) reviewRequests(inv *Invoice) {
	if !slices.ContainsFunc(inv.Methods, func(m Method) bool { return m.Asset.Requested() }) {
		return
	}
	l, now := inv.ledger(), s.now()
	for _, r := range inv.superseded(l, now) {
		s.cancel(inv.networkOf(r), r.Script)
	}
	for _, m := range inv.Methods {
		_, priced := inv.Quote().Price(m.Asset.Code)
		_, valid := inv.validRequest(m, l, now)
		if valid || !priced || inv.Terms.Lightning.OnDemand || !inv.needsRequest(m, l, now) {
			continue
		}
		done, err := s.asks.reserve(inv, now)
		if err != nil { // the shopper can ask for one
			continue
		}
		amount := inv.remaining(m, l)
		s.asks.group.Go(func() {
			defer done()
			_, _ = s.renew(s.asks.ctx, inv, m, amount) // it logs its errors
		})
	}
}

// awaitRequests waits for requestWait at most until the payment requests of an invoice are made that reviewRequests
// began, and returns the invoice.
func (s *Service) awaitRequests(ctx context.Context, inv *Invoice) (*Invoice, error) {
	done := s.asks.pending(inv.ID)
	if done == nil {
		return inv, nil
	}
	timeout := time.NewTimer(requestWait)
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C:
	case <-ctx.Done():
	}
	return s.storage.Invoice(ctx, inv.ID)
}

// cancel begins to make a payment request unpayable, once.
func (s *Service) cancel(network chain.ID, hash string) {
	n, _ := s.network(network)
	requester, ok := n.(chain.Requester)
	if !ok || !s.asks.cancel(hash, s.now()) {
		return
	}
	s.asks.group.Go(func() {
		ctx, cancel := context.WithTimeout(s.asks.ctx, askTimeout)
		defer cancel()
		if err := requester.Cancel(ctx, hash); err != nil {
			s.log.Warn("payment request not cancelled", "network", network, "error", err)
		}
	})
}

// Close ends the calls to providers, and waits for them.
func (s *Service) Close() { s.asks.close() }
