package invoice

import (
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

// requestTimes returns the times at which the payment requests of the invoice were made, oldest first.
func (inv *Invoice) requestTimes() []time.Time {
	var times []time.Time
	for _, r := range inv.PaymentRequests() {
		times = append(times, r.MadeAt)
	}
	return times
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

// isRequestable reports whether the invoice can be paid by payment requests.
func (inv *Invoice) isRequestable() bool {
	return slices.ContainsFunc(inv.Methods, func(m Method) bool { return m.Asset.Requested() })
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
// quote is valid, an amount is due that a request may ask for, no request is valid, and the invoice has fewer than the
// largest number of requests.
func (e *Evaluation) MayRequest(m Method, now time.Time) bool {
	_, valid := e.Request(m, now)
	return !valid && e.inv.needsRequest(m, e.ledger, now) && len(e.inv.PaymentRequests()) < calllimit.MaxRequests
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
