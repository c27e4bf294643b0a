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

// PaymentRequest is a payment request of BOLT 11 that a provider made for an amount that was due under a quote. Its times
// are on the real clock, as providers use it.
type PaymentRequest struct {
	Asset string // code
	// Destination is the request; its script is the payment hash.
	chain.Destination
	Amount money.Amount
	MadeAt time.Time
	Until  time.Time // end of the request
	Lookup string    // see chain.Offer
	// Superseded is true once the shopper must not pay the request any more, because another amount was due than it asks
	// for, a newer request was made, or the invoice was declined. It stays true, because the request may be cancelled at the
	// provider. A payment of it counts nevertheless.
	Superseded bool
}

// maxRequestAge is the longest time for which a payment request is looked up, whatever its own end is.
const maxRequestAge = 30 * 24 * time.Hour

// LookUpUntil returns the time until which the request is looked up: chain.LookupGrace after its end.
func (r PaymentRequest) LookUpUntil() time.Time {
	end := r.Until
	if last := r.MadeAt.Add(maxRequestAge); end.After(last) {
		end = last
	}
	return end.Add(chain.LookupGrace)
}

// LightningTerms are the merchant's settings of payment requests, frozen.
type LightningTerms struct {
	// Least and Most bound the amount of a request. Zero is no bound.
	Least, Most money.Amount
	// OnDemand means that a request is made only when the shopper asks for it on the page.
	OnDemand bool
	// NamesOrder means that the description of a request has the order ID.
	NamesOrder bool
	// Unified means that the payment link of Bitcoin contains the request, see BIP 321.
	Unified bool
}

// carries reports whether a request may ask for an amount.
func (t LightningTerms) carries(amount money.Amount) bool {
	return (t.Least.IsZero() || amount.Cmp(t.Least) >= 0) && (t.Most.IsZero() || amount.Cmp(t.Most) <= 0)
}

// memo returns the description of a request, which the payer and the provider see. It never has the ID of the invoice,
// because that gives access to the invoice's page.
func (t Terms) memo() string {
	text := t.Merchant
	if t.Lightning.NamesOrder && t.OrderID != "" {
		text += " " + t.OrderID
	}
	for len(text) > chain.MaxMemo {
		runes := []rune(text)
		text = string(runes[:len(runes)-1])
	}
	return text
}

// PaymentRequests returns all payment requests of the invoice, oldest first.
func (inv *Invoice) PaymentRequests() []PaymentRequest {
	var all []PaymentRequest
	for _, q := range inv.Quotes {
		all = append(all, q.Requests...)
	}
	return all
}

// Destinations returns the destinations of the invoice: those of its methods, and its payment requests.
func (inv *Invoice) Destinations() []Script {
	var all []Script
	for _, m := range inv.Methods {
		if m.Destination.Script != "" {
			all = append(all, Script{m.Asset.Network, m.Destination.Script})
		}
	}
	for _, r := range inv.PaymentRequests() {
		all = append(all, Script{inv.networkOf(r), r.Script})
	}
	return all
}

// DestinationOf returns the destination to which a transfer was sent, and false if it is none of the invoice's.
func (inv *Invoice) DestinationOf(t Transfer) (chain.Destination, bool) {
	for _, m := range inv.Methods {
		if m.Asset.Network == t.Network && m.Destination.Script == t.Script && t.Script != "" {
			return m.Destination, true
		}
	}
	for _, r := range inv.PaymentRequests() {
		if r.Script == t.Script && inv.networkOf(r) == t.Network {
			return r.Destination, true
		}
	}
	return chain.Destination{}, false
}

// hasDestination reports whether the invoice can be paid on a network.
func (inv *Invoice) hasDestination(network chain.ID) bool {
	return slices.ContainsFunc(inv.Methods, func(m Method) bool {
		return m.Asset.Network == network && (!m.Asset.Requested() || inv.hasRequest(m))
	})
}

// hasRequest reports whether a payment request of a method was made.
func (inv *Invoice) hasRequest(m Method) bool {
	return slices.ContainsFunc(inv.Quotes, func(q Quote) bool {
		return slices.ContainsFunc(q.Requests, func(r PaymentRequest) bool { return r.Asset == m.Asset.Code })
	})
}

// networkOf returns the network of a payment request.
func (inv *Invoice) networkOf(r PaymentRequest) chain.ID {
	m, _ := inv.methodOf(r.Asset)
	return m.Asset.Network
}

// isSettled reports whether a payment request was paid.
func (inv *Invoice) isSettled(r PaymentRequest) bool {
	return slices.ContainsFunc(inv.Transfers, func(t Transfer) bool { return t.Script == r.Script && t.Asset == r.Asset })
}

// methodOf returns the payment method with the code of an asset.
func (inv *Invoice) methodOf(asset string) (Method, bool) {
	i := slices.IndexFunc(inv.Methods, func(m Method) bool { return m.Asset.Code == asset })
	if i < 0 {
		return Method{}, false
	}
	return inv.Methods[i], true
}

// Request returns the payment request of a method that the shopper may pay at a time on the real clock. It is the
// newest request of the method, and it is returned only while the quote and the request are valid, and the
// request asks for the amount that is due.
func (e *Evaluation) Request(m Method, now time.Time) (PaymentRequest, bool) {
	return e.inv.validRequest(m, e.ledger, now)
}

// Destination returns where the shopper may pay by a method at a time on the real clock. It returns false for a method of
// payment requests without a valid one.
func (e *Evaluation) Destination(m Method, now time.Time) (chain.Destination, bool) {
	if !m.Asset.Requested() {
		return m.Destination, true
	}
	r, ok := e.Request(m, now)
	return r.Destination, ok
}

// MayRequest reports whether the shopper may ask for a payment request of a method at a time on the real clock: the
// quote is valid, an amount is due that a request may ask for, and no request is valid.
func (e *Evaluation) MayRequest(m Method, now time.Time) bool {
	_, valid := e.Request(m, now)
	return !valid && e.inv.needsRequest(m, e.ledger, now)
}

// needsRequest reports whether a payment request of a method could be paid at a time on the real clock.
func (inv *Invoice) needsRequest(m Method, l ledger, now time.Time) bool {
	due := inv.remaining(m, l)
	return m.Asset.Requested() && inv.State.Status != Declined && !due.IsZero() && inv.Terms.Lightning.carries(due) &&
		now.Add(inv.Clock).Before(inv.ExpiresAt())
}

// validRequest is Evaluation.Request with a ledger that is computed already.
func (inv *Invoice) validRequest(m Method, l ledger, now time.Time) (PaymentRequest, bool) {
	newest, ok := inv.newestRequest(m)
	if !ok || newest.Superseded || !now.Before(newest.Until) || !inv.needsRequest(m, l, now) || !inv.isAmountDue(newest, m, l) {
		return PaymentRequest{}, false
	}
	return newest, true
}

// newestRequest returns the newest payment request of a method under the newest quote.
func (inv *Invoice) newestRequest(m Method) (PaymentRequest, bool) {
	for _, r := range slices.Backward(inv.Quote().Requests) {
		if r.Asset == m.Asset.Code {
			return r, true
		}
	}
	return PaymentRequest{}, false
}

// isAmountDue reports whether a request asks for the amount that is due by its method.
func (inv *Invoice) isAmountDue(r PaymentRequest, m Method, l ledger) bool {
	return r.Amount.Equal(inv.remaining(m, l))
}

// supersede marks the payment requests that have not ended at a time on the real clock and must not be paid any more. See
// PaymentRequest.Superseded.
func (inv *Invoice) supersede(l ledger, now time.Time) {
	for i := range inv.Quotes {
		requests := slices.Clone(inv.Quotes[i].Requests) // a former state of the invoice shares them
		for k, r := range requests {
			m, ok := inv.methodOf(r.Asset)
			if !ok || !now.Before(r.Until) || inv.isSettled(r) {
				continue
			}
			newest, ok := inv.newestRequest(m)
			if !ok || newest.Script != r.Script || inv.State.Status == Declined || !inv.isAmountDue(r, m, l) {
				requests[k].Superseded = true
			}
		}
		inv.Quotes[i].Requests = requests
	}
}

var (
	// ErrAsking means that a payment request is being made for the invoice.
	ErrAsking = calllimit.ErrRunning
	// ErrTooManyRequests means that no other payment request is made for the invoice, now or at all.
	ErrTooManyRequests = calllimit.ErrTooMany
	// ErrNoRequest means that the provider made no usable payment request.
	ErrNoRequest = errors.New("the Lightning wallet made no payment request")
)

const (
	// requestWait is the time for which a creation or a requote waits for a payment request.
	requestWait = 800 * time.Millisecond
	// askTimeout is the time for which a provider may take to make a request.
	askTimeout = 10 * time.Second
)

// creationCalls are the calls to providers for a new invoice.
type creationCalls struct {
	service *Service
	all     []*call
	made    []PaymentRequest // those that were made in time
	late    []*call          // the calls of the others
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
	asked := creationCalls{service: s}
	if r.Terms.Lightning.OnDemand {
		return asked
	}
	for _, m := range priced {
		if !m.asset.Requested() || !s.calls.Start(string(m.network.ID()), now) {
			continue
		}
		c := &call{network: m.network.ID(), done: make(chan struct{})}
		asked.all = append(asked.all, c)
		ask := chain.Ask{Amount: m.price.Expected, Until: now.Add(r.ExpiresIn), Memo: r.Terms.memo()}
		s.calls.Go(func(ctx context.Context) {
			defer close(c.done)
			c.request, c.err = s.ask(ctx, m.network.ID(), m.asset.Code, ask)
			s.calls.End(string(c.network), s.now(), c.err != nil && !errors.Is(c.err, chain.ErrAmount))
			if c.err != nil {
				s.log.Warn("no payment request for a new invoice", "invoice", id, "network", c.network, "error", c.err)
			}
		})
	}
	if len(asked.all) == 0 {
		return asked
	}
	timeout := time.NewTimer(requestWait)
	defer timeout.Stop()
	for i, c := range asked.all {
		select {
		case <-c.done:
			if c.err == nil {
				asked.made = append(asked.made, c.request)
			}
		case <-timeout.C:
			asked.late = asked.all[i:]
			return asked
		}
	}
	return asked
}

// attachLate adds the payment requests that are made later to the invoice, which is stored.
func (a creationCalls) attachLate(invoiceID string) {
	for _, c := range a.late {
		a.service.calls.Go(func(ctx context.Context) {
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

// discard cancels the payment requests of an invoice that was not created.
func (a creationCalls) discard() {
	for _, c := range a.all {
		a.service.calls.Go(func(context.Context) {
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
	requester, ok := networkAs[chain.Requester](s, network)
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
		Asset: asset, Destination: offer.Destination, Amount: ask.Amount, MadeAt: madeAt, Until: offer.Until, Lookup: offer.Lookup,
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
	done, err := s.calls.Reserve(inv.ID, len(inv.PaymentRequests()), now)
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
	ask := chain.Ask{Amount: amount, Until: quote.Until.Add(-inv.Clock), Memo: inv.Terms.memo()}
	r, err := s.ask(ctx, m.Asset.Network, m.Asset.Code, ask)
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
	if !slices.ContainsFunc(inv.Methods, func(m Method) bool { return m.Asset.Requested() }) {
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
		done, err := s.calls.Reserve(inv.ID, len(inv.PaymentRequests()), now)
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
	done := s.calls.Pending(inv.ID)
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
	requester, ok := networkAs[chain.Requester](s, network)
	if !ok || !s.calls.Cancel(hash, s.now()) {
		return
	}
	s.calls.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		if err := requester.Cancel(ctx, hash); err != nil {
			s.log.Warn("payment request not cancelled", "network", network, "error", err)
		}
	})
}

// Close ends the calls to providers, and waits for them.
func (s *Service) Close() { s.calls.Close() }
